"""Calls that LLVM's loop vectoriser widens: a function of scalars, and what it is on whole registers.

The vectoriser replaces a call that names variants of the function (LLVM's Vector Function ABI: the attribute
``vector-function-abi-variant``) by that of the loop's width. Here the variant is the definition: of other widths, and
for the elements that remain at the end of a loop, the same instructions run on a register filled up with copies, so
that a result does not depend on where an element stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from .number import FLOAT, Number
from .number_llvm import Vectors
from .vmath_rare import add_attribute, keep, pure_function

_INT32 = ir.IntType(32)
_ELEMENT = {64: ir.DoubleType(), 32: ir.FloatType()}
Formula = Callable[..., Number]
CALLED = '"jitrt-functions"="called"'
"""Attribute of LLVM functions in which elementary functions are not inlined, since there are many of them."""


def emit_call(builder: ir.IRBuilder, name: str, formula: Formula, bits: int, values: Sequence[ir.Value]) -> ir.Value:
    """``name(values)``, defined by `formula` on registers of AVX-512."""
    module = builder.module
    is_called = CALLED in builder.function.attributes
    scalar_name = f"jitrt.{name}.f{bits}" + (".called" if is_called else "")
    scalar = module.globals.get(scalar_name)
    widths = {64: (8,), 32: (16, 8)}[bits]
    if scalar is None:
        scalar = _define(module, scalar_name, formula, bits, len(values), widths, is_called)
    call = builder.call(scalar, values)
    letters = "v" * len(values)
    variants = ",".join(f"_ZGV_LLVM_N{width}{letters}_{scalar_name}({scalar_name}.x{width})" for width in widths)
    add_attribute(call, f'"vector-function-abi-variant"="{variants}"')
    return call


def _define(
    module: ir.Module,
    scalar_name: str,
    formula: Formula,
    bits: int,
    arity: int,
    widths: tuple[int, ...],
    is_called: bool,
) -> ir.Function:
    """The function of scalars, which calls its narrowest variant, which calls the next."""
    whole, *narrower = widths
    vector = ir.VectorType(_ELEMENT[bits], whole)
    inlining = "noinline" if is_called else "alwaysinline"
    function = pure_function(module, f"{scalar_name}.x{whole}", vector, arity, inlining)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    back = Vectors(builder)
    builder.ret(formula(*(Number(back, value, FLOAT, bits) for value in function.args)).value)
    defined = [function]
    for width in narrower:
        wider, vector = function, ir.VectorType(_ELEMENT[bits], width)
        function = pure_function(module, f"{scalar_name}.x{width}", vector, arity, "noinline")
        defined.append(function)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        repeated = ir.Constant(ir.VectorType(_INT32, 2 * width), [k % width for k in range(2 * width)])
        values = [builder.shuffle_vector(value, value, repeated) for value in function.args]
        result = _call(builder, wider, values)
        first = ir.Constant(ir.VectorType(_INT32, width), list(range(width)))
        builder.ret(builder.shuffle_vector(result, result, first))
    narrowest = widths[-1]
    scalar = pure_function(module, scalar_name, _ELEMENT[bits], arity, "noinline")
    builder = ir.IRBuilder(scalar.append_basic_block("entry"))
    everywhere = ir.Constant(ir.VectorType(_INT32, narrowest), [0] * narrowest)
    values = []
    for value in scalar.args:
        lane = builder.insert_element(ir.Constant(function.args[0].type, ir.Undefined), value, _INT32(0))
        values.append(builder.shuffle_vector(lane, lane, everywhere))
    builder.ret(builder.extract_element(_call(builder, function, values), _INT32(0)))
    keep(module, [scalar, *defined])
    return scalar


def _call(builder: ir.IRBuilder, function: ir.Function, values: Sequence[ir.Value]) -> ir.Value:
    """A call that is not inlined, for the code would stand there for each width."""
    call = builder.call(function, values)
    add_attribute(call, "noinline")
    return call
