"""Every reduction row against NumPy: axes, dtypes, layouts, sizes, nans, and the arguments that they take."""

import itertools

import numpy as np
import pytest
from compare import check, together
from covering import few
from operands import LINES, ordinary

FUNCTIONS = (
    np.sum, np.prod, np.mean, np.var, np.std, np.min, np.max, np.ptp, np.any, np.all, np.count_nonzero,
    np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmin, np.nanmax,
)  # fmt: skip
INDICES = (np.argmin, np.argmax, np.nanargmin, np.nanargmax)
SCANS = (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
METHODS = ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod")
DTYPES = "?bBhHiIlLefdgFDG"
ROUNDED = {"sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "cumsum", "cumprod"}
AXES = (None, 0, 1, -1, (0, 2), (-1, 0), (0, 1, 2), ())

# Without nans these warn or raise in NumPy itself.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")


def values(char, shape, nans=False):
    x = ordinary(char, int(np.prod(shape)), 5).reshape(shape)
    if np.dtype(char).kind in "iu":
        x = x % 5 + (x % 3 == 0).astype(x.dtype)
    if nans and np.dtype(char).kind in "fc" and x.size:
        x.reshape(-1)[:: max(2, x.size // 3)] = np.nan
    return x


def tolerance(char, count=1):
    """How far from NumPy the folds of `count` elements may be: rounding errors are of the size of the terms."""
    dtype = np.dtype(char)
    eps = float(np.finfo(dtype if dtype.kind in "fc" else float).eps)
    return {"relative": (16 + count / 8) * eps, "ulp": 16, "zeros": False, "least": min(count, 60_000)}


def allowed(function, x, *rest, **kwargs):
    with np.errstate(all="ignore"):
        try:
            function(x, *rest, **kwargs)
        except (TypeError, ValueError):
            return False
    return True


def call(function, **kwargs):
    items = tuple(kwargs.items())
    return lambda x, *rest: function(x, **dict(items))


def call_where(function, **kwargs):
    items = tuple(kwargs.items())
    return lambda x, mask: function(x, where=mask, **dict(items))


@pytest.mark.parametrize(
    "case",
    few(
        [
            *itertools.product("?Blfe", [False]),
            *itertools.product("edF", [True]),
            *itertools.product("bhHiILdFgDG", [False]),
            *itertools.product("fgDG", [True]),
        ],
        8,
    ),
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def test_axes(case):
    char, nans = case
    x = values(char, (4, 3, 5), nans)
    cases = {}
    for function in FUNCTIONS:
        for axis in AXES:
            if allowed(function, x, axis=axis):
                cases[f"{function.__name__} {axis}"] = call(function, axis=axis)
        if allowed(function, x, keepdims=True):
            cases[f"{function.__name__} keepdims"] = call(function, axis=1, keepdims=True)
            cases[f"{function.__name__} all keepdims"] = call(function, keepdims=True)
    check(together(cases, silent=True), x, **tolerance(char))


@pytest.mark.parametrize("char", few("?lfFBdbhHiILegDG", 4))
def test_indices_and_scans(char):
    x = values(char, (4, 5))
    y = values(char, (4, 5), nans=True)
    cases = {}
    for function in (*INDICES, *SCANS):
        for axis in (None, 0, 1, -1):
            if allowed(function, y, axis=axis):
                cases[f"{function.__name__} {axis}"] = pair(function, axis)
    check(together(cases, silent=True), x, y, **tolerance(char))
    cases = {f.__name__: call(f, axis=1, keepdims=True) for f in INDICES if allowed(f, x, axis=1)}
    check(together(cases, silent=True), x)
    cases = {f.__name__: call(f, axis=0, dtype=np.dtype(complex)) for f in SCANS}
    check(together(cases, silent=True), x, **tolerance("D"))


def pair(function, axis):
    return lambda x, y: (function(x, axis=axis), function(y, axis), function(x[::-1, ::2].T, axis))


@pytest.mark.parametrize("char", few("?ldfDbBiLF", 5))
def test_arguments(char):
    """dtype, initial, where, ddof."""
    x = values(char, (6, 7))
    mask = ordinary("?", 42, 9).reshape(6, 7)
    mask[:, 0] = True
    cases, masked = {}, {}
    for function in FUNCTIONS:
        name = function.__name__
        for dtype in map(np.dtype, "fdlF"):
            if allowed(function, x, axis=0, dtype=dtype):
                cases[f"{name} {dtype}"] = call(function, axis=0, dtype=dtype)
        for initial in (3, 0):
            if allowed(function, x, initial=initial):
                cases[f"{name} {initial}"] = call(function, axis=1, initial=initial)
            if allowed(function, x, where=mask, initial=initial):
                masked[f"{name} {initial}"] = call_where(function, axis=0, initial=initial)
        for ddof in (1, 2.5, 7):
            if allowed(function, x, ddof=ddof):
                cases[f"{name} ddof {ddof}"] = call(function, axis=1, ddof=ddof)
        if allowed(function, x, where=mask):
            masked[name] = call_where(function, axis=1)
            masked[f"{name} all"] = call_where(function, keepdims=True)
    check(together(cases, silent=True), x, **tolerance("f" if char != "F" else char))
    check(together(masked), x, mask, **tolerance(char))
    if char != "?":
        check(together({k: f for k, f in masked.items() if "all" not in k}), x, mask[:, :1], **tolerance(char))


@pytest.mark.parametrize("size", [0, 1, 9, 300])
def test_sum_from_negative_zero(size):
    """NumPy's sum of negative zeros is 0.0 unless it starts from another one."""
    x = -np.zeros((2, size))
    check(lambda x: (x.sum(), x.sum(initial=-0.0), np.sum(x, axis=1, initial=-0.0), x.mean(axis=0)), x)


@pytest.mark.parametrize("char", few("?lfFBdbhHiILegDG", 4))
def test_methods(char):
    x = values(char, (3, 8))
    cases = {}
    for name in METHODS:
        if allowed(getattr(np, name), x, axis=0):
            cases[name] = methods(name)
    check(together(cases, silent=True), x, **tolerance(char))


def methods(name):
    calls = (f"x.{name}()", f"x.{name}(0)", f"x.{name}(axis=1)", f"x[:, ::-2].T.{name}(1)")
    return eval(f"lambda x: ({', '.join(calls)})")


@pytest.mark.wide
@pytest.mark.parametrize(
    ("size", "char"),
    [
        *itertools.product([0, 1, 2, 15, 17, 511, 513, 1025], "dfil?D"),
        *itertools.product([32769, 40001], "df?"),
    ],
)
def test_sizes(size, char):
    """Around the blocks of pairwise sums and of folds in two stages, in every layout."""
    cases, args = {}, []
    for layout, make in LINES.items():
        x = make(ordinary(char, size))
        if char in "il":
            x = make(x % 2 + 1)
        args.append(x)
        for function in FUNCTIONS:
            if allowed(function, x):
                cases[f"{function.__name__} {layout}"] = one_of(function, len(args) - 1)
    check(together(cases, silent=True), *args, **tolerance(char, size))


def one_of(function, k):
    return lambda *a: function(a[k])


SHAPES = [(0, 3), (3, 0), (0, 0), (2, 0, 3), (1, 1), (1, 40), (600, 2), (3, 600), (250, 170)]


@pytest.mark.wide
@pytest.mark.parametrize(("shape", "char"), [*itertools.product(SHAPES, "dlf"), ((2, 3, 7000), "d")])
def test_shapes(shape, char):
    x = values(char, shape)
    cases = {}
    for function in FUNCTIONS:
        for axis in (*range(len(shape)), None, tuple(range(len(shape)))[::-2]):
            if allowed(function, x, axis=axis):
                cases[f"{function.__name__} {axis}"] = both_orders(function, axis)
    check(together(cases, silent=True), x, np.asfortranarray(x), **tolerance(char, x.size))


def both_orders(function, axis):
    return lambda x, y: (function(x, axis=axis), function(y, axis=axis), function(x[::-1], axis=axis))


def test_extremes_with_nan_anywhere():
    """A nan at any place wins minimum and maximum, and none is seen by their nan-forms."""
    functions = (np.max, np.min, np.nanmax, np.nanmin, np.ptp, np.argmax, np.nanargmin)
    for char in "fd":
        for size in (1, 2, 7, 33, 70):
            x = np.stack([ordinary(char, size + 1)] * (size + 1))
            np.fill_diagonal(x, np.nan)
            check(together({f.__name__: call(f, axis=1) for f in functions}), x)
            check(together({f.__name__: call(f, axis=0) for f in functions}), x)
            for k in range(0, size, 5):
                check(together({f.__name__: call(f) for f in functions[:5]}), x[k])


def test_infinities():
    x = np.array([[np.inf, 1, 2], [-np.inf, 3, np.inf], [0, -0.0, np.nan], [-0.0, -0.0, -0.0]])
    cases = {f"{f.__name__} {axis}": call(f, axis=axis) for f in FUNCTIONS for axis in (0, 1, None)}
    check(together(cases, silent=True), x, zeros=False)
    check(lambda x: (np.sum(x), np.sum(x, axis=0), np.add.reduce(x)), np.full((3, 2), -0.0), zeros=True)


def test_warnings_are_not_errors():
    """All nan, and nothing at all: NumPy's values."""
    nan = np.full((3, 2), np.nan)
    cases = {f.__name__: call(f, axis=0) for f in FUNCTIONS if f.__name__ not in ("nanmin", "nanmax")}
    check(together(cases, silent=True), nan)
    cases = {f.__name__: call(f, axis=0) for f in FUNCTIONS if allowed(f, nan[:0], axis=0)}
    check(together(cases, silent=True), nan[:0])
