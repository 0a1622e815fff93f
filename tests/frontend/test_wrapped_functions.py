"""Functions by decorators that use `functools.wraps` are what they do, and not what they wrap, which may be jitted."""

import functools
import inspect

import numpy as np
import pytest

import jitrt


def scaled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 3.0

    return wrapper


def calm(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(np.abs(x)) + 1

    return wrapper


def base(x):
    return x + 1


def looped(x):
    s = 0.0
    for v in x:
        s += v
    return s


class Model:
    plain = scaled(base)

    @staticmethod
    @scaled
    @jitrt.jit
    def static(x):
        return x + 1

    @scaled
    @jitrt.jit
    def method(self, x):
        return x + 1


INNER = scaled(jitrt.jit(base))
TWICE = calm(scaled(jitrt.jit(base)))


def of_global(x):
    return INNER(x) - TWICE(x)


def of_class(x):
    return Model.static(x)


def of_method(x):
    return Model().method(x)


def in_loop(x):
    s = 0.0
    for k in range(len(x)):
        s += INNER(x[k])
    return s


@pytest.mark.parametrize("size", [6, 400])
@pytest.mark.parametrize("function", [of_global, of_class, of_method, in_loop], ids=lambda f: f.__name__)
def test_wrapped_functions_that_are_named(function, size):
    x = np.arange(size) * 0.5 - 1
    fast = jitrt.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), function(x))


@pytest.mark.parametrize("size", [6, 400])
@pytest.mark.parametrize("inner", [base, looped], ids=lambda f: f.__name__)
@pytest.mark.parametrize("decorators", [(scaled,), (calm,), (scaled, calm), (scaled, scaled, scaled)], ids=len)
@pytest.mark.parametrize("jitted", [False, True])
def test_wrapped_functions_that_are_given(jitted, decorators, inner, size):
    x = np.arange(size) * 0.5 - 1
    given = jitrt.jit(inner) if jitted else inner
    for decorate in decorators:
        given = decorate(given)
    fast = jitrt.jit(lambda x, function: function(x))
    unwrapped = inner(x)
    whole = jitrt.jit(given)
    want = given(x)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x, given), want)
        np.testing.assert_array_equal(whole(x), want)
        np.testing.assert_array_equal(inspect.unwrap(given)(x), unwrapped)
