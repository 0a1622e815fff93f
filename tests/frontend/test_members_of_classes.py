"""What classes, and the classes in them, hold changes from call to call: generators, arrays, lists."""

import functools

import numpy as np
import pytest

import jitrt


class Outer:
    rng = np.random.default_rng(1)
    legacy = np.random.RandomState(1)

    class Inner:
        rng = np.random.default_rng(2)
        array = np.arange(3.0)
        parts = [1.0, 2.0]  # noqa: RUF012
        by_name = {"a": 1.0}  # noqa: RUF012

        class Innermost:
            array = np.arange(3.0)

    @classmethod
    def draw(cls, size):
        return cls.rng.normal(size=size)


class Kin(Outer):
    pass


GENERATORS = [Outer.rng, Outer.legacy, Outer.Inner.rng, np.random.mtrand._rand]

DRAWS = {
    "class": lambda x: Outer.rng.normal(size=x.size) + np.exp(x),
    "legacy": lambda x: Outer.legacy.rand(x.size) + np.exp(x),
    "class of a class": lambda x: Outer.Inner.rng.normal(size=x.size) + np.exp(x),
    "method": lambda x: Outer.draw(x.size) + np.exp(x),
    "subclass": lambda x: Kin.rng.normal() + Kin.draw(3)[0] + np.exp(x),
    "NumPy's own": lambda x: np.random.mtrand._rand.normal(size=x.size) + np.exp(x),
    "NumPy's own, as code names it": lambda x: np.random.mtrand.normal(size=x.size) + np.exp(x),
    "NumPy's own, in two ways": lambda x: (
        np.random.mtrand._rand.uniform(-1, 1, x.size) + np.random.normal(size=x.size) + np.exp(x)  # noqa: NPY002
    ),
    "by a step": lambda x: np.random.mtrand._rand.choice(x, 3) + np.random.rand(3),  # noqa: NPY002
}

READS = {
    "array": lambda x: Outer.Inner.array + np.exp(x[:3]),
    "list": lambda x: Outer.Inner.parts[0] + np.exp(x),
    "dict": lambda x: Outer.Inner.by_name["a"] + np.exp(x),
    "third class": lambda x: Outer.Inner.Innermost.array * np.exp(x[:3]),
}


def results(f, x):
    np.random.seed(3)  # noqa: NPY002
    Outer.legacy.seed(3)
    for g in (Outer.rng, Outer.Inner.rng):
        g.bit_generator.state = np.random.default_rng(3).bit_generator.state
    return [f(x) for _ in range(6)], [g.normal() for g in GENERATORS]


@pytest.mark.parametrize("name", DRAWS)
def test_generators(name):
    x = np.linspace(0, 1, 3000)
    (want, then), (got, after) = results(DRAWS[name], x), results(jitrt.jit(DRAWS[name]), x)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    assert then == after


@pytest.mark.parametrize("name", READS)
def test_what_is_changed_in_place_or_replaced(name):
    fast, x = jitrt.jit(READS[name]), np.linspace(0, 1, 3000)
    for k in range(8):
        np.testing.assert_allclose(fast(x), READS[name](x), rtol=1e-13, atol=1e-14)
        Outer.Inner.array[1] += 1
        Outer.Inner.parts[0] += 1
        Outer.Inner.by_name["a"] += 1
        Outer.Inner.Innermost.array = Outer.Inner.Innermost.array + k


def matched(seed, x):
    match seed:
        case np.random.RandomState():
            return np.exp(x) + 1
        case np.random.Generator():
            return np.exp(x) + 2
        case _:
            return np.exp(x)


def test_match_statements():
    fast, x = jitrt.jit(matched), np.linspace(0, 1, 3000)
    for seed in (None, Outer.rng, Outer.legacy) * 3:
        np.testing.assert_allclose(fast(seed, x), matched(seed, x), rtol=1e-13, atol=1e-14)


def searched(x, names):
    total = 0.0
    try:
        if "a" in names:
            total = 1.0
    except TypeError:
        total = 2.0
    for k in range(len(x)):
        total += x[k]
    return total


