"""Python's operators on Python numbers that depend on arguments, and what NumPy makes of integers.

Where kernels compute what Python computes they do, and the trace assumes what has to hold for that: that no divisor is
zero, and that integers stay within 64 bits, or within the dtype of an array beside them. Python itself executes what is
left (`expr.pythonnumbers`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import build as b
from ...ir.build import constant
from ...ir.node import Node
from ...ir.ops.optable import OPS
from ...ir.ops.pythonnumbers import LIBRARY_FUNCTIONS
from ...ir.ops.ufuncs import CAST, COMPARISONS, elementwise_op, loop_dtypes
from ...ir.types import ArrayType
from ..rolling.loopnumber import EXACT

if TYPE_CHECKING:
    from ..state import Trace

# Python evaluates these on two floats, and on integers that do not overflow, exactly as kernels do; powers differ.
_EXACT = frozenset({np.add, np.subtract, np.multiply})
# These too, unless the divisor is zero: NumPy's loops are those of `float.__divmod__`.
_EXACT_BUT_FOR_ZERO = frozenset({np.divide, np.floor_divide, np.remainder})
_BITWISE = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor})
_ARITHMETIC = _EXACT | _EXACT_BUT_FOR_ZERO
# Where the value of the second operand, if it is an integer, may decide what is computed,
EXPONENTS = frozenset({np.power, np.float_power, np.left_shift, np.right_shift, np.ldexp})
# but not for first operands of these kinds.
_ANY_EXPONENT: dict[np.ufunc, str] = {np.float_power: "fiub", np.left_shift: "iu", np.right_shift: "iu"}
_SIMPLE_POWERS = (2, 1, 0, -1)  # which NumPy's operator computes in other ways; negative ones of integers raise
_FLOAT, _INT, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
_MOST_FACTORS = 4  # of a power that is computed as a product
_TINY, _HUGE = (float(v) for v in (np.finfo(_FLOAT).tiny, np.finfo(_FLOAT).max))
_SAFE = float(1 << 62)  # the rounding of floats cannot hide that a larger integer needs more than 64 bits


def operation(trace: Trace, ufunc: np.ufunc, x: Node, y: Node) -> Node | None:
    """The node of a Python operator on two Python numbers, for which NumPy has `ufunc`; None if it takes Python."""
    if ufunc is np.power:
        return _power(trace, x, y)
    if ufunc in _ARITHMETIC:
        x, y = (_as(n, _INT) if n.dtype.kind == "b" else n for n in (x, y))
    kinds = {x.dtype.kind, y.dtype.kind}
    if kinds == {"f"} or (kinds == {"f", "i"} and ufunc in _ARITHMETIC):
        return _of_floats(trace, ufunc, as_float(x), as_float(y))
    if kinds == {"i"}:
        return None if _is_long(x) or _is_long(y) else _of_integers(trace, ufunc, x, y)
    if ufunc in COMPARISONS and kinds == {"f", "i"} and all(_is_exact_float(trace, n) for n in (x, y)):
        return _number(ufunc, _BOOL, as_float(x), as_float(y))
    return None


def _is_long(x: Node) -> bool:
    """Whether `x` is a literal of more than 64 bits."""
    return x.op.name == "constant" and not np.iinfo(_INT).min <= x["value"].value <= np.iinfo(_INT).max


def _of_floats(trace: Trace, ufunc: np.ufunc, x: Node, y: Node) -> Node | None:
    is_divided = ufunc in _EXACT_BUT_FOR_ZERO and (y in trace.loops.nonzero or _assume(trace, np.not_equal, y, 0.0))
    if ufunc in _EXACT or is_divided:
        return _number(ufunc, _FLOAT, x, y)
    # Comparisons are exact, too, but give a Python bool, which is not what a kernel's result becomes.
    return _number(ufunc, _BOOL, x, y) if ufunc in COMPARISONS else None


def _of_integers(trace: Trace, ufunc: np.ufunc, x: Node, y: Node) -> Node | None:
    if ufunc in COMPARISONS:
        return _number(ufunc, _BOOL, x, y)
    if ufunc in _BITWISE:
        return _number(ufunc, _INT, x, y)
    if ufunc in _EXACT:
        rounded = _number(ufunc, _FLOAT, as_float(x), as_float(y))
        return _number(ufunc, _INT, x, y) if _is_within(trace, rounded, _SAFE) else None
    if ufunc not in _EXACT_BUT_FOR_ZERO or not _assume(trace, np.not_equal, y, 0):
        return None
    if ufunc is np.divide:  # the quotient of two exact floats is rounded once, as Python's is
        exact = _is_exact_float(trace, x) and _is_exact_float(trace, y)
        return _number(ufunc, _FLOAT, as_float(x), as_float(y)) if exact else None
    return _number(ufunc, _INT, x, y) if _is_within(trace, as_float(x), _SAFE) else None


def _power(trace: Trace, x: Node, y: Node) -> Node | None:
    """Python's power of floats, the C library's unless it raises or is complex; small ones of integers are products."""
    if x.dtype.kind == y.dtype.kind == "i" and y.op.name == "constant" and 1 <= y["value"].value <= _MOST_FACTORS:
        product: Node | None = x
        for _ in range(y["value"].value - 1):
            product = None if product is None else _of_integers(trace, np.multiply, product, x)
        return product
    if "f" not in (x.dtype.kind, y.dtype.kind) or not {x.dtype.kind, y.dtype.kind} <= {"f", "i"}:
        return None
    x, y = as_float(x), as_float(y)
    is_whole = y.op.name == "constant" and y["value"].value.is_integer()
    return library_call(trace, operator.pow, x, y) if is_whole or _assume(trace, np.greater, x, 0.0) else None


def library_call(trace: Trace, function: Callable[..., Any], *args: Node) -> Node | None:
    """A function of the C library of floats; None where Python might raise."""
    op = LIBRARY_FUNCTIONS.get(function)
    of_two = function in (operator.pow, math.atan2)
    if op is None or len(args) != 1 + of_two or trace.loops.changes(*args):
        return None
    floats = tuple(as_float(a) for a in args)
    result = Node(op, floats, (), ArrayType(_FLOAT, (), weak=True))
    size = _number(np.absolute, _FLOAT, result)
    # A result that underflows in part is an error to Python, depending on the C library.
    zero, normal = (b.elementwise(c, size, constant(v)) for c, v in ((np.equal, 0.0), (np.greater_equal, _TINY)))
    is_fine = b.elementwise(np.logical_or, zero, normal)
    return result if _assume(trace, np.less_equal, size, _HUGE) and trace.assume(is_fine) else None


def unary(trace: Trace, ufunc: np.ufunc, x: Node) -> Node | None:
    """The node of Python's ``-x``, ``+x``, ``~x`` or ``abs(x)``; None if it takes Python."""
    if x.dtype.kind == "b":
        x = _as(x, _INT)
    if x.dtype.kind == "i" and ufunc in (np.negative, np.absolute) and not _is_within(trace, as_float(x), _SAFE):
        return None
    dtype = _FLOAT if x.dtype.kind == "c" and ufunc is np.absolute else x.dtype
    return None if x.dtype.kind in "fc" and ufunc is np.invert else _number(ufunc, dtype, x)


