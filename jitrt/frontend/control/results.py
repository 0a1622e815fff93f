"""What a procedure gives: where its results and what it stores are found when it has ended."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.frozen import frozen, replaced
from ...ir.loops import POINTER, Type
from ...values import kinds
from ...values.kinds import NAMED, OBJECT
from . import arrays as a
from .composites import read
from .containers import CONTAINER, Container, is_container, result_parts
from .listkinds import dtypes_of_leaf, holds_lists, is_of_objects, leaves_of
from .lists import Appended, GrownList
from .makingobjects import attributes_at_end
from .recorder import Recorder
from .scalars import poly_of, register_of, settled
from .values import (
    BOOL,
    INT,
    LISTED,
    Array,
    Chosen,
    Complex,
    Composite,
    DictDisplay,
    Display,
    NotStaged,
    Perhaps,
    Scalar,
    dtype_of,
    is_python_number,
    type_name,
)
from .variables import Held, Kind, NoneOr, Parts, Rows, Same, parts_of
from .variables import Number as NumberKind

WAY = "way"
"""The variable that says at which of its places a function returned."""


@frozen
class Known:
    """A result that is a value known while staging."""

    value: Any


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
class Several:
    """A result that is a tuple, a list of known length or a dict."""

    make: type
    parts: tuple[Any, ...]
    keys: tuple[Any, ...] = ()


@frozen
class Elements:
    """What the elements of a list of run time are, or a part of each.

    Parameters
    ----------
    address : str
        Variable with the address of the elements.
    extents : tuple of str
        Variables, of elements that are arrays.
    stored, dtype : numpy.dtype
        Of the memory, and of the elements.
    python : bool or None
        Whether they are Python's numbers; None if other memory says so.
    flags, settled : str
        Variables with the addresses of truth values: whether elements are Python's, and of that dtype, and no integers
        of Python's.
    is_row : bool
        Whether elements are lists, and not arrays.
    strings : tuple of str
        Those of which elements are the numbers.
    """

    address: str
    extents: tuple[str, ...]
    stored: np.dtype
    dtype: np.dtype
    python: bool | None
    flags: str
    settled: str
    is_row: bool
    strings: tuple[str, ...] = ()


@frozen
class Instance:
    """A result that is an object which the function makes: of which kind and class, and what it holds."""

    kind: kinds.Kind | Container
    what: Any
    parts: tuple[Any, ...]


@frozen
class Listed:
    """A result that is a list of run time: the variable of its length, and its elements.

    These are `Elements`, values, or `Several` of them.
    """

    count: str
    elements: Known | Elements | Several | Instance


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


@frozen
class Possibly:
    """A result that is None where the variable `flag` is true."""

    flag: str
    value: Any


Result = First | Turned | Possibly | Known | Argument | Number | Made | Several | Listed | ComplexNumber | Instance


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
    """Record where the caller finds what has been assigned to parts of arguments."""
    for holder in r.holders:
        if not isinstance(holder.place[0], int):
            continue
        for name, cell in holder.cells.items():
            results.append((cell.is_set, BOOL))
            yield Stored(holder.place, name, cell.is_set, result_of(r, cell.variable.get(r), results, made))
    for values in r.grown:
        if isinstance(values, Appended):
            flag = r.variable()
            r.put(flag, r.literal(True, BOOL), BOOL)
            results.append((flag, BOOL))
            yield Stored(*values.where, flag, _kept_apart(r, values, made), values.number)


def result_of(r: Recorder, value: Any, results: list[tuple[str, Type]], made: dict[str, Any]) -> Any:
    """Record where the caller finds a value."""
    if isinstance(value, Perhaps):
        flag = r.variable()
        r.put(flag, value.is_none, BOOL)
        results.append((flag, BOOL))
        return Possibly(flag, result_of(r, value.value, results, made))
    if isinstance(value, Complex):
        return ComplexNumber(*(result_of(r, v, results, made) for v in (value.real, value.imag)))
    if isinstance(value, (tuple, list, dict)):
        if type(value) not in (tuple, dict, DictDisplay, Display, list):
            raise NotStaged(f"a result of type {type_name(value)}")
        if type(value) is list and any(holds_lists(values.kind) for values in r.grown):
            raise NotStaged("a result that is a list which may be in another one")
        make: type = next(t for t in (list, dict, tuple) if isinstance(value, t))
        keys = tuple(value) if make is dict else ()
        return Several(make, tuple(result_of(r, v, results, made) for v in parts_of(value)), keys)
    if isinstance(value, Composite) and value.kind is dict and value.cells:
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
    if isinstance(value, Chosen):
        variable = r.variable()
        r.put(variable, value.number, INT)
        results.append((variable, INT))
        return Number(variable, INT, True, "", value.strings)
    if isinstance(value, Array):
        return _array_result(r, value, results, made)
    if isinstance(value, Scalar):
        value = settled(r, value)
        if value.dtype.kind == "c":
            return First(_array_result(r, a.in_place(r, value), results, made))
        python = is_python_number(value)
        dtype, flag = dtype_of(value), ""
        variable = r.variable()
        if python is None:
            flag = r.variable()
            r.put(flag, value.flag, BOOL)
            results.append((flag, BOOL))
        if dtype.kind in "iu":
            r.put(variable, r.integer(poly_of(r, value)), INT)
        else:
            r.put(variable, register_of(r, value, dtype), dtype)
        results.append((variable, INT if dtype.kind in "iu" else dtype))
        return Number(variable, dtype, python, flag)
    if value is None or isinstance(value, (bool, int, float, complex, str, np.generic, enum.Enum)):
        return Known(value)
    raise NotStaged(f"a result of type {type_name(value)}")


def settled_results(result: Any, results: list[tuple[str, Type]]) -> Result:
    """The result, with lists in it described."""
    if isinstance(result, Several):
        return Several(result.make, tuple(settled_results(p, results) for p in result.parts), result.keys)
    if isinstance(result, Instance):
        return Instance(result.kind, result.what, tuple(settled_results(p, results) for p in result.parts))
    return _list_result(result, results) if isinstance(result, GrownList) else result


def _kept_apart(r: Recorder, values: GrownList, made: dict[str, Any]) -> GrownList:
    if any(known is values for known in made.values()):
        raise NotStaged("a result that is a list of arrays which others share")
    r.require_native()
    made[r.variable()] = values
    return values


def _list_result(values: GrownList, results: list[tuple[str, Type]]) -> Listed:
    """Where the caller finds a list; only at the end of staging it is known what it holds."""
    results.append((values.count, INT))
    if values.kind is None:
        return Listed(values.count, Known(None))
    is_of_numbers = all(isinstance(leaf, NumberKind) for leaf in leaves_of(values.kind))
    has_objects = holds_lists(values.kind) or is_of_objects(values.kind) or not is_of_numbers
    if values.is_shared and has_objects:
        raise NotStaged("a result that is a list of arrays or lists which others share")
    columns = iter(values.columns)

    def elements(kind: Kind) -> Known | Elements | Several | Instance:
        if isinstance(kind, Parts) and kind.places:
            its = tuple(map(elements, kind.kinds))
            if issubclass(kind.make, tuple):
                return Instance(NAMED, kind.make, its)
            if kind is not values.kind:
                raise NotStaged("a result that is a list of what holds objects")
            return Instance(OBJECT, (kind.make, kind.keys), its)
        if isinstance(kind, Parts):
            return Several(kind.make, tuple(map(elements, kind.kinds)))
        if isinstance(kind, Same):
            return Known(kind.value)
        assert not isinstance(kind, NoneOr)
        main, *others = parts = [next(columns) for _ in dtypes_of_leaf(kind)]
        results.extend((column.base, POINTER) for column in parts)
        results.extend((extent, INT) for extent in main.extents)
        if isinstance(kind, Held):
            if not kind.ndim:  # rows of an array of one axis are numbers
                raise NotStaged("a result that is a list of arrays without axes")
            return Elements(main.base, main.extents, kind.dtype, kind.dtype, False, "", "", False)
        is_row, kind = isinstance(kind, Rows), kind.kind if isinstance(kind, Rows) else kind
        assert isinstance(kind, NumberKind)
        if kind.unsettled and kind.dtype.kind == "f" and kind.dtype.itemsize < 8:
            raise NotStaged("a result that is a list of numbers of several kinds")
        flags = others[0].base if kind.python is None else ""
        settled = others[-1].base if kind.unsettled else ""
        return Elements(
            main.base, main.extents, main.dtype, kind.dtype, kind.python, flags, settled, is_row, kind.strings
        )

    return Listed(values.count, elements(values.kind))


def _array_result(r: Recorder, value: Array, results: list[tuple[str, Type]], made: dict[str, Any]) -> Result:
    view = value.view
    assert view is not None
    origins = view.origins - {LISTED}
    given = sorted(int(origin[1:]) for origin in origins if origin.startswith("x"))
    if given and len(origins) == 1:
        if not view.is_given:
            raise NotStaged("a result that is a view")
        return Argument(given[0])
    r.require_native()
    if value.turned:
        back = [value.turned.index(k) for k in range(value.ndim)]
        whole = replaced(a.transpose(r, value, back), turned=())
        return Turned(_array_result(r, whole, results, made), value.turned)
    if not value.c_order:
        raise NotStaged("a result whose memory order is not known")
    if view.strides != a.contiguous_strides(value.shape, value.dtype):
        raise NotStaged("a result that is a view")
    made[r.variable()] = view
    address, *extents = (r.variable() for _ in range(1 + value.ndim))
    r.put(address, r.address(view), POINTER)
    for extent, variable in zip(value.shape, extents):
        r.put(variable, r.integer(extent), INT)
    results.append((address, POINTER))
    results.extend((variable, INT) for variable in extents)
    for k in given:  # where it is one of the arguments, the plain function serves the call
        r.stop(r.same_place(view.base, f"x{k}"))
    return Made(address, tuple(extents), value.dtype)


def keep_apart(made: dict[str, Any]) -> None:
    """Results that share memory are not copied apart."""
    seen: set[str] = set()
    views = [v for v in made.values() if not isinstance(v, GrownList)]
    if len(views) < len(made) and any(LISTED in view.origins for view in views):
        raise NotStaged("results that share memory")
    for view in views:
        if view.origins & seen:
            raise NotStaged("results that share memory")
        seen |= view.origins - {LISTED}
