"""One element of one operation as LLVM IR.

Semantics come from numba's `ufunc_db`; casts, selections and what LLVM has an intrinsic for are emitted here, and
elementary functions come from `jitrt.kernels`. An operation whose emitter would call a function for each element has
no kernel: NumPy's own vectorised loop is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numba  # noqa: F401 (the whole before its parts, see `codegen`)
import numpy as np
from llvmlite import ir
from numba.core import types, typing
from numba.core.cgutils import get_or_insert_function
from numba.core.errors import NumbaError
from numba.np import ufunc_db
from numba.np.numpy_support import from_dtype

from ..base.once import once
from ..ir.ops.fused import FUSED
from ..ir.ops.optable import LIBM, SPECIAL, Op
from ..ir.ops.relaxed import RELAXED
from ..ir.ops.ufuncs import COMPUTED, CUBE
from ..ir.types import NATIVE, SWAPPED
from ..kernels import libm, vmath
from ..kernels.numpy_strips import emit_call
from .arithmetic import arithmetic, make_complex, with_flags
from .complexflags import with_complex_flags
from .context import I64, call_intrinsic, context, has_avx512, has_fma
from .kept import keep
from .operations import is_supported, numpys_loop

_INTRINSICS = {
    "absolute": "fabs", "fabs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "copysign": "copysign",
}  # fmt: skip
# One instruction each, so that most programs need none of numba's tables, whose making takes 10 ms.
_INSTRUCTIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "negative": "fneg"}
# What the compiler may do with relaxed arithmetic; infinity and nan stay what they are. With "nsz", it would take
# (x + y) - x for y, where x is nan, too.
_REARRANGED = ("reassoc", "contract", "arcp")
_CASTABLE = frozenset("biufc")
_LONGEST = str.maketrans("lL", "qQ")
_HALF, _SINGLE, _DOUBLE = (np.dtype(f"f{size}") for size in (2, 4, 8))
_EXTREMES = frozenset({"maximum", "minimum", "fmax", "fmin"})
_OF_HALF_BITS = frozenset({"nextafter", "spacing"})  # of whose results single precision knows nothing

# Since NumPy 2.5 such an operation raises OverflowError where the result does not fit; a kernel cannot raise.
_TIMES_RAISE = frozenset({"add", "subtract", "multiply"}) if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else ()

_KNOWN_LIBRARIES = frozenset({"numpy", SPECIAL})  # what vmath's names refer to

Emitter = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


@lru_cache(maxsize=256)
def numba_type(dtype: np.dtype) -> types.Type:
    return from_dtype(dtype)


@lru_cache(maxsize=256)
def value_type(dtype: np.dtype) -> ir.Type:
    """LLVM type of a value of `dtype` in a register."""
    if dtype == _HALF:
        return ir.HalfType()
    return context().get_value_type(numba_type(dtype))


@lru_cache(maxsize=256)
def data_type(dtype: np.dtype) -> ir.Type:
    """LLVM type of an element of `dtype` in memory."""
    if dtype == _HALF:
        return ir.HalfType()
    return context().get_data_type(numba_type(dtype))


@once
def _fill_database() -> None:
    """Let numba fill its table now: a thread that comes while another fills it would find only a part."""
    ufunc_db.get_ufuncs()


def from_memory(builder: ir.IRBuilder, dtype: np.dtype, data: ir.Value, encoding: str = NATIVE) -> ir.Value:
    """The value of an element that lies in memory in that `encoding`."""
    if dtype.kind == "b":
        return builder.icmp_unsigned("!=", data, ir.Constant(data.type, 0))
    return _swapped(builder, dtype, data) if encoding == SWAPPED else data


def _swapped(builder: ir.IRBuilder, dtype: np.dtype, data: ir.Value) -> ir.Value:
    """An element with its bytes in the other order."""
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        for k in range(2):
            data = builder.insert_value(data, _swapped(builder, part, builder.extract_value(data, k)), k)
        return data
    if dtype.itemsize == 1:
        return data
    bits = builder.bitcast(data, ir.IntType(8 * dtype.itemsize))
    return builder.bitcast(builder.bswap(bits), data.type)


def to_memory(builder: ir.IRBuilder, dtype: np.dtype, value: ir.Value, encoding: str = NATIVE) -> ir.Value:
    """What is stored of a value in that `encoding`."""
    if dtype.kind == "b":
        return builder.zext(value, data_type(dtype))
    return _swapped(builder, dtype, value) if encoding == SWAPPED else value


@lru_cache(maxsize=4096)
def emitter(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
    """What emits `op` on values of these dtypes; None if NumPy has to execute it."""
    if not is_supported(*operands, result):
        return None
    loop = numpys_loop(op, operands, result)
    if loop is None:
        return inline_emitter(op, operands, result)
    return lambda builder, args: _call_loop(builder, loop, args, value_type(result))


@lru_cache(maxsize=4096)
def inline_emitter(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
    """What emits `op` as instructions in the kernel."""
    if op.emit is not None:
        return op.emit(operands, result)
    if op.name == "copy":
        return lambda builder, args: args[0]
    if op.name == "cast":
        if operands[0].kind not in _CASTABLE or result.kind not in _CASTABLE:
            return None
        return lambda builder, args: emit_cast(builder, args[0], operands[0], result)
    if op.name == "where":
        return emit_where
    if op is COMPUTED:
        return emit_computed
    if op is CUBE:
        return _emit_cube if has_fma() else vmath.emitter("cube", "d", False)
    if op is FUSED:
        return _intrinsic("fma") if has_fma() else _emit_product_and_sum
    if op.library == "numpy" and len(operands) == 1 and operands[0].char in "DF":
        own = vmath.complex_emitter(op.name, operands[0].char, has_fma(), has_avx512())
        if own is not None:
            return with_complex_flags(own, op, operands)
    if op.library == RELAXED:
        return _instruction(_INSTRUCTIONS[op.name.removeprefix("relaxed_")], _REARRANGED)
    if op.library == LIBM:
        symbol = libm.symbol(op.name.removeprefix("libm_"))
        return None if symbol is None else lambda builder, args: _call(builder, symbol, args)
    if op.ufunc is None or operands[0].char in op.numpys_bits:
        return None
    if _HALF in (*operands, result):
        return _by_way_of_single(op, operands, result)
    if op.name in _TIMES_RAISE and result.kind in "mM":
        return None
    chars = "".join(t.char for t in operands)
    if op.library == "numpy" and set(chars) <= {"f", "d"}:
        if op.name in _INTRINSICS:
            return _intrinsic(_INTRINSICS[op.name])
        if op.name in _INSTRUCTIONS:
            return _instruction(_INSTRUCTIONS[op.name])
    own = vmath.emitter(op.name, chars, has_fma(), has_avx512()) if op.library in _KNOWN_LIBRARIES else None
    if own is None and op.library == "numpy":
        own = arithmetic(op.name, operands, result)
    emit = own if own is not None else _ufunc_emitter(op.ufunc, operands, result)
    return None if emit is None else with_complex_flags(with_flags(emit, op, operands), op, operands)


def _by_way_of_single(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
    """What computes `op` in single precision and rounds its result to half, as NumPy's loops do.

    NumPy's extremes of halves are the first one of two equal operands, and those of vectors the second one.
    """
    if op.library != "numpy" or op.name in _OF_HALF_BITS:
        return None
    wide = [_SINGLE if t == _HALF else t for t in (*operands, result)]
    emit = inline_emitter(op, tuple(wide[:-1]), wide[-1])
    if emit is None:
        return None
    order = -1 if op.name in _EXTREMES else 1

    def emit_rounded(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        values = [emit_cast(builder, x, own, other) for x, own, other in zip(args, operands, wide)]
        return emit_cast(builder, emit(builder, values[::order]), wide[-1], result)

    return emit_rounded


def _call_loop(builder: ir.IRBuilder, loop: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
    """A call for one element."""
    with builder.goto_entry_block():
        places = [builder.alloca(t) for t in (*(a.type for a in args), result)]
    for place, value in zip(places, args):
        builder.store(value, place)
    step = ir.Constant(I64, 0)  # as NumPy has it for a single element
    emit_call(builder, loop, [(place, step) for place in places], ir.Constant(I64, 1), has_fma(), has_avx512())
    return builder.load(places[-1])


def _call(builder: ir.IRBuilder, symbol: str, args: Sequence[ir.Value]) -> ir.Value:
    """A call of a function of values of one type."""
    kind = ir.FunctionType(args[0].type, [a.type for a in args])
    return builder.call(get_or_insert_function(builder.module, kind, symbol), args)


def _intrinsic(name: str) -> Emitter:
    def emit(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        return call_intrinsic(builder, name, args)

    return emit


def _instruction(name: str, flags: tuple[str, ...] = ()) -> Emitter:
    return lambda builder, args: getattr(builder, name)(*args, flags=flags)


def _emit_cube(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    """``x**3``, correctly rounded but for rare cases: both rounding errors are recovered by fma (Dekker 1971)."""
    (x,) = args
    square = builder.fmul(x, x)
    square_error = call_intrinsic(builder, "fma", (x, x, builder.fneg(square)))
    cube = builder.fmul(square, x)
    cube_error = call_intrinsic(builder, "fma", (square, x, builder.fneg(cube)))
    error = builder.fadd(cube_error, builder.fmul(square_error, x))
    # At infinity the errors are nan, and an error of zero would take the sign of a zero.
    inexact = builder.fcmp_ordered("!=", error, error.type(0.0))
    return builder.select(inexact, builder.fadd(cube, error), cube)


def _emit_product_and_sum(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    x, y, z = args
    return builder.fadd(builder.fmul(x, y), z)


def emit_where(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    condition, x, y = args
    if isinstance(x.type, ir.LiteralStructType):
        parts = [builder.select(condition, builder.extract_value(x, k), builder.extract_value(y, k)) for k in range(2)]
        return make_complex(builder, *parts)
    return builder.select(condition, x, y)


def emit_computed(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
    keep(builder, args[0])
    return ir.Constant(I64, 1)


def _ufunc_emitter(ufunc: np.ufunc, operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
    try:
        _fill_database()
        loops = ufunc_db.get_ufunc_info(ufunc)
    except KeyError:
        return None
    text = "".join(t.char for t in operands) + "->" + result.char
    if {t.kind for t in operands} == {"i", "u"}:
        text = text.translate(_LONGEST)  # NumPy compares them in a loop of longlong alone
    loop = loops.get(text)
    if loop is None:
        return None
    signature = typing.signature(numba_type(result), *map(numba_type, operands))

    def emit(builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        return loop(context(), builder, signature, tuple(args))

    return emit if _is_inline(emit, operands, result) else None


def _is_inline(emit: Emitter, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    """Whether `emit` gives code without calls, found by trying."""
    module = ir.Module()
    kind = ir.FunctionType(value_type(result), [value_type(t) for t in operands])
    function = ir.Function(module, kind, "trial")
    builder = ir.IRBuilder(function.append_basic_block())
    try:
        value = emit(builder, function.args)
    except (NotImplementedError, NumbaError, TypeError, ValueError):
        return False
    declared = [f for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return value.type == value_type(result) and not declared


def emit_cast(builder: ir.IRBuilder, value: ir.Value, source: np.dtype, target: np.dtype) -> ir.Value:
    """C conversions, as NumPy's casts; numbers out of range become what x86-64 conversions make of them."""
    if source == target:
        return value
    if source.kind == "c":
        if target.kind == "c":
            part = value_type(np.dtype(f"f{target.itemsize // 2}"))
            resize = builder.fpext if target.itemsize > source.itemsize else builder.fptrunc
            return make_complex(builder, *(resize(builder.extract_value(value, k), part) for k in range(2)))
        real, imag = (builder.extract_value(value, k) for k in range(2))
        if target.kind == "b":
            zero = ir.Constant(real.type, 0.0)
            return builder.or_(builder.fcmp_unordered("!=", real, zero), builder.fcmp_unordered("!=", imag, zero))
        return emit_cast(builder, real, np.dtype(f"f{source.itemsize // 2}"), target)
    if target.kind == "c":
        part = np.dtype(f"f{target.itemsize // 2}")
        real = emit_cast(builder, value, source, part)
        return make_complex(builder, real, ir.Constant(real.type, 0.0))
    return _cast_real(builder, value, source, target)


