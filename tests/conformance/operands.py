"""Operands of the conformance tests: special values of every dtype, and memory layouts."""

from collections.abc import Callable

import numpy as np

FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.7,
    -0.3,
    2.0,
    -3.0,
    7.0,
    1e-3,
    100.25,
    np.pi,
    np.nan,
    np.inf,
    -np.inf,
)
INTEGERS = (0, 1, 2, 3, 5, 7, 8, 13, 31, 33, 63, 64, 65, 100, -1, -2, -3, -8, -64, -100)


def special(dtype: np.dtype | str) -> np.ndarray:
    """Values of `dtype` at which operations go wrong, and a few harmless ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        inside = [v for v in INTEGERS if info.min <= v <= info.max]
        return np.array([*inside, info.min, info.min + 1, info.max, info.max - 1, info.max // 2], dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        small = [info.tiny, info.smallest_subnormal, -info.smallest_subnormal, info.tiny * dtype.type(0.75)]
        return np.array([*FLOATS, *small, info.max, info.min, info.eps], dtype)
    if dtype.kind == "c":
        parts = np.array([0.0, -0.0, 1.0, -2.5, 0.75, 1e-3, np.nan, np.inf, -np.inf], dtype.type(0).real.dtype)
        result = np.empty((len(parts), len(parts)), dtype)
        result.real, result.imag = parts[:, None], parts
        return result.ravel()
    return np.array([0, 1, -1, 86400, -7, 123456, np.iinfo(np.int64).min], np.int64).view(dtype)


def ordinary(dtype: np.dtype | str, size: int, seed: int = 0) -> np.ndarray:
    """Random values of `dtype` of moderate magnitude."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng([seed, size])
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -50, 100, size).astype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=size).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=size) + 1j * rng.normal(size=size)).astype(dtype)
    return rng.integers(-1000, 1000, size).view(dtype)


def all_pairs(*values: np.ndarray) -> list[np.ndarray]:
    """Every combination of one value of each array, as flat arrays."""
    return [np.ascontiguousarray(g.ravel()) for g in np.meshgrid(*values, indexing="ij")]


def _strided(step: int) -> Callable[[np.ndarray], np.ndarray]:
    def make(x: np.ndarray) -> np.ndarray:
        wide = np.zeros(x.size * abs(step) + 1, x.dtype)[1:]
        view = wide[:: abs(step)][: x.size][:: 1 if step > 0 else -1]
        view[...] = x
        return view

    return make


# Layouts of a vector.
LINES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": np.ascontiguousarray,
    "step2": _strided(2),
    "step3": _strided(3),
    "reversed": _strided(-1),
    "reversed2": _strided(-2),
}

# Layouts of a matrix of 5 by 7 that is made of 35 values.
MATRICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": lambda x: x.reshape(5, 7),
    "fortran": lambda x: np.asfortranarray(x.reshape(5, 7)),
    "rows reversed": lambda x: np.ascontiguousarray(x.reshape(5, 7)[::-1])[::-1],
    "columns strided": lambda x: np.repeat(x, 2).reshape(5, 14)[:, ::2],
    "row": lambda x: x[:7],
    "column": lambda x: x[:5].reshape(5, 1),
    "one row": lambda x: x[:7].reshape(1, 7),
    "stretched": lambda x: np.broadcast_to(x[:5].reshape(5, 1), (5, 7)),
    "0-d": lambda x: x[3].reshape(()),
    "scalar": lambda x: x[2],
}
