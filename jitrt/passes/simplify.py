"""Folding of constants and exact simplifications, one line of reasoning each."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from .. import config
from ..ir import build as b
from ..ir.build import literal
from ..ir.control import BRANCH
from ..ir.node import Node
from ..ir.ops.optable import CONSTANT, Kind, Op
from ..ir.ops.ufuncs import CUBE, NUMPY_UFUNCS, WHERE
from ..ir.rewrite import Rule, of_kind, rule
from ..ir.strided import depends, same_shape
from ..policy import FOLDED_BYTES
from . import views
from .reassociate import reassociated

_WITHIN_RANGE = (-7, -6, -5, -4, -3, -2, 3, 4, 5, 6, 7)  # powers that no float32 has beyond the range of float64


def _is(n: Node, value: float) -> bool:
    """Whether `n` is the literal `value`, zeros told apart by sign."""
    found = literal(n)
    if found is None or found.dtype.kind not in "iuf":
        return False
    return bool(found == value) and bool(np.signbit(found) == np.signbit(value) if found.dtype.kind == "f" else True)


def _is_folded(op: Op) -> bool:
    foldable = op.kind in (Kind.ELEMENTWISE, Kind.REDUCTION, Kind.VIEW)
    return foldable and op.numpy is not None and op.name != "broadcast_to"


@rule(_is_folded, "operation on constants → constant", "NumPy computes it, in the dtype of the node")
def fold_constants(n: Node) -> Node | None:
    if any(a.op is not CONSTANT for a in n.args) or depends(n.shape) or f"fold_{n.op.name}" in config.rules_off():
        return None
    if n.type.nbytes > max(FOLDED_BYTES, *(a.type.nbytes for a in n.args)):
        return None
    assert n.op.numpy is not None
    try:
        with np.errstate(all="raise"):
            value = np.asarray(n.op.numpy(*(a["value"].value for a in n.args), **n.numpy_kwargs))
    except (FloatingPointError, ValueError):  # of which each call has to tell: NumPy's error state, or what it raises
        return None
    assert value.dtype == n.dtype and value.shape == n.shape, (n, value.dtype, value.shape)
    return b.constant(value[()] if value.ndim == 0 else np.ascontiguousarray(value))


@rule(
    of_kind(Kind.ELEMENTWISE),
    "f(broadcast(c), …) of literals → broadcast(f(c, …))",
    "elementwise: equal elements give equal results",
)
def hoist_broadcast(n: Node) -> Node | None:
    if n.shape == () or any(literal(a) is None for a in n.args):
        return None
    scalars = tuple(b.constant(literal(a)) for a in n.args)
    return b.broadcast_to(Node(n.op, scalars, n.params, b.ArrayType(n.dtype, ())), n.shape)


@rule("broadcast_to", "broadcast of a broadcast → one broadcast", "the same elements")
def merge_broadcasts(n: Node) -> Node | None:
    (x,) = n.args
    if same_shape(x.shape, n.shape):
        return x
    return b.broadcast_to(x.args[0], n.shape) if x.op.name == "broadcast_to" else None


@rule("multiply", "x * 1 → x", "1 is neutral, also for nan, inf and -0.0")
def multiply_by_one(n: Node) -> Node | None:
    x, y = n.args
    return x if _is(y, 1) else y if _is(x, 1) else None


@rule("divide", "x / 2**k → x * 2**-k", "both round the same real number, since 2**-k is representable")
def divide_by_power_of_two(n: Node) -> Node | None:
    x, y = n.args
    value = literal(y)
    if value is None or value.dtype.kind != "f" or n.dtype.kind != "f":  # quotients of time spans are floats, too
        return None
    with np.errstate(all="ignore"):
        mantissa, reciprocal = np.frexp(value)[0], 1 / value
    if abs(mantissa) != 0.5 or not np.isfinite(reciprocal) or abs(reciprocal) < np.finfo(n.dtype).tiny:
        return None
    if value == 1:
        return x
    return b.elementwise_like(n, np.multiply, x, b.broadcast_to(b.constant(n.dtype.type(reciprocal)), n.shape))


@rule("add multiply", "a + x → x + a, a a literal", "sums and products of real numbers are those of either order")
def literal_last(n: Node) -> Node | None:
    x, y = n.args
    if n.dtype.kind == "c":  # of their products, the one that is rounded before it is added depends on the order
        return None
    return Node(n.op, (y, x), n.params, n.type) if literal(x) is not None and literal(y) is None else None


@rule("add subtract multiply", "(x + a) + (y - b) → (x + y) + (a - b)", "integers wrap alike, whatever comes first")
def reassociate(n: Node) -> Node | None:
    return reassociated(n) if n.dtype.kind in "iu" and n.shape != () else None  # scalars warn where they overflow


@rule("subtract", "x - 0 → x", "x - (+0.0) is x, also for -0.0")
def subtract_zero(n: Node) -> Node | None:
    return n.args[0] if _is(n.args[1], 0.0) else None


@rule("add", "x + 0 → x", "for integers, and for -0.0, which is neutral; x + 0.0 is not x for -0.0")
def add_zero(n: Node) -> Node | None:
    zero = -0.0 if n.dtype.kind == "f" else 0
    x, y = n.args
    return x if _is(y, zero) else y if _is(x, zero) else None


@rule("power", "x ** 1 → x, x ** 2 → x * x", "NumPy's own fast paths; both correctly rounded")
def small_power(n: Node) -> Node | None:
    x, y = n.args
    if _is(y, 1):
        return x
    return b.elementwise_like(n, np.multiply, x, x) if _is(y, 2) else None


@rule("power", "x ** -1 → 1 / x", "NumPy's own fast path; the quotient is correctly rounded")
def inverse_power(n: Node) -> Node | None:
    if n.dtype.kind != "f" or not _is(n.args[1], -1):
        return None
    return b.elementwise_like(n, np.divide, b.broadcast_to(b.constant(n.dtype.type(1)), n.shape), n.args[0])


@rule("power", "x ** 0.5 → sqrt(x)", "NumPy's own fast path: -inf and -0.0 tell it from the power")
def root_as_power(n: Node) -> Node | None:
    return b.elementwise_like(n, np.sqrt, n.args[0]) if n.dtype.kind == "f" and _is(n.args[1], 0.5) else None


@rule("power", "x ** y, one y → its root where y is 0.5", "as above; of kernels the power of an array of exponents")
def power_by_number(n: Node) -> Node | None:
    """The condition is one of each element: a choice between loops would keep other operations out of them."""
    x, y = n.args
    single = y.args[0] if y.op.name == "broadcast_to" else y
    if n.dtype != np.float64 or single.type.size != 1 or literal(single) is not None:
        return None
    half, one = (b.broadcast_to(b.constant(np.float64(number)), n.shape) for number in (0.5, 1.0))
    is_half = Node(NUMPY_UFUNCS[np.equal], (y, half), (), b.ArrayType(np.dtype(bool), n.shape))
    root = b.elementwise_like(n, np.sqrt, Node(WHERE, (is_half, x, one), (), n.type))
    return Node(WHERE, (is_half, root, b.elementwise_like(n, np.float_power, x, y)), (), n.type)


@rule("power", "x ** 3 → x * x * x, or one correctly rounded step", "integers wrap alike; floats keep pow's accuracy")
def third_power(n: Node) -> Node | None:
    x, y = n.args
    if not _is(y, 3) or (n.dtype.kind not in "iu" and n.dtype != np.float64):
        return None
    if n.dtype.kind == "f":
        return Node(CUBE, (x,), (), n.type)
    return b.elementwise_like(n, np.multiply, b.elementwise_like(n, np.multiply, x, x), x)


@rule("power", "x ** n → product of float64, x of float32", "an error of 2**-50 before the result is rounded, once")
def narrow_power(n: Node) -> Node | None:
    if n.dtype != np.float32 or not any(_is(n.args[1], k) for k in _WITHIN_RANGE):
        return None
    exponent = int(literal(n.args[1]))
    square = b.cast(n.args[0], np.dtype(np.float64))
    factors = []
    for bit in reversed(f"{abs(exponent):b}"):
        factors += [square] if bit == "1" else []
        square = b.elementwise(np.multiply, square, square)
    product = reduce(partial(b.elementwise, np.multiply), factors)
    if exponent < 0:
        product = b.elementwise(np.divide, b.broadcast_to(b.constant(np.float64(1)), n.shape), product)
    return b.cast(product, n.dtype)


@rule("positive conjugate", "+x, conj(x) → x", "identity on real numbers")
def drop_identity(n: Node) -> Node | None:
    return n.args[0] if n.op.name == "positive" or n.dtype.kind != "c" else None


@rule("square", "square(x) → x * x", "the definition of NumPy's loop")
def square_as_product(n: Node) -> Node | None:
    return b.elementwise_like(n, np.multiply, n.args[0], n.args[0]) if n.dtype.kind in "iuf" else None


@rule("negative logical_not invert", "f(f(x)) → x", "involutions")
def drop_involution(n: Node) -> Node | None:
    (x,) = n.args
    return x.args[0] if x.op is n.op and x.args[0].dtype == n.dtype else None


@rule("where", "where(c, x, x) → x; a constant condition → its branch", "selection")
def decided_where(n: Node) -> Node | None:
    condition, x, y = n.args
    value = literal(condition)
    if value is not None:
        return x if value else y
    return x if x is y else None


@rule("result", "result of a choice by a constant → that of its branch", "the other one is not computed")
def decided_branch(n: Node) -> Node | None:
    (choice,) = n.args
    value = literal(choice.args[0]) if choice.op is BRANCH else None
    if value is None:
        return None
    chosen = choice["branch"].then if value else choice["branch"].otherwise
    made = dict(zip(chosen.inputs, choice.args[1:]))
    for node in chosen.nodes():
        if node not in made:
            made[node] = Node(node.op, tuple([made[a] for a in node.args]), node.params, node.type)
    return made[chosen.outputs[n["path"][0]]]


RULES: tuple[Rule, ...] = (
    fold_constants,
    hoist_broadcast,
    merge_broadcasts,
    literal_last,
    reassociate,
    multiply_by_one,
    divide_by_power_of_two,
    subtract_zero,
    add_zero,
    small_power,
    inverse_power,
    root_as_power,
    power_by_number,
    third_power,
    narrow_power,
    drop_identity,
    square_as_product,
    drop_involution,
    decided_where,
    decided_branch,
    *views.RULES,
)
