"""Python's own functions in staged functions. What loops over its argument is written as Python documents it."""

from __future__ import annotations

import ast
import contextlib
import numbers
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.integers import Poly
from ..python.classes import tells_by_class
from . import arithmetic, complexnumbers, composites, library, lists, objects, scalars, specialmethods, strings
from .arrays import ZERO
from .containers import PYTHONS
from .kinds import Number
from .outside import is_function
from .recorder import Recorder
from .registry import known_dtype
from .runtimelists import RunTimeList
from .strings import Text
from .values import (
    BOOL,
    FLOAT,
    Array,
    Chosen,
    Complex,
    Composite,
    NotStaged,
    Scalar,
    Unread,
    dtype_of,
    integer,
    is_number,
    is_python_number,
    is_static,
    is_word,
)

if TYPE_CHECKING:
    from .calls import Calls


def _sum_of(values: Any, start: Any) -> Any:
    total = start
    for value in values:
        total = total + value
    return total


def _sum_of_arrays(values: Any, start: Any) -> Any:
    total = start + values[0]
    for k in range(1, len(values)):
        total = total + values[k]
    return total


def _accurate_sum_of(values: Any, start: Any) -> Any:
    """A sum of Python's floats: with what rounding loses (Neumaier 1974), as Python adds them since version 3.12."""
    total = start + 0.0
    lost = 0.0
    for value in values:
        larger = total + value
        if abs(total) >= abs(value):
            lost = lost + ((total - larger) + value)
        else:
            lost = lost + ((value - larger) + total)
        total = larger
    if lost - lost == 0.0:
        total = total + lost
    return total if len(values) > 0 else start


def _largest_of(values: Any) -> Any:
    best = values[0]
    for value in values:
        if value > best:
            best = value
    return best


def _smallest_of(values: Any) -> Any:
    best = values[0]
    for value in values:
        if value < best:
            best = value
    return best


def _any_of(values: Any) -> bool:
    for value in values:  # noqa: SIM110
        if value:
            return True
    return False


def _all_of(values: Any) -> bool:
    for value in values:  # noqa: SIM110
        if not value:
            return False
    return True


def is_of_run_time(values: Any) -> bool:
    """Whether a loop has to visit the values."""
    return isinstance(values, RunTimeList) or (isinstance(values, Array) and values.ndim > 0)


def _absolute(where: Calls, e: ast.Call, x: Any) -> Any:
    if isinstance(x, Complex):
        return complexnumbers.unary(where.r, "absolute", x)
    if objects.is_object(x):
        return specialmethods.absolute(where, x, e)
    return (
        library.ufunc(where.r, np.absolute, [x]) if isinstance(x, Array) else arithmetic.unary(where.r, "absolute", x)
    )


def length(where: Calls, e: Any, x: Any) -> Any:
    """``len(x)``."""
    x = strings.characters(x)
    if isinstance(x, Array) and x.ndim:
        return integer(x.shape[0])
    if isinstance(x, RunTimeList):
        return integer(lists.length(where.r, x))
    if composites.is_records(x):
        return integer(composites.length(x))
    if isinstance(x, Composite) and (x.kind is dict or issubclass(x.kind, tuple)):
        return len(x.parts)
    if objects.is_object(x):
        return specialmethods.length(where, x, e)
    if isinstance(x, (tuple, list, str, dict)):
        return len(x)
    raise NotStaged("the length of this")


def _extreme(op: str, found_in: Callable[[Any], Any]) -> Callable[..., Any]:
    """Python's min and max: the first argument, unless a later one is smaller or larger."""

    def extreme(where: Calls, e: ast.Call, *args: Any) -> Any:
        if len(args) == 1 and is_of_run_time(args[0]):
            return where.inlined(found_in, list(args), {}, e)
        if len(args) == 1:
            args = tuple(args[0]) if isinstance(args[0], (tuple, list)) else ()
        if not args or not all(map(is_number, args)):
            raise NotStaged("min or max of this")
        best = args[0]
        for other in args[1:]:
            best = _better(where.r, op, best, other)
        return best

    return extreme


