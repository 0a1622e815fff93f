"""Where the caller of a procedure finds the lists that it gives, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.frozen import frozen
from ...ir.loops import POINTER, Type
from ...values import kinds
from ...values.kinds import NAMED, OBJECT
from .columns import Column
from .containers import Container
from .kinds import Held, Kind, NoneOr, Parts, Reference, Rows, Same
from .kinds import Number as NumberKind
from .listkinds import dtypes_of_leaf, holds_lists, is_of_objects, leaves_of
from .recorder import Recorder
from .references import pool_of
from .runtimelists import GrownList
from .values import INT, Complex, NotStaged, Referenced


@frozen
class Known:
    """A result that is a value known while staging."""

    value: Any


@frozen
class Several:
    """A result that is a tuple, a list of known length or a dict; among elements, also a complex number."""

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
class Possibly:
    """A result that is None where the variable `flag` is true."""

    flag: str
    value: Any


@frozen
class Pool:
    """Lists that are held by reference: the variable with the address of their rows, and what they hold."""

    rows: str
    elements: ElementKind


@frozen
class Handles:
    """Elements that are lists held by reference: the variable with the address of their handles."""

    address: str
    pool: Pool


@frozen
class ReferencedList:
    """A result that is a list held by reference: the variable of its handle."""

    handle: str
    pool: Pool


@frozen
class Listed:
    """A result that is a list of run time: the variable of its length, and its elements.

    These are `Elements`, values, or `Several` of them.
    """

    count: str
    elements: ElementKind


ElementKind = Known | Elements | Several | Instance | Handles


def handed_over(r: Recorder, name: str, type_: Type, results: list[tuple[str, Type]]) -> str:
    """The variable in which the caller finds a value."""
    variable = r.variable()
    r.put(variable, name, type_)
    results.append((variable, type_))
    return variable


def list_result(r: Recorder, values: GrownList, results: list[tuple[str, Type]]) -> Listed:
    """Where the caller finds a list; only at the end of staging it is known what it holds."""
    results.append((values.count, INT))
    if values.kind is None:
        return Listed(values.count, Known(None))
    is_of_numbers = all(isinstance(leaf, (NumberKind, Reference)) for leaf in leaves_of(values.kind))
    has_objects = holds_lists(values.kind) or is_of_objects(values.kind) or not is_of_numbers
    if values.is_shared and has_objects:
        raise NotStaged("a result that is a list of arrays or lists which others share")
    return Listed(values.count, _elements(r, values.kind, values.columns, results))


def reference_result(r: Recorder, value: Referenced, results: list[tuple[str, Type]]) -> ReferencedList:
    """Where the caller finds a list that is held by reference."""
    r.require_native()
    handle = handed_over(r, r.integer(value.handle), INT, results)
    return ReferencedList(handle, _pool(r, value.kind, results))


def _pool(r: Recorder, kind: Kind, results: list[tuple[str, Type]]) -> Pool:
    if holds_lists(kind) or any(isinstance(leaf, Held) for leaf in leaves_of(kind)):
        raise NotStaged("a result that is a list of arrays or lists which others may share")
    pool = pool_of(r, kind)
    results.append((pool.rows.base, POINTER))
    return Pool(pool.rows.base, _elements(r, kind, pool.columns, results))


def _elements(r: Recorder, whole: Kind, its_columns: list[Column], results: list[tuple[str, Type]]) -> ElementKind:
    columns = iter(its_columns)

    def elements(kind: Kind) -> ElementKind:
        if isinstance(kind, Parts) and kind.places:
            its = tuple(map(elements, kind.kinds))
            if issubclass(kind.make, tuple):
                return Instance(NAMED, kind.make, its)
            if kind is not whole:
                raise NotStaged("a result that is a list of what holds objects")
            return Instance(OBJECT, (kind.make, kind.keys), its)
        if isinstance(kind, Parts):
            make = complex if kind.make is Complex else kind.make
            return Several(make, tuple(map(elements, kind.kinds)), kind.keys)
        if isinstance(kind, Same):
            return Known(kind.value)
        assert not isinstance(kind, NoneOr)
        main, *others = parts = [next(columns) for _ in dtypes_of_leaf(kind)]
        results.extend((column.base, POINTER) for column in parts)
        results.extend((extent, INT) for extent in main.extents)
        if isinstance(kind, Reference):
            return Handles(main.base, _pool(r, kind.kind, results))
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

    return elements(whole)


@frozen
class ColumnOf:
    """A result that is column `number` of a new array, of which there are `of`; others may be results, too."""

    made: Any
    number: int
    of: int


@frozen
class PartOf:
    """A result that is a view of another one.

    Parameters
    ----------
    whole : Result
    index : tuple
        For each axis the variable of an index, or those of the start, the extent and the step of a slice; None for a
        new axis, and a slice for all of one.
    """

    whole: Any
    index: tuple[Any, ...]


def pools_in(result: Any) -> Iterator[str]:
    """The variables with the rows of the pools that a result has lists of, and the places of arrays with columns."""
    if isinstance(result, ColumnOf):
        yield result.made.address
    if isinstance(result, PartOf):
        yield from pools_in(result.whole)
    if isinstance(result, (ReferencedList, Handles)):
        yield result.pool.rows
        yield from pools_in(result.pool.elements)
    elif isinstance(result, Listed):
        yield from pools_in(result.elements)
    elif isinstance(result, (Several, Instance)):
        for part in result.parts:
            yield from pools_in(part)
    elif isinstance(result, Possibly):
        yield from pools_in(result.value)
