"""Lists that are held by reference: those that are elements of lists or values of dicts and change, or take turns.

    adj = [[] for _ in range(n)]      →    adj: a column of handles; for each handle a row (start, length, room)
    adj[u].append(v)                  →    h = load adj[u]; if length of h >= its room: move it to the end of the pool
                                           store v at its start + length; length of h = length + 1

Lists whose elements are of one kind share a pool: columns for the elements of all of them, one behind the other, and a
table with a row for each. A handle is the number of a row, so that two names of one list are two equal numbers, and a
variable that holds one list and then another is a number that changes. What has been left behind is never used again.

Which lists are these turns out while staging, as soon as one is needed (`need`): staging begins again then.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

from ...ir.integers import Poly
from ...ir.loops import POINTER
from . import arrays as a
from .arrays import ZERO
from .columns import LEAST_ROOM, Column, columns_of, grow, settle_extents, view_of, write_columns
from .kinds import Kind, NoneOr, Number, Parts, Reference, Rows, is_covered, pool_key
from .listkinds import is_of_objects, joined
from .recorder import MOST_EXTENT, Recorder
from .values import INT, Array, Composite, ListsMeet, NotStaged, Referenced, View

_START, _LENGTH, _ROOM = (Poly.number(k) for k in range(3))  # in the row of a list
_FIELDS = Poly.number(3)
_MOST_BYTES = 1 << 29  # of a column of a pool: what is left behind in it is never used again
_MOST_DEEP = 4  # lists in lists
_LEAST = 4  # elements that there is room for


class Pool:
    """The lists whose elements are of one kind.

    Attributes
    ----------
    columns : list of Column
    used, room : str
        Variables of how many elements its lists take, and may take.
    rows : Column
        The rows of the lists.
    count, rows_room : str
        Variables of how many there are, and may be.
    """

    def __init__(self, r: Recorder, kind: Kind):
        key = "pool", pool_key(kind)
        self.columns = columns_of(r, kind, key)
        self.rows = Column(r.variable(), (r.variable(),), INT, r.site((key, "rows")))
        self.used, self.room, self.count, self.rows_room = (r.variable() for _ in range(4))
        r.initial += [(v, 0) for v in (self.used, self.room, self.count, self.rows_room)]
        r.initial += [(self.rows.extents[0], 3)]
        self.grow_rows = r.routine(lambda: self._grow_rows(r), is_rare=True)
        self.make_room = r.routine(lambda *names: self._make_room(r, *names), [INT, INT], is_rare=True)

    def field(self, r: Recorder, handle: Poly, field: Poly) -> Poly:
        """A part of the row of a list."""
        base = r.get(self.rows.base, POINTER, chooses=False)
        name = r.load(view_of(self.rows, base, (a.ONE, _FIELDS)), INT, (handle, field))
        return r.bounded(name, 0, MOST_EXTENT)

    def set_field(self, r: Recorder, handle: Poly, field: Poly, value: Poly) -> None:
        """Change a part of the row of a list."""
        base = r.get(self.rows.base, POINTER, chooses=False)
        r.store(view_of(self.rows, base, (a.ONE, _FIELDS)), INT, (handle, field), r.integer(value))

    def _grow_rows(self, r: Recorder) -> None:
        count = r.extent(self.count)
        room = count * 2 + LEAST_ROOM
        r.require(_MOST_BYTES - room * 24)
        grow(r, [self.rows], count, room)
        r.put(self.rows_room, r.integer(room), INT)

    def _make_room(self, r: Recorder, name: str, least: str) -> None:
        """Make room for twice as many elements of a list, and at least so many: where it is, or behind all."""
        for number in (name, least):
            r.facts.bound(number, [0], [MOST_EXTENT])
        handle = Poly.name(name)
        start, count, room = (self.field(r, handle, field) for field in (_START, _LENGTH, _ROOM))
        used, place = r.extent(self.used), r.variable()
        r.put(place, r.integer(used), INT)
        with r.when(r.machine("==", start + room, used)):
            r.put(place, r.integer(start), INT)
        at, more = r.extent(place), r.maximum(count * 2, Poly.name(least)) + _LEAST
        with r.when(r.machine(">", at + more, r.extent(self.room))):
            whole = (at + more) * 2
            for column in self.columns:
                r.require(_MOST_BYTES - whole * column.dtype.itemsize)
            grow(r, self.columns, used, whole)
            r.put(self.room, r.integer(whole), INT)
        with r.when(r.machine("!=", at, start)):
            self._move(r, at, start, count)
        self.set_field(r, handle, _START, at)
        self.set_field(r, handle, _ROOM, more)
        r.put(self.used, r.integer(at + more), INT)

    def _move(self, r: Recorder, to: Poly, start: Poly, count: Poly) -> None:
        for column in self.columns:
            r.move(self.address(r, column, to), self.address(r, column, start), count * self.size_of(r, column))

    def size_of(self, r: Recorder, column: Column) -> Poly:
        """The bytes of an element in a column."""
        size = Poly.number(column.dtype.itemsize)
        for variable in column.extents:
            size = size * r.extent(variable)
        return size

    def address(self, r: Recorder, column: Column, at: Poly) -> str:
        """The pointer to an element in a column."""
        base = r.get(column.base, POINTER, chooses=False)
        return r.address(View(base, at * self.size_of(r, column), (), frozenset({f"m{column.site}"})))


def pool_of(r: Recorder, kind: Kind) -> Pool:
    """The pool of lists with elements of a kind."""
    key = pool_key(kind)
    if key not in r.pools:
        r.pools[key] = Pool(r, kind)
    return r.pools[key]


def is_reference(r: Recorder, place: Hashable) -> bool:
    """Whether the list that is made there is held by reference."""
    return (place, "reference") in r.changing


def need(reason: str, *values: Any) -> NoReturn:
    """Begin again with these lists held by reference.

    Raises
    ------
    NotStaged
        If one of them is no list that the function makes.
    """
    places: list[frozenset[Hashable]] = [
        getattr(v, "made_at", frozenset()) for v in values if not isinstance(v, Composite)
    ]
    if not places or not all(places):
        raise NotStaged(reason)
    raise ListsMeet(reason, *((its, getattr(v, "kind", None)) for its, v in zip(places, values)))


def note(found: ListsMeet, r: Recorder) -> None:
    """Note for the next attempt which lists are held by reference, and what they hold together."""
    places: set[Hashable] = {place for its, _ in found.lists for place in its}
    known: list[dict[Any, Any]] = [r.lists, *r.cells.values()]
    for _ in range(_MOST_DEEP):
        for kinds_by_name in known:
            for held in kinds_by_name.values():
                places |= _places_beside(held, places)
    kinds = [
        kind
        for its, kind in found.lists
        if kind is not None and not any(r.guesses.get(p) for p in its) and not _rows_in(kind)
    ]
    whole: Kind = kinds[0] if kinds else Number(INT, True)
    for kind in kinds[1:]:
        whole = joined(whole, kind)
    for place in places:
        r.guesses[place] = not kinds and (r.guesses.get(place, True) or not is_reference(r, place))
        r.lists[place] = whole
        r.changing.add((place, "reference"))
    for kinds_by_name in known:
        for name, held in list(kinds_by_name.items()):
            if name in places or held is None:
                continue
            if not _has_copies(held, places):
                kinds_by_name[name] = _with(held, places, whole)
            elif kinds_by_name is r.lists:  # what it holds is found again
                r.lists[name] = None
                r.guesses.pop(name, None)
            else:
                del kinds_by_name[name]


def _places_beside(kind: Kind | None, places: set[Hashable]) -> frozenset[Hashable]:
    """Where else lists may be made that one of these places may make."""
    if isinstance(kind, Parts):
        return frozenset(place for k in kind.kinds for place in _places_beside(k, places))
    if isinstance(kind, NoneOr):
        return _places_beside(kind.kind, places)
    if isinstance(kind, Reference):
        return _places_beside(kind.kind, places) | (frozenset() if kind.places.isdisjoint(places) else kind.places)
    return frozenset()


def _with(kind: Kind, places: set[Hashable], whole: Kind) -> Kind:
    """The kind, where lists that are made at these places hold values of the kind `whole`."""
    if isinstance(kind, Parts):
        return kind.of(_with(k, places, whole) for k in kind.kinds)
    if isinstance(kind, NoneOr):
        return NoneOr(_with(kind.kind, places, whole))
    if isinstance(kind, Reference):
        is_one = not kind.places.isdisjoint(places)
        return Reference(whole if is_one else _with(kind.kind, places, whole), kind.places)
    return kind


def _has_copies(kind: Kind, places: set[Hashable]) -> bool:
    """Whether lists that are made at these places are no references in a kind."""
    if isinstance(kind, Parts):
        return not kind.displays.isdisjoint(places) or any(_has_copies(k, places) for k in kind.kinds)
    return isinstance(kind, Rows) and kind.place in places


def new(r: Recorder, place: Hashable) -> Referenced:
    """A new list that is held by reference."""
    kind = r.lists[place]
    pool = pool_of(r, kind)
    count = r.extent(pool.count)
    with r.when(r.machine(">=", count, r.extent(pool.rows_room))):
        pool.grow_rows()
    for field in (_START, _LENGTH, _ROOM):
        pool.set_field(r, count, field, ZERO)
    r.put(pool.count, r.integer(count + 1), INT)
    return Referenced(kind, frozenset({place}), count)


def accept(r: Recorder, values: Referenced, kind: Kind) -> None:
    """Make sure that a list can hold a value of this kind."""
    if is_of_objects(kind):
        raise NotStaged("a list of objects that has several names")
    rows = frozenset(_rows_in(kind))
    if rows:
        raise ListsMeet("a list in a list", *((frozenset({place}), None) for place in rows))
    if not is_covered(kind, values.kind):
        raise ListsMeet("a list of values of different kinds", (values.made_at, values.kind), (frozenset(), kind))


def _rows_in(kind: Kind) -> list[Hashable]:
    if isinstance(kind, Parts):
        return [place for k in kind.kinds for place in _rows_in(k)]
    return [kind.place] if isinstance(kind, Rows) else []


def length(r: Recorder, values: Referenced) -> Poly:
    """The number of elements."""
    return pool_of(r, values.kind).field(r, values.handle, _LENGTH)


def set_length(r: Recorder, values: Referenced, count: Poly) -> None:
    """Leave out what stands behind the first elements."""
    check_not_iterated(r, values)
    pool_of(r, values.kind).set_field(r, values.handle, _LENGTH, count)


def start(r: Recorder, values: Referenced) -> Poly:
    """Where in the columns of its pool a list begins."""
    return pool_of(r, values.kind).field(r, values.handle, _START)


def append(r: Recorder, values: Referenced, parts: Sequence[str | Array]) -> None:
    """Append an element, given by what its columns get."""
    check_not_iterated(r, values)
    pool, handle = pool_of(r, values.kind), values.handle
    settle_extents(r, pool.columns, parts, lambda: r.extent(pool.used))
    count = length(r, values)
    _make_room(r, pool, handle, count + 1)
    write_columns(r, pool.columns, start(r, values) + count, parts)
    pool.set_field(r, handle, _LENGTH, count + 1)


def _make_room(r: Recorder, pool: Pool, handle: Poly, count: Poly) -> None:
    with r.when(r.machine(">", count, pool.field(r, handle, _ROOM))):
        pool.make_room(r.integer(handle), r.integer(count))


def extend(r: Recorder, values: Referenced, others: Referenced) -> None:
    """Append all elements of another list in the same pool."""
    check_not_iterated(r, values)
    pool, handle = pool_of(r, values.kind), values.handle
    count, more = length(r, values), length(r, others)
    _make_room(r, pool, handle, count + more)
    for column in pool.columns:
        to, source = (pool.address(r, column, at) for at in (start(r, values) + count, start(r, others)))
        r.move(to, source, more * pool.size_of(r, column))
    pool.set_field(r, handle, _LENGTH, count + more)


def check_not_iterated(r: Recorder, values: Referenced) -> None:
    """Stop where a list grows or shrinks that a loop runs over."""
    for other in r.iterated:
        if isinstance(other, Referenced) and pool_key(other.kind) == pool_key(values.kind):
            r.stop(r.machine("==", other.handle, values.handle))


def is_same(r: Recorder, x: Referenced, y: Referenced) -> bool | str:
    """``x is y``."""
    return pool_key(x.kind) == pool_key(y.kind) and r.machine("==", x.handle, y.handle)
