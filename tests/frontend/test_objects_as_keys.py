"""Dicts whose keys are objects: a copy of an object is another key."""

import linecache
from collections import OrderedDict
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import jitrt


class Mark:
    def __init__(self, name):
        self.name = name


FIRST, SECOND = Mark("first"), Mark("second")
NAMED = {FIRST: 2.0, (SECOND, 1): 3.0}


def replace(values, others):
    for key in values:
        if values[key] in others:
            values[key] = others[values[key]]
    return values


def asked(x, others, key):
    return x * others.get(key, 5.0)


def asked_outside(x, key):
    return x * NAMED.get(key, 5.0)


@pytest.mark.parametrize("key, other", [(FIRST, SECOND), ((SECOND, 1), FIRST)])
def test_keys_are_the_objects_themselves(key, other):
    fast_replace, fast_asked, fast_outside = map(jitrt.jit, (replace, asked, asked_outside))
    for _ in range(3):
        found = fast_replace({"a": key, "b": 1}, {key: other})
        assert found["a"] is other and found["b"] == 1
        x = np.ones(500)
        np.testing.assert_array_equal(fast_asked(x, {key: 2.0}, key), asked(x, {key: 2.0}, key))
        np.testing.assert_array_equal(fast_asked(x, {key: 2.0}, other), asked(x, {key: 2.0}, other))
        np.testing.assert_array_equal(fast_outside(x, key), asked_outside(x, key))


def test_other_keys_are_taken_apart():
    fast = jitrt.jit(asked)
    x = np.ones(500)
    for others, key in (({"a": 2.0}, "a"), ({(1, "b"): 2.0}, (1, "b")), ({1: x}, 1)):
        np.testing.assert_array_equal(fast(x, others, key), asked(x, others, key))
        assert not fast.plain_reason


class Pair(NamedTuple):
    first: object
    second: object


def helper(x):
    return x


KEYS = {
    "object": FIRST,
    "object in a tuple": (FIRST, 1),
    "named tuple": Pair(FIRST, 1),
    "named tuple of numbers": Pair(1, 2.0),
    "function": helper,
    "class": Mark,
    "ufunc": np.sin,
    "function of NumPy": np.sum,
    "module": np,
    "type": type,
    "class of Python": float,
    "text": "a",
    "numbers": (1, 2.0),
}


def of_key(body, key):
    source = f"def function(x, key=KEY, box=None):\n    {body}\n"
    name = f"<{body}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"KEY": key, "OrderedDict": OrderedDict}
    exec(compile(source, name, "exec"), space)
    return space["function"]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    "body",
    [
        "return {KEY: x * 2}",
        "return {key: x * 2}",
        "return [({key: x * 2},)][0][0]",
        "return OrderedDict([(key, x * 2)])",
        "box.table = {key: x * 2}",
        "box.table[key] = x * 2",
    ],
)
def test_keys_of_results_are_the_objects_themselves(body, name):
    plain = of_key(body, KEYS[name])
    fast = jitrt.jit(plain)
    x = np.arange(400) * 0.5
    for _ in range(3):
        found = []
        for function in (plain, fast):
            box = SimpleNamespace(table={})
            result = function(x, box=box)
            found.append(box.table if result is None else result)
        want, got = found
        assert len(want) == len(got)
        for one, other in zip(want, got):
            assert one is other or (type(one) is type(other) and one == other)
            np.testing.assert_array_equal(want[one], got[other])