def _cast_real(builder: ir.IRBuilder, value: ir.Value, source: np.dtype, target: np.dtype) -> ir.Value:
    wanted = value_type(target)
    if source == _HALF and target.kind != "f":  # conversions of whole numbers are NumPy's by way of single precision
        value, source = builder.fpext(value, value_type(_SINGLE)), _SINGLE
    if target == _HALF:
        if source == _DOUBLE:
            value = _rounded_to_odd(builder, value)
        elif source != _SINGLE:
            value = _cast_real(builder, value, source, _SINGLE)
        return builder.fptrunc(value, wanted)
    if target.kind == "b":
        zero: Any = ir.Constant(value.type, 0.0 if source.kind == "f" else 0)
        return (
            builder.fcmp_unordered("!=", value, zero) if source.kind == "f" else builder.icmp_signed("!=", value, zero)
        )
    if source.kind == "f":
        if target.kind == "f":
            return (builder.fpext if target.itemsize > source.itemsize else builder.fptrunc)(value, wanted)
        return _float_to_int(builder, value, target)
    signed = source.kind == "i"
    if target.kind == "f":
        return (builder.sitofp if signed else builder.uitofp)(value, wanted)
    if wanted.width == value.type.width:
        return value
    if wanted.width < value.type.width:
        return builder.trunc(value, wanted)
    return (builder.sext if signed else builder.zext)(value, wanted)


