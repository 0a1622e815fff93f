"""What variables may hold where ways through a function meet: the kinds of values, and what holds those of several."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ...base.frozen import frozen, replaced
from .arrays import Shape, contiguous_strides
from .complexnumbers import is_complex
from .localfunctions import LocalFunction
from .recorder import Recorder
from .values import (
    FLOAT,
    INT,
    Array,
    Chosen,
    Complex,
    Composite,
    Copied,
    Display,
    Gone,
    KindsDiffer,
    ListsMeet,
    NotStaged,
    Perhaps,
    Referenced,
    RunTime,
    Scalar,
    dtype_of,
    is_number,
    is_python_number,
    is_static,
)


@frozen
class Number:
    """A number: of Python, of NumPy, or (None) of the one or the other.

    One that is `unsettled` may also be a number of Python's of another kind, which the register holds exactly. With
    `strings` it stands for one of these.
    """

    dtype: np.dtype
    python: bool | None
    unsettled: bool = False
    strings: tuple[str, ...] = ()


@frozen(eq=False)
class Held:
    """An array in memory; without `shape` or `strides`, these go through variables."""

    dtype: np.dtype
    ndim: int
    origins: frozenset[str]
    c_order: bool
    shape: Shape | None
    contiguous: bool
    base: str | None
    is_given: bool = False


@frozen(eq=False)
class Same:
    """A value that is the same on all ways."""

    value: Any


@frozen
class Parts:
    """A tuple, a list, a dict, a slice or an object of such values, or a complex number.

    Objects are made at one of the `places`.
    """

    make: type
    kinds: tuple[Kind, ...]
    keys: tuple[Any, ...] = ()
    places: frozenset[Hashable] = frozenset()
    displays: frozenset[Hashable] = frozenset()
    """Where a list is written out."""

    def __eq__(self, other: object) -> bool:
        its = (self.make, self.kinds, self.keys, self.places)
        return isinstance(other, Parts) and its == (other.make, other.kinds, other.keys, other.places)

    def __hash__(self) -> int:
        return hash((self.make, self.kinds, self.keys, self.places))

    def of(self, kinds: Iterable[Kind]) -> Parts:
        """The same of values of other kinds."""
        return replaced(self, kinds=tuple(kinds))


@frozen
class Rows:
    """A list of numbers as an element of a list: of which kind, and where it is made."""

    kind: Number
    place: Hashable


@frozen
class Reference:
    """A list that is held by reference: what its elements are, and the places one of which makes it."""

    kind: Kind
    places: frozenset[Hashable]


@frozen
class NoneOr:
    """None, or a value of a kind."""

    kind: Kind


Kind = Number | Held | Same | Parts | Rows | Reference | NoneOr
GONE = Same(Gone())


def kind_of(value: Any) -> Kind:
    """What a variable holds that has this value."""
    if isinstance(value, Perhaps):
        return NoneOr(kind_of(value.value))
    if isinstance(value, Chosen):
        return _one_of(value.strings)
    if is_complex(value):
        return Parts(Complex, (Number(FLOAT, True),) * 2)
    if is_number(value):
        return Number(dtype_of(value), is_python_number(value), isinstance(value, Scalar) and bool(value.settled))
    if isinstance(value, Array):
        view = value.memory
        contiguous = view.strides == contiguous_strides(value.shape, value.dtype)
        base = view.base if not view.offset.terms else None
        known = value.shape, contiguous, base, view.is_given
        return Held(value.dtype, value.ndim, view.origins, value.c_order and not value.is_part, *known)
    if isinstance(value, Composite) and value.is_value:
        return Parts(value.kind, tuple(map(kind_of, value.parts.values())), tuple(value.parts), value.places)
    if isinstance(value, Referenced):
        return Reference(value.kind, value.made_at)
    if isinstance(value, (tuple, list, slice, dict)) and not is_static(value):
        keys = tuple(value) if isinstance(value, dict) else ()
        make: type = next(t for t in (list, dict, type(value)) if isinstance(value, t))
        return Parts(make, tuple(map(kind_of, parts_of(value))), keys, displays=displays_of(value))
    return Same(value)


def displays_of(value: Any) -> frozenset[Hashable]:
    """Where a list of known length is written out."""
    return value.made_at if isinstance(value, (Copied, Display)) else frozenset()


def _one_of(strings: Iterable[str]) -> Number:
    return Number(INT, True, False, tuple(sorted(strings, key=lambda s: s if isinstance(s, str) else str(s))))


def _strings(kind: Kind) -> frozenset[Any]:
    """The strings, or members of enumerations, that a value of a kind may be; empty if it may be something else."""
    if isinstance(kind, Number):
        return frozenset(kind.strings)
    return frozenset([kind.value]) if isinstance(kind, Same) and _is_chosen(kind.value) else frozenset()


def _is_chosen(value: Any) -> bool:
    """Whether a value is equal to itself alone, or to equal strings."""
    if isinstance(value, enum.Enum):
        base = next(c for c in (str, int, object) if isinstance(value, c))
        return all(getattr(type(value), name) is getattr(base, name) for name in ("__eq__", "__ne__"))
    return isinstance(value, str)


def parts_of(value: Any) -> Sequence[Any]:
    """What a tuple, a list, a dict or a slice holds."""
    if is_complex(value):
        return value.real, value.imag
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    if isinstance(value, Composite):
        return list(value.parts.values())
    return list(value.values()) if isinstance(value, dict) else value


def assembled(kind: Parts, parts: Sequence[Any]) -> Any:
    """The value with these parts."""
    if kind.make in (slice, Complex):
        return kind.make(*parts)
    if kind.places:
        return Composite(kind.make, dict(zip(kind.keys, parts)), places=kind.places)
    if kind.make is list and kind.displays:
        return Copied(parts, kind.displays)
    return dict(zip(kind.keys, parts)) if kind.make is dict else kind.make(parts)


def join(x: Kind, y: Kind) -> Kind:
    """What holds values of both kinds.

    Raises
    ------
    NotStaged
        If nothing does.
    """
    if x == y:
        return x
    first, second = _strings(x), _strings(y)
    if first and second and first != second and len({*map(type, first | second)}) == 1:
        return _one_of(first | second)
    if isinstance(x, Number) and isinstance(y, Number) and not (first or second):
        python = x.python if x.python == y.python else None
        if x.dtype == y.dtype:
            return Number(x.dtype, python, x.unsettled or y.unsettled)
        if _holds(y, x) or _holds(x, y):
            return Number((y if _holds(y, x) else x).dtype, python, True)
        raise KindsDiffer(f"a variable that is {x.dtype} and {y.dtype}")
    if isinstance(x, Held) and isinstance(y, Held) and (x.dtype, x.ndim) == (y.dtype, y.ndim):
        shape, base = x.shape if x.shape == y.shape else None, x.base if x.base == y.base else None
        c_order, contiguous = x.c_order and y.c_order, x.contiguous and y.contiguous
        known = shape, contiguous, base, x.is_given and y.is_given
        return Held(x.dtype, x.ndim, x.origins | y.origins, c_order, *known)
    if isinstance(x, Parts) and isinstance(y, Parts) and _are_alike(x, y):
        kinds = tuple(map(join, x.kinds, y.kinds))
        return Parts(x.make, kinds, x.keys, x.places | y.places, x.displays | y.displays)
    if isinstance(x, Same) and isinstance(y, Same) and _is_same(x.value, y.value):
        return x
    if _is_gone(x) or _is_gone(y):
        return Same(Gone(_made_at(x) | _made_at(y)))
    if isinstance(x, Reference) and isinstance(y, Reference):
        if pool_key(x.kind) != pool_key(y.kind):
            raise ListsMeet("lists of different kinds of values", (x.places, x.kind), (y.places, y.kind))
        return Reference(x.kind, x.places | y.places)
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Parts) and (parts := _as_parts(other, one)) is not None:
            return join(one, parts)
    first_places, second_places = _made_at(x), _made_at(y)
    if first_places and second_places and first_places != second_places:
        held = [k if isinstance(k, Reference) else getattr(k, "value", None) for k in (x, y)]
        of = [getattr(value, "kind", None) for value in held]
        raise ListsMeet("a variable that holds different lists", *zip((first_places, second_places), of))
    if any(isinstance(k, NoneOr) or _is_none(k) for k in (x, y)):
        present = [k.kind if isinstance(k, NoneOr) else k for k in (x, y) if not _is_none(k)]
        made = join(*present) if len(present) == 2 else present[0]
        if isinstance(made, Same) and (strings := _strings(made)):
            made = _one_of(strings)
        if isinstance(made, (Number, Held, Parts, Reference)):
            return NoneOr(made)
    raise NotStaged("a variable that holds different kinds of values")


def surviving(kind: Kind, depth: int) -> Kind:
    """The kind behind an iteration of a loop: lists and objects that are made in it, so many loops deep, are gone."""
    if isinstance(kind, Parts):
        return kind.of(surviving(k, depth) for k in kind.kinds)
    if isinstance(kind, Same) and isinstance(kind.value, (RunTime, Composite)) and kind.value.depth >= depth:
        return Same(Gone(_made_at(kind)))
    return kind


def _is_gone(kind: Kind) -> bool:
    return isinstance(kind, Same) and isinstance(kind.value, Gone)


def _made_at(kind: Kind) -> frozenset[Hashable]:
    """The places of the lists that a value of a kind may be."""
    if isinstance(kind, Reference):
        return kind.places
    if isinstance(kind, Rows):
        return frozenset({kind.place})
    if isinstance(kind, Parts):
        return kind.displays
    is_list = isinstance(kind, Same) and not isinstance(kind.value, Composite)
    return getattr(kind.value, "made_at", frozenset()) if is_list else frozenset()  # type: ignore[union-attr]


def pool_key(kind: Kind) -> Hashable:
    """What is equal for elements that lie in columns of the same types."""
    if isinstance(kind, Parts):
        return kind.make, kind.keys, tuple(map(pool_key, kind.kinds))
    if isinstance(kind, Held):
        return Held, kind.dtype.str, kind.ndim
    if isinstance(kind, Reference):
        return Reference, pool_key(kind.kind)
    return (Same, type(kind.value), kind.value) if isinstance(kind, Same) else kind


def _is_none(kind: Kind) -> bool:
    return isinstance(kind, Same) and kind.value is None


def _as_parts(kind: Kind, like: Parts) -> Parts | None:
    """The kind of a tuple that is known, as that of one which is not."""
    value = kind.value if isinstance(kind, Same) else None
    if like.make not in (tuple, list) or type(value) is not like.make or not isinstance(value, (tuple, list)):
        return None
    return Parts(like.make, tuple(map(kind_of, value))) if len(value) == len(like.kinds) else None


def _are_alike(x: Parts, y: Parts) -> bool:
    return (x.make, len(x.kinds), x.keys, not x.places) == (y.make, len(y.kinds), y.keys, not y.places)


def _holds(x: Number, y: Number) -> bool:
    """Whether a variable of NumPy's dtype, or of floats, may hold a number of Python's of another kind for a while."""
    if not y.python or x.dtype == y.dtype:
        return False
    kinds = y.dtype.kind + x.dtype.kind
    return kinds == "if" or (kinds in ("ii", "iu", "ff", "ic", "fc") and x.python is not True)


def _is_same(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(_is_same, x, y))
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return repr(x) == repr(y)
    return isinstance(x, (str, np.dtype, slice, LocalFunction)) and bool(x == y)


def is_covered(kind: Kind, by: Kind) -> bool:
    """Whether `by` holds all that `kind` does."""
    if kind == by:
        return True
    if isinstance(by, Parts) and (parts := _as_parts(kind, by)) is not None:
        return is_covered(parts, by)
    if isinstance(by, NoneOr):
        return _is_none(kind) or is_covered(kind.kind if isinstance(kind, NoneOr) else kind, by.kind)
    if strings := _strings(by):
        return bool(_strings(kind)) and _strings(kind) <= strings
    if isinstance(kind, Number) and isinstance(by, Number):
        if kind.strings:
            return False
        if kind.dtype != by.dtype:
            return by.unsettled and _holds(by, kind) and by.python in (None, kind.python)
        return (kind.python == by.python or by.python is None) and (by.unsettled or not kind.unsettled)
    if isinstance(kind, Reference) and isinstance(by, Reference):
        return kind.places <= by.places and pool_key(kind.kind) == pool_key(by.kind)
    if _is_gone(kind) and _is_gone(by):
        return _made_at(kind) <= _made_at(by)
    if isinstance(kind, Held) and isinstance(by, Held):
        return (
            (kind.dtype, kind.ndim) == (by.dtype, by.ndim)
            and kind.origins <= by.origins
            and (kind.c_order or not by.c_order)
            and (by.shape is None or kind.shape == by.shape)
            and (kind.contiguous or not by.contiguous)
            and (by.base is None or kind.base == by.base)
            and (kind.is_given or not by.is_given)
        )
    if isinstance(kind, Parts) and isinstance(by, Parts) and _are_alike(kind, by):
        return kind.places <= by.places and all(map(is_covered, kind.kinds, by.kinds))
    return isinstance(kind, Same) and isinstance(by, Same) and _is_same(kind.value, by.value)


def seen_from(r: Recorder, kind: Kind, blocks: frozenset[int]) -> Kind:
    """The kind without what is known of it by names that are defined outside of `blocks`."""
    if isinstance(kind, Parts):
        return kind.of(seen_from(r, k, blocks) for k in kind.kinds)
    if isinstance(kind, NoneOr):
        return NoneOr(seen_from(r, kind.kind, blocks))
    if isinstance(kind, Same) and isinstance(kind.value, RunTime):
        return kind if r.are_defined(kind.value.names(), blocks) else GONE
    if isinstance(kind, Same) and isinstance(kind.value, Composite) and kind.value.of is not None:
        return kind if r.are_defined(kind.value.of[1].names(), blocks) else GONE
    if not isinstance(kind, Held):
        return kind
    shape, base = kind.shape, kind.base
    if shape is not None and not all(r.are_defined(extent.names(), blocks) for extent in shape):
        shape = None
    if base is not None and not r.are_defined([base], blocks):
        base = None
    return replaced(kind, shape=shape, base=base)
