"""The inner loops of NumPy's ufuncs, and of SciPy's special functions, which kernels call over strips of a loop.

A ufunc has a C function for each of its signatures, ``loop(args, dimensions, steps, data)``: pointers to the first
operands and to the first result, a number of elements, strides in bytes, and what the ufunc's makers want to be told.
That is public in ``ufuncobject.h``, and numba's own ``DUFunc`` is made from such loops. Those of floats and complex
numbers that NumPy brings need no interpreter lock and raise no exceptions.

Those of SciPy's special functions are run by NumPy without the lock, too. They lower the processor's floating-point
flags, of which SciPy makes errors of its own (`scipy.special.errstate`), so that NumPy reports none of them. If these
errors are not ignored, the loops take the lock and may set an exception: kernels must not call them then.

Code refers to a loop by a symbol, which stands for two words of this process: the function and its data. So code from
the disk cache calls the loops of the NumPy that is there, which chose them for the processor that is there.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from collections.abc import Iterable

import numpy as np

from .bound import BoundSymbols

_NATIVE = {"numpy": frozenset("efdFD"), "scipy.special": frozenset("fdFDl")}
_kept: list[ctypes.Array] = []  # the words that symbols stand for


class _Ufunc(ctypes.Structure):
    """``PyUFuncObject`` as far as its table of loops."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    )


def symbol(library: str, name: str, types: str) -> str | None:
    """The symbol of the loop of a library's ufunc `name` for `types`, which is bound to it; None if it has none.

    Examples
    --------
    >>> symbol("numpy", "power", "ff->f")
    'numpy.power.ff->f'
    >>> symbol("numpy", "power", "ll->l") is None
    True
    """
    return _symbols[library].symbol(f"{name}.{types}") if library in _symbols else None


def bind(symbols: Iterable[str]) -> bool:
    """Define those of `symbols` that stand for loops; whether all of them could be defined."""
    symbols = list(symbols)
    found = [library.bind(symbols) for library in _symbols.values()]
    return all(found)


def _address(library: str, symbol: str) -> int | None:
    words = _words(library, *symbol.split(".", 1))
    if words is None:
        return None
    _kept.append(words)
    return ctypes.addressof(words)


def _words(library: str, name: str, types: str) -> ctypes.Array | None:
    """Function, data, and whether the loop has a slow path for negative bases, as `numpy_power` asks."""
    ufunc = getattr(importlib.import_module(library), name, None)
    if not isinstance(ufunc, np.ufunc) or not _NATIVE[library].issuperset(types.replace("->", "")):
        return None
    table = _Ufunc.from_address(id(ufunc))
    # What does not look like a ufunc is not one of a known layout.
    known = (table.nin, table.nout, table.nargs, table.ntypes) == (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes)
    if sys.implementation.name != "cpython" or not known or table.name != ufunc.__name__.encode():
        return None
    if types not in ufunc.types or not table.functions:
        return None
    number = ufunc.types.index(types)
    function, data = (
        (ctypes.c_void_p * table.ntypes).from_address(place)[number] if place else None
        for place in (table.functions, table.data)
    )
    if not function:
        return None
    return (ctypes.c_void_p * 3)(function, data, int(_is_slow_beside_zero(name, types)))


def _is_slow_beside_zero(name: str, types: str) -> bool:
    """Whether the loop computes powers of negative bases one by one and, if their exponents are small, accurately.

    Its vectors, those of SVML for AVX-512, know positive bases alone. What it does otherwise may change with NumPy, so
    some powers are looked at: that they are rounded correctly but where the tie is near.
    """
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    if (name, types) != ("power", "ff->f") or not (features.get("X86_V4") or features.get("AVX512_SKX")):
        return False
    with np.errstate(all="ignore"):  # the caller's computations are others
        bases = -np.exp2(np.linspace(-2.0, 2.0, 509)).astype(np.float32)
        exponents = np.resize(np.array([3, -3, 5, -7, 12, 30, -63], np.float32), bases.size)
        exact = np.float64(bases) ** np.float64(exponents)
        errors = np.abs(np.power(bases, exponents) - exact)
        return bool((errors <= (0.5 + 1 / 64) * np.spacing(np.float32(np.abs(exact)))).all())


_symbols = {name: BoundSymbols(f"{name}.", functools.partial(_address, name)) for name in _NATIVE}
