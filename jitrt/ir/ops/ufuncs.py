"""Rows of the elementwise operations: NumPy's ufuncs, casts and `where`."""

from __future__ import annotations

import operator
import sys
from functools import lru_cache

import numpy as np
from numpy._core.umath import clip as clip_ufunc  # type: ignore[attr-defined]

from ...base.frozen import replaced
from ..node import Node
from ..types import ArrayType, canonical
from .optable import SPECIAL, Kind, NotCovered, Op, row
from .ranges import RANGES

# Costs are rounded from measured times of vectorised loops, an addition being 1.
_COSTS = {
    **dict.fromkeys(["divide", "floor_divide", "remainder", "fmod", "sqrt", "reciprocal"], 6),
    **dict.fromkeys(
        [
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "sinh",
            "cosh",
            "tanh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "cbrt",
            "hypot",
            "arctan2",
            "logaddexp",
            "logaddexp2",
            "power",
            "float_power",
            "gcd",
            "lcm",
        ],
        16,
    ),
}

# Functions that NumPy 2 has no vector loop for on any processor, or none for float64.
_NUMPY_COSTS = {
    **dict.fromkeys(["sin", "cos", "hypot", "power", "remainder", "floor_divide", "gcd", "lcm"], 100),
    **dict.fromkeys(["float_power", "fmod", "nextafter"], 80),
    **dict.fromkeys(["logaddexp", "logaddexp2"], 250),
    **dict.fromkeys(["fabs", "deg2rad", "rad2deg", "degrees", "radians", "heaviside"], 25),
}

_SIMPLE_NUMBERS = {"power": (-1.0, 0.0, 0.5, 1.0, 2.0)}

# What NumPy's loops of floats report, found by running them at special values; underflow depends on the C library.
_FLAGS = {
    **dict.fromkeys(["divide", "power", "float_power"], {"divide", "over", "under", "invalid"}),
    **dict.fromkeys(["floor_divide", "remainder", "fmod"], {"divide", "over", "under", "invalid"}),
    **dict.fromkeys(["add", "subtract", "multiply"], {"over", "under", "invalid"}),
    **dict.fromkeys(["logaddexp", "logaddexp2", "ldexp"], {"over", "under", "invalid"}),
    **dict.fromkeys(["log", "log2", "log10", "log1p", "arctanh"], {"divide", "under", "invalid"}),
    **dict.fromkeys(["sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arccosh"], {"under", "invalid"}),
    **dict.fromkeys(["square", "exp", "exp2", "expm1", "sinh", "cosh", "hypot", "nextafter"], {"over", "under"}),
    **dict.fromkeys(["degrees", "rad2deg", "sign", "absolute"], {"over", "under"}),
    "spacing": {"over", "under", "invalid"},  # of halves
    **dict.fromkeys(["arctan2", "arctan", "tanh", "arcsinh", "deg2rad", "radians", "cbrt"], {"under"}),
    "reciprocal": {"divide", "over", "under"},
}
# What those of complex numbers report beside that: they multiply and divide the parts of their operands.
_COMPLEX_FLAGS = {
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal", "maximum", "minimum"], {"invalid"}),
    **dict.fromkeys(["square", "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "arcsinh", "reciprocal"], {"invalid"}),
    **dict.fromkeys(["sin", "cos"], {"over"}),
    **dict.fromkeys(["arctan", "log", "log2", "log10", "log1p"], {"divide", "over", "invalid"}),
}
# Where one operand is a finite number other than zero: infinity times it, or plus it, is no invalid operation.
_FLAGS_BESIDE_A_NUMBER = {
    **dict.fromkeys(["add", "subtract", "multiply"], {"over", "under"}),
    "divide": {"divide", "over", "under"},
}
_INTEGER_FLAGS = {
    "floor_divide": {"divide", "over"},
    **dict.fromkeys(["remainder", "fmod"], {"divide"}),
    "reciprocal": {"divide", "invalid"},
}

# NumPy's single-precision pow is one ulp off the correctly rounded result in a fifth of all cases. Programs that go on
# in double precision would show the difference to a better pow. What numba has for complex numbers cancels.
_NUMPYS_BITS = {"power": "efFD", "expm1": "FD"}

COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})

# Steps. What gives truth values jumps, too, but for these three.
_JUMPS = frozenset("floor ceil rint trunc floor_divide remainder fmod sign heaviside nextafter spacing".split())
_SMOOTH = frozenset(["isnan", "isfinite", "isinf"])

