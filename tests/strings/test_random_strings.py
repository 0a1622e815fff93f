"""Random strings: `evaluate` gives what NumPy gives, and what numexpr gives where its dtypes are NumPy's."""

import os
import random

import numpy as np
import pytest

from jitrt import evaluate
from jitrt.strings.vocabulary import FUNCTIONS

ONE = (
    "sin cos tanh arctan exp expm1 sqrt abs floor ceil trunc sign log1p isnan isfinite signbit real square rint".split()
)
TWO = "arctan2 hypot maximum minimum copysign fmod logaddexp".split()
FOLDS = "sum prod min max mean any all std".split()
OPERATORS = "+ - * / + - * / % // < <= == != > >= ** & | ^ << >>".split()
# numexpr has no other names for these, and the same dtypes for arrays of float64 and comparisons of them.
SHARED = {
    "sin",
    "cos",
    "tanh",
    "arctan",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "expm1",
    "log1p",
    "arctan2",
    "hypot",
    "fmod",
}


def variables(rng):
    shape = [(7,), (3, 5), (1,), (0,), (2, 3, 4), ()][rng.integers(6)]
    made = {}
    for name in "abcdefgh":
        dtype = rng.choice(list("?bBhiIlLfdFD" if name > "c" else "d"))
        values = rng.normal(size=shape[len(shape) - rng.integers(0, len(shape) + 1) :]) * 3
        made[name] = (
            values + 1j * values[::-1]
            if dtype in "FD" and values.ndim
            else np.abs(values)
            if dtype in "BIL"
            else values
        )
        made[name] = np.asarray(made[name]).astype(dtype)
    return made | {"i": 3, "x": 2.5, "y": np.float32(1.5)}


def expression(rng, depth, shared=False):
    if depth == 0 or rng.random() < 0.1:
        names = "abc" if shared else "abcdefghixy"
        return rng.choice([*names, *names, *(["2.5", "0.5"] if shared else ["2", "0.5", "1", "3j", "True"])])
    inner = lambda: expression(rng, depth - 1, shared)  # noqa: E731
    kind = rng.random()
    if shared:
        if kind < 0.6:
            return f"({inner()} {rng.choice(OPERATORS[:4])} {inner()})"
        if kind < 0.7:
            return f"where({inner()} < {inner()}, {inner()}, {inner()})"
        return f"{(name := rng.choice(sorted(SHARED)))}({', '.join(inner() for _ in range(FUNCTIONS[name].nin))})"
    if kind < 0.45:
        return f"({inner()} {rng.choice(OPERATORS)} {inner()})"
    if kind < 0.5:
        return f"({rng.choice('-~+')}{inner()})"
    if kind < 0.7:
        return called(rng.choice(ONE), inner())
    if kind < 0.8:
        return called(rng.choice(TWO), inner(), inner())
    if kind < 0.85:
        return f"where({inner()}, {inner()}, {inner()})"
    if kind < 0.88:
        return f"clip({inner()}, {rng.choice(['-1', '0'])}, {rng.choice(['2', 'max=1', 'c'])})".replace(
            "0, max", "min=0, max"
        ).replace("-1, max", "min=-1, max")
    if kind < 0.9:
        return f"({inner()}){rng.choice(['.real', '.imag', '.T'])}"
    return f"{rng.choice(FOLDS)}({inner()}{rng.choice(['', '', ', axis=0', ', axis=-1, keepdims=True', ', 0'])})"


def called(name, *arguments):
    """A call; what looks at signs does not look at those of nan, which no function promises."""
    if name in ("signbit", "copysign"):
        arguments = [*arguments[:-1], f"nan_to_num({arguments[-1]})"]
    return f"{name}({', '.join(arguments)})"


def outcome(function):
    """The result, or the class of the exception."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function())
    except Exception as error:
        return type(error)


def agree(got, want, text, single=False):
    """Equal but for last places; `single` says that float32 takes part."""
    if isinstance(want, type) or isinstance(got, type):
        assert got is want or (isinstance(got, type) and isinstance(want, type) and issubclass(got, want)), (
            text,
            got,
            want,
        )
        return
    assert got.dtype == want.dtype and got.shape == want.shape, (text, got.dtype, want.dtype, got.shape, want.shape)
    if want.dtype.kind in "fc":
        single = single or want.dtype in (np.float32, np.complex64, np.float16)
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(want[np.isfinite(want)]), initial=1)
        np.testing.assert_allclose(
            got, want, rtol=2e-3 if single else 1e-8, atol=scale * (1e-4 if single else 1e-11), err_msg=text
        )
    else:
        np.testing.assert_array_equal(got, want, err_msg=text)


def in_numpy(text, names):
    return eval(text, {**FUNCTIONS, **names})


@pytest.mark.filterwarnings("ignore")
def run(seeds):
    refused = 0
    for seed in seeds:
        choose, rng = random.Random(seed), np.random.default_rng(seed)
        names = variables(rng)
        text = expression(choose, choose.choice([1, 2, 2, 3, 3, 4]))
        want = outcome(lambda: in_numpy(text, names))  # noqa: B023
        got = outcome(lambda: evaluate(text, names))  # noqa: B023
        refused += isinstance(want, type)
        agree(
            got,
            want,
            f"{seed}: {text}",
            single=any(k in text and np.asarray(v).dtype.char in "fF?bBhH" for k, v in names.items()),
        )
    return refused


@pytest.mark.filterwarnings("ignore")
def test_random_strings():
    assert run(range(120)) < 90


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_random_strings():
    first = int(os.environ.get("FIRST_SEED", "1000"))
    run(range(first, first + int(os.environ.get("SEEDS", "20000"))))


@pytest.mark.filterwarnings("ignore")
def test_random_strings_beside_numexpr():
    numexpr = pytest.importorskip("numexpr")
    compare(numexpr, range(40))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_random_strings_beside_numexpr():
    numexpr = pytest.importorskip("numexpr")
    compare(numexpr, range(1000, 4000))


def compare(numexpr, seeds):
    for seed in seeds:
        choose, rng = random.Random(seed), np.random.default_rng(seed)
        names = {name: rng.random(9) + 0.5 for name in "abc"}
        text = f"a * 0 + {expression(choose, choose.choice([1, 2, 3]), shared=True)}"
        agree(outcome(lambda: evaluate(text, names)), outcome(lambda: numexpr.evaluate(text, names)), f"{seed}: {text}")  # noqa: B023
