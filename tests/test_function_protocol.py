"""What Python, copies, pickles, debuggers and profilers find in a jit function: what they find in a plain one."""

import bdb
import copy
import cProfile
import functools
import inspect
import pickle
import sys
import typing
from unittest import mock

import numpy as np
import pytest

import jitrt

X = np.arange(5.0)


def plain(x, scale: float = 2.0, *, shift=1):
    """Scaled and shifted."""
    return x * scale + shift


@jitrt.jit
def named(x, scale: float = 2.0, *, shift=1):
    """Scaled and shifted."""
    return x * scale + shift


def closed(n):
    def inner(x):
        return x * n

    return inner


@pytest.mark.parametrize(
    "name",
    "__annotations__ __closure__ __code__ __defaults__ __doc__ __globals__ __kwdefaults__ __module__ __name__"
    " __qualname__".split(),
)
def test_attributes(name):
    for function in (plain, closed(3)):
        assert getattr(jitrt.jit(function), name) == getattr(function, name)


def test_what_inspects_functions():
    fast = jitrt.jit(plain)
    assert inspect.signature(fast) == inspect.signature(plain)
    assert inspect.getsource(fast) == inspect.getsource(plain)
    assert inspect.unwrap(fast) is plain and inspect.isroutine(fast)
    assert typing.get_type_hints(fast) == typing.get_type_hints(plain)


ASKED = [name for name in dir(inspect) if name.startswith("is") and name not in ("isabstract", "iskeyword")]
TAKEN = "getfullargspec getfile getsourcefile getsourcelines getclosurevars getdoc getmodule get_annotations".split()


@pytest.mark.parametrize("name", [*ASKED, *TAKEN])
def test_it_is_taken_for_a_function(name):
    for function in (plain, closed(3)):
        assert getattr(inspect, name)(jitrt.jit(function)) == getattr(inspect, name)(function)


@pytest.mark.parametrize("other", [functools.partial(plain, scale=3.0), len, np.add, type])
def test_what_is_no_function_is_not_taken_for_one(other):
    fast = jitrt.jit(other)
    assert not inspect.isfunction(fast) and isinstance(fast, jitrt.JitFunction)


class Members:
    @jitrt.jit
    def compiled(self, x):
        return x * 2

    def plain(self, x):
        return x * 2


def test_tools_find_methods():
    members = dict(inspect.getmembers(Members, inspect.isfunction))
    assert members == {"compiled": Members.compiled, "plain": Members.plain}
    assert isinstance(Members.compiled, jitrt.JitFunction) and type(Members.compiled) is jitrt.JitFunction
    assert dict(inspect.getmembers(Members(), inspect.ismethod)).keys() == members.keys()


@pytest.mark.parametrize("name", ["compiled", "plain"])
def test_mocks_and_spies(name):
    specified = mock.create_autospec(Members)()
    getattr(specified, name)(X)
    with pytest.raises(TypeError):
        getattr(specified, name)(X, X)
    with mock.patch.object(Members, name, side_effect=getattr(Members, name), autospec=True) as spy:
        one = Members()
        np.testing.assert_array_equal(getattr(one, name)(X), X * 2)
    spy.assert_called_once_with(one, X)
    with pytest.raises(TypeError):
        mock.create_autospec(named)(X, 1, 2, 3)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_copies_are_the_function(protocol):
    for function in (named, jitrt.jit(plain), jitrt.jit(closed(2))):
        assert copy.copy(function) is function and copy.deepcopy([function])[0] is function
    assert pickle.loads(pickle.dumps(named, protocol)) is named


def test_defaults_that_are_set():
    fast = jitrt.jit(closed.__class__(plain.__code__, plain.__globals__, "plain", (2.0,)))
    fast.__kwdefaults__ = {"shift": 1}
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), X * 2 + 1)
    fast.__defaults__ = (5.0,)
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), X * 5 + 1)
    fast.__kwdefaults__ = {"shift": 7}
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), X * 5 + 7)
    assert fast.plain_reason == ""


class Counting(bdb.Bdb):
    """A debugger that counts how often a line is reached, and notes what a variable is there."""

    def __init__(self, code, line):
        super().__init__()
        self.code, self.line, self.seen = code, line, []

    def user_line(self, frame):
        if frame.f_code is self.code and frame.f_lineno == self.line:
            self.seen.append(type(frame.f_locals["y"]))


def looping(x):
    y = x * 2
    for _ in range(20):
        y = y + 1
    y = y - 1
    return y


def unlucky(x):
    y = x * 2
    y = np.sqrt(y)
    print(end="")
    return y


@pytest.mark.parametrize("function, place", [(looping, 4), (unlucky, 2)])
def test_a_breakpoint_is_hit_once(function, place):
    fast = jitrt.jit(function)
    debugger = Counting(function.__code__, function.__code__.co_firstlineno + place)
    before = sys.gettrace()
    try:
        debugger.reset()
        sys.settrace(debugger.trace_dispatch)
        fast(X)
    finally:
        sys.settrace(before)
    assert debugger.seen == [np.ndarray]
    np.testing.assert_array_equal(fast(X), function(X))
    assert fast.cache_info().compiled == (function is looping)


def test_profilers():
    fast = jitrt.jit(looping)
    profile = cProfile.Profile()
    for _ in range(3):
        np.testing.assert_array_equal(profile.runcall(fast, X), looping(X))
    assert fast.cache_info().compiled == 1
