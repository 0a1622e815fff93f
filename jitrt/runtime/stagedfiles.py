"""Staged functions on disk: what one process has staged, no other one stages again.

What a function becomes depends on its code, on the kinds of its arguments, and on the values of some of them: these
name the file. It depends on what was read from outside, too: the file says where that was, and what. Where something
else is found there, the function is staged anew.
"""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import config
from ..base.frozen import frozen, replaced
from ..codegen import cache
from ..frontend.control.generated import NO_DEFAULT
from ..frontend.control.outside import is_source
from ..frontend.control.stage import Staged, sizes_tell
from ..frontend.python.captures import Capture
from ..ir.loops import Compute, External, statements_within
from ..ir.ops.optable import OPS
from ..kernels import external
from ..values.functions import MISSING, underlying
from ..values.keys import layout_key
from . import portable
from .verdicts import text_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), types.EllipsisType)
_UNREADABLE = (pickle.PickleError, AttributeError, ImportError, TypeError, ValueError, EOFError)
_BOUND = ("blas.", "libm.", "order.", "random.")
_LIBRARIES = frozenset({"builtins", "cmath", "collections", "functools", "itertools", "math", "numpy", "operator"})
_MARKS = {id(MISSING): "nothing", id(NO_DEFAULT): "no default"}
Place = tuple[Any, ...]


class _Unknown(Exception):
    """Something that other processes cannot find, or recognise."""


@frozen
class _Outside:
    """A value that was read from outside.

    Parameters
    ----------
    name : str
        As in the code.
    place : tuple
        Where what holds it is found, see `_place_of`.
    key : str or int or None
        See `Capture`.
    value : object
        What it was, in words.
    """

    name: str
    place: Place
    key: Any
    value: Any


@frozen
class _Kept:
    """What a file has: what was read from outside, how many of these are guarded, and are arrays, and the rest."""

    outside: tuple[_Outside, ...]
    guarded: int
    arrays: int
    staged: Staged


def load_staged(name: str, function: Callable[..., Any], args: Sequence[Any]) -> Staged | None:
    """What another process has made of a function for such arguments; None if there is nothing that holds here.

    Parameters
    ----------
    name : str
        What it is found by.
    function : callable
    args : sequence
        Its arguments.
    """
    text = _text(name, args)
    found = _read(text)
    if isinstance(found, tuple):  # the numbers of arguments whose values matter
        text = _with_values(text, [args[k] for k in found])
        found = _read(text)
    if not isinstance(found, _Kept) or not external.bind(_symbols(found.staged)):
        return None
    try:
        captures = _Outsides(found.outside, function).captures()
    except _Unknown:
        return None
    arrays = captures[found.guarded : found.guarded + found.arrays]
    return replaced(found.staged, captured=tuple(captures[: found.guarded]), arrays=tuple(arrays))


def keep_staged(name: str, function: Callable[..., Any], args: Sequence[Any], staged: Staged) -> None:
    """Leave what a function has become for other processes, if it makes sense in them."""
    computed = (OPS[s.op] for s in statements_within(staged.procedure.body) if isinstance(s, Compute))
    known = dict(staged.known)
    if staged.steps or any(op.emit for op in computed) or not all(type(v) in _PLAIN for v in known.values()):
        return
    if not all(symbol.startswith(_BOUND) for symbol in _symbols(staged)):
        return
    captures = [*staged.captured, *staged.arrays]
    bare = replaced(staged, captured=(), arrays=())
    try:
        outside = tuple([_Outside(c.name, _place_of(c, function, captures), c.key, _described(c)) for c in captures])
        data = portable.dumps(_Kept(outside, len(staged.captured), len(staged.arrays), bare))
        portable.loads(data)
    except (_Unknown, *_UNREADABLE):
        return
    text = _text(name, args)
    if known:
        cache.store_bytes(text, "staged", portable.dumps(tuple(known)))
        text = _with_values(text, list(known.values()))
    cache.store_bytes(text, "staged", data)


def _symbols(staged: Staged) -> list[str]:
    """The functions outside that a procedure calls; staging defines them, where this process has them."""
    return [s.symbol for s in statements_within(staged.procedure.body) if isinstance(s, External)]


def _text(name: str, args: Sequence[Any]) -> str:
    return "\n".join(["staged", str(config.strict()), *map(str, sizes_tell(args)), name])