def _better(r: Recorder, op: str, best: Any, other: Any) -> Any:
    kinds = dtype_of(best), dtype_of(other)
    flags = is_python_number(best), is_python_number(other)
    python = flags[0] if flags[0] == flags[1] else None
    condition = scalars.truth(r, arithmetic.compare(r, op, other, best))
    if isinstance(condition, bool):
        return other if condition else best
    flag = ""
    if python is None:
        names = [scalars.flag_of(r, v) for v in (other, best)]
        flag = r.compute("where", [condition, *names], BOOL)
    if all(map(is_word, kinds)):
        if kinds[0] != kinds[1] and True not in flags:
            raise NotStaged("min or max of numbers of different types")
        x, y = scalars.poly_of(r, best), scalars.poly_of(r, other)
        found = r.minimum(x, y) if op == "less" else r.maximum(x, y)
        return integer(found, kinds[flags[0] is True], python, flag)
    dtype = FLOAT if set(flags) == {True} else kinds[flags[0] is True]
    names = [arithmetic.exactly(r, v, dtype) for v in (other, best)]
    name = r.compute("where", [condition, *names], [BOOL, dtype, dtype], dtype)
    settled = ""
    if kinds[0] != kinds[1] or any(isinstance(v, Scalar) and v.settled for v in (best, other)):
        names = [scalars.settled_flag(r, v, dtype) for v in (other, best)]
        settled = r.compute("where", [condition, *names], BOOL)
    return Scalar(dtype, python, name, flag=flag, settled=settled)


def _sum(where: Calls, e: ast.Call, values: Any, start: Any = 0) -> Any:
    is_accurate = _is_accurate(values, start)
    if is_accurate or is_of_run_time(values):
        way = _accurate_sum_of if is_accurate else _sum_of if _are_numbers(values) else _sum_of_arrays
        with where.r.library():
            return where.inlined(way, [values, start], {}, e)
    if not isinstance(values, (tuple, list)):
        raise NotStaged("a sum of this")
    if any(map(objects.is_object, (start, *values))):
        raise NotStaged("a sum of objects")
    if isinstance(start, str):
        raise NotStaged("a sum of strings, which Python refuses")
    for value in values:
        start = where.operation("add", start, value)
    return start


def _are_numbers(values: RunTimeList | Array) -> bool:
    """Whether the elements of an array, or of a list of run time, are numbers."""
    return isinstance(values.kind, Number) if isinstance(values, RunTimeList) else values.ndim == 1


def _is_accurate(values: Any, start: Any) -> bool:
    """Whether these are Python's own floats, which it adds with less rounding since version 3.12."""
    if sys.version_info < (3, 12) or isinstance(values, Array):
        return False
    if isinstance(values, RunTimeList):
        kind = values.kind
        floats = [isinstance(kind, Number) and kind.dtype == FLOAT and kind.python is not False]
        certain = isinstance(kind, Number) and kind.python is True and not kind.unsettled
    elif isinstance(values, (tuple, list)):
        floats = [is_number(v) and dtype_of(v) == FLOAT and is_python_number(v) is not False for v in values]
        certain = all(is_number(v) and is_python_number(v) is True and not getattr(v, "settled", "") for v in values)
    else:
        return False
    if not any(floats):
        return False
    if not all(floats) or not certain or type(start) is not int or start:
        raise NotStaged("a sum of Python's floats and other numbers")
    return True


def _quantified(is_all: bool, found_in: Callable[[Any], bool]) -> Callable[..., Any]:
    def quantified(where: Calls, e: ast.Call, values: Any) -> Any:
        if is_of_run_time(values):
            return where.inlined(found_in, [values], {}, e)
        if not isinstance(values, (tuple, list)):
            raise NotStaged("any or all of this")
        truths = [where.truth_of(v) for v in values]
        if (not is_all) in truths:
            return not is_all
        made: bool | str = is_all
        for truth in truths:
            if isinstance(truth, str):
                op = "logical_and" if is_all else "logical_or"
                made = where.r.compute(op, [made, truth], BOOL) if isinstance(made, str) else truth
        return scalars.truth_value(made)

    return quantified


def _boolean(where: Calls, e: ast.Call, x: Any) -> Any:
    where.here = e
    return scalars.truth_value(where.truth_of(x))


def _number(kind: type, function: Callable[[Recorder, Any], Any]) -> Callable[..., Any]:
    def call(where: Calls, e: ast.Call, x: Any) -> Any:
        if type(x) is str:
            with contextlib.suppress(ValueError):  # which the plain function raises
                return kind(x)
        if isinstance(x, Array) and not x.ndim:  # one with axes warns or raises
            x = scalars.from_register(where.r, x.element(()), x.dtype)
        if not is_number(x):
            raise NotStaged("a number of this")
        return function(where.r, x)

    return call


def _tuple(where: Calls, e: ast.Call, values: Any = ()) -> Any:
    if not isinstance(values, (tuple, list)):
        raise NotStaged("a tuple of this")
    return tuple(values)


