"""Arguments by name that a dict holds, ``f(**options)``, and parameters that take any of them, in loops."""

import numpy as np
import pytest
from test_element_loops import agrees

import jitrt

X = np.arange(6.0) + 0.5


def inner(x, a=1.0, *rest, b=2.0, **more):
    t = a * x + b
    for k in more:
        t = t + more[k]
    return t + len(rest)


def doubled(function):
    def call(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return call


base = doubled(lambda x, p=1.0, *, q=0.0: x * p + q)


class Pair:
    def __init__(self, left, **other):
        self.left, self.right = left, other.get("right", 0.5)

    def sum(self, **scale):
        return (self.left + self.right) * scale["by"]


def of_a_display(x):
    options = {"a": 2.0, "b": 3.0}
    t = 0.0
    for v in x:
        t += inner(v, **options)
    return t


def of_an_argument(x, options):
    t = 0.0
    for v in x:
        t += inner(v, **options)
    return t


def of_nothing(x, options=None):
    options = {} if options is None else options
    t = 0.0
    for v in x:
        t += inner(*(v, 2.0), **options)
    return t


def handed_on(x, **options):
    t = 0.0
    for v in x:
        t += inner(v, **options) + len(options)
    return t, options


def of_several(x):
    t = 0.0
    for i in range(len(x)):
        t += inner(x[i], c=1.0, **{"d": float(i)}, **{"e": x[0]})  # noqa: PIE804
    return t


def added_to(x):
    def scaled(v, **options):
        options["z"] = v
        s = 0.0
        for k, w in options.items():
            s += w * len(k)
        return s

    given = {"long": 2.0}
    t = 0.0
    for v in x:
        t += scaled(v, **given)
    return t, given


def of_lambdas(x):
    h = lambda v, **k: v * k["s"] + k.get("u", 7.0)  # noqa: E731
    t = 0.0
    for i in range(len(x)):
        t += h(x[i], s=x[0]) + h(v=x[i], s=2.0, u=i)
    return t


def wrapped(x):
    t = 0.0
    for v in x:
        t += base(v) + base(v, 2.0) + base(v, q=3.0) + base(v, p=x[0], q=1.0)
    return t


def of_numpy(x):
    options = {"axis": 0, "keepdims": True}
    t = np.zeros(1)
    for i in range(1, len(x)):
        t += np.sum(x[:i], **options) + x[:i].max(**options)
    return t


def of_objects(x):
    t = 0.0
    for v in x:
        t += Pair(v, **{"right": 2.0}).sum(by=v) + Pair(v).sum(**{"by": 3})  # noqa: PIE804
    return t


def returned_early(x):
    def found(v, **limits):
        if v > limits["high"]:
            return limits["high"]
        return v if "low" in limits and v < limits["low"] else 0.0

    t = 0.0
    for v in x:
        t += found(v, high=3.0) + found(v, high=4.0, low=1.0)
    return t


ONE_ARGUMENT = (
    of_a_display, of_nothing, of_several, added_to, of_lambdas, wrapped, of_numpy, of_objects, returned_early, handed_on
)  # fmt: skip


@pytest.mark.parametrize("function", ONE_ARGUMENT)
def test_compiled_as_loops(function):
    agrees(function, (X,), (X[:1],), (X[:0],))


def test_a_dict_that_is_an_argument():
    agrees(of_an_argument, (X, {"a": 3.0}), (X, {"a": 4.0}), (X, {}), (X, {"zz": 2}), (X, {"a": 1, "b": 2.0, "c": 3}))


@pytest.mark.parametrize("options", [{"a": 1.0, "x": 2.0}, {1: 2.0}, None, [("a", 1.0)]], ids=str)
def test_names_that_do_not_fit(options):
    compiled = jitrt.jit(of_an_argument)
    with pytest.raises(TypeError) as expected:
        of_an_argument(X, options)
    for _ in range(3):
        with pytest.raises(TypeError) as got:
            compiled(X, options)
        assert str(got.value) == str(expected.value)


def test_given_by_name():
    compiled = jitrt.jit(handed_on)
    for options in ({}, {"a": 2.0}, {"a": 3.0}, {"b": 1.0, "c": 2}, {"c": 3.5}):
        assert repr(compiled(X, **options)) == repr(handed_on(X, **options))