def _with_values(text: str, values: Sequence[Any]) -> str:
    return "\n".join([text, *(f"{type(v).__name__} {v!r}" for v in values)])


def _read(text: str) -> Any:
    data = cache.load_bytes(text, "staged")
    try:
        return None if data is None else portable.loads(data)
    except _UNREADABLE:
        return None


def _place_of(capture: Capture, function: Any, captures: Sequence[Capture]) -> Place:
    """Where what holds a captured value is found, beginning with the function, a module, or another captured value."""
    holder = capture.container
    found = _within(holder, function)
    if found:
        return ("of the function", *found)
    if type(holder) is dict:
        module = holder.get("__name__")
        if isinstance(module, str) and vars(sys.modules.get(module, types)) is holder:
            return ("of a module", module)
    for k, other in enumerate(captures):
        found = _within(holder, underlying(other.value))
        if found and other is not capture:
            return ("of a value", k, *found)
    raise _Unknown(capture.name)


def _within(holder: Any, value: Any) -> Place:
    """How a holder is found in a value: empty if it is not there."""
    if holder is value:
        return ("itself",)
    if type(value) is types.FunctionType:
        if holder is value.__globals__:
            return ("globals",)
        for k, cell in enumerate(value.__closure__ or ()):
            if holder is cell:
                return "cell", k
    return ()


class _Outsides:
    """What was read from outside, as it is in this process."""

    def __init__(self, outside: Sequence[_Outside], function: Any):
        self._outside, self._function = outside, function
        self._found: list[Capture | None] = [None] * len(outside)

    def captures(self) -> list[Capture]:
        """All values.

        Raises
        ------
        _Unknown
            If one is not what it was.
        """
        for k, outside in enumerate(self._outside):
            if _described(self._capture(k)) != outside.value:
                raise _Unknown(outside.name)
        return [self._capture(k) for k in range(len(self._outside))]

    def _capture(self, k: int) -> Capture:
        found = self._found[k]
        if found is None:
            outside = self._outside[k]
            empty = Capture(outside.name, None, self._holder(outside.place), outside.key)
            found = self._found[k] = replaced(empty, value=empty.read())
        return found

    def _holder(self, place: Place) -> Any:
        match place:
            case "of a module", name:
                if name not in sys.modules:
                    raise _Unknown(name)
                return vars(sys.modules[name])
            case "of a value", k, *within:
                value = underlying(self._capture(k).value)
            case _, *within:
                value = self._function
        if within == ["itself"]:
            return value
        if type(value) is not types.FunctionType:
            raise _Unknown(str(place))
        return value.__globals__ if within == ["globals"] else (value.__closure__ or ())[within[1]]


def _described(capture: Capture) -> Any:
    """What was captured, in words; what a dict or a list has is captured by itself.

    Raises
    ------
    _Unknown
        If words do not say it all.
    """
    value = capture.value
    if type(value) is np.ndarray:
        return "array", repr(layout_key(value))
    if is_source(value):
        return "generator", type(value).__name__
    if capture.key == "__kwdefaults__" and type(value) is dict:
        return "defaults", *[(name, _of_value(v)) for name, v in value.items()]
    return type(value).__name__ if type(value) in (dict, list) else _of_value(value)


def _of_value(value: Any) -> Any:
    if id(value) in _MARKS:
        return _MARKS[id(value)]
    if type(value) in _PLAIN:
        return type(value).__name__, repr(value)
    if isinstance(value, tuple):
        if type(value) is not tuple:
            raise _Unknown(type(value).__name__)
        return "tuple", *map(_of_value, value)
    if isinstance(value, np.dtype) and value.isbuiltin == 1:
        return "dtype", value.str
    if isinstance(value, np.generic) and value.dtype.isbuiltin == 1 and not value.dtype.hasobject:
        return value.dtype.str, value.tobytes()
    if isinstance(value, types.CodeType):
        return "code", text_of(value)
    if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
        return "module", value.__name__
    function = underlying(value)
    if type(function) is types.FunctionType:
        return "function", type(value).__name__, text_of(function.__code__)
    return _of_a_library(value)


def _of_a_library(value: Any) -> Any:
    """The module and the name of an object that does not change as long as its library is the same."""
    module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if module.partition(".")[0] in _LIBRARIES:
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is value:
            return module, name
    raise _Unknown(str(name))
