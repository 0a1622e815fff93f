"""Arguments and results of a call as flat lists of leaves and a structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Untraceable

# Values of these types are part of a trace: another value is another trace.
STATIC_TYPES = frozenset({int, bool, str, bytes, type(None), slice, type(...), range})

Structure = Any


def flatten(value: Any, leaves: list[Any]) -> Structure:
    """Append the leaves of nested tuples, lists and dicts to `leaves`; return what is left, a hashable value.

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
    if kind is tuple or kind is list:
        return (kind, tuple([flatten(v, leaves) for v in value]))
    if kind is dict:
        return (dict, tuple(value), tuple([flatten(v, leaves) for v in value.values()]))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (kind, tuple([flatten(v, leaves) for v in value]))
    leaves.append(value)
    return None


def rebuild(structure: Structure, leaves: Any) -> Any:
    """The value of that `structure` with the leaves that the iterator `leaves` gives."""
    if structure is None:
        return next(leaves)
    kind = structure[0]
    if kind is dict:
        return {key: rebuild(s, leaves) for key, s in zip(structure[1], structure[2])}
    children = [rebuild(s, leaves) for s in structure[1]]
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def leaf_key(leaf: Any) -> Any:
    """What of an argument a trace depends on: types, shape and strides of an array, the value of a static one.

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
        return (dtype, leaf.shape, leaf.strides)
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
