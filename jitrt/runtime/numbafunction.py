"""Functions for code that numba compiles, which call jit functions through their native entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba  # the whole before its parts, see `codegen`
from llvmlite import ir
from numba.core import cgutils, sigutils, types
from numba.core.extending import intrinsic


def numba_function(function: Callable[..., Any], signature: Any) -> Any:
    """A jit function as one that code compiled by numba may call.

    Parameters
    ----------
    function : callable
        A jit function; any function of Python's will do.
    signature : str or numba signature
        The types of its arguments and of its result, as for `numba.njit`: ``"float64[:](float64[:], float64)"``.
        Arguments are converted to these types, as numba converts those of its own functions.

    Returns
    -------
    callable
        A function by `numba.njit`, for Python, too.

    Raises
    ------
    TypeError
        If the signature does not say what type the result has. Where a call gives an array of another type, code that
        numba has compiled raises it.

    Notes
    -----
    A call takes the interpreter's lock, and about a microsecond more than one from Python: call it for whole arrays,
    not for their elements. What it raises, the caller raises. numba does not keep callers on disk, since the function
    is one of this process.

    Examples
    --------
    >>> import numba
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def smooth(x, rate):
    ...     return np.exp(-rate * x * x) + 0.5 * np.sin(x)
    >>> called = jitrt.numba_function(smooth, "float64[:](float64[:], float64)")
    >>> @numba.njit
    ... def repeated(x, times):
    ...     for k in range(times):
    ...         x = called(x, k)
    ...     return x.sum()
    >>> round(repeated(np.linspace(0.0, 1.0, 5), 3), 3)
    3.503
    """
    arguments, result = sigutils.normalize_signature(signature)
    if result is None:
        raise TypeError(f"the signature {signature} does not say what type the result has")
    signature = result(types.Tuple(arguments))

    @intrinsic(prefer_literal=False)
    def call(typing_context: Any, given: Any) -> Any:
        if not isinstance(given, types.BaseTuple) or len(given) != len(arguments):
            return None
        return signature, lambda context, builder, _, values: _emit_call(context, builder, function, signature, values)

    @numba.njit
    def called(*args: Any) -> Any:
        return call(args)  # type: ignore[call-arg]

    _kept.append(function)
    return called


_kept: list[Any] = []  # code has their addresses, and is never freed


def _emit_call(context: Any, builder: ir.IRBuilder, function: Any, signature: Any, values: Any) -> ir.Value:
    """A call with the interpreter's lock; an exception that Python has set is the caller's."""
    python = context.get_python_api(builder)
    environment = context.get_env_manager(builder)
    lock = python.gil_ensure()
    objects = []
    for k, type_ in enumerate(signature.args[0]):
        value = builder.extract_value(values[0], k)
        if context.enable_nrt:
            context.nrt.incref(builder, type_, value)  # the object has a reference of its own
        objects.append(python.from_native_value(type_, value, environment))
    callee = context.add_dynamic_addr(builder, id(function), info=repr(function))
    made = python.call_function_objargs(builder.bitcast(callee, python.pyobj), objects)
    for value in objects:
        python.decref(value)
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, made)):
        python.gil_release(lock)
        context.call_conv.return_exc(builder)
    native = python.to_native_value(signature.return_type, made)
    python.decref(made)
    with cgutils.if_unlikely(builder, native.is_error):
        python.gil_release(lock)
        context.call_conv.return_exc(builder)
    python.gil_release(lock)
    return native.value
