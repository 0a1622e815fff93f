"""Variables where ways through a function meet: how the values that they hold are handed over.

A value that is the same on all ways stays what it is. Others go through variables of the procedure: a number through
one, an array through its pointer and, where they differ, its extents and strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...ir.integers import Poly
from ...ir.loops import POINTER
from .arithmetic import exactly, in_range
from .arrays import ZERO, contiguous_strides, in_memory
from .kinds import Held, Kind, NoneOr, Number, Parts, Reference, Same, assembled, parts_of
from .recorder import MOST_EXTENT, Recorder
from .scalars import flag_of, poly_of, settled_flag
from .values import (
    BOOL,
    INT,
    Chosen,
    NotStaged,
    Perhaps,
    Referenced,
    Scalar,
    View,
    dtype_of,
    is_word,
)

_MOST_STRINGS = 16  # whose places in another list of strings are told one by one


def number_dtypes(kind: Number) -> list[np.dtype]:
    """The dtypes of the registers that a number of this kind is kept in: its value, and what is not known of it."""
    return [INT if is_word(kind.dtype) else kind.dtype, *[BOOL] * ((kind.python is None) + kind.unsettled)]


def number_registers(r: Recorder, kind: Number, value: Any) -> list[str]:
    """The registers that keep a number, which is of this kind or of one that it covers."""
    if kind.strings:
        return [_place_of_string(r, kind.strings, value)]
    if is_word(kind.dtype):
        poly = poly_of(r, value)
        if dtype_of(value) != kind.dtype:
            poly = in_range(r, poly, np.iinfo(kind.dtype))
        registers = [r.integer(poly)]
    else:
        registers = [exactly(r, value, kind.dtype)]
    if kind.python is None:
        registers.append(flag_of(r, value))
    if kind.unsettled:
        registers.append(settled_flag(r, value, kind.dtype))
    return registers


def _place_of_string(r: Recorder, strings: tuple[str, ...], value: str | Chosen) -> str:
    """Which of the strings a value is."""
    if not isinstance(value, Chosen):
        return r.integer(Poly.number(strings.index(value)))
    shifts = {strings.index(string) - k for k, string in enumerate(value.strings)}
    if len(shifts) == 1:
        return r.integer(Poly.name(value.number) + shifts.pop())
    if len(value.strings) > _MOST_STRINGS:
        raise NotStaged("a variable that holds a character or another string")
    place = r.variable()
    for k, string in enumerate(value.strings):
        with r.when(r.machine("==", Poly.name(value.number), Poly.number(k))):
            r.put(place, r.integer(Poly.number(strings.index(string))), INT)
    return r.get(place, INT)


def number_of(r: Recorder, kind: Number, registers: list[str]) -> Scalar | Chosen:
    """The number, or the string, that these registers keep."""
    name, *others = registers
    if kind.strings:
        return Chosen(kind.strings, name)
    flag = others[0] if kind.python is None else ""
    settled = others[-1] if kind.unsettled else ""
    if not is_word(kind.dtype):
        return Scalar(kind.dtype, kind.python, name, flag=flag, settled=settled)
    return Scalar(kind.dtype, kind.python, "", r.of_dtype(name, kind.dtype), flag=flag, settled=settled)


class Variable:
    """Variables of the procedure that hold values of a kind."""

    def __init__(self, r: Recorder, kind: Kind):
        self.kind = kind
        self.parts = [Variable(r, k) for k in kind.kinds] if isinstance(kind, Parts) else []
        if isinstance(kind, NoneOr):
            self.parts = [Variable(r, kind.kind)]
        self.names: list[str] = []
        if isinstance(kind, Number):
            self.names = [r.variable() for _ in number_dtypes(kind)]
        elif isinstance(kind, (NoneOr, Reference)):
            self.names = [r.variable()]
        elif isinstance(kind, Held):
            count = (kind.base is None) * 2 + (kind.shape is None) * kind.ndim + (not kind.contiguous) * kind.ndim
            self.names = [r.variable() for _ in range(count)]

    def pointers(self, origin: str) -> Iterator[str]:
        """The variables in it that may point into memory of an origin."""
        for part in self.parts:
            yield from part.pointers(origin)
        if isinstance(self.kind, Held) and self.kind.base is None and origin in self.kind.origins:
            yield self.names[0]

    def put(self, r: Recorder, value: Any) -> None:
        """Let it hold `value`, which is of its kind or of one that it covers."""
        kind = self.kind
        if isinstance(kind, NoneOr):
            is_none = value.is_none if isinstance(value, Perhaps) else r.literal(value is None, BOOL)
            r.put(self.names[0], is_none, BOOL)
            if value is not None:
                self.parts[0].put(r, value.value if isinstance(value, Perhaps) else value)
        elif isinstance(kind, Parts):
            for part, v in zip(self.parts, parts_of(value)):
                part.put(r, v)
        elif isinstance(kind, Reference):
            r.put(self.names[0], r.integer(value.handle), INT)
        elif isinstance(kind, Number):
            for variable, register, dtype in zip(self.names, number_registers(r, kind, value), number_dtypes(kind)):
                r.put(variable, register, dtype)
        elif isinstance(kind, Held):
            names = iter(self.names)
            if kind.base is None:
                r.put(next(names), value.view.base, POINTER)
                r.put(next(names), r.integer(value.view.offset), INT)
            for part in (
                *(value.shape if kind.shape is None else ()),
                *(() if kind.contiguous else value.view.strides),
            ):
                r.put(next(names), r.integer(part), INT)

    def get(self, r: Recorder) -> Any:
        """What it holds now."""
        kind = self.kind
        if isinstance(kind, Same):
            return kind.value
        if isinstance(kind, NoneOr):
            return Perhaps(self.parts[0].get(r), r.get(self.names[0], BOOL))
        if isinstance(kind, Parts):
            parts = [part.get(r) for part in self.parts]
            return assembled(kind, parts)
        if isinstance(kind, Reference):
            return Referenced(kind.kind, kind.places, r.extent(self.names[0]))
        names = iter(self.names)
        if isinstance(kind, Number):
            return number_of(r, kind, [r.get(*part) for part in zip(names, number_dtypes(kind))])
        assert isinstance(kind, Held)
        base, offset = kind.base, ZERO
        if base is None:
            base = r.get(next(names), POINTER)
            offset = r.extent(next(names))
        shape = kind.shape
        if shape is None:
            shape = tuple(r.extent(next(names)) for _ in range(kind.ndim))
        if kind.contiguous:
            strides = contiguous_strides(shape, kind.dtype)
        else:
            strides = tuple(_signed(r, next(names)) for _ in range(kind.ndim))
        view = View(base, offset, strides, kind.origins, is_given=kind.is_given)
        return in_memory(r, view, kind.dtype, shape, kind.c_order)


def _signed(r: Recorder, variable: str) -> Poly:
    """The stride that a variable holds."""
    return r.bounded(r.get(variable, INT, chooses=False), -MOST_EXTENT, MOST_EXTENT)
