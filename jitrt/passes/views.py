"""Views of views as one view, and slices of concatenations as slices of their parts.

t0 = transpose[axes=(1, 0, 2)] x0; t1 = transpose[axes=(1, 0, 2)] t0   →   x0
t0 = assemble x0 x1; t1 = getitem[index=((2, 5, None),)] t0            →   t1 = getitem[index=((2, 5, 1),)] x0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.movement import base_of, decode_index, getitem
from ..ir.ops.optable import Kind
from ..ir.rewrite import Rule, rule
from ..ir.strided import depends, same_shape


@rule("transpose", "transpose of a transpose → one, or none", "the same elements")
def merge_transposes(n: Node) -> Node | None:
    (x,) = n.args
    axes = n["axes"]
    if axes == tuple(range(len(axes))):
        return x
    return b.view("transpose", x.args[0], axes=tuple([x["axes"][k] for k in axes])) if x.op is n.op else None


@rule("reshape", "reshape of a reshape → one, or none", "the same elements in the same order")
def merge_reshapes(n: Node) -> Node | None:
    (x,) = n.args
    if same_shape(x.shape, n.shape):
        return x
    return Node(n.op, x.args, n.params, n.type) if x.op is n.op else None


@rule("getitem", "slice of a slice → one, or none", "the same elements")
def merge_slices(n: Node) -> Node | None:
    (x,) = n.args
    if depends(n.shape, x.shape):
        return None
    outer = _items(n["index"], x.shape)
    if outer is None:
        return None
    if all(isinstance(i, range) and (i.start, i.step) == (0, 1) for i in outer) and same_shape(x.shape, n.shape):
        return x
    if x.op is not n.op or depends(x.args[0].shape):
        return None
    inner = _items(x["index"], x.args[0].shape)
    if inner is None:
        return None
    later = iter(outer)
    merged: list[Any] = []
    for item in inner:
        if isinstance(item, range):
            chosen = next(later)
            item = item[chosen] if isinstance(chosen, int) else _of(item, chosen)
        merged.append(item)
    return getitem(x.args[0], tuple([_slice(i) if isinstance(i, range) else i for i in merged]))


@rule("getitem", "slice of a concatenation → slice of a part of it", "the same elements; the part has them in memory")
def slice_of_part(n: Node) -> Node | None:
    (x,) = n.args
    if x.op.kind is not Kind.ASSEMBLE or depends(n.shape, x.shape, *(p.shape for p in x.args)):
        return None
    items = _items(n["index"], x.shape)
    if items is None or not n.type.size or any(base_of(a).op.kind is not Kind.SOURCE for a in x.args):
        return None  # what nothing reads of a part is computed, too, if it may raise
    reach = [(i, i) if isinstance(i, int) else (min(i[0], i[-1]), max(i[0], i[-1])) for i in items]
    for part, start in zip(x.args, x["starts"]):
        if all(s <= low and high < s + k for (low, high), s, k in zip(reach, start, part.shape)):
            if part.dtype != n.dtype:
                return None
            moved = [
                i - s if isinstance(i, int) else range(i.start - s, i.stop - s, i.step) for i, s in zip(items, start)
            ]
            return getitem(part, tuple([_slice(i) if isinstance(i, range) else i for i in moved]))
    return None


def _items(index: tuple[Any, ...], shape: Sequence[int]) -> list[int | range] | None:
    """For each axis its number, or the range of those that a basic index takes; None if it makes axes."""
    items: list[Any] = list(decode_index(index))
    if None in items:
        return None
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    rest = items[at + 1 :]
    items = [*items[:at], *[slice(None)] * (len(shape) - at - len(rest)), *rest]
    return [range(*i.indices(extent)) if isinstance(i, slice) else i % extent for i, extent in zip(items, shape)]


def _of(inner: range, outer: range) -> range:
    """The numbers at places of a range."""
    start, step = inner.start + outer.start * inner.step, inner.step * outer.step
    return range(start, start + len(outer) * step, step)


def _slice(numbers: range) -> slice:
    if not numbers:
        return slice(0, 0)
    stop = numbers.start + len(numbers) * numbers.step
    return slice(numbers.start, None if stop < 0 else stop, numbers.step)


RULES: tuple[Rule, ...] = (merge_transposes, merge_reshapes, merge_slices, slice_of_part)
