"""The signature of a call: all of it that a trace depends on, as one immutable value.

Calls of equal signatures are served alike. What native code compares, row by row (`runtime.guards`), says the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from . import kinds
from .keys import Foreign

log = logging.getLogger("jitrt.guards")


class Signature(NamedTuple):
    """What a trace depends on.

    Parameters
    ----------
    tree : Tree
        How the arguments, and what the function names, are nested.
    types : tuple
        For each leaf, and then for each captured array, its `leaf_key`; of integers that are symbols the type.
    donated : tuple of int
        Numbers of the leaves that the call may overwrite.
    outside : int
        The number of what the function reads from outside.
    shared : tuple of int, optional
        For each input the first one that is the same memory; None if those that are written are told apart.
    """

    tree: kinds.Tree
    types: tuple[Any, ...]
    donated: tuple[int, ...] = ()
    outside: int = 0
    shared: tuple[int, ...] | None = None

    def __str__(self) -> str:
        positional, (_, names, named), *_ = self.tree[2]
        leaves = map(_describe, self.types)
        parts = [_shape(part, leaves) for part in positional[2]]
        return ", ".join([*parts, *(f"{name}={_shape(part, leaves)}" for name, part in zip(names, named))])


def explain_miss(name: str, call: Signature, known: Iterable[Signature], arguments: int) -> str:
    """What distinguishes a call from the known one that is most like it.

    Parameters
    ----------
    name : str
        Of the function.
    call : Signature
    known : iterable of Signature
        Of earlier calls.
    arguments : int
        How many of the leaves are arguments; the others are captured arrays.

    Examples
    --------
    >>> f8 = np.dtype("f8")
    >>> one, other = (Signature(None, ((f8, (n,), (8,), True), float)) for n in (5, 9))
    >>> explain_miss("f", one, [other], 2)
    'f: argument 0: f8(5,) and not f8(9,)'
    >>> explain_miss("f", one, [], 2)
    'f: the first call'
    """
    nearest: list[str] | None = None
    for other in known:
        differences = _differences(call, other, arguments)
        if nearest is None or len(differences) < len(nearest):
            nearest = differences
    return f"{name}: {'the first call' if nearest is None else '; '.join(nearest)}"


def _differences(call: Signature, other: Signature, arguments: int) -> list[str]:
    if call._replace(shared=None) == other._replace(shared=None):
        return ["arguments share memory in another way"]
    if call.tree != other.tree or len(call.types) != len(other.types):
        return [f"arguments are passed as {_call_shape(call.tree)}, not as {_call_shape(other.tree)}"]
    return [
        f"{'argument' if k < arguments else 'captured array'} {k if k < arguments else k - arguments}: "
        f"{_describe(mine)} and not {_describe(theirs)}"
        for k, (mine, theirs) in enumerate(zip(call.types, other.types))
        if mine != theirs
    ]


def _describe(leaf: Any) -> str:
    """A leaf's key."""
    if isinstance(leaf, tuple) and isinstance(leaf[0], np.dtype):
        dtype, shape, strides, writable, *form = leaf
        contiguous = (
            strides is None or np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides).flags.c_contiguous
        )
        text = f"{dtype.str[dtype.isnative :]}{shape}" + ("" if contiguous else f" with strides {strides}")
        text = f"memory-mapped {text}" if np.memmap in form else f"unaligned {text}" if False in form else text
        return text if writable else f"read-only {text}"
    if isinstance(leaf, tuple) and len(leaf) == 2:
        return f"{leaf[0].__name__} {leaf[1]!r}"
    if isinstance(leaf, Foreign):
        return getattr(leaf.kind, "__name__", str(leaf.kind))
    return leaf.__name__ if isinstance(leaf, type) else repr(leaf)


def _call_shape(structure: kinds.Tree) -> str:
    """The structure of a call; without what the function names, if that is nothing."""
    if structure is not None and structure[0] is kinds.TUPLE and structure[2][2:] == ((kinds.TUPLE, None, ()),):
        structure = (kinds.TUPLE, None, structure[2][:2])
    return _shape(structure, iter(()))


def _shape(structure: kinds.Tree, leaves: Iterator[str]) -> str:
    """A structure in the notation of Python, with a dot for each leaf of which nothing is said."""
    if structure is None:
        return next(leaves, ".")
    kind, what, inner = structure
    if kind is kinds.AGAIN:
        return "the same object"
    if kind is kinds.SAME or kind is kinds.UNREAD:
        return "..."
    parts = [_shape(part, leaves) for part in inner]
    if kind is kinds.FUNCTION:
        return f"{what.name}({', '.join(parts)})"
    if kind is kinds.OBJECT:
        return f"{what[0].__name__}({', '.join(f'{k}={part}' for k, part in zip(what[1], parts))})"
    if kind is kinds.METHOD:
        return f"{parts[0]}.{what}"
    if kind is kinds.MASKED:
        return f"masked array({', '.join(parts)})"
    if kind is kinds.PARTIAL or kind is kinds.PROXY:
        return f"{kind.name}({', '.join(parts)})"
    if kind is kinds.MAPPING:
        return f"{what.cls.__name__}({', '.join(f'{k!r}: {part}' for k, part in zip(what.keys, parts))})"
    if kind is kinds.DICT:
        return "{" + ", ".join(f"{k!r}: {part}" for k, part in zip(what, parts)) + "}"
    return f"({', '.join(parts)})" if kind is kinds.TUPLE or kind is kinds.NAMED else f"[{', '.join(parts)}]"