CAST = row(
    Op(
        "cast",
        Kind.ELEMENTWISE,
        numpy=lambda x, dtype: np.asarray(x).astype(dtype),
        flags=frozenset({"over", "under", "invalid"}),
        range=RANGES["cast"],
    )
)
# In C's order as a kernel stores it: `Trace.laid_out` copies what is turned so that the memory has another order.
COPY = row(
    Op(
        "copy",
        Kind.ELEMENTWISE,
        numpy=lambda x, number: np.array(x, order="C"),
        view_like=True,
        range=RANGES["copy"],
    )
)
CUBE = row(Op("cube", Kind.ELEMENTWISE, numpy=lambda x: x**3, cost=4, flags=frozenset({"over", "under", "invalid"})))
ANGLE = row(Op("angle", Kind.ELEMENTWISE, numpy=np.angle, cost=16, flags=frozenset({"under"})))
# One, for whatever has been computed: kernels compute it though no value depends on it.
COMPUTED = row(Op("computed", Kind.ELEMENTWISE, numpy=lambda x: np.ones(np.shape(x), np.intp)))
# NumPy needs 0.7 ns an element where the condition seldom changes, and 4 ns where it is any.
WHERE = row(Op("where", Kind.ELEMENTWISE, numpy=np.where, view_like=True, range=RANGES["where"], numpy_cost=12))


def _lower_clip(n: Node) -> Node:
    """``minimum(maximum(x, low), high)``: how NumPy's ``_NPY_CLIP`` computes it, nans included.

    Of equal numbers the second one is taken: the bound where bounds are arrays, and `x` in NumPy's loop for bounds of
    one element. Of those of half precision it is the first one, `x`, in both. NumPy computes it itself of complex
    numbers, which it orders in another way here than in ``maximum``, and of floats that no kernel computes with.
    """
    if n.dtype.kind == "c" or n.dtype.char == "g":
        return n
    x, low, high = n.args
    is_steady = n.dtype.char != "e" and all(_is_steady(bound, n.type.size) for bound in (low, high))
    order = -1 if is_steady else 1
    raised = Node(NUMPY_UFUNCS[np.maximum], (x, low)[::order], (), n.type)
    return Node(NUMPY_UFUNCS[np.minimum], (raised, high)[::order], (), n.type)


def _is_steady(bound: Node, size: int) -> bool:
    """Whether a bound is one and the same for all elements, as NumPy tells by its strides."""
    while bound.op.name in ("broadcast_to", "cast"):
        (bound,) = bound.args
    return not bound.shape or (bound.type.size == 1 and size != 1)


CLIP = row(Op("clip", Kind.ELEMENTWISE, numpy=clip_ufunc, ufunc=clip_ufunc, lower=_lower_clip, range=RANGES["clip"]))


def _row_of_numpy_ufunc(ufunc: np.ufunc) -> Op:
    name = ufunc.__name__
    return row(
        Op(
            name,
            Kind.ELEMENTWISE,
            numpy=ufunc,
            ufunc=ufunc,
            cost=_COSTS.get(name, 1),
            numpy_cost=_NUMPY_COSTS.get(name, 0),
            simple_numbers=frozenset(_SIMPLE_NUMBERS.get(name, ())),
            flags=frozenset(_FLAGS.get(name, ())),
            complex_flags=frozenset(_COMPLEX_FLAGS.get(name, ())),
            flags_beside_a_number=frozenset(_FLAGS_BESIDE_A_NUMBER.get(name, _FLAGS.get(name, ()))),
            integer_flags=frozenset(_INTEGER_FLAGS.get(name, ())),
            refuses_negative=name == "power",
            numpys_bits=_NUMPYS_BITS.get(name, ""),
            jumps=name in _JUMPS or (name not in _SMOOTH and any(t[0] == "d" and t[-1] == "?" for t in ufunc.types)),
            range=RANGES.get(name),
        )
    )


def _numpy_ufuncs() -> list[np.ufunc]:
    """NumPy's elementwise ufuncs with one output; the others are opaque calls."""
    every = list(vars(np).values())  # at once: another thread may import a part of NumPy
    found = {value for value in every if isinstance(value, np.ufunc)}
    return sorted((u for u in found if u.nout == 1 and u.signature is None), key=lambda u: u.__name__)


