"""Everything that a caller sees of a call: the result or the exception, and every byte that it could write."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import jitrt


def outcome(function: Callable[..., Any], args: Sequence[Any], memory: Iterable[np.ndarray] = ()) -> list[Any]:
    """What a call does.

    Parameters
    ----------
    function : callable
    args : sequence
        Its arguments.
    memory : iterable of numpy.ndarray
        What the arguments are views of.

    Returns
    -------
    list
        What two calls that did the same have in common.
    """
    error = value = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        try:
            value = function(*args)
        except Exception as raised:
            error = type(raised), str(raised)
    seen = arrays_in(value)
    return [error, _text(value), relations([*seen, *arrays_in(args)]), [m.tobytes() for m in memory]]


def relations(arrays: Sequence[np.ndarray]) -> list[list[Any]]:
    """For each pair whether it is one object, or else the distance of the first elements, where they share memory."""
    return [
        ["is" if a is b else _address(a) - _address(b) if np.shares_memory(a, b) else None for b in arrays]
        for a in arrays
    ]


def arrays_in(value: Any) -> list[np.ndarray]:
    """The arrays in nested tuples, lists, dicts and objects."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dict__"):
        value = list(vars(value).values())
    return [a for v in value for a in arrays_in(v)] if isinstance(value, (tuple, list)) else []


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _text(value: Any) -> Any:
    """A result as something that can be compared."""
    if isinstance(value, (np.ndarray, np.generic)):
        seen = (type(value), value.dtype, value.shape, value.tobytes())
        if isinstance(value, np.generic):
            return seen
        strides = [s for s, n in zip(value.strides, value.shape) if n > 1 and value.size]
        return *seen, strides, value.flags.writeable
    if isinstance(value, dict):
        return [*value], list(map(_text, value.values()))
    return (type(value), list(map(_text, value))) if isinstance(value, (tuple, list)) else value
