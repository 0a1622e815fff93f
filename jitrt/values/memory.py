"""Memory that the arrays of a call have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..errors import Untraceable
from .keys import GENERATORS

_OVERLAP_WORK = 1000  # candidate solutions tried to tell whether two arrays overlap, which can take exponential time


def copies_of(leaves: Sequence[Any]) -> list[Any]:
    """The leaves with copies of the arrays, which overlap in memory as the arrays do.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> y, z, _ = copies_of([x[1:], x[:-1], 2])
    >>> y[0] = 7
    >>> z.tolist(), x.tolist()
    ([0.0, 7.0, 2.0], [0.0, 1.0, 2.0, 3.0])
    """
    groups: list[list[np.ndarray]] = []
    for array in (leaf for leaf in leaves if isinstance(leaf, np.ndarray)):
        near = [g for g in groups if any(np.may_share_memory(array, other) for other in g)]
        apart = [g for g in groups if all(g is not other for other in near)]
        groups = [*apart, [array, *(other for g in near for other in g)]]
    copies: dict[int, np.ndarray] = {}
    for group in groups:
        bounds = [byte_bounds(array) for array in group]
        low = min(first for first, _ in bounds)
        memory = np.empty(max(end for _, end in bounds) - low, np.uint8)
        for array, (first, _) in zip(group, bounds):
            start = first - low - sum(min(s * (n - 1), 0) for s, n in zip(array.strides, array.shape) if n)
            copies[id(array)] = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
            copies[id(array)][...] = array
        for array in group:
            copies[id(array)].flags.writeable = array.flags.writeable
    generators = {id(leaf): deepcopy(leaf) for leaf in leaves if type(leaf) in GENERATORS}
    return [generators.get(id(leaf), copies.get(id(leaf), leaf)) for leaf in leaves]


def nbytes(leaves: Iterable[Any]) -> int:
    """Bytes of all arrays among the leaves."""
    return sum(leaf.nbytes for leaf in leaves if isinstance(leaf, np.ndarray))


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of an array may have memory in common.

    They have none where each axis, in the order of strides, steps over all that the axes before it span.

    Examples
    --------
    >>> windows = np.lib.stride_tricks.sliding_window_view
    >>> [overlaps_itself(windows(np.arange(9.0), n)[::step]) for n, step in ((3, 1), (3, 3), (1, 1))]
    [True, False, False]
    """
    return steps_into_itself(array.shape, array.strides, array.itemsize)


def steps_into_itself(shape: Sequence[Any], strides: Sequence[Any], itemsize: int) -> bool:
    """The same of an array of these extents and strides, which may depend on variables."""
    span: Any = itemsize
    for stride, extent in sorted(((abs(s), n) for s, n in zip(strides, shape) if n > 1), key=lambda axis: axis[0]):
        if stride < span:
            return all(n > 0 for n in shape)
        span += stride * (extent - 1)
    return False


def overlap(arrays: Sequence[np.ndarray]) -> bool:
    """Whether any two of `arrays` may have memory in common."""
    return any(np.may_share_memory(a, other) for k, a in enumerate(arrays) for other in arrays[:k])


def sharing(inputs: Sequence[Any], written: Sequence[int], compares: bool = False) -> tuple[int, ...] | None:
    """For each input the first one that is the same memory, if a written input has memory in common with another.

    If the function `compares` objects, the same is told of arrays that are one object, whether they are written or not.

    Returns
    -------
    tuple of int, optional
        None if all written inputs can be told apart from the others.

    Raises
    ------
    Untraceable
        If a written input overlaps another one in part.
    """
    same = list(range(len(inputs)))
    for k in written:
        for j, other in enumerate(inputs):
            if j == k or not isinstance(other, np.ndarray) or not np.may_share_memory(inputs[k], other):
                continue
            if other is inputs[k]:
                same[j] = same[k] = min(same[j], same[k])
            elif _overlap(inputs[k], other):
                raise Untraceable("arguments overlap in memory, and one of them may be written")
    first: dict[int, int] = {}
    for k, value in enumerate(inputs if compares else ()):
        if isinstance(value, np.ndarray):
            same[k] = min(same[k], first.setdefault(id(value), k))
    return None if same == list(range(len(inputs))) else tuple(same)


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
