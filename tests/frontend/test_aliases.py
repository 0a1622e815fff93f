"""Arrays that share memory behind NumPy's functions: what is written to one is seen through the other, as in NumPy."""

import numpy as np
import pytest

import jitrt

windows = np.lib.stride_tricks.sliding_window_view
strided = np.lib.stride_tricks.as_strided


def diagonal_by_einsum(x):
    np.einsum("ii->i", x)[:] = 1
    return x * 2


def transposed_by_einsum(x):
    y = x * 2
    np.einsum("...ij->...ji", y)[0] = 7
    view = np.einsum("ii->i", y)
    view *= 10
    return y, view, np.einsum("ij->ji", x)


def strided_diagonal(x):
    strided(x, (4,), (sum(x.strides),))[:] += 100
    return x * 2


def turned(x):
    np.rot90(x)[0] = 0
    np.rot90(x, -1, (1, 0))[:, 1] = 5
    y = np.rot90(x, 2)
    x[1] = 3
    return y, np.rot90(x, 4), x + 1


def raveled(x):
    np.ravel(x, "K")[0] = 99
    x.ravel(order="F")[1] = 98
    x.ravel("A")[2] = 97
    np.reshape(x, (2, 8), order="F")[0, 3] = 96
    x.reshape(8, 2, order="A")[3] = 95
    return x + 0


def orders_of_elements(x):
    y = x * 2
    return (
        y.ravel("K"),
        y.T.ravel("A"),
        y[::-1].ravel("K"),
        y[:, ::2].ravel("K"),
        y.flatten("F"),
        y.reshape(2, 8, order="F"),
    )


def window_after_a_write(x):
    x[0] = 5
    return windows(x, 2, axis=0)


def window_and_its_array(x):
    y = x * 2
    return y, windows(y, 2, axis=0)


def window_before_a_write(x):
    w = windows(x, 2, axis=0)
    x[0] = 5
    return w * 2


def trimmed(x):
    row = np.trim_zeros(x[0])
    row[0] = 77
    return x + 1


def trimmed_view(x):
    return np.trim_zeros(x[0])


def converted_elsewhere(x):
    y = np.asarray_chkfinite(x)
    y += 1
    return x


def required(x):
    y = np.require(x, requirements="C")
    y[1] = 3
    return x + y


def unstacked(x):
    first, second = np.unstack(x)[:2]
    first += second
    return x * 1


def flat_values_are_repeated(x):
    x.flat[::2] = [1, 2]
    y = x * 2
    y.flat = x[0]
    x.flat[1:4] = np.arange(9.0)
    x.flat[5] = 3
    return x + 0, y


def shape_of_an_argument(x):
    x.shape = (2, 8)
    return x * 1


FUNCTIONS = [v for v in list(globals().values()) if callable(v) and getattr(v, "__module__", "") == __name__]


def shared(values):
    return [[np.shares_memory(a, b) for a in values] for b in values]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function, order):
    if order == "F" and function is shape_of_an_argument:
        pytest.skip("such an array has no such shape")
    compiled = jitrt.jit(function)
    for start in (0.0, 1.0, 0.0):
        mine, theirs = (np.asarray(np.arange(16.0).reshape(4, 4) + start, order=order) for _ in range(2))
        got, want = ([*r] if isinstance(r, tuple) else [r] for r in (compiled(mine), function(theirs)))
        for a, b in zip([*got, mine], [*want, theirs], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides
        assert shared([*got, mine]) == shared([*want, theirs])
