"""Fourteen functions that call SciPy or numba inside: compiled, agreeing, and how much faster than plain.

``python -m bench.externals`` prints the table of docs/own-operations.md. Plain and compiled calls take turns in one
process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
from scipy.linalg import lapack

import jitrt


@numba.njit
def _recursion(x: Any) -> Any:
    y = np.empty_like(x)
    last = 0.0
    for k in range(x.size):
        last = 0.9 * last + x[k]
        y[k] = last
    return y


@numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def _inner(x: Any, y: Any, out: Any) -> None:
    out[0] = 0.0
    for k in range(x.shape[0]):
        out[0] += x[k] * y[k]


@numba.njit
def _decay(last: float, x: float) -> float:
    return 0.9 * last + x if x > 0.5 else last - 0.1 * x


@numba.vectorize
def _huber(x: Any) -> Any:
    return 0.5 * x * x if abs(x) < 1.0 else abs(x) - 0.5


def _smooth(x: Any) -> Any:
    return np.exp(-np.sqrt(np.abs(np.sin(x) * 2.0 + 1.0)) * 0.5) + x * 0.1


def _tridiagonal(x: Any, d: Any, u: Any) -> Any:
    *_, y, _ = lapack.dgtsv(u, d, u, _smooth(_smooth(x)))
    return _smooth(_smooth(y))


def _solve(a: Any, b: Any) -> Any:
    return _smooth(scipy.linalg.solve(_smooth(a) + 100.0 * np.eye(a.shape[0]), b))


def _filtered(x: Any) -> Any:
    return _smooth(scipy.signal.lfilter(*scipy.signal.butter(2, 0.2), _smooth(x)))


def _convolved(x: Any) -> Any:
    return _smooth(scipy.signal.oaconvolve(_smooth(x), np.hanning(65), mode="same"))


def _blurred(x: Any) -> Any:
    blurred = scipy.ndimage.uniform_filter(_smooth(x), 3)
    return _smooth(np.clip((_smooth(x) - blurred) * 1.5 + blurred, 0.0, 1.0))


def _cosines(x: Any) -> Any:
    return _smooth(scipy.fft.idct(scipy.fft.dct(_smooth(x)) * 0.5))


def _simpson(x: Any) -> Any:
    return scipy.integrate.simpson(_smooth(x) ** 2, dx=0.1)


def _error_function(x: Any) -> Any:
    return _smooth(scipy.special.erf(_smooth(x)) * np.exp(-x * x))


def _log_gamma(x: Any) -> Any:
    return _smooth(np.exp(-scipy.special.gammaln(_smooth(x) + 1.0)))


def _njit_in_loop(x: Any) -> Any:
    total, found = 0.0, np.empty(len(x))
    for k in range(len(x)):
        total = _decay(total, x[k])
        found[k] = total
    return found


def _njit(x: Any) -> Any:
    return _smooth(_recursion(_smooth(x)))


def _short_arrays(x: Any) -> Any:
    last = x[0]
    for k in range(len(x)):
        last = _recursion(x[k] + 0.5 * last)
    return last


def _generalised(x: Any) -> Any:
    found = np.zeros(len(x))
    for k in range(1, len(x)):
        found[k] = _inner(x[k], x[k - 1]) + 0.5 * found[k - 1]
    return found


def _vectorize(x: Any) -> Any:
    return _smooth(_huber(_smooth(x) * 2.0 - 1.0)).sum()


def cases() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """What is called inside, the function, and its arguments."""
    rng = np.random.default_rng(0)
    n = 200_000
    x, a = rng.random(n), rng.random((200, 200))
    yield "`lapack.dgtsv`", _tridiagonal, (x, x + 4.0, x[:-1].copy())
    yield "`linalg.solve`", _solve, (a, a[0].copy())
    yield "`signal.lfilter`", _filtered, (x,)
    yield "`signal.oaconvolve`", _convolved, (x,)
    yield "`ndimage.uniform_filter`", _blurred, (rng.random((400, 500)),)
    yield "`fft.dct`, `fft.idct`", _cosines, (x,)
    yield "`integrate.simpson`", _simpson, (x,)
    yield "`special.erf`", _error_function, (x,)
    yield "`special.gammaln`", _log_gamma, (x,)
    yield "`@numba.njit` of an array", _njit, (x,)
    yield "`@numba.njit` of elements, in a loop", _njit_in_loop, (x,)
    yield "`@numba.njit` of rows of 100, in a loop", _short_arrays, (x.reshape(-1, 100),)
    yield "`@numba.guvectorize` of rows of 100, in a loop", _generalised, (x.reshape(-1, 100),)
    yield "`@numba.vectorize`", _vectorize, (x,)


def _taken(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def main() -> None:
    print("| calls | compiled | agrees | plain, ms | jitrt, ms | times faster |\n| --- | --- | --- | --- | --- | --- |")
    for name, function, args in cases():
        compiled = jitrt.jit(function)
        agrees = all(np.allclose(compiled(*args), function(*args), rtol=1e-12, atol=1e-13) for _ in range(3))
        turns = max(15, min(200, int(0.5 / max(_taken(function, args), 1e-6))))  # of short ones as many as of long ones
        times = [(_taken(function, args), _taken(compiled, args)) for _ in range(turns)]
        plain, ours = (min(column) * 1000 for column in zip(*times))
        is_compiled = "compiled" in str(compiled.explain(*args)).partition("\n")[0]
        answers = ["yes" if v else "no" for v in (is_compiled, agrees)]
        print(f"| {name} | {answers[0]} | {answers[1]} | {plain:.2f} | {ours:.2f} | {plain / ours:.1f} |")


if __name__ == "__main__":
    main()
