"""Dicts of `collections`, proxies of dicts and partial functions are arguments as dicts and functions are."""

import functools
import types
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from entry_calls import Watched, check, compiled, is_served, needs_versions, x

import jitrt

pytestmark = pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")

Proxy = types.MappingProxyType


def summed(y, p):
    total = y * 0.5
    for k, name in enumerate(p):
        total = total * (k + 1) + p[name]
    return total


def called(y, f):
    return f(y) + y


def stored(y, p):
    p["a"] = p["a"] * 2.0 + y
    p["new"] = y - 1.0
    return p["a"].sum()


def counted(y, p):
    for name in ("a", "b", "a"):
        p[name] += 1
    return y * p["a"]


def grouped(y, p):
    for k in range(3):
        p["odd" if k % 2 else "even"].append(y * k)
    return y + 1.0


def removed(y, p):
    value = p.pop("a")
    return y * value


def moved(y, p):
    p.move_to_end("a")
    return summed(y, p)


def asked(y, p):
    return y * 2.0 + 1.0, type(p).__name__, list(p), len(p), "a" in p, isinstance(p, dict)


def made(y, p):
    return OrderedDict(b=y * 2.0, a=y + 1.0), defaultdict(list, c=[y * 3.0]), Proxy({"d": y * 4.0}), Counter(e=2)


def factory(y, p):
    return y * 2.0, p.default_factory


def given(y, p):
    return y * 2.0, p


