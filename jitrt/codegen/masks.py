"""Vectors of which only the first lanes are in memory: loads and stores that touch no others."""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from .context import I64

_I32 = ir.IntType(32)


def splat(builder: ir.IRBuilder, value: ir.Value, width: int) -> ir.Value:
    """A vector with `value` in every lane."""
    one = builder.insert_element(ir.Constant(ir.VectorType(value.type, width), ir.Undefined), value, _I32(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, width), [_I32(0)] * width))


def first_lanes(builder: ir.IRBuilder, number: ir.Value, width: int) -> ir.Value:
    """A mask of the first `number` lanes."""
    places = ir.Constant(ir.VectorType(I64, width), [I64(k) for k in range(width)])
    return builder.icmp_signed(">", splat(builder, number, width), places)


def masked_load(
    builder: ir.IRBuilder, address: ir.Value, dtype: np.dtype, mask: ir.Value, others: ir.Value, aligned: bool = True
) -> ir.Value:
    """The elements at `address` in the lanes of `mask`, and those of `others` elsewhere."""
    pointer = others.type.as_pointer()
    signature = ir.FunctionType(others.type, [pointer, _I32, mask.type, others.type])
    function = _intrinsic(builder, "load", others.type, dtype, signature)
    alignment = _I32(dtype.alignment if aligned else 1)
    return builder.call(function, [builder.bitcast(address, pointer), alignment, mask, others])


def masked_store(
    builder: ir.IRBuilder, data: ir.Value, address: ir.Value, dtype: np.dtype, mask: ir.Value, aligned: bool = True
) -> None:
    """Write the lanes of `mask`."""
    pointer = data.type.as_pointer()
    signature = ir.FunctionType(ir.VoidType(), [data.type, pointer, _I32, mask.type])
    function = _intrinsic(builder, "store", data.type, dtype, signature)
    alignment = _I32(dtype.alignment if aligned else 1)
    builder.call(function, [data, builder.bitcast(address, pointer), alignment, mask])


def _intrinsic(
    builder: ir.IRBuilder, what: str, vector: ir.VectorType, dtype: np.dtype, signature: ir.FunctionType
) -> ir.Function:
    element = vector.element
    kind = f"i{element.width}" if isinstance(element, ir.IntType) else f"f{8 * dtype.itemsize}"
    name = f"llvm.masked.{what}.v{vector.count}{kind}.p0"
    return builder.module.globals.get(name) or ir.Function(builder.module, signature, name)
