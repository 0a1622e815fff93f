"""Large arguments that a function writes are written where they are, and are what they were when a call fails."""

import warnings

import numpy as np
import pytest

import jitrt

N = 40_000


def few(x):
    x[10:20] = 1.0


def added(x, y):
    x += y


def scaled_twice(x, y):
    x *= 2.0
    x[1:] += y[:-1]
    return x.sum()


def stencil(x):
    x[1:-1] = 0.5 * (x[2:] + x[:-2])


def replaced(x, y):
    x[...] = y * 3.0 + 1.0


def both(x, y):
    t = x + y
    x -= y
    y[...] = t
    return t * 2.0


def swapped(x, y):
    t = x.copy()
    x[...] = y
    y[...] = t


def columns(x, y):
    x = x.reshape(200, 200)
    x[:, 1:-1] *= 0.5
    x[0] = y[:200]
    return x[:, 0]


def sorted_part(x, y):
    x[: N // 2] = np.sort(y[: N // 2])
    return x[: N // 2] - x[N // 2 :]


def loop(x, y):
    for _ in range(7):
        x[1:-1] = x[1:-1] + 0.1 * (y[2:] - y[:-2])


FUNCTIONS = {
    f.__name__: f for f in (few, added, scaled_twice, stencil, replaced, both, swapped, columns, sorted_part, loop)
}


def arguments(function, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random(N) + 0.1 for _ in range(function.__code__.co_argcount)]


def assert_same(got, want):
    if want is None:
        assert got is None
    else:
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name, debug, monkeypatch):
    if debug:
        monkeypatch.setenv("JITRT_DEBUG", "1")
    function = FUNCTIONS[name]
    compiled = jitrt.jit(function)
    assert not compiled.explain(*arguments(function)).plain_reason
    for seed in (0, 1, 1):
        plain, fast = arguments(function, seed), arguments(function, seed)
        want, got = function(*plain), compiled(*fast)
        assert_same(got, want)
        for g, w in zip(fast, plain):
            np.testing.assert_allclose(g, w, rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "where"), [("few", True), ("added", True), ("scaled_twice", True), ("stencil", False)]
)
def test_where_it_is_written(name, where):
    function = FUNCTIONS[name]
    layout = jitrt.jit(function).explain(*arguments(function)).compiled.program.layout
    assert bool(layout.overwritten()) == (name != "stencil")


def test_only_what_changes_is_saved():
    def part(x, y):
        x[100:200] += y[:100]

    found = jitrt.jit(part).explain(*arguments(part)).compiled.program.layout
    assert list(found.saved.values()) == [(800, 1600)]
    assert all(len(step.call.extents) == 1 for step in jitrt.jit(few).explain(*arguments(few)).compiled.program.steps)


@pytest.mark.parametrize("how", ["warn", "raise", "ignore"])
def test_floating_point_exceptions(how):
    """What NumPy reports it reports, once; and what it has written by then is written."""
    for function in (added, scaled_twice, both):
        outcomes = []
        for f in (function, jitrt.jit(function)):
            x, y = arguments(function)
            x[5], y[5] = np.inf, -np.inf
            x[7] = 1e308
            y[6:9] = 1e308
            with np.errstate(all=how), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    f(x, y)
                    error = None
                except FloatingPointError as raised:
                    error = str(raised)
            outcomes.append((error, sorted({str(w.message) for w in caught}), x, y))
        want, got = outcomes
        assert got[:2] == want[:2]
        np.testing.assert_array_equal(got[2], want[2])
        np.testing.assert_array_equal(got[3], want[3])


def test_arguments_that_overlap():
    base = np.arange(2.0 * N)
    for x, y in ((base[:N], base[N // 2 : N // 2 + N]), (base[:N], base[:N]), (base[N:], base[:N])):
        for function in (added, both, replaced):
            plain = base.copy()
            offsets = [(a.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 8 for a in (x, y)]
            function(*(plain[o : o + N] for o in offsets))
            fast = base.copy()
            jitrt.jit(function)(*(fast[o : o + N] for o in offsets))
            np.testing.assert_allclose(fast, plain, rtol=1e-13)


@pytest.mark.parametrize("change", [lambda x: x[::2], lambda x: x[::-1], lambda x: x.astype("f4"), lambda x: x[:100]])
def test_other_layouts(change):
    for function in (added, few, stencil):
        plain, fast = ([change(a) for a in arguments(function)] for _ in range(2))
        function(*plain)
        jitrt.jit(function)(*fast)
        for g, w in zip(fast, plain):
            np.testing.assert_allclose(g, w, rtol=1e-5)


def test_a_read_only_argument():
    x, y = arguments(added)
    before = x.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jitrt.jit(added)(x, y)
    np.testing.assert_array_equal(x, before)


def test_exceptions_of_numpy():
    def f(x, y):
        x[10:20] = 1.0
        x[:4] += np.linalg.inv(y[:4].reshape(2, 2)).ravel()

    plain, fast = arguments(f), arguments(f)
    for args in (plain, fast):
        args[1][:4] = 1.0
    for g, args in ((f, plain), (jitrt.jit(f), fast)):
        with pytest.raises(np.linalg.LinAlgError):
            g(*args)
    np.testing.assert_array_equal(fast[0], plain[0])
