"""What is known of the values of polynomials: bounds, and values that they do not have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .integers import Poly

NO_LIMIT = 1 << 62
"""A bound that is none: larger numbers are neither known nor computed."""


class Range:
    """What is known of a polynomial without a constant term."""

    __slots__ = ("_check", "excluded", "high", "low", "natural", "poly", "value")

    def __init__(self, poly: Poly, value: int, low: int, high: int, check: Callable[[], None]):
        self._check = check  # raises an exception where nothing can be noted any more
        self.poly, self.value, self.low, self.high, self.natural = poly, value, low, high, (low, high)
        self.excluded: set[int] = set()

    def at_most(self, limit: int) -> bool:
        """Whether the value is not above `limit`, which is noted where it did not follow from what is known."""
        limit = max(-NO_LIMIT, min(limit, NO_LIMIT - 1))  # beyond which nothing is known, nor computed
        if self.low <= limit < self.high:
            self._check()
            if self.value <= limit:
                self.high = limit
            else:
                self.low = limit + 1
        return self.value <= limit

    def equals(self, number: int) -> bool:
        """Whether the value is `number`, which is noted in the same way."""
        if abs(number) >= NO_LIMIT:
            self.at_most(number)
            return False
        if self.low <= number <= self.high and self.low < self.high and number not in self.excluded:
            self._check()
            if self.value == number:
                self.low = self.high = number
            else:
                self.excluded.add(number)
        return self.value == number

    @property
    def is_guarded(self) -> bool:
        """Whether anything was noted."""
        return (self.low, self.high) != self.natural or bool(self.excluded)

    @property
    def others(self) -> list[int]:
        """Values between the bounds that it does not have."""
        return sorted(n for n in self.excluded if self.low <= n <= self.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.poly} == {self.low}"
        low = f"{self.low} <= " if self.low > self.natural[0] else ""
        high = f" <= {self.high}" if self.high < self.natural[1] else ""
        parts = [f"{low}{self.poly}{high}"] if low or high else []
        return " and ".join(parts + [f"{self.poly} != {n}" for n in self.others])


class Place(NamedTuple):
    """A polynomial as ``factor * known + constant``; without `known`, it is a number."""

    factor: int
    constant: int
    known: Range | None

    def at_most(self, limit: int) -> bool:
        """Whether the value is not above `limit`."""
        factor, constant, known = self
        if known is None:
            return constant <= limit
        if factor > 0:
            return known.at_most((limit - constant) // factor)
        return not known.at_most(-((limit - constant) // -factor) - 1)

    def equals(self, number: int) -> bool:
        """Whether the value is `number`."""
        factor, constant, known = self
        if known is None:
            return constant == number
        return not (number - constant) % factor and known.equals((number - constant) // factor)


def split(poly: Poly) -> tuple[int, int, Poly | None]:
    """A factor, a constant and a polynomial without one or a common divisor: ``factor * polynomial + constant``."""
    constant = sum(c for m, c in poly.terms if not m)
    rest = [(m, c) for m, c in poly.terms if m]
    if not rest:
        return 1, constant, None
    factor = math.gcd(*(c for _, c in rest))
    if rest[0][1] < 0:
        factor = -factor
    return factor, constant, Poly(tuple((m, c // factor) for m, c in rest))
