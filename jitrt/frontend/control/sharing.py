"""Methods of Python's containers that are routines of the procedure: one text for all places that call them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from ...ir.integers import Poly
from ...values.functions import MISSING
from . import scalars
from .kinds import Kind, Number, Parts, Reference, kind_of
from .listkinds import dtypes_of_leaf, leaves_of
from .recorder import Recorder
from .runtimelists import GrownList
from .values import BOOL, INT, Chosen, Composite, ListChanges, Referenced, dtype_of, held_by, is_number
from .variables import number_dtypes, number_of, number_registers
from .written_containers import Keys

if TYPE_CHECKING:
    from .statements import Statements

_SHARED = {Keys._place, Keys._add, Keys._grow, Keys._drop, Keys._compact}


def is_shared(function: Any) -> bool:
    """Whether a function may be a routine."""
    return getattr(function, "__module__", None) == Keys.__module__ and function in _SHARED


def run(where: Statements, function: Any, args: list[Any], e: Any) -> Any:
    """What a method of a container gives as a routine; MISSING if its arguments are no numbers and tuples of numbers.

    A routine is another one where its container holds other kinds of values, which comes to light little by little.
    """
    r, owner, values = where.r, args[0], list(map(where.kept, args[1:]))
    if function is Keys._compact and not removes(r, owner):
        return None
    if function is Keys._drop and not removes(r, owner):
        r.changing.add((owner.place, "removes"))
        raise ListChanges("a container that loses elements")
    if function in (Keys._add, Keys._drop) and any(list_ in r.iterated for list_ in _lists(owner)):
        r.stop(r.literal(True, BOOL))  # Python refuses that while a loop runs over the keys
        return 0
    kinds = [kind for v in values if (kind := _number_kind(v)) is not None]
    if len(kinds) < len(values):
        return MISSING
    call = function, owner, tuple(kinds)
    if (*call, _state(owner)) not in r.shared:
        gives: list[Any] = []

        def record(*names: str) -> str | None:
            rest, iterated, r.iterated = iter(names), r.iterated, []
            made = where.in_place(function, [owner, *(_value(r, kind, rest) for kind in kinds)], {}, e)
            r.iterated = iterated
            gives.append(None if made is None else dtype_of(made))
            return None if made is None else r.integer(scalars.poly_of(r, made))

        types = [dtype for kind in kinds for leaf in leaves_of(kind) for dtype in dtypes_of_leaf(leaf)]
        routine = r.routine(record, types)
        r.shared[*call, _state(owner)] = routine, gives[0]
    routine, dtype = r.shared[*call, _state(owner)]
    made = routine(*(name for v, kind in zip(values, kinds) for name in _registers(r, kind, v)))
    return None if dtype is None else number_of(r, Number(dtype, True), [made])


def removes(r: Recorder, owner: Composite) -> bool:
    """Whether elements are removed from a container."""
    return (owner.place, "removes") in r.changing


def _number_kind(value: Any) -> Kind | None:
    """The kind of a number or a string, or of a tuple of such."""
    if type(value) is tuple:
        kinds = tuple(kind for v in value if (kind := _number_kind(v)) is not None)
        return Parts(tuple, kinds) if len(kinds) == len(value) else None
    if isinstance(value, str):
        return Number(INT, True, False, (value,))
    if isinstance(value, Referenced):
        return kind_of(value)
    is_one = is_number(value) or isinstance(value, Chosen)
    return kind if is_one and isinstance(kind := kind_of(value), Number) else None


def _registers(r: Recorder, kind: Kind, value: Any) -> list[str]:
    if isinstance(kind, Parts):
        return [name for k, v in zip(kind.kinds, value) for name in _registers(r, k, v)]
    if isinstance(kind, Reference):
        return [r.integer(value.handle)]
    assert isinstance(kind, Number)
    return number_registers(r, kind, value)


def _value(r: Recorder, kind: Kind, names: Iterator[str]) -> Any:
    if isinstance(kind, Parts):
        return tuple(_value(r, k, names) for k in kind.kinds)
    if isinstance(kind, Reference):
        return Referenced(kind.kind, kind.places, Poly.name(next(names)))
    assert isinstance(kind, Number)
    return number_of(r, kind, [next(names) for _ in number_dtypes(kind)])


def _state(owner: Composite) -> Hashable:
    """What is known of the attributes of a container."""
    variables = tuple(cell.variable for cell in owner.cells.values())
    return variables, tuple((v, v.kind, tuple(v.columns)) for v in _lists(owner))


def _lists(owner: Composite) -> list[GrownList]:
    return [v for v in held_by(owner) if isinstance(v, GrownList)]
