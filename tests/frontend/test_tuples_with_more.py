"""Classes that derive from named tuples, with attributes or a constructor of their own: they keep what they have."""

import typing
from collections import namedtuple

import numpy as np
import pytest
import scipy.stats

import jitrt

Base = namedtuple("Base", "a b")


class Fit(Base):
    def total(self):
        return self.a + self.b


class Doubled(Base):
    def __new__(cls, a, b):
        return super().__new__(cls, a, b * 2)


class One(Base):
    def __new__(cls, a):
        return super().__new__(cls, a, a * 2)


class Pair(typing.NamedTuple):
    a: np.ndarray
    b: np.ndarray


def with_attribute(x):
    fit = Fit(np.sin(x), x + 1)
    fit.extra = x * 2
    return fit


def of_argument(x):
    return attribute_set(Fit(x, x), x)


def attribute_set(fit, x):
    fit.extra = np.sin(x) * 2
    return fit.total() + fit.extra


def regression(x):
    fit = scipy.stats.linregress(np.arange(len(x)), np.cumsum(np.log1p(x)))
    return fit.slope + fit.intercept_stderr, fit[2] ** 2


FUNCTIONS = {
    "with attribute": with_attribute,
    "of argument": of_argument,
    "doubled": lambda x: Doubled(np.sin(x), x + 1),
    "one": lambda x: One(np.sin(x) + x),
    "total": lambda x: Fit(np.sin(x), x + 1).total(),
    "plain": lambda x: (Pair(np.sin(x), x + 1), Base(x * 2, 3.0)._replace(b=x)),
    "regression": regression,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name):
    function = FUNCTIONS[name]
    fast = jitrt.jit(function)
    for k in range(4):
        x = np.linspace(0.1, 1 + k, 4000)
        want, got = function(x), fast(x)
        assert type(want) is type(got) and getattr(want, "__dict__", {}).keys() == getattr(got, "__dict__", {}).keys()
        for a, b in zip(want, got):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_attributes_of_arguments():
    fast = jitrt.jit(attribute_set)
    for n in (3, 500, 500, 500):
        x = np.linspace(0, 1, n)
        fit, other = Fit(x, x), Fit(x, x)
        np.testing.assert_allclose(fast(fit, x), attribute_set(other, x), rtol=1e-15)
        np.testing.assert_allclose(fit.extra, other.extra, rtol=1e-15)
