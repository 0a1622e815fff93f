"""Functions of the user's that NumPy calls for elements or rows, functions of `math`, and imports, in loops."""

import math

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.python import clones


def graded(v):
    if v < 0:
        return 0
    return 1 if v < 1 else 2


def taxed(income, rate):
    return income * rate if income > 1000 else 0.0


def first_decides(v):
    return 1 if v < -1.5 else v / 3


def root(v):
    return math.sqrt(v)


@np.vectorize
def rectified(v):
    return v if v > 0 else 0.0


GRADED, TAXED = np.vectorize(graded), np.vectorize(taxed, otypes=[float])
FIRST_DECIDES, ROOT = np.vectorize(first_decides), np.vectorize(root)


def of_objects(x):
    return GRADED(x) * 2


def of_decorated(x):
    return rectified(x).sum()


def with_a_result_type(x):
    return TAXED(x * 3000, 0.3) + 1


def of_lambdas(x):
    return np.vectorize(lambda v: math.exp(v) if v < 0.5 else v**2)(x) + x


def of_closures(x):
    scale = x[0]
    return np.vectorize(lambda v: v * scale)(x)


def that_spreads(x):
    return TAXED(x[:, None] * 2000, x[:7])


def whose_first_result_decides(x):
    return FIRST_DECIDES(x)


def of_planes(x):
    return GRADED(x.reshape(2, -1)) + 0.5


def of_rows(x):
    return np.apply_along_axis(lambda r: math.erf(r[0]) + r.sum(), 1, x.reshape(-1, 2)) + 1


def of_columns(x):
    return np.apply_along_axis(np.ptp, 0, x.reshape(-1, 2))


def with_rows_that_give_rows(x):
    return np.apply_along_axis(lambda r: r * 2, 1, x.reshape(-1, 2))


FUNCTIONS = [
    of_objects,
    of_decorated,
    with_a_result_type,
    of_lambdas,
    of_closures,
    that_spreads,
    whose_first_result_decides,
    of_planes,
    of_rows,
    of_columns,
    with_rows_that_give_rows,
]
X = np.linspace(-2.0, 2.0, 40)


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(fast, *args):
    expected, found = outcome(fast.__wrapped__, *args), outcome(fast, *args)
    if isinstance(expected, tuple):
        assert found == expected
        return
    assert type(found) is type(expected) and found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.wide
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_results_are_numpys(function, dtype):
    fast = jitrt.jit(function)
    for x in (X, X[::-1] * 0.7, X[:6], X[:0]):
        assert_same(fast, x.astype(dtype))


@pytest.mark.parametrize("function", FUNCTIONS[:-1], ids=lambda f: f.__name__)
def test_they_are_loops(function):
    explanation = jitrt.jit(function).explain(X)
    assert explanation.loop, str(explanation)


def test_what_raises_raises():
    fast = jitrt.jit(lambda x: ROOT(x) + 1)
    assert_same(fast, abs(X))
    assert_same(fast, X)
    assert_same(fast, abs(X))


@pytest.mark.parametrize(
    "options", ["graded, None, 'text'", "otypes=[float]", "graded, otypes=[5]", "graded, cache=True"]
)
def test_other_options_are_numpys(options):
    source = f"def f(x):\n    made = np.vectorize({options})\n    return made(x)\n"
    fast = jitrt.jit(function_of(source, graded=graded))
    for _ in range(3):
        assert_same(fast, X)


def test_another_function_in_a_vectorize_object():
    made = np.vectorize(graded)
    fast = jitrt.jit(lambda x: made(x) + 1)
    assert_same(fast, X)
    made.pyfunc = lambda v: 7
    assert_same(fast, X)
    made.otypes = "d"
    assert_same(fast, X)


def test_functions_with_effects_have_them_once():
    seen = []

    def noted(v):
        seen.append(v)
        return v + 1

    fast = jitrt.jit(lambda x: np.vectorize(noted)(x))
    for _ in range(3):
        fast(X)
        effects, seen[:] = list(seen), []
        fast.__wrapped__(X)
        assert effects == seen
        seen.clear()


def test_steps_call_the_users_own_functions(monkeypatch):
    """What stands for modules and functions in a trace took a hundred times as long for each element."""

    def with_a_step(x):
        return np.apply_along_axis(lambda r: np.array([math.erf(r[0]), r.sum()]), 1, x) + 1

    def looked_at(*_):
        raise AssertionError("what stands for a module is asked outside of a trace")

    fast = jitrt.jit(with_a_step)
    x = X.reshape(8, 5)
    assert_same(fast, x)
    assert "apply_along_axis" in str(fast.explain(x).host_calls)
    monkeypatch.setattr(clones._ModuleView, "__getattribute__", looked_at)
    assert_same(fast, x * 0.5)


@pytest.mark.parametrize("name", "erf erfc degrees radians copysign fmod exp2 cbrt pow".split())
def test_functions_of_math_in_loops(name):
    function, count = getattr(math, name), 2 if name in ("copysign", "fmod", "pow") else 1

    def total(x, y):
        made = np.empty(len(x))
        for k in range(len(x)):
            made[k] = function(x[k]) if count == 1 else function(x[k], y[k])
        return made

    fast = jitrt.jit(total)
    assert_same(fast, abs(X) + 0.25, X[::-1])
    assert not fast.explain(abs(X) + 0.25, X[::-1]).plain_reason
    for x in (X, X[:0], np.array([np.inf, 1.0]), np.array([-np.inf]), np.array([np.nan]), np.array([-0.0, 1e308])):
        assert_same(fast, x, np.ones(len(x)))
        assert_same(fast, x, np.zeros(len(x)))


def test_error_functions_have_pythons_bits():
    def errors(x):
        made = np.empty((2, len(x)))
        for k in range(len(x)):
            made[0, k], made[1, k] = math.erf(x[k]), math.erfc(x[k])
        return made

    x = np.concatenate([np.linspace(-7, 30, 500), [np.inf, -np.inf, 0.0, -0.0, 1e-310]])
    np.testing.assert_array_equal(jitrt.jit(errors)(x), errors(x))


def test_greatest_common_divisors():
    def divisors(a, b):
        made = np.empty(len(a), int)
        for k in range(len(a)):
            made[k] = math.gcd(a[k], b[k])
        return made

    rng = np.random.default_rng(3)
    a, b = rng.integers(-60, 60, (2, 200))
    fast = jitrt.jit(divisors)
    np.testing.assert_array_equal(fast(a, b), divisors(a, b))
    assert fast.explain(a, b).loop


def test_imports_inside_of_functions():
    def waves(x):
        import math as m
        from math import pi
        from math import sin as sine

        total = 0.0
        for k in range(len(x)):
            total += sine(x[k] * pi) + m.cos(x[k])
        return total

    fast = jitrt.jit(waves)
    assert fast(X) == pytest.approx(waves(X), rel=1e-14) and fast.explain(X).loop


def test_imports_are_those_of_the_call(monkeypatch):
    import string

    def length(x):
        from string import digits

        total = 0
        for k in range(len(x)):
            total += len(digits) * k
        return total

    fast = jitrt.jit(length)
    assert fast(X) == length(X)
    monkeypatch.setattr(string, "digits", "01")
    assert fast(X) == length(X)
    monkeypatch.delattr(string, "digits")
    with pytest.raises(ImportError):
        fast(X)
