"""What code names but does not use, uses behind a branch, or hands to NumPy: the rest runs compiled."""

import functools
import logging
import time
import warnings

import numpy as np
import pytest

import jitrt

SIZE = 3000
WEIGHTS = np.arange(5.0)
x = np.linspace(-1.0, 1.0, SIZE)
table = np.arange(5.0 * SIZE).reshape(SIZE, 5) % 7
logger = logging.getLogger("jitrt.tests.elsewhere")


def chatty(a, verbose=False):
    if verbose:
        print("mean", a.mean())
    return a * 2 + 1


def report(a):
    print("sum", a.sum())


def chatty_by_a_helper(a, verbose=False):
    if verbose:
        report(a)
    return a * 2 + 1


def timed(a, timings=None):
    start = 0.0
    if timings is not None:
        start = time.perf_counter()
    b = np.tanh(a)
    if timings is not None:
        timings.append(time.perf_counter() - start)
    return b


def warns(a):
    if a.max() > 5:
        warnings.warn("large", stacklevel=1)
    return a + 1


class Model:
    def __init__(self, w):
        self.w = w
        self.logger = logger

    def __eq__(self, other):
        print("compared")
        return self is other

    def apply(self, a):
        self.logger.debug("applying")
        return self.w * a + 1

    def show(self):
        print(self.w)


def logs(a):
    logger.info("called with %d", a.size)
    return a * 3 - 1


def test_effects_behind_branches_happen_when_they_are_reached(capsys):
    for function in (chatty, chatty_by_a_helper):
        compiled = jitrt.jit(function)
        for verbose in (False, False, True, True, False):
            np.testing.assert_array_equal(compiled(x, verbose), x * 2 + 1)
            assert bool(capsys.readouterr().out) == verbose
        assert not compiled.explain(x, False).plain_reason and "print" in compiled.explain(x, True).plain_reason
        capsys.readouterr()


def test_a_clock_behind_a_branch():
    compiled = jitrt.jit(timed)
    timings = []
    for _ in range(3):
        compiled(x)
        compiled(x, timings)
    assert len(timings) == 3 and len(set(timings)) == 3 and not compiled.explain(x).plain_reason


def test_warnings_depend_on_values():
    compiled = jitrt.jit(warns)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), x + 1)
        with pytest.warns(UserWarning, match="large"):
            compiled(x * 10)
    assert not compiled.explain(x).plain_reason


def test_methods_that_nobody_calls_may_do_anything():
    compiled = jitrt.jit(Model.apply)
    np.testing.assert_array_equal(compiled(Model(2.0), x), 2.0 * x + 1)
    assert not compiled.explain(Model(2.0), x).plain_reason


def test_methods_that_print_do_so_at_every_call(capsys):
    compiled = jitrt.jit(lambda model, a: (model.show(), a + 1)[1])
    for _ in range(3):
        compiled(Model(2.0), x)
    assert capsys.readouterr().out == "2.0\n" * 3


def test_logging_is_looked_at_in_every_call(caplog):
    compiled = jitrt.jit(logs)
    for level in (logging.WARNING, logging.INFO, logging.WARNING, logging.DEBUG):
        caplog.clear()
        with caplog.at_level(level, logger.name):
            for _ in range(2):
                np.testing.assert_array_equal(compiled(x), x * 3 - 1)
        assert len(caplog.records) == (2 if level <= logging.INFO else 0)
    with caplog.at_level(logging.WARNING, logger.name):
        assert not compiled.explain(x).plain_reason


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


vectorized = np.vectorize(collatz, otypes=[np.int64])


def by_vectorize(n):
    return vectorized(n) * 2 + n


def vectorizes_inside(a, shift):
    moved = a * 2
    return np.vectorize(lambda v: v + shift if v > 0 else shift)(moved) + 1


def along_rows(a):
    total = a.sum()
    return np.apply_along_axis(lambda row: row * WEIGHTS / total, 1, a) + 1


def over_axes(a):
    scale = a.max()
    return np.apply_over_axes(np.sum, a / scale, [0]) * 2


