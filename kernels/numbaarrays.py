"""Functions of numba's on whole arrays, called by address: a function of C takes words, and calls what is compiled.

    entry(words) -> status

Words say where arguments are: of an array the address of its elements, its extents and its strides; a number as an
integer or a float of 64 bits. What the function gives is written into words behind them, in the same way, and for each
array of the result the record by which numba counts references to its memory, which the caller releases when it has
copied the elements. The status is 1 if the function has raised an exception, or if an array lies in memory that is not
its own: the caller then has the call made again by Python.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba  # noqa: F401 (the whole before its parts)
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys  # type: ignore[attr-defined]
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype, from_dtype

from . import external
from .numbafunctions import overload_of
from .words import I64, WORDS, word

RELEASE = external.define("release", _nrt_python.c_helpers["MemInfo_release"])
_numbers = itertools.count()
_kept: list[Any] = []  # the code that symbols stand for
_FLOAT = ir.DoubleType()


class Part(NamedTuple):
    """An array of so many axes, or a number of Python's."""

    dtype: np.dtype
    ndim: int = -1


class Native:
    """A function for certain types of its arguments.

    Attributes
    ----------
    symbol : str
        Of its entry.
    given : tuple of (str or None)
        For each argument the layout of an array; None for a number.
    result : Part, None or tuple
        What it gives, tuples nested.
    """

    def __init__(self, compiled: Any, given: Sequence[Any], name: str):
        self.given = tuple(getattr(t, "layout", None) for t in given)
        self.result = _described(compiled.signature.return_type)
        self.symbol = external.define(re.sub(r"[^\w.]", "_", name) + str(next(_numbers)), _entry(compiled, given))


@functools.lru_cache(maxsize=256)
def of_arrays(function: Any, given: tuple[tuple[np.dtype, int], ...], is_writable: bool) -> Native | None:
    """What a call of a function by `numba.njit` runs for numbers and C-contiguous arrays; it is compiled, if need be.

    Parameters
    ----------
    function : Dispatcher
    given : tuple of (numpy.dtype, int)
        Of each argument, with its number of axes; -1 for numbers.
    is_writable : bool
        Whether all arrays are known to be.
    """
    if not hasattr(function, "overloads") or function.targetoptions.get("parallel"):
        return None
    if not (function._can_compile or is_writable):  # numba does not take read-only arrays for others
        return None
    wanted = tuple(from_dtype(d) if ndim < 0 else types.Array(from_dtype(d), ndim, "C") for d, ndim in given)
    try:
        compiled = overload_of(function, wanted)
    except (NumbaError, NotImplementedError, KeyError):
        return None
    if compiled is None or compiled.objectmode or compiled.lifted or not _is_taken(compiled.signature.return_type):
        return None
    return Native(compiled, wanted, function.__name__)


@functools.lru_cache(maxsize=256)
def of_gufunc(function: Any, dtypes: tuple[np.dtype, ...]) -> Native | None:
    """The kernel of a function by `numba.guvectorize` for operands and results of these dtypes."""
    builder = function.gufunc_builder
    for signature in builder._sigs:
        compiled = builder._cres[signature]
        args = compiled.signature.args
        if tuple(as_dtype(getattr(t, "dtype", t)) for t in args) == tuple(dtypes):
            return None if compiled.objectmode else Native(compiled, args, f"ufunc.{function.__name__}")
    return None


def _is_taken(type_: Any) -> bool:
    """Whether results of a type can be written into words."""
    if (members := _members(type_)) is not None:
        return not isinstance(type_, types.BaseNamedTuple) and all(map(_is_taken, members))
    if isinstance(type_, types.Array):
        return type_.layout == "C" and type_.aligned and type_.ndim > 0
    return isinstance(type_, (types.NoneType, types.Boolean, types.Integer, types.Float)) and type_ != types.uint64


def _members(type_: Any) -> Any:
    """The types of a tuple's parts; None for other types."""
    return type_.types if isinstance(type_, types.BaseTuple) else None  # type: ignore[attr-defined]


def _described(type_: Any) -> Any:
    """What a result of a type of numba's is, see `Native`."""
    if isinstance(type_, types.NoneType):
        return None
    if (members := _members(type_)) is not None:
        return tuple(map(_described, members))
    if isinstance(type_, types.Array):
        return Part(as_dtype(type_.dtype), type_.ndim)
    return Part(
        np.dtype(bool if isinstance(type_, types.Boolean) else int if isinstance(type_, types.Integer) else float)
    )


