"""What NumPy makes anew in a step lies where the program needs it, and is written over."""

import numpy as np
import pytest

import jitrt

SIZE = 5000  # 40 KB: smaller arrays are left to NumPy


def _sorted(x):
    return np.sort(x) * 2 + 1


def _descending(x):
    return np.sort(a=x, kind="stable")[::-1] - 1


def _filtered(x):
    f = np.fft.rfft(x)
    f[20:] = 0
    return np.fft.irfft(f) + 1


def _spectrum(x):
    return np.abs(np.fft.fft(x, norm="ortho")) / 2


def _twice(x):
    made = np.sort(x)
    return made - made[0], np.sort(made) + 1


def _shown(x):
    made = np.sort(x)
    return made[::2], made + 1


def _padded(x):
    return np.fft.ifft(x, 2 * len(x)) * 2


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")  # of bytes in another order, in debug mode
@pytest.mark.parametrize("function", [_sorted, _descending, _filtered, _spectrum, _twice, _shown, _padded])
def test_results_are_numpys(function):
    compiled = jitrt.jit(function)
    rng = np.random.default_rng(1)
    for dtype in ("f8", "f4", ">f8"):
        for size in (SIZE, SIZE, SIZE + 2, SIZE + 4, 40, 2 * SIZE):
            x = rng.normal(size=size).astype(dtype)
            for given in (x, np.repeat(x, 2)[::2]):
                kept = given.copy()
                results = [r for _ in range(3) for r in (compiled(given),)]
                for got in results:
                    want = function(given)
                    for g, w in zip(*((r,) if isinstance(r, np.ndarray) else r for r in (got, want)), strict=True):
                        assert g.dtype == w.dtype and g.strides == w.strides
                        np.testing.assert_allclose(g, w, rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-5)
                np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize(("function", "over"), [(_sorted, "in the result"), (_spectrum, "result c16")])
def test_they_lie_in_the_frame_or_in_results(function, over):
    assert over in str(jitrt.jit(function).explain(np.random.default_rng(1).normal(size=SIZE)).memory)


def test_sorts_of_other_kinds():
    rng = np.random.default_rng(2)
    for dtype in ("i8", "u1", "?", "c16", "M8[s]", "f2"):
        x = rng.integers(0, 2 if dtype == "?" else 100, (1 << 16,)).astype(dtype)
        compiled = jitrt.jit(lambda x: np.sort(x)[::-1] == x)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), np.sort(x)[::-1] == x)


def test_what_numpy_refuses():
    compiled = jitrt.jit(lambda x: np.fft.fft(x, 0) * 2)
    for _ in range(3):
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            compiled(np.ones(SIZE))
