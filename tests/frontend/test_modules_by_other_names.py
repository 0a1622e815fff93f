"""Modules that code has in variables or hands on: what it looks up in them may be another object in the next call."""

import sys
import types

import numpy as np
import pytest

import jitrt

SIZE = 300
settings = types.ModuleType("settings_of_a_test")
sys.modules[settings.__name__] = settings


def scaled(module, x):
    return x * module.factor


def local(x):
    module = settings
    return x * module.factor


def handed_on(x):
    return scaled(settings, x)


def by_name(x):
    return x * getattr(settings, "factor")  # noqa: B009


def imported(x):
    import settings_of_a_test

    module = settings_of_a_test
    return x * module.factor


def in_a_loop(x):
    for module in (settings, settings):
        x = x * module.factor
    return x


def an_array(x):
    module = settings
    return x + module.offsets


def a_function(x):
    module = settings
    return module.change(x)


@pytest.mark.parametrize("function", [local, handed_on, by_name, imported, in_a_loop, an_array, a_function])
def test_other_objects_in_the_next_call(function):
    compiled = jitrt.jit(function)
    x = np.linspace(-1.0, 1.0, SIZE)
    changes = [
        {"factor": 2.0, "offsets": np.arange(float(SIZE)), "change": lambda x: x + 1},
        {"factor": 5.0},
        {"offsets": np.ones(SIZE)},
        {"change": lambda x: x - 1},
    ]
    for change in changes:
        vars(settings).update(change)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x), function(x))
    assert not compiled.explain(x).plain_reason


def test_numbers_that_a_module_of_numpys_draws():
    def run(x):
        module = np.random
        return x + module.random(len(x))

    compiled, x = jitrt.jit(run), np.zeros(SIZE)
    for seed in (3, 4, 4):
        np.random.seed(seed)  # noqa: NPY002
        got = compiled(x)
        np.random.seed(seed)  # noqa: NPY002
        np.testing.assert_array_equal(got, run(x))