@global_compiler_lock
def _entry(compiled: Any, given: Sequence[Any]) -> int:
    """The address of the entry of what is compiled, for arguments of the types `given`."""
    rtsys.initialize(cpu_target.target_context)
    context = cpu_target.target_context.subtarget(enable_nrt=True)
    library = context.codegen().create_library("jitrt")
    module = library.create_ir_module("jitrt")
    name = f"jitrt.{next(_numbers)}.{compiled.fndesc.llvm_func_name}"
    function = ir.Function(module, ir.FunctionType(I64, [WORDS]), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    place = itertools.count()

    def at(k: int) -> ir.Value:
        return builder.gep(function.args[0], [word(k)])

    with context.push_code_library(library):
        args = [
            context.cast(builder, _argument(context, builder, t, lambda: builder.load(at(next(place)))), t, wanted)
            for t, wanted in zip(given, compiled.signature.args)
        ]
        status, made = context.call_internal_no_propagate(builder, compiled.fndesc, compiled.signature, args)
        with builder.if_then(status.is_error, likely=False):
            _clear(context, builder, status)
            builder.ret(word(1))
        _give(context, builder, compiled.signature.return_type, made, lambda: at(next(place)))
    builder.ret(word(0))
    context.post_lowering(module, library)
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    library.finalize()
    _kept.append((library, compiled))
    return library.get_pointer_to_function(name)


def _argument(context: Any, builder: ir.IRBuilder, type_: Any, load: Callable[[], ir.Value]) -> ir.Value:
    """An argument of a type, of the words that `load` gives."""
    if isinstance(type_, types.Array):
        array = context.make_array(type_)(context, builder)
        data, *lengths = (load() for _ in range(1 + 2 * type_.ndim))
        populate_array(
            array,
            data=builder.inttoptr(data, array.data.type),
            shape=lengths[: type_.ndim],
            strides=lengths[type_.ndim :],
            itemsize=context.get_abi_sizeof(context.get_data_type(type_.dtype)),
            meminfo=None,
        )
        return array._getvalue()
    value = load()
    if isinstance(type_, types.Float):
        number = builder.bitcast(value, _FLOAT)
        return number if type_.bitwidth == 64 else builder.fptrunc(number, context.get_value_type(type_))
    if isinstance(type_, types.Boolean):
        return builder.icmp_signed("!=", value, word(0))
    return value if type_.bitwidth == 64 else builder.trunc(value, context.get_value_type(type_))


def _give(context: Any, builder: ir.IRBuilder, result: Any, made: ir.Value, place: Callable[[], ir.Value]) -> None:
    """Write what a function gives into words; return 1 if an array has not memory of its own, and release all."""
    values: list[tuple[Any, ir.Value]] = []

    def take(type_: Any, value: ir.Value) -> None:
        if (members := _members(type_)) is not None:
            for k, part in enumerate(members):
                take(part, builder.extract_value(value, k))
        elif not isinstance(type_, types.NoneType):
            values.append((type_, value))

    take(result, made)
    arrays = []
    for type_, value in values:
        if isinstance(type_, types.Array):
            array = context.make_array(type_)(context, builder, value=value)
            builder.store(builder.ptrtoint(array.data, I64), place())
            for extent in cgutils.unpack_tuple(builder, array.shape, type_.ndim):
                builder.store(extent, place())
            arrays.append(builder.ptrtoint(array.meminfo, I64))
        elif isinstance(type_, types.Float):
            number = value if type_.bitwidth == 64 else builder.fpext(value, _FLOAT)
            builder.store(builder.bitcast(number, I64), place())
        elif value.type == I64:
            builder.store(value, place())
        else:
            is_signed = getattr(type_, "signed", False)
            builder.store((builder.sext if is_signed else builder.zext)(value, I64), place())
    shared = cgutils.false_bit
    for k, memory in enumerate(arrays):
        builder.store(memory, place())
        for other in (word(0), *arrays[:k]):
            shared = builder.or_(shared, builder.icmp_signed("==", memory, other))
    with builder.if_then(shared, likely=False):
        context.nrt.decref(builder, result, made)
        builder.ret(word(1))


def _clear(context: Any, builder: ir.IRBuilder, status: Any) -> None:
    """Forget the exception that a function has raised."""
    python = context.get_python_api(builder)
    with builder.if_then(status.is_user_exc):
        information = builder.load(status.excinfoptr)
        arguments, count = (builder.extract_value(information, k) for k in (2, 4))
        with builder.if_then(builder.icmp_signed(">", count, count.type(0))):  # both are in memory of their own
            context.nrt.free(builder, arguments)
            context.nrt.free(builder, builder.bitcast(status.excinfoptr, cgutils.voidptr_t))
    with builder.if_then(status.is_python_exc):
        lock = python.gil_ensure()
        python.err_clear()
        python.gil_release(lock)