def test_searches_of_what_is_no_container():
    fast, x = jitrt.jit(searched), np.arange(500.0)
    for names in (None, 3, ["a"], "abc") * 3:
        assert fast(x, names) == searched(x, names)


def rising(values):
    return np.exp(values)


def falling(values):
    return np.sin(values)


class Replaced:
    def __init__(self, values):
        self.values = values


def called(x):
    return Replaced.member(x) * 2


def read(x):
    return Replaced(x).member * 2


def cached(f):
    made = functools.cached_property(lambda self: f(self.values))
    made.__set_name__(Replaced, "member")
    return made


REPLACED = {
    "staticmethod": (called, staticmethod),
    "of a ufunc": (called, lambda f: staticmethod(np.exp if f is rising else np.sin)),
    "ufunc": (called, lambda f: np.exp if f is rising else np.sin),
    "classmethod": (called, lambda f: classmethod(lambda cls, values: f(values))),
    "function": (called, lambda f: f),
    "property": (read, lambda f: property(lambda self: f(self.values))),
    "cached property": (read, cached),
}


@pytest.mark.parametrize("name", REPLACED)
def test_members_are_replaced(name):
    f, made = REPLACED[name]
    fast, x = jitrt.jit(f), np.linspace(0, 1, 3000)
    for member in (rising, falling, rising):
        Replaced.member = made(member)
        for _ in range(6):
            np.testing.assert_allclose(fast(x), f(x), rtol=1e-13)


POLYNOMIAL = np.poly1d([1.0, 2.0, 3.0])
SERIES = np.polynomial.Polynomial([1.0, 2.0, 3.0])


class OfPolynomial:
    polynomial = np.poly1d([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: POLYNOMIAL(x),
        lambda x: POLYNOMIAL.coeffs[0] * np.exp(x),
        lambda x: POLYNOMIAL.deriv()(x) + np.exp(x),
        lambda x: OfPolynomial.polynomial(x),
        lambda x: SERIES.coef + np.exp(x[:3]),
    ],
)
def test_coefficients_of_polynomials_change(f, monkeypatch):
    fast, x = jitrt.jit(f), np.linspace(0, 1, 3000)
    for k in range(8):
        np.testing.assert_allclose(fast(x), f(x), rtol=1e-13)
        POLYNOMIAL.coeffs[0] += 1
        OfPolynomial.polynomial[1] += 1
        SERIES.coef[2] += 1
        if k % 3 == 2:
            monkeypatch.setattr(OfPolynomial, "polynomial", OfPolynomial.polynomial + 1)
            monkeypatch.setitem(globals(), "POLYNOMIAL", POLYNOMIAL * 2)
            monkeypatch.setattr(SERIES, "coef", SERIES.coef * 2)


class Base:
    factor = 2.0

    def grown(self, values):
        return np.exp(values)

    @staticmethod
    def shrunk(values):
        return np.exp(values)


class Derived(Base):
    pass


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Derived().grown(x),
        lambda x: Derived.shrunk(x),
        lambda x: Derived.factor * np.exp(x),
        lambda x: Derived().factor * np.exp(x),
        lambda x: getattr(Derived, "late", 5.0) * np.exp(x),
        lambda x: hasattr(Derived(), "late") + np.exp(x),
    ],
)
def test_classes_get_members_later(f, monkeypatch):
    fast, x = jitrt.jit(f), np.linspace(0, 1, 3000)
    late = {"grown": lambda self, v: np.sin(v), "shrunk": staticmethod(np.cos), "factor": 3.0, "late": 7.0}
    for _ in range(2):
        for _ in range(6):
            np.testing.assert_allclose(fast(x), f(x), rtol=1e-13)
        with monkeypatch.context() as context:
            for name, member in late.items():
                context.setattr(Derived, name, member, raising=False)
            for _ in range(6):
                np.testing.assert_allclose(fast(x), f(x), rtol=1e-13)
