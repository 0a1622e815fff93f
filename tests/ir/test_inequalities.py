"""What is said to be impossible has no solution, and what follows by adding inequalities is found."""

import itertools
import random

import pytest
from covering import few

from jitrt.ir.inequalities import is_impossible
from jitrt.ir.integers import Poly

X, Y, N = map(Poly.name, "ijn")


@pytest.mark.parametrize(
    "natural",
    [
        [Poly.number(-1)],
        [X - 3, 2 - X],
        [X - Y, Y - N, N - X - 1],
        [2 * X - 2 * Y - 1, 2 * Y + 1 - 2 * X],  # an even number that is odd
        [3 * X - 1, 2 - 3 * X],  # no multiple of 3 is 1 or 2
        [X * Y - 4, 3 - X * Y],  # a product is a number
        [Y - X - 1, X + Y - 2 * N, N - Y],
    ],
)
def test_what_cannot_be(natural):
    assert is_impossible(natural)


@pytest.mark.parametrize("natural", [[], [X], [X - Y, Y - X], [X - 2, 2 - X], [N - X - 1, X], [-(X * X) - 1]])
def test_what_may_be(natural):
    assert not is_impossible(natural)


@pytest.mark.parametrize("seed", few(range(40), 8))
def test_nothing_that_has_a_solution_is_impossible(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(100):
        rows = [
            sum((rng.randint(-3, 3) * name for name in (X, Y, N)), Poly.number(rng.randint(-6, 6)))
            for _ in range(rng.randint(1, 7))
        ]
        if is_impossible(rows):
            found += 1
            for i, j, n in itertools.product(range(-6, 7), repeat=3):
                values = [sum(c * {"": 1, "i": i, "j": j, "n": n}["".join(m)] for m, c in p.terms) for p in rows]
                assert min(values) < 0
    assert found
