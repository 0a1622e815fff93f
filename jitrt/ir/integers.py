"""Integers that are known only when a procedure runs: polynomials in its names, with exact coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..base.frozen import frozen

Monomial = tuple[str, ...]


@frozen
class Poly:
    """A sum of products of names.

    Parameters
    ----------
    terms : tuple of (tuple of str, int)
        Products of names in alphabetical order, each with its coefficient, which is not zero; the empty product is
        the constant term.

    Examples
    --------
    >>> n = Poly.name("n")
    >>> print((n + 1) * n - n)
    n*n
    """

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def number(value: int) -> Poly:
        """A constant."""
        return Poly((((), value),)) if value else _ZERO

    @staticmethod
    def name(name: str) -> Poly:
        """The integer of that name."""
        return Poly((((name,), 1),))

    @staticmethod
    def of(terms: Mapping[Monomial, int] | Iterable[tuple[Monomial, int]]) -> Poly:
        """The sum of `terms`, in their normal order."""
        return Poly(tuple(sorted([term for term in dict(terms).items() if term[1]])))

    @property
    def constant(self) -> int | None:
        """The value, if it does not depend on names."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms == ((((), self.terms[0][1])),) else None

    def __add__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            other = Poly.number(other)
        if not other.terms:
            return self
        total = dict(self.terms)
        for m, c in other.terms:
            total[m] = total.get(m, 0) + c
        return Poly.of(total)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly | int) -> Poly:
        return self + (-other)

    def __rsub__(self, other: int) -> Poly:
        return -self + other

    def __mul__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return Poly(tuple((m, c * other) for m, c in self.terms)) if other else _ZERO
        total: dict[Monomial, int] = {}
        for m, c in self.terms:
            for k, d in other.terms:
                product = tuple(sorted(m + k))
                total[product] = total.get(product, 0) + c * d
        return Poly.of(total)

    __rmul__ = __mul__

    def names(self) -> Iterator[str]:
        """The names that it depends on, some several times."""
        for m, _ in self.terms:
            yield from m

    def replaced(self, name: str, value: Poly) -> Poly:
        """With `value` in place of a name."""
        total = Poly(tuple([term for term in self.terms if name not in term[0]]))
        for m, c in self.terms:
            if name in m:
                part = Poly(((tuple([n for n in m if n != name]), c),))
                for _ in range(m.count(name)):
                    part = part * value
                total = total + part
        return total

    def __str__(self) -> str:
        parts = []
        for m, c in self.terms:
            product = "*".join(m)
            parts.append(str(c) if not m else product if c == 1 else f"{c}*{product}")
        return " + ".join(parts) or "0"


_ZERO = Poly(())


class Facts:
    """What is known of names: polynomials that they are not below, and not above.

    A name may be bounded by names that were bounded before it, so that proofs end.
    """

    def __init__(self) -> None:
        self._bounds: dict[str, tuple[tuple[Poly, ...], tuple[Poly, ...]]] = {}
        self._order: dict[str, int] = {}
        self.natural: list[Poly] = []  # what is known not to be negative, beside
        self._proved: dict[tuple[tuple[tuple[Monomial, int], ...], int], bool] = {}  # of bounds alone

    def __contains__(self, name: str) -> bool:
        return name in self._bounds

    def bound(self, name: str, lows: Iterable[Poly | int] = (), highs: Iterable[Poly | int] = ()) -> None:
        """Let a name be at least each of `lows`, and at most each of `highs`."""
        if name in self._order:
            self._proved.clear()
        self._order[name] = len(self._order)
        self._bounds[name] = tuple(map(_poly, lows)), tuple(map(_poly, highs))

    def bounds_of(self, name: str) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        """Polynomials below and above a name."""
        return self._bounds.get(name, ((), ()))

    def is_at_least(self, x: Poly, low: int = 0) -> bool:
        """Whether it is certain that `x` is not below `low`."""
        rest = x - low
        if self._is_natural(rest, 12):
            return True
        names = self._reached(rest)  # what is known of names that have nothing to do with these does not help
        return any(self._is_natural(rest - k, 6) for k in self.natural if not names.isdisjoint(self._reached(k)))

    def _reached(self, x: Poly) -> set[str]:
        """The names of `x`, and all that bound them."""
        found: set[str] = set()
        work = list(x.names())
        while work:
            name = work.pop()
            if name not in found:
                found.add(name)
                work += [n for side in self.bounds_of(name) for bound in side for n in bound.names()]
        return found

    def _is_natural(self, x: Poly, depth: int) -> bool:
        """Whether `x` is certainly not negative, by the bounds of its names."""
        key = x.terms, depth
        if (known := self._proved.get(key)) is None:
            known = self._proved[key] = self._follows(x, depth)
        return known

    def _follows(self, x: Poly, depth: int) -> bool:
        """Names are replaced by their bounds, the latest ones first."""
        if all(c >= 0 and all(self._is_extent(n) for n in m) for m, c in x.terms):
            return True
        if not depth:
            return False
        names = sorted(set(x.names()), key=lambda n: self._order.get(n, -1), reverse=True)
        for name in names:
            lows, highs = self.bounds_of(name)
            factor = _cofactor(x, name)
            if factor is None:
                continue
            if self._is_natural(factor, 2):
                candidates = lows
            elif self._is_natural(-factor, 2):
                candidates = highs
            else:
                continue
            return any(self._is_natural(x.replaced(name, bound), depth - 1) for bound in candidates)
        return False

    def _is_extent(self, name: str) -> bool:
        return any(b.constant is not None and b.constant >= 0 for b in self.bounds_of(name)[0])

    def interval(self, x: Poly) -> tuple[int, int]:
        """Numbers between which `x` lies; wide ones where nothing is known."""
        low = high = 0
        for m, c in x.terms:
            ends = {c}
            for n in m:
                ends = {e * bound for e in ends for bound in self._ends(n)}
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _ends(self, name: str) -> tuple[int, int]:
        lows, highs = self.bounds_of(name)
        return (
            max((self.interval(b)[0] for b in lows), default=-_UNKNOWN),
            min((self.interval(b)[1] for b in highs), default=_UNKNOWN),
        )


_UNKNOWN = 1 << 63


def _poly(value: Poly | int) -> Poly:
    return Poly.number(value) if isinstance(value, int) else value


def _cofactor(x: Poly, name: str) -> Poly | None:
    """What `name` is multiplied with; None if it stands in a square."""
    found = [(m, c) for m, c in x.terms if name in m]
    if any(m.count(name) > 1 for m, _ in found):
        return None
    return Poly.of([(tuple([n for n in m if n != name]), c) for m, c in found])


def quotient_and_rest(x: Poly, y: Poly) -> tuple[Poly, Poly]:
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


def whole_factor(x: Poly, y: Poly) -> int | None:
    """The number that `x` is `y` times, if it is a whole one."""
    if [m for m, _ in x.terms] != [m for m, _ in y.terms]:
        return None
    found = {c // d if c % d == 0 else None for (_, c), (_, d) in zip(x.terms, y.terms)}
    return found.pop() if len(found) == 1 else None