def _number(ufunc: np.ufunc, dtype: np.dtype, *args: Node) -> Node:
    """The node of a Python number."""
    return Node(elementwise_op(ufunc), args, (), ArrayType(dtype, (), weak=True))


def part(name: str, x: Node) -> Node:
    """The node of Python's ``x.real``, ``x.imag`` or ``x.conjugate()``."""
    if name == "conjugate" and x.dtype.kind == "c":
        return _number(np.conjugate, x.dtype, x)
    if x.dtype.kind != "c" and name == "imag":
        return constant(0.0 if x.dtype.kind == "f" else 0)
    if x.dtype.kind != "c":
        return _as(x, _INT) if x.dtype.kind == "b" else x
    return Node(OPS[name], (x,), (), ArrayType(_FLOAT, (), weak=True))


def as_python_float(x: Node) -> Node:
    """A float64 scalar of NumPy's as a float of Python's."""
    return _as(x, _FLOAT)


def _as(x: Node, dtype: np.dtype) -> Node:
    return Node(CAST, (x,), b.params(dtype=dtype), ArrayType(dtype, (), weak=True))


def as_float(x: Node) -> Node:
    """The Python float of a Python number, rounded as Python rounds it."""
    if x.dtype.kind == "f":
        return x
    return constant(float(x["value"].value)) if x.op.name == "constant" else _as(x, _FLOAT)