def shown(value):
    """What can be seen of a value."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.tolist()
    if isinstance(value, (dict, Proxy)):
        under = list(dict.items(value)) if isinstance(value, dict) else list(value.items())
        items = [(repr(k), shown(v)) for k, v in value.items()]
        return type(value), getattr(value, "default_factory", 0), items, [repr(k) for k, _ in under]
    if isinstance(value, (tuple, list)):
        return type(value), list(map(shown, value))
    return type(value), repr(value)


def turned(**values):
    found = OrderedDict(values)
    found.move_to_end("a")
    return found


def zero():
    return 0.0


MAKERS = [
    dict,
    OrderedDict,
    turned,
    lambda **v: defaultdict(None, v),
    lambda **v: defaultdict(list, v),
    lambda **v: defaultdict(float, v),
    lambda **v: defaultdict(zero, v),
    lambda **v: Proxy(v),
    lambda **v: Proxy(OrderedDict(v)),
    lambda **v: Counter(v),
    lambda **v: Proxy(turned(**v)),
]
VALUES = [
    {"a": 1.0, "b": 2.0}, {"a": 2.5, "b": -1.0}, {"b": 2.0, "a": 1.0}, {"a": x, "b": 3.0}, {"a": x + 1.0, "b": 0.5},
    {"a": 1, "b": 2}, {"a": 1.0}, {"a": x[:3].copy().repeat(2), "b": x}, {"a": np.float32(2.0), "b": 1.0},
]  # fmt: skip


def outcome(function, p, maker):
    """What a call gives or raises, and what the dict is afterwards."""
    p = maker(**{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in p.items()})
    try:
        result = function(x, p)
    except Exception as error:
        result = type(error), str(error)
    return shown(result), shown(p)


@pytest.mark.parametrize("function", [summed, stored, counted, grouped, removed, moved, asked, made, factory, given])
def test_mappings_of_all_kinds_in_turn(function):
    mixed = jitrt.jit(function)
    for maker in MAKERS:
        fast = jitrt.jit(function)
        for values in VALUES * 2:
            want = outcome(function, values, maker)
            assert outcome(fast, values, maker) == want, (maker, values)
            assert outcome(mixed, values, maker) == want, (maker, values)


@needs_versions
@pytest.mark.parametrize("maker", [m for m in MAKERS if type(m(a=1)) is not dict and m(a=1, b=2) != turned(a=1, b=2)])
def test_mappings_are_served(maker, without_templates):
    if getattr(maker(), "default_factory", list) not in (None, list, float):
        return  # code of the user's makes what is missing
    function = compiled(summed, x, maker(a=2.0, b=x))
    assert check(function, x, maker(a=3.0, b=x + 1.0))
    assert not check(function, x, maker(b=x, a=3.0))
    assert not check(function, x, maker(a=3.0, b=x[:1]))
    assert not check(function, x, maker(a=3.0))
    assert not check(function, x, maker(a=3, b=x))
    assert not check(function, x, {"a": 2.0, "b": x})
    assert check(function, x, maker(a=5.0, b=x))


@needs_versions
def test_the_order_of_keys():
    p = OrderedDict(a=2.0, b=3.0)
    function = compiled(summed, x, p)
    p.move_to_end("a")
    assert not check(function, x, p)
    p.move_to_end("b")
    check(function, x, p)
    assert check(function, x, OrderedDict(a=1.0, b=2.0))
    del p["a"]
    p["a"] = 7.0
    check(function, x, p)
    p.note = "an attribute"
    assert not check(function, x, p)


@needs_versions
def test_stores_are_native():
    for maker in (dict, lambda **v: defaultdict(float, v)):
        function = Watched(stored)
        for _ in range(4):
            function(x, maker(a=x, b=2.0))
        given, wanted = maker(a=x + 1.0, b=2.0), maker(a=x + 1.0, b=2.0)
        before = function.missed
        assert function(x, given) == stored(x, wanted)
        assert function.missed == before
        assert shown(given) == shown(wanted)


def test_a_dict_and_its_proxy():
    def both(y, d, p):
        d["a"] = y * 2.0
        return p["a"] + d["b"]

    fast = jitrt.jit(both)
    for shared in (True, False, True, True, False, False):
        d, other = {"a": x, "b": 1.0}, {"a": x * 3.0, "b": 2.0}
        want = both(x, dict(d), Proxy(other)) if not shared else x * 2.0 + 1.0
        np.testing.assert_array_equal(fast(x, d, Proxy(d if shared else other)), want)
        np.testing.assert_array_equal(d["a"], x * 2.0)
        np.testing.assert_array_equal(other["a"], x * 3.0)


def test_a_proxy_of_what_is_no_dict():
    class Own(dict):
        def __getitem__(self, name):
            return 7.0

    fast = jitrt.jit(summed)
    for _ in range(3):
        for shown_by_it in (Own(a=1.0), {"a": 1.0}):
            proxy = Proxy(shown_by_it)
            np.testing.assert_array_equal(fast(x, proxy), summed(x, proxy))


def test_results_that_are_the_caller_s():
    fast = jitrt.jit(given)
    for value in (OrderedDict(a=x), defaultdict(list, a=x), Counter(a=1)) * 3:
        assert fast(x, value)[1] is value
    f = functools.partial(np.multiply, 2.0)
    for _ in range(3):
        assert fast(x, f)[1] is f


def with_keywords(y, k, *, c=1.0):
    return y * k + c


PARTIALS = [
    lambda k: functools.partial(np.multiply, k),
    lambda k: functools.partial(with_keywords, k=k),
    lambda k: functools.partial(with_keywords, k=k, c=k),
    lambda k: functools.partial(with_keywords, c=k, k=2.0),
    lambda k: functools.partial(lambda a, y: y * a, k),
    lambda k: functools.partial(functools.partial(lambda a, y, b: y * a - b, k), b=3.0),
    lambda k: functools.partial({"p": x}.get, "p"),
    lambda k: functools.partial(Counter, a=1),
]


def test_partial_functions_in_turn():
    def result(function, f):
        try:
            return shown(function(x, f))
        except Exception as error:
            return type(error), str(error)

    fast = jitrt.jit(called)
    for _ in range(3):
        for maker in PARTIALS:
            for k in (2.0, -3.0, 4, x, np.float32(2.0)):
                assert result(fast, maker(k)) == result(called, maker(k))


@needs_versions
@pytest.mark.parametrize("maker", PARTIALS[:6])
def test_partial_functions_are_served(maker, without_templates):
    function = compiled(called, x, maker(2.0))
    assert check(function, x, maker(5.0))
    assert not check(function, x, maker(5))
    assert not check(function, x, maker(x))
    assert not check(function, x, np.sin)
    f = maker(7.0)
    f.note = "an attribute"
    assert not check(function, x, f)
    assert check(function, x, maker(9.0))


def test_changed_partial_functions():
    fast = jitrt.jit(called)
    f = functools.partial(with_keywords, k=2.0)
    for c in (1.0, 2.0, 3, x):
        f.keywords["c"] = c
        np.testing.assert_array_equal(fast(x, f), called(x, f))
    f.__setstate__((np.multiply, (3.0,), {}, None))
    np.testing.assert_array_equal(fast(x, f), called(x, f))


@needs_versions
def test_partial_functions_in_closures():
    def maker(k):
        f = functools.partial(np.multiply, k)
        return lambda y: f(y) - k

    function = compiled(called, x, maker(2.0))
    assert check(function, x, maker(5.0))
    assert is_served(function, x, maker(6.0))
