"""Liveness: from which step to which step a stored value is needed."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.node import Node


def lifetimes(steps: Sequence[tuple[Sequence[Node], Sequence[Node]]]) -> dict[Node, tuple[int, int]]:
    """Half-open lifetimes of values, from the step that first writes each to the one that last reads it.

    Parameters
    ----------
    steps : sequence of (reads, writes)
        The stored values that each step reads and writes.

    Examples
    --------
    >>> lifetimes([((), ("a",)), (("a",), ("b",)), (("b",), ("c",))])
    {'a': (0, 2), 'b': (1, 3), 'c': (2, 3)}
    """
    span: dict[Node, tuple[int, int]] = {}
    for k, (reads, writes) in enumerate(steps):
        for node in writes:
            span[node] = (span[node][0] if node in span else k, k + 1)
        for node in reads:
            if node in span:
                span[node] = (span[node][0], k + 1)
    return span
