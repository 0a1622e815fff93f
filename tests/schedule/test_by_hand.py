"""Functions scheduled by hand give what they give without: plain loops, and these loops compiled."""

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt import expr
from jitrt.schedule import Fusion, ScheduleError, compute_with, inline_most


def softmax(x, y):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def chain(x, y):
    a = np.sin(x) * 2.0 + y
    return np.where(a > 0.5, a, -a) - y.T.sum(axis=0)[:1]


def two(x, y):
    s = x * y
    return s.sum(axis=0), np.abs(s).max(axis=1)


def total(x, y):
    return (x * y).sum()


def turned(x, y):
    return (np.cos(x).T + 1.0) * y.T


def whole(x, y):
    n = x.astype(np.int32)
    return n.sum(axis=1), (n * n).min(axis=0), x > y


def standardised(x, y):
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + (2.0 + 1.0)) + y.mean()


FUNCTIONS = (softmax, two, total, turned, whole, standardised)


def scheduled(function, x, y):
    return jitrt.jit(function).lower(x, y).by_hand()


def assert_same(made, function, x, y, compiled):
    found = made.function()
    results, expected = (jitrt.jit(found) if compiled else found)(x, y), function(x, y)
    pairs = zip(results, expected) if isinstance(expected, tuple) else [(results, expected)]
    for mine, other in pairs:
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        assert np.shape(mine) == np.shape(other)
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def transformed(made, rng):
    """Random splits, merges and orders of the loops of all tensors, as far as they are possible."""
    for tensor in made.fusion.tensors:
        for _ in range(3 if tensor.definition is not None else 0):
            count, before = len(tensor.axes), tensor.domain
            try:
                match rng.integers(3):
                    case 0 if count:
                        tensor.split(int(rng.integers(count)), int(rng.integers(1, 5)))
                    case 1 if count > 1:
                        tensor.merge(int(rng.integers(count - 1)))
                    case 2:
                        tensor.reorder([int(k) for k in rng.permutation(count)])
            except ValueError:  # a folded and another axis
                tensor.domain = before


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(40))
def test_random_schedules(function, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5, 8))
    made = scheduled(function, x, y)
    if seed % 3:
        transformed(made, rng)
    if seed % 2:
        inline_most(made.fusion)
    assert_same(made, function, x, y, compiled=seed in (1, 2))


STEPS = (
    lambda v, w: v + w,
    lambda v, w: v * w - 1.0,
    lambda v, w: np.sin(v),
    lambda v, w: v.sum(axis=-1, keepdims=True) if v.ndim else v * 2.0,
    lambda v, w: v.max(axis=0, keepdims=True) if v.ndim else v + 1.0,
    lambda v, w: np.where(v > w, v, -w),
    lambda v, w: v.sum(axis=0) if v.ndim == 2 and v.shape[1] == 8 else v * 3.0,
    lambda v, w: np.maximum(v, w) * 0.5,
    lambda v, w: np.abs(v).mean() if v.ndim else v - 1.0,
)


def random_function(rng):
    """Steps on what there is, of which one or two values are returned, and others perhaps read by nothing."""
    plan = [(STEPS[rng.integers(len(STEPS))], *map(int, rng.integers(99, size=2))) for _ in range(rng.integers(3, 8))]
    last = sorted({int(k) for k in rng.integers(1, 3, size=rng.integers(1, 3))})

    def function(x, y):
        pool = [x, y]
        for k, (step, a, b) in enumerate(plan):
            pool.append(step(pool[a % len(pool)], pool[b % len(pool)]) + float(k))  # no two are equal
        results = tuple(pool[-k] for k in last)
        return results if len(results) > 1 else results[0]

    return function


