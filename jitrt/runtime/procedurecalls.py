"""Tables by which native code calls procedures: what the arguments have to be, and what is made of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import debug
from ..frontend.control.stage import WAY, Argument, Known, Made, Number, Result, Several
from ..kernels import guard
from ..kernels import procedure as returned
from .dispatch import Words
from .guards import GuardRows, Unguarded, address_of
from .objects import dtype_word, fields

if TYPE_CHECKING:
    from .procedurework import Work
    from .stagedloops import _Loop


def procedure_table(loop: _Loop, args: tuple, work: Work) -> Words | None:
    """The table by which native code runs a procedure; None if Python has to prepare its calls.

    Parameters
    ----------
    loop : _Loop
    args : tuple
        Arguments that it is made for.
    work : Work
        What its calls work with.
    """
    if fields() is None or debug() or loop.staged.written or loop.staged.steps:  # copied before, or called with Python
        return None
    guarded = GuardRows({}, {}, 0)
    staged, known = loop.staged, dict(loop.staged.known)
    try:
        integers: list[int] = []
        slots = iter(range(work.addresses[0] + 8 * 3, work.addresses[0] + 8 * len(work.words), 8))
        for k, value in enumerate(args):
            row = {"source": guard.ARGUMENT, "key": k}
            guarded.rows.append(row | (_same(known[k]) if k in known else _typed(value, next(slots), guarded.kept)))
            if type(value) is int and k not in known:
                integers.append(guarded.rows[-1]["slot"])
        guarded.add_outside([(None, (c.value, c.container, c.key)) for c in staged.captured])
        for capture in staged.arrays:
            guarded.rows.append(
                guarded.outside(capture.container, capture.key) | _typed(capture.read(), next(slots), guarded.kept)
            )
        ways: list[int] = []
        for kind in staged.returns:
            is_tuple = isinstance(kind, Several) and kind.make is tuple
            parts = kind.parts if isinstance(kind, Several) and is_tuple else (kind,)
            rows = [word for part in parts for word in _row(part, loop.places, guarded.kept)]
            ways += (len(parts) if is_tuple else -1, address_of(rows, guarded.kept))
    except Unguarded:
        return None
    guarded.kept.append(work)
    return guarded.table(
        len(args),
        (),
        {
            "held": len(guarded.rows),
            "procedure": loop.address,
            "argument_words": work.addresses[0],
            "workspace": work.addresses[1],
            "result_words": work.addresses[2],
            "integers": len(integers),
            "integer_rows": address_of(integers, guarded.kept),
            "raised_at": len(staged.procedure.results),
            "way_at": loop.places[WAY],
            "ways": address_of(ways, guarded.kept),
        },
    )


def _typed(value: Any, slot: int, kept: list[Any]) -> dict[str, int]:
    """What an argument like `value` has to be, of any shape and value."""
    kind = type(value)
    row = {"object": id(kind), "slot": slot}
    if kind is np.ndarray:
        kept.append(value.dtype)
        dtype = {"descr": id(value.dtype), "dtype": dtype_word(value.dtype)}
        layout = {"ndim": value.ndim, "flags": value.flags.num & guard.LAYOUT}
        return row | dtype | layout | {"kind": guard.ARRAY}
    if kind is int:
        return row | {"kind": guard.INTEGER}
    if kind in (float, np.float64, np.float32):
        return row | {"kind": guard.NUMBER, "words": 1}
    raise Unguarded


def _same(value: Any) -> dict[str, int]:
    """What an argument has to be of which a procedure knows the value."""
    if value is None or isinstance(value, (bool, np.bool, str)) or callable(value):
        return {"kind": guard.IDENTICAL, "object": id(value)}
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return {"kind": guard.INTEGER, "object": id(int), "ndim": value}
    raise Unguarded


_PYTHON_NUMBERS = {"f8": returned.FLOAT, "i8": returned.INTEGER, "b1": returned.BOOLEAN}


def _row(kind: Result, places: dict[str, int], kept: list[Any]) -> tuple[int, ...]:
    """What makes an object of the words that a procedure gives; `places` has their numbers."""
    if isinstance(kind, Known):
        kept.append(kind.value)
        return returned.OBJECT, id(kind.value), 0, 0, 0, 0, 0
    if isinstance(kind, Argument):
        return returned.GIVEN, kind.number, 0, 0, 0, 0, 0
    if isinstance(kind, Made) and not kind.unless:
        kept.append(kind.dtype)
        return returned.ARRAY, places[kind.address], id(kind.dtype), len(kind.extents), kind.dtype.itemsize, 0, 0
    if not isinstance(kind, Number):
        raise Unguarded
    of_python = _PYTHON_NUMBERS.get(kind.dtype.str[1:])
    if kind.python is not False and of_python is None:
        raise Unguarded
    if kind.python:
        return of_python or 0, places[kind.variable], 0, 0, 0, 0, 0
    kept.append(kind.dtype)
    flag = places[kind.flag] + 1 if kind.python is None else 0
    return returned.SCALAR, places[kind.variable], id(kind.dtype), 0, kind.dtype.itemsize, flag, of_python or 0
