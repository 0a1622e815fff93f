"""What a traced function finds in place of objects whose use is a step of its own, or that it may reach but not use."""

from __future__ import annotations

import cmath
import functools
import itertools
import logging
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...ir.extents import is_extent
from ..context import current
from ..numpy.operators import is_tracer
from ..numpy.standin import users_own
from .bytecode import names_in
from .purevalues import is_one_of
from .userline import user_line

_OPTIONS = ("otypes", "doc", "excluded", "cache", "signature")  # of np.vectorize, in their order


class Vectorized:
    """In place of `np.vectorize` objects: NumPy calls the function for every element, at every run."""

    def __init__(self, pyfunc: Any = None, *more: Any, **options: Any):
        if pyfunc is None:
            raise Untraceable("np.vectorize as a decorator with arguments", user_line())
        self._pyfunc, self._options = pyfunc, dict(zip(_OPTIONS, more)) | options
        np.vectorize(pyfunc, **self._options)  # may refuse them
        self.__name__ = getattr(pyfunc, "__name__", "function")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        state, given = current(), (self._pyfunc, self._options, args, kwargs)
        if state is None:
            return vectorized(users_own(self._pyfunc), self._options, args, kwargs)
        return state.calls.host_call(vectorized, f"vectorize({self.__name__})", given, {})


def vectorized(pyfunc: Callable[..., Any], options: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call of what `np.vectorize` makes of a function."""
    return np.vectorize(pyfunc, **options)(*args, **kwargs)


def of_vectorize(value: np.vectorize, pyfunc: Any) -> Vectorized:
    """What stands for a `np.vectorize` object, of whose function `pyfunc` is a copy."""
    options = {"otypes": value.otypes, "excluded": value.excluded, "cache": value.cache, "signature": value.signature}
    return Vectorized(pyfunc, **options)


class Remembering:
    """In place of functions with `functools.lru_cache`.

    The cache is asked at every run: it may have been cleared, or have dropped what it had. What depends on nothing but
    the arguments is the same then.
    """

    def __init__(self, function: Any):
        self._function = function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        state = current()
        if state is None:
            return self._function(*args, **kwargs)
        args, kwargs = tuple(map(_known, args)), {name: _known(value) for name, value in kwargs.items()}
        call = functools.partial(self._function, *args, **kwargs)
        result = call()
        if _has_arrays(result):
            return state.calls.borrowed(self._function, self._function.__name__, args, kwargs)
        if not _is_literal(result):
            raise Untraceable(f"{self._function.__name__} remembers objects", user_line())
        return result if _is_fixed(self._function) else state.watch(call, f"what {self._function.__name__} remembers")

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f".{name} of a function that remembers", user_line())


_LITERALS = (bool, int, float, complex, str, bytes, type(None))
_STEADY = (np, math, cmath, itertools, functools, operator)


def _has_arrays(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_arrays, value))
    return isinstance(value, np.ndarray)


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return type(value) in _LITERALS or isinstance(value, np.generic)


def _known(value: Any) -> Any:
    """An argument of such a function as the cache has it, which has to be known."""
    if is_extent(value):
        return operator.index(value)
    if type(value) is tuple:
        return tuple(map(_known, value))
    state = current()
    if state is not None and is_tracer(value):
        state.want_integers(value._node)
    if not _is_literal(value):
        raise Untraceable("calls a function that remembers with what is no literal", user_line())
    return value


def _is_fixed(function: Any) -> bool:
    """Whether what a function gives depends on its arguments alone, so that it does not matter when it was computed."""
    inner = function.__wrapped__
    if not isinstance(inner, types.FunctionType) or inner.__closure__ or inner.__defaults__ or inner.__kwdefaults__:
        return False
    names = names_in(inner.__code__)
    found = [inner.__globals__[name] for name in names if name in inner.__globals__]
    return "random" not in names and all(isinstance(v, np.ufunc) or is_one_of(v, (function, *_STEADY)) for v in found)


class Logger:
    """In place of a `logging.Logger`. Whether it takes messages is looked at; if so, the call runs plain."""

    def __init__(self, logger: logging.Logger):
        self._logger = logger

    def isEnabledFor(self, level: int) -> bool:
        state = current()
        if state is None:
            raise Untraceable("a logger outlives the trace", user_line())
        return state.watch(functools.partial(self._logger.isEnabledFor, level), "logging")

    def __getattr__(self, name: str) -> Any:
        level = _LEVELS.get(name)
        if level is None:
            raise Untraceable(f".{name} of a logger", user_line())

        def log(*args: Any, **kwargs: Any) -> None:
            if self.isEnabledFor(level):
                raise Untraceable("logs a message", user_line())

        return log


_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


def refusing(reason: str) -> Callable[..., Any]:
    """In place of a function that does something which a replay would leave out."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if current() is None:
            raise RuntimeError(reason)
        raise Untraceable(reason, user_line())

    refuse.__jitrt_refuses__ = reason  # type: ignore[attr-defined]
    return refuse
