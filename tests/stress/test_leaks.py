"""Memory stays flat over many calls, shapes and functions."""

import contextlib
import gc
import os
import sys
import weakref

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.call.templates import Templates

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is not known here")


def resident():
    """Bytes of memory that the process has."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grows_by(action, repeats):
    """Bytes by which memory grows over the second half of the repeats, when all caches are full."""
    for k in range(repeats):
        action(k)
    before, blocks = resident(), sys.getallocatedblocks()
    for k in range(repeats):
        action(repeats + k)
    return resident() - before, sys.getallocatedblocks() - blocks


def scale(short, long):
    return [pytest.param(short, id="short"), pytest.param(long, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("calls", scale(50_000, 10**6))
def test_calls(calls):
    function = jitrt.jit(lambda a, b, s: (a * s + b, a.sum()))
    a = np.ones(50)

    def action(k):
        function(a, b=a, s=float(k))
        function(a, a, 1.0)

    nbytes, blocks = grows_by(action, calls // 2)
    assert nbytes < 1 << 20 and blocks < 100


@pytest.mark.parametrize("calls", scale(300, 20_000))
def test_calls_that_raise_or_miss(calls):
    function = jitrt.jit(lambda a, b: a / b)
    a, zero = np.ones(50), np.zeros(50)

    def action(k):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            function(a, zero)
        with pytest.raises(ValueError):
            function(a, np.ones(49))
        function(a[::2], a[::2])

    nbytes, blocks = grows_by(action, calls)
    assert nbytes < 2 << 20 and blocks < 2000


@pytest.mark.parametrize("by", ["templates", "traces", "plain NumPy"])
@pytest.mark.parametrize("shapes", scale(2 * policy.SPECIALISATIONS, 10**4))
@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
def test_shapes(shapes, by, monkeypatch):
    if by != "templates":
        monkeypatch.setattr(Templates, "find", lambda *_: None)
    if by == "traces":
        monkeypatch.setattr(policy, "CREDIT", sys.maxsize)
    function = jitrt.jit(lambda a: np.sqrt(a) + a.sum())

    def action(k):
        array = np.ones(2 + k % shapes)
        for _ in range(3):
            function(array)

    for k in range(shapes):
        action(k)
    before = resident()
    for k in range(shapes):
        action(k)
    assert resident() - before < 8 << 20
    compiled = function.cache_info().compiled
    assert (compiled > policy.SPECIALISATIONS // 2) is (by == "traces") and compiled <= policy.SPECIALISATIONS
    assert by != "templates" or compiled < 16


@pytest.mark.parametrize("count", scale(60, 1000))
def test_functions(count):
    alive = []

    def action(k):
        function = jitrt.jit(lambda a: a * 2 + 1)
        np.testing.assert_array_equal(function(np.ones(1000)), 3.0)
        alive.append(weakref.ref(function))

    nbytes, _ = grows_by(action, count)
    gc.collect()
    assert sum(reference() is not None for reference in alive) == 0
    assert nbytes < 4 << 20


def test_frames_are_released():
    function = jitrt.jit(lambda a: np.cumsum(np.sort(a * 2, axis=0), axis=0).sum(axis=1))
    big = np.ones((1000, 1000))
    function(big)
    assert function.cache_info().frame_bytes > 0
    jitrt.clear_caches()
    before = resident()
    function(big), function(big)
    jitrt.clear_caches()
    assert resident() - before < 12 << 20
    np.testing.assert_array_equal(function(big)[:3], np.cumsum(np.sort(big * 2, axis=0), axis=0).sum(axis=1)[:3])


def test_arrays_of_a_call_are_freed_behind_it():
    """Without the garbage collector: an array lives no longer than with plain NumPy, from the first call on."""

    def looks(a, b):
        return np.sqrt(a) * b if a.sum() > 0 else a

    def writes(a, b):
        a += b
        return np.sort(a * 2)

    gc.collect()
    gc.disable()
    try:
        for function in (lambda a, b: np.sqrt(a) + b * 3, lambda a, b: a / (b - b), looks, writes):
            compiled = jitrt.jit(function)
            for second in (50_000, 50_000, 49_999, 50_000):
                a, b = np.ones(50_000), np.ones(second)
                arrays = [weakref.ref(a), weakref.ref(b)]
                with np.errstate(all="ignore"), contextlib.suppress(ValueError):
                    arrays.append(weakref.ref(compiled(a, b)))
                del a, b
                assert [reference() is not None for reference in arrays] == [False] * len(arrays)
    finally:
        gc.enable()
