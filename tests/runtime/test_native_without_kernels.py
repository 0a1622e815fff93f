"""Programs that compute nothing: checks of arguments, views, parts of them. Native code serves these calls, too."""

import sys

import numpy as np
import pytest

import jitrt


class Box:
    pass


def checked(x, name="x"):
    if not isinstance(x, (list, tuple, np.ndarray)):
        raise TypeError(f"{name} is a {type(x)}")
    copied = np.copy(x)
    if copied.dtype not in (np.dtype(int), np.dtype(float)):
        raise TypeError(name)


def same(x):
    return x


def swapped(x, y):
    return y, x, 3, "a"


def shape(x):
    return x.shape, x.dtype, x.size


def views(x):
    return x[1:], x.T


def empty(x):
    return x[:0] * 2


def made(x):
    return np.zeros(0), None


def stored(box, x):
    box.x = x
    box.k = 3


def held(x, y):
    return [x, {"y": y}]


def array():
    return np.arange(1200.0).reshape(600, 2)


CASES = [
    (checked, lambda: (array(),)),
    (checked, lambda: ([1.0, 2.0], "b")),
    (same, lambda: (array(),)),
    (swapped, lambda: (array(), array())),
    (shape, lambda: (array(),)),
    (views, lambda: (array(),)),
    (empty, lambda: (array(),)),
    (made, lambda: (array(),)),
    (stored, lambda: (Box(), array())),
    (held, lambda: (array(), array())),
]


@pytest.mark.parametrize("function, given", CASES)
def test_native_code_serves_calls(function, given):
    fast = jitrt.jit(function)
    for _ in range(3):
        assert repr(fast(*given())) == repr(function(*given()))
    args, others = given(), given()
    for _ in range(2):
        fast(*args)  # which has attributes then
    slow = fast.cache_info().slow_calls
    counts = [sys.getrefcount(a) for a in args]
    for _ in range(50):
        assert repr(fast(*args)) == repr(function(*others))
    assert [sys.getrefcount(a) for a in args] == counts
    assert not fast.plain_reason and fast.cache_info().slow_calls == slow


def test_results_are_the_arguments_themselves():
    fast_same, fast_swapped, fast_stored = map(jitrt.jit, (same, swapped, stored))
    for _ in range(3):
        x, y, box = array(), array(), Box()
        assert fast_same(x) is x
        assert fast_swapped(x, y)[0] is y and fast_swapped(x, y)[1] is x
        fast_stored(box, x)
        assert box.x is x and box.k == 3


def test_arguments_are_still_checked():
    fast = jitrt.jit(checked)
    for _ in range(3):
        fast(array())
    with pytest.raises(TypeError, match="x is a <class 'int'>"):
        fast(3)
    with pytest.raises(TypeError, match=r"^b$"):
        fast(np.ones(3, complex), "b")
    fast(array().astype(int))
