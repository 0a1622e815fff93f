"""Arithmetic as if floating-point numbers were real ones, where the user has switched that on.

    t0 = add (add x0 1.5) 2.0   →   t0 = add x0 3.5
    t0 = multiply x0 x1         →   t0 = relaxed_multiply x0 x1

Rules find formulas that have a function of their own, and literals that meet. What is left of additions, products and
quotients becomes the `relaxed` operations, which the code generator may rearrange.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.frozen import replaced
from ..ir import build as b
from ..ir.build import literal
from ..ir.loops import Compute, Procedure, Statement, with_blocks
from ..ir.node import Node
from ..ir.ops.optable import OPS, Kind
from ..ir.ops.relaxed import relaxed as relaxed_op
from ..ir.ops.ufuncs import NUMPY_UFUNCS
from ..ir.rewrite import Rule, of_kind, rule
from .reassociate import reassociated

_LARGEST_POWER = 16
_NOT_NEGATIVE = frozenset({"absolute", "exp", "hypot", "sqrt"})


def _is(n: Node, ufunc: np.ufunc) -> bool:
    return n.op is NUMPY_UFUNCS[ufunc] and n.dtype.kind == "f"


@rule("add subtract multiply", "(x + a) + (y - b) → (x + y) + (a - b)", "")
def reassociate_floats(n: Node) -> Node | None:
    return reassociated(n) if n.dtype.char in "fd" else None


@rule("subtract", "x - a → x + (-a), a a literal", "")
def add_negative(n: Node) -> Node | None:
    value = literal(n.args[1]) if n.dtype.char in "fd" else None
    if value is None:
        return None
    return b.elementwise_like(n, np.add, n.args[0], b.broadcast_to(b.constant(-value), n.shape))


@rule("divide", "x / a → x * (1 / a), a a literal", "")
def multiply_by_reciprocal(n: Node) -> Node | None:
    value = literal(n.args[1]) if n.dtype.char in "fd" else None
    if value is None:
        return None
    with np.errstate(all="ignore"):
        reciprocal = 1 / value
    if not np.finfo(n.dtype).tiny <= abs(reciprocal) < np.inf:
        return None
    return b.elementwise_like(n, np.multiply, n.args[0], b.broadcast_to(b.constant(n.dtype.type(reciprocal)), n.shape))


@rule("log", "log(1 + x) → log1p(x), log(exp(x) + exp(y)) → logaddexp(x, y)", "")
def log_of_sum(n: Node) -> Node | None:
    (total,) = n.args
    if not _is(total, np.add):
        return None
    x, y = total.args
    for one, other in ((x, y), (y, x)):
        if literal(one) == 1:
            return b.elementwise_like(n, np.log1p, other)
    return b.elementwise_like(n, np.logaddexp, x.args[0], y.args[0]) if _is(x, np.exp) and _is(y, np.exp) else None


@rule("add", "exp(x) - 1 → expm1(x)", "")
def exp_minus_one(n: Node) -> Node | None:
    x, y = n.args
    return b.elementwise_like(n, np.expm1, x.args[0]) if _is(x, np.exp) and literal(y) == -1 else None


@rule("sqrt", "sqrt(x * x) → |x|", "")
def root_of_square(n: Node) -> Node | None:
    (x,) = n.args
    return b.elementwise_like(n, np.absolute, x.args[0]) if _is(x, np.multiply) and x.args[0] is x.args[1] else None


@rule("multiply", "m * sqrt(1 + (n / m) * (n / m)) → hypot(m, n), m an absolute value, a root, or exp", "")
def hypot_of_scaled(n: Node) -> Node | None:
    for m, root in (n.args, n.args[::-1]):
        if not (
            _is(root, np.sqrt) and _is(root.args[0], np.add) and m.op.name in _NOT_NEGATIVE and m.dtype.kind == "f"
        ):
            continue
        square, one = root.args[0].args
        if literal(one) == 1 and _is(square, np.multiply) and square.args[0] is square.args[1]:
            quotient = square.args[0]
            if _is(quotient, np.divide) and quotient.args[1] is m and quotient.type == m.type:
                return b.elementwise_like(n, np.hypot, m, quotient.args[0])
    return None


@rule("power", "x ** n → product, n a small integer", "")
def power_as_product(n: Node) -> Node | None:
    value = literal(n.args[1]) if n.dtype.char in "fd" else None
    if value is None or value != int(value if abs(value) <= _LARGEST_POWER else 0) or value == 0:
        return None
    square, product = n.args[0], None
    for bit in reversed(f"{abs(int(value)):b}"):
        if bit == "1":
            product = square if product is None else b.elementwise_like(n, np.multiply, product, square)
        square = b.elementwise_like(n, np.multiply, square, square)
    assert product is not None
    one = b.broadcast_to(b.constant(n.dtype.type(1)), n.shape)
    return product if value > 0 else b.elementwise_like(n, np.divide, one, product)


RULES: tuple[Rule, ...] = (
    reassociate_floats,
    add_negative,
    multiply_by_reciprocal,
    log_of_sum,
    exp_minus_one,
    root_of_square,
    hypot_of_scaled,
    power_as_product,
)


@rule(of_kind(Kind.ELEMENTWISE), "arithmetic → arithmetic that may be rearranged", "")
def relax(n: Node) -> Node | None:
    op = relaxed_op(n.op, [a.dtype for a in n.args])
    return None if op is None else Node(op, n.args, n.params, n.type)


def relaxed(procedure: Procedure) -> Procedure:
    """The procedure with arithmetic that may be rearranged.

    s2 = add s0 s1   →   s2 = relaxed_add s0 s1
    """
    return replaced(procedure, body=_relaxed(procedure.body))


def _relaxed(body: Sequence[Statement]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for s in body:
        op = relaxed_op(OPS[s.op], (*s.dtypes, s.dtype)) if isinstance(s, Compute) else None
        made.append(with_blocks(s, _relaxed) if op is None else replaced(s, op=op.name))
    return tuple(made)
