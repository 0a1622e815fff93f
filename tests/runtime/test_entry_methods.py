"""Compiled methods are bound, replaced and pickled as those of plain functions."""

import copy
import inspect
import pickle
import weakref

import numpy as np
import pytest
from entry_calls import needs_versions, x

import jitrt

pytestmark = needs_versions


class Stepped:
    def __init__(self):
        self.x = x.copy()

    @jitrt.jit
    def run(self, dt, shift=1.0):
        return self.x * dt + shift

    @jitrt.jit
    def kind(self):
        return self.x * 0.0


class Twice(Stepped):
    @jitrt.jit
    def run(self, dt, shift=1.0):
        return super().run(dt, shift=shift) * 2.0


def test_methods_are_bound_as_those_of_plain_functions():
    for _ in range(3):
        stepped, twice = Stepped(), Twice()
        np.testing.assert_array_equal(stepped.run(0.5), x * 0.5 + 1.0)
        np.testing.assert_array_equal(stepped.run(dt=0.5, shift=2.0), x * 0.5 + 2.0)
        np.testing.assert_array_equal(Stepped.run(stepped, 0.5), x * 0.5 + 1.0)
        np.testing.assert_array_equal(twice.run(0.5), x + 2.0)
        np.testing.assert_array_equal(Stepped.run(twice, 0.5), x * 0.5 + 1.0)
    bound = stepped.run
    assert inspect.ismethod(bound) and bound.__self__ is stepped and bound == stepped.run
    assert weakref.WeakMethod(bound)() == bound
    for moved in (bound, copy.copy(bound), pickle.loads(pickle.dumps(bound))):
        np.testing.assert_array_equal(moved(0.5), x * 0.5 + 1.0)
    stepped.run = lambda dt: "its own"
    assert stepped.run(0.5) == "its own"
    del stepped.run
    np.testing.assert_array_equal(stepped.run(0.5), x * 0.5 + 1.0)
    with pytest.raises(TypeError):
        stepped.run()
    with pytest.raises(TypeError):
        Stepped.run()


def test_methods_that_are_replaced():
    stepped, original = Stepped(), Stepped.kind
    results = []
    for method in (original, lambda self: "plain", original, jitrt.jit(lambda self: self.x + 1.0)):
        Stepped.kind = method
        results += [stepped.kind() for _ in range(2)]
    Stepped.kind = original
    for got, want in zip(results, (x * 0.0, x * 0.0, "plain", "plain", x * 0.0, x * 0.0, x + 1.0, x + 1.0)):
        np.testing.assert_array_equal(got, want)
