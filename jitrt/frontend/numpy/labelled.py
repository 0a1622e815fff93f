"""What stands for a pandas Series, or an xarray DataArray, in a trace: what acts element by element, or folds.

All of them in a call have the same labels, so that none of this looks at these. Everything else ends the trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.operators import BINARY, COMPARISONS, UNARY
from ...errors import Untraceable
from ...ir import build as b
from ..python.userline import user_line
from .maskedoperations import silenced, state
from .operators import is_tracer

LABELLED, TUPLE, LIST, DICT, OTHER, GIVEN, AGAIN = range(7)  # what a result has been
NO_NAME = -1  # of what is made of objects with different names

_INFINITY = float("inf")


def _refuse(what: str) -> Any:
    raise Untraceable(f"{what} of an array with labels", user_line())


class NotTraced(Exception):
    """The function of values is about to run as plain Python, which the function of labels does as well."""


class Labelled:
    """An array with labels whose values are symbols; a subclass for each class of a library.

    Parameters
    ----------
    values : Tracer
    name : int
        The number of its name among those of the call, or `NO_NAME`.

    Attributes
    ----------
    library, kind : str
        The library's module, and the name of the class.
    ufuncs_are_operators : bool
        Whether ``np.add(x, y)`` is ``x + y``, which never warns.

    Raises
    ------
    NotTraced
        If the values are none.
    """

    __slots__ = ("_name", "_values")
    __hash__ = None  # type: ignore[assignment]
    library = kind = ""
    ufuncs_are_operators = False

    def __init__(self, values: Any, name: int):
        if not is_tracer(values):
            raise NotTraced
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_name", name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return getattr(sys.modules[self.library], self.kind)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.nout != 1:
            return _refuse(f"{ufunc.__name__} with options")
        name = _OPERATORS.get(ufunc)
        if name is not None:
            return _operated(name, *inputs) if self.ufuncs_are_operators else _refuse(f"np.{ufunc.__name__}")
        made = _made(ufunc, inputs)
        if made._name == NO_NAME and not self.ufuncs_are_operators:  # versions of xarray differ
            return _refuse(f"np.{ufunc.__name__} of arrays with different names")
        return made

    def __array_function__(self, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if function in _ON_VALUES:
            return function(*map(_values_of, args), **kwargs)
        method = _METHODS.get(function)
        if method is None or args[0] is not self or type(self) is not LabelledSeries:
            return _refuse(f"np.{function.__name__}")
        if method in ("std", "var"):
            kwargs = {"ddof": 0} | kwargs
        return getattr(self, method)(*args[1:], **kwargs)

    def __getattr__(self, name: str) -> Any:
        return _refuse(name)

    shape = property(lambda self: self._values.shape)
    size = property(lambda self: self._values.size)
    ndim = property(lambda self: self._values.ndim)
    dtype = property(lambda self: self._values.dtype)
    values = property(lambda self: self._values[...])

    def __len__(self) -> int:
        return len(self._values)


class LabelledArray(Labelled):
    """A DataArray of xarray's."""

    __slots__ = ()
    library, kind = "xarray", "DataArray"


