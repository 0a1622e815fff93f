"""Windows of `numpy.lib.stride_tricks.sliding_window_view` are views in compiled code, as they are in NumPy's."""

import traceback

import numpy as np
import pytest

import jitrt

windows = np.lib.stride_tricks.sliding_window_view

# By name: the function, and the number of axes that it wants.
FOLDS = {
    "mean": (lambda x: windows(x, 5).mean(axis=-1), 1),
    "max": (lambda x: windows(x, 5).max(axis=1), 1),
    "std": (lambda x: windows(x, 5).std(axis=-1), 1),
    "argmin": (lambda x: windows(x, (4,)).argmin(axis=1), 1),
    "cumsum": (lambda x: np.cumsum(windows(x, 3), axis=1), 1),
    "of what is computed": (lambda x: windows(x * x + 1, 5).sum(axis=-1), 1),
    "other steps": (lambda x: windows(x[::-1], 6)[::2, ::-1].max(axis=-1), 1),
    "frames": (lambda x: (windows(x, 6)[::3] * np.arange(6)).sum(axis=-1), 1),
    "of one element": (lambda x: windows(x, 1) * 2, 1),
    "of the whole": (lambda x: windows(x, x.size).sum(axis=-1), 1),
    "of a half": (lambda x: windows(x, x.size // 2).max(axis=-1), 1),
    "empty": (lambda x: windows(x, 0).sum(axis=-1), 1),
    "flattened": (lambda x: windows(x, 4).ravel() * 2, 1),
    "copied": (lambda x: (windows(x, 4).copy(), windows(x, 4) * 1, np.array(windows(x, 4))), 1),
    "two axes": (lambda x: windows(x, (3, 2)).sum(axis=(2, 3)), 2),
    "named axes": (lambda x: windows(x, (3, 4), axis=(0, 1)).max(axis=(-1, -2)), 2),
    "swapped axes": (lambda x: windows(x, (3, 2), axis=(-1, 0)) * 2, 2),
    "one of two axes": (lambda x: windows(x, 3, axis=1).mean(axis=-1), 2),
    "one axis twice": (lambda x: windows(x, (3, 2), axis=(0, 0)).sum(axis=-1), 2),
    "of a transpose": (lambda x: windows(x.T, 3, 1).sum(axis=-1), 2),
    "of windows": (lambda x: windows(windows(x, 4), 2, axis=1).max(axis=(1, 2)), 1),
}
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "turned": lambda x: x[::-1],
    "apart": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "repeated": lambda x: np.broadcast_to(x[..., :1], x.shape),
}


def array(extent, ndim, dtype):
    shape = (extent, 12)[:ndim]
    values = np.random.default_rng(extent).integers(0, 50, size=shape)
    return (values / 7 if np.dtype(dtype).kind in "fc" else values).astype(dtype)


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("dtype", "layout"),
    [("f8", "C"), ("f4", "F"), ("i4", "turned"), ("u1", "apart"), ("c16", "repeated"), ("?", "C"), ("f8", "F")],
)
@pytest.mark.parametrize("name", FOLDS)
def test_like_numpy(name, dtype, layout):
    function, ndim = FOLDS[name]
    compiled = jitrt.jit(function)
    for extent in (30, 31, 9, 300):
        x = LAYOUTS[layout](array(extent, ndim, dtype))
        for got, want in zip(parts(compiled(x)), parts(function(x)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6)
            assert (got.dtype, got.strides, got.flags.writeable) == (want.dtype, want.strides, want.flags.writeable)
            assert not np.shares_memory(got, x)
    explanation = compiled.explain(x)
    assert not explanation.plain_reason and "sliding_window_view" not in str(explanation.host_calls)


@pytest.mark.parametrize("name", ["mean", "max", "std", "two axes", "one of two axes", "frames"])
def test_one_program_serves_other_shapes(name):
    function, ndim = FOLDS[name]
    compiled = jitrt.jit(function)
    for extent in (3000, 3001, 5000, 7000, 4500, 20_000):
        x = array(extent, ndim, "f8")
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
    assert len(compiled._specialisations) <= 2


RETURNED = {
    "itself": lambda x: windows(x, 5),
    "with its array": lambda x: (x, windows(x, 5)[::2], windows(x, 3).T),
    "of a new array": lambda x: windows(x * 2, 5),
    "with a new array": lambda x: (y := x * 2, windows(y, 5)),
    "of another step": lambda x: windows(x[::-2], 5)[1:],
    "of a new list": lambda x: windows([x[0], x[1], x[2]], 2),
    "that may be written": lambda x: windows(x, 3, writeable=True),
    "of integers": lambda x: windows(x, np.int64(2), np.array([0])),
}


@pytest.mark.parametrize("name", RETURNED)
def test_results_share_memory_as_in_numpy(name):
    function = RETURNED[name]
    compiled = jitrt.jit(function)
    for extent in (40, 41, 40):
        found = []
        for f in (compiled, function):
            x = array(extent, 1, "f8")
            made = parts(f(x))
            x[3] = -1.0
            shared = [[np.shares_memory(a, b) for a in made] for b in (*made, x)]
            found.append([(a.tolist(), a.strides, a.flags.writeable) for a in made] + shared)
        assert found[0] == found[1]


def written_after(x):
    w = windows(x, 3)
    x[4] = 70
    return w.sum(axis=-1)


def shifted_after(x):
    w = windows(x, 3)
    x[1:] = x[:-1]
    return w, x


def written_from(x):
    w = windows(x, 3)
    x[:-2] = w.sum(axis=-1)
    return x * 1


def added_from(x):
    y = x * 2
    w = windows(y, 3)
    y[:-2] += w.max(axis=-1)
    y += 1
    return w, y


def columns(x):
    x[:-2] = windows(x, 3)[:, 2]
    x[2:] = windows(x, 3)[:, 0]
    return x


def out_in_a_window(x):
    w = windows(x, 3)
    np.add(w[:, 0], 1, out=x[2:])
    return w.sum(axis=-1)


def smoothed(x):
    x = x * 2
    for _ in range(5):
        x = np.concatenate((x[:1], windows(x, 3).mean(axis=-1), x[-1:]))
    return x


def replaced(x):
    y = x * 2
    y[2:-2] = windows(y, 5).max(axis=-1)
    y[2:-2] = windows(y, 5).min(axis=-1)
    return y


@pytest.mark.parametrize(
    "function",
    [written_after, shifted_after, written_from, added_from, columns, out_in_a_window, smoothed, replaced],
    ids=lambda f: f.__name__,
)
def test_writes_to_the_source_are_seen(function):
    compiled = jitrt.jit(function)
    for extent in (40, 41, 40, 3000):
        mine, theirs = array(extent, 1, "f8"), array(extent, 1, "f8")
        for got, want in zip(parts(compiled(mine)), parts(function(theirs)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def too_large(x):
    return windows(x, 50)


def negative(x):
    return windows(x, -1)


def wrong_axis(x):
    return windows(x, 2, axis=3)


def too_many(x):
    return windows(x, (2, 2))


def too_few(x):
    return windows(x[None], 2)


def too_large_twice(x):
    return windows(x, (20, 20), axis=(0, 0))


def not_integers(x):
    return windows(x, 3.0)


def of_a_number(x):
    return windows(x[0], 3)


def written(x):
    windows(x, 3)[0] = 1


def added_to(x):
    w = windows(x, 3).T
    w += 1


@pytest.mark.parametrize(
    "function",
    [too_large, negative, wrong_axis, too_many, too_few, too_large_twice, not_integers, of_a_number, written, added_to],
    ids=lambda f: f.__name__,
)
def test_errors_are_numpys(function):
    compiled = jitrt.jit(function)
    for extent in (30, 31):
        found = []
        for f in (compiled, function):
            with pytest.raises((ValueError, TypeError)) as raised:
                f(array(extent, 1, "f8"))
            lines = [s.lineno for s in traceback.extract_tb(raised.value.__traceback__) if s.filename == __file__]
            found.append((isinstance(raised.value, ValueError), str(raised.value), lines[-1]))
        assert found[0] == found[1]


def test_a_window_that_no_longer_fits():
    compiled = jitrt.jit(lambda x: windows(x, 20).max(axis=-1))
    for extent in (3000, 4000, 20):
        x = array(extent, 1, "f8")
        np.testing.assert_array_equal(compiled(x), windows(x, 20).max(axis=-1))
    with pytest.raises(ValueError, match="window shape cannot be larger"):
        compiled(array(19, 1, "f8"))
    np.testing.assert_array_equal(compiled(array(3000, 1, "f8")), windows(array(3000, 1, "f8"), 20).max(axis=-1))
