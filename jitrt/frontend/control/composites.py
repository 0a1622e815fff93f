"""Arguments that hold others: tuples, named tuples, dicts, and objects of the user's classes.

They are taken apart before a function is staged: its procedure has a parameter for each number and each array in them.
Staged functions read them, and call the methods of their classes; what changes them is left to Python.

    f(Spring(k=2.0, x=x), n)    →    f with parameters k, x, n
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.frozen import frozen
from ..python.attributes import attributes_of, has_plain_attributes, has_plain_fields
from ..python.versions import version_of
from .values import Composite, NotStaged, Unread, is_static

_MOST_DEEP = 4
_MOST_PARTS = 64  # of one call
LEAVES = frozenset({np.ndarray, int, float, bool, str, type(None), np.float64, np.float32, np.int64, complex})

Tree = tuple[Any, ...] | None
"""What holds others: its class, the version of that, the names of its parts, and their trees; None for all else."""


def take_apart(args: tuple) -> tuple[tuple[Tree, ...], tuple]:
    """The arguments as trees, and what they hold; trees are equal where code does the same with them."""
    leaves: list[Any] = []
    return tuple([_tree(a, leaves, 0) for a in args]), tuple(leaves)


def _tree(value: Any, leaves: list[Any], depth: int) -> Tree:
    kind = type(value)
    if kind not in LEAVES and depth < _MOST_DEEP:
        found = _parts_of(kind, value)
        if found is not None and len(leaves) + len(found[1]) <= _MOST_PARTS:
            names, parts = found
            version = 0 if kind in (tuple, dict) else version_of(kind)
            return kind, version, names, tuple([_tree(v, leaves, depth + 1) for v in parts])
    leaves.append(value)
    return None


def _parts_of(kind: type, value: Any) -> tuple[tuple[Any, ...], Sequence[Any]] | None:
    if kind is tuple:
        return tuple(range(len(value))), value
    if kind is dict:
        return (tuple(value), tuple(value.values())) if all(type(k) in (str, int) for k in value) else None
    if issubclass(kind, tuple) and has_plain_fields(kind) and version_of(kind):
        return kind._fields, value  # type: ignore[attr-defined]
    if has_plain_attributes(kind) and version_of(kind):
        attributes = attributes_of(value)
        return tuple(attributes), tuple(attributes.values())
    return None


def leaf_count(tree: Tree) -> int:
    """How many leaves a tree has."""
    return 1 if tree is None else sum(map(leaf_count, tree[3]))


@frozen(eq=False)
class Method:
    """A function of the class of an object, and the object."""

    owner: Composite
    function: Any


def attribute(value: Composite, name: str) -> Any:
    """``value.name``."""
    if value.kind is dict:
        raise NotStaged(f"the method {name} of a dict")
    if name in value.parts and value.kind is not tuple:
        return value.part(name)
    found = member(value, name)
    if isinstance(found, staticmethod):
        return found.__func__
    if hasattr(found, "__jitrt_function__") or isinstance(found, types.FunctionType):
        return Method(value, getattr(found, "__jitrt_function__", found))
    if isinstance(found, (bool, int, float, str, type(None))):
        return found
    raise NotStaged(f"the attribute {name} of {value.kind.__name__}")


def item(value: Composite, index: Any) -> Any:
    """``value[index]`` for an index that is known."""
    if not is_static(index) or isinstance(index, slice):
        raise NotStaged("an item of an argument that is not known")
    if value.kind is dict:
        return value.part(index)
    if value.items is None or not isinstance(index, int) or not -len(value.items) <= index < len(value.items):
        raise NotStaged(f"an item of {value.kind.__name__}")
    return value.items[index]


def member(value: Composite, name: str) -> Any:
    """What the class of an object has under a name: a function, or a value that stays as long as the class does."""
    for c in value.kind.__mro__[:-1]:
        if name in vars(c):
            return vars(c)[name]
    raise NotStaged(f"{value.kind.__name__} has no {name!r}")


def put_together(tree: Tree, leaves: Iterator[Any]) -> Any:
    """What an argument is while staging, of what its leaves are."""
    if tree is None:
        return next(leaves)
    kind, _, names, trees = tree
    parts = dict(zip(names, [put_together(t, leaves) for t in trees]))
    made = Composite(kind, parts)
    return made.items if kind is tuple and not any(isinstance(v, Unread) for v in parts.values()) else made
