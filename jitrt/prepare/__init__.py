"""Preparation: compound operations lowered, types made explicit, constants folded, expressions simplified."""
