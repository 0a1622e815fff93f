"""Why a call is not like those before it, in words for the log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .arguments import Again, Record, Structure
from .python.callbacks import Closure, Constant

log = logging.getLogger("jitrt.guards")


def explain_miss(name: str, key: tuple[Any, ...], known: Iterable[tuple[Any, ...]], arguments: int) -> str:
    """What distinguishes a call from the known one that is most like it.

    Parameters
    ----------
    name : str
        Of the function.
    key : tuple
        The structure of the arguments, then a key for each leaf.
    known : iterable of tuple
        Keys of earlier calls.
    arguments : int
        How many of the leaves are arguments; the others are captured arrays.

    Examples
    --------
    >>> f8, f4 = np.dtype("f8"), np.dtype("f4")
    >>> explain_miss("f", (None, (f8, (5,), (8,), True), float), [(None, (f8, (9,), (8,), True), float)], 2)
    'f: argument 0: f8(5,) and not f8(9,)'
    >>> explain_miss("f", (None, float), [], 1)
    'f: the first call'
    """
    nearest: list[str] | None = None
    for other in known:
        differences = _differences(key, other, arguments)
        if nearest is None or len(differences) < len(nearest):
            nearest = differences
    return f"{name}: {'the first call' if nearest is None else '; '.join(nearest)}"


def _differences(key: Sequence[Any], other: Sequence[Any], arguments: int) -> list[str]:
    if isinstance(other[0], tuple) and other[0] == key:
        return ["arguments share memory in another way"]
    if key[0] != other[0] or len(key) != len(other):
        return [f"arguments are passed as {_call_shape(key[0])}, not as {_call_shape(other[0])}"]
    return [
        f"{'argument' if k < arguments else 'captured array'} {k if k < arguments else k - arguments}: "
        f"{_describe(mine)} and not {_describe(theirs)}"
        for k, (mine, theirs) in enumerate(zip(key[1:], other[1:]))
        if mine != theirs
    ]


def _describe(leaf: Any) -> str:
    """A leaf's key."""
    if isinstance(leaf, tuple) and isinstance(leaf[0], np.dtype):
        dtype, shape, strides, writable, *form = leaf
        contiguous = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides).flags.c_contiguous
        text = f"{dtype.str[dtype.isnative :]}{shape}" + ("" if contiguous else f" with strides {strides}")
        text = f"memory-mapped {text}" if np.memmap in form else f"unaligned {text}" if False in form else text
        return text if writable else f"read-only {text}"
    if isinstance(leaf, tuple) and len(leaf) == 2:
        return f"{leaf[0].__name__} {leaf[1]!r}"
    return leaf.__name__ if isinstance(leaf, type) else repr(leaf)


def _call_shape(structure: Structure) -> str:
    """The structure of a call; without what the function names, if that is nothing."""
    if structure is not None and structure[0] is tuple and structure[1][2:] == ((tuple, ()),):
        structure = (tuple, structure[1][:2])
    return _shape(structure)


def _shape(structure: Structure) -> str:
    """A structure in the notation of Python, with a dot for each leaf."""
    if structure is None:
        return "."
    kind, *rest = structure
    if kind is Again:
        return "the same object"
    if kind is Closure:
        return f"{rest[0].name}({', '.join(map(_shape, rest[1]))})"
    if kind is Constant:
        return "..."
    if kind is Record:
        return f"{rest[0].__name__}({', '.join(f'{k}={_shape(s)}' for k, s in zip(*rest[1:]))})"
    if kind is dict:
        return "{" + ", ".join(f"{k!r}: {_shape(s)}" for k, s in zip(*rest)) + "}"
    inner = ", ".join(map(_shape, rest[0]))
    return f"[{inner}]" if kind is list else f"({inner})"
