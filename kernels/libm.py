"""The C library's functions of float64, which Python's `math` and powers of floats are: kernels that call them get the
same bits.

Code refers to them by symbols of ours. By their own names LLVM would know them, and replace some calls by what is
nearly as good.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from collections.abc import Iterable
from typing import Any

from .bound import BoundSymbols

_POINTS = (0.3, 0.7, 1.9)


def symbol(name: str) -> str | None:
    """The symbol of a function, which is bound to it; None if this process has none that gives Python's results.

    Examples
    --------
    >>> symbol("no_such_function") is None
    True
    """
    return _symbols.symbol(name)


def bind(symbols: Iterable[str]) -> bool:
    """Define those of `symbols` that stand for functions of the library; whether all of them could be defined."""
    return _symbols.bind(symbols)


def _address(name: str) -> int | None:
    library = None if sys.platform == "win32" else ctypes.CDLL(None)
    function = getattr(library, name, None)
    if function is None or not _is_pythons(name, function):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def _is_pythons(name: str, function: Any) -> bool:
    """Whether a function gives Python's results, as some points show."""
    python = operator.pow if name == "pow" else getattr(math, name)
    count = 2 if name in ("pow", "atan2") else 1
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * count
    for point in _POINTS:
        args = (point, 0.6)[:count]
        try:
            expected = python(*args)
        except ValueError:  # outside of the domain
            continue
        if function(*args) != expected:
            return False
    return True


_symbols = BoundSymbols("libm.", _address)
