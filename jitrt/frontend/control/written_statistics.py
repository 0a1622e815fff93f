"""Covariances in plain Python. See `written`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _variables(m: Any, y: Any) -> Any:
    """The variables as rows of floats."""
    if y is None:
        assert m.ndim == 2
        return m.astype(np.float64)
    assert m.ndim == 1
    assert y.ndim == 1
    return np.stack((m.astype(np.float64), y.astype(np.float64)))


def _cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    rows = _variables(m, y)
    if not rowvar:
        assert y is None
        rows = np.transpose(rows)
    if ddof is None:
        ddof = 0 if bias else 1
    count = rows.shape[1] - ddof
    assert count > 0
    assert rows.shape[0] > 1  # NumPy gives an array without axes for one
    apart = rows - np.mean(rows, axis=1)[:, np.newaxis]
    return (apart @ np.transpose(apart)) * (1 / count)


def _corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    covariances = _cov(x, y, rowvar)
    deviations = np.sqrt(np.diag(covariances))
    return np.clip(covariances / deviations[:, np.newaxis] / deviations, -1, 1)


STATISTICS: dict[Any, Callable[..., Any]] = {np.cov: _cov, np.corrcoef: _corrcoef}
