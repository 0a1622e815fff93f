"""Integers of which only the lowest bits matter: they may wrap, however long Python's would get.

(x * 2654435769 + c) & 0xFFFFFFFF    →    and (add (multiply x 2654435769) c) 0xFFFFFFFF    modulo 2**64

Sums, differences, products, shifts to the left and operations on bits give the same lowest bits for numbers that have
these bits in common.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ...ir.integers import Poly
from . import arithmetic, scalars
from .values import INT, Scalar, dtype_of, integer, is_number, is_python_number, is_static

if TYPE_CHECKING:
    from .expressions import Expressions

_OPERATIONS = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.LShift: "left_shift",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
}  # fmt: skip
_OF_CONSTANTS = (ast.Constant, ast.Name, ast.BinOp, ast.operator, ast.expr_context)  # as 2**32 - 1
_WORD = 63  # bits of an integer without a sign


def lowest_bits(where: Expressions, e: ast.BinOp) -> Any:
    """``x & mask`` or ``x % 2**k``, where `x` may be too long for a word; None if `e` is something else."""
    if isinstance(e.op, ast.BitAnd):
        sides = [(e.left, e.right), (e.right, e.left)]
    elif isinstance(e.op, ast.Mod):
        sides = [(e.left, e.right)]
    else:
        return None
    for whole, other in sides:
        if not (isinstance(whole, ast.BinOp) and type(whole.op) in _OPERATIONS):
            continue
        given = where.expression(other) if all(isinstance(n, _OF_CONSTANTS) for n in ast.walk(other)) else None
        if type(given) is not int:
            continue
        mask = given - isinstance(e.op, ast.Mod)
        if 0 <= mask < 1 << _WORD and (isinstance(e.op, ast.BitAnd) or not mask & given):
            value = _modular(where, whole)
            if _is_pythons(value):
                return arithmetic.binary(where.r, "bitwise_and", value, mask)
            where.here = e
            operands = (value, given) if whole is e.left else (given, value)
            return where.operation("bitwise_and" if isinstance(e.op, ast.BitAnd) else "remainder", *operands)
    return None


def _is_pythons(value: Any) -> bool:
    return is_number(value) and dtype_of(value) == INT and is_python_number(value) is True


def _modular(where: Expressions, e: ast.expr) -> Any:
    """An expression, whose integers are right but for multiples of 2**64."""
    if not isinstance(e, ast.BinOp) or type(e.op) not in _OPERATIONS:
        value = where.operand(e)
        return (value + (1 << _WORD)) % (1 << 64) - (1 << _WORD) if type(value) is int else value
    x, y = where._in_turn([e.left, e.right], lambda part: _modular(where, part))
    name = _OPERATIONS[type(e.op)]
    if name == "left_shift" and type(y) is int and 0 <= y < _WORD:
        name, y = "multiply", 1 << y
    may_wrap = all(map(_is_pythons, (x, y))) and not (is_static(x) and is_static(y))
    if name in ("add", "subtract", "multiply") and may_wrap:
        return _wrapped(where, name, scalars.poly_of(where.r, x), scalars.poly_of(where.r, y))
    where.here = e
    return where.operation(name, x, y)


def _wrapped(where: Expressions, name: str, x: Poly, y: Poly) -> Scalar | int:
    r = where.r
    exact = {"add": x + y, "subtract": x - y, "multiply": x * y}[name]
    low, high = r.facts.interval(exact)
    if low >= -(1 << _WORD) and high < 1 << _WORD:
        return integer(exact)
    made = r.compute(name, [r.integer(x), r.integer(y)], INT)
    return integer(r.bounded(made, -(1 << _WORD), (1 << _WORD) - 1))
