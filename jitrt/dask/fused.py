"""What tasks of a dask graph have in common, as a compiled function; one for each process."""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.tokenize import tokenize

from ..base.arrays import is_writeable
from ..call.options import Options
from ..jitfunction import JitFunction
from ..runtime.results import keep_at_most
from ..values.functions import underlying
from .chunks import counterpart

_ALONE = Options(threads=1)  # tasks run side by side already
_MOST_KNOWN = 512
_KEPT = 1 << 24
_FEW = 1 << 16  # bytes, which are copied sooner than a function is traced
_known: dict[str, Fused] = {}
_lock = threading.RLock()


class Fused:
    """A function that computes tasks; made by `fused`. The first task that it computes makes what it calls.

    Parameters
    ----------
    key : str
        Of it in graphs.
    text : str
        Python code of the function ``fused``, and of ``task``, which calls it, if that is not all.
    functions : tuple of callable
        ``f0``, ``f1``, … of the text.
    name : str
        For people.
    """

    def __init__(self, key: str, text: str, functions: tuple[Callable[..., Any], ...], name: str):
        self.key, self.text, self.functions, self.name = key, text, functions, name
        self._only_reads: bool | None = None  # not known yet

    def __call__(self, *arguments: Any) -> Any:
        self._make()
        return self._task(*arguments)

    def __reduce__(self) -> Any:
        return _known_or_new, (self.key, self.text, self.functions, self.name)

    def __repr__(self) -> str:
        return f"<{self.key}: {self.name}>"

    @property
    def compiled(self) -> JitFunction[..., Any]:
        """The function ``fused``."""
        self._make()
        return self._compiled

    def _make(self) -> None:
        with _lock:
            if hasattr(self, "_task"):
                return
            file = f"<{self.key}>"
            linecache.cache[file] = len(self.text), None, self.text.splitlines(keepends=True), file
            namespace = {f"f{k}": counterpart(function) or function for k, function in enumerate(self.functions)}
            exec(compile(self.text, file, "exec"), namespace)
            function = namespace["fused"]
            function.__module__, function.__name__, function.__qualname__ = "dask", self.name, self.name
            self._compiled = JitFunction(function, _ALONE)
            namespace["fused"] = self._served
            self._task = namespace.get("task", self._served)
            _spare_memory()

    def _served(self, *arguments: Any) -> Any:
        """The result of ``fused``.

        Blocks that come from disk, or from other workers, are read-only, and lie anywhere. If they were told from
        others, each combination of them would be traced, and have a frame of its own. So all are made alike where
        that makes no difference.
        """
        if self._only_reads:
            return self._compiled(*map(_alike, arguments))
        result = self._compiled(*arguments)
        if self._only_reads is None and (programs := self._compiled._specialisations.compiled()):
            self._only_reads = not any(found.may_write for found in programs) and _is_new(result, arguments)
        return result


def _alike(value: Any) -> Any:
    """A block as a read-only and aligned one, whose strides say nothing where there are few elements."""
    if type(value) is not np.ndarray:
        return value
    if not value.flags.aligned or value.nbytes <= _FEW:
        value = value.copy()
    elif is_writeable(value):
        value = value.view()
    value.flags.writeable = False
    return value


def _is_new(result: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether nothing of a result lies in the memory of arguments."""
    if isinstance(result, dict | tuple | list):
        return all(_is_new(part, arguments) for part in (result.values() if isinstance(result, dict) else result))
    given = [a for a in arguments if isinstance(a, np.ndarray)]
    return isinstance(result, np.generic) or (
        type(result) is np.ndarray and not any(np.may_share_memory(result, a) for a in given)
    )


def _spare_memory() -> None:
    """On a worker of ``distributed``, keep little of freed results: what its limit of memory holds may be no more."""
    if "distributed.worker" in sys.modules:
        with contextlib.suppress(ValueError):  # this is no worker
            sys.modules["distributed.worker"].get_worker()
            keep_at_most(_KEPT)


def fused(text: str, functions: tuple[Callable[..., Any], ...], name: str) -> Fused:
    """The function of that text; parameters as for `Fused`.

    To dask a function of a module is its name. One that was loaded anew is another.
    """
    codes = [_parts(_code(function)) for function in functions]
    return _known_or_new(f"jitrt-{tokenize(text, functions, codes)}", text, functions, name)


def _code(function: Any) -> types.CodeType | None:
    """What Python runs when a function, or an object, is called."""
    while isinstance(function, functools.partial | types.MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    function = underlying(function)
    if not isinstance(function, types.FunctionType):
        function = type(function).__call__
    return getattr(function, "__code__", None)


def _parts(code: types.CodeType | None) -> Any:
    if code is None:
        return None
    constants = [_parts(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    return code.co_code, code.co_names, constants


def _known_or_new(key: str, text: str, functions: tuple[Callable[..., Any], ...], name: str) -> Fused:
    with _lock:
        found = _known.get(key)
        if found is None:
            if len(_known) >= _MOST_KNOWN:
                _known.pop(next(iter(_known)))
            found = _known[key] = Fused(key, text, functions, name)
        return found
