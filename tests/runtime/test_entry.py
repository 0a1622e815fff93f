"""The native entry: it serves calls like the one before, and passes on all others."""

import gc
import sys

import numpy as np
import pytest

import jitrt
from jitrt.runtime.entry import MISS, always_miss
from jitrt.runtime.objects import fields

pytestmark = pytest.mark.skipif(fields() is None, reason="calls are checked in Python on this build")

x = np.arange(6.0)


def axpy(a, s, b):
    return a * s + b


@pytest.fixture
def compiled():
    function = jitrt.jit(axpy)
    function(x, 2.0, x)
    assert function._entry is not always_miss
    return function


def test_it_serves_equal_types(compiled):
    np.testing.assert_array_equal(compiled._entry(x + 1, 3.0, x * 2), axpy(x + 1, 3.0, x * 2))


@pytest.mark.parametrize(
    "arguments",
    [
        (x, 2.0),
        (x, 2.0, x, x),
        (x[:5], 2.0, x[:5]),
        (x.astype(np.float32), 2.0, x),
        (x.reshape(1, 6), 2.0, x),
        (np.arange(12.0)[::2], 2.0, x),
        (x[::-1], 2.0, x),
        (x, 2, x),
        (x, np.float64(2), x),
        (x, None, x),
        (np.ma.array(x), 2.0, x),
        (x.astype(">f8"), 2.0, x),
        (np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64), 2.0, x),
        (list(x), 2.0, x),
    ],
    ids=range(14),
)
def test_it_passes_on_everything_else(compiled, arguments):
    assert compiled._entry(*arguments) is MISS
    try:
        want = axpy(*arguments)
    except TypeError:
        with pytest.raises(TypeError):
            compiled(*arguments)
        return
    got = compiled(*arguments)
    np.testing.assert_array_equal(got, want)
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_array_equal(compiled(x, 2.0, x), axpy(x, 2.0, x))


def test_scalars_and_tuples():
    def several(a):
        return a.sum(), a * 2, a.max()

    function = jitrt.jit(several)
    function(x)
    got = function._entry(x)
    assert type(got) is tuple and [type(g) for g in got] == [np.float64, np.ndarray, np.float64]
    assert got[0] == 15.0 and got[2] == 5.0


def test_results_are_fresh_and_writable(compiled):
    first, second = compiled(x, 2.0, x), compiled(x, 3.0, x)
    assert not np.shares_memory(first, second) and first.flags.owndata and first.flags.writeable
    np.testing.assert_array_equal(first, axpy(x, 2.0, x))


def test_no_reference_is_lost_or_kept(compiled):
    a, b, s = np.ones(6), np.ones(6), 1234.5
    gc.collect()
    before = [sys.getrefcount(o) for o in (a, b, s, MISS)]
    for _ in range(100):
        compiled(a, s, b)
        compiled._entry(a, s)
    gc.collect()
    after = [sys.getrefcount(o) for o in (a, b, s, MISS)]
    assert after == before


def test_memory_stays_flat():
    function = jitrt.jit(lambda a: (a * 2, a.sum()))
    big = np.ones(200_000)
    for _ in range(20):
        function(big)
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(500):
        function(big)
    gc.collect()
    assert abs(sys.getallocatedblocks() - blocks) < 50


def test_static_arguments_are_compared():
    function = jitrt.jit(lambda a, n, flag: a * n if flag else a + n)
    for n, flag in [(2, True), (3, True), (2, False), (2, True), (10**6, True), (10**6, True)]:
        np.testing.assert_array_equal(function(x, n, flag), x * n if flag else x + n)


def test_functions_left_to_numpy_are_called_directly():
    def update(a):
        a += 1
        return a

    function = jitrt.jit(update)
    for k in range(40):
        mine = np.full(3 + k % 2, float(k))
        assert function(mine) is mine and mine[0] == k + 1


def test_keywords_do_not_confuse_it(compiled):
    np.testing.assert_array_equal(compiled(x, s=5.0, b=x), axpy(x, 5.0, x))
    np.testing.assert_array_equal(compiled(x, 2.0, x), axpy(x, 2.0, x))
