"""Programs for any size: arrays with gaps, and integers on which programs depend."""

import random

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.call import templates

pytestmark = pytest.mark.filterwarnings("ignore")

CUTS = [
    lambda x: x[::2],
    lambda x: x[:, ::2],
    lambda x: x[1:-1, 1:],
    lambda x: x.T[1:],
    lambda x: x[::-1],
    lambda x: x[:, ::-1],
    lambda x: x[::-2, ::3],
    lambda x: x[::3].T,
    lambda x: x.astype(np.float32)[:, ::2],
    lambda x: x.astype(complex).imag,
    lambda x: np.broadcast_to(x[0], x.shape),
    lambda x: np.broadcast_to(x[:, :1], x.shape),
    lambda x: np.lib.stride_tricks.sliding_window_view(x[:, 0], 3) if len(x) > 2 else x[:, :2],
    lambda x: np.asfortranarray(x)[1:],
    lambda x: x,
]
OPERATIONS = [
    lambda x, y: np.exp(x) * 2 + 1,
    lambda x, y: x - x.mean(axis=0),
    lambda x, y: x / (x.sum(axis=1)[:, None] + 2) + y.sum(),
    lambda x, y: x[1:] - x[:-1],
    lambda x, y: x[:, ::-1] * 2,
    lambda x, y: x.T @ x,
    lambda x, y: x.reshape(-1) * 0.5,
    lambda x, y: np.concatenate([x, x[:1]]) + 1,
    lambda x, y: np.cumsum(x, axis=0),
    lambda x, y: x.ravel()[::2] + 1,
    lambda x, y: (np.where(x > 0.5, x, -x), x.max(axis=0, initial=0)),
    lambda x, y: (x + 1, y[::-1] * 2),
    lambda x, y: x.copy(),
    lambda x, y: np.sqrt(x.T),
]


def same(got, want):
    """Whether a result is that of NumPy, in the same layout."""
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for a, b in zip(got, want, strict=True):
        assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
        tolerance = 1e-5 if b.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(a, b, tolerance, tolerance)
        if isinstance(b, np.ndarray) and b.size > 1:
            shown = [[s for s, n in zip(v.strides, v.shape) if n > 1] for v in (a, b)]
            assert shown[0] == shown[1], b.shape


def outcome(function, args):
    try:
        return function(*args)
    except (ValueError, IndexError, ZeroDivisionError, TypeError) as error:
        return type(error)


def check(many, plain, args):
    """Whether a call is like one of the plain function, with what it writes."""
    given = [np.lib.stride_tricks.as_strided(a, a.shape, a.strides) if isinstance(a, np.ndarray) else a for a in args]
    want = outcome(plain, given)
    got = outcome(many, args)
    if isinstance(want, type):
        assert got is want
    else:
        assert not isinstance(got, type), (got, [getattr(a, "shape", a) for a in args])
        same(got, want)


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_arrays_with_gaps(seed):
    chosen, generator = random.Random(seed), np.random.default_rng(seed)
    operation = chosen.choice(OPERATIONS)
    cuts = chosen.sample(CUTS, 2)
    many = jitrt.jit(operation)
    with np.errstate(all="ignore"):
        for k in range(24):
            rows, columns = (chosen.choice([0, 1, 2, 3, 8, 17, 40, 41, 64, 100]) for _ in range(2))
            if k % 3 == 0:
                columns = rows
            x = chosen.choice(cuts)(generator.random((rows, columns)) if rows and columns else np.ones((rows + 1, 3)))
            check(many, operation, (x, chosen.choice(cuts)(generator.random((5 + k, 4)))))


@pytest.mark.parametrize("cut", CUTS)
def test_new_layouts_are_not_traced(cut):
    many, plain = (make(lambda x: np.exp(x) + x[:1]) for make in (jitrt.jit, lambda f: f))
    for n in range(60, 100):
        x = cut(np.random.default_rng(n).random((n, 2 * n + 1)))
        same(many(x), plain(x))
    assert many.cache_info().slow_calls <= 8


def smoothed(x):
    x[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[2:] + x[:-2])
    return x.sum()


def shifted(x):
    x[1:] += x[:-1] * 0.5
    x *= 2
    return x.max(initial=0)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("function", [smoothed, shifted])
@pytest.mark.parametrize("cut", CUTS[:8] + CUTS[11:])
@pytest.mark.parametrize("least", [4, 300])
def test_what_is_written_has_gaps(function, cut, least):
    many = jitrt.jit(function)
    for n in [*range(least, least + 12), least + 1]:
        base = np.random.default_rng(n).random((n, n + 3))
        x, y = cut(base.copy()), cut(base.copy())
        if not x.flags.writeable:
            return
        np.testing.assert_allclose(many(x), function(y), 1e-11)
        np.testing.assert_allclose(x, y, 1e-12, 1e-12)


def blended(x, y):
    x[:, 1:] = 0.5 * x[:, 1:] + y[:, :-1]
    return y.sum()