@pytest.mark.parametrize("seed", few(range(120), 24))
def test_random_functions(seed):
    rng = np.random.default_rng(seed)
    function, (x, y) = random_function(rng), rng.normal(size=(2, 5, 8))
    made = scheduled(function, x, y)
    if seed % 3:
        transformed(made, rng)
    if seed % 2:
        inline_most(made.fusion)
    if seed % 4 == 1:
        compute_with(made.fusion)
    if seed % 5 == 0:
        for tensor in made.fusion.tensors:
            if tensor.definition is not None and rng.random() < 0.5:
                tensor.position = int(rng.integers(len(tensor.axes) + 1))
        try:
            made.source  # noqa: B018
        except ScheduleError as error:
            assert "nested" in str(error)
            return
    assert_same(made, function, x, y, compiled=seed % 8 == 1)


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (0, 3), (2, 0)])
def test_short_arrays(shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    for function in (two, turned) if 0 not in shape else (turned,):
        made = scheduled(function, x, x + 1.0)
        inline_most(made.fusion)
        assert_same(made, function, x, x + 1.0, compiled=True)


def test_names_are_those_of_the_function():
    x = np.ones((2, 3))
    made = scheduled(softmax, x, x)
    assert {"x", "y", "e"} <= made.tensors.keys()
    assert made["e"].definition is not None and made["x"].definition is None


def test_loops_are_compiled():
    x, y = np.random.default_rng(0).normal(size=(2, 30, 40))
    made = scheduled(softmax, x, y)
    inline_most(made.fusion)
    assert "e[" not in str(made).splitlines()[0]
    f = jitrt.jit(made.function())
    f(x, y)
    assert "compiled as one function" in str(f.explain(x, y))


def test_names_that_mean_something_in_loops():
    def shadowing(i0, range):
        np_ = i0 * 2.0
        t1 = np_ + range
        i1 = t1.sum(axis=0)
        return i1 * 3.0

    x, y = np.random.default_rng(1).normal(size=(2, 3, 4))
    for function in (shadowing, eval("lambda np, range: np * 2.0 + range"), eval("lambda np, np_: np_ * 2.0 - np")):
        f = scheduled(function, x, y).function()
        for compiled in (f, jitrt.jit(f)):
            np.testing.assert_allclose(compiled(x, y), function(x, y), rtol=1e-13)


def test_dates_are_not_scheduled_by_hand():
    days = np.arange(3).astype("M8[D]")
    with pytest.raises(ScheduleError, match="by hand"):
        scheduled(lambda x, y: x + y, days, np.ones(3, "m8[D]"))


@pytest.mark.parametrize("function", [lambda x, y: np.cumsum(x), lambda x, y: (x * 2.0)[::2] * 2.0])
def test_what_is_not_scheduled_by_hand(function):
    x = np.ones((4, 4))
    with pytest.raises(ScheduleError, match="by hand"):
        scheduled(function, x, x)


def test_illegal_positions():
    x = np.ones((4, 5))
    made = scheduled(softmax, x, x)
    made["e"].position = 2  # which its fold over rows does not allow
    with pytest.raises(ScheduleError, match="nested"):
        made.function()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x[1:] - x[:-1]) ** 2 + y[1:, ::-1].sum(axis=0),
        lambda x, y: np.exp(x.reshape(8, 5)).sum(axis=1) * y[0, 3],
        lambda x, y: x[:, 1:-1][::-2].max(axis=1) + y[::-2, -1],
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_views_of_arguments(function, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5, 8))
    made = scheduled(function, x, y)
    if seed % 2:
        transformed(made, rng)
    inline_most(made.fusion)
    assert_same(made, function, x, y, compiled=not seed)


def test_expressions_are_scheduled_by_hand():
    x, y = (expr.leaf(name, "f8", shape=(5, 8)) for name in "xy")
    e = expr.name(np.exp(x - x.max(axis=1, keepdims=True)), "e")
    made = expr.by_hand(e / e.sum(axis=1, keepdims=True) + y[:1])
    assert {"x", "y", "e"} <= made.tensors.keys()
    inline_most(made.fusion)
    a, b = np.random.default_rng(0).normal(size=(2, 5, 8))
    f = made.function()
    expected = np.exp(a - a.max(1, keepdims=True))
    expected = expected / expected.sum(1, keepdims=True) + b[:1]
    for run in (f, jitrt.jit(f)):
        np.testing.assert_allclose(run(a, b), expected, rtol=1e-13)


def test_axes_that_are_not_there_are_told():
    y = Fusion().input("x", 8, 5)
    for change in (lambda: y.split(2, 3), lambda: y.merge(1)):
        with pytest.raises(ValueError, match="there is no loop axis"):
            change()
