"""Polynomials of integers, and what is proved of them, against their values at random points."""

import numpy as np
import pytest

from jitrt.ir.integers import Facts, Poly

N, M, INDEX = map(Poly.name, "nmi")


def value(poly, at):
    return sum(c * int(np.prod([at[n] for n in names], dtype=np.int64)) for names, c in poly.terms)


def random_poly(rng):
    total = Poly.number(int(rng.integers(-3, 4)))
    for _ in range(rng.integers(0, 4)):
        part = Poly.number(int(rng.integers(-2, 3)))
        for name in rng.choice(list("nmi"), rng.integers(0, 3)):
            part = part * Poly.name(str(name))
        total = total + part
    return total


@pytest.mark.parametrize("seed", range(50))
def test_arithmetic(seed):
    rng = np.random.default_rng(seed)
    x, y = random_poly(rng), random_poly(rng)
    at = {name: int(v) for name, v in zip("nmi", rng.integers(-5, 6, 3))}
    assert value(x + y, at) == value(x, at) + value(y, at)
    assert value(x - y, at) == value(x, at) - value(y, at)
    assert value(x * y, at) == value(x, at) * value(y, at)
    assert value(x.replaced("i", y), at) == value(x, at | {"i": value(y, at)})
    assert x - x == Poly.number(0) and (x == y) == (x.terms == y.terms)


def loop_facts():
    """``0 <= n, 0 <= m <= n, 1 <= i <= n - 2``."""
    facts = Facts()
    facts.bound("n", [0], [40])
    facts.bound("m", [0], [N])
    facts.bound("i", [1], [N - 2])
    return facts


@pytest.mark.parametrize("seed", range(200))
def test_what_is_proved_is_true(seed):
    rng = np.random.default_rng(seed)
    x, facts = random_poly(rng), loop_facts()
    proved = facts.is_at_least(x)
    low, high = facts.interval(x)
    for n in range(3, 8):
        for m in range(n + 1):
            for i in range(1, n - 1):
                found = value(x, {"n": n, "m": m, "i": i})
                assert not proved or found >= 0, str(x)
                assert low <= found <= high, str(x)


def test_what_loops_need_is_proved():
    facts = loop_facts()
    assert facts.is_at_least(INDEX - 1) and facts.is_at_least(N - 2 - INDEX) and facts.is_at_least(N - M)
    assert facts.is_at_least(N * 8 - INDEX * 8 - 16)
    assert not facts.is_at_least(M - INDEX)
    facts.natural.append(M - INDEX - 1)
    assert facts.is_at_least(M - INDEX) and facts.is_at_least(M - 2)


def test_what_is_known_of_bounds_proves_something():
    facts = loop_facts()
    facts.bound("t", [N - 3])
    turn = Poly.name("t")
    assert not facts.is_at_least(turn - 7)
    facts.natural.append(N - 10)
    assert facts.is_at_least(turn - 7)
