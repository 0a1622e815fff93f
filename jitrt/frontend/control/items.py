"""Subscripts that are read in staged functions: of arrays, lists, texts, dicts, tuples and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import composites, containers, external, lists, objects, scalars, shapes, specialmethods, strings, subscripts
from .lists import RunTimeList
from .outside import Settings
from .ranges import Iteration
from .values import Array, Chosen, Composite, Display, NotStaged, Scalar, is_static, type_name

if TYPE_CHECKING:
    from .expressions import Expressions


def read(where: Expressions, value: Any, index: Any, e: Any) -> Any:
    """``value[index]``, as `e` says."""
    r = where.r
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


def _of_known(where: Expressions, value: tuple[Any, ...] | list[Any], index: Any) -> Any:
    """An item, or a part, of what is written out."""
    if isinstance(index, Scalar) and isinstance(value, Display) and index.argument is None:
        where.need_grown(value)
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        return value[slice(*(None if v is None else scalars.static_integer(v) for v in parts))]
    k = scalars.static_integer(index)
    if not -len(value) <= k < len(value):
        raise NotStaged("an index out of range")
    return value[k]
