"""The types of ufuncs of operands whose dtypes are open: what NumPy says for all dtypes that they may have."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .known import Known, Tuple

_DTYPES = tuple(map(np.dtype, "?" + np.typecodes["AllInteger"] + "efdFD"))
_TIMES = tuple(map(np.dtype, ("m8[s]", "M8[s]")))
_PYTHONS = {"i": int, "f": float, "c": complex}


def of_open_ufunc(ufunc: np.ufunc, types: Sequence[Known]) -> Known | Tuple | None:
    """What is known of the results; None if no dtype fits, or shapes do not."""
    if ufunc.signature is not None:
        return None
    shape = _broadcast([t.shape for t in types])
    results = _results(ufunc, tuple([_PYTHONS[t.dtype.kind] if t.weak and t.dtype else t.dtype for t in types]))
    if shape is _NONE or not results:
        return None
    found = [Known(dtypes[0] if len({*dtypes}) == 1 else None, shape) for dtypes in zip(*results)]
    return found[0] if ufunc.nout == 1 else Tuple(tuple(found))


@cache
def _results(ufunc: np.ufunc, operands: tuple[Any, ...]) -> list[tuple[np.dtype, ...]]:
    """The dtypes of the results for each choice of those that are None."""
    is_time = any(isinstance(d, np.dtype) and d.kind in "mM" for d in operands)
    choices = _DTYPES + _TIMES if is_time else _DTYPES
    found = []
    for chosen in itertools.product(*(choices if d is None else (d,) for d in operands)):
        try:
            found.append(ufunc.resolve_dtypes((*chosen, *(None,) * ufunc.nout))[ufunc.nin :])
        except (TypeError, ValueError):
            continue
    return found


_NONE: Any = object()


def _broadcast(shapes: Sequence[tuple[int | None, ...] | None]) -> tuple[int | None, ...] | None:
    """The shape of operands of these shapes, as far as it is known; `_NONE` if they do not fit.

    >>> _broadcast([(1, None, 4), (3, 1)])
    (1, 3, 4)
    """
    extents: list[int | None] = []
    for axis in itertools.zip_longest(*(reversed(s) for s in shapes if s is not None), fillvalue=1):
        known = {n for n in axis if n not in (None, 1)}
        if len(known) > 1:
            return _NONE
        extents.append(None if None in axis and not known else max(known, default=1))
    return None if None in shapes else tuple(reversed(extents))
