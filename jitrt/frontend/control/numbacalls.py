"""Calls of functions that numba compiles for numbers, in staged functions: operations on single elements.

y = clipped(x[i])  →  stop if clipped.0.fails t;  y = clipped.0 t        the first where it may raise
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..python.numbas import Inlined, inlined, is_of_numbers, is_vectorized, know_loop
from . import arrays as a
from .recorder import Recorder
from .scalars import dtypes_of, from_register, poly_of, register_of, settled
from .values import BOOL, Array, NotStaged, Scalar, dtype_of, is_number, is_python_number

if TYPE_CHECKING:
    from ...kernels.numbafunctions import Compiled

_NUMBERS = {"b": np.dtype(bool), "i": np.dtype(np.int64), "u": np.dtype(np.int64), "f": np.dtype(float)}


def call(r: Recorder, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call of a function of numba's for numbers, or by `numba.vectorize`."""
    args = settled(r, tuple(args))
    if kwargs or not all(isinstance(v, Array) or (is_number(v) and dtype_of(v).kind in "biuf") for v in args):
        raise NotStaged(f"arguments of {function.__name__}")
    if is_vectorized(function) and len(args) == function.nin:
        return _vectorized(r, function, args)
    if not is_of_numbers(function, len(args)) or any(isinstance(v, Array) for v in args):
        raise NotStaged(f"arguments of {function.__name__}")
    found = inlined(function)
    compiled = found.compiled(tuple(map(dtype_of, args)))
    number = None if compiled is None else _NUMBERS.get(compiled.dtype.kind)
    if compiled is None or number is None or not all(map(np.can_cast, map(dtype_of, args), compiled.operands)):
        raise NotStaged(f"what numba compiles of {function.__name__}")
    made = from_register(r, _computed(r, found, compiled, _registers(r, args, compiled.operands)), compiled.dtype)
    if number.kind == "i":
        return Scalar(number, True, "", poly_of(r, made))
    return Scalar(number, True, r.cast(made.name, compiled.dtype, number))


def _vectorized(r: Recorder, function: Any, args: Sequence[Any]) -> Any:
    """What a ufunc gives: NumPy's numbers and arrays."""
    samples = [np.empty(0, v.dtype) if isinstance(v, Array) else _sample(v) for v in args]
    if not know_loop(function, samples):
        raise NotStaged(f"arguments of {function.__name__}")
    found = inlined(function)
    *operands, dtype = dtypes_of(function.ufunc, args)
    compiled = found.compiled(tuple(operands))
    if compiled is None or (*compiled.operands, compiled.dtype) != (*operands, dtype):
        raise NotStaged(f"what numba compiles of {function.__name__}")
    if not any(isinstance(v, Array) for v in args):
        return from_register(r, _computed(r, found, compiled, _registers(r, args, operands)), dtype)
    if compiled.raises:
        raise NotStaged(f"exceptions of {function.__name__} on arrays")
    return a.elementwise(r, found.value.name, args, operands, dtype)


def _sample(value: Any) -> Any:
    python = is_python_number(value)
    if python is None:
        raise NotStaged("a number that is Python's or NumPy's")
    number = dtype_of(value).type(1)
    return number.item() if python else number


def _registers(r: Recorder, args: Sequence[Any], dtypes: Sequence[np.dtype]) -> list[str]:
    return [register_of(r, v, t) for v, t in zip(args, dtypes)]


def _computed(r: Recorder, found: Inlined, compiled: Compiled, names: list[str]) -> str:
    """The register of a result; the procedure stops where the function raises."""
    if compiled.raises:
        r.stop(r.compute(found.fails.name, names, compiled.operands, BOOL))
    return r.compute(found.value.name, names, compiled.operands, compiled.dtype)
