"""Rows of tables: a program of scalars as one of columns, where its operations are elementwise, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .calls import GETITEM, LEAF, NAMED, Nested, is_source
from .known import Tuple
from .outputs import listed, mapped
from .transform import expanded_all, rebuilt
from .tree import Expression, leaf, nodes_of

# Functions and methods that are elementwise, and no ufuncs.
_OF_ELEMENTS = frozenset(
    """np.where np.clip np.round np.around np.real np.imag np.angle np.select np.isclose np.nan_to_num np.sinc np.fix
    np.isreal np.iscomplex np.isposinf np.isneginf .astype .round .clip .conj .conjugate""".split()
)


def of_columns(outputs: Any) -> Any:
    """A program of scalars as one of columns; None if rows have to be computed one by one.

    Raises
    ------
    ValueError
        If an input is declared to be an array.
    """
    roots = listed(outputs)
    lowered = expanded_all(roots)
    nodes = nodes_of([lowered[r] for r in roots])
    for node in nodes:
        if node.operation is LEAF and node.ndim not in (0, None):
            raise ValueError(f"{node!r} is no scalar, so there are no rows of it")
    if not all(map(_is_of_elements, nodes)):
        return None

    def column(node: Expression) -> Expression | None:
        if node.operation.columns is not None:
            return node.operation.columns(node)
        return leaf(str(node.name), node.dtype) if node.operation is LEAF else None

    made = rebuilt([lowered[r] for r in roots], column)
    return mapped(outputs, lambda e: made[lowered[e]])


def _is_of_elements(node: Expression) -> bool:
    """Whether an operation on scalars is one on the elements of columns, too."""
    operation = node.operation
    if node.ndim not in (0, None):
        return False
    if operation is GETITEM:
        (of,) = node.operands[:1]
        return node.template.args[1:] == (Nested("tuple", ()),) or isinstance(of.type, Tuple)
    of_elements = isinstance(operation.apply, np.ufunc) or operation.name in _OF_ELEMENTS
    of_elements |= operation.columns is not None and operation.columns(node) is not None
    return of_elements or operation is NAMED or is_source(operation)


def one_by_one(call: Callable[..., Any], values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """What calls with each of the rows give, one behind the other."""
    if not shape:
        return call(*values)
    (length,) = shape
    columns = [np.broadcast_to(v, shape) for v in values]
    if length == 0:
        found = _stacked([call(*[np.ones(1, c.dtype)[0] for c in columns])])
        return _mapped_arrays(found, lambda array: array[:0])
    return _stacked([call(*row) for row in zip(*columns)])


def _stacked(results: Sequence[Any]) -> Any:
    first = results[0]
    if isinstance(first, dict):
        return {key: _stacked([r[key] for r in results]) for key in first}
    return tuple(map(_stacked, zip(*results))) if isinstance(first, tuple) else np.array(results)


def filled_up(value: Any, shape: tuple[int, ...]) -> Any:
    """Columns of that length, also of what is the same for all rows."""
    return _mapped_arrays(value, lambda v: v if np.shape(v) == shape else np.broadcast_to(v, shape).copy())


def _mapped_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped_arrays(part, change) for key, part in value.items()}
    return tuple([_mapped_arrays(v, change) for v in value]) if isinstance(value, tuple) else change(value)
