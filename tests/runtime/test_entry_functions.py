"""The native entry takes functions apart that are made anew for each call: what they have closed over, and defaults."""

import functools
import types

import numpy as np
import pytest
from entry_calls import Watched, check, compiled, is_served, needs_versions, x

pytestmark = needs_versions


def applied(y, f):
    return f(y) + y


def both(y, f, g):
    return f(y) - g(y) * 2.0 if f is not g else f(y)


def scaled(k, c=0.0):
    return lambda y: y * k + c


def with_defaults(k, c):
    return lambda y, k=k, *, c=c: y * k + c


def named(k):
    def rate(y):
        return y * k

    return rate


def test_closures_with_other_contents():
    function = compiled(applied, x, scaled(2.0))
    for k, c in ((3.0, 0.0), (-1.5, 2.0), (1e300, np.nan)):
        assert check(function, x, scaled(k, c))
    for k in (2, np.float64(2.0), np.float32(2.0), x, x[:1], 2j):
        assert not check(function, x, scaled(k))
    assert check(function, x, scaled(4.0))


def test_arrays_in_cells(without_templates):
    function = compiled(applied, x, scaled(x))
    assert check(function, x, scaled(x + 1.0))
    assert check(function, x, scaled(x[::-1].copy()))
    assert not check(function, x, scaled(x[:1]))
    assert not check(function, x, scaled(x.astype(np.float32)))


def test_defaults():
    function = compiled(applied, x, with_defaults(2.0, 1.0))
    assert check(function, x, with_defaults(3.0, 5.0))
    f = with_defaults(3.0, 5.0)
    f.__defaults__ = (7.0,)
    f.__kwdefaults__ = {"c": 9.0}
    assert check(function, x, f)
    f.__kwdefaults__["c"] = 9
    assert not check(function, x, f)
    f.__kwdefaults__ = None
    f.__defaults__ = (1.0, 2.0)
    with pytest.raises(TypeError):
        f(x)
    with pytest.raises(TypeError):
        function(x, f)


def test_changed_functions():
    function = compiled(applied, x, scaled(2.0))
    f = scaled(3.0)
    f.__closure__[1].cell_contents = 8.0
    assert check(function, x, f)
    f.__code__ = (lambda k, c: lambda y: y - k - c)(1.0, 2.0).__code__
    assert not check(function, x, f)
    f = scaled(3.0)
    f.__name__ = "another"
    assert not check(function, x, f)
    f = scaled(3.0)
    f.note = "what it is"
    assert not check(function, x, f)
    del f.note
    assert check(function, x, f)
    elsewhere = types.FunctionType(f.__code__, {}, f.__name__, None, f.__closure__)
    assert not check(function, x, elsewhere)
    assert not check(function, x, np.sin)
    del f.__closure__[1].cell_contents
    with pytest.raises(NameError):
        function(x, f)


def test_cells_that_are_empty():
    def maker(k, empty):
        if not empty:
            later = 2.0
        return lambda y: y * k if y is not None else later

    function = compiled(applied, x, maker(2.0, True))
    assert check(function, x, maker(3.0, True))
    assert not check(function, x, maker(3.0, False))


def test_functions_in_functions():
    def outer(f):
        return lambda y: f(y) * 2.0

    function = compiled(applied, x, outer(scaled(2.0)))
    assert check(function, x, outer(scaled(5.0, 1.0)))
    assert not check(function, x, outer(outer(scaled(5.0))))
    assert not check(function, x, outer(np.cos))
    assert not check(function, x, outer(np.sin))
    assert check(function, x, outer(np.cos))


def test_functions_that_call_themselves():
    def maker(k):
        def power(y, n=3):
            return y if n == 0 else power(y, n - 1) * k

        return power

    function = compiled(applied, x, maker(2.0))
    assert check(function, x, maker(0.5))
    again = maker(0.5)
    other = maker(3.0)
    other.__closure__[-1].cell_contents = again  # no longer itself
    assert not check(function, x, other)


def test_the_same_function_twice():
    function = compiled(both, x, scaled(2.0), scaled(3.0))
    f = scaled(5.0)
    assert check(function, x, scaled(4.0), f)
    assert not check(function, x, f, f)
    assert check(function, x, f, f)
    assert check(function, x, f, scaled(5.0))


def test_the_same_list_in_cells_and_arguments():
    def total(y, values, f):
        values[0] = values[0] + 1.0
        return f(y)

    def maker(values):
        return lambda y: y * values[0]

    function = Watched(total)
    for shared in (True, False, True, False):
        for k in range(4):
            got, want = [2.0 + k], [2.0 + k]
            others = [[7.0], [7.0]]
            result = function(x, got, maker(got if shared else others[0]))
            np.testing.assert_array_equal(result, total(x, want, maker(want if shared else others[1])))
            assert got == want and others[0] == others[1]
    assert is_served(function, x, [1.0], maker([2.0]))


def test_results_that_are_functions_of_the_caller():
    function = compiled(applied, x, named(2.0))
    kept = Watched(lambda y, f: (y * 2.0, f))
    for _ in range(4):
        f = named(3.0)
        assert kept(x, f)[1] is f
    assert check(function, x, named(4.0))


def test_wrapped_functions_give_what_they_gave():
    function = Watched(applied)
    for k in range(5):
        inner = scaled(float(k))
        check(function, x, functools.wraps(inner)(lambda y: inner(y) + 1.0))  # noqa: B023


def test_a_name_that_becomes_the_module_s():
    function = compiled(applied, x, named(2.0))
    globals()["rate"] = given = named(5.0)
    try:
        np.testing.assert_array_equal(function(x, given), applied(x, given))
    finally:
        del globals()["rate"]
    assert check(function, x, named(6.0))
