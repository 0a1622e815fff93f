"""Lists that are arguments: the caller has made arrays of what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.integers import Poly
from ...ir.loops import POINTER
from . import arrays as a
from .arrays import ZERO
from .columns import Column
from .kinds import Held, Number, Parts
from .lists import array_of, made_of
from .recorder import MOST_EXTENT, Recorder
from .runtimelists import Given, RowOf
from .values import IN_LIST, INT, LISTED, Array, View


def given_tuples(r: Recorder, name: str, parts: Sequence[Number], count: Poly) -> Given:
    """A list that is an argument, of tuples of these parts, of each of which the caller has made a column."""
    columns = []
    for k, part in enumerate(parts):
        column = Column(r.variable(), (), part.dtype, 0)
        r.put(column.base, r.address(View(name, count * (8 * k), (), frozenset({name}))), POINTER)
        columns.append(column)
    kind = Parts(tuple, tuple(parts))
    return Given(
        kind,
        lambda at: made_of(r, None, kind, columns, at),
        lambda: array_of(r, kind, columns, count),
        count,
        int(name[1:]),
    )


def given_arrays(r: Recorder, name: str, dtype: np.dtype, ndim: int, words: Poly) -> Given:
    """A list that is an argument, of arrays of one shape, which stand behind that in as many words."""
    table = a.in_memory(r, View(name, ZERO, (Poly.number(8),), frozenset({name})), INT, (words,))
    places = [table.element((Poly.number(k),)) for k in range(1 + ndim)]
    for place in places:
        r.facts.bound(place, [0], [MOST_EXTENT])
    data, *rest = map(Poly.name, places)
    shape, count = tuple(rest), words - (1 + ndim)
    strides = a.contiguous_strides(shape, dtype)
    origins = frozenset({IN_LIST, LISTED})

    def element(at: Poly) -> Array:
        item = table.element((at + (1 + ndim),))
        memory = r.load(View(item, data, (), origins), INT, ())
        return a.in_memory(r, View(memory, ZERO, strides, origins), dtype, shape)

    def array() -> Array:
        return Array(dtype, (count, *shape), lambda indices: element(indices[0]).element(indices[1:]), origins)

    return Given(Held(dtype, ndim, frozenset(), True, None, True, None), element, array, count, int(name[1:]))


def given(r: Recorder, name: str, kind: Number, count: Poly) -> RowOf:
    """A list that is an argument, of elements of one kind, of which the caller has made an array."""
    column = Column(r.variable(), (r.variable(),), kind.dtype, 0)
    r.put(column.base, name, POINTER)
    r.put(column.extents[0], r.integer(count), INT)
    return RowOf(r, None, ZERO, kind, [column], int(name[1:]))
