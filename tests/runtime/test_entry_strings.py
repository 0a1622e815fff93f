"""Strings among what native code compares: equal ones are the same to it, whatever objects they are."""

import itertools

import numpy as np
import pytest
from entry_calls import Watched, needs_native_calls, x

pytestmark = needs_native_calls

NAMES = ["", "a", "ab", "abc", "b", "é", "日本", "a" * 300, "\U0001f600x"]


def another(name):
    """An equal string that is another object, but for the shortest ones, of which there is one each."""
    return "".join([*name, ""]) if len(name) < 2 else name[:1] + name[1:]


class Holder:
    def __init__(self, name):
        self.name = name


def positional(x, name):
    return x * float(len(name)) + (name > "ab")


def in_a_dict(x, options):
    return x * float(len(options["name"])) + (options["name"] > "ab")


def in_a_tuple(x, options):
    return x * float(len(options[0])) + (options[0] > "ab")


def in_an_object(x, holder):
    return x * float(len(holder.name)) + (holder.name > "ab")


def in_a_loop(x, name):
    total = 0.0
    for k in range(len(x)):
        if name > "ab":
            total += x[k]
        else:
            total -= x[k]
    return total


FORMS = [
    (positional, lambda name: name),
    (in_a_dict, lambda name: {"name": name}),
    (in_a_tuple, lambda name: (name, 1.0)),
    (in_an_object, Holder),
    (in_a_loop, lambda name: name),
]


@pytest.mark.parametrize("function, given", FORMS)
def test_equal_strings_are_served_natively(function, given):
    fast = Watched(function)
    names = NAMES[:7]
    for _, name in itertools.product(range(2), names):
        fast(x, given(name))
    before = fast.missed
    for name in names * 3:
        np.testing.assert_array_equal(fast(x, given(another(name))), function(x, given(name)))
    assert fast.missed == before


@pytest.mark.parametrize("function, given", FORMS)
def test_others_are_told_apart(function, given):
    fast = Watched(function)
    fast(x, given("abc"))
    fast(x, given("abc"))
    for name in ["abd", "ab", "abcd", "ABC", "日本語", "a" * 300]:
        np.testing.assert_array_equal(fast(x, given(another(name))), function(x, given(name)))


class Text(str):
    def __len__(self):
        return 7


def test_a_class_of_strings_is_no_string():
    fast = Watched(positional)
    for _ in range(2):
        fast(x, "abc")
    np.testing.assert_array_equal(fast(x, Text("abc")), positional(x, Text("abc")))
