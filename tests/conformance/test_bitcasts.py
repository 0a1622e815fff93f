"""Views of the same bytes as elements of another type: they share memory, and are read and written as in NumPy."""

import numpy as np
import pytest

import jitrt

rng = np.random.default_rng(5)


def exponents(x):
    return (x.view(np.uint64) >> np.uint64(52)) & np.uint64(0x7FF)


def flipped(x):
    y = x * 2
    bits = y.view(np.int64)
    bits ^= np.int64(-(2**63))
    return y


def nudged(x):
    x.view(np.int64)[::2] += 1
    return x


def hashed(x):
    bits = x.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return (bits >> np.uint64(11)) * (1.0 / (1 << 53))


def inverse_roots(x):
    x = np.abs(x).astype(np.float32) + np.float32(0.5)
    y = (np.int32(0x5F3759DF) - (x.view(np.int32) >> np.int32(1))).view(np.float32)
    return y * (np.float32(1.5) - np.float32(0.5) * x * y * y)


def chosen(x):
    x[x.view(np.int64) % 2 == 0] = -1.0
    return x.view(dtype="i8").copy()


def of_transposed(x):
    bits = x.T.view(np.int64)
    bits[:1] = 0
    return bits, x[-1:].copy()


FUNCTIONS = {
    "exponents": exponents,
    "flipped": flipped,
    "nudged": nudged,
    "hashed": hashed,
    "inverse roots": inverse_roots,
    "chosen": chosen,
    "of transposed": of_transposed,
    "returned": lambda x: x.view("i8"),
    "reversed": lambda x: (x + 1).view("i8")[::-1],
    "dates": lambda x: x.view("M8[s]") + np.timedelta64(3, "s"),
    "numbers": lambda x: (x.max(initial=0.5).view(np.int64), x.view(np.uint64).max(initial=7).view(float)),
    "same type": lambda x: (x.view(), x.view(np.ndarray), x.view(float)[1:]),
    "literals": lambda x: x.view(np.int64) + np.full(x.shape, 1.0).view(np.int64),
    "sorted": lambda x: np.sort(x.view(np.int64)),
    "both": lambda x: np.signbit(x) | (x.view(np.int64) < 0),
    "other size": lambda x: np.ascontiguousarray(x).view(np.uint8).sum(),
}
LAYOUTS = {"C": lambda x: x, "Fortran": np.asfortranarray, "reversed": lambda x: x[::-1]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bytes_are_seen_as_other_elements(name, layout):
    function = FUNCTIONS[name]
    fast = jitrt.jit(function)
    for shape in [(5,), (41,), (3000,), (0,), (7, 8), (8, 7), (60, 50)]:
        x, y = (LAYOUTS[layout](rng.integers(1, 9, shape) * 0.7 - 3) for _ in range(2))
        y[...] = x
        want, got = function(x), fast(y)
        np.testing.assert_array_equal(x, y)
        wanted, gotten = (v if isinstance(v, tuple) else (v,) for v in (want, got))
        assert len(wanted) == len(gotten)
        for a, b in zip(wanted, gotten):
            assert type(a) is type(b) and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides and np.shares_memory(a, x) == np.shares_memory(b, y)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"other size"}))
def test_they_are_compiled(name):
    assert jitrt.jit(FUNCTIONS[name]).explain(np.linspace(1, 2, 3000)).compiled is not None


@pytest.mark.parametrize("target", ["f4", "V8", ">i8", "c8", "?", np.matrix, np.recarray])
def test_what_is_more_than_another_type_is_left_to_numpy(target):
    def function(x):
        return x.view(target)

    x = np.arange(6.0)
    fast = jitrt.jit(function)
    for _ in range(3):
        try:
            want = function(x)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)[:20]):
                fast(x)
        else:
            got = fast(x)
            assert type(got) is type(want) and got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_writes_through_either_are_seen_by_both():
    def function(x):
        bits = x.view(np.int64)
        x[0] = 1.5
        first = bits[0] + 0
        bits[1] = first
        return x.copy(), bits[::2].copy()

    fast = jitrt.jit(function)
    for n in (2, 3, 500):
        x, y = np.ones(n), np.ones(n)
        for a, b in zip(function(x), fast(y)):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(x, y)
