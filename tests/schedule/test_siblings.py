"""Maps are computed by folds over the same loops that read the same array, and on their own elsewhere."""

import numpy as np
import pytest

import jitrt
from jitrt.schedule import siblings

RNG = np.random.default_rng(11)
X = RNG.random((200, 300)) - 0.5


def shifted_and_summed(x):
    return x + 1, x.sum(axis=1)


def two_maps_and_extremes(x):
    return x * x, -x, x.max(axis=1), x.min(axis=1)


def all_of_it(x):
    return x * 3, x.sum(), (x > 0.4).any()


def moments(x):
    return x.mean(axis=1), x * 2, x.std()


def columns_too(x):
    return x.sum(axis=0), abs(x), x.sum(axis=1)


def with_another(x):
    y = x[::-1] * 2
    return x + y, (x * y).sum(axis=1)


def chosen(x):
    return np.where(x > 0, x, 0), (x > 0).sum(axis=-1)


def in_place(x):
    total = x.sum(axis=1)
    x += 1
    return total, x.max()


def written(x):
    x[:, 1:] = x[:, :-1] + x.sum(axis=1, keepdims=True)
    return x * 2, x.max(axis=1)


def stored_for_others(x):
    y = x + 1
    return y, x.sum(axis=1), y[1:] - y[:-1]


def warns(x):
    return x * 1e308 * 1e3, np.log(x).sum(axis=1)


JOINED = [shifted_and_summed, two_maps_and_extremes, all_of_it, moments, columns_too, chosen]
FUNCTIONS = [*JOINED, with_another, in_place, written, stored_for_others]


def kernels(function, x):
    return len(jitrt.jit(function).explain(x.copy()).kernels)


@pytest.fixture
def apart(monkeypatch):
    """Turns the joining off: what is compiled meanwhile is forgotten."""
    from jitrt.programs import nothing_known

    def kernels_apart(function, x, tmp_path):
        with monkeypatch.context() as m, nothing_known():
            m.setenv("JITRT_CACHE_DIR", str(tmp_path))
            m.setattr(siblings, "_is_long_fold", lambda group: False)
            return kernels(function, x)

    return kernels_apart


def check(function, x):
    fast, rtol = jitrt.jit(function), 1e-3 if x.dtype == np.float32 else 1e-10
    for turn in range(3):
        ours, theirs = (x + turn).astype(x.dtype), (x + turn).astype(x.dtype)
        for found, wanted in zip(fast(ours), function(theirs)):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape and type(found) is type(wanted)
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("function", JOINED)
def test_the_array_is_read_once(function, apart, tmp_path):
    assert kernels(function, X) < apart(function, X, tmp_path)
    check(function, X)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "x",
    [
        X, X.astype(np.float32), (X * 100).astype(np.int32), np.asfortranarray(X), X[::2, ::-1], X.T, X[:, :3],
        RNG.random((70, 64)), RNG.random((3, 5000)), np.zeros((2, 300)),
    ],
    ids=["f8", "f4", "i4", "F", "strided", "T", "short", "square", "few", "zeros"],
)  # fmt: skip
def test_results_are_numpys(function, x):
    check(function, x)


def test_of_three_axes():
    for axis in (0, 1, 2, (0, 2), (1, 2)):
        check(lambda x, axis=axis: (x + 1, x.max(axis=axis)), RNG.random((70, 66, 68)))


def test_what_is_reported_is_reported():
    with pytest.warns(RuntimeWarning, match="overflow"), pytest.warns(RuntimeWarning, match="invalid"):
        jitrt.jit(warns)(X)
    with np.errstate(all="ignore"):
        check(warns, X)


def heavy(x):
    return np.exp(x), x.sum(axis=1)


def transposed(x):
    return x.T + 1, x.sum(axis=1)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (heavy, X),
        (transposed, RNG.random((300, 300))),
        (shifted_and_summed, RNG.random((10_000, 8))),
        (shifted_and_summed, RNG.random((8, 200))),
        (lambda x: (x + 1, X.sum(axis=1)), X),
    ],
    ids=["heavy", "transposed", "short rows", "few rows", "other arrays"],
)
def test_what_would_not_gain_stays_apart(function, x, apart, tmp_path):
    assert kernels(function, x) == apart(function, x, tmp_path)
    check(function, x)


def loops_of_reversed(x):
    return x + x[::-1], x.mean()


def loops_of_rows(x):
    return x * x[0] + 1, x.sum(), (x > 0).all()


def loops_of_columns(x):
    return x[:, ::-1] - x[:, :1], x, x.min()


def in_place_beside_a_mean(x):
    m = x.mean()
    x += x[::-1]
    return m, x.max()


@pytest.mark.parametrize("function", [loops_of_reversed, loops_of_rows, loops_of_columns, in_place_beside_a_mean])
@pytest.mark.parametrize("shape", [(260, 210), (5000, 9), (9, 9000), (30, 40, 50)], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_maps_that_do_not_run_through_memory_beside_folds_of_all_of_it(function, shape, order):
    """Blocks of a fold to a single number are cut from one loop, which these maps cannot have."""
    check(function, np.array(RNG.random(shape) - 0.5, order=order))
