"""``z[m] = f(z[m], c[m])`` in loops: computed where the mask is true, with NumPy's results, warnings and exceptions."""

import numpy as np
import pytest
from test_masked_folds import outcome

import jitrt

RNG = np.random.default_rng(4)
X, Y = RNG.standard_normal((2, 40))
INTEGERS = RNG.integers(-5, 6, 40)
GRID = np.linspace(-2, 1, 12)[None, :] + 1j * np.linspace(-1.5, 1.5, 9)[:, None]


def mandelbrot(c, turns):
    z, counts = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(turns):
        m = np.abs(z) <= 2
        z[m] = z[m] ** 2 + c[m]
        counts[m] += 1
    return z, counts


def of_numbers(x, y, turns):
    for k in range(turns):
        m = x > k * 0.1
        x[m] = x[m] * 0.5 + np.sin(y[m]) - k
        y[m] -= x[m] / (k + 2.0)
    return m.sum()


def into_integers(x, n, turns):
    for k in range(1, turns + 1):
        m = n != k
        n[m] = x[m] * k * 3
        n[m] //= 2
        n[m] = -n[m] % 7
    return n


def into_small_floats(x, y, turns):
    z = x.astype(np.float32)
    for k in range(turns):
        m = z < y
        z[m] = np.maximum(z[m], y[m]) * np.float32(0.5) + k
        z[m] *= y[m]
    return z


def into_truth_values(x, y, turns):
    b = x > 0
    for k in range(turns):
        m = y > k * 0.3
        b[m] = ~b[m] & (k < 2)
        b[m] ^= b[m]
    return b


def of_itself(x, y, turns):
    m = x > 0
    for k in range(turns):
        m[m] = ~m[m] | True
        x[m] = x[m] + k
    return m


def shifted(x, y, turns):
    later, sooner = x[1:], x[:-1]
    for k in range(turns):
        m = later > 0.1 * k
        later[m] = sooner[m] + 1.0
        m = sooner > 0
        sooner[m] += later[m]
    return x


def reversed_and_strided(x, y, turns):
    back, some = x[::-1], y[::2]
    for k in range(turns):
        m = some > 0
        some[m] = some[m] * 2 - k
        m = back < y
        back[m] = back[m] + y[m] * 0.5
    return x


def of_parts(x, y, turns):
    a = x.reshape(5, 8)
    for k in range(turns):
        row = a[k % 5]
        m = row > 0
        row[m] = np.sqrt(row[m]) + a[k % 5, 0]
    return x


def where_it_may_warn(x, y, turns):
    for _ in range(turns):
        m = x > 0
        x[m] = np.log(x[m]) + 2.0
        y[m] = 1.0 / x[m]
    return x.sum()


def chosen_by_name_elsewhere(x, y, turns):
    m = x > 0
    for _ in range(turns):
        n = m
        x[n] = x[m] + y[n]
        x[m] = x[m] + y[m].sum()
    return x


def with_the_mask_kept(x, y, turns):
    masks = 0
    for _ in range(turns):
        m = x > 0
        x[m] = x[m] - 0.5 * y[m]
        masks += m.sum()
    return masks, m


PROGRAMS = [
    (mandelbrot, (GRID,)), (of_numbers, (X, Y)), (into_integers, (X, INTEGERS)), (into_small_floats, (X, Y)),
    (into_truth_values, (X, Y)), (of_itself, (X, Y)), (shifted, (X, Y)), (reversed_and_strided, (X, Y)),
    (of_parts, (X, Y)), (where_it_may_warn, (X, Y)), (chosen_by_name_elsewhere, (X, Y)), (with_the_mask_kept, (X, Y)),
]  # fmt: skip


def seen(function, args):
    """What a call gives, what it warns of, and its arguments behind it."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    made, warned = outcome(function, *copies)
    return made, sorted(warned), copies


def same(one, other):
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, (np.ndarray, np.generic)):
        return one == other
    close = np.allclose(one, other, rtol=1e-6 if one.dtype == np.float32 else 1e-12, equal_nan=True)
    return one.dtype == other.dtype and one.shape == other.shape and close


@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_like_numpy(function, args):
    fast = jitrt.jit(function)
    assert [line.fate for line in fast.explain(*args, 3).loops] == ["compiled as a loop"]
    for scale in (1.0, -0.5, 3.0):
        given = [*((a * scale).astype(a.dtype) for a in args), int(4 * abs(scale))]
        want, got = seen(function, given), seen(fast, given)
        assert same(want, got), (want, got)


def test_nothing_is_compressed():
    text = jitrt.jit(mandelbrot).explain(GRID, 20).text()
    assert text.count(" = memory ") == 3  # z, counts and the mask


def of_other_shapes(x, y, turns):
    for _ in range(turns):
        m = x[: len(y)] > 0
        x[m] = x[m] + y[m]
    return x


def of_other_types(x, n, turns):
    for _ in range(turns):
        m = n > 0
        n[m] /= 2
    return n


@pytest.mark.parametrize(("function", "args"), [(of_other_shapes, (X, Y[:7], 3)), (of_other_types, (X, INTEGERS, 3))])
def test_what_numpy_refuses(function, args):
    fast = jitrt.jit(function)
    for _ in range(2):
        want, got = seen(function, args), seen(fast, args)
        assert isinstance(want[0], tuple) and same(want, got)
