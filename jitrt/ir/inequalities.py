"""Which linear inequalities between integers cannot hold together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from .integers import Monomial, Poly

_MOST_ROWS = 256  # of one elimination: what takes more counts as possible


def is_impossible(natural: Iterable[Poly]) -> bool:
    """Whether it is certain that some of `natural` is negative; products of names are taken for numbers by themselves.

    Names are eliminated one after the other (Fourier and Motzkin): of each pair of inequalities that bound a name from
    below and from above follows one without it. Coefficients are divided by their common divisor, and the constant
    rounded down.

    Examples
    --------
    >>> i, j, n = map(Poly.name, "ijn")
    >>> is_impossible([i - j, j - i - 1])
    True
    >>> is_impossible([i - j, n - i, j - n])
    False
    >>> is_impossible([2 * i - 2 * j - 1, 2 * j + 1 - 2 * i])
    True
    """
    rows = {_rounded(p) for p in natural}
    while True:
        if any(row.constant is not None and row.constant < 0 for row in rows):
            return True
        above: Counter[Monomial] = Counter()
        below: Counter[Monomial] = Counter()
        for row in rows:
            for m, c in row.terms:
                if m:
                    (above if c < 0 else below)[m] += 1
        atoms = above.keys() | below.keys()
        if not atoms:
            return False
        # The name that makes the fewest rows; by its text where several do, so that no answer depends on a hash.
        atom = min(atoms, key=lambda m: (above[m] * below[m] - above[m] - below[m], m))
        made = set()
        signed: tuple[list[tuple[int, Poly]], list[tuple[int, Poly]]] = ([], [])
        for row in rows:
            c = dict(row.terms).get(atom, 0)
            if c:
                signed[c < 0].append((abs(c), row))
            else:
                made.add(row)
        for c, low in signed[0]:
            for d, high in signed[1]:
                made.add(_rounded(low * d + high * c))
        if len(made) > _MOST_ROWS:
            return False
        rows = made


def _rounded(p: Poly) -> Poly:
    divisor = math.gcd(*(c for m, c in p.terms if m))
    return Poly.of([(m, c // divisor) for m, c in p.terms]) if divisor > 1 else p
