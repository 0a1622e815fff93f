"""How each peer runs a program: what somebody would write who uses that package."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import jitrt

from .programs import Program

Run = Callable[[], Any]


def _numpy(program: Program, args: tuple[Any, ...]) -> Run:
    function = program.function
    return lambda: function(*args)


def _jitrt(program: Program, args: tuple[Any, ...]) -> Run:
    function = jitrt.jit(program.function)
    return lambda: function(*args)


def _numexpr(program: Program, args: tuple[Any, ...]) -> Run | None:
    numexpr = _module("numexpr")
    if numexpr is None or not program.expression:
        return None
    evaluate, expression = numexpr.evaluate, program.expression
    values = dict(zip(inspect.signature(program.function).parameters, args))
    return lambda: evaluate(expression, values)


def _blosc2(program: Program, args: tuple[Any, ...]) -> Run | None:
    blosc2 = _module("blosc2")
    if blosc2 is None or not program.expression:
        return None
    lazyexpr, expression = blosc2.lazyexpr, program.expression
    values = dict(zip(inspect.signature(program.function).parameters, args))
    return lambda: lazyexpr(expression, values)[()]


def _numba(program: Program, args: tuple[Any, ...]) -> Run | None:
    numba = _module("numba")
    if numba is None:
        return None
    function = numba.njit(program.function)
    return lambda: function(*args)


def _jax(program: Program, args: tuple[Any, ...]) -> Run | None:
    jax = _module("jax")
    if jax is None:
        return None
    jax.config.update("jax_enable_x64", True)
    function = jax.jit(_with_numpy(program.function, importlib.import_module("jax.numpy")))
    # A NumPy array comes out, as it does everywhere else; that waits for the computation.
    return lambda: np.asarray(function(*args))


OF_STRINGS = ("numexpr", "blosc2")  # which take expressions, and no functions
PEERS: dict[str, Callable[[Program, tuple[Any, ...]], Run | None]] = {
    "numpy": _numpy,
    "jitrt": _jitrt,
    "numexpr": _numexpr,
    "blosc2": _blosc2,
    "numba": _numba,
    "jax": _jax,
}


def installed() -> list[str]:
    """Names of the peers that can be imported here."""
    return [name for name in PEERS if _module(name) is not None]


def prepared(peer: str, program: Program, args: tuple[Any, ...]) -> Run | str:
    """`program` as `peer` runs it, called once and compared with NumPy; a word on why not where it does not.

    Parameters
    ----------
    peer : str
        A key of `PEERS`.
    program : Program
    args : tuple
        Arguments of the program.
    """
    run = PEERS[peer](program, args)
    if run is None:
        return "-"
    try:
        got = run()
    except Exception:  # whatever a peer raises for what it cannot compile
        if peer in ("numpy", "jitrt"):
            raise
        return "fails"
    return run if _close(got, program.function(*args)) else "differs"


def _close(got: Any, want: Any) -> bool:
    """Whether results agree but for rounding: a check of the program, not of the peer's accuracy."""
    want = np.asarray(want)
    if np.shape(got) != want.shape:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    tolerance = 2e3 * float(np.finfo(want.dtype).eps)
    return np.allclose(got, want, rtol=tolerance, atol=tolerance * float(np.max(np.abs(want), initial=0)))


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _with_numpy(function: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """The function with another module under the name ``np``."""
    assert isinstance(function, types.FunctionType)
    return types.FunctionType(function.__code__, {**function.__globals__, "np": module}, function.__name__)
