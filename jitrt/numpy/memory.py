"""The memory of lazy arrays: elements that exist, or the node of the graph that will give them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..base.arrays import WRITEABLE
from ..ir.node import Node
from ..ir.ops.movement import as_view
from ..ir.ops.updates import Region
from ..ir.types import ArrayType, canonical
from .parts import Part


class Memory:
    """What the array and its views have in common.

    Parameters
    ----------
    value : numpy.ndarray or numpy.generic, optional
        The elements, if they exist.
    node : Node, optional
        What they will be, if they do not: one of the two is given.
    """

    __slots__ = ("__weakref__", "direct", "inputs", "looks", "node", "piece", "root", "small_updates", "value", "views")

    def __init__(self, value: Any, node: Node | None = None):
        self.value = value
        self.node = node
        self.piece = -1
        """The number of the piece of the graph to which `inputs` belong."""
        self.inputs: dict[Part | None, Node] = _NONE
        """Inputs of the graph that borrow this memory, or parts of it, each with one reference to it."""
        self.root: Part | None = None
        """All of it as a part, once there are others."""
        self.small_updates = 0
        """Assignments to small parts since the elements were known."""
        self.looks = 0
        """Elements and small parts that were asked for since the elements were known."""
        self.direct = False
        """Whether a loop looks into it, so that NumPy is asked at once."""
        self.views: dict[Part, np.ndarray] = _NONE
        """Parts that a loop looks into, each with one reference to this memory."""

    def known(self, value: Any) -> None:
        """The elements exist from now on."""
        self.value, self.node = value, None
        self.piece, self.small_updates = -1, 0

    def pending(self, node: Node) -> None:
        """The elements will be those that a node gives."""
        self.looks, self.direct, self.views = 0, False, _NONE
        self.node, self.value = node, None

    def note_view(self, part: Part, view: np.ndarray) -> None:
        """Keep a part into which a loop looks."""
        if self.views is _NONE or len(self.views) >= _MOST_VIEWS:
            self.views = {}
        self.views[part] = view

    @property
    def type(self) -> ArrayType:
        """Dtype and shape."""
        if self.node is not None:
            return self.node.type
        return ArrayType(canonical(self.value.dtype), self.value.shape)

    def is_writable(self, part: Part | None) -> bool:
        """Whether NumPy would let anybody write to a part, or to all of it."""
        is_array = self.node is not None or bool(self.value.flags.num & WRITEABLE)
        return is_array and (part is None or not part.is_read_only)

    def is_private(self) -> bool:
        """Whether nobody can see the elements but lazy arrays: the references to them are all known.

        An array in the memory of another one is private if nothing else refers to that other one, either.
        """
        value = self.value
        if isinstance(value, np.generic):
            return True
        if not _COUNTS or not value.flags.num & WRITEABLE:
            return False
        whole = None in self.inputs
        base = value.base
        parts = len(self.inputs) - whole + len(self.views)
        if base is None:
            return sys.getrefcount(value) == _OF_OWNER + whole + parts
        return (
            type(base) is np.ndarray
            and base.base is None
            and sys.getrefcount(value) == _OF_OWNER + whole
            and sys.getrefcount(base) == _OF_BASE + parts
        )


_NONE: Any = {}  # inputs of a memory of which none has been borrowed yet, and its views; nobody writes into it
_MOST_VIEWS = 8


def part_of(value: np.ndarray, region: Region) -> np.ndarray | None:
    """The part of an array that the views of `region` show; None if a reshape among them copies."""
    found: np.ndarray | None = value
    for name, params, type_ in region:
        if found is None:
            return None
        found = as_view(found, name, dict(params), type_.shape)
    return found


def _probe() -> tuple[bool, int, int]:
    """Whether references are counted, and how many `is_private` counts where there are no others."""
    is_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or is_threaded:
        return False, 0, 0
    memory = Memory(np.empty((2, 2))[:1])
    value = memory.value
    base = value.base
    return True, sys.getrefcount(value), sys.getrefcount(base)


_COUNTS, _OF_OWNER, _OF_BASE = _probe()
