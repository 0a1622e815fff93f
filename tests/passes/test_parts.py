"""Elementwise operations on assembled arrays, part by part."""

import numpy as np
import pytest

import jitrt

rng = np.random.default_rng(2)
x, y = rng.normal(size=(2, 90, 110))
v = rng.normal(size=9000)
cube = rng.normal(size=(20, 24, 30))


def periodic(x, y):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 2, 1) + np.roll(x, -1, 1) - 4 * x * y


def diagonal(x, y):
    return np.roll(x, (1, -3), (0, 1)) * np.roll(y, -1) + np.roll(np.roll(x, 5, 1), 1, 0)


def padded(x, y):
    p = np.pad(x, 2, constant_values=1.5)
    inner = p[1:-3, 2:-2] + p[3:-1, 2:-2] + p[2:-2, 1:-3] + p[2:-2, 3:-1]
    return inner / 4, p * 2, p[:5, ::2] + 1, p.sum()


def joined(x, y):
    c = np.concatenate([x * 2, y], axis=1)
    return c + np.concatenate([y, x + 1], 1), c.max(axis=1), np.concatenate([x, np.zeros((3, 110)), y])[1:] * 3


def ends(x, y):
    moving = np.cumsum(np.concatenate([np.zeros(1), v]))
    return (
        (moving[16:] - moving[:-16]) / 16,
        np.diff(np.concatenate([v[-1:], v, v[:1]])),
        np.stack([x, y], 1) - y[:, None],
    )


def shared(x, y):
    r = np.roll(x, 1, 0)
    return r, r + y, r[3:] * y[3:], np.exp(r).sum(axis=0), np.where(r > 0, r, np.roll(y, 1, 0)).T


def many(x, y):
    t = np.concatenate([v[k : k + 200] for k in range(0, 9000, 200)])
    return t * 2 + v


def torus(x, y):
    total = cube * -6
    for axis in range(3):
        total = total + np.roll(cube, 1, axis) + np.roll(cube, -1, axis)
    return total


@pytest.mark.parametrize("function", [periodic, diagonal, padded, joined, ends, shared, many, torus])
def test_values(function):
    fast = jitrt.jit(function)
    want, got = function(x, y), fast(x, y)
    assert not fast.explain(x, y).plain_reason
    for w, g in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
        np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)
        assert g.dtype == w.dtype


def test_a_periodic_stencil_needs_no_frame():
    assert jitrt.jit(periodic).explain(x, y).frame_bytes == 0
    assert jitrt.jit(periodic).explain(x[:3, :3], y[:3, :3]).frame_bytes > 0  # too little to be worth more kernels


@pytest.mark.parametrize("shape", [(9900,), (90, 1, 110), (2, 45, 10, 11), (1, 90, 110, 1)])
def test_results_in_another_shape(shape):
    def f(x, y):
        t = x * y
        return t.reshape(shape), (x + 1).reshape(shape)[None], np.cumsum(x, 1).reshape(shape), t, np.repeat(x, 2, 1)

    fast = jitrt.jit(f)
    assert fast.explain(x, y).frame_bytes == 0
    for want, got in zip(f(x, y), fast(x, y)):
        np.testing.assert_array_equal(want, got)
