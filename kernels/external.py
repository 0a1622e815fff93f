"""Functions outside of procedures that their code calls: draws, products, numba's, and steps that Python executes.

NumPy's distributions are public functions of C (``numpy/random/c_distributions.pxd``), which take the address of a bit
generator. Products of large matrices are those of the BLAS that NumPy is linked with. A step goes through one function
of this process, ``host.step(handler, number, words)``, which takes the interpreter's lock and calls the handler that is
registered under a number.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable, Iterable

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from . import libm
from .bound import BoundSymbols

STEP = "host.step"
Handler = Callable[[int, int], int]
_QUIET = frozenset(
    f"random.{name}"
    for name in (
        "standard_uniform",
        "standard_uniform_fill",
        "standard_uniform_fill_f",
        "bounded_uint64_fill",
        "interval",
    )
)
_handlers: dict[int, Handler] = {}
_defined: dict[str, int] = {}
_numbers = itertools.count(1)


def bind(symbols: Iterable[str]) -> bool:
    """Define those of `symbols` that stand for such functions; whether all of them could be defined."""
    symbols = list(symbols)
    found = [library.bind(symbols) for library in (_random, _host, _blas, _order, _numba, libm)]
    return all(found)


def symbol(name: str) -> str | None:
    """The name, if this process has such a function, which is then defined."""
    return name if bind([name]) else None


def raises(symbol: str) -> bool:
    """Whether floating-point exceptions of a function, if it has any, are those of what calls it.

    NumPy has it so for BLAS's and for ufuncs, and not for distributions; those in whole numbers, and the uniform one,
    have none.
    """
    return symbol.startswith(("blas.", "libm.", "numba.ufunc.")) or symbol in _QUIET


def draws(name: str) -> bool:
    """Whether this process has NumPy's distribution of that name."""
    return _random.symbol(name) is not None


def orders(name: str) -> bool:
    """Whether this process has a routine of NumPy's that sorts elements of one dtype, as ``argsort.d``."""
    return _order.symbol(name) is not None


def define(name: str, address: int) -> str:
    """The symbol by which procedures of this process call what is compiled elsewhere."""
    _defined[name] = address
    return f"numba.{name}"


def register(handler: Handler) -> int:
    """The number under which procedures call a handler ``handler(number, words)``; it gives 0, or 1 to stop them."""
    number = next(_numbers)
    _handlers[number] = handler
    return number


def unregister(number: int) -> None:
    """Forget a handler."""
    _handlers.pop(number, None)


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
def _step(handler: int, number: int, words: int) -> int:
    return _handlers[handler](number, words)


def _draw(name: str) -> int | None:
    library = ctypes.CDLL(np.random._generator.__file__)
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def _function_of_blas(name: str) -> int | None:
    """One that takes integers of 64 bits, of the library that NumPy is linked with."""
    if sys.platform == "win32":
        return None
    function = getattr(ctypes.CDLL(_multiarray_umath.__file__), f"scipy_{name}64_", None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


_blas = BoundSymbols("blas.", _function_of_blas)
# In NumPy's table of functions, and in a descriptor's (``PyArray_ArrFuncs``): NPY_QUICKSORT comes first, NPY_STABLESORT
# as the third.
_GET_FUNCTIONS = 365
_SORTS = {"sort": 33, "stable": 35, "argsort": 36, "argstable": 38}
_SAMPLE = [3, 1, 2, 0, 1, 3]


def _sort(name: str) -> int | None:
    """The routine ``int(elements, count, NULL)`` or ``int(elements, places, count, NULL)``, tried out."""
    kind, _, char = name.partition(".")
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    api = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(_multiarray_umath._ARRAY_API, None) or 0
    table = (ctypes.c_void_p * (_GET_FUNCTIONS + 1)).from_address(api)
    functions = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_GET_FUNCTIONS] or 0)
    address = (ctypes.c_void_p * (_SORTS[kind] + 1)).from_address(functions(np.dtype(char)))[_SORTS[kind]] or 0
    values, places = np.array(_SAMPLE, char), np.arange(len(_SAMPLE))
    arrays = [values, places] if kind.startswith("arg") else [values]
    given = [*(array.ctypes.data for array in arrays), len(_SAMPLE), None]
    types = [*[ctypes.c_void_p] * len(arrays), ctypes.c_int64, ctypes.c_void_p]
    if not address or ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)(*given):
        return None
    ordered = values[places] if len(arrays) == 2 else values
    return address if np.array_equal(ordered, np.sort(np.array(_SAMPLE, char))) else None


_order = BoundSymbols("order.", _sort)
_random = BoundSymbols("random.", lambda name: _draw(f"random_{name}"))
_numba = BoundSymbols("numba.", _defined.get)
_host = BoundSymbols("host.", lambda name: ctypes.cast(_step, ctypes.c_void_p).value)
