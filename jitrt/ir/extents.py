"""Extents that stand for any extent: integers with a value and a formula, which note what their values decided.

A function is traced, and its program planned, with an `Extent` for each extent that varies. Sums and products of
extents are extents. What compares them goes on as their values say, and a *guard* notes what was found: all sizes that
satisfy the guards would have led the same way, so one program serves them, with other numbers in it. What needs the
number itself, as Python's `range` and NumPy do, gets it, and the guard is that the extent is this number.

An `Extent` is no ``int`` and holds no other way to its value, so that nothing depends on the value and is not noted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Final

import numpy as np

from ..errors import ControlException
from .integers import Poly, quotient_and_rest, whole_factor
from .ranges import NO_LIMIT, Place, Range, split

LEAST = 2
"""The least value of a variable: extents of 0 and 1 are special to most of what follows."""

_OF_ARRAYS = np.ndarray.__array_ufunc__


class NotNoted(ControlException):
    """A decision by extents of which no guard can tell."""


class Sizes:
    """Variables for extents, and what has been decided by their values.

    Parameters
    ----------
    values : sequence of int
        What the variables are at first, none of them below `LEAST`.

    Examples
    --------
    >>> sizes = Sizes([100, 7])
    >>> n, m = sizes.variables
    >>> n * 8 < 4096, m == 3, n >= 1
    (True, False, True)
    >>> n // 4 + m, [str(guard) for guard in sizes.guards]
    (32, ['s0 <= 511', 's1 != 3'])
    """

    def __init__(self, values: Sequence[int]):
        self._values = {f"s{k}": value for k, value in enumerate(values)}
        self.quotients: dict[str, tuple[Poly, Poly]] = {}  # by their names
        self._names: dict[tuple[Poly, Poly], str] = {}
        self._ranges: dict[Poly, Range] = {}
        self._preferred: dict[Poly, Range] = {}
        self._is_closed = False
        self._made: dict[Poly, Extent] = {}  # one of each, which remembers what was asked of it
        self.variables: Final = tuple(Extent(Poly.name(name), value, self) for name, value in self._values.items())

    def value(self, poly: Poly) -> int:
        """What a polynomial is for the values that variables had at first."""
        return sum(c * math.prod(map(self._values.__getitem__, m)) for m, c in poly.terms)

    def make(self, poly: Poly, like: Extent) -> Any:
        """An extent, of the class of another one; an integer if it depends on no variable."""
        number = poly.constant
        if number is not None:
            return number
        found = self._made.get(poly)
        if found is None or type(found) is not type(like):
            found = self._made[poly] = type(like)(poly, self._checked(self.value(poly)), self)
        return found

    @staticmethod
    def _checked(number: int) -> int:
        """A number that bounds are known of."""
        if abs(number) >= NO_LIMIT:
            raise NotNoted("a number of more than 62 bits")
        return number

    def quotient(self, x: Poly, y: Poly, low: int) -> Poly:
        """A name for ``x // y``, which is not below `low`."""
        name = self._names.get((x, y))
        if name is None:
            self._check_open()
            name = self._names[x, y] = f"q{len(self._names)}"
            self.quotients[name] = x, y
            value = self._values[name] = self.value(x) // self.value(y)
            poly = Poly.name(name)
            self._ranges[poly] = Range(poly, value, low, NO_LIMIT, self._check_open)
        return Poly.name(name)

    @staticmethod
    def is_multiple(x: Any, y: Any) -> bool:
        """Whether the formulas say that `y` divides `x`, whatever the sizes."""
        poly, divisor = _poly(x), _poly(y)
        assert poly is not None and divisor is not None
        return whole_factor(poly, divisor) is not None or (
            len(divisor.terms) == 1 and quotient_and_rest(poly, divisor)[1].constant == 0
        )

    def place(self, poly: Poly) -> Place:
        """A polynomial as ``factor * range + constant``."""
        factor, constant, rest = split(poly)
        return Place(factor, constant, None if rest is None else self._range(rest))

    def _check_open(self) -> None:
        if self._is_closed:
            raise NotNoted("a decision by sizes behind their guards")

    def _range(self, poly: Poly) -> Range:
        found = self._ranges.get(poly)
        if found is None:
            low, high = 0, 0
            for m, c in poly.terms:
                ends = self._product(m)
                low, high = low + c * ends[c < 0], high + c * ends[c > 0]
            limits = max(low, -NO_LIMIT), min(high, NO_LIMIT)
            found = self._ranges[poly] = Range(poly, self.value(poly), *limits, self._check_open)
        return found

    def _product(self, names: tuple[str, ...]) -> tuple[int, int]:
        """Bounds of a product of names, as far as they are known."""
        low = high = 1
        for name in names:
            known = self._ranges.get(Poly.name(name))
            own = (LEAST, NO_LIMIT) if known is None else (known.low, known.high)
            if own[0] < 0:
                return -NO_LIMIT, NO_LIMIT
            low, high = low * own[0], min(high * own[1], NO_LIMIT)
        return low, high

    @property
    def guards(self) -> list[Range]:
        """What sizes have to satisfy, beside that no variable is below `LEAST`."""
        return [known for known in self._ranges.values() if known.is_guarded]

    def prefers(self, poly: Poly, limit: int) -> bool:
        """Whether a polynomial was not above `limit` at first, which others may be without a loss but of speed."""
        factor, constant, rest = split(poly)
        if rest is None:
            return self.value(poly) <= limit
        known = self._preferred.get(rest)
        if known is None:
            hard = self._range(rest)
            known = self._preferred[rest] = Range(rest, hard.value, hard.low, hard.high, self._check_open)
        return Place(factor, constant, known).at_most(limit)

    @property
    def preferences(self) -> list[Range]:
        """What sizes have in common for which the same would be made."""
        return [known for known in self._preferred.values() if known.is_guarded]

    def pinned(self) -> frozenset[int]:
        """Numbers of the variables that have one value only."""
        known = [self._ranges.get(v.poly) for v in self.variables]
        return frozenset(k for k, found in enumerate(known) if found is not None and found.low == found.high)

    def noted(self) -> list[Any]:
        """All that was noted, which changes no more."""
        kept = [
            [(k.poly, k.low, k.high, frozenset(k.excluded), *k.natural) for k in known.values()]
            for known in (self._ranges, self._preferred)
        ]
        return [[*self.quotients.values()], *kept]

    def accepts(self, noted: Sequence[Any]) -> bool:
        """Note what `noted` gave where the same was traced, if all of it holds for the sizes at first, too."""
        before = self._values.copy(), self.quotients.copy(), self._names.copy()
        all_known = self._ranges, self._preferred
        kept = [{poly: copy(known) for poly, known in ranges.items()} for ranges in all_known]
        if self._note(noted):
            return True
        self._values, self.quotients, self._names = before
        for ranges, old in zip(all_known, kept):
            for poly, known in [*ranges.items()]:
                if poly in old:  # extents have what is known of them
                    known.low, known.high, known.excluded = old[poly].low, old[poly].high, old[poly].excluded
                else:
                    del ranges[poly]
        return False

    def _note(self, noted: Sequence[Any]) -> bool:
        quotients, *kept = noted
        for x, y in quotients:
            if not self.value(y):
                return False
            if (x, y) not in self._names:
                self._ranges.pop(self.quotient(x, y, 0))  # what is known of it follows
        for known, rows in zip((self._ranges, self._preferred), kept):
            for poly, low, high, excluded, least, most in rows:
                found = known.get(poly)
                if found is None:
                    found = known[poly] = Range(poly, self.value(poly), least, most, self._check_open)
                found.low, found.high = max(found.low, low), min(found.high, high)
                found.excluded = found.excluded.union(excluded)  # a copy has the set of the original
        return all(k.low <= k.value <= k.high and k.value not in k.excluded for k in self._ranges.values())

    def close(self) -> None:
        """Let nothing be noted any more."""
        self._is_closed = True


