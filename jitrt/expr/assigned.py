"""Assignments as an operation: what an array is after one, made of what it was before and of the value."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..ir.node import Node
from ..ir.ops.movement import decode_index
from ..ir.ops.optable import OPS
from ..ir.strided import RETYPED
from .calls import Operation, register
from .tree import Expression, applied

Views = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
"""Names and parameters of the views that lead from the array to what is assigned."""


@cache
def _assigning(views: Views) -> Callable[[Any, Any], Any]:
    """The function of an array and a value that makes a copy of the array in which the value is assigned."""
    steps = [(name in RETYPED, _view(name, dict(given))) for name, given in views]

    def assign(old: Any, value: Any) -> Any:
        result = part = np.array(old, order="C")
        for _, view in steps:
            part = view(part)
        part[...] = value
        return result

    def assign_by_positions(old: Any, value: Any) -> Any:
        result = np.array(old, order="C")
        flat, positions = result.reshape(-1), np.arange(result.size).reshape(result.shape)
        for is_retyped, view in steps:
            if is_retyped:
                flat = view(flat)
            else:
                positions = view(positions)
        flat[positions] = value
        return result

    # NumPy copies what is reshaped behind another view.
    return assign_by_positions if any(name == "reshape" for name, _ in views[1:]) else assign


def _view(name: str, given: dict[str, Any]) -> Callable[[Any], Any]:
    if name == "getitem":
        index = decode_index(given["index"])
        whole = index if Ellipsis in index else (*index, ...)  # single elements as 0-d arrays
        return lambda x: x[whole]
    function = OPS[name].numpy
    assert function is not None
    return partial(function, **given)


_ASSIGNED = register(Operation("assigned", lambda old, value, views: _assigning(views)(old, value), special=_assigning))


def assigned(node: Node, old: Expression, value: Expression) -> Expression:
    """The expression of an update of `old` by `value`."""
    views = tuple([(name, params) for name, params, _ in node["region"]])
    return applied(_ASSIGNED, (old, value), {"views": views})
