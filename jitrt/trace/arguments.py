"""Arguments and results of a call as flat lists of leaves and a structure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..errors import Untraceable

# Values of these types are part of a trace: another value is another trace.
STATIC_TYPES = frozenset({int, bool, str, bytes, type(None), slice, type(...), range})

Structure = Any

_OVERLAP_WORK = 1000  # candidate solutions tried to tell whether two arrays overlap, which can take exponential time


_DEEPEST = 8  # objects in objects; deeper ones, which may be circles, are leaves
_MOST_LEAVES = 512  # objects behind so many are leaves, too


class Record:
    """Marks the structure of an object with attributes."""


def flatten(value: Any, leaves: list[Any], objects: bool = False, depth: int = 0) -> Structure:
    """Append the leaves of nested tuples, lists and dicts to `leaves`; return what is left, a hashable value.

    With `objects`, the attributes of objects of the user's classes are leaves, too.

    Examples
    --------
    >>> leaves = []
    >>> structure = flatten({"a": (1.0, [2.0])}, leaves)
    >>> leaves
    [1.0, 2.0]
    >>> rebuild(structure, iter(["x", "y"]))
    {'a': ('x', ['y'])}
    """
    kind = type(value)
    if kind is np.ndarray or kind is float:
        leaves.append(value)
        return None
    if kind is tuple or kind is list:
        return (kind, tuple([flatten(v, leaves, objects, depth) for v in value]))
    if kind is dict:
        return (dict, tuple(value), tuple([flatten(v, leaves, objects, depth) for v in value.values()]))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (kind, tuple([flatten(v, leaves, objects, depth) for v in value]))
    if objects and depth < _DEEPEST and len(leaves) < _MOST_LEAVES and has_plain_attributes(kind):  # type: ignore[arg-type]
        attributes = vars(value)
        parts = [flatten(v, leaves, True, depth + 1) for v in attributes.values()]
        return (Record, kind, tuple(attributes), tuple(parts))
    leaves.append(value)
    return None


def rebuild(structure: Structure, leaves: Any) -> Any:
    """The value of that `structure` with the leaves that the iterator `leaves` gives."""
    if structure is None:
        return next(leaves)
    kind = structure[0]
    if kind is Record:
        made = object.__new__(structure[1])
        made.__dict__.update({name: rebuild(s, leaves) for name, s in zip(structure[2], structure[3])})
        return made
    if kind is dict:
        return {key: rebuild(s, leaves) for key, s in zip(structure[1], structure[2])}
    children = [rebuild(s, leaves) for s in structure[1]]
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


_OWN_WAYS = ("__getattr__", "__array__", "__array_ufunc__", "__array_function__", "__jitrt_function__", "__slots__")
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE, which classes of C code may have, too


class _Usual:
    """An object with nothing but attributes, for its size."""


@lru_cache(maxsize=1024)
def has_plain_attributes(kind: type) -> bool:
    """Whether objects of a class are their attributes: a class of the user's, with the ways of `object`.

    Examples
    --------
    >>> class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> has_plain_attributes(Point), has_plain_attributes(np.ndarray), has_plain_attributes(int)
    (True, False, False)
    """
    own = kind.__mro__[:-1]
    if not own or type(kind) is not type or any(not c.__flags__ & _HEAP_TYPE for c in own):
        return False
    usual = all(getattr(kind, name) is getattr(object, name) for name in ("__getattribute__", "__setattr__", "__new__"))
    usual = usual and kind.__basicsize__ == _Usual.__basicsize__
    return usual and not any(hasattr(kind, name) for name in _OWN_WAYS) and kind.__module__.split(".")[0] != "numpy"


def classes_in(structure: Structure) -> set[type]:
    """The classes of the objects that were flattened."""
    if structure is None:
        return set()
    parts = structure[-1]
    found = {c for part in parts for c in classes_in(part)} if isinstance(parts, tuple) else set()
    return found | {structure[1]} if structure[0] is Record else found


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
    for array in (leaf for leaf in leaves if type(leaf) is np.ndarray):
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
    return [copies.get(id(leaf), leaf) for leaf in leaves]


def leaf_key(leaf: Any) -> Any:
    """What of an argument a trace depends on: type, shape, strides, writability of an array, value of a static one.

    Raises
    ------
    Untraceable
        If arguments of this type make the plain function run.
    """
    kind = type(leaf)
    if kind is np.ndarray:
        dtype, flags = leaf.dtype, leaf.flags
        if dtype.kind not in "biufcmM" or not dtype.isnative or not flags.aligned:
            raise Untraceable(f"an array of {dtype}" + ("" if flags.aligned else ", not aligned"))
        return (dtype, leaf.shape, leaf.strides, flags.writeable)
    if kind is float or kind is complex:
        return kind
    if kind in STATIC_TYPES:
        return (kind, leaf) if kind is not slice else (kind, leaf.start, leaf.stop, leaf.step)
    if isinstance(leaf, np.generic):
        if leaf.dtype.kind not in "biufcmM":
            raise Untraceable(f"a scalar of {leaf.dtype}")
        return kind, leaf.dtype
    if isinstance(leaf, (np.dtype, type, np.ufunc)):
        return (kind, leaf)
    raise Untraceable(f"an argument of type {kind.__module__}.{kind.__qualname__}")


def is_dynamic(leaf: Any) -> bool:
    """Whether a leaf is an input of the program, as against a part of the trace."""
    return isinstance(leaf, (np.ndarray, np.generic, float, complex))


def overlap(arrays: Sequence[np.ndarray]) -> bool:
    """Whether any two of `arrays` may have memory in common."""
    return any(np.may_share_memory(a, other) for k, a in enumerate(arrays) for other in arrays[:k])


def sharing(inputs: Sequence[Any], written: Sequence[int]) -> tuple[int, ...] | None:
    """For each input the first one that is the same memory, if a written input has memory in common with another.

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
                first = min(j, k)
                same[j], same[k] = min(same[j], first), min(same[k], first)
            elif _overlap(inputs[k], other):
                raise Untraceable("arguments overlap in memory, and one of them is written")
    return None if same == list(range(len(inputs))) else tuple(same)


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
