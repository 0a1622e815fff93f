"""The engine protocol of pandas: ``df.apply(f, engine=jitrt.jit)`` and ``series.map(f, engine=jitrt.jit)``.

pandas itself is not imported: it hands over its objects and finds the engine as ``jit.__pandas_udf__``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .values.functions import is_jitted

_compiled: weakref.WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = weakref.WeakKeyDictionary()


class PandasEngine:
    """What pandas calls in place of its own loops; see ``pandas.api.executors.BaseExecutionEngine``."""

    @staticmethod
    def map(
        data: Any, func: Callable[..., Any], args: tuple, kwargs: dict, decorator: Callable | None, skip_na: bool
    ) -> Any:
        """`func` of every element.

        Parameters
        ----------
        data : Series, DataFrame or ndarray
        func, args, kwargs
            The user's function, and its further arguments.
        decorator : callable
            `jit`, with the user's options.
        skip_na : bool
            Whether missing values are left as they are.
        """
        function = _decorated(func, decorator)
        if isinstance(data, np.ndarray):
            made = [x if skip_na and x != x else function(x, *args, **kwargs) for x in data.ravel().tolist()]
            return np.array(made).reshape(data.shape)
        return data.map(lambda x: function(x, *args, **kwargs), na_action="ignore" if skip_na else None)

    @staticmethod
    def apply(
        data: Any, func: Callable[..., Any], args: tuple, kwargs: dict, decorator: Callable | None, axis: int | str
    ) -> Any:
        """`func` of every column (``axis=0``) or row.

        Parameters
        ----------
        data : DataFrame, Series or ndarray
            An array for ``raw=True``; its columns or rows are then arrays, and run compiled.
        func, args, kwargs
            The user's function, and its further arguments.
        decorator : callable
            `jit`, with the user's options.
        axis : {0, 1, "index", "columns"}
        """
        function = _decorated(func, decorator)
        if isinstance(data, np.ndarray):
            number = {"index": 0, "columns": 1, 0: 0, 1: 1}[axis]
            return np.apply_along_axis(function, number, data, *args, **kwargs)
        return data.apply(function, axis=axis, args=args, **kwargs)


def _decorated(func: Callable[..., Any], decorator: Callable | None) -> Callable[..., Any]:
    """The compiled function; one for all calls with the same `func` and no options."""
    if decorator is None or is_jitted(func):
        return func
    if not hasattr(decorator, "__pandas_udf__"):
        return decorator(func)
    try:
        found = _compiled.get(func)
        if found is None:
            found = _compiled[func] = decorator(func)
    except TypeError:  # nothing that can be referred to weakly
        found = decorator(func)
    return found
