"""What of a leaf matters: arrays are told apart by their types and layouts, other values by what they are."""

from __future__ import annotations

import logging
import types
from typing import Any

import numpy as np

from ..base.arrays import WRITEABLE, is_writeable
from ..base.dtypes import is_twin
from ..base.frozen import frozen
from ..errors import Untraceable
from .attributes import is_known_class
from .constants import Identity, constant_key
from .frozen import is_frozen
from .functions import is_named

# Values of these types are part of a trace: another value is another trace.
STATIC_TYPES = frozenset({int, bool, str, bytes, type(None), slice, type(...), range})

# Arguments that take part in a trace by what is drawn from them.
GENERATORS = (np.random.Generator, np.random.RandomState)

_NO_KERNELS = "which has no kernels"


@frozen
class Foreign:
    """The key of arguments of a class, or of arrays of a dtype, for which the plain function runs."""

    kind: Any
    reason: str


def leaf_key(leaf: Any) -> Any:
    """What of an argument a trace depends on: type, shape, strides, writability of an array, value of a static one.

    Raises
    ------
    Untraceable
        If this argument makes the plain function run, but others of its class do not.
    """
    kind = type(leaf)
    if kind is np.ndarray or kind is np.memmap:
        dtype, can_write = leaf.dtype, is_writeable(leaf)
        if not can_write and is_frozen(leaf):
            return kind, Identity(leaf)
        if is_twin(dtype):
            return Foreign((kind, dtype.num), f"takes an array of {dtype.type.__name__}, {_NO_KERNELS}")
        if dtype.kind not in "biufcmM":
            return Foreign(dtype if kind is np.ndarray else (kind, dtype), f"takes an array of {dtype}, {_NO_KERNELS}")
        if kind is np.ndarray and leaf.flags.aligned:
            return (dtype, leaf.shape, leaf.strides, can_write)
        return (dtype, leaf.shape, leaf.strides, can_write, leaf.flags.aligned, kind)
    if kind is float or kind is complex:
        return kind
    if kind is slice or kind is range:  # which are equal to others that are told apart
        return (kind, *((type(part), part) for part in (leaf.start, leaf.stop, leaf.step)))
    if kind in STATIC_TYPES:
        return (kind, leaf)
    if isinstance(leaf, np.generic):
        if leaf.dtype.kind not in "biufcmM" or is_twin(leaf.dtype):
            return Foreign(kind, f"takes a scalar of {leaf.dtype}, {_NO_KERNELS}")
        return kind, leaf.dtype
    if isinstance(leaf, type) and not is_known_class(leaf):
        raise Untraceable(f"takes the class {leaf.__qualname__}, which does more than others when it is used")
    if isinstance(leaf, (np.dtype, type, np.ufunc)) or kind is logging.Logger:
        return (kind, leaf)
    if kind in GENERATORS:
        return kind
    if kind is types.FunctionType and is_named(leaf) and not vars(leaf).keys() - {"__wrapped__"}:
        return (kind, leaf)
    if (key := constant_key(leaf)) is not None:
        return key
    reason = f"takes an argument of type {kind.__module__}.{kind.__qualname__}, which is not compiled"
    if kind is types.FunctionType or isinstance(leaf, type):
        raise Untraceable(reason)
    return Foreign(kind, reason)


# What of an array's flags code depends on that runs for any shape: C- and F-contiguous, aligned, writeable.
_FLAGS = 0x001 | 0x002 | 0x100 | WRITEABLE


def layout_key(leaf: Any) -> Any:
    """The same for code that runs for any shape and any value: type, number of axes and layout of an array."""
    if type(leaf) is np.ndarray:
        return leaf.dtype.num, leaf.dtype.isnative, leaf.ndim, leaf.flags.num & _FLAGS
    return type(leaf)


def is_foreign(leaf: Any) -> bool:
    """Whether the plain function runs for all arguments of the class of `leaf`, or for all arrays of its dtype."""
    try:
        return isinstance(leaf_key(leaf), Foreign)
    except Untraceable:
        return False


def is_dynamic(leaf: Any) -> bool:
    """Whether a leaf is an input of the program, as against a part of the trace."""
    if isinstance(leaf, np.ndarray):
        return is_writeable(leaf) or not is_frozen(leaf)
    return isinstance(leaf, np.generic) or type(leaf) in (float, complex)