def _is_exact_float(trace: Trace, x: Node) -> bool:
    if x.dtype.kind != "f" and x.op.name == "constant":  # which may be too large for a float
        return abs(int(x["value"].value)) < EXACT
    return x.dtype.kind == "f" or _is_within(trace, as_float(x), float(EXACT - 1))


def _is_within(trace: Trace, x: Node, limit: float) -> bool:
    """Let the trace hold for calls in which the float `x` is from ``-limit`` to `limit`."""
    return _assume(trace, np.less_equal, _number(np.absolute, _FLOAT, x), limit)


def _assume(trace: Trace, comparison: np.ufunc, x: Node, limit: Any) -> bool:
    """Let the trace hold for calls in which ``comparison(x, limit)`` is true; False if it is not now, or unknown."""
    return not trace.loops.changes(x) and trace.assume(b.elementwise(comparison, x, constant(limit)))


def is_symbol(node: Node) -> bool:
    """Whether a node is a Python integer that is no literal."""
    return node.type.weak and node.dtype.kind == "i" and node.op.name != "constant"


def fits(trace: Trace, node: Node, dtype: np.dtype) -> bool:
    """Let the trace hold for calls in which NumPy can store the Python integer `node` as a `dtype`."""
    if dtype.kind not in "iu" or dtype == _INT:
        return True
    low, high = np.iinfo(dtype).min, min(np.iinfo(dtype).max, np.iinfo(_INT).max)
    return _assume(trace, np.greater_equal, node, low) and _assume(trace, np.less_equal, node, high)


def fits_scalar(trace: Trace, node: Node, dtype: np.dtype) -> bool:
    """The same for a Python float, and for a NumPy scalar that becomes an element of a signed integer type.

    They are stored by way of Python's integers.
    """
    is_python_float = node.type.weak and node.dtype.kind == "f"
    if dtype.kind not in "iu" or (
        not is_python_float
        and (dtype.kind != "i" or node.type.weak or node.dtype.kind not in "iuf" or np.can_cast(node.dtype, dtype))
    ):
        return True
    info = np.iinfo(dtype)
    if node.dtype.kind == "f":  # is cut off; what is compared with has to be a float itself
        exact = b.cast(node, _FLOAT)
        is_fine = info.bits < 53 or info.min == 0
        above = (np.greater, info.min - 1.0) if is_fine else (np.greater_equal, float(info.min))
        return _assume(trace, above[0], exact, above[1]) and _assume(trace, np.less, exact, info.max + 1.0)
    if node.dtype.kind == "i" and not _assume(trace, np.greater_equal, node, int(info.min)):
        return False
    return _assume(trace, np.less_equal, node, int(info.max))


def stored(trace: Trace, node: Node, dtype: np.dtype) -> Node:
    """A number that is stored in an array of `dtype`: Python integers become floats by way of Python's."""
    if not is_symbol(node):
        return node
    if dtype.kind in "fc":
        return as_float(node)
    if not fits(trace, node, dtype):
        trace.want_integers(node)
    return node


