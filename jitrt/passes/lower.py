"""Lowering: compound operations become primitive ones, and casts and broadcasts become nodes.

Afterwards every elementwise node has operands of its own shape and of the dtypes of the loop that NumPy would run.

    t0:f8[3] = add x0:i4[3] 1.5*  →  t0:f8[3] = cast[dtype=f8] x0;  t1:f8[3] = broadcast_to 1.5;  add t0 t1
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.optable import Kind, Op
from ..ir.ops.ufuncs import WHERE, loop_dtypes
from ..ir.rewrite import of_kind, rule
from ..ir.strided import same_shape


@rule(lambda op: op.lower is not None, "compound → its definition", "the rows quote NumPy's own definitions", True)
def lower_compound(n: Node) -> Node | None:
    if n.op.lower is None or (n.op.kind is Kind.ELEMENTWISE and not _is_typed(n)):
        return None
    return n.op.lower(n)


def _has_loops(op: Op) -> bool:
    return op.kind is Kind.ELEMENTWISE and (op.ufunc is not None or op is WHERE)


@rule(_has_loops, "implicit cast, broadcast → explicit", "NEP 50: the dtypes of the loop that NumPy resolves", True)
def explicit_operands(n: Node) -> Node | None:
    dtypes = _operand_dtypes(n)
    if _are_typed(n, dtypes):
        return None
    args = tuple([_as_operand(a, t, n.shape) for a, t in zip(n.args, dtypes)])
    return n.with_args(args)  # a Python number stays weak: the types of its users depend on it


@rule("cast", "cast to the same dtype → nothing", "same dtype", True)
def drop_identity_cast(n: Node) -> Node | None:
    (x,) = n.args
    return x if x.dtype == n.dtype and x.type.weak == n.type.weak else None


@rule(of_kind(Kind.SCAN), "scan along one element → its operand", "the first result is the first element", True)
def short_scan(n: Node) -> Node | None:
    return n.args[0] if n.shape[n["axis"]] <= 1 else None


def _operand_dtypes(n: Node) -> tuple[np.dtype, ...]:
    if n.op is WHERE:
        return np.dtype(bool), n.dtype, n.dtype
    assert n.op.ufunc is not None
    return loop_dtypes(n.op.ufunc, tuple([a.type for a in n.args]))[:-1]


def _is_typed(n: Node) -> bool:
    return _are_typed(n, _operand_dtypes(n))


def _are_typed(n: Node, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether the operands of `n` have its shape and these dtypes."""
    shape = n.type.shape
    for arg, dtype in zip(n.args, dtypes):
        if arg.type.dtype != dtype or not same_shape(arg.type.shape, shape):
            return False
    return True


class NumberTooLarge(OverflowError):
    """A Python integer fits into no element of the dtype that NumPy would give it, of which NumPy tells people."""


def _as_operand(x: Node, dtype: np.dtype, shape: tuple[int, ...]) -> Node:
    """`x` cast and broadcast; what has one element is cast first, the rest where it is used."""
    if x.type.weak and x.op.name == "constant":
        x = _typed_literal(x, dtype)
    if x.dtype == dtype:
        return b.broadcast_to(x, shape)
    if x.type.size == 1:
        return b.broadcast_to(b.cast(x, dtype), shape)
    return b.cast(b.broadcast_to(x, shape), dtype)


@lru_cache(maxsize=1024)
def _typed_literal(x: Node, dtype: np.dtype) -> Node:
    """The number `x` in `dtype`; the same function at another shape has the same literals."""
    try:
        with np.errstate(over="raise"):
            return b.constant(np.asarray(x["value"].value, dtype)[()])
    except FloatingPointError:  # of which each call has to tell NumPy's error state; kernels are given no integers
        value = np.asarray(x["value"].value)
        return b.cast(b.constant(np.float64(value[()]) if value.dtype.kind in "iuO" else value[()]), dtype)
    except OverflowError as error:
        raise NumberTooLarge(str(error)) from None


RULES = (drop_identity_cast, explicit_operands, lower_compound, short_scan)