def test_arrays_with_gaps_that_overlap():
    many = jitrt.jit(blended)
    for n in range(20, 80):
        base = np.random.default_rng(n).random((2 * n + 4, 9))
        other, shift = base.copy(), n % 4
        parts = [slice(shift, n + shift), slice(n, 2 * n), slice(0, 2 * n, 2), slice(1, 2 * n + 1, 2)]
        one, two = parts[n % 2 * 2 : n % 2 * 2 + 2]
        got, want = many(base[one, ::2], base[two, ::2]), blended(other[one, ::2], other[two, ::2])
        np.testing.assert_allclose(got, want, 1e-11)
        np.testing.assert_allclose(base, other, 1e-12)


def test_windows_that_overlap_themselves_are_told_apart():
    def add(x):
        x[...] = x + 1
        return x.sum()

    many = jitrt.jit(add)
    for n in range(20, 50):
        for step in (8, 16, 24):
            one, other = np.arange(200.0), np.arange(200.0)
            x, y = (np.lib.stride_tricks.as_strided(m, (n, 3), (step, 8)) for m in (one, other))
            assert many(x) == add(y)
            np.testing.assert_array_equal(one, other)


def test_other_arrays_keep_their_shapes(tmp_path):
    def both(x, y):
        return x * 2, y + 1

    many = jitrt.jit(both)
    for n in range(20, 40):
        mapped = np.memmap(tmp_path / f"{n}", np.float64, "w+", shape=(n % 3 + 1,))
        turned = np.ones(n % 4 + 1, ">f8")
        for y in (mapped, turned):
            got, want = many(np.ones(n), y), both(np.ones(n), y)
            for a, b in zip(got, want, strict=True):
                assert (type(a), a.shape, a.dtype) == (type(b), b.shape, b.dtype)
                np.testing.assert_array_equal(a, b)


