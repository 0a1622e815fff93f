"""Short innermost extents: unrolled, so that the loop around them makes the vectors."""

import numpy as np
import pytest

import jitrt

rng = np.random.default_rng(8)


def programs(x, w, column):
    norm = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return (
        x.sum(axis=-1), x.sum(axis=0), x.max(axis=-1), x.min(axis=0), x.mean(axis=0), x.std(axis=-1), x.sum(),
        x / norm, x - x.mean(axis=0), x * w + 1, x * column, x[::2] - x[1::2], x[:, ::-1] * 2, np.any(x > 2, axis=-1),
        x.T * 3, np.stack([x[..., 0], x[..., 1] * 2], -1), x.argmax(-1), np.cumsum(x, -1), np.cumsum(x, 0),
        x[..., :2] + 1,
    )  # fmt: skip


@pytest.mark.parametrize("short", [2, 3, 4, 5, 8, 11, 26])
@pytest.mark.parametrize("char", "df")
def test_short_rows(short, char):
    for count in (40, 102, 3000):
        x = (rng.integers(-8, 8, (count, short)) + 0.5).astype(char)
        w, column = rng.normal(size=short).astype(char), rng.normal(size=(count, 1)).astype(char)
        compiled = jitrt.jit(programs)
        for want, got in zip(programs(x, w, column), compiled(x, w, column), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6 if char == "f" else 1e-13)
            assert got.dtype == want.dtype


@pytest.mark.parametrize("char", "?bhilFD")
def test_dtypes(char):
    x = (rng.integers(0, 2 if char == "?" else 50, (500, 3))).astype(char)

    def f(x):
        return x.sum(-1), x.sum(0), (x * x).any(0), x + x[:1], np.where(x, x, x[0]), x.prod(-1)

    for want, got in zip(f(x), jitrt.jit(f)(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_folds_of_single_elements():
    """A fold along an axis of extent 1 begins anew in each turn of an unrolled loop."""
    x = rng.normal(size=(64, 2))

    def f(x):
        t = x / (x * x + 1)
        return t.std(axis=0), t.sum(axis=0) + t.max(axis=0), (t - t.mean(axis=0)).sum(axis=(0, 2))

    for y in (x[None], np.asfortranarray(x)[None], x[:, None].transpose(1, 0, 2)):
        for want, got in zip(f(y), jitrt.jit(f)(y), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)


def test_strided_and_higher():
    t = rng.normal(size=(9, 40, 50, 3))

    def f(t):
        gradient = t[1:, :-1, :, 1] - t[:-1, 1:, :, 0]
        return (
            gradient,
            (t**2).sum(-1),
            t[..., ::-2] * t[..., :1],
            t.sum((0, 3)),
            t[:, :, ::5].max((1, 2)),
            t.mean((0, 1, 2)),
        )

    for want, got in zip(f(t), jitrt.jit(f)(t), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_threads_agree():
    x = rng.normal(size=(200_001, 3))

    def f(x):
        return x.sum(0), x.mean(-1), x / np.sqrt((x * x).sum(-1, keepdims=True)), x - x.mean(0)

    for one, several, want in zip(jitrt.jit(f, threads=1)(x), jitrt.jit(f)(x), f(x)):
        np.testing.assert_array_equal(one, several)
        np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-12)


def test_loop_nests(golden):
    x = np.ones((500, 3))
    nests = jitrt.jit(lambda x: (x.sum(axis=0), x.max(axis=1) + 1)).explain(x).loop_nests
    golden("schedule/short_rows", "\n\n".join(map(str, nests)))
