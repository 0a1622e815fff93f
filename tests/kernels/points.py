"""Arguments at which the elementary functions are tested."""

from __future__ import annotations

import numpy as np

# Where a function leaves the finite numbers, or where its method changes.
_TURNS = {
    "exp": (709.78, -708.4, -745.1, 88.72, -87.3, -103.9, -30.15),
    "exp2": (1024, -1022, -1075, 128, -126, -150, 0.5),
    "expm1": (709.78, -37.0, 88.72, -17.0, 0.3466, -0.3466, 0.357, 709.0, 88.0),
    "log": (1, 0.7071, 1.4142),
    "log2": (1, 2, 0.5, 0.7071),
    "log10": (1, 10, 1000, 0.7071),
    "log1p": (-1, -0.29, 0.41, 1),
    "tanh": (19.06, 9.01, 0.173, 0.0546875, 0.0625),
    "sinh": (710.47, 89.41, 0.3466, 18.7, 8.3, 708.0, 87.0),
    "cosh": (710.47, 89.41, 0.3466, 18.7, 8.3, 708.0, 87.0),
    "arcsin": (0.5, 1),
    "arccos": (0.5, 1, -0.5, -1),
    "arctan": (1, -1, 0.4142, 2.4142),
    "arcsinh": (2.0**-28, 2.0**-13, 2.0**29, 2.0**14, 0.34, 1.147, 2.0**60),
    "arccosh": (1, 1.0078, 1.03, 2.0**29, 2.0**14, 2.0**60),
    "arctanh": (1, -1, 0.17, 0.33, 0.2, 0.1999, 0.0307),
    "erf": (0.8, 0.75, 6.0, 4.0),
    "erfc": (0.75, -0.75, 26.5, 27.2, 9.19, 10.05, -6.0),
    "expit": (-708, -745, -87, -104, 37, 17),
}
_DOMAIN = {
    "log": (0, np.inf), "log2": (0, np.inf), "log10": (0, np.inf), "log1p": (-1, np.inf), "sqrt": (0, np.inf),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, np.inf),
}  # fmt: skip
_TRIGONOMETRIC = ("sin", "cos", "tan")


def one_argument(name: str, dtype: type, count: int, seed: int = 0) -> np.ndarray:
    """Points over all exponents, near zero, near the function's turning points and special places, in its domain."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    integers, width = (np.uint64, 64) if dtype is np.float64 else (np.uint32, 32)
    bits = rng.integers(0, 2**width, count, dtype=np.uint64).astype(integers)
    parts = [bits.view(dtype), rng.uniform(-1, 1, count).astype(dtype)]
    reach = {"exp": 750, "expm1": 720, "exp2": 1080, "sinh": 711, "cosh": 711, "expit": 750}.get(name, 30)
    if dtype is np.float32 and reach > 100:
        reach //= 8
    parts += [rng.uniform(-reach, reach, count).astype(dtype), rng.uniform(-2, 2, count).astype(dtype)]
    parts.append((rng.normal(size=count // 4) * float(info.tiny)).astype(dtype))
    for turn in _TURNS.get(name, ()):
        near = dtype(turn) * (1 + rng.normal(size=count // 16) * float(info.eps) * 8)
        parts += [near.astype(dtype), (turn + rng.normal(size=count // 16) * 1e-3).astype(dtype)]
    if name in _TRIGONOMETRIC:
        multiples = rng.integers(1, 2**20, count // 2) * (np.pi / 2)
        parts += [multiples.astype(dtype), np.array([1e22, info.max, 2.0**30, 2.0**16, 2.0**20], dtype)]
        parts.append(rng.uniform(0, 2.0**17, count // 2).astype(dtype))
    x = np.concatenate(parts)
    low, high = _DOMAIN.get(name, (-np.inf, np.inf))
    inside = (
        (x >= low) & (x <= high) if np.isfinite(low) and name not in ("log1p", "arctanh") else (x > low) & (x < high)
    )
    return x[np.isfinite(x) & inside & ~((x == 0) & (low == 0))]


def around_turns(name: str, reach: int = 3000) -> np.ndarray:
    """Every float32 next to the function's turning points, in its domain."""
    low, high = _DOMAIN.get(name, (-np.inf, np.inf))
    turns = np.array([turn for turn in _TURNS.get(name, ()) if low < turn < high], np.float32)
    near = turns.view(np.int32)[:, None] + np.arange(-reach, reach + 1, dtype=np.int32)
    x = near.ravel().view(np.float32)
    return x[(x > low) & (x < high)]


def two_arguments(name: str, dtype: type, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs in the function's domain."""
    rng = np.random.default_rng(seed)
    x = one_argument(name, dtype, count, seed)
    y = rng.permutation(one_argument(name, dtype, count, seed + 1))[: x.size]
    x = x[: y.size].copy()
    y = y.copy()
    third = x.size // 3
    with np.errstate(all="ignore"):
        y[:third] = x[:third] * np.exp(rng.normal(size=third) * 2).astype(dtype)
        if name in ("power", "float_power"):
            x = np.abs(x)
            reach = 745 if dtype is np.float64 else 100
            y[third:] = (rng.uniform(-reach, reach, x.size - third) / np.log(x[third:].astype(float))).astype(dtype)
    keep = np.isfinite(x) & np.isfinite(y)
    if name in ("power", "float_power"):
        keep &= x > 0
    if name.startswith("logaddexp"):
        # Where the sum is near one the logarithm is near zero and the relative error has no bound.
        with np.errstate(all="ignore"):
            total = getattr(np, name)(x.astype(float), y.astype(float))
            keep &= np.abs(total) > 0.25 * np.abs(np.maximum(x, y))
    if name == "arctan2":
        keep &= (x != 0) | (y != 0)
    return x[keep], y[keep]
