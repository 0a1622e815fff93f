"""Assignments under a mask of what the same mask chooses: one loop, with nothing compressed in between.

    z[m] = z[m] ** 2 + c[m]    →    for i in range(0, n, 1): if m[i]: z[i] = z[i] ** 2 + c[i]

Each element is computed from those at its own place alone, and only where NumPy computes it: whatever warns or raises
does so for the same elements.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import arrays as a
from . import scalars
from .expressions import OPERATORS, UNARY
from .subscripts import where_true
from .values import BOOL, Array, NotStaged, is_number

_NUMBERS = (bool, int, float, complex)


def assigned(where: Any, s: ast.Assign | ast.AugAssign) -> bool:
    """Whether a statement was recorded as such a loop; if not, nothing was recorded.

    Parameters
    ----------
    where : Assignments
        Of the function that the statement stands in.
    s : ast.Assign or ast.AugAssign
    """
    match s:
        case ast.Assign([ast.Subscript(ast.Name(name), ast.Name(index)) as target], e):
            is_update = False
        case ast.AugAssign(ast.Subscript(ast.Name(name), ast.Name(index)) as target, op, value):
            e, is_update = ast.BinOp(ast.Subscript(target.value, target.slice, ast.Load()), op, value), True
            ast.fix_missing_locations(ast.copy_location(e, value))
        case _:
            return False
    array, mask = where.variables.get(name), where.variables.get(index)
    if not (_is_stored(array) and _is_stored(mask) and mask.dtype == BOOL and mask.ndim == array.ndim > 0):
        return False
    with where.r.attempt() as take_back:
        try:
            read = list(_read(where, e, index))
            if not read or mask.reads & array.memory.origins:
                raise NotStaged("no mask of this kind")
            if any(other.reads & array.memory.origins and other.view != array.view for other in read):
                raise NotStaged("elements at other places of what is written")
            _record(where, array, mask, read, e, is_update)
            return True
        except NotStaged:
            take_back()
    return False


def _record(where: Any, array: Array, mask: Array, read: list[Array], e: ast.expr, is_update: bool) -> None:
    r = where.r
    for one in (array, *read):
        r.require_alike(one.shape, mask.shape)
    before = set(r.pending)
    value = where.operand(_Whole().visit(copy.deepcopy(e)))
    pending = r.pending.keys() - before
    if not isinstance(value, Array) or (is_update and not np.can_cast(value.dtype, array.dtype, "same_kind")):
        raise NotStaged("no elements")
    value = scalars.stored(r, value, array.dtype)
    r.choose_by_values()

    def body(indices: a.Indices) -> None:
        with r.when(mask.element(indices)):
            a.store(r, array, indices, a.assigned(r, value, array.dtype, indices))

    where_true(r, mask, body)
    for key in pending:  # of the elements that are chosen, all are computed
        r.pending.pop(key, None)


def _is_stored(value: Any) -> bool:
    return isinstance(value, Array) and value.view is not None


def _read(where: Any, e: ast.expr, mask: str) -> Iterator[Array]:
    """The arrays of which an expression takes what a mask chooses.

    Raises
    ------
    NotStaged
        If it does more than to compute elements of these, and of numbers.
    """
    match e:
        case ast.Constant(value) if type(value) in _NUMBERS:
            return
        case ast.Subscript(ast.Name(name), ast.Name(index)) if index == mask and _is_stored(where.variables.get(name)):
            yield where.variables[name]
            return
        case ast.Name(name) if is_number(where.variables.get(name)):
            return
        case ast.BinOp(left, op, right) if type(op) in OPERATORS and not isinstance(op, ast.MatMult):
            parts = [left, right]
        case ast.UnaryOp(op, operand) if type(op) in UNARY:
            parts = [operand]
        case ast.Call(ast.Attribute(ast.Name(module)), parts, []) if module not in where.variables:
            function = where.expression(e.func)
            if not isinstance(function, np.ufunc) or function.nout != 1 or function.signature is not None:
                raise NotStaged("a function of more than elements")
            if len(parts) != function.nin:
                raise NotStaged("an output")
        case _:
            raise NotStaged("an expression of more than elements")
    for part in parts:
        yield from _read(where, part, mask)


class _Whole(ast.NodeTransformer):
    """Names of arrays in place of what a mask chooses of them."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node.value
