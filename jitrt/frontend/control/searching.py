"""Places in sorted arrays, in staged functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...ir.integers import Poly
from ...ir.loops import Fold
from . import arrays as a
from .arrays import ONE, ZERO
from .recorder import Recorder
from .registry import as_array, function
from .reshaping import in_c_order
from .scalars import from_register, register_of
from .values import BOOL, INT, Array, NotStaged, Scalar, dtype_of, is_number, is_static

_MOST_STEPS = 48  # halves of an array
_BLOCK = 64  # values that are looked for at a time


@function(np.searchsorted, method="searchsorted")
def searchsorted(r: Recorder, array: Any, v: Any, side: Any = "left") -> Any:
    """How many elements of a sorted array are below `v`; with `side` "right" how many are not above it."""
    array = a.materialise(r, as_array(r, array))
    v = np.asarray(v)[()] if is_static(v) else v if is_number(v) else a.materialise(r, as_array(r, v))
    if isinstance(v, Scalar) and v.python is None:
        raise NotStaged("a number that is Python's or NumPy's")
    dtype = np.promote_types(array.dtype, v.dtype if isinstance(v, Array) else dtype_of(v))
    if array.ndim != 1 or side not in ("left", "right") or dtype.kind not in "iuf" or dtype.char == "e":
        raise NotStaged("a search of this kind")
    if array.dtype != dtype:
        array = a.materialise(r, a.cast(r, array, dtype))
    sorted_ = _Sorted(r, array, side)
    if is_number(v):
        value = register_of(r, v, dtype)
        sorted_.check(value)
        return from_register(r, sorted_.place(value), INT)
    values = in_c_order(r, v, (v.size,))
    found = a.fresh(r, INT, (values.shape[0],))
    if dtype.kind == "f":
        nan = lambda i: r.compute("isnan", [a.element_of(r, values, dtype, i)], dtype, BOOL)  # noqa: E731
        r.stop(a.fold_all(r, "logical_or", BOOL, values.shape, nan))
    sorted_.places(values, found)
    return found if v.ndim == 1 else in_c_order(r, found, v.shape)


class _Sorted:
    """Elements of a sorted array, which are searched in as many steps for every value, without branches.

    The steps are powers of two, and a place moves by a truth value shifted to the left: what is chosen between two
    places LLVM makes a branch of, which is taken or not at random. A first step leaves as many elements as the largest
    power has. Nan stands behind all others. Where there is any the procedure stops.

    Parameters
    ----------
    r : Recorder
    array : Array
    side : {"left", "right"}
    start, extent : Poly
        The elements: by default all of them.
    """

    def __init__(self, r: Recorder, array: Array, side: str, start: Poly = ZERO, extent: Poly | None = None):
        self.r, self.array, self.side = r, array, side
        self.start, self.extent = start, array.shape[0] if extent is None else extent
        is_some = r.machine(">", self.extent, ZERO)
        self.is_some = Poly.name(r.cast(is_some, BOOL, INT))
        if array.dtype.kind == "f" and extent is None:
            with r.when(is_some):
                r.suppose(is_some, True)
                self.check(array.element((self.extent - 1,)))

        def fits(indices: tuple[Poly, ...]) -> str:
            power = Poly.name(r.machine("shl", ONE, indices[0] + 1, [1], [1 << _MOST_STEPS]))
            return r.cast(r.machine("<=", power, self.extent), BOOL, INT)

        self.steps = r.bounded(a.fold_all(r, "add", INT, (Poly.number(_MOST_STEPS),), fits), 0, _MOST_STEPS)
        self.power = self.shifted(r.integer(ONE), self.steps)

    def check(self, value: str) -> None:
        """Stop where a value is nan."""
        if self.array.dtype.kind == "f":
            self.r.stop(self.r.compute("isnan", [value], self.array.dtype, BOOL))

    def shifted(self, value: str, by: Poly) -> Poly:
        """A number between 0 and 1 times a power of two that is no larger than the extent."""
        return Poly.name(self.r.machine("shl", Poly.name(value), by, [0], [self.array.shape[0] + 1]))

    def is_below(self, place: Poly, value: str) -> str:
        """Whether the element in front of a place is below the value, as a number."""
        r, dtype = self.r, self.array.dtype
        element = self.array.element((place - 1,))
        below = r.compute("less" if self.side == "left" else "less_equal", [element, value], dtype, BOOL)
        return r.cast(below, BOOL, INT)

    def search(self, step: Callable[[Callable[[str, str], str]], None]) -> None:
        """Take the steps; each is given what makes of a place, and of the value, the next place."""
        r = self.r

        def first(place: str, value: str) -> str:
            below = Poly.name(self.is_below(self.start + self.power, value))
            return r.integer(Poly.name(place) + below * (self.extent - self.power))

        def moved(place: str, value: str, by: Poly) -> str:
            further = Poly.name(place) + self.shifted(r.integer(ONE), by)
            return r.integer(Poly.name(place) + self.shifted(self.is_below(further, value), by))

        with r.loop(ZERO, self.is_some):
            step(first)
        with r.loop(ZERO, self.steps) as turn:
            step(partial(moved, by=self.steps - 1 - turn))
        with r.loop(ZERO, self.is_some):
            step(partial(moved, by=ZERO))

    def place(self, value: str) -> str:
        """Where a value would be inserted."""
        r, at = self.r, self.r.variable()
        r.put(at, r.integer(self.start), INT)
        self.search(lambda next_: r.put(at, next_(r.get(at, INT), value), INT))
        found = r.get(at, INT)
        r.facts.bound(found, [0], [self.array.shape[0]])
        return found

    def places(self, values: Array, found: Array) -> None:
        """Where many values would be inserted: one step of a block of them after the other.

        Neighbours are often near each other, such as those of a grid. So what a block searches lies between the places
        of its smallest and of its largest value.
        """
        r, count, dtype = self.r, values.shape[0], self.array.dtype
        two = Poly.number(2)
        ends, limits = a.fresh(r, dtype, (two,)), a.fresh(r, INT, (two,))
        blocks = Poly.name(r.machine("udiv", count + (_BLOCK - 1), Poly.number(_BLOCK), [0], [count]))
        with r.loop(ZERO, blocks) as block:
            first = block * _BLOCK
            last = r.minimum(first + _BLOCK, count)
            folds = [Fold(r.name(), op, dtype) for op in ("minimum", "maximum")]
            with r.loop(first, last, 1, folds) as k:
                value = a.element_of(r, values, dtype, (k,))
                for fold in folds:
                    r.update(fold.name, value)
            for place, fold in zip((ZERO, ONE), folds):
                a.store(r, ends, (place,), fold.name)
            self._block(ends, limits, ZERO, two)
            names = [limits.element((k,)) for k in (ZERO, ONE)]
            for name in names:
                r.facts.bound(name, [0], [self.array.shape[0]])
            low, high = map(Poly.name, names)
            _Sorted(r, self.array, self.side, low, high - low)._block(values, found, first, last)

    def _block(self, values: Array, found: Array, first: Poly, last: Poly) -> None:
        """Where the values with these indices would be inserted."""
        r = self.r
        start = r.integer(self.start)
        with r.loop(first, last) as k:
            a.store(r, found, (k,), start)

        def step(next_: Callable[[str, str], str]) -> None:
            with r.loop(first, last) as k:
                value = a.element_of(r, values, self.array.dtype, (k,))
                a.store(r, found, (k,), next_(found.element((k,)), value))

        self.search(step)
