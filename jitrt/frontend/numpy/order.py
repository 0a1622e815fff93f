"""Memory order: the strides that arrays have where NumPy computes them.

NumPy keeps the order of its operands (K order): the transpose of an array plus one is in Fortran's order again. A
caller sees that in the flags of a result, and in which reshapes of it are views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...base.warningfilters import in_this_thread
from ...ir.node import Node, topological_order
from ...ir.ops.contractions import RESULT
from ...ir.ops.movement import as_view
from ...ir.ops.optable import Kind
from ...ir.ops.ufuncs import CAST, COPY
from ...ir.strided import RETYPED, VIEWS, Strided, depends, view
from ...ir.types import ArrayType, contiguous_strides

_ELEMENT = np.zeros(1, np.int8)


def letter(order: Any, default: str) -> str:
    """The letter of a memory order as a user gives it: None, or a letter of either case, in bytes, too.

    Raises
    ------
    TypeError, ValueError
        What NumPy raises for anything else.
    """
    if order is None:
        return default
    np.empty(0).copy(order)
    return (order if isinstance(order, str) else order.decode()).upper()


class Orders:
    """Strides of the nodes of a trace.

    Parameters
    ----------
    inputs : dict of Node to tuple of int
        Strides in bytes of the inputs that are arrays.
    """

    def __init__(self, inputs: dict[Node, tuple[int, ...]]):
        self._known: dict[Node, tuple[int, ...] | None] = dict(inputs)

    def strides(self, node: Node) -> tuple[int, ...] | None:
        """The strides in bytes of `node`; None for those of a C-contiguous array."""
        if node not in self._known:
            if node.type.ndim < 2 and node.op.kind is not Kind.VIEW:
                return None
            for n in topological_order((node,), self._known):
                self.note(n, self._compute(n))
        found = self._known[node]
        # The elements of a literal that is broadcast have one place; an array of them that is stored does not.
        return None if found and any(s == 0 and n > 1 for s, n in zip(found, node.shape)) else found

    def normal(self, node: Node, strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Strides of an array like `node`; None for those of a C-contiguous one."""
        if strides is None or strides == contiguous_strides(node.shape, node.dtype.itemsize):
            return None
        return strides

    def of_result(self, node: Node, strides: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """Strides of new memory for `node` that has its axes in the order of `strides`, its own by default."""
        if node.op is RESULT and min(self.strides(node) or (0,)) < 0:
            return None  # a view that NumPy gives is left as it is
        strides = self.strides(node) if strides is None else strides
        return None if strides is None else self.normal(node, kept_order(node, [(strides, node.shape)]))

    def of_copy(
        self, node: Node, array: ArrayType, strides: tuple[int, ...] | None, order: str
    ) -> tuple[int, ...] | None:
        """The strides of `node`, a copy in one of NumPy's orders of an `array` that has `strides`.

        So are those of what `numpy.ones_like` makes, and of what an array is converted to.
        """
        if node.type.ndim < 2 or (strides is None and order != "F"):
            return None
        strides = strides or ()
        if order in ("A", "K"):
            in_c, in_f = _contiguity(array, strides)
            order = "F" if in_f and not in_c else "C" if order == "A" or in_c else order
        if order == "C":
            return None
        axes = range(node.type.ndim)[::-1] if order == "F" else by_stride(strides)
        return self.normal(node, _dense(node, axes))

    def note(self, node: Node, strides: tuple[int, ...] | None) -> None:
        """Note that `node` is stored with these strides."""
        self._known[node] = self.normal(node, strides)

    def note_like(self, node: Node, array: np.ndarray) -> None:
        """Note that `node` is stored as `array` is, which is smaller where extents are variables."""
        self.note(node, _dense(node, by_stride(array.strides)) if depends(node.shape) else array.strides)

    def note_indexed(self, node: Node) -> None:
        """Note that `node` is ``x[index]`` with arrays: their axes come first in memory, and then those of `x`.

        Where there are none of `x`, the result is in the order of the arrays.
        """
        x = node.args[0]
        self.strides(x)
        own, at = self._own(x), node["at"]
        direct = [k for k in range(x.type.ndim) if k not in node["axes"]]
        arrays = [i for i in node.args[1:] if i.type.ndim]
        if not direct and node.type.ndim > 1:
            for i in arrays:
                self.strides(i)
            self.note(node, kept_order(node, [(self._own(i), i.shape) for i in arrays]))
            return
        joint = range(at, at + node.type.ndim - len(direct))
        places = [k for k in range(node.type.ndim) if k not in joint]  # of the direct axes in the result
        inner = sorted(zip(direct, places), key=lambda pair: -abs(own[pair[0]]))
        self.note(node, _dense(node, [*joint, *(place for _, place in inner)]))

    def _compute(self, n: Node) -> tuple[int, ...] | None:
        if n.op.kind is Kind.VIEW:
            return None if _is_filled(n) else self._of_view(n)
        if n.op is COPY:  # some say in which order they are
            number = n["number"]
            return number[1] if type(number) is tuple else None
        if n.type.ndim < 2 or n.op.order == "C":
            return None
        if n.op.order == "A":
            return self.of_copy(n, n.args[0].type, self._known[n.args[0]], "A")
        if n.op.kind is Kind.UPDATE:
            return self.strides(n.args[0])
        if n.op.kind is Kind.ELEMENTWISE:
            operands = [a for a in n.args if a.type.ndim]
            if all(self._known[a] is None for a in operands):
                return None
            if n.op is CAST and 0 in self._own(n.args[0]):
                return self._own(n.args[0])  # the iterator that casts an operand goes by the strides that it has
            return kept_order(n, [(self._own(a), a.shape) for a in operands])
        if n.op.kind is Kind.ASSEMBLE and any(self._known[a] is not None for a in n.args):
            return _joined_order(n, [_small(a.shape, self._own(a)) for a in n.args])
        if callable(n.op.order):
            made = n.op.order(n, [_small(a.shape, self._own(a)) for a in n.args])
            return _dense(n, by_stride(made.strides))
        if n.op.kind is Kind.SCAN and n.args[0].shape == n.shape and self._known[n.args[0]] is not None:
            return kept_order(n, [(self._own(n.args[0]), n.shape)])
        if n.kwargs.get("axis", n.kwargs.get("axes")) is not None:
            return self._of_fold(n) if len(n.args) == 1 else self._of_masked_fold(n)
        return None

    def _of_fold(self, n: Node) -> tuple[int, ...] | None:
        """Strides of what is left when some axes are folded."""
        (x,) = n.args
        given: Any = n.kwargs.get("axis", n.kwargs.get("axes"))
        axes = {k % max(x.type.ndim, 1) for k in ((given,) if isinstance(given, int) else given)}
        if self._known[x] is not None:
            own = self._own(x)
            if n.op.name == "count_nonzero" and x.dtype.kind != "b":  # NumPy makes truth values of it first
                own = self.of_copy(x, x.type, own, "K") or contiguous_strides(x.shape, 1)
            if n.shape == tuple(
                1 if k in axes else m for k, m in enumerate(x.shape)
            ):  # the reduced axes are kept with one element
                return kept_order(n, [(own, n.shape)])
            kept = [k for k in range(x.type.ndim) if k not in axes]
            if [x.shape[k] for k in kept] != list(n.shape):
                return None
            return kept_order(n, [(tuple(own[k] for k in kept), n.shape)])
        return None

    def _of_masked_fold(self, n: Node) -> tuple[int, ...] | None:
        """The same with a ``where`` mask: the iterator goes by the strides of both."""
        x, mask, *_ = n.args
        is_masked = n.op.kind is Kind.COMPOUND and mask.dtype.kind == "b" and mask.shape == x.shape
        if not is_masked or all(self._known[a] is None for a in n.args):
            return None
        small, *others = (_small(a.shape, self._own(a)) for a in n.args)
        others[0] = others[0].view(np.bool_)
        given = {name: 0 if name in ("initial", "ddof") else value for name, value in n.kwargs.items()}
        with np.errstate(all="ignore"), in_this_thread("ignore"):
            made = n.op.numpy(small, *others, **given)  # type: ignore[misc]
        return _dense(n, by_stride(made.strides)) if np.ndim(made) == n.type.ndim else None

    def _own(self, n: Node) -> tuple[int, ...]:
        found = self._known.get(n)  # arrays with one axis that are no views are contiguous, and not noted
        return contiguous_strides(n.shape, n.dtype.itemsize) if found is None else found

    def _of_view(self, n: Node) -> tuple[int, ...] | None:
        (x,) = n.args
        if n.op.name in RETYPED:
            return self._own(x)
        own = self._own(x)
        if n.op.name in VIEWS and depends(x.shape, own, n.shape):
            found = view(n.op.name, Strided(x.shape, own), dict(n.params), n.shape)
            return None if found is None else found.strides
        moved = as_view(as_strided(_ELEMENT, x.shape, own), n.op.name, dict(n.params), n.shape)
        return None if moved is None else moved.strides


def _is_filled(n: Node) -> bool:
    """Whether `n` is what np.ones gives, an array that has been filled with a literal, and no view."""
    return n.op.name == "broadcast_to" and n.args[0].op.name == "constant" and not n.args[0].shape


def _contiguity(array: ArrayType, strides: tuple[int, ...]) -> tuple[bool, bool]:
    """Whether NumPy calls an array of these strides contiguous in C's and in Fortran's order."""
    if depends(array.shape, strides):
        return tuple(
            all(n == 1 or s == t for n, s, t in zip(shape, own, contiguous_strides(shape, array.dtype.itemsize)))
            for shape, own in ((array.shape, strides), (array.shape[::-1], strides[::-1]))
        )  # type: ignore[return-value]
    flags = as_strided(np.empty(1, array.dtype), array.shape, strides).flags
    return flags.c_contiguous, flags.f_contiguous


def kept_order(n: Node, operands: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> tuple[int, ...]:
    """Strides of what NumPy's iterator allocates for operands of these strides and shapes."""
    # Two elements along an axis tell as much about its place as all of them do.
    probes = [_probe(n.shape, strides, shape) for strides, shape in operands]
    flags = [["readonly"]] * len(probes) + [["writeonly", "allocate"]]
    iterator: Any = np.nditer([*probes, None], ["zerosize_ok"], flags, order="K")  # type: ignore[call-overload]
    return _dense(n, by_stride(iterator.operands[-1].strides))


def _joined_order(n: Node, parts: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Strides of what NumPy joins arrays to that are like the small `parts`."""
    axes = [k for k, extent in enumerate(n.shape) if any(arg.shape[k] != extent for arg in n.args)]
    if len(axes) > 1:  # no concatenation
        return contiguous_strides(n.shape, n.dtype.itemsize)
    return _dense(n, by_stride(np.concatenate(parts, axes[0] if axes else 0).strides))


def _small(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """An array of zeros whose axes are in the order that `strides` have, with no more than two elements along each."""
    lengths = sorted({0, *map(abs, strides)})
    steps = [1 << lengths.index(abs(s)) >> 1 for s in strides]
    return as_strided(np.zeros(1 + sum(steps), np.int8), [min(2, n) for n in shape], steps)


def by_stride(strides: Sequence[int]) -> list[int]:
    """Axes from the longest stride to the shortest one.

    Examples
    --------
    >>> by_stride((8, -32, 0))
    [1, 0, 2]
    """
    return sorted(range(len(strides)), key=lambda k: -abs(strides[k]))


def _dense(n: Node, axes: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array like `n` without gaps, whose `axes` are given from the outermost to the innermost."""
    strides = [0] * n.type.ndim
    step = n.dtype.itemsize
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(n.shape[axis], 1)
    return tuple(strides)


def _probe(whole: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An array with axes like those of an operand, and no more than two elements along each; nobody reads them."""
    own = whole[len(whole) - len(shape) :]
    return as_strided(_ELEMENT, [min(2, n) for n in own], [s if n > 1 else 0 for s, n in zip(_ranks(strides), shape)])


def _ranks(strides: Sequence[int]) -> Sequence[int]:
    """Numbers in the order of strides that depend on variables, whose signs and zeros they have."""
    if not depends(strides):
        return strides
    lengths: list[int] = [0]
    for length in sorted(map(abs, strides)):
        if length != lengths[-1]:
            lengths.append(length)
    return [lengths.index(abs(s)) * (1 if s >= 0 else -1) for s in strides]
