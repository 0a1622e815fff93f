"""Functions for code that numba compiles, which call jit functions through their native entries."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numba  # the whole before its parts, see `codegen`
import numpy as np
from llvmlite import ir
from numba.core import cgutils, sigutils, types
from numba.core.extending import intrinsic
from numba.np.numpy_support import as_dtype

from ..base.arrays import is_writeable


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
        If the signature does not say what type the result has. Where a call gives an array of another type (in dtype,
        number of axes, order in memory, or because it is read-only), code that numba has compiled raises it.

    Notes
    -----
    A call takes the interpreter's lock, and about a microsecond more than one from Python: call it for whole arrays,
    not for their elements. What it raises, the caller raises, or catches by ``except Exception``. numba does not keep
    callers on disk, since the function is one of this process.

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
    called_at = function, _check_of(result)

    @intrinsic(prefer_literal=False)
    def call(typing_context: Any, given: Any) -> Any:
        parts: Any = given if isinstance(given, types.BaseTuple) else None
        if parts is None or len(parts) != len(arguments):
            return None
        if any(typing_context.can_convert(parts[k], t) is None for k, t in enumerate(arguments)):
            return None
        return signature, lambda context, builder, _, values: _emit_call(context, builder, called_at, signature, values)

    @numba.njit
    def called(*args: Any) -> Any:
        return call(args)  # type: ignore[call-arg]

    _kept.append(called_at)
    return called


_kept: list[Any] = []  # code has their addresses, and is never freed


def _check_of(type_: Any) -> Callable[[Any], Any] | None:
    """What raises for a result of another type, of which numba looks at an array's class alone."""
    if isinstance(type_, types.Array):
        return _check_of_array(type_)
    if not isinstance(type_, types.BaseTuple):
        return None
    parts: Any = type_
    checks = [_check_of(t) for t in parts]

    def check(value: Any) -> None:
        if not isinstance(value, tuple) or len(value) != len(checks):
            raise TypeError(f"the signature says {type_}, and the result is no such tuple")
        for part, inner in zip(value, checks):
            if inner is not None:
                inner(part)

    return check


def _check_of_array(type_: Any) -> Callable[[Any], Any]:
    dtype, ndim, layout = as_dtype(type_.dtype), type_.ndim, type_.layout

    def check(value: Any) -> None:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"the signature says {type_}, and the result is of type {type(value).__name__}")
        flags = value.flags
        fits = value.dtype == dtype and value.ndim == ndim and (is_writeable(value) or not type_.mutable)
        order = flags.c_contiguous if layout == "C" else flags.f_contiguous if layout == "F" else True
        if not (fits and order and (flags.aligned or not type_.aligned)):
            state = "" if is_writeable(value) else ", read-only"
            found = f"of {value.dtype.str}, shape {value.shape}, strides {value.strides}{state}"
            raise TypeError(f"the signature says {type_}, and the result is an array {found}")

    return check


def _emit_call(context: Any, builder: ir.IRBuilder, called_at: Any, signature: Any, values: Any) -> ir.Value:
    """A call with the interpreter's lock."""
    function, check = called_at
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
        _emit_raise(context, builder, python, lock)
    if check is not None:
        checker = context.add_dynamic_addr(builder, id(check), info="the result's type")
        checked = python.call_function_objargs(builder.bitcast(checker, python.pyobj), [made])
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, checked)):
            python.decref(made)
            _emit_raise(context, builder, python, lock)
        python.decref(checked)
    native = python.to_native_value(signature.return_type, made)
    python.decref(made)
    with cgutils.if_unlikely(builder, native.is_error):
        _emit_raise(context, builder, python, lock)
    python.gil_release(lock)
    return native.value


def _emit_raise(context: Any, builder: ir.IRBuilder, python: Any, lock: ir.Value) -> None:
    """Raise as numba does what Python has raised, which a `try` of the caller's would leave set."""
    slots = [cgutils.alloca_once_value(builder, python.get_null_object()) for _ in range(3)]
    pointer = python.pyobj.as_pointer()
    for name in ("PyErr_Fetch", "PyErr_NormalizeException"):
        builder.call(python._get_function(ir.FunctionType(ir.VoidType(), [pointer] * 3), name), slots)
    _, error, trace = map(builder.load, slots)
    with cgutils.if_likely(builder, cgutils.is_not_null(builder, trace)):
        setting = ir.FunctionType(ir.IntType(32), [python.pyobj] * 2)
        builder.call(python._get_function(setting, "PyException_SetTraceback"), [error, trace])
    keeping = context.add_dynamic_addr(builder, id(_keep), info="keeps an exception")
    python.decref(python.call_function_objargs(builder.bitcast(keeping, python.pyobj), [error]))
    for slot in slots:
        python.decref(builder.load(slot))
    python.gil_release(lock)
    context.call_conv.return_user_exc(builder, Raised, ())


_raised = threading.local()


def _keep(error: BaseException) -> None:
    # numba makes one to see that it can be made, and Python the one that is raised.
    _raised.errors = [error, error]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:  # its traceback begins anew
        note = f"raised at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


class _OfAny(type):
    def __subclasscheck__(cls, other: type) -> bool:
        return True  # Python asks whether what was made is of the class that numba raises


class Raised(Exception, metaclass=_OfAny):
    """What numba raises in place of an exception of Python's; made, it is that one."""

    def __new__(cls, *args: Any) -> Any:
        errors = getattr(_raised, "errors", None)
        return errors.pop() if errors else RuntimeError("raised by a function of another thread")
