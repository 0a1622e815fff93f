"""Places in sorted arrays, in staged functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.integers import Poly
from . import arrays as a
from .arrays import ONE, ZERO
from .recorder import Recorder
from .registry import as_array, function
from .scalars import from_register, register_of
from .shapes import reshape
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
    values = reshape(r, v, v.size, True)
    found = a.fresh(r, INT, (values.shape[0],))
    if dtype.kind == "f":
        nan = lambda i: r.compute("isnan", [a.element_of(r, values, dtype, i)], [dtype], BOOL)  # noqa: E731
        r.stop(a.fold_all(r, "logical_or", BOOL, values.shape, nan))
    sorted_.places(values, found)
    return found if v.ndim == 1 else reshape(r, found, v.shape, False)


class _Sorted:
    """A sorted array that is searched in as many steps for every value, without branches.

    Nan stands behind all others. Where there is any the procedure stops.
    """

    def __init__(self, r: Recorder, array: Array, side: str):
        self.r, self.array, self.is_left = r, array, side == "left"
        self.extent = array.shape[0]
        is_some = r.machine(">", self.extent, ZERO)
        self.is_some = r.cast(is_some, BOOL, INT)
        if array.dtype.kind == "f":
            with r.when(is_some):
                r.suppose(is_some, True)
                self.check(array.element((self.extent - 1,)))

        def is_below(indices: tuple[Poly, ...]) -> str:
            power = Poly.name(r.machine("shl", ONE, indices[0], [1], [1 << _MOST_STEPS]))
            return r.cast(r.machine("<", power, self.extent), BOOL, INT)

        steps = a.fold_all(r, "add", INT, (Poly.number(_MOST_STEPS),), is_below)
        r.facts.bound(steps, [0], [_MOST_STEPS])
        self.steps = Poly.name(steps)

    def check(self, value: str) -> None:
        """Stop where a value is nan."""
        if self.array.dtype.kind == "f":
            self.r.stop(self.r.compute("isnan", [value], [self.array.dtype], BOOL))

    def halved(self, step: Callable[[Poly], None]) -> None:
        """Loop over the steps, each of which halves what is left."""
        r, left = self.r, self.r.variable()
        r.put(left, r.integer(self.extent), INT)
        with r.loop(ZERO, self.steps):
            now = r.get(left, INT)
            r.facts.bound(now, [1], [self.extent])
            half = Poly.name(r.machine("shr", Poly.name(now), ONE, [0], [Poly.name(now)]))
            step(half)
            r.put(left, r.integer(Poly.name(now) - half), INT)

    def moved(self, place: str, by: Poly, value: str) -> str:
        """A place, further by so many if the element in front of what is there is below the value."""
        r, dtype = self.r, self.array.dtype
        further = Poly.name(place) + by
        element = self.array.element((further - 1,))
        below = r.compute("less" if self.is_left else "less_equal", [element, value], [dtype] * 2, BOOL)
        return r.compute("where", [below, r.integer(further), place], [BOOL, INT, INT], INT)

    def place(self, value: str) -> str:
        """Where a value would be inserted."""
        r, at = self.r, self.r.variable()
        r.put(at, r.integer(ZERO), INT)
        self.halved(lambda half: r.put(at, self.moved(r.get(at, INT), half, value), INT))
        with r.loop(ZERO, Poly.name(self.is_some)):
            r.put(at, self.moved(r.get(at, INT), ONE, value), INT)
        found = r.get(at, INT)
        r.facts.bound(found, [0], [self.extent])
        return found

    def places(self, values: Array, found: Array) -> None:
        """Where many values would be inserted: one step of a block of them after the other."""
        r, count = self.r, values.shape[0]
        zero = r.integer(ZERO)
        blocks = Poly.name(r.machine("udiv", count + (_BLOCK - 1), Poly.number(_BLOCK), [0], [count]))
        with r.loop(ZERO, blocks) as block:
            first = block * _BLOCK
            last = r.minimum(first + _BLOCK, count)
            with r.loop(first, last) as k:
                a.store(r, found, (k,), zero)

            def step(by: Poly) -> None:
                with r.loop(first, last) as k:
                    value = a.element_of(r, values, self.array.dtype, (k,))
                    a.store(r, found, (k,), self.moved(found.element((k,)), by, value))

            self.halved(step)
            with r.loop(ZERO, Poly.name(self.is_some)):
                step(ONE)
