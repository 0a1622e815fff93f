"""Calls with pandas Series that have the same labels: compiled code has their values, and results get the labels again.

    f(prices, volumes)  →  a function of two arrays, and Series of what it gives

What the function does with them has to act element by element, or to fold: a trace of it with `Labelled` decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import JitrtError
from ..frontend.numpy.labelled import DICT, GIVEN, LIST, NO_NAME, SERIES, TUPLE, NotTraced, stand_ins, told
from ..runtime.loopengine import MISS

_DTYPES = frozenset("?bhilBHILfd")  # of values
_MOST_KINDS = 64  # of calls, of which it is known whether they are compiled


def has_series(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether there is a Series among the arguments."""
    pandas = sys.modules.get("pandas")
    kind = getattr(pandas, "Series", None)
    return kind is not None and any(type(a) is kind for a in (*args, *kwargs.values()))


class LabelledCalls:
    """Calls of one function with Series.

    Parameters
    ----------
    function : callable
        The plain function.
    compiled : callable
        Makes a function compiled, with the user's options.
    """

    def __init__(self, function: Callable[..., Any], compiled: Callable[[Callable[..., Any]], Any]):
        def on_values(names: tuple[str, ...], labels: tuple[int | None, ...], *values: Any) -> Any:
            args, kwargs = stand_ins(names, labels, values)
            return told(function(*args, **kwargs), (*args, *kwargs.values()))

        on_values.__name__ = on_values.__qualname__ = getattr(function, "__name__", "function")
        on_values.__module__ = function.__module__
        self.compiled = compiled(on_values)
        self._kinds: dict[Any, bool] = {}

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call; `MISS` if the plain function has to run."""
        taken = _Taken(args, kwargs)
        if taken.given is None or not self._is_known(taken):
            return MISS
        try:
            return taken.labelled(self.compiled(*taken.given))
        except NotTraced:
            return MISS

    def _is_known(self, taken: _Taken) -> bool:
        """Whether calls of that kind are compiled."""
        found = self._kinds.get(taken.kind)
        if found is None:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.pop(next(iter(self._kinds)))
            try:
                found = not self.compiled._explained(taken.given, {}).plain_reason
            except (JitrtError, MemoryError):
                raise
            except Exception:  # it is the function's: the plain one raises it
                found = False
            self._kinds[taken.kind] = found
        return found

    def explain(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What the compiler has made for such a call; None if the plain function runs."""
        taken = _Taken(args, kwargs)
        return self.compiled.explain(*taken.given) if taken.given is not None and self._is_known(taken) else None


class _Taken:
    """The arguments of a call, with arrays in place of Series.

    Attributes
    ----------
    given : tuple or None
        Arguments of the function of values; None if it does not take them.
    kind : hashable
        What of them decides whether it is compiled.
    """

    given: tuple | None = None

    def __init__(self, args: tuple, kwargs: dict[str, Any]):
        kind = sys.modules["pandas"].Series
        self.series: list[Any] = []
        self.names: list[Any] = []
        labels: list[int | None] = []
        values: list[Any] = []
        self.arguments = (*args, *kwargs.values())
        for argument in self.arguments:
            if type(argument) is not kind:
                labels.append(None)
                values.append(argument)
                continue
            array = argument.values
            if not self._fits(argument, array):
                return
            labels.append(self._number(argument.name))
            values.append(array)
        self.kind = tuple(kwargs), tuple(labels), tuple([v.dtype if type(v) is np.ndarray else type(v) for v in values])
        self.given = (tuple(kwargs), tuple(labels), *values)

    def _fits(self, series: Any, array: Any) -> bool:
        """Whether all there is to a Series are its values, its name, and the labels that the others have."""
        if type(array) is not np.ndarray or array.dtype.char not in _DTYPES or not array.dtype.isnative:
            return False
        if series.attrs or not series.flags.allows_duplicate_labels:
            return False
        is_first = not self.series
        self.series.append(series)
        return is_first or series.index.is_(self.series[0].index)

    def _number(self, name: Any) -> int:
        for k, known in enumerate(self.names):
            if type(known) is type(name) and known == name:
                return k
        self.names.append(name)
        return len(self.names) - 1

    def labelled(self, found: Any) -> Any:
        """The result that `told` tells of."""
        what, value, *rest = found
        if what == SERIES:
            name = None if rest[0] == NO_NAME else self.names[rest[0]]
            kind = type(self.series[0])
            return kind(value, index=self.series[0].index, name=name, copy=False)
        if what == GIVEN:
            return self.arguments[value]
        if what == DICT:
            return dict(zip(rest[0], map(self.labelled, value)))
        if what in (TUPLE, LIST):
            return (tuple if what == TUPLE else list)(map(self.labelled, value))
        return value