INTEGERS = [
    (lambda x, k: x[:k] * 2, lambda n, k: True),
    (lambda x, k: x[k:] + x[: len(x) - k], lambda n, k: True),
    (lambda x, k: x[-k:] * 2, lambda n, k: True),
    (lambda x, k: (x[k:] - x[:-k]) / k, lambda n, k: True),
    (lambda x, k: x[k] + x, lambda n, k: k < n),
    (lambda x, k: np.zeros(k) + x[0], lambda n, k: n),
    (lambda x, k: np.full((k, 2), 0.5) * k, lambda n, k: True),
    (lambda x, k: x[::k] + 1, lambda n, k: k),
    (lambda x, k: np.cumsum(x)[k:] * k, lambda n, k: True),
    (lambda x, k: np.resize(x, n) if (n := 3) else k, lambda n, k: n),
    (lambda x, k: np.tile(x, k) + 1, lambda n, k: k >= 0),
    (lambda x, k: np.repeat(x, k) + 1, lambda n, k: True),
    (lambda x, k: np.roll(x, k) + 1, lambda n, k: True),
    (lambda x, k: np.pad(x, k) + 1, lambda n, k: k >= 0),
    (lambda x, k: x[: x.shape[0] // max(k, 1)] * 2, lambda n, k: True),
    (lambda x, k: np.broadcast_to(x, (k, len(x))).sum(axis=0), lambda n, k: k > 0),
    (lambda x, k: x[:k].reshape(k, 1) * 2, lambda n, k: 0 <= k <= n),
    (lambda x, k: x[:k].sum() if k % 2 else x[k:].sum(), lambda n, k: True),
    (lambda x, k: x**k, lambda n, k: k < 9),
    (lambda x, k: sum(x * j for j in range(k)), lambda n, k: 1 < k < 9),
    (lambda x, k: np.arange(k) + 0.5, lambda n, k: True),
    (lambda x, k: x[min(k, len(x)) :] * 2.0, lambda n, k: True),
    (lambda x, k: np.diff(x)[k:] + 1, lambda n, k: True),
    (lambda x, k: (x * 2, k, x[:k].shape, k + 1), lambda n, k: k),
]


@pytest.mark.parametrize("number", range(len(INTEGERS)))
def test_integers_on_which_programs_depend(number):
    plain, makes_sense = INTEGERS[number]
    chosen = random.Random(number)
    many = jitrt.jit(plain)
    for _ in range(60):
        n, k = chosen.choice([0, 1, 2, 3, 7, 20, 50, 51, 64]), chosen.choice([-7, -2, -1, 0, 1, 2, 3, 5, 7, 20, 50, 64])
        if k < 0 and number in (5, 6, 7):
            k = -k
        if makes_sense(n, k):
            x = np.random.default_rng(n).random(n)
            want, got = outcome(plain, (x, k)), outcome(many, (x, k))
            if isinstance(want, type):
                assert got is want, (n, k, got)
            elif number == len(INTEGERS) - 1:
                assert (want[1:], *map(type, want)) == (got[1:], *map(type, got))
            else:
                assert not isinstance(got, type), (n, k, got)
                same(got, want)


@pytest.mark.parametrize("number", [*range(6), 8, 10, 11, 14, 16])
def test_new_integers_are_not_traced(number):
    plain, _ = INTEGERS[number]
    many, x = jitrt.jit(plain), np.random.default_rng(number).random(400)
    for k in range(20, 120):
        same(many(x, k), plain(x, k))
    assert many.cache_info().slow_calls <= 12


def test_integers_of_which_programs_know_the_value_have_templates_each():
    many = jitrt.jit(lambda x, k: x**k)
    for n in range(30, 130):
        x = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(many(x, 2 + n % 3), x ** (2 + n % 3), 1e-12)
    assert many.cache_info().slow_calls < 25


def test_huge_integers():
    many = jitrt.jit(lambda x, k: x[:k] + 1)
    for k in [*range(2, 12), 1 << 52, (1 << 63) - 1, -(1 << 63), 1 << 70, 5, -(1 << 63), 7, -1, -1]:
        same(many(np.ones(9), k), np.ones(9)[:k] + 1)


def test_integers_alone():
    many = jitrt.jit(lambda k, m: np.zeros((k, m)) + 0.5)
    for k in range(60):
        same(many(k - 1 if k % 7 == 0 and k else k, 3 + k), np.zeros((k - 1 if k % 7 == 0 and k else k, 3 + k)) + 0.5)
    assert many.cache_info().slow_calls < 20


def test_what_tells_classes_of_integers_apart_sees_integers():
    many = jitrt.jit(lambda x, k: x[:k] * 2 if type(k) is int else x)
    for k in range(2, 30):
        same(many(np.ones(40), k), np.ones(k) * 2)


def test_signatures_tell_which_integers_may_be_any():
    many = jitrt.jit(lambda x, k: x[:k] + 1)
    for k in range(3, 20):
        many(np.ones(30), k)
    assert "f8(s0,), int s1" in [s.arguments for s in many.signatures()]


def test_the_same_programs_are_made_from_templates_and_for_one_layout(monkeypatch):
    def program(x, k):
        z = x[k:] * x[:-k]
        return z.sum(axis=0) + z.max(), z[::2]

    many = jitrt.jit(program)
    for n in range(40, 60):
        x, k = np.random.default_rng(n).random((n, 2 * n))[:, ::2], n % 7 + 1
        got = many(x, k)
        with monkeypatch.context() as patch:
            patch.setattr(templates.Templates, "find", lambda *_: None)
            single = jitrt.jit(program)(x, k)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(got, single, strict=True))


BESIDE_NUMPYS = [
    lambda x, n: x * (np.float32(2) * n),
    lambda x, n: (x + 1, np.float32(2) * n, n * np.float32(2), n - np.float32(2)),
    lambda x, n: (x + 1, np.add(np.float32(1), n), np.maximum(n, np.float32(3)), np.sqrt(n)),
    lambda x, n: (x + 1, n * np.int8(2), np.int8(2) * n, n // np.int64(2), n % np.int16(5)),
    lambda x, n: (x + 1, n == np.int64(7), np.int64(7) < n, n > np.float32(7), n / np.int64(2)),
    lambda x, n: (x + 1, np.arange(5, dtype=np.float32) * n, np.full(3, n, np.float32)),
]


@pytest.mark.parametrize("plain", BESIDE_NUMPYS)
def test_numbers_beside_those_of_numpy(plain):
    of_shapes, of_integers = jitrt.jit(lambda x: plain(x, x.shape[0])), jitrt.jit(lambda x, n: (plain(x, n), x[:n]))
    for n in range(2, 30):
        x = np.ones(n, np.float32)
        same(of_shapes(x), plain(x, n))
        same(of_integers(x, n)[0], plain(x, n))


def test_large_products_of_integers():
    def mixed(x, k):
        y = x[: k % 5]
        return y * (((k * 6364136223846793005 + 1442695040888963407) % 2**64) / 2**64), k**6 > 2**63, k * k * k < 2**62

    many = jitrt.jit(mixed)
    for k in [*range(2, 40), 1 << 20, (1 << 20) + 1, 1 << 31, 1 << 40, 1 << 51, 1 << 52, 7]:
        got, want = many(np.ones(9), k), mixed(np.ones(9), k)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1:] == want[1:]


def test_integers_that_are_parts_of_a_trace_at_first():
    for _ in range(2):  # the second function knows at its first call that sizes vary
        many = jitrt.jit(lambda x, k: (x + 1.5, np.full(3, k), x[:k]))
        for k in range(2, 9):
            got, want = many(np.ones(k), k), (np.ones(k) + 1.5, np.full(3, k), np.ones(k))
            same(got, want)
        for n in range(30, 36):
            same(many(np.ones(n), 2)[1], np.full(3, 2))
            same(many(np.ones(n), 7)[1], np.full(3, 7))
