"""Outputs of programs: expressions nested in dicts, of which optional ones are two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .missing import Optional
from .tree import Expression


def masked(pair: tuple[Any, Any]) -> Any:
    """The masked array, or the number or None, that a value and its presence are."""
    value, there = pair
    if np.ndim(value) or np.ndim(there):
        shape = np.broadcast_shapes(np.shape(value), np.shape(there))
        return np.ma.MaskedArray(np.broadcast_to(value, shape), ~np.broadcast_to(there, shape))
    return value if there else None


def listed(outputs: Any) -> list[Expression]:
    """The expressions in outputs; of what is optional the value and its presence."""
    if isinstance(outputs, dict):
        return [e for value in outputs.values() for e in listed(value)]
    return [outputs.value, outputs.present] if isinstance(outputs, Optional) else [outputs]


def mapped(outputs: Any, change: Callable[[Expression], Any]) -> Any:
    """Outputs with another expression for each, nested as they are."""
    if isinstance(outputs, dict):
        return {key: mapped(value, change) for key, value in outputs.items()}
    if isinstance(outputs, Optional):
        return Optional(change(outputs.value), change(outputs.present))
    return change(outputs)


def with_masks(outputs: Any, results: Any) -> Any:
    """Results with masked arrays for what is optional."""
    if isinstance(outputs, dict):
        return {key: with_masks(outputs[key], results[key]) for key in outputs}
    return masked(results) if isinstance(outputs, Optional) else results