class LabelledSeries(Labelled):
    """A Series of pandas'. Its folds leave out what is missing."""

    __slots__ = ()
    library, kind = "pandas", "Series"
    ufuncs_are_operators = True

    def to_numpy(self) -> Any:
        return self._values[...]

    def abs(self) -> Any:
        return abs(self)

    def isna(self) -> Any:
        values = self._values
        return LabelledSeries(np.isnan(values) if values.dtype.kind == "f" else values != values, self._name)

    isnull = isna

    def notna(self) -> Any:
        return LabelledSeries(np.logical_not(self.isna()._values), self._name)

    notnull = notna

    def fillna(self, value: Any) -> Any:
        if self.dtype != np.float64 or type(value) not in (int, float):
            return _refuse("fillna")
        return LabelledSeries(np.where(np.isnan(self._values), float(value), self._values), self._name)

    def clip(self, lower: Any = None, upper: Any = None) -> Any:
        limits = (lower, upper)
        if self.dtype != np.float64 or any(v is not None and (type(v) not in (int, float) or v != v) for v in limits):
            return _refuse("clip")
        values = self._values
        for limit, beyond in ((upper, np.greater), (lower, np.less)):
            if limit is not None:
                values = np.where(beyond(values, limit), float(limit), values)
        return LabelledSeries(values.copy() if values is self._values else values, self._name)

    def _parts(self, fill: float, axis: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        """The values, with `fill` for those that are missing, and how many are not."""
        if axis not in (None, 0) or any(v is not None for v in options.values()):
            _refuse("a fold with options")
        values = self._values
        if values.dtype.kind not in "fiu" or (values.dtype.kind == "f" and values.dtype != np.float64):
            _refuse(f"a fold over {values.dtype}")
        if values.dtype.kind != "f":
            return values, values.size
        missing = np.isnan(values)
        return np.where(missing, fill, values), values.size - np.count_nonzero(missing)

    def sum(self, axis: Any = None, **options: Any) -> Any:
        return self._parts(0.0, axis, options)[0].sum()

    def mean(self, axis: Any = None, **options: Any) -> Any:
        values, count = self._parts(0.0, axis, options)
        _require_more(count, 0)
        return np.true_divide(values.sum(dtype=np.float64), count)

    def min(self, axis: Any = None, **options: Any) -> Any:
        values, count = self._parts(_INFINITY, axis, options)
        _require_more(count, 0)
        return values.min()

    def max(self, axis: Any = None, **options: Any) -> Any:
        values, count = self._parts(-_INFINITY, axis, options)
        _require_more(count, 0)
        return values.max()

    def var(self, axis: Any = None, ddof: int = 1, **options: Any) -> Any:
        if type(ddof) is not int:
            return _refuse("a degree of freedom that is no integer")
        values, count = self._parts(0.0, axis, options)
        _require_more(count, max(ddof, 0))
        away = (np.true_divide(values.sum(dtype=np.float64), count) - values) ** 2
        if self.dtype.kind == "f":
            away = np.where(np.isnan(self._values), 0.0, away)
        return np.true_divide(away.sum(dtype=np.float64), count - ddof)

    def std(self, axis: Any = None, ddof: int = 1, **options: Any) -> Any:
        return np.sqrt(self.var(axis, ddof, **options))


def _require_more(count: Any, least: int) -> None:
    """Let the trace hold for calls in which more values than `least` are there: others give another type."""
    if not is_tracer(count):
        if count <= least:
            _refuse("a fold over too few values")
    elif not state().assume(b.elementwise(np.greater, count._node, b.constant(least))):
        _refuse("a fold over too few values that are not missing")


def _is_labelled(value: Any) -> bool:
    return issubclass(type(value), Labelled)


def _values_of(value: Any) -> Any:
    return value._values if _is_labelled(value) else value


def _made(function: Callable[..., Any], inputs: tuple) -> Labelled:
    """What a function of elements gives of labelled arrays, and numbers or arrays."""
    labelled = [v for v in inputs if _is_labelled(v)]
    kind, shape = type(labelled[0]), labelled[0].shape
    for v in inputs:
        is_array = is_tracer(v) and v.shape in ((), shape)
        if not (type(v) is kind or is_array or type(v) in (bool, int, float) or isinstance(v, np.generic)):
            _refuse(f"an operation with {type(v).__name__}")
    names = {v._name for v in labelled}
    return kind(function(*map(_values_of, inputs)), names.pop() if len(names) == 1 else NO_NAME)


def _operated(name: str, *operands: Any) -> Any:
    """An operator, as pandas has it: it never warns."""
    if not all(_fits(name, v) for v in operands) or (name == "pow" and any(_is_whole(v) for v in operands)):
        return _refuse(f"the operator {name} with such operands")
    with silenced("divide", "over", "under", "invalid"):
        return _made(_PYTHONS[name], operands)


def _is_whole(value: Any) -> bool:
    """Whether a value has labels and holds integers, of which libraries raise powers in their own way."""
    return _is_labelled(value) and value.dtype.kind != "f"


def _fits(name: str, value: Any) -> bool:
    kind = value.dtype.kind if hasattr(value, "dtype") else {bool: "b", int: "i", float: "f"}.get(type(value), "O")
    return kind in _KINDS.get(name, "")


_KINDS = (
    dict.fromkeys(("add", "sub", "mul", "truediv", "neg", "pos", "abs"), "fiu")
    | {"pow": "fi", "invert": "b"}
    | dict.fromkeys(("and", "or", "xor"), "b")
    | dict.fromkeys(COMPARISONS, "fiub")
)  # of operands; pandas has rules of its own for others
_PYTHONS = {name: python for name, (_, python) in (BINARY | COMPARISONS | UNARY).items()}
_OPERATORS = {ufunc: name for name, (ufunc, _) in (BINARY | COMPARISONS | UNARY).items()}
_ON_VALUES = frozenset({np.where, np.isclose, np.count_nonzero})
_METHODS = {f: f.__name__ for f in (np.sum, np.mean, np.min, np.max, np.std, np.var)}


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    return lambda self, other: _operated(name, other, self) if reflected else _operated(name, self, other)


for _name in BINARY:
    for _prefix, _is_reflected in (("", False), ("r", True)):
        setattr(Labelled, f"__{_prefix}{_name}__", _operator(_name, _is_reflected))
    setattr(Labelled, f"__i{_name}__", lambda self, other: _refuse("an assignment by an operator"))
for _name in COMPARISONS:
    setattr(Labelled, f"__{_name}__", _operator(_name, False))
for _name in UNARY:
    setattr(Labelled, f"__{_name}__", lambda self, n=_name: _operated(n, self))
for _name in """array bool bytes complex contains delattr delitem divmod float format getitem index int iter rdivmod
reduce_ex repr reversed round setattr setitem str""".split():
    setattr(Labelled, f"__{_name}__", lambda *args, n=_name, **kwargs: _refuse(n))


Label = tuple[str, int] | None


def stand_ins(names: tuple[str, ...], labels: tuple[Label, ...], values: tuple) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the function, of which the last have `names`.

    Parameters
    ----------
    names : tuple of str
    labels : tuple
        For each argument with labels its key in `STAND_INS`, and the number of its name; None for others.
    values : tuple

    Raises
    ------
    NotTraced
        If the values of what has labels are no symbols.
    """
    given = [v if label is None else STAND_INS[label[0]](v, label[1]) for v, label in zip(values, labels)]
    count = len(given) - len(names)
    return given[:count], dict(zip(names, given[count:]))


STAND_INS = {f"{kind.library}.{kind.kind}": kind for kind in (LabelledSeries, LabelledArray)}


def told(result: Any, given: Sequence[Any]) -> tuple:
    """A result without labels, and what has had some: its parts in order, those that come again by their numbers."""
    return _told(result, given, [])


def _told(result: Any, given: Sequence[Any], found: list[Any]) -> tuple:
    for known, again in ((given, GIVEN), (found, AGAIN)):
        for k, value in enumerate(known):
            if value is result:
                return again, k
    if not _holds_labels(result):
        return OTHER, result
    found.append(result)
    if _is_labelled(result):
        return LABELLED, result._values, result._name
    parts = tuple([_told(part, given, found) for part in (result.values() if type(result) is dict else result)])
    return (DICT, parts, tuple(result)) if type(result) is dict else (TUPLE if type(result) is tuple else LIST, parts)


def _holds_labels(value: Any) -> bool:
    if type(value) in (tuple, list):
        return any(map(_holds_labels, value))
    return any(map(_holds_labels, value.values())) if type(value) is dict else _is_labelled(value)
