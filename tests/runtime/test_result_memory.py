"""Memory of results: kept blocks are reused, and nobody can tell."""

import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
from jitrt.kernels import allocator

import jitrt
from jitrt.runtime import results

N = 200_000  # float64: well above what counts as large
x = np.arange(float(N))


def double(a):
    return a * 2


def kept():
    return int(results._context[allocator.KEPT]), int(results._context[allocator.BYTES_KEPT])


@pytest.fixture
def fast():
    function = jitrt.jit(double)
    function(x)
    jitrt.clear_caches()
    assert kept() == (0, 0)
    return function


def test_a_freed_result_is_the_next_one(fast):
    first = fast(x)
    place = first.ctypes.data
    del first
    assert kept() == (1, 8 * N)
    assert fast(x).ctypes.data == place


def test_living_results_are_never_shared(fast):
    many = [fast(x + k) for k in range(20)]
    for k, array in enumerate(many):
        np.testing.assert_array_equal(array, (x + k) * 2)
    assert len({array.ctypes.data for array in many}) == 20


def test_views_keep_the_block_alive(fast):
    view = fast(x)[::2]
    other = fast(x + 1)
    np.testing.assert_array_equal(view, x[::2] * 2)
    assert not np.shares_memory(view, other)


def test_results_are_ordinary_arrays(fast):
    array = fast(x)
    assert array.flags.owndata and array.flags.writeable and array.base is None
    array.resize(2 * N, refcheck=False)
    np.testing.assert_array_equal(array[:N], x * 2)
    del array
    np.testing.assert_array_equal(fast(x), x * 2)


@pytest.fixture
def small_limit():
    limit = int(results._context[allocator.LIMIT])
    results._context[allocator.LIMIT] = 20 * N
    yield 20 * N
    results._context[allocator.LIMIT] = limit


def test_other_sizes_and_the_limit(fast, small_limit):
    for size in (N, 2 * N, N // 2, N, 4 * N):
        np.testing.assert_array_equal(fast(np.arange(float(size)))[:10], x[:10] * 2)
        assert kept()[1] <= small_limit
    jitrt.clear_caches()
    assert kept() == (0, 0)


def test_many_sizes_evict_the_oldest(fast):
    for k in range(allocator.MOST_BLOCKS + 10):
        fast(x[: N - k])
        assert kept()[0] <= allocator.MOST_BLOCKS


def test_arrays_of_the_user_come_from_elsewhere(fast):
    fast(x)
    before = kept()
    del_me = np.empty(N)
    assert kept() == before
    del del_me
    assert kept() == before


def test_tracemalloc_sees_results(fast):
    tracemalloc.start()
    array = fast(x)
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert traced >= array.nbytes


def test_results_outlive_the_interpreter():
    code = textwrap.dedent(
        """
        import sys
        import numpy as np
        import jitrt
        f = jitrt.jit(lambda a: (a * 2, a.sum(axis=0)))
        keep = [f(np.ones((500, 500))) for _ in range(5)]
        sys.keep = keep
        class Late:
            def __del__(self):
                self.array = None
        late = Late()
        late.array = f(np.ones((500, 500)))[0]
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
