"""Masked arrays as arguments and inside of functions: what is compiled, what it gives, and what it leaves."""

import copy
import pickle

import numpy as np
import pytest

import jitrt


def same(one, other):
    assert type(one) is type(other) is np.ma.MaskedArray
    np.testing.assert_allclose(one.data, other.data, rtol=1e-12)
    assert one.dtype == other.dtype and (one._mask is np.ma.nomask) == (other._mask is np.ma.nomask)
    np.testing.assert_array_equal(one._mask, other._mask)
    assert one.fill_value == other.fill_value and type(one.fill_value) is type(other.fill_value)
    assert list(vars(one)) == list(vars(other))


def some(n=50, fill=None, seed=0):
    rng = np.random.default_rng(seed)
    return np.ma.array(rng.integers(-9, 9, n) * 0.5, mask=rng.random(n) < 0.4, fill_value=fill)


@pytest.mark.parametrize(
    "function",
    [
        lambda m: m * 2 + 1,
        lambda m: 1 / m,
        lambda m: m > 0,
        lambda m: m**2,
        lambda m: np.sqrt(m),
        lambda m: np.ma.log(m),
        lambda m: np.ma.masked_greater(m, 2.0),
        lambda m: np.ma.masked_invalid(m.data / 0.0),
        lambda m: np.ma.where(m > 0, m, -1.0),
        lambda m: np.ma.masked_array(m.data, mask=m.mask, fill_value=3),
        lambda m: m.cumsum(),
        lambda m: m.reshape(5, 10).max(axis=0),
        lambda m: m.reshape(5, 10).var(axis=1),
        lambda m: m[::2],
        lambda m: m - m.mean(),
    ],
)
@pytest.mark.parametrize("fill", [None, 7.0])
def test_results_are_masked_arrays(function, fill):
    fast = jitrt.jit(function)
    with np.errstate(all="ignore"):
        for seed in range(4):
            m = some(fill=fill, seed=seed)
            same(fast(m), function(m))
    assert fast.plain_reason == ""


def test_native_code_serves_calls():
    fast = jitrt.jit(lambda m: (m * 2 + 1).sum() + m.mean())
    m = some()
    for _ in range(20):
        fast(m)
    before = fast.cache_info().slow_calls
    for seed in range(20):
        m = some(seed=seed)
        assert fast(m) == pytest.approx((m * 2 + 1).sum() + m.mean())
    assert fast.cache_info().slow_calls == before


def test_all_is_masked():
    fast = jitrt.jit(lambda m: m.sum())
    for _ in range(3):
        assert fast(np.ma.masked_all(50)) is np.ma.masked
        assert fast(some()) == some().sum()


def test_a_mask_that_shrinks_is_settled_in_each_call():
    fast = jitrt.jit(lambda x: np.ma.masked_greater(x, 5.0))
    for x in (np.arange(10.0), np.zeros(10), np.arange(10.0)):
        same(fast(x), np.ma.masked_greater(x, 5.0))
    assert fast.plain_reason == ""


def test_nomask_is_told_apart():
    fast = jitrt.jit(lambda m: m + 1)
    plain, masked = np.ma.array(np.arange(9.0)), np.ma.array(np.arange(9.0), mask=np.zeros(9, bool))
    for m in (plain, masked, plain, masked):
        same(fast(m), m + 1)


def test_argument_is_written():
    def f(m, x):
        m += x
        m[2:4] = 7.0
        m[m > 6.0] = np.ma.masked
        return m

    fast = jitrt.jit(f)
    for seed in range(8):
        one, other, x = some(seed=seed), some(seed=seed), np.arange(50.0) / 10
        mask = one._mask
        assert fast(one, x) is one and one._mask is mask
        f(other, x)
        same(one, other)
    assert fast.plain_reason == ""


def test_argument_gets_a_mask():
    def f(m):
        m[1] = np.ma.masked

    fast = jitrt.jit(f)
    for _ in range(8):
        m = np.ma.array(np.arange(2000.0))
        fast(m)
        assert m.mask.sum() == 1 and m.mask[1]
    assert fast.plain_reason == ""


def test_fill_value_is_made_and_written():
    def f(m, v):
        before = m.filled()
        m.fill_value = v
        return before

    fast = jitrt.jit(f)
    for fill in (None, 2.0, None, 2.0):
        one, other = some(fill=fill), some(fill=fill)
        np.testing.assert_array_equal(fast(one, 4.0), f(other, 4.0))
        assert one.fill_value == other.fill_value == 4.0


def test_views_of_the_argument_are_shared():
    fast = jitrt.jit(lambda m: (m.data, m.mask, m[1:], m.T))
    for _ in range(8):
        m = some()
        data, mask, part, turned = fast(m)
        data[1] = 99.0
        assert type(data) is type(mask) is np.ndarray and m.data[1] == part.data[0] == turned.data[1] == 99.0
        mask[1] = not mask[1]
        assert m.mask[1] == part.mask[0] == turned.mask[1] == mask[1]


