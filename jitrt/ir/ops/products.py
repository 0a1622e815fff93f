"""Contractions as folds of products: where calling BLAS takes longer than what it does, or NumPy does not call it.

matmul x:f8[5,3,3] y:f8[5,3,3]  →  reduce_add[axes=(2,)] (multiply x:f8[5,3,3,1] y:f8[5,1,3,3])
"""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Iterator

import numpy as np

from .. import build as b
from ..node import Node
from .folds import REDUCE_ADD, reduce
from .optable import Kind

_SMALL = 4096  # multiplications of one product of matrices
_SMALL_OF_MANY = 64  # of each of a stack: BLAS computes ten a nanosecond, and begins as quickly as a loop does
_SMALL_STACK = 1 << 12  # of all of a stack: less takes a step longer to begin; four times as many where one is computed
_VECTOR = 1 << 16  # of a matrix and a vector
_LONG = 1 << 13  # elements of vectors that BLAS multiplies faster, out of the cache
_NARROW = 4  # extents at which BLAS gains nothing by its blocks

_Terms = tuple[list[str], str]  # labels of the axes of each operand, and of the result


def fold_matmul(n: Node) -> Node | None:
    """``matmul``: the last two axes are those of matrices, those in front of them broadcast."""
    x, y = n.args
    labels = iter(string.ascii_letters)
    batch = _take(labels, max(x.type.ndim, y.type.ndim, 2) - 2)
    row, core, column = _take(labels, 1) * (x.type.ndim > 1), _take(labels, 1), _take(labels, 1) * (y.type.ndim > 1)
    of_x, of_y = batch[len(batch) - max(x.type.ndim - 2, 0) :], batch[len(batch) - max(y.type.ndim - 2, 0) :]
    return _folded(n, ([of_x + row + core, of_y + core + column], batch + row + column))


def fold_dot(n: Node) -> Node | None:
    """``dot``: the last axis of one operand, and the last but one of the other."""
    x, y = n.args
    axis = max(y.type.ndim - 2, 0)
    return _folded(n, _contracted(n, (x.type.ndim - 1,), (axis,)))


def fold_tensordot(n: Node) -> Node | None:
    """``tensordot``: axes of one operand, and axes of the other."""
    x, y = n.args
    first, second = n["axes"]
    return _folded(n, _contracted(n, [k % x.type.ndim for k in first], [k % y.type.ndim for k in second]))


def fold_einsum(n: Node) -> Node | None:
    """``einsum``, which NumPy computes as one loop over all labels unless it is asked to find a better way."""
    left, _, right = n["subscripts"].partition("->")
    return _folded(n, (left.split(","), right), calls_blas=bool(n["optimize"]))


def _take(labels: Iterator[str], count: int) -> str:
    return "".join(next(labels) for _ in range(count))


def _contracted(n: Node, first: tuple[int, ...] | list[int], second: tuple[int, ...] | list[int]) -> _Terms:
    """The labels where `first` axes of one operand meet `second` ones of the other."""
    x, y = n.args
    labels = iter(string.ascii_letters)
    of_x = _take(labels, x.type.ndim)
    met = {k: of_x[j] for j, k in zip(first, second)}
    of_y = "".join(met[k] if k in met else next(labels) for k in range(y.type.ndim))
    return [of_x, of_y], "".join(c for c in of_x + of_y if c not in met.values())


def _folded(n: Node, terms: _Terms, calls_blas: bool = True) -> Node | None:
    """The contraction as a fold, unless NumPy is better at it."""
    of_operands, right = terms
    if n.dtype.char not in "bhilqBHILQfd" or any(len(set(term)) < len(term) for term in of_operands):
        return None
    extents: dict[str, int] = {}
    for term, x in zip(of_operands, n.args):
        for label, extent in zip(term, x.shape):
            if extents.get(label, 1) == 1:
                extents[label] = extent
    is_computed = any(x.op.kind is not Kind.SOURCE for x in n.args)
    if calls_blas and n.dtype.kind == "f" and not _is_small(of_operands, right, extents, is_computed):
        return None
    summed = "".join(label for label in extents if label not in right)
    # The columns of the last matrix are what is computed side by side, if it has any.
    rows = right[:-1] if summed and len(of_operands) > 1 and right and right[-1] == of_operands[-1][-1] else right
    order = rows + summed + right[len(rows) :]
    operands = [_spread(b.cast(x, n.dtype), term, order) for x, term in zip(n.args, of_operands)]
    product = functools.reduce(functools.partial(b.elementwise, np.multiply), operands)
    return reduce(REDUCE_ADD, product, tuple(range(len(rows), len(rows) + len(summed)))) if summed else product


def _is_small(terms: list[str], right: str, extents: dict[str, int], is_computed: bool) -> bool:
    """Whether BLAS has no advantage."""
    batch = {label for label in right if all(label in term for term in terms)}
    work = math.prod(extents[label] for label in extents if label not in batch)
    if not right:  # what is computed need not be stored for a fold
        return is_computed or work <= _LONG
    free = sorted(math.prod(extents[c] for c in term if c in right and c not in batch) for term in terms)
    if len(terms) < 2 or free[-2] == 1:
        return work <= _VECTOR
    summed = math.prod(extents[label] for label in extents if label not in right)
    if free[-2] <= _NARROW and summed <= _NARROW:
        return True
    count = math.prod(extents[label] for label in batch)
    if count == 1 or work * count <= _SMALL_STACK << 2 * is_computed:
        return work <= _SMALL
    return work <= _SMALL_OF_MANY


def _spread(x: Node, term: str, order: str) -> Node:
    """`x` with its axes in the order of the labels, and axes of extent 1 for those that it does not have."""
    axes = tuple(term.index(label) for label in order if label in term)
    if axes != tuple(range(len(axes))):
        x = b.view("transpose", x, axes=axes)
    missing = tuple(k for k, label in enumerate(order) if label not in term)
    return b.view("expand_dims", x, axis=missing) if missing else x
