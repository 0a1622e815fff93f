"""Graph to graph: compounds lowered, types made explicit, constants folded, expressions simplified."""
