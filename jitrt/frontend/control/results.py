"""What a procedure gives: where its results and what it stores are found when it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.frozen import frozen, replaced
from ...ir.integers import Poly
from ...ir.loops import POINTER, Type
from ...values.kinds import NAMED, OBJECT
from . import arrays as a
from .composites import read
from .containers import CONTAINER, is_container, result_parts
from .kinds import parts_of
from .listkinds import holds_lists
from .listresults import (
    ColumnOf,
    Instance,
    Known,
    Listed,
    PartOf,
    Possibly,
    ReferencedList,
    Several,
    handed_over,
    list_result,
    pools_in,
    reference_result,
)
from .makingobjects import attributes_at_end
from .objects import is_constant
from .recorder import Recorder
from .runtimelists import Appended, GrownList
from .scalars import poly_of, register_of, settled
from .subscripts import Axis, view_of
from .values import (
    BOOL,
    IN_LIST,
    INT,
    LISTED,
    Array,
    Chosen,
    Complex,
    Composite,
    Copied,
    DictDisplay,
    Display,
    NotStaged,
    Perhaps,
    Referenced,
    Scalar,
    dtype_of,
    is_python_number,
    is_word,
    type_name,
)

WAY = "way"
"""The variable that says at which of its places a function returned."""


@frozen
class Argument:
    """A result that is an argument."""

    number: int


@frozen
class Number:
    """A result that is a number: in which variable, and whether it is Python's; None if another variable says so."""

    variable: str
    dtype: np.dtype
    python: bool | None
    flag: str = ""
    strings: tuple[str, ...] = ()
    """Those of which it is the number, if the result is one of them."""


@frozen
class Made:
    """A result that is a new array: the variables of its address and its extents."""

    address: str
    extents: tuple[str, ...]
    dtype: np.dtype


@frozen
class ComplexNumber:
    """A result that is a complex number of Python's: its parts."""

    real: Any
    imag: Any


@frozen
class First:
    """A result that is the only element of a new array."""

    made: Any


@frozen
class Turned:
    """A result that is a view of a new array with its axes in another order."""

    made: Any
    axes: tuple[int, ...]


Result = (
    First | Turned | ColumnOf | PartOf | Possibly | Known | Argument | Number | Made | Several | Listed | ComplexNumber
    | Instance | ReferencedList
)  # fmt: skip


@frozen
class Stored:
    """A part of an argument that the caller assigns.

    Parameters
    ----------
    path : tuple
        The number of the argument, and the names of the parts down to what holds it.
    name : str or int
        Of the attribute or the item.
    flag : str
        The variable of whether it has been assigned.
    value : Result
    appends : int, optional
        The number of the argument that is a list, to which the elements of `value` are appended.
    """

    path: tuple[Any, ...]
    name: Any
    flag: str
    value: Any
    appends: int | None = None


def stores_of(r: Recorder, results: list[tuple[str, Type]], made: dict[str, Any]) -> Iterator[Stored]:
    """Record where the caller finds what has been assigned to parts of arguments, and what lists there get first.

    Other values may take the places of these lists.
    """
    for values in r.grown:
        if isinstance(values, Appended):
            flag = handed_over(r, r.literal(True, BOOL), BOOL, results)
            yield Stored(*values.where, flag, _kept_apart(r, values, made), values.number)
    for holder in r.holders:
        if not holder.is_given:
            continue
        for name, cell in holder.cells.items():
            results.append((cell.is_set, BOOL))
            yield Stored(holder.place, name, cell.is_set, result_of(r, cell.variable.get(r), results, made))


def result_of(r: Recorder, value: Any, results: list[tuple[str, Type]], made: dict[str, Any]) -> Any:
    """Record where the caller finds a value."""
    if isinstance(value, Perhaps):
        flag = handed_over(r, value.is_none, BOOL, results)
        return Possibly(flag, result_of(r, value.value, results, made))
    if isinstance(value, Complex):
        return ComplexNumber(*(result_of(r, v, results, made) for v in (value.real, value.imag)))
    if isinstance(value, (tuple, list, dict)):
        if type(value) not in (tuple, dict, DictDisplay, Display, list, Copied):
            raise NotStaged(f"a result of type {type_name(value)}")
        if type(value) in (list, Copied) and any(holds_lists(values.kind) for values in r.grown):
            raise NotStaged("a result that is a list which may be in another one")
        make: type = next(t for t in (list, dict, tuple) if isinstance(value, t))
        keys = tuple(value) if make is dict else ()
        return Several(make, tuple(result_of(r, v, results, made) for v in parts_of(value)), keys)
    if isinstance(value, Composite) and value.kind is dict and value.cells and not value.is_given:
        return result_of(r, {name: read(r, value, name) for name in value.parts}, results, made)
    if is_container(value):
        option, held = result_parts(r, value)
        return Instance(CONTAINER, option, tuple(result_of(r, v, results, made) for v in held))
    if isinstance(value, Composite) and value.places:
        parts = attributes_at_end(r, value)
        is_tuple = issubclass(value.kind, tuple)
        what: Any = value.kind if is_tuple else (value.kind, tuple(parts))
        its = tuple(result_of(r, v, results, made) for v in parts.values())
        return Instance(NAMED if is_tuple else OBJECT, what, its)
    if isinstance(value, Appended):
        raise NotStaged("a result that is a list which is an argument")
    if isinstance(value, GrownList):
        return _kept_apart(r, value, made)
    if isinstance(value, Referenced):
        return reference_result(r, value, results)
    if isinstance(value, Chosen):
        return Number(handed_over(r, value.number, INT, results), INT, True, "", value.strings)
    if isinstance(value, Array):
        return _array_result(r, value, results, made)
    if isinstance(value, Scalar):
        value = settled(r, value)
        if value.dtype.kind == "c":
            return First(_array_result(r, a.in_place(r, value), results, made))
        python, dtype = is_python_number(value), dtype_of(value)
        flag = handed_over(r, value.flag, BOOL, results) if python is None else ""
        if is_word(dtype):
            variable = handed_over(r, r.integer(poly_of(r, value)), INT, results)
        else:
            variable = handed_over(r, register_of(r, value, dtype), dtype, results)
        return Number(variable, dtype, python, flag)
    if is_constant(value):
        return Known(value)
    raise NotStaged(f"a result of type {type_name(value)}")


