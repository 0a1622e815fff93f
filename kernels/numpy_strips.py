"""LLVM IR that calls NumPy's inner loops on strips of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from . import vmath
from .floatflags import clear_x87_flags, kept_flags, raise_x87_flags, restore_flags
from .loop_metadata import set_hint

STRIP = 512  # elements: what a few values need for as many fits into the first-level cache

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_ZERO = _I64(0)
_POINTER = ir.IntType(8).as_pointer()
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_LOOP = ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _POINTER, _POINTER])
_SINGLE_SURE = 1 << 24  # of 2**29, the last place of a float32 in a float64: one 32nd of it
_DIRECT = (-1.0, 0.0, 0.5, 1.0, 2.0)  # exponents for which NumPy's loop does not compute powers
_INFINITY, _SIXTY_FOUR = 0x7F800000, 0x42800000  # as bits of a float32


def emit_call(
    builder: ir.IRBuilder,
    symbol: str,
    operands: Sequence[tuple[ir.Value, ir.Value]],
    count: ir.Value,
    fma: bool,
    avx512: bool,
) -> None:
    """Call the loop that `symbol` stands for.

    Parameters
    ----------
    builder
    symbol
        As `numpy_loops.symbol` gives it.
    operands
        For each operand, and last the result, where it begins and its stride in bytes.
    count
        Number of elements; at most `STRIP`.
    fma, avx512
        What the target has, as for `vmath.emitter`.
    """
    words = _words(builder.module, symbol)
    if "e" in symbol.rpartition(".")[2]:  # NumPy's functions of halves call `feraiseexcept`
        clear_x87_flags(builder)
        _call_loop(builder, words, operands, count)
        raise_x87_flags(builder)
        return
    if symbol.startswith("scipy."):
        kept = kept_flags(builder)
        _call_loop(builder, words, operands, count)
        restore_flags(builder, kept)
        return
    if symbol != "numpy.power.ff->f" or _is_zero(operands[0][1]):
        _call_loop(builder, words, operands, count)
        return
    (x, _), (y, step), (result, _) = operands
    builder.call(_power(builder.module, words, fma, avx512), [x, y, step, result, count])


def _is_zero(value: ir.Value) -> bool:
    return isinstance(value, ir.Constant) and value.constant == 0


def _words(module: ir.Module, symbol: str) -> ir.GlobalVariable:
    """The words that a symbol stands for: function, data, and whether negative bases are slow."""
    if symbol not in module.globals:
        words = ir.GlobalVariable(module, ir.ArrayType(_I64, 3), symbol)
        words.linkage = "external"
    return module.globals[symbol]


def _call_loop(
    builder: ir.IRBuilder, words: ir.Value, operands: Sequence[tuple[ir.Value, ir.Value]], count: ir.Value
) -> None:
    with builder.goto_entry_block():
        pointers = builder.alloca(_POINTER, len(operands))
        steps = builder.alloca(_I64, len(operands))
        dimension = builder.alloca(_I64)
    builder.store(count, dimension)
    for k, (pointer, step) in enumerate(operands):
        builder.store(builder.bitcast(pointer, _POINTER), _at(builder, pointers, _I64(k)))
        builder.store(step, _at(builder, steps, _I64(k)))
    function, data = (builder.load(builder.gep(words, [_I64(0), _I64(k)], inbounds=True)) for k in range(2))
    arguments = [builder.bitcast(memory, _POINTER) for memory in (pointers, dimension, steps)]
    function = builder.inttoptr(function, _LOOP.as_pointer())
    builder.call(function, [*arguments, builder.inttoptr(data, _POINTER)])


def _at(builder: ir.IRBuilder, array: ir.Value, index: ir.Value) -> ir.Value:
    return builder.gep(array, [index], inbounds=True)


def _repeat(
    builder: ir.IRBuilder,
    name: str,
    count: ir.Value,
    body: Callable[[ir.Value, ir.Value], ir.Value | None],
    start: ir.Value = _ZERO,
    in_vectors: bool = False,
) -> ir.Value:
    """``for i in range(count): total = body(i, total)`` from `start`; its last value. `count` is positive.

    A body that gives nothing leaves the total as it is. A loop is vectorised, or left as it is, lest its code grow.
    """
    before, block = builder.block, builder.append_basic_block(name)
    builder.branch(block)
    builder.position_at_end(block)
    index, total = builder.phi(_I64), builder.phi(start.type)
    index.add_incoming(_I64(0), before)
    total.add_incoming(start, before)
    result = body(index, total)
    result = total if result is None else result
    following = builder.add(index, _I64(1), flags=["nsw"])
    index.add_incoming(following, builder.block)
    total.add_incoming(result, builder.block)
    after = builder.append_basic_block(f"{name}.end")
    latch = builder.cbranch(builder.icmp_signed("<", following, count), block, after)
    if in_vectors:
        set_hint(latch, builder.module, "llvm.loop.interleave.count", _I32(1))
    else:
        set_hint(latch, builder.module, "llvm.loop.disable_nonforced")
    builder.position_at_end(after)
    return result


def _power(module: ir.Module, words: ir.Value, fma: bool, avx512: bool) -> ir.Function:
    """``power(x, y, step of y, result, count)`` of float32, with the bits of NumPy's loop.

    SVML's vectors take positive bases; where a base has a sign, NumPy's loop leaves them and spends fifty times as
    long on that element. What it finds then for small whole exponents is right to some thousandths of the last place
    before it is rounded. So where a power, computed in float64, is far from the middle between two floats, both round
    alike. What is left, one negative base in sixteen and all that is unusual, is handed to NumPy's loop together.
    """
    name = "jitrt.power.strip"
    if name in module.globals:
        return module.globals[name]
    floats = _FLOAT.as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [floats, floats, _I64, floats, _I64]), name)
    function.linkage = "internal"
    # llvmlite's own `add` accepts a fixed list of attributes.
    for attribute in ("nounwind", "noinline", '"prefer-vector-width"="512"'):
        set.add(function.attributes, attribute)
    x, y, step, result, count = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    looked_at, slow, direct = (function.append_basic_block(name) for name in ("look", "slow", "direct"))
    exponent = builder.load(y)
    special = builder.icmp_signed("==", step, _I64(0))
    special = builder.and_(special, _any(builder, [builder.fcmp_ordered("==", exponent, _FLOAT(v)) for v in _DIRECT]))
    has_slow = builder.icmp_signed("!=", builder.load(builder.gep(words, [_I64(0), _I64(2)], inbounds=True)), _I64(0))
    builder.cbranch(builder.and_(has_slow, builder.not_(special)), looked_at, direct)
    size = _I64(4)

    def bits(i: ir.Value) -> ir.Value:
        return builder.load(_at(builder, builder.bitcast(x, _I32.as_pointer()), i))

    # As integers, zero and whatever has a sign are below one.
    smaller = module.declare_intrinsic("llvm.smin", [_I32], ir.FunctionType(_I32, [_I32, _I32]))
    builder.position_at_end(looked_at)
    smallest = _repeat(builder, "look", count, lambda i, least: builder.call(smaller, [least, bits(i)]), _I32(1), True)
    builder.cbranch(builder.icmp_signed(">", smallest, _I32(0)), direct, slow)
    builder.position_at_end(direct)
    _call_loop(builder, words, [(x, size), (y, step), (result, size)], count)
    builder.ret_void()

    builder.position_at_end(slow)
    with builder.goto_entry_block():
        fast, bases, exponents, powers = (builder.alloca(_FLOAT, STRIP) for _ in range(4))
        places, unsure = builder.alloca(_I64, STRIP), builder.alloca(_I32, STRIP)

    def split(i: ir.Value, found: ir.Value) -> ir.Value:
        value, is_left = builder.load(_at(builder, x, i)), builder.icmp_signed("<=", bits(i), _I32(0))
        builder.store(builder.select(is_left, _FLOAT(1.0), value), _at(builder, fast, i))  # one raises no flag
        builder.store(value, _at(builder, bases, found))
        address = builder.gep(builder.bitcast(y, _POINTER), [builder.mul(i, step)], inbounds=True)
        builder.store(builder.load(builder.bitcast(address, floats)), _at(builder, exponents, found))
        builder.store(i, _at(builder, places, found))
        return builder.add(found, builder.zext(is_left, _I64))

    found = _repeat(builder, "split", count, split)
    _call_loop(builder, words, [(fast, size), (y, step), (result, size)], count)

    def compute(j: ir.Value, _: ir.Value) -> None:
        base, exponent = (builder.load(_at(builder, memory, j)) for memory in (bases, exponents))
        power, is_sure = _slow_power(builder, base, exponent, fma, avx512)
        builder.store(power, _at(builder, powers, j))
        builder.store(builder.zext(builder.not_(is_sure), _I32), _at(builder, unsure, j))

    def spread(j: ir.Value, left: ir.Value) -> ir.Value:
        place = builder.load(_at(builder, places, j))
        builder.store(builder.load(_at(builder, powers, j)), _at(builder, result, place))
        for memory in (bases, exponents, places):
            builder.store(builder.load(_at(builder, memory, j)), _at(builder, memory, left))
        return builder.add(left, builder.zext(builder.load(_at(builder, unsure, j)), _I64))

    _repeat(builder, "compute", found, compute, in_vectors=True)
    left = _repeat(builder, "spread", found, spread)
    _return_if_zero(builder, left)
    _call_loop(builder, words, [(bases, size), (exponents, size), (powers, size)], left)

    def replace(j: ir.Value, _: ir.Value) -> None:
        place = builder.load(_at(builder, places, j))
        builder.store(builder.load(_at(builder, powers, j)), _at(builder, result, place))

    _repeat(builder, "replace", left, replace)
    builder.ret_void()
    return function


def _return_if_zero(builder: ir.IRBuilder, value: ir.Value) -> None:
    with builder.if_then(builder.icmp_signed("==", value, _I64(0)), likely=False):
        builder.ret_void()


def _any(builder: ir.IRBuilder, conditions: Sequence[ir.Value]) -> ir.Value:
    result, *others = conditions
    for condition in others:
        result = builder.or_(result, condition)
    return result


def _slow_power(
    builder: ir.IRBuilder, base: ir.Value, exponent: ir.Value, fma: bool, avx512: bool
) -> tuple[ir.Value, ir.Value]:
    """``base**exponent`` for zero or a negative base, rounded correctly, and whether every good function rounds it so.

    That is for a normal result of a whole exponent of up to 64, with 2**-5 of the last place to the nearest middle
    between two floats. The logarithm times the exponent is less than 128, and its error in the exponent of two below
    2**-44. A positive power of zero is zero.
    """
    log2, exp2 = (vmath.emitter(name, "d", fma, avx512) for name in ("log2", "exp2"))
    assert log2 is not None and exp2 is not None

    def intrinsic(name: str, value: ir.Value) -> ir.Value:
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE])
        return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [_DOUBLE], kind), [value])

    def choose(condition: ir.Value, value: ir.Value, otherwise: float) -> ir.Value:
        return builder.select(condition, value, _DOUBLE(otherwise))

    # Comparisons of the bits, for one with nan could raise a flag.
    base_bits, exponent_bits = (builder.bitcast(value, _I32) for value in (base, exponent))
    base_size, exponent_size = (builder.and_(bits, _I32(0x7FFFFFFF)) for bits in (base_bits, exponent_bits))
    is_zero = builder.icmp_signed("==", base_size, _I32(0))
    is_zero = builder.and_(is_zero, builder.icmp_unsigned("<", builder.sub(exponent_bits, _I32(1)), _I32(_INFINITY)))
    is_usual = builder.icmp_unsigned("<", builder.sub(base_size, _I32(1)), _I32(_INFINITY - 1))
    is_usual = builder.and_(is_usual, builder.icmp_unsigned("<=", exponent_size, _I32(_SIXTY_FOUR)))
    y = builder.fpext(exponent, _DOUBLE)
    half = builder.fmul(y, _DOUBLE(0.5))
    is_whole = builder.fcmp_ordered("==", intrinsic("rint", y), y)
    is_odd = builder.and_(is_whole, builder.fcmp_unordered("!=", intrinsic("rint", half), half))
    is_usual = builder.and_(is_usual, is_whole)
    size = intrinsic("fabs", builder.fpext(base, _DOUBLE))
    logarithm = builder.fmul(choose(is_usual, y, 0.0), log2(builder, [choose(is_usual, size, 1.0)]))
    is_usual = builder.and_(is_usual, builder.fcmp_ordered("<", intrinsic("fabs", logarithm), _DOUBLE(125.5)))
    power = exp2(builder, [choose(is_usual, logarithm, 0.0)])
    rest = builder.and_(builder.bitcast(power, _I64), _I64((1 << 29) - 1))
    above = builder.sub(rest, _I64((1 << 28) - _SINGLE_SURE))
    is_sure = builder.icmp_unsigned(">", above, _I64(2 * _SINGLE_SURE))
    rounded = builder.select(is_zero, _FLOAT(0.0), builder.fptrunc(power, _FLOAT))
    sign = builder.and_(base_bits, builder.select(is_odd, _I32(-(1 << 31)), _I32(0)))
    rounded = builder.bitcast(builder.or_(builder.bitcast(rounded, _I32), sign), _FLOAT)
    return rounded, builder.or_(is_zero, builder.and_(is_usual, is_sure))