def test_data_and_mask_that_others_see():
    def f(m, x):
        m *= 2.0
        return m + x

    fast = jitrt.jit(f)
    for _ in range(8):
        one, other = some(), some()
        same(fast(one, one.data), f(other, other.data))
        same(fast(one, one), f(other, other))
        same(fast(one, np.ma.array(one.data, mask=one.mask)), f(other, np.ma.array(other.data, mask=other.mask)))
        same(one, other)


def test_arguments_are_told_apart_by_what_they_hold():
    class Other(np.ma.MaskedArray):
        pass

    class Tagged(np.ndarray):
        pass

    def f(m):
        return m + 1

    fast = jitrt.jit(f)
    usual = some()
    odd = some().view(Other)
    informed = some()
    informed._optinfo["unit"] = "m"
    tagged = np.ma.array(np.arange(2.0).view(Tagged))
    records = np.ma.array([(1, 2.0)], dtype=[("a", int), ("b", float)])["b"]
    for m in (usual, odd, informed, tagged, records, usual) * 3:
        got, want = fast(m), f(m)
        assert type(got) is type(want) and got._optinfo == want._optinfo and got.baseclass is want.baseclass
        assert (got == want).all() and got._isfield == want._isfield


def test_hard_masks():
    def f(m):
        m[0] = 5.0
        return m * 2

    fast = jitrt.jit(f)
    for _ in range(4):
        one, other = some(), some()
        one.harden_mask()
        other.harden_mask()
        same(fast(one), f(other))
        same(one, other)


def test_classes():
    def f(m, x):
        return (
            isinstance(m, np.ma.MaskedArray), isinstance(m, np.ndarray), isinstance(x, np.ma.MaskedArray),
            type(m) is np.ma.MaskedArray, type(m + 1) is np.ma.masked_array, np.ma.isMaskedArray(x), hasattr(m, "mask"),
            hasattr(x, "mask"), m + x,
        )  # fmt: skip

    fast = jitrt.jit(f)
    for _ in range(3):
        got, want = fast(some(), np.ones(50)), f(some(), np.ones(50))
        assert got[:-1] == want[:-1]
        same(got[-1], want[-1])
    assert fast.plain_reason == ""


GLOBAL = some()


def test_masked_arrays_outside():
    def f(x):
        return x + GLOBAL

    fast = jitrt.jit(f)
    for _ in range(3):
        same(fast(np.ones(50)), f(np.ones(50)))
    GLOBAL[0] = np.ma.masked
    same(fast(np.ones(50)), f(np.ones(50)))


def test_warnings_and_exceptions():
    def f(m, n):
        return np.ma.exp(m) + n

    fast = jitrt.jit(f)
    big = np.ma.array([1000.0, 1.0] * 9, mask=[0, 1] * 9)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow"):
            fast(big, big)
        with pytest.raises(ValueError, match="broadcast"), np.errstate(over="ignore"):
            fast(big, some(3))


def test_results_live_on_their_own():
    fast = jitrt.jit(lambda m: (m + 1, m + 1))
    for _ in range(4):
        one, other = fast(some(2000))
        one[0] = np.ma.masked
        one[1] = 5.0
        assert not np.shares_memory(one.data, other.data)
        same(other, some(2000) + 1)
        same(copy.deepcopy(one), one)
        same(pickle.loads(pickle.dumps(other)), other)
        assert one[1:3].sum() == one.data[1] + (0 if one.mask[2] else one.data[2])


def test_in_containers_and_by_name():
    def f(d, *, m):
        return {"a": d["m"] * m, "b": [m.count()]}

    fast = jitrt.jit(f)
    for _ in range(6):
        got = fast({"m": some()}, m=some(seed=1))
        same(got["a"], some() * some(seed=1))
        assert got["b"] == [some(seed=1).count()]


def test_loops_and_sizes():
    def f(m, n):
        for _ in range(n):
            m = m * 0.5 + 1.0
        return m

    fast = jitrt.jit(f)
    for size in (10, 30, 30, 7, 100):
        m = some(size)
        same(fast(m, 3), f(m, 3))


def test_strided_and_read_only():
    fast = jitrt.jit(lambda m: m * 2)
    m = some(100)
    for view in (m[::2], m[::-1], m.reshape(10, 10).T, m.reshape(10, 10)[:, 1:]):
        for _ in range(3):
            same(fast(view), view * 2)
    m.data.flags.writeable = False
    fixed = np.ma.array(m.data, mask=m.mask)
    for _ in range(3):
        same(fast(fixed), fixed * 2)
