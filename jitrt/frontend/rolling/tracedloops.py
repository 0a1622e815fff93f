"""The loops that a trace is in."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from ...ir.node import Node, topological_order
from ..segments import is_recorded_in_a_loop
from .loopnumber import Counter, Place


class TracedLoops:
    """What one trace knows of the loops that it is in.

    Parameters
    ----------
    excepted : set of Place
        Loops about which nothing is assumed.
    """

    def __init__(self, excepted: Set[Place]):
        self.excepted = excepted
        self.first_values: dict[Node, Node] = {}
        """For each parameter of a loop that is being recorded, what it is in the first iteration."""
        self.counters: dict[object, Counter] = {}
        """Of loops whose numbers are symbols, while they run."""
        self.symbolic = True
        """Whether such numbers may stand for integers."""
        self.nonzero: set[Node] = set()
        """Such numbers that are zero in no iteration."""
        self.ranges: dict[tuple[int, int], Any] = {}
        """Ranges of loops that are being traced, by frame and place."""
        self.decide: Callable[[Node], bool | None] = lambda node: None
        """Asked for the truth of a value on which a loop depends."""

    def __bool__(self) -> bool:
        """Whether what is recorded may be part of a loop that becomes one node."""
        return bool(self.first_values or self.counters) or any(r.is_rolling for r in self.ranges.values())

    def changes(self, *nodes: Node) -> bool:
        """Whether one of `nodes` may be another value in each iteration."""
        if self.first_values and any(map(is_recorded_in_a_loop, nodes)):
            return True
        counters = {counter.node for counter in self.counters.values()}
        return bool(counters) and not counters.isdisjoint(topological_order(nodes))
