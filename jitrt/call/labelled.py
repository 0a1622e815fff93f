"""Calls with pandas Series, or xarray DataArrays, that have the same labels: compiled code has their values.

    f(prices, volumes)  →  a function of two arrays, and Series of what it gives

What the function does with them has to act element by element, or to fold: a trace of it with `Labelled` decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..errors import JitrtError
from ..frontend.numpy.labelled import (
    AGAIN,
    DICT,
    GIVEN,
    LABELLED,
    NO_NAME,
    OTHER,
    STAND_INS,
    TUPLE,
    Label,
    NotTraced,
    stand_ins,
    told,
)
from ..runtime.loopengine import MISS

_DTYPES = frozenset("?bhilBHILfd")  # of values


def _of_pandas(value: Any, first: Any) -> np.ndarray | None:
    """The values of a Series that has nothing but these, a name, and the index of the `first` one."""
    if value.attrs or not value.flags.allows_duplicate_labels or not value.index.is_(first.index):
        return None
    return value.values


def _of_xarray(value: Any, first: Any) -> np.ndarray | None:
    """The values of a DataArray that has nothing but these, a name, and the coordinates of the `first` one."""
    if value.attrs or value.dims != first.dims:
        return None
    ours, its = value.coords.variables, first.coords.variables
    return value.data if ours.keys() == its.keys() and all(ours[k] is its[k] for k in its) else None


def _series(first: Any, values: np.ndarray, name: Any) -> Any:
    return type(first)(values, index=first.index, name=name, copy=False)


def _data_array(first: Any, values: np.ndarray, name: Any) -> Any:
    made = first.copy(deep=False, data=values)
    made.name = name
    return made


# How objects are taken apart, and made of values; both get the first one of the call.
_LIBRARIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "pandas.Series": (_of_pandas, _series),
    "xarray.DataArray": (_of_xarray, _data_array),
}


def _kinds() -> dict[type, str]:
    """The classes that are known, of libraries that have been imported."""
    found = {key: getattr(sys.modules.get(kind.library), kind.kind, None) for key, kind in STAND_INS.items()}
    return {kind: key for key, kind in found.items() if kind is not None}


def has_labels(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether there is an array with labels among the arguments."""
    kinds = _kinds()
    return bool(kinds) and any(type(a) in kinds for a in (*args, *kwargs.values()))


class LabelledCalls:
    """Calls of one function with arrays that have labels.

    Parameters
    ----------
    function : callable
        The plain function.
    compiled : callable
        Makes a function compiled, with the user's options.
    """

    def __init__(self, function: Callable[..., Any], compiled: Callable[[Callable[..., Any]], Any]):
        def on_values(names: tuple[str, ...], labels: tuple[Label, ...], *values: Any) -> Any:
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
            if len(self._kinds) >= policy.KINDS:
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
    """The arguments of a call, with arrays in place of what has labels.

    Attributes
    ----------
    given : tuple or None
        Arguments of the function of values; None if it does not take them, or none of them has labels.
    kind : hashable
        What of them decides whether it is compiled.
    """

    given: tuple | None = None

    def __init__(self, args: tuple, kwargs: dict[str, Any]):
        kinds = _kinds()
        self.arguments = (*args, *kwargs.values())
        self.first: Any = None
        self.names: list[Any] = []
        self._made: list[Any] = []
        labels: list[Label] = []
        values: list[Any] = []
        for argument in self.arguments:
            key = kinds.get(type(argument))
            if key is None:
                labels.append(None)
                values.append(argument)
                continue
            if self.first is None:
                self.first, self._make = argument, _LIBRARIES[key][1]
            array = _LIBRARIES[key][0](argument, self.first) if type(argument) is type(self.first) else None
            if type(array) is not np.ndarray or array.dtype.char not in _DTYPES or not array.dtype.isnative:
                return
            labels.append((key, self._number(argument.name)))
            values.append(array)
        if self.first is None:
            return
        self.kind = tuple(kwargs), tuple(labels), tuple([v.dtype if type(v) is np.ndarray else type(v) for v in values])
        self.given = (tuple(kwargs), tuple(labels), *values)

    def _number(self, name: Any) -> int:
        for k, known in enumerate(self.names):
            if type(known) is type(name) and known == name:
                return k
        self.names.append(name)
        return len(self.names) - 1

    def labelled(self, found: Any) -> Any:
        """The result that `told` tells of."""
        what, value, *rest = found
        if what == GIVEN:
            return self.arguments[value]
        if what == AGAIN:
            return self._made[value]
        if what == OTHER:
            return value
        place = len(self._made)
        self._made.append(None)
        if what == LABELLED:
            made = self._make(self.first, value, None if rest[0] == NO_NAME else self.names[rest[0]])
        elif what == DICT:
            made = dict(zip(rest[0], map(self.labelled, value)))
        else:
            made = (tuple if what == TUPLE else list)(map(self.labelled, value))
        self._made[place] = made
        return made
