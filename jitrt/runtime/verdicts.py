"""Verdicts on functions that cannot be staged, on disk: what one process has tried in vain, the next one does not try.

A verdict decides what is tried, and never what a call gives.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from ..codegen import cache
from ..frontend.control.stage import STATIC
from ..frontend.python.numbas import source_of
from ..values.functions import underlying

_PLAIN = (bool, int, float, complex, str, type(None))


def verdict(function: Callable[..., Any], key: Hashable, args: tuple) -> tuple[str, bool] | None:
    """Why a function was not staged for such arguments, of the kinds in `key`; and whether whole arrays were why."""
    found = cache.load_table(_text(function, key, args))
    return (found["reason"], found["whole"]) if found.keys() >= {"reason", "whole"} else None


def keep_verdict(function: Callable[..., Any], key: Hashable, args: tuple, reason: str, whole: bool) -> None:
    """Leave a verdict for other processes."""
    cache.extend_table(_text(function, key, args), {"reason": reason, "whole": whole})


def _text(function: Callable[..., Any], key: Hashable, args: tuple) -> str:
    values = [repr(a) if isinstance(a, STATIC) else "" for a in args]
    return "\n".join(["not staged", repr(key), *values, *_described(function, set())])


def _described(function: Any, seen: set[int]) -> Iterator[str]:
    """What staging finds of a function: its code, and what it names, other functions of the user's among it."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or id(code) in seen:  # classes of functions have something else there
        return
    seen.add(id(code))
    yield f"{code.co_filename} {code.co_firstlineno} {function.__defaults__!r}"
    names: dict[str, None] = {}
    yield from _described_code(code, names)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    for name in names:
        value: Any = function.__globals__.get(name)
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:  # not assigned yet
                value = None
        for found in (value, *(vars(value).get(n) for n in names if isinstance(value, types.ModuleType))):
            found = source_of(found) or underlying(found)
            parts = found if isinstance(found, tuple) else (found,)
            yield f"{name} {len(parts)} {' '.join(map(_value, parts))}"
            yield from _described(found, seen)


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.ndim}"
    return repr(value) if isinstance(value, _PLAIN) else type(value).__qualname__


def _described_code(code: types.CodeType, names: dict[str, None]) -> Iterator[str]:
    names |= dict.fromkeys((*code.co_names, *code.co_freevars))
    yield f"{code.co_code.hex()} {code.co_varnames} {code.co_flags}"
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _described_code(value, names)
        else:
            yield repr(value)
