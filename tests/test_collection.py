"""The garbage collector rests while something is compiled, and is afterwards as it was."""

import contextlib
import gc
import linecache
import os
import sys
import threading

import numpy as np
import pytest

import jitrt
from jitrt.base import collection


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def enabled(request):
    """What the user has chosen."""
    (gc.enable if request.param else gc.disable)()
    yield request.param
    gc.enable()


def test_pauses_nest_and_restore(enabled):
    with collection.paused():
        with collection.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


def test_an_error_ends_the_pause(enabled):
    with pytest.raises(KeyError), collection.paused():
        raise KeyError
    assert gc.isenabled() is enabled


@pytest.mark.parametrize("interrupted", range(1, 30))
def test_ctrl_c_at_any_line_ends_the_pause(enabled, interrupted):
    lines = 0

    def see_line(frame, event, argument):
        nonlocal lines
        text = linecache.getline(collection.__file__, frame.f_lineno).strip()
        if event == "line" and not text.startswith(("with ", "try:")):  # where Python sees no signal
            lines += 1
            if lines == interrupted:
                raise KeyboardInterrupt
        return see_line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: see_line if frame.f_code.co_filename == collection.__file__ else None)
    try:
        with contextlib.suppress(KeyboardInterrupt), collection.paused():
            assert not gc.isenabled()
    finally:
        sys.settrace(before)
    assert gc.isenabled() is enabled
    with collection.paused():
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


def test_what_a_compile_leaves_is_gone_through_once_at_its_end(enabled):
    generations = []
    gc.callbacks.append(lambda phase, found: generations.append(found["generation"]) if phase == "stop" else None)
    try:
        with collection.paused():
            left = [[] for _ in range(50_000)]
    finally:
        gc.callbacks.pop()
    assert generations == [0] * enabled  # an older one would be a step towards going through all objects
    assert len(left) == 50_000


def test_a_thread_does_not_make_the_pause_of_another_longer(enabled):
    inside, leave = threading.Event(), threading.Event()

    def work():
        with collection.paused():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    with collection.paused():
        thread.start()
        assert inside.wait(60)
        assert not gc.isenabled()
    assert gc.isenabled() is enabled
    leave.set()
    thread.join()
    assert gc.isenabled() is enabled


def test_compiling_leaves_the_collector_as_it_was(enabled):
    np.testing.assert_array_equal(jitrt.jit(lambda a: a * 3 - 1)(np.ones(4)), 2.0)
    assert gc.isenabled() is enabled


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_child_does_not_wait_for_its_parents_threads(enabled):
    inside, leave = threading.Event(), threading.Event()

    def work():
        with collection.paused():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        good = gc.isenabled() is enabled
        with collection.paused():
            good = good and not gc.isenabled()
        os._exit(0 if good and gc.isenabled() is enabled else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