NUMPY_UFUNCS: dict[np.ufunc, Op] = {ufunc: _row_of_numpy_ufunc(ufunc) for ufunc in _numpy_ufuncs()}
NUMPY_UFUNCS[clip_ufunc] = CLIP
SCALAR_MULTIPLY = row(replaced(NUMPY_UFUNCS[np.multiply], name="scalar_multiply", numpy=operator.mul))
OTHER_UFUNCS: dict[np.ufunc, Op] = {}  # those whose rows were made elsewhere


def of_scalars(made: Node) -> Node:
    """A complex product, or square, as NumPy computes that of scalars: it has other bits than that of arrays."""
    return Node(SCALAR_MULTIPLY, (made.args[0], made.args[-1]), made.params, made.type)


@lru_cache(maxsize=256)
def elementwise_op(ufunc: np.ufunc) -> Op:
    """The row of `ufunc`; a ufunc of another library gets a row of its own on first use.

    SciPy's special functions are known by their names, so those that kernels can compute are compiled. Of others
    kernels call the loops of SciPy's own. None reports floating-point exceptions to NumPy.

    Raises
    ------
    NotCovered
        If `ufunc` has several outputs or a core signature.
    """
    known = NUMPY_UFUNCS.get(ufunc) or OTHER_UFUNCS.get(ufunc)
    if known is not None:
        return known
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise NotCovered(f"{ufunc.__name__} is not an elementwise function with one result")
    name, is_special = ufunc.__name__, _is_scipys(ufunc)
    return Op(
        name,
        Kind.ELEMENTWISE,
        numpy=ufunc,
        ufunc=ufunc,
        library=SPECIAL if is_special else "other",
        cost=16 if name in _SPECIAL_FORMULAS or not is_special else 100,
        numpy_cost=100,
        flags=frozenset() if is_special else frozenset({"divide", "over", "under", "invalid"}),
        numpys_bits=("FD" if name in _SPECIAL_FORMULAS else "fdFDl") if is_special else "",
        jumps=True,
    )


# Those for which kernels have formulas, in real numbers.
_SPECIAL_FORMULAS = frozenset("erf erfc expit exp2 expm1 log1p cbrt".split())


def _is_scipys(ufunc: np.ufunc) -> bool:
    special = sys.modules.get("scipy.special")
    return special is not None and getattr(special, ufunc.__name__, None) is ufunc


@lru_cache(maxsize=4096)
def resolved(ufunc: np.ufunc, operands: tuple[np.dtype | type, ...]) -> tuple[np.dtype, ...]:
    """The same as `loop_dtypes` for operands with these promotion keys."""
    if all(isinstance(t, type) for t in operands):  # NumPy gives Python scalars their default dtypes then
        operands = tuple(np.dtype(t) for t in operands)
    return tuple(canonical(t) for t in ufunc.resolve_dtypes((*operands, None)))


def loop_dtypes(ufunc: np.ufunc, operands: tuple[ArrayType, ...]) -> tuple[np.dtype, ...]:
    """Operand dtypes and, last, the result dtype of the loop that NumPy would run (NEP 50).

    Raises
    ------
    TypeError
        If `ufunc` has no loop for these operands.

    Examples
    --------
    >>> f4 = ArrayType(np.dtype(np.float32), (3,))
    >>> python_float = ArrayType(np.dtype(np.float64), (), weak=True)
    >>> loop_dtypes(np.add, (f4, python_float))
    (dtype('float32'), dtype('float32'), dtype('float32'))
    """
    return resolved(ufunc, tuple([t.promotion_key for t in operands]))


@lru_cache(maxsize=4096)
def elementwise_result(ufunc: np.ufunc, operands: tuple[np.dtype | type, ...]) -> tuple[Op, np.dtype]:
    """The row of `ufunc` and the dtype of its result, for operands with these promotion keys.

    Raises
    ------
    NotCovered
        As for `elementwise_op`, and if the loop takes or gives objects, as those of `numpy.frompyfunc`.
    TypeError
        As for `loop_dtypes`.
    """
    op, dtypes = elementwise_op(ufunc), resolved(ufunc, operands)
    if any(t.hasobject for t in dtypes):
        raise NotCovered(f"{ufunc.__name__} of objects")
    return op, dtypes[-1]


def where_dtype(a: ArrayType, b: ArrayType) -> np.dtype:
    """Result dtype of ``np.where(condition, a, b)``."""
    if a.weak and b.weak:
        return np.result_type(a.dtype, b.dtype)
    key = [np.zeros((), t.dtype) if not t.weak else t.dtype.type(0).item() for t in (a, b)]
    return canonical(np.result_type(*key))