def _poly(value: Any) -> Poly | None:
    """The formula of an integer; None for other numbers."""
    if is_extent(value):
        return value.poly
    # What says that it is of another class than it is stands for something.
    return Poly.number(int(value)) if issubclass(type(value), (int, np.integer)) else None


def _is_float(value: Any) -> bool:
    return issubclass(type(value), float)


class Extent:
    """An integer that depends on variables; made by `Sizes`."""

    __slots__ = ("_made", "_place", "poly", "sizes", "value")

    def __init__(self, poly: Poly, value: int, sizes: Sizes):
        self.poly, self.value, self.sizes = poly, value, sizes
        # By an operation and an integer; by the identity of another number, which stands there, too, as it may die.
        self._made: dict[Any, Any] = {}
        self._place: Place | None = None

    def _where(self) -> Place:
        """What is known of the value."""
        if self._place is None:
            self._place = self.sizes.place(self.poly)
        return self._place

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def _known(self) -> int:
        """The value, which is the only one from now on."""
        assert self._where().equals(self.value)
        return self.value

    __index__ = __int__ = _known

    def __float__(self) -> float:
        return float(self._known())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._known(), dtype)

    def __bool__(self) -> bool:
        return not self._where().equals(0)

    def __hash__(self) -> int:  # the same for all, so that whoever looks for one has to compare
        return id(self.sizes)

    def __str__(self) -> str:
        return str(self._known())

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(self._known(), spec)

    def __copy__(self) -> Extent:
        return self

    def __deepcopy__(self, memo: Any) -> Extent:
        return self

    def __reduce__(self) -> Any:
        return int, (self._known(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known(), name)

    def _other(self, other: Any) -> Poly | None:
        if isinstance(other, Extent) and other.sizes is not self.sizes:
            raise NotNoted("extents of two traces")
        return _poly(other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        others = [type(v) for v in inputs if not is_extent(v)]
        if any(getattr(kind, "__array_ufunc__", _OF_ARRAYS) is not _OF_ARRAYS for kind in others):
            return NotImplemented
        return getattr(ufunc, method)(*[v._known() if is_extent(v) else v for v in inputs], **options)

    def _with(self, other: Any, whole: Callable[[Any, Any], Any]) -> Any:
        if type(other) is int:
            made = self._made.get((whole, other))
            if made is None:
                made = self._made[whole, other] = self.sizes.make(whole(self.poly, Poly.number(other)), self)
            return made
        known = self._made.get((id(other), whole))
        if known is not None and known[0] is other:
            return known[1]
        poly = self._other(other)
        if poly is None:
            return whole(self._known(), other) if _is_float(other) else NotImplemented
        made = self.sizes.make(whole(self.poly, poly), self)
        self._made[id(other), whole] = other, made
        return made

    def remembered(self, key: tuple[Any, ...], find: Callable[[], Any]) -> Any:
        """What `find` makes of this number and `key`, which no operation has for its own."""
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = find()
        return made

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _poly(other) is not None or _is_float(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self.sizes.make(-self.poly, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __truediv__(self, other: Any) -> Any:
        return self._known() / other if _poly(other) is not None or _is_float(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._known() if _poly(other) is not None or _is_float(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        divisor = self._other(other)
        if divisor is None:
            return self._known() // other if _is_float(other) else NotImplemented
        if other == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        rest, whole = self.poly, Poly.number(0)
        if len(divisor.terms) == 1:
            whole, rest = quotient_and_rest(self.poly, divisor)
        elif (multiple := whole_factor(self.poly, divisor)) is not None:
            return multiple
        number = rest.constant
        if number is not None and number >= 0 and number < other:
            return self.sizes.make(whole, self)
        is_natural = (self.sizes.make(rest, self) if number is None else number) >= 0
        low = 0 if is_natural and other > 0 else -NO_LIMIT
        return self.sizes.make(self.sizes.quotient(rest, divisor, low) + whole, self)

    def __rfloordiv__(self, other: Any) -> Any:
        poly = _poly(other)
        if poly is None:
            return other // self._known() if _is_float(other) else NotImplemented
        return type(self)(poly, int(other), self.sizes) // self

    def __mod__(self, other: Any) -> Any:
        if _poly(other) is None:
            return self._known() % other if _is_float(other) else NotImplemented
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        if _poly(other) is None:  # a text, too, that is formatted
            return other % self._known() if type(other) in (float, str, bytes) else NotImplemented
        return other - other // self * self

    def __divmod__(self, other: Any) -> Any:
        if _poly(other) is None:
            return divmod(self._known(), other) if _is_float(other) else NotImplemented
        quotient = self // other
        return quotient, self - quotient * other

    def __rdivmod__(self, other: Any) -> Any:
        if _poly(other) is None:
            return divmod(other, self._known()) if _is_float(other) else NotImplemented
        quotient = other // self
        return quotient, other - quotient * self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return pow(self._known(), other, modulus)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return pow(other, self._known(), modulus)

    def __eq__(self, other: object) -> bool:
        if type(other) is int:
            return self._where().equals(other)
        where = self._from(other)
        if where is None:
            return other == self._known() if issubclass(type(other), float) else NotImplemented
        return where.equals(0)

    def _from(self, other: Any) -> Place | None:
        """What is known of the difference from another integer; None if it is none."""
        known = self._made.get(id(other))
        if known is not None and known[0] is other:
            return known[1]
        poly = self._other(other)
        if poly is None:  # perhaps an array, which must not live as long as this does
            return None
        found = self.sizes.place(self.poly - poly)
        self._made[id(other)] = other, found
        return found

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le, 1, 0)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt, 1, -1)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge, -1, 0)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt, -1, -1)

    def _compared(self, other: Any, compare: Callable[[Any, Any], bool], factor: int, limit: int) -> Any:
        if type(other) is int:
            where = self._where()
            return where.at_most(other + limit) if factor > 0 else not where.at_most(other - 1 - limit)
        difference = self._from(other)
        if difference is None:
            return compare(self._known(), other) if _is_float(other) else NotImplemented
        return difference.at_most(limit) if factor > 0 else not difference.at_most(-1 - limit)


def _of_value(name: str) -> Any:
    """An operation that takes the value itself."""
    return lambda self, *others: getattr(self._known(), name)(*others)


for _name in ("and", "or", "xor", "lshift", "rshift", "rand", "ror", "rxor", "rlshift", "rrshift", "invert", "round"):
    setattr(Extent, f"__{_name}__", _of_value(f"__{_name}__"))
for _name in ("ceil", "floor", "trunc"):
    setattr(Extent, f"__{_name}__", lambda self: self)


class Size(Extent):
    """An extent in the user's code: there, what looks for one among integers finds equal ones, as Python does."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self._known())

    def _other(self, other: Any) -> Poly | None:  # what NumPy's scalars give is one of theirs
        return None if isinstance(other, np.generic) else super()._other(other)


def hidden(value: Any) -> Any:
    """An extent as the user's code sees it."""
    return Size(value.poly, value.value, value.sizes) if type(value) is Extent else value


def plain(value: Any) -> Any:
    """An extent that the user's code has given, as nodes have it."""
    return Extent(value.poly, value.value, value.sizes) if type(value) is Size else value


def is_extent(value: Any) -> bool:
    """Whether an integer depends on variables."""
    return type(value) is Extent or type(value) is Size


def extents_in(value: Any) -> Iterator[Extent]:
    """The extents in nested tuples."""
    if is_extent(value):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from extents_in(part)


def estimate(value: Any) -> Any:
    """A number as it was at first, where nothing but an estimate depends on it."""
    return value.value if is_extent(value) else value


def rather_below(x: Any, limit: int) -> bool:
    """Whether `x` is less than `limit`, where either way gives the same results.

    An extent that is not would be right all the same. That is no guard: what is made for one size serves others until
    it has served so many for which the other way is better that another attempt pays.

    Examples
    --------
    >>> sizes = Sizes([100])
    >>> rather_below(5, 7), rather_below(sizes.variables[0], 7), sizes.guards
    (True, False, [])
    """
    return x.sizes.prefers(x.poly, limit - 1) if is_extent(x) else x < limit


def ceiling(x: Any, y: Any) -> Any:
    """``x / y``, rounded up, for a positive `y`.

    Examples
    --------
    >>> ceiling(7, 2), ceiling(8, 2), ceiling(Sizes([100]).variables[0] * 3, 3)
    (4, 4, 100)
    """
    if not is_extent(x):
        return (x + y - 1) // y if is_extent(y) else -(-x // y)
    return x // y if x.sizes.is_multiple(x, y) else (x + y - 1) // y


def formula(value: Any) -> str:
    """An integer for people to read: what it depends on, and not its value."""
    return str(value.poly) if is_extent(value) else str(value)