def pieces(a):
    limit = a.mean()
    return np.piecewise(a, [a < limit, a >= limit], [lambda v: -v, lambda v: v * limit]) + 1


def nested_helper(row):
    return helper(row).sum()


def helper(row):
    return row * WEIGHTS


def along_rows_by_helpers(a):
    return np.apply_along_axis(nested_helper, 1, a) * 2


HANDED = {
    by_vectorize: (np.arange(1, SIZE),),
    vectorizes_inside: (x, 0.5),
    along_rows: (table,),
    over_axes: (table,),
    pieces: (x,),
    along_rows_by_helpers: (table,),
}


@pytest.mark.parametrize("function", HANDED, ids=lambda f: f.__name__)
def test_functions_that_numpy_calls(function):
    compiled = jitrt.jit(function)
    first, *rest = HANDED[function]
    for factor in (1, 2, 1):
        np.testing.assert_allclose(compiled(first * factor, *rest), function(first * factor, *rest), rtol=1e-12)
    explanation = compiled.explain(first, *rest)
    assert not explanation.plain_reason and (explanation.kernels or explanation.loop)


def test_what_numpy_calls_must_not_collect():
    def collects(a):
        found = []
        np.apply_along_axis(lambda row: found.append(row.sum()) or 0.0, 1, a)
        return len(found), a + 1

    compiled = jitrt.jit(collects)
    for _ in range(2):
        assert compiled(table)[0] == SIZE


def test_a_vectorized_function_prints_for_every_element(capsys):
    noisy = np.vectorize(lambda v: print("element") or v * 2.0, otypes=[float])
    compiled = jitrt.jit(lambda a: noisy(a) + 1)
    for _ in range(2):
        compiled(np.ones(3))
    assert capsys.readouterr().out == "element\n" * 6


calls = []


@functools.cache
def window(n):
    return np.hanning(n + 2)[1:-1]


@functools.lru_cache
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


def test_cached_helpers():
    def windowed(a):
        return a * window(a.size) + binomial(6, 3)

    compiled = jitrt.jit(windowed)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), windowed(x))
    window(SIZE)[0] = 100.0  # which later calls see
    np.testing.assert_array_equal(compiled(x), windowed(x))
    assert not compiled.explain(x).plain_reason
    window.cache_clear()


def test_what_a_cache_gives_is_the_same_array_for_all():
    compiled = jitrt.jit(lambda a: (window(a.size), a + 1))
    assert compiled(x)[0] is window(SIZE) and compiled(x)[0] is window(SIZE)

    def spoils(a):
        w = window(a.size)
        w += 1
        return a * w

    first = jitrt.jit(spoils)
    kept = window(SIZE).copy()
    for k in range(1, 4):
        np.testing.assert_allclose(first(x), x * (kept + k))
    window.cache_clear()


def decay(t, y):
    return -y * t


def euler(f, y, dt):
    for k in range(3):
        y = y + dt * f(k * dt, y)
    return y


def test_functions_as_arguments():
    compiled = jitrt.jit(euler)
    for f in (decay, lambda t, y: y * 2 + t, decay):
        np.testing.assert_allclose(compiled(f, x, 0.1), euler(f, x, 0.1))
    for _ in range(5):
        compiled(lambda t, y: y - t, x, 0.1)  # the same code again is not compiled again
    assert compiled.cache_info().compiled == 3
    assert not compiled.explain(decay, x, 0.1).plain_reason


def test_functions_as_arguments_with_effects(capsys):
    def noisy(t, y):
        print("rate")
        return -y

    compiled = jitrt.jit(euler)
    for _ in range(2):
        compiled(noisy, x, 0.1)
    assert capsys.readouterr().out == "rate\n" * 6


def test_closures_as_arguments_see_their_values():
    compiled = jitrt.jit(euler)
    for rate in (1.0, 2.0, 3.0):
        assert np.array_equal(compiled(lambda t, y, r=rate: -r * y, x, 0.1), euler(lambda t, y, r=rate: -r * y, x, 0.1))
