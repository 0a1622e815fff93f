"""Staged control flow: the statements of a function, each visited once, as a procedure of the loop language."""
