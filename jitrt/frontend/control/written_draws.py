"""Draws of random numbers that are plain Python here; see `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_TOLERANCE = 1e-9  # how far NumPy certainly lets probabilities be from 1 together


def interval(rng: Any, most: Any) -> Any:
    """An integer from 0 to `most`, drawn as NumPy draws for its own purposes."""
    raise NotImplementedError  # a row of the functions that procedures have


def _permutation(rng: Any, x: Any) -> Any:
    made = np.arange(x) if np.ndim(x) == 0 else x.copy()
    _shuffle(rng, made)
    return made


def _shuffle(rng: Any, x: Any) -> None:
    """From the last element on, each changes its place with one that is not behind it."""
    assert x.ndim == 1
    for k in range(len(x) - 1, 0, -1):
        other = interval(rng, k)
        kept = x[k]
        x[k] = x[other]
        x[other] = kept


def _weighted_choice(
    rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
) -> Any:
    """Where uniform numbers lie among the sums of the probabilities."""
    assert p is not None
    assert replace
    assert np.ndim(a) <= 1
    weights = np.asarray(p)
    assert weights.ndim == 1
    assert weights.dtype == np.float64
    assert len(weights) == (a if np.ndim(a) == 0 else len(a))
    total = 0.0
    for weight in weights:
        assert weight >= 0.0
        total += weight
    assert abs(total - 1.0) <= _TOLERANCE
    sums = np.cumsum(weights)
    sums /= sums[len(weights) - 1]
    at = np.searchsorted(sums, rng.random(size), side="right")
    if np.ndim(a) == 1:
        return np.asarray(a)[at]
    return int(at) if size is None else at


DRAWS: dict[Any, Callable[..., Any]] = {
    np.random.Generator.permutation: _permutation, np.random.Generator.shuffle: _shuffle,
    np.random.Generator.choice: _weighted_choice, np.random.RandomState.choice: _weighted_choice,
}  # fmt: skip
