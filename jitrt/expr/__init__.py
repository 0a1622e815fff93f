"""Expressions: typed, immutable nodes, and the table of the operations they are made of."""
