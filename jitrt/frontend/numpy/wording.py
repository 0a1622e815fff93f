"""Exceptions of rows in NumPy's words: a function may catch them, and look at what they say.

Where none is caught the plain function runs, and NumPy itself raises.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np

from ...ir.strided import depends
from ...values.kinds import mapped
from .aliases import arrays_of
from .operands import phantoms
from .silence import ended_by_warnings

_OURS = str(Path(__file__).parents[2])
_SHAPES = unwrap(np.broadcast_shapes).__code__.co_filename  # whom rows ask for shapes
_STEPS = str(Path(__file__).with_name("hostcalls.py"))
_REFUSALS = (ValueError, TypeError, IndexError)


def in_numpys_words(error: Exception, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Exception:
    """What NumPy raises for arrays of these shapes where a row has raised `error`; else `error` itself.

    Raises
    ------
    Warns
        If it warns before: the plain function does both.
    """
    given = (*args, *kwargs.values())
    if not _is_of_row(error) or any(callable(v) and not isinstance(v, type) for v in given):
        return error
    if any(depends(array.shape) for array in arrays_of(given)):
        return error
    out = {"out": mapped(kwargs["out"], _like)} if "out" in kwargs else {}
    args, kwargs = phantoms(args), phantoms(kwargs) | out
    try:
        with np.errstate(all="ignore"), ended_by_warnings(str(function)):
            function(*args, **kwargs)
    except _REFUSALS as raised:
        is_alike = any(isinstance(raised, t) and isinstance(error, t) for t in _REFUSALS)
        if "read-only" not in str(raised) and (is_alike or isinstance(getattr(function, "__self__", None), np.ufunc)):
            vars(raised)["is_numpys"] = True
            return raised.with_traceback(error.__traceback__)
    return error


def _like(value: Any) -> Any:
    """What may be written in place of an array."""
    return np.empty(value.shape, value.dtype) if isinstance(value, np.ndarray) else value


def _is_of_row(error: Exception) -> bool:
    """Whether an exception is not that of a step, or of NumPy's Python code, which knew the values."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    is_ours = bool(files) and (files[-1].startswith(_OURS) or files[-1] == _SHAPES)
    return isinstance(error, _REFUSALS) and is_ours and _STEPS not in files and "is_numpys" not in vars(error)
