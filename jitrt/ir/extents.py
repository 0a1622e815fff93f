"""Extents that stand for any extent: integers with a value and a formula, which note what their values decided.

A function is traced, and its program planned, with an `Extent` for each extent that varies. Sums and products of
extents are extents. What compares them goes on as their values say, and a *guard* notes what was found: all sizes that
satisfy the guards would have led the same way, so one program serves them, with other numbers in it. What needs the
number itself, as Python's `range` and NumPy do, gets it, and the guard is that the extent is this number.

An `Extent` is no ``int`` and holds no other way to its value, so that nothing depends on the value and is not noted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .integers import Poly

LEAST = 2
"""The least value of a variable: extents of 0 and 1 are special to most of what follows."""

_NO_LIMIT = 1 << 62


class _Range:
    """What is known of a polynomial without a constant term: bounds, and values that it does not have."""

    __slots__ = ("_check", "excluded", "high", "low", "natural", "poly", "value")

    def __init__(self, poly: Poly, value: int, low: int, high: int, check: Callable[[], None]):
        self._check = check  # raises an exception where nothing can be noted any more
        self.poly, self.value, self.low, self.high, self.natural = poly, value, low, high, (low, high)
        self.excluded: set[int] = set()

    def at_most(self, limit: int) -> bool:
        """Whether the value is not above `limit`, which is noted where it did not follow from what is known."""
        if self.low <= limit < self.high:
            self._check()
            if self.value <= limit:
                self.high = limit
            else:
                self.low = limit + 1
        return self.value <= limit

    def equals(self, number: int) -> bool:
        """Whether the value is `number`, which is noted in the same way."""
        if self.low <= number <= self.high and self.low < self.high and number not in self.excluded:
            self._check()
            if self.value == number:
                self.low = self.high = number
            else:
                self.excluded.add(number)
        return self.value == number

    def guard(self) -> str:
        """A condition in Python for all that was noted; an empty text if that is nothing."""
        if (self.low, self.high) == self.natural and not self.excluded:
            return ""
        text = f"({self.poly})"
        if self.low == self.high:
            return f"{text} == {self.low}"
        low = f"{self.low} <= " if self.low > self.natural[0] else ""
        high = f" <= {self.high}" if self.high < self.natural[1] else ""
        parts = [low + text + high] if low or high else []
        others = sorted(n for n in self.excluded if self.low <= n <= self.high)
        return " and ".join([*parts, *([f"{text} not in {tuple(others)}"] if others else [])])


class NotNoted(RuntimeError):
    """A decision by extents whose guards have been made already."""


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
    >>> numbers = sizes.compiled([n * m, n // 4])
    >>> numbers(200, 5), numbers(600, 5), numbers(200, 3)
    ((1000, 50), None, None)
    """

    def __init__(self, values: Sequence[int]):
        self._values = {f"s{k}": value for k, value in enumerate(values)}
        self._defined: dict[str, str] = {}  # by the formula
        self._ranges: dict[Poly, _Range] = {}
        self._decided: dict[str, bool] = {}
        self._is_closed = False
        self.variables: Final = tuple(Extent(Poly.name(name), value, self) for name, value in self._values.items())
        self._arguments = tuple(self._values)

    def value(self, poly: Poly) -> int:
        """What a polynomial is for the values that variables had at first."""
        return sum(c * math.prod(map(self._values.__getitem__, m)) for m, c in poly.terms)

    def make(self, poly: Poly, like: Extent) -> Any:
        """An extent, of the class of another one; an integer if it depends on no variable."""
        number = poly.constant
        return type(like)(poly, self.value(poly), self) if number is None else number

    def define(self, formula: str, value: int, like: Extent, low: int = -_NO_LIMIT) -> Any:
        """An extent that is no polynomial: a name for what a formula in Python gives."""
        name = self._defined.get(formula)
        if name is None:
            self._check_open()
            name = self._defined[formula] = f"q{len(self._defined)}"
            self._values[name] = value
            poly = Poly.name(name)
            self._ranges[poly] = _Range(poly, value, low, _NO_LIMIT, self._check_open)
        return type(like)(Poly.name(name), value, self)

    def at_most(self, poly: Poly, limit: int) -> bool:
        """Whether a polynomial is not above `limit`."""
        factor, constant, rest = _split(poly)
        if rest is None:
            return constant <= limit
        known = self._range(rest)
        if factor > 0:
            return known.at_most((limit - constant) // factor)
        return not known.at_most(-((limit - constant) // -factor) - 1)

    def equals(self, poly: Poly, number: int) -> bool:
        """Whether a polynomial has this value."""
        factor, constant, rest = _split(poly)
        if rest is None:
            return constant == number
        if (number - constant) % factor:
            return False
        return self._range(rest).equals((number - constant) // factor)

    def decide(self, condition: str, outcome: bool) -> bool:
        """`outcome`, which is noted of a condition on numbers that are no integers."""
        if condition not in self._decided:
            self._check_open()
            self._decided[condition] = outcome
        return self._decided[condition]

    def _check_open(self) -> None:
        if self._is_closed:
            raise NotNoted("a decision by sizes behind their guards")

    def _range(self, poly: Poly) -> _Range:
        found = self._ranges.get(poly)
        if found is None:
            low, high = 0, 0
            for m, c in poly.terms:
                ends = self._product(m)
                low, high = low + c * ends[c < 0], high + c * ends[c > 0]
            limits = max(low, -_NO_LIMIT), min(high, _NO_LIMIT)
            found = self._ranges[poly] = _Range(poly, self.value(poly), *limits, self._check_open)
        return found

    def _product(self, names: tuple[str, ...]) -> tuple[int, int]:
        """Bounds of a product of names, as far as they are known."""
        low = high = 1
        for name in names:
            known = self._ranges.get(Poly.name(name))
            own = (LEAST, _NO_LIMIT) if known is None else (known.low, known.high)
            if own[0] < 0:
                return -_NO_LIMIT, _NO_LIMIT
            low, high = low * own[0], min(high * own[1], _NO_LIMIT)
        return low, high

    @property
    def guards(self) -> list[str]:
        """Conditions in Python that sizes have to satisfy."""
        least = [f"{name} >= {LEAST}" for name in self._arguments]
        ranges = [guard for known in self._ranges.values() if (guard := known.guard())]
        decided = [text if outcome else f"not {text}" for text, outcome in self._decided.items()]
        return [*least, *ranges, *decided]

    @property
    def is_narrow(self) -> bool:
        """Whether a variable has one value only."""
        known = (self._ranges.get(v.poly) for v in self.variables)
        return any(found is not None and found.low == found.high for found in known)

    def compiled(self, numbers: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """What gives `numbers`, extents or integers, for other values of the variables; None if a guard fails.

        No further decision can be noted.
        """
        lines = [f"{name} = {formula}" for formula, name in self._defined.items()]
        if guards := self.guards:
            lines.append(f"if not ({' and '.join(guards)}): return None")
        texts = [str(n.poly) if isinstance(n, Extent) else repr(n) for n in numbers]
        lines.append(f"return ({''.join(text + ', ' for text in texts)})")
        self._is_closed = True
        scope: dict[str, Any] = {"ceil": math.ceil}
        body = "\n".join(f"  {line}" for line in lines)
        text = f"def numbers({', '.join(self._arguments)}):\n try:\n{body}\n except ZeroDivisionError: return None"
        exec(text, scope)
        return scope["numbers"]


def _split(poly: Poly) -> tuple[int, int, Poly | None]:
    """A factor, a constant and a polynomial without one or a common divisor: ``factor * polynomial + constant``."""
    constant = sum(c for m, c in poly.terms if not m)
    rest = [(m, c) for m, c in poly.terms if m]
    if not rest:
        return 1, constant, None
    factor = math.gcd(*(c for _, c in rest))
    if rest[0][1] < 0:
        factor = -factor
    return factor, constant, Poly(tuple((m, c // factor) for m, c in rest))


def _poly(value: Any) -> Poly | None:
    """The formula of an integer; None for other numbers."""
    if is_extent(value):
        return value.poly
    # What says that it is of another class than it is stands for something.
    return Poly.number(int(value)) if issubclass(type(value), (int, np.integer)) else None


def _is_float(value: Any) -> bool:
    return type(value) is _Real or issubclass(type(value), float)


def _quotient(x: Poly, y: Poly) -> tuple[Poly, Poly]:
    """A polynomial with which `x` is ``quotient * y + rest``, where `y` is a single product."""
    ((names, factor),) = y.terms
    quotient, rest = [], []
    for m, c in x.terms:
        left = list(m)
        divides = all(n in left and not left.remove(n) for n in names)  # type: ignore[func-returns-value]
        if divides and c // factor:
            quotient.append((tuple(left), c // factor))
        if not divides:
            rest.append((m, c))
        elif c % factor:
            rest.append((m, c % factor))
    return Poly.of(quotient), Poly.of(rest)


class Extent:
    """An integer that depends on variables; made by `Sizes`."""

    __slots__ = ("poly", "sizes", "value")

    def __init__(self, poly: Poly, value: int, sizes: Sizes):
        self.poly, self.value, self.sizes = poly, value, sizes

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def _known(self) -> int:
        """The value, which is the only one from now on."""
        assert self.sizes.equals(self.poly, self.value)
        return self.value

    __index__ = __int__ = _known

    def __float__(self) -> float:
        return float(self._known())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._known(), dtype)

    def __bool__(self) -> bool:
        return not self.sizes.equals(self.poly, 0)

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

    def _with(self, other: Any, whole: Callable[[Poly, Poly], Poly], sign: str) -> Any:
        poly = self._other(other)
        if poly is None:
            return self._with_float(other, sign) if _is_float(other) else NotImplemented
        return self.sizes.make(whole(self.poly, poly), self)

    def _with_float(self, other: Any, sign: str) -> Any:
        return _Real.of(self)._with(other, sign)

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x + y, "+")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x - y, "-")

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _poly(other) is not None or _is_float(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x * y, "*")

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self.sizes.make(-self.poly, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __truediv__(self, other: Any) -> Any:
        return self._with_float(other, "/") if _poly(other) is not None or _is_float(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return _Real.of(other)._with(self, "/") if _poly(other) is not None or _is_float(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        divisor = self._other(other)
        if divisor is None:
            return self._known() // other if _is_float(other) else NotImplemented
        if other == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        rest, whole = self.poly, Poly.number(0)
        if len(divisor.terms) == 1:
            whole, rest = _quotient(self.poly, divisor)
        number = rest.constant
        if number is not None and number >= 0 and number < other:
            return self.sizes.make(whole, self)
        value = self.sizes.value(rest) // (other.value if isinstance(other, Extent) else other)
        is_natural = (self.sizes.make(rest, self) if number is None else number) >= 0
        low = 0 if is_natural and other > 0 else -_NO_LIMIT
        part = self.sizes.define(f"({rest}) // ({divisor})", value, self, low)
        return part + self.sizes.make(whole, self)

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
        poly = self._other(other)
        if poly is None:
            return other == self._known() if issubclass(type(other), float) else NotImplemented
        return self.sizes.equals(self.poly - poly, 0)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, "<=", 1, 0)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, "<", 1, -1)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, ">=", -1, 0)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, ">", -1, -1)

    def _compared(self, other: Any, sign: str, factor: int, limit: int) -> Any:
        poly = self._other(other)
        if poly is None:
            return _Real.of(self)._compared(other, sign) if _is_float(other) else NotImplemented
        return self.sizes.at_most((self.poly - poly) * factor, limit)


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

    def _with_float(self, other: Any, sign: str) -> Any:
        return _OPERATIONS[sign](self._known(), other if _is_float(other) else int(other))

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._known() if _poly(other) is not None or _is_float(other) else NotImplemented


def hidden(value: Any) -> Any:
    """An extent as the user's code sees it."""
    return Size(value.poly, value.value, value.sizes) if type(value) is Extent else value


def plain(value: Any) -> Any:
    """An extent that the user's code has given, as nodes have it."""
    return Extent(value.poly, value.value, value.sizes) if type(value) is Size else value


def is_extent(value: Any) -> bool:
    """Whether an integer depends on variables."""
    return type(value) is Extent or type(value) is Size


def estimate(value: Any) -> Any:
    """A number as it was at first, where nothing but an estimate depends on it."""
    return value.value if isinstance(value, _Real) or is_extent(value) else value


def formula(value: Any) -> str:
    """An integer for people to read: what it depends on, and not its value."""
    return str(value.poly) if is_extent(value) else str(value)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
}


class _Real:
    """A floating-point number that depends on variables: an estimate of time, or a quotient."""

    __slots__ = ("sizes", "text", "value")

    def __init__(self, text: str, value: float, sizes: Sizes | None):
        self.text, self.value, self.sizes = text, value, sizes

    @staticmethod
    def of(value: Any) -> _Real:
        if isinstance(value, _Real):
            return value
        if isinstance(value, Extent):
            return _Real(f"({value.poly})", value.value, value.sizes)
        number = int(value) if _poly(value) is not None else float(value)
        return _Real(repr(number) if math.isfinite(number) else f"float('{number}')", number, None)

    def _with(self, other: Any, sign: str) -> _Real:
        other = _Real.of(other)
        value = _OPERATIONS[sign](self.value, other.value)
        return _Real(f"({self.text} {sign} {other.text})", value, self.sizes or other.sizes)

    def _compared(self, other: Any, sign: str) -> bool:
        other = _Real.of(other)
        sizes = self.sizes or other.sizes
        assert sizes is not None
        outcome = _OPERATIONS[sign](self.value, other.value)
        return sizes.decide(f"({self.text} {sign} {other.text})", outcome)

    def _known(self) -> float:
        assert self == self.value
        return self.value

    def __ceil__(self) -> Any:
        assert self.sizes is not None
        return self.sizes.define(f"ceil({self.text})", math.ceil(self.value), self.sizes.variables[0])

    def __int__(self) -> int:
        return int(self._known())

    def __float__(self) -> float:
        return float(self._known())

    def __bool__(self) -> bool:
        return bool(self._known())

    def __hash__(self) -> int:
        return hash(self._known())

    def __repr__(self) -> str:
        return repr(self._known())


def _real(sign: str, is_reversed: bool, compares: bool) -> Any:
    def apply(self: _Real, other: Any) -> Any:
        if _poly(other) is None and not _is_float(other):
            return NotImplemented
        first, second = (_Real.of(other), self) if is_reversed else (self, other)
        return first._compared(second, sign) if compares else first._with(second, sign)

    return apply


for _sign, _name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}.items():
    setattr(_Real, f"__{_name}__", _real(_sign, False, False))
    setattr(_Real, f"__r{_name}__", _real(_sign, True, False))
for _sign, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq"}.items():
    setattr(_Real, f"__{_name}__", _real(_sign, False, True))
