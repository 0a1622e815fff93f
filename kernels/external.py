"""Functions outside of procedures that their code calls: draws of random numbers, and steps that Python executes.

NumPy's distributions are public functions of C (``numpy/random/c_distributions.pxd``), which take the address of a bit
generator. A step goes through one function of this process, ``host.step(handler, number, words)``, which takes the
interpreter's lock and calls the handler that is registered under a number.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable

import numpy as np

from . import libm
from .bound import BoundSymbols

STEP = "host.step"
Handler = Callable[[int, int], int]
_handlers: dict[int, Handler] = {}
_numbers = itertools.count(1)


def bind(symbols: Iterable[str]) -> bool:
    """Define those of `symbols` that stand for such functions; whether all of them could be defined."""
    symbols = list(symbols)
    found = [library.bind(symbols) for library in (_random, _host, libm)]
    return all(found)


def draws(name: str) -> bool:
    """Whether this process has NumPy's distribution of that name."""
    return _random.symbol(name) is not None


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


_random = BoundSymbols("random.", lambda name: _draw(f"random_{name}"))
_host = BoundSymbols("host.", lambda name: ctypes.cast(_step, ctypes.c_void_p).value)
