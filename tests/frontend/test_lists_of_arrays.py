"""Functions with loops over a list of arrays: one program for lists of any length, as NumPy in value and in memory."""

import numpy as np
import pytest

import jitrt

SHAPE = 40


def total(v):
    s = 0
    for a in v:
        s = s + a * 2
    return s


def weighted(v, w):
    t = np.zeros_like(v[0])
    for a, k in zip(v, w):
        t = t + k * a
    return t / len(v)


def largest(v):
    m = v[0].copy()
    for i in range(1, len(v)):
        m = np.maximum(m, v[-i])
    return m, np.argmax(m)


def counted(v):
    s = 0.0
    for i, a in enumerate(v):
        s += (a * a).sum() * i
    return s


def stacked(v):
    rows, t = np.stack(v), 0.0
    for r in rows:
        t += r.max()
    return t, rows


def sums(v):
    made = []
    for a in v:
        made.append(a.sum())
    return np.array(made)


def nested(d):
    s = 0
    for a in d["v"]:
        s = s + a * d["k"]
    return s


def into(v, out):
    out[:] = 0
    for a in v:
        out += a
    return out


def one_of_them(v):
    best = v[0]
    for a in v:
        if a.sum() > best.sum():
            best = a
    return best


def doubled(v):
    for a in v:
        a *= 2


def product(v):
    p = np.eye(len(v[0]))
    for m in v:
        p = p @ m
    return p


def arrays(k, dtype=float, shape=SHAPE):
    rng = np.random.default_rng(k)
    return [rng.uniform(1, 9, size=shape).astype(dtype) for _ in range(k)]


def same(x, y):
    if isinstance(x, tuple):
        return all(map(same, x, y))
    return type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype and np.allclose(x, y, rtol=1e-6)


PROGRAMS = {
    "total": (total, lambda v: (v,)),
    "weighted": (weighted, lambda v: (v, [0.5 * k for k in range(len(v))])),
    "largest": (largest, lambda v: (v,)),
    "counted": (counted, lambda v: (v,)),
    "stacked": (stacked, lambda v: (v,)),
    "sums": (sums, lambda v: (v,)),
    "nested": (nested, lambda v: ({"v": v, "k": 1.5},)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_of_any_length(name, dtype):
    function, given = PROGRAMS[name]
    fast = jitrt.jit(function)
    for k in [*range(1, 25), 3, 200]:
        v = arrays(k, dtype)
        assert same(fast(*given(v)), function(*given([a.copy() for a in v]))), k
    assert fast.cache_info().compiled <= 5, "the first few lengths are unrolled"
    before = fast.cache_info().slow_calls
    for k in range(30, 60):
        v = arrays(k, dtype)
        assert same(fast(*given(v)), function(*given(v)))
    assert fast.cache_info().slow_calls == before, "native code reads the lists"


@pytest.fixture
def staged():
    """`total`, of which a procedure serves lists of any length."""
    fast = jitrt.jit(total)
    for k in range(1, 9):
        fast(arrays(k))
    return fast


@pytest.mark.parametrize(
    "v",
    [
        [np.ones(SHAPE), np.ones(SHAPE + 1)],
        [np.ones(SHAPE), np.ones(SHAPE, np.float32)],
        [np.ones(SHAPE), np.ones((1, SHAPE))],
        [np.ones(SHAPE), 2.0],
        [np.ones(SHAPE), np.ones(2 * SHAPE)[::2]],
        [np.ones((SHAPE, 3))] * 5,
        [np.ones((SHAPE, 3)).T] * 5,
        [np.ones(SHAPE).astype(">f8")] * 5,
        [np.ones(SHAPE).view(np.ma.MaskedArray)] * 5,
        [np.ones(())] * 5,
        [np.ones(0)] * 5,
        [],
    ],
    ids=range(12),
)
def test_other_lists(staged, v):
    for _ in range(4):
        try:
            want = total(v)
        except ValueError as error:
            with pytest.raises(ValueError, match=r"broadcast"):
                staged(v)
            assert "broadcast" in str(error)
            continue
        got = staged(v)
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
        assert np.shape(got) == np.shape(want)
    assert same(staged(arrays(9)), total(arrays(9)))


def test_lists_that_share_memory_with_what_is_written():
    fast, k = jitrt.jit(into), 0
    for k in range(2, 12):
        v, out = arrays(k), np.ones(SHAPE)
        assert fast(v, out) is out
        assert same(out, total(v) / 2)
    for n in range(k):
        v = arrays(k)
        copies = [a.copy() for a in v]
        assert fast(v, v[n]) is v[n]
        into(copies, copies[n])
        np.testing.assert_array_equal(v, copies)


def test_arrays_of_the_list_as_results():
    fast = jitrt.jit(one_of_them)
    for k in range(1, 12):
        v = arrays(k)
        assert fast(v) is one_of_them(v)


def test_arrays_of_the_list_that_change():
    fast = jitrt.jit(doubled)
    for k in range(1, 12):
        v = arrays(k)
        copies = [a.copy() for a in v]
        fast(v)
        doubled(copies)
        np.testing.assert_array_equal(v, copies)


def test_matrices():
    fast = jitrt.jit(product)
    for k in range(1, 20):
        v = arrays(k, shape=(3, 3))
        np.testing.assert_allclose(fast(v), product(v), rtol=1e-9)
    assert not fast.cache_info().plain


def test_lists_are_not_kept():
    import gc
    import weakref

    fast = jitrt.jit(total)
    for k in range(1, 12):
        fast(arrays(k))
    v = arrays(5)
    refs = [weakref.ref(a) for a in v]
    fast(v)
    del v
    gc.collect()
    assert not any(r() is not None for r in refs)
