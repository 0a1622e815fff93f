"""Registers: the values that a trace has, of its inputs, of numbers in the user's code, and what segments compute."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..ir import build as b
from ..ir.node import Node, type_of
from ..ir.numbered import FirstValues
from ..ir.ops.optable import INPUT
from .forms import ordinary


class Registers:
    """Values by number, and the nodes that stand for them.

    Parameters
    ----------
    inputs : sequence of Node
        The inputs of the trace, which keep their registers.
    given : sequence
        Their values; None where there are none.
    hidden : collection of int
        Numbers of inputs whose values calls do not get that are made during the trace.
    """

    def __init__(self, inputs: Sequence[Node], given: Sequence[Any], hidden: Collection[int] = ()):
        self.inputs = len(inputs)
        self.given = list(given)
        """What each register holds; None where nothing needs it any more."""
        self.places = {node: k for k, node in enumerate(inputs)}
        """The numbers of the registers."""
        self._hidden = frozenset(hidden)
        self.values = self._visible()
        """What calls get that are made during the trace, and what they have given."""
        self._numbers: dict[int, tuple[Any, Node]] = {}
        self._first: FirstValues | None = None

    def __contains__(self, node: Node) -> bool:
        return node in self.places

    def __getitem__(self, node: Node) -> int:
        return self.places[node]

    def value(self, node: Node) -> Any:
        """What the register of `node` holds."""
        return self.given[self.places[node]]

    def is_computed(self, node: Node) -> bool:
        """Whether a segment has computed `node`."""
        return self.places.get(node, -1) >= self.inputs

    def add(self, node: Node, value: Any) -> None:
        """Put the value of `node` into a register."""
        self.places[node] = len(self.given)
        self.given.append(value)
        if self._first is not None:
            self._first.add(node, value)

    @property
    def first(self) -> FirstValues:
        """What is computed from the registers for the sizes that this call has, where extents are variables."""
        if self._first is None:
            self._first = FirstValues({n: self.given[k] for n, k in self.places.items()})
        return self._first

    def number(self, value: Any) -> Node:
        """The node of a number that is a value in this trace, and no part of what is computed; one for each object."""
        known = self._numbers.get(id(value))
        if known is not None and known[0] is value and known[1] in self.places:
            return known[1]
        node = Node(INPUT, (), b.params(index=("register", len(self.given))), type_of(value))
        self.add(node, value)
        self.values[node] = value
        self._numbers[id(value)] = value, node
        return node

    def show(self, nodes: Sequence[Node]) -> None:
        """Let calls that are made during the trace have what the registers of these hold."""
        self.values |= {n: read_only(self.value(n)) for n in nodes}

    def free(self, live: Collection[Node]) -> tuple[int, ...]:
        """Forget what is neither an input nor `live`; the numbers of those registers."""
        freed = [(n, k) for n, k in self.places.items() if k >= self.inputs and n not in live]
        for n, k in freed:
            del self.places[n]
            self.given[k] = None
        self.values, self._first = self._visible(), None
        return tuple(k for _, k in freed)

    def _visible(self) -> dict[Node, Any]:
        """What registers hold that is not hidden."""
        found = {n: self.given[k] for n, k in self.places.items() if k not in self._hidden}
        return {n: read_only(ordinary(value)) for n, value in found.items() if value is not None}

    def forget_values(self) -> None:
        """Let go of the user's arrays, since what the trace was made of leads to itself and may live on for long."""
        self.values, self.given, self._first = {}, [], None


def read_only(value: Any) -> Any:
    """What a call that NumPy makes during the trace gets: it must not change an array a first time."""
    if not isinstance(value, np.ndarray) or not value.size:  # NumPy shuffles what has no elements where it is
        return value
    view = value.view()
    view.flags.writeable = False
    return view
