"""Elements two to four apart: vectors are loaded with what lies between them, and nothing behind the last of them."""

import ctypes
import mmap

import numpy as np
import pytest

import jitrt

DTYPES = ("u1", "i2", "f4", "f8", "c8")


@pytest.fixture
def last_bytes():
    """Memory that ends where the process may not read: a function from a dtype and a number of elements."""
    page = mmap.PAGESIZE
    held = mmap.mmap(-1, 4 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(held))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(start + 3 * page, page, 0) == 0

    def make(dtype, n):
        return np.frombuffer(held, dtype, n, 3 * page - n * np.dtype(dtype).itemsize)

    yield make
    assert protect(start + 3 * page, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_nothing_is_read_behind_the_last_element(last_bytes, dtype, step):
    fast = jitrt.jit(lambda a: a + a)
    for n in (1, 2, 7, 16, 31, 64, 65, 129):
        memory = last_bytes(dtype, (n - 1) * step + 1)
        memory[...] = np.arange(memory.size) % 100
        np.testing.assert_array_equal(fast(memory[::step]), memory[::step] * 2)


@pytest.mark.wide
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_channels(dtype, channels):
    def mixed(image):
        weighted = [image[..., k] * (k + 2) for k in range(channels)]
        return sum(weighted), image[::-1, :, 0] - image[..., -1], np.stack(weighted[::-1], axis=-1)

    fast = jitrt.jit(mixed)
    for shape in ((1, 1), (3, 5), (16, 33), (40, 64)):
        image = (np.arange(np.prod(shape) * channels) % 60).astype(dtype).reshape(*shape, channels)
        for got, want in zip(fast(image), mixed(image)):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("step", [2, 3, 4])
def test_neighbours_are_not_written(step):
    def scaled(a):
        a[::step] = a[1::step][: len(a[::step])] * 2 + 1
        return a

    fast = jitrt.jit(scaled)
    for n in (4, 8, 12, 60, 132, 1200):
        got, want = np.arange(float(n)), np.arange(float(n))
        fast(got), scaled(want)
        np.testing.assert_array_equal(got, want)
