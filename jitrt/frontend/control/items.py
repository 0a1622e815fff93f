"""Subscripts that are read in staged functions: of arrays, lists, texts, dicts, tuples and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.integers import Poly
from . import composites, containers, external, lists, objects, scalars, shapes, specialmethods, strings, subscripts
from .kinds import Number, kind_of
from .outside import Settings, of_listing
from .ranges import Iteration
from .runtimelists import RunTimeList
from .values import BOOL, Array, Chosen, Composite, Display, NotStaged, Scalar, is_number, is_static, type_name
from .variables import number_dtypes, number_of, number_registers

_MOST_CHOSEN = 16  # numbers one of which is chosen by comparisons

if TYPE_CHECKING:
    from .expressions import Expressions


def read(where: Expressions, value: Any, index: Any, e: Any) -> Any:
    """``value[index]``, as `e` says."""
    r = where.r
    if not isinstance(index, slice):
        value = of_listing(value)
    if isinstance(value, Array):
        return subscripts.read(r, value, index)
    if isinstance(value, strings.Text):
        made = read(where, value.characters, index, e)
        return strings.Text(made) if isinstance(index, slice) else made
    if isinstance(value, RunTimeList):
        if isinstance(index, slice):
            return lists.part(r, value, index, ("part", where.path, r.next_place()))
        return lists.read(r, value, scalars.index_of(r, index))
    if composites.is_records(value) and not isinstance(index, str):
        return composites.Record(value, index)
    if isinstance(value, composites.Record):
        return subscripts.read(r, composites.field(value, index), value.index)
    if objects.is_object(value) and not issubclass(value.kind, tuple):
        return specialmethods.item(where, value, index, e)
    if isinstance(value, Settings) and isinstance(index, (Chosen, str, int, float, np.generic)):
        keys = value.values if isinstance(index, Chosen) else (index,)
        known = {key: where.captures.item(value, key) for key in keys}
        return strings.item(r, known, index) if isinstance(index, Chosen) else known[index]
    if isinstance(value, (Composite, dict)):
        return _of_dict(where, value, index)
    if isinstance(value, (tuple, list)):
        return _of_known(where, value, index)
    if isinstance(value, Iteration):  # of a loop that stands for several
        return value.bind(value.start + scalars.index_of(r, index))
    if value is np.mgrid or value is np.ogrid:
        return external.grid(r, value, index)
    if value is np.r_ or value is np.c_:
        return shapes.joined(r, index if isinstance(index, tuple) else (index,), value is np.c_)
    if isinstance(value, Scalar) and where.is_supposed(e):
        return value
    raise NotStaged(f"an item of {type_name(value)}")


def _of_dict(where: Expressions, value: Composite | dict[Any, Any], index: Any) -> Any:
    """An item of a dict, or of what has parts by names or numbers."""
    if isinstance(value, dict) and isinstance(index, Chosen) and is_static(value):
        return strings.item(where.r, value, index)
    if not is_static(index):
        containers.need_hashed(where.r, value, index)
    if isinstance(value, Composite):
        return composites.item(where.r, value, index)
    if index not in value:
        raise NotStaged("a key of a dict")
    return value[index]


def _chosen_number(where: Expressions, values: tuple[Any, ...] | list[Any], index: Scalar) -> Scalar | Chosen | None:
    """The one of a few numbers of one type that a value chooses; None for others."""
    r = where.r
    kinds = {kind_of(v) for v in values} if all(map(is_number, values)) else set()
    kind = kinds.pop() if len(kinds) == 1 else None
    if not isinstance(kind, Number) or kind.dtype.kind == "c" or len(values) > _MOST_CHOSEN:
        return None
    at = subscripts.wrapped(r, scalars.index_of(r, index), Poly.number(len(values)))
    registers = zip(*(number_registers(r, kind, v) for v in values))
    made = []
    for dtype, (chosen, *others) in zip(number_dtypes(kind), registers):
        for k, other in enumerate(others, 1):
            is_it = r.machine("==", at, Poly.number(k))
            chosen = r.compute("where", [is_it, other, chosen], [BOOL, dtype, dtype], dtype)
        made.append(chosen)
    return number_of(r, kind, made)


def _chosen(where: Expressions, values: tuple[Any, ...] | list[Any], index: Scalar) -> Any:
    """The one of a few numbers, or of tuples of numbers, that a value chooses; None for others."""
    if not (values and all(type(v) is tuple and len(v) == len(values[0]) for v in values)):
        return _chosen_number(where, values, index)
    parts = tuple([_chosen(where, column, index) for column in zip(*values)])
    return None if None in parts else parts


def _of_known(where: Expressions, value: tuple[Any, ...] | list[Any], index: Any) -> Any:
    """An item, or a part, of what is written out."""
    if isinstance(index, Scalar) and isinstance(value, Display) and index.argument is None:
        where.need_grown(value)
    if isinstance(index, Scalar) and index.argument is None:
        made = _chosen(where, value, index)
        if made is not None:
            return made
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        return value[slice(*(None if v is None else scalars.static_integer(v) for v in parts))]
    k = scalars.static_integer(index)
    if not -len(value) <= k < len(value):
        raise NotStaged("an index out of range")
    return value[k]
