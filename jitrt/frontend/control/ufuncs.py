"""Ufuncs in staged functions that compute under a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.ops.optable import OPS
from . import arrays as a
from .recorder import Recorder
from .registry import as_array
from .scalars import dtypes_of, register_of
from .values import BOOL, Array, NotStaged, is_number


def masked(r: Recorder, function: np.ufunc, values: list[Any], out: Any, where: Any) -> Array:
    """``function(*values, out=out, where=where)``: nothing is computed, and nothing raised, where the mask is false."""
    name = function.__name__
    if name not in OPS or function is np.power or function.nout != 1 or len(values) != function.nin:
        raise NotStaged(f"numpy.{name} under a mask")
    if not isinstance(out, Array) or out.view is None or not out.ndim:
        raise NotStaged("a mask without an output")
    mask = as_array(r, where)
    values = [as_array(r, v) if isinstance(v, (list, tuple)) else v for v in values]
    if mask.dtype != BOOL or not all(isinstance(v, Array) or is_number(v) for v in values):
        raise NotStaged(f"arguments of {name}")
    *operands, dtype = dtypes_of(function, values)
    arrays = [mask, *(v for v in values if isinstance(v, Array))]
    if not np.can_cast(dtype, out.dtype, "same_kind") or any(v.ndim > out.ndim for v in arrays):
        raise NotStaged("an output that does not fit")
    for mine, its in zip(out.shape, a.broadcast(r, [out.shape, *(v.shape for v in arrays)])):
        r.require_equal(mine, its)
    view, target = out.view, out.dtype
    chosen, *given = [
        a.materialise(r, v, always=bool(v.reads & view.origins)) if isinstance(v, Array) else register_of(r, v, d)
        for v, d in zip((mask, *values), (BOOL, *operands))
    ]

    def body(indices: a.Indices) -> None:
        with r.when(a.element_of(r, chosen, BOOL, indices)):
            names = [a.element_of(r, v, d, indices) if isinstance(v, Array) else v for v, d in zip(given, operands)]
            r.store(view, target, indices, r.cast(r.compute(name, names, operands, dtype), dtype, target))

    a.nest(r, out.shape, body)
    return out
