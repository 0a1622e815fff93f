"""Quitting a debugger quits, and so do exceptions of other trace functions; the next call runs compiled."""

import bdb
import sys

import numpy as np
import pytest

import jitrt

X = np.arange(2000.0)


class Stopped(Exception):
    """What a trace function raises."""


def straight(x):
    y = x * 2
    return y + 1


def looks(x):
    y = x * 2
    if y[0] > 1:
        y = y - 1
    return y


def catches(x):
    try:
        y = x * 2
    except ValueError:
        y = x
    return y


def fails(x):
    y = x * 2
    if x.size > 1:
        raise ValueError("too many")
    return y


def raising(error, code, number):
    """A trace function that raises at line number `number` of those that run in `code`."""
    count = [0]

    def trace(frame, event, arg):
        if frame.f_code is not code:
            return None
        if event == "line":
            count[0] += 1
            if count[0] == number:
                raise error
        return trace

    return trace


class Quitting(bdb.Bdb):
    """A debugger whose user quits at the first line of a function."""

    def __init__(self, code):
        super().__init__()
        self.code = code

    def user_line(self, frame):
        if frame.f_code is self.code:
            self.set_quit()


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("calls", [0, 5])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("error", [bdb.BdbQuit(), Stopped(), KeyboardInterrupt(), SystemExit(), GeneratorExit()])
@pytest.mark.parametrize("function", [straight, looks, catches, fails])
def test_what_a_trace_function_raises_is_raised(function, error, number, calls, without_templates):
    f = jitrt.jit(function)
    for _ in range(calls):
        if function is not fails:
            f(X)
    before = sys.gettrace()
    called = X.astype(np.float32) if calls and function is not fails else X  # another dtype is traced anew
    try:
        sys.settrace(raising(error, function.__code__, number))
        with pytest.raises(type(error)) as caught:
            f(called)
    finally:
        sys.settrace(before)
    assert caught.value is error
    if function is fails:
        with pytest.raises(ValueError, match="too many"):
            f(X)
        return
    assert np.array_equal(f(called), function(called))
    assert f.cache_info().compiled >= 1 and f.cache_info().plain == 0


@pytest.mark.parametrize("function", [straight, looks])
def test_a_debugger_quits(function):
    f = jitrt.jit(function)
    before = sys.gettrace()
    try:
        with pytest.raises(bdb.BdbQuit):
            debugger = Quitting(function.__code__)
            debugger.reset()
            sys.settrace(debugger.trace_dispatch)
            f(X)
    finally:
        sys.settrace(before)
    assert np.array_equal(f(X), function(X))
    assert f.cache_info().plain == 0


def test_copies_of_classes_have_no_copies():
    from jitrt.frontend.python.clones import Clones

    class Constant:
        pass

    copy = Clones({}, (), {}, True).class_of(Constant)
    assert copy is not Constant and Clones({}, (), {}, True).class_of(copy) is copy
