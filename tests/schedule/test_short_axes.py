"""Short innermost extents: unrolled, or in transposed tiles, so that the loop around them makes the vectors."""

import numpy as np
import pytest
from covering import few

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


@pytest.mark.wide
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


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def turned(x, y, w):
    """Folds and functions along short rows, whose tiles are transposed."""
    return (
        x.sum(-1), x.max(-1), x.min(-1), x.prod(-1), x.mean(-1), np.sqrt((x * x).sum(-1)), softmax(x),
        np.any(x > 2, -1), ((x - y) ** 2).sum(-1), (x * w).sum(-1), x / np.abs(x).sum(-1, keepdims=True),
        np.exp(x - y[..., :1]), np.sin(x) / w, np.log(np.abs(x) + 1) * y[..., -1:],
        (x.sum(-1), (x + y).sum(-1), x.max(-1)),
    )  # fmt: skip


def agree(function, *args, relative=1e-12):
    for want, got in zip(function(*args), jitrt.jit(function)(*args), strict=True):
        for w, g in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
            np.testing.assert_allclose(g, w, rtol=relative, atol=relative)
            assert (g.dtype, g.shape) == (w.dtype, w.shape)


@pytest.mark.parametrize("short", few([5, 8, 15, 6, 7, 9, 12, 16], 3))
def test_transposed_tiles(short):
    """Whole tiles and what is left of them, in rows and in columns; neighbours in memory stay what they are."""
    for char, relative in (("d", 1e-12), ("f", 1e-5)):
        w = (rng.random(short) + 1).astype(char)
        for count in (31, 32, 33, 39, 40, 64, 65, 1500):
            x, y = (rng.normal(size=(count, short)).astype(char) for _ in range(2))
            agree(turned, x, y, w, relative=relative)
    agree(turned, rng.normal(size=(3, 40, short)), rng.normal(size=(3, 40, short)), w, relative=relative)


@pytest.mark.parametrize("short", few([7, 8, 5, 11, 15], 2))
def test_transposed_tiles_of_views(short):
    wide = rng.normal(size=(203, 2 * short + 3))
    w = rng.random(short) + 1
    views = [
        wide[:, :short],
        wide[:, 1 : short + 1],
        wide[::-1, -short:],
        wide[::3, 2 : short + 2],
        wide[:, short - 1 :: -1],
    ]
    views += [
        np.broadcast_to(wide[0, :short], (50, short)),
        np.asfortranarray(wide[:, :short]),
        wide[1:, : 2 * short : 2],
    ]
    for x in views:
        for y in (x, np.ascontiguousarray(x), wide[: len(x), :short]):
            if y.shape == x.shape:
                agree(turned, x, y, w)
    guarded = np.full((100, short + 2), 7.0)
    guarded[1:-1, 1:-1] = rng.normal(size=(98, short))

    def inside(x):
        x[1:-1, 1:-1] = softmax(x[1:-1, 1:-1])

    expected, inner = guarded.copy(), guarded
    inside(expected)
    jitrt.jit(inside)(inner)
    np.testing.assert_allclose(inner, expected, rtol=1e-12)


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "?bhHilqFD")
def test_transposed_tiles_of_other_types(char):
    for short in (5, 8, 13):
        x = rng.integers(0, 2 if char == "?" else 5, (300, short)).astype(char)

        def f(x):
            return (
                x.sum(-1),
                x.any(-1),
                x.prod(-1),
                (x * x).sum(-1, keepdims=True) * 2,
                x / ((x * x).sum(-1, keepdims=True) + 1),
            )

        agree(f, x, relative=1e-6)


def test_transposed_tiles_in_place():
    """A result that takes the place of its operand, written tile by tile."""

    def f(x):
        for _ in range(3):
            x = x / np.sqrt((x * x).sum(axis=-1, keepdims=True)) + np.exp(x) * 0.1
        return x

    def g(x):
        x /= x.sum(axis=-1, keepdims=True)
        np.exp(x, out=x)

    for short in (5, 11):
        for count in (40, 5001):
            x = rng.random((count, short)) + 0.5
            np.testing.assert_allclose(jitrt.jit(f)(x), f(x), rtol=1e-12)
            one, other = x.copy(), x.copy()
            g(one)
            jitrt.jit(g)(other)
            np.testing.assert_allclose(other, one, rtol=1e-12)


def test_transposed_tiles_on_threads():
    x = rng.normal(size=(40_003, 11))

    def f(x):
        return softmax(x), x.sum(1), x.max(1), x / np.abs(x).sum(1, keepdims=True)

    for one, several, want in zip(jitrt.jit(f, threads=1)(x), jitrt.jit(f)(x), f(x)):
        np.testing.assert_array_equal(one, several)
        np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-12)


def test_loop_nests_of_transposed_tiles(golden):
    nests = jitrt.jit(lambda x: (x.sum(axis=1), softmax(x))).explain(np.ones((500, 11))).loop_nests
    golden("schedule/transposed_tiles", "\n\n".join(map(str, nests)))
