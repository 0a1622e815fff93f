"""A path for arguments that almost never occur, inside a loop that LLVM still vectorises.

A scalar call or branch would stop the loop vectoriser. A call that names vector variants of itself (LLVM's
Vector Function ABI: the attribute ``vector-function-abi-variant``) is widened to the variant of the loop's
width, and the variants may branch: they look whether any lane is rare, and only then visit the lanes one by one.
"""

from __future__ import annotations

import functools
import struct

import llvmlite.binding as llvm
from llvmlite import ir

from .words import declared


@functools.cache
def lane_counts(bits: int) -> tuple[int, ...]:
    """The widths of vectors that a loop on this machine may use; each variant costs time to compile."""
    features = llvm.get_host_cpu_features()
    registers = [256, 512] if features.get("avx512f") else [256] if features.get("avx") else [128]
    return tuple(register // bits for register in registers)


_INT32 = ir.IntType(32)
_SELDOM_CALLED = ("noinline", "minsize", "optsize")


def emit_beyond(builder: ir.IRBuilder, bound: float, name: str, bits: int, x: ir.Value, result: ir.Value) -> ir.Value:
    """`result`, but the C library's ``name(x)`` where ``|x| > bound``; float32 is computed in float64 there."""
    module = builder.module
    scalar_name = f"jitrt.{name}.beyond.f{bits}"
    scalar = module.globals.get(scalar_name)
    if scalar is None:
        scalar = _scalar(module, scalar_name, bound, name, bits)
        keep(module, [_widened(module, scalar_name, width, bound, name, bits) for width in lane_counts(bits)])
    call = builder.call(scalar, [x, result])
    variants = ",".join(f"_ZGV_LLVM_N{width}vv_{scalar_name}({scalar_name}.x{width})" for width in lane_counts(bits))
    add_attribute(call, f'"vector-function-abi-variant"="{variants}"')
    return call


def emit_lanes_beyond(
    builder: ir.IRBuilder, bound: float, name: str, bits: int, x: ir.Value, result: ir.Value
) -> ir.Value:
    """`result`, but the C library's ``name(x)`` in the lanes of a vector where ``|x| > bound``; not for nan.

    Representations are compared, for a comparison of floats would raise a flag for nan.
    """
    module = builder.module
    scalar_name = f"jitrt.{name}.beyond.f{bits}"
    scalar = module.globals.get(scalar_name) or _scalar(module, scalar_name, bound, name, bits)
    width = x.type.count
    integers = ir.VectorType(ir.IntType(bits), width)

    def constant(value: int) -> ir.Constant:
        return ir.Constant(integers, [value] * width)

    def branch_if_any(lanes: ir.Value, target: ir.Block) -> None:
        flags = builder.bitcast(lanes, ir.IntType(width))
        some = builder.icmp_unsigned("!=", flags, ir.Constant(flags.type, 0))
        builder.cbranch(some, target, done).set_weights([1, 1000])

    # Representations are in the order of magnitudes, with nan above infinity, which is left out behind the branch.
    magnitude = builder.and_(builder.bitcast(x, integers), constant((1 << (bits - 1)) - 1))
    rare = builder.icmp_unsigned(">", magnitude, constant(_representation(bound, bits)))
    entry = builder.block
    number, loop, done = (builder.append_basic_block(label) for label in ("number", "lane", "done"))
    branch_if_any(rare, number)
    builder.position_at_end(number)
    infinity = constant(_representation(float("inf"), bits))
    branch_if_any(builder.and_(rare, builder.icmp_unsigned("<=", magnitude, infinity)), loop)
    builder.position_at_end(loop)
    lane, so_far = builder.phi(_INT32), builder.phi(x.type)
    value = builder.call(scalar, [builder.extract_element(x, lane), builder.extract_element(so_far, lane)])
    changed, following = builder.insert_element(so_far, value, lane), builder.add(lane, ir.Constant(_INT32, 1))
    builder.cbranch(builder.icmp_unsigned("<", following, ir.Constant(_INT32, width)), loop, done)
    lane.add_incoming(ir.Constant(_INT32, 0), number)
    lane.add_incoming(following, loop)
    so_far.add_incoming(result, number)
    so_far.add_incoming(changed, loop)
    builder.position_at_end(done)
    final = builder.phi(x.type)
    final.add_incoming(result, entry)
    final.add_incoming(result, number)
    final.add_incoming(changed, loop)
    return final


def _representation(value: float, bits: int) -> int:
    return int.from_bytes(struct.pack({64: "<d", 32: "<f"}[bits], value), "little")


def add_attribute(target: ir.CallInstr | ir.Function, text: str) -> None:
    # llvmlite's own `add` admits none of the string attributes.
    set.add(target.attributes, text)


def _float_type(bits: int) -> ir.Type:
    return ir.DoubleType() if bits == 64 else ir.FloatType()


def pure_function(module: ir.Module, name: str, type_: ir.Type, arity: int, *attributes: str) -> ir.Function:
    """A function without side effects, to be filled in, of arguments and a result of one type."""
    function = ir.Function(module, ir.FunctionType(type_, [type_] * arity), name)
    function.linkage = "internal"
    for attribute in ("nounwind", "willreturn", "memory(none)", *attributes):
        add_attribute(function, attribute)
    return function


def _scalar(module: ir.Module, scalar_name: str, bound: float, name: str, bits: int) -> ir.Function:
    float_type, double = _float_type(bits), ir.DoubleType()
    function = pure_function(module, scalar_name, float_type, 2, *_SELDOM_CALLED)
    x, result = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    magnitude = builder.call(declared(module, f"llvm.fabs.f{bits}", ir.FunctionType(float_type, [float_type])), [x])
    rare = builder.fcmp_ordered(">", magnitude, ir.Constant(float_type, bound))
    with builder.if_then(rare, likely=False):
        function_of_library = declared(module, name, ir.FunctionType(double, [double]))
        value = builder.call(function_of_library, [x if bits == 64 else builder.fpext(x, double)])
        builder.ret(value if bits == 64 else builder.fptrunc(value, float_type))
    builder.ret(result)
    return function


def _widened(module: ir.Module, scalar_name: str, width: int, bound: float, name: str, bits: int) -> ir.Function:
    vector = ir.VectorType(_float_type(bits), width)
    function = pure_function(module, f"{scalar_name}.x{width}", vector, 2, *_SELDOM_CALLED)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(emit_lanes_beyond(builder, bound, name, bits, *function.args))
    return function


def keep(module: ir.Module, functions: list[ir.Function]) -> None:
    """Name functions in ``llvm.compiler.used``, so that they neither vanish before loops are vectorised nor change.

    LLVM would take arguments that are constant, or not used, off a function that nothing else refers to.
    """
    pointer = ir.IntType(8).as_pointer()
    used = module.globals.get("llvm.compiler.used")
    kept = [] if used is None else list(used.initializer.constant)
    kept += [function.bitcast(pointer) for function in functions]
    array = ir.ArrayType(pointer, len(kept))
    if used is None:
        used = ir.GlobalVariable(module, array, "llvm.compiler.used")
        used.linkage = "appending"
        used.section = "llvm.metadata"
    # A module has one such variable, and llvmlite gives no name away twice: the variable grows.
    used.value_type, used.type = array, array.as_pointer()
    used.initializer = ir.Constant(array, kept)