def _rounded_to_odd(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A double in single precision, whose last bit says whether anything was cut off (Boldo and Melquiond 2005).

    So rounding it again to half precision is as exact as if it were done at once.
    """
    cut = 52 - 23  # bits of the significand
    bits = builder.bitcast(value, I64)
    rest = builder.and_(bits, ir.Constant(I64, (1 << cut) - 1))
    sticky = builder.zext(builder.icmp_unsigned("!=", rest, ir.Constant(I64, 0)), I64)
    kept = builder.and_(bits, ir.Constant(I64, -1 << cut))
    odd = builder.or_(kept, builder.shl(sticky, ir.Constant(I64, cut)))
    return builder.fptrunc(builder.bitcast(odd, ir.DoubleType()), ir.FloatType())


def _float_to_int(builder: ir.IRBuilder, value: ir.Value, target: np.dtype) -> ir.Value:
    """Through the next signed type that a conversion instruction has, so that small targets wrap as in C.

    The upper half of unsigned numbers of 32 and 64 bits is converted that much lower, as compilers do where no
    instruction exists: what does not fit is then told by the processor, and NumPy's loops decide on it.
    """
    wanted = value_type(target)
    if target.kind == "u" and target.itemsize >= 4:
        middle = ir.Constant(value.type, 2.0 ** (wanted.width - 1))
        is_upper = builder.fcmp_ordered(">=", value, middle)
        lowered = builder.select(is_upper, builder.fsub(value, middle), value)
        top = builder.select(is_upper, ir.Constant(wanted, 1 << (wanted.width - 1)), ir.Constant(wanted, 0))
        return builder.xor(_truncate(builder, lowered, wanted.width), top)
    converted = _truncate(builder, value, 64 if target.itemsize == 8 else 32)
    return converted if target.itemsize >= 4 else builder.trunc(converted, wanted)


def _truncate(builder: ir.IRBuilder, value: ir.Value, width: int) -> ir.Value:
    """A signed integer of `width` bits; the smallest one for nan and what is out of range, as x86-64 has it.

    LLVM's own conversion is undefined there.
    """
    limit = 2.0 ** (width - 1)
    # No float32 and, for 64 bits, no float64 lies between -limit - 1 and -limit.
    exact = width == 64 or value.type == ir.FloatType()
    above = builder.fcmp_ordered(">=" if exact else ">", value, ir.Constant(value.type, -limit - (not exact)))
    inside = builder.and_(above, builder.fcmp_ordered("<", value, ir.Constant(value.type, limit)))
    converted = builder.fptosi(value, ir.IntType(width))
    return builder.select(inside, converted, ir.Constant(converted.type, -(1 << (width - 1))))


def literal_value(dtype: np.dtype, value: int) -> ir.Value:
    """A boolean or integer constant."""
    return ir.Constant(value_type(dtype), value)
