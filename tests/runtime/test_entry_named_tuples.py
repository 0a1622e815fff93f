"""Tuples with names of fields: native code heeds the methods and attributes of their classes."""

from typing import ClassVar

import pytest
from entry_calls import Pair, Watched, check, compiled, needs_versions, x

pytestmark = needs_versions


class Scaled(Pair):
    __slots__ = ()
    scale = 2.0

    def scaled(self):
        return self.x * self.scale + self.k


def test_methods_of_tuples_with_names():
    def call(pair):
        return pair.scaled()

    function = compiled(call, Scaled(x, 1.0))
    try:
        Scaled.scale = 5.0
        for _ in range(3):
            check(function, Scaled(x, 1.0))
        assert check(function, Scaled(x + 1, 2.0))
        Scaled.scaled = lambda self: self.x - self.scale
        for _ in range(3):
            check(function, Scaled(x, 1.0))
        Scaled.x = property(lambda self: self[0] + 100)
        check(function, Scaled(x, 1.0))
    finally:
        del Scaled.x
        Scaled.scale = 2.0


class Open(Pair):
    scale = 2.0


def test_attributes_of_tuples_with_names():
    def call(pair):
        return pair.x * pair.scale

    function = Watched(call)
    for _ in range(3):
        check(function, Open(x, 1.0))
    other = Open(x, 1.0)
    for scale in (3.0, 4.0, x):
        other.scale = scale
        check(function, other)
        check(function, Open(x, 1.0))


class Odd(Pair):
    __slots__ = ()
    lengths: ClassVar = [2]

    def __len__(self):
        return self.lengths[0] // (self.lengths[0] != 0)


def test_tuples_with_a_length_of_their_own():
    def call(pair):
        return pair.x * pair.k + len(pair)

    function = Watched(call)
    for length in (2, 2, 2, 1, 2):
        Odd.lengths[0] = length
        check(function, Odd(x, 1.0))
    Odd.lengths[0] = 0
    with pytest.raises(ZeroDivisionError):
        function(Odd(x, 1.0))
    Odd.lengths[0] = 2
    check(function, Odd(x, 1.0))


def test_tuples_with_names_that_the_function_makes():
    def call(x):
        return Scaled(x, 1.0).scaled() + 1

    function = Watched(call)
    check(function, x)
    for scale in (3.0, 2.0):
        Scaled.scale = scale
        for _ in range(2):
            check(function, x)
