"""Storage cells: the memory that tracers view.

The content of a cell is a node. An assignment puts another node in the cell, an update of the old one, and every view
of the cell sees it. Since nodes are values, an operand that overlaps what is written is read as it was before, as
NumPy does by buffering.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..ir import build as b
from ..ir import strided
from ..ir.node import Node
from ..ir.ops.movement import as_view
from ..ir.ops.updates import Region, is_read_only, region_between, update
from ..ir.strided import RETYPED, VIEWS, Strided, depends
from ..ir.types import contiguous_strides
from .forms import Form


class Cell:
    """The memory of one array.

    Parameters
    ----------
    content : Node
        The value of the whole array.
    strides : tuple of int, optional
        In bytes; by default those of a C-contiguous array.
    writable : bool
        Whether NumPy would let the function write here.
    number : int, optional
        Later arrays have larger ones.
    form : Form, optional
        How the array differs from ordinary ones.
    """

    __slots__ = ("__weakref__", "content", "form", "number", "strides", "writable")

    def __init__(
        self,
        content: Node,
        strides: tuple[int, ...] | None = None,
        writable: bool = True,
        number: int = -1,
        form: Form | None = None,
    ):
        self.form = form
        self.number = Cell.made() if number < 0 else number
        self.content = content
        self.strides = strides
        self.writable = writable

    made = staticmethod(itertools.count().__next__)
    """A number larger than those of all arrays that have been made."""

    def is_copied(self, view: Node, contiguous: bool) -> bool:
        """Whether NumPy would copy where `view`, a chain of views of the content, has a reshape.

        `contiguous` asks for a C-contiguous result.
        """
        region = region_between(view, self.content)
        if not any(name == "reshape" for name, *_ in region):
            return False
        strides = self.strides_of(view)
        return strides is None or (contiguous and not _is_dense(view, strides))

    def is_contiguous(self, view: Node) -> bool:
        """Whether `view`, a chain of views of the content, is in C's order and without gaps."""
        strides = self.strides_of(view)
        return strides is not None and _is_dense(view, strides)

    def strides_of(self, view: Node) -> tuple[int, ...] | None:
        """The strides of `view`, a chain of views of the content; None if a reshape in it copies."""
        region, whole = region_between(view, self.content), self.content
        own = contiguous_strides(whole.shape, whole.dtype.itemsize) if self.strides is None else self.strides
        shapes = (type.shape for _, _, type in region)
        if depends(whole.shape, own, *shapes) and all(name in VIEWS for name, *_ in region):
            return _strides_of(Strided(whole.shape, own), region)
        found = self._array_like(view, np.empty(1, np.int8))
        return None if found is None else found.strides

    def is_copied_in_order(self, source: Node, target: Node) -> bool:
        """Whether NumPy, where it copies `source` to `target`, reads elements that it has overwritten.

        Both are chains of views of the content. It does so where vectors overlap that have other strides of one sign;
        everything else it buffers, or copies from the end on.
        """
        if not (target.type.ndim == source.type.ndim == 1 and target.shape == source.shape):
            return False
        first, second = self.strides_of(source), self.strides_of(target)
        if first is None or second is None or first == second or first[0] * second[0] <= 0:
            return False
        memory = np.empty(1, np.int8)
        x, y = self._array_like(source, memory), self._array_like(target, memory)
        assert x is not None and y is not None
        return np.may_share_memory(x, y)

    def probes(self, *views: Node) -> list[np.ndarray] | None:
        """Arrays, not to be read, of which those have common memory whose views do; None where that is not known."""
        if any(name in RETYPED for view in views for name, *_ in region_between(view, self.content)):
            return None
        memory = np.empty(1, np.int8)
        found = [self._array_like(view, memory) for view in views]
        known = [probe for probe in found if probe is not None]
        return known if len(known) == len(views) else None

    def _array_like(self, view: Node, memory: np.ndarray) -> np.ndarray | None:
        """An array, not to be read, that lies as `view`, a chain of views of the content, does if that is at `memory`.

        None if a reshape in the chain copies.
        """
        strides = self.strides
        if strides is None:
            strides = contiguous_strides(self.content.shape, self.content.dtype.itemsize)
        probe: np.ndarray | None = as_strided(memory, self.content.shape, strides)
        for name, params, type in region_between(view, self.content):
            if name in RETYPED:
                continue
            probe = as_view(probe, name, dict(params), type.shape)
            if probe is None:
                return None
        return probe

    def check_writable(self, region: Region, message: str = "assignment destination is read-only") -> None:
        """Raise `ReadOnly` if NumPy would not let the function write to a region."""
        if not self.writable or is_read_only(region):
            raise ReadOnly(message)

    def write(self, region: Region, value: Node) -> None:
        """Assign `value`, which has the shape and dtype of the region, to a region of the array."""
        self.check_writable(region)
        self.content = update(self.content, value, region) if region else value


def _strides_of(x: Strided | None, region: Region) -> tuple[int, ...] | None:
    """The strides of a region of `x`; None if a reshape in it copies."""
    for name, params, type in region:
        if x is not None:
            x = strided.view(name, x, dict(params), type.shape)
    return None if x is None else x.strides


def _is_dense(node: Node, strides: tuple[int, ...]) -> bool:
    """Whether strides are those of a C-contiguous array, as far as it has elements."""
    wanted = contiguous_strides(node.shape, node.dtype.itemsize)
    return node.type.size == 0 or all(n == 1 or s == t for n, s, t in zip(node.shape, strides, wanted))


class ReadOnly(ValueError):
    """NumPy's error for an assignment to a read-only array, by NumPy's name where a function catches it."""

    __module__, __qualname__ = ValueError.__module__, ValueError.__qualname__


ReadOnly.__name__ = ValueError.__name__


def fit(value: Node, dtype: np.dtype, shape: tuple[int, ...]) -> Node:
    """`value` as an array of this dtype and shape stores it.

    Raises
    ------
    ValueError
        If it does not broadcast.
    """
    found = value.shape
    if found == shape:
        return b.cast(value, dtype)
    while len(found) > len(shape) and found[0] == 1:
        found = found[1:]
    if len(found) > len(shape) or any(n not in (1, m) for n, m in zip(found[::-1], shape[::-1])):
        given, wanted = (str(s).replace(" ", "") for s in (value.shape, shape))
        raise ValueError(f"could not broadcast input array from shape {given} into shape {wanted}")
    if found != value.shape:
        value = b.view("reshape", value, shape=found)
    return b.broadcast_to(b.cast(value, dtype), shape)