def operands(trace: Trace, ufunc: np.ufunc, nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The operands of a ufunc, with Python integers such as kernels take them; None if one does not fit its dtype."""
    symbols = [n for n in nodes if n.type.weak and is_symbol(n)]
    if not symbols:
        return nodes
    if ufunc in EXPONENTS and nodes[1] in symbols:
        nodes = (nodes[0], _exponent(trace, ufunc, *nodes))
        symbols = [n for n in nodes if n.type.weak and is_symbol(n)]
    others = [n.dtype for n in nodes if not n.type.weak]
    if not all(fits(trace, node, dtype) for node in symbols for dtype in others):
        return None
    dtypes = loop_dtypes(ufunc, tuple(n.type for n in nodes))
    if not all(t.kind in "fc" for n, t in zip(nodes, dtypes) if is_symbol(n)):
        return nodes
    floats = tuple(as_float(n) if is_symbol(n) else n for n in nodes)
    return floats if loop_dtypes(ufunc, tuple(n.type for n in floats)) == dtypes else nodes


def _exponent(trace: Trace, ufunc: np.ufunc, x: Node, y: Node) -> Node:
    """The integer `y` as an exponent of the array `x`: itself where all further calls have no simple power of it.

    x0**n  →  square x0              where n == 2
           →  power x0 (cast n:f8)   where n > 2
    """
    if x.dtype.kind in _ANY_EXPONENT.get(ufunc, ""):
        return y
    if ufunc is np.power and x.dtype.kind in "fiu":
        if _assume(trace, np.greater, y, max(_SIMPLE_POWERS)):
            return y
        if x.dtype.kind == "f" and _assume(trace, np.less, y, min(_SIMPLE_POWERS)):
            return y
        for simple in _SIMPLE_POWERS:
            if _assume(trace, np.equal, y, simple):
                return constant(simple)
    trace.want_integers(y)
    return y


OVERFLOWING = frozenset({np.add, np.subtract, np.multiply, np.negative, np.absolute})
_BELOW = 1 - 2.0**-50  # the rounding of floats cannot hide an overflow beyond that part of a limit
_OVERFLOWS = np.float64(2.0**1023)


def note_overflow(trace: Trace, ufunc: np.ufunc, result: Node, *operands: Node) -> None:
    """Record what raises an overflow where `ufunc` of these scalars, whose `result` is an integer, is too large.

    The operators of NumPy's integer scalars report that, and the loops over arrays know nothing of it.

    x0[0] + x0[1]  →  (add t0 t1), and beside it, read by nothing, a float that overflows where the sum does
    """
    dtype = result.dtype
    if dtype.kind == "u" and ufunc is np.absolute:
        return
    condition = _is_too_large(ufunc, dtype, *[b.cast(n, dtype) for n in operands])
    huge = b.elementwise(np.multiply, b.cast(condition, _FLOAT), b.constant(_OVERFLOWS))
    trace.effects.operation(b.elementwise(np.add, huge, huge))


def _is_too_large(ufunc: np.ufunc, dtype: np.dtype, x: Node, y: Node | None = None) -> Node:
    """Whether the result is none of `dtype`; if it has 64 bits, also for a few that are."""
    limits = np.iinfo(dtype)
    if y is None:
        unequal = dtype.kind == "u"
        return b.elementwise(np.not_equal if unequal else np.equal, x, b.constant(dtype.type(limits.min)))
    if ufunc is np.subtract and dtype.kind == "u":
        return b.elementwise(np.less, x, y)
    wide, scale = (_FLOAT, _BELOW) if dtype.itemsize == 8 else (_INT, 1)
    low, high = (b.constant(wide.type(limit * scale)) for limit in (limits.min, limits.max))
    exact = b.elementwise(ufunc, b.cast(x, wide), b.cast(y, wide))
    return b.elementwise(np.logical_or, b.elementwise(np.less, exact, low), b.elementwise(np.greater, exact, high))