def _list(where: Calls, e: ast.Call, values: Any = ()) -> Any:
    values = strings.characters(values)
    if isinstance(values, (tuple, list)):
        return where.display(list(values), e)
    if not isinstance(values, RunTimeList | range) and not is_of_run_time(values):
        raise NotStaged("a list of this")
    made = where.list_at(e)
    if isinstance(values, range):
        with where.r.loop(ZERO, Poly.number(len(values)), varying=True) as k:
            lists.append(where.r, made, integer(k * values.step + values.start))
    elif isinstance(values, RunTimeList):
        lists.extend(where.r, made, values)
    else:
        where.extend(made, values)
    return made


BUILTINS: dict[Any, Callable[..., Any]] = {
    abs: _absolute, len: length, sum: _sum, bool: _boolean,
    divmod: lambda where, e, x, y: (where.operation("floor_divide", x, y), where.operation("remainder", x, y)),
    complex: lambda where, e, *args: complexnumbers.made_of(where.r, *args), int: _number(int, arithmetic.as_int),
    float: _number(float, arithmetic.as_float),
    min: _extreme("less", _smallest_of), max: _extreme("greater", _largest_of),
    any: _quantified(False, _any_of), all: _quantified(True, _all_of), slice: lambda where, e, *args: slice(*args),
    tuple: _tuple, list: _list, ord: lambda where, e, x: integer(strings.code(where.r, x)),
    chr: lambda where, e, x: strings.character(where.r, x),
}  # fmt: skip


_PYTHONS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_BUILT_IN = frozenset({np.ndarray, list, tuple, dict, str, bool, int, float, complex, type(None), type})


def _classes_of(value: Any) -> set[type]:
    """The classes one of which a value will have.

    Raises
    ------
    NotStaged
        If that is not known.
    """
    if isinstance(value, Array):
        return {np.ndarray}
    if isinstance(value, Scalar):
        kinds = {True: _PYTHONS[value.dtype.kind], False: value.dtype.type}
        return {kinds[value.python]} if value.python is not None else set(kinds.values())
    if isinstance(value, Complex):
        return {complex}
    if isinstance(value, (list, RunTimeList)):
        return {list}
    if isinstance(value, Text):
        return {str}
    if isinstance(value, (tuple, dict, set)):
        return {next(t for t in (dict, set, type(value)) if isinstance(value, t))}
    if isinstance(value, (Composite, Unread)):
        return {PYTHONS.get(value.kind, value.kind)}
    if isinstance(value, Chosen):
        return set(map(type, value.strings))
    if is_static(value):
        return {type(value)}
    raise NotStaged("the class of a value")


def _agreed(value: Any, asked: Callable[[type], Any]) -> Any:
    """What is asked of the class of a value, if the answer is the same for all that it may have."""
    answers = {asked(kind) for kind in _classes_of(value)}
    if len(answers) > 1:
        raise NotStaged("a class that depends on how often a loop runs")
    return answers.pop()


def _has_instances(kinds: Any, kind: type) -> bool:
    if not tells_by_class(kinds):
        raise NotStaged("a class that is asked what its instances are")
    return _is_subclass(kind, kinds)


def _is_subclass(kind: Any, kinds: Any) -> bool:
    try:
        return issubclass(kind, kinds)
    except TypeError as error:
        raise NotStaged(str(error)) from None


def _is_scalar(kind: type) -> bool:
    return issubclass(kind, (np.generic, numbers.Number)) or kind in np.ScalarType


def _has(kind: type, name: str) -> bool:
    if kind not in _BUILT_IN and not issubclass(kind, np.generic):
        raise NotStaged("what an object has")
    return any(name in vars(c) for c in kind.__mro__)


def _type(where: Calls, e: ast.Call, *values: Any) -> type:
    if len(values) != 1:
        raise NotStaged("a class that is made")
    return _agreed(values[0], lambda kind: kind)


ASKING: dict[Any, Callable[..., Any]] = {
    type: _type,
    isinstance: lambda where, e, value, kinds: _agreed(value, lambda kind: _has_instances(kinds, kind)),
    issubclass: lambda where, e, kind, kinds: _is_subclass(kind, kinds),
    hasattr: lambda where, e, value, name: _agreed(value, lambda kind: _has(kind, name)),
    np.finfo: lambda where, e, kind: np.finfo(known_dtype(kind)),
    np.iinfo: lambda where, e, kind: np.iinfo(known_dtype(kind)),
    np.isscalar: lambda where, e, value: _agreed(value, _is_scalar),
    callable: lambda where, e, value: is_function(value) or _agreed(value, lambda kind: _has(kind, "__call__")),
}
