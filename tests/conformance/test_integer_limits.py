"""Integers at the ends of their ranges: arithmetic, folds, numbers beside them, and what is stored into narrow ones."""

import operator

import numpy as np
import pytest
from compare import assert_same, check, together
from covering import few
from test_numpys_arguments import check_outcome, outcome

import jitrt

INTEGERS = "bBhHiIlL"
SIGNED = "bhil"
SOME_INTEGERS = few("lLbHBhiI", 4)
TWO = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
    operator.xor, operator.lt, operator.le, operator.eq, operator.ne, np.maximum, np.minimum, np.divide, np.fmod,
    np.left_shift, np.right_shift, np.hypot,
]  # fmt: skip
ONE = [operator.neg, operator.invert, abs, np.sign, np.square, np.logical_not, np.sqrt, np.positive, np.conjugate]
FOLDS = [np.sum, np.prod, np.max, np.min, np.ptp, np.mean, np.any, np.all, np.argmax, np.argmin, np.cumsum, np.cumprod]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def limits(char):
    """The ends of the range of a dtype, what is next to them, and small numbers."""
    info = np.iinfo(char)
    found = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, 2, 3, 7]
    return np.array(found + [-v for v in (1, 2, 7) if info.min], char)


def of_two(function):
    return lambda x, y: function(x, y)


def of_one(function):
    return lambda x, y: function(x)


@pytest.mark.parametrize("char", INTEGERS)
def test_operations(char):
    x, y = (v.ravel().copy() for v in np.meshgrid(limits(char), limits(char)))
    check(together({f.__name__: of_two(f) for f in TWO}), x, y, ulp=4)
    check(together({f.__name__: of_one(f) for f in ONE}), x, y, ulp=1)


@pytest.mark.parametrize("char", SIGNED)
def test_what_cancels(char):
    """What cancels for numbers without end has to do so for wrapping ones: minus the least one is itself."""
    cases = {
        "negations": lambda x: np.negative(-x),
        "inversions": lambda x: ~~x,
        "cast between": lambda x: -((-x).astype(np.float64)),
        "narrow between": lambda x: -((-x).astype(np.int8)),
        "wide behind": lambda x: np.negative(-x).astype(np.int64) - x,
        "conjunctions": lambda x: np.logical_not(np.logical_not(x)),
        "of a comparison": lambda x: ~~(x > 0),
        "of floats": lambda x: np.logical_not(np.logical_not(x * 0.5)),
        "one": lambda x: x * 1 + 0 - 0,
        "powers": lambda x: (x**1, x**2, x**3, np.square(x)),
        "divided": lambda x: (x / 4, x / 1, x // 4, x // 1, x // -1, x % 1, x % -1),
        "chosen": lambda x: np.where(True, x, x + 1),
    }
    check(together(cases), limits(char))


@pytest.mark.parametrize("char", SOME_INTEGERS)
def test_folds(char):
    x = np.stack(
        [np.resize(limits(char), 40), np.full(40, np.iinfo(char).min, char), np.full(40, np.iinfo(char).max, char)]
    )
    x = np.ascontiguousarray(x, char)
    cases = {f"{f.__name__} {axis}": folded(f, axis) for f in FOLDS for axis in (0, 1, None)}
    check(together(cases), x, relative=1e-13)
    check(lambda x: (x[1:2].max(), x[2:].min(), x[1].max(), x[2].min(), np.maximum.accumulate(x, axis=1)), x)


def folded(function, axis):
    return lambda x: function(x, axis=axis)


@pytest.mark.parametrize("char", SOME_INTEGERS)
def test_numbers(char):
    """Python's integers have to fit; comparisons take all of them."""
    info = np.iinfo(char)
    x = limits(char)
    for number in (info.min - 1, info.min, info.max, info.max + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 0):
        for function in (operator.add, operator.mul, operator.lt, operator.ge, operator.eq, operator.and_, np.minimum):
            check_outcome(lambda x, f=function, n=number: f(x, n), x)
            check_outcome(lambda x, n, f=function: f(x, n), x, number)


@pytest.mark.parametrize("char", SOME_INTEGERS)
def test_stores(char):
    """Arrays that are stored wrap as in C; Python's integers have to fit."""
    wide = np.array([-(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 65535, 255, 256, 128, -129, 0])

    def stored(x, y):
        x = x.copy()
        x[: len(y)] = y
        return x

    target = np.resize(limits(char), 12)
    check(stored, target, wide)
    check(stored, target, wide.astype(np.uint64))
    check(lambda x, y: y.astype(x.dtype), target, wide)
    for number in (np.iinfo(char).min - 1, np.iinfo(char).min, np.iinfo(char).max, np.iinfo(char).max + 1, 2.5, True):
        check_outcome(lambda x, n=number: put(x, n), target)
        check_outcome(put, target, number)


STORED = (0, 300, -1, -129, 127, 2**31, 2**63 - 1, 2.5, -128.9, 127.9, 128.0, 1e30, np.nan, np.uint64(2**63))


@pytest.mark.parametrize("char", SOME_INTEGERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elements_stored(char):
    """NumPy's scalars go into signed integers by way of Python's, which have to fit, and into unsigned ones as in C."""
    compiled = {f: jitrt.jit(f) for f in (put, put_all, put_element, put_in_list)}
    for value in STORED:
        for y in (np.array([1, value]), np.asarray(value)[None]):
            for function, fast in compiled.items():
                for _ in range(2):
                    with np.errstate(all="ignore"):
                        want, got = outcome(function, limits(char), y[-1])[0], outcome(fast, limits(char), y[-1])[0]
                    assert_same(got, want)


def put_all(x, number):
    x = x.copy()
    x[:] = number
    x[x > 3] = number
    return x


def put_in_list(x, number):
    return np.array([number, x[0]], x.dtype)


def put_element(x, number):
    y = np.stack([number, number + number])
    x = x.copy()
    x[0] = y[1]
    return x


def put(x, number):
    x = x.copy()
    x[3] = number
    x[5:] = number
    return x


@pytest.mark.parametrize("char", ["?", "b", "l", "d"])
@pytest.mark.parametrize("function", few(TWO, 4))
def test_numbers_that_no_integer_holds_are_refused_though_nothing_reads_the_result(function, char):
    def f(x, k):
        function(x, k)
        return x + x

    fast = jitrt.jit(f)
    for k in (1, 2**70, 5, -(2**64), 2**63, 2):
        want, got = (repr(outcome(g, np.arange(2).astype(char), k)) for g in (f, fast))
        assert want == got, k