def settled_results(r: Recorder, result: Any, results: list[tuple[str, Type]]) -> Result:
    """The result, with lists in it described."""
    if isinstance(result, Several):
        return Several(result.make, tuple(settled_results(r, p, results) for p in result.parts), result.keys)
    if isinstance(result, Instance):
        return Instance(result.kind, result.what, tuple(settled_results(r, p, results) for p in result.parts))
    return list_result(r, result, results) if isinstance(result, GrownList) else result


def _kept_apart(r: Recorder, values: GrownList, made: dict[str, Any]) -> GrownList:
    if any(known is values for known in made.values()):
        raise NotStaged("a result that is a list of arrays which others share")
    r.require_native()
    made[r.variable()] = values
    return values


def _array_result(r: Recorder, value: Array, results: list[tuple[str, Type]], made: dict[str, Any]) -> Result:
    view = value.memory
    origins = view.origins - {LISTED}
    if IN_LIST in origins:
        raise NotStaged("a result that is an array in a list that is an argument")
    given = sorted(int(origin[1:]) for origin in origins if origin.startswith("x"))
    if given and len(origins) == 1:
        return Argument(given[0]) if view.is_given else _part(r, value, results, made)
    if LISTED in view.origins and any(values.is_shared for values in r.grown):
        raise NotStaged("a result from a list of arrays which others share")
    r.require_native()
    if value.turned:
        back = [value.turned.index(k) for k in range(value.ndim)]
        whole = replaced(a.transpose(r, value, back), turned=())
        return Turned(_array_result(r, whole, results, made), value.turned)
    if value.column_of is not None and value.ndim == 1:
        rows, *place = value.column_of
        known = next((name for name, memory in made.items() if memory is rows.memory), None)
        if known is None:
            return ColumnOf(_array_result(r, rows, results, made), *place)
        at = results.index((known, POINTER))
        return ColumnOf(Made(known, tuple(name for name, _ in results[at + 1 : at + 3]), rows.dtype), *place)
    if value.is_part:
        raise NotStaged("a result that is a view of what is computed")
    if not value.c_order and value.cut is None:
        raise NotStaged("a result whose memory order is not known")
    if view.strides != a.contiguous_strides(value.shape, value.dtype):
        return _part(r, value, results, made)
    address, *extents = (r.variable() for _ in range(1 + value.ndim))
    made[address] = view
    r.put(address, r.address(view), POINTER)
    for extent, variable in zip(value.shape, extents):
        r.put(variable, r.integer(extent), INT)
    results.append((address, POINTER))
    results.extend((variable, INT) for variable in extents)
    for k in given:  # where it is one of the arguments, the plain function serves the call
        r.stop(r.same_place(view.base, f"x{k}"))
    return Made(address, tuple(extents), value.dtype)


def _part(r: Recorder, value: Array, results: list[tuple[str, Type]], made: dict[str, Any]) -> Result:
    """A view of another array, which becomes an object for that."""
    if value.cut is None or _place(view_of(r, *value.cut)) != _place(value):  # its axes have been moved since
        raise NotStaged("a result that is a view")
    whole, axes = value.cut
    if any(memory is whole.memory for memory in made.values()):
        raise NotStaged("results that share memory")
    if any(known is value for known in made.values()):
        raise NotStaged("a view that is several results")
    made[r.variable()] = value

    def variable(number: Poly | int) -> str:
        name = r.integer(number if isinstance(number, Poly) else Poly.number(number))
        return handed_over(r, name, INT, results)

    def item(axis: Axis) -> Any:
        if axis.source < 0:
            return None
        if not axis.kept:
            return variable(axis.start)
        is_all = axis.start == a.ZERO and axis.step == 1 and axis.extent == whole.shape[axis.source]
        return slice(None) if is_all else tuple(map(variable, (axis.start, axis.extent, axis.step)))

    index = tuple(map(item, axes))
    return PartOf(_array_result(r, whole, results, made), index)


def _place(array: Array) -> tuple[Any, ...]:
    return array.memory.base, array.memory.offset, array.memory.strides


def check_lists_apart(returns: list[Any], stores: list[tuple[Stored, ...]]) -> None:
    """Raise `NotStaged` where a list may be a result and what is stored, or is stored twice."""
    for result, stored in zip(returns, stores):
        pools = [pool for value in (result, *(s.value for s in stored)) for pool in {*pools_in(value)}]
        if len(pools) > len(set(pools)):
            raise NotStaged("a list that may be several results")


def keep_apart(made: dict[str, Any]) -> None:
    """Results that share memory are not copied apart."""
    seen: set[str] = set()
    views = [v for v in made.values() if not isinstance(v, (GrownList, Array))]
    if any(isinstance(v, GrownList) for v in made.values()) and any(LISTED in view.origins for view in views):
        raise NotStaged("results that share memory")
    for view in views:
        if view.origins & seen:
            raise NotStaged("results that share memory")
        seen |= view.origins
