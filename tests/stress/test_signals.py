"""Signals, finalisers and forks in the middle of a compilation: nothing aborts or hangs, and no exception is lost."""

import bdb
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from jitrt.kernels import words

import jitrt
from jitrt import policy
from jitrt.base import atwork
from jitrt.runtime.program import Program

SOURCES = tuple(str(Path(module.__file__ or "").parent) for module in (jitrt, words))
AMOUNTS = [pytest.param(30, id="short"), pytest.param(500, id="long", marks=pytest.mark.slow)]

# What the processes of the tests below have in common: `fresh` makes functions for which no kernel is known.
COMMON = """
import itertools, os, random, signal, sys, time
import numpy as np
import jitrt

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
chance = random.Random(int(sys.argv[1]))
numbers = itertools.count(1)
a = np.linspace(0.5, 2.0, 300)
PARTS = ["np.sqrt(x)", "np.exp(-x)", "np.sin(x)", "np.maximum(x, y)", "x * y", "y.sum() + x", "np.cumsum(x)[::-1]"]

def plain():
    lines = [f"    y = y * {chance.random()} + {chance.choice(PARTS)}" for _ in range(chance.randint(1, 4))]
    space = {"np": np}
    exec("\\n".join(["def f(x):", "    y = x + 1", *lines, "    return y"]), space)
    return space["f"]

def right(got, f):
    return np.allclose(got, f(a), rtol=1e-11)

def arm(most):
    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, most))
"""


def run(code, seed=0, timeout=300):
    environment = {**os.environ, "JITRT_CACHE_DIR": "", "JITRT_STRICT": "0", "PYTHONFAULTHANDLER": "1"}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"  # loops over elements are compiled from their source
        script.write_text(COMMON + textwrap.dedent(code))
        command = [sys.executable, "-W", "ignore", str(script), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_handlers_that_call_compiled_functions(amount):
    run(
        f"""
        known = jitrt.jit(lambda x: x * 2 + 1)
        known(a)
        handled = 0
        def handler(number, frame):
            global handled
            handled += 1
            f = plain()
            assert right(jitrt.jit(f)(a), f)
            assert np.array_equal(known(a), a * 2 + 1)
            assert np.array_equal(known(a[:handled % 300]), a[:handled % 300] * 2 + 1)
            arm(0.15)
        signal.signal(signal.SIGALRM, handler)
        arm(0.15)
        while handled < {amount}:
            f = plain()
            assert right(jitrt.jit(f)(a), f)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for _ in range(3):
            f = plain()
            g = jitrt.jit(f)
            assert right(g(a), f) and g.cache_info().compiled == 1
    """,
        timeout=4 * amount + 200,
    )


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "Timeout"])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_every_interrupt_is_raised_and_the_next_call_is_compiled(amount, kind):
    run(
        f"""
        class Timeout(Exception):
            pass
        came = 0
        def handler(number, frame):
            global came
            came += 1
            raise {kind}
        signal.signal(signal.SIGALRM, handler)
        raised = 0
        for k in range({amount}):
            f = plain()
            g = jitrt.jit(f)
            before = came
            try:
                arm(0.08)
                while came == before:
                    g = jitrt.jit(f)
                    assert right(g(a), f)
            except {kind}:
                raised += 1
            assert came == raised == k + 1
            assert right(g(a), f) and right(g(a), f)
            assert g.cache_info().compiled == 1 and g.cache_info().plain == 0
            assert not g.explain(a).plain_reason
        assert signal.getsignal(signal.SIGALRM) is handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    """,
        timeout=4 * amount + 200,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("how", ["finaliser", "handler"])
def test_forks_in_the_middle_of_a_compilation(how):
    run(
        """
        import traceback
        children, owner = [], os.getpid()
        def fork():
            if os.getpid() != owner or len(children) >= 5:
                return
            child = os.fork()
            if child:
                children.append(child)
                return
            try:
                f = plain()
                g = jitrt.jit(f)
                assert right(g(a), f) and right(g(a), f)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(3)
        class Forks:
            def __del__(self):
                fork()
        def handler(number, frame):
            fork()
            arm(0.3)
        def outer(x):
            y = x + 1
            Forks()
            return np.sqrt(y)
        signal.signal(signal.SIGALRM, handler)
        if HANDLER:
            arm(0.3)
        deadline = time.time() + 60
        while len(children) < 5 and time.time() < deadline:
            f = plain()
            assert right(jitrt.jit(f)(a), f)
            if not HANDLER:
                assert right(jitrt.jit(outer)(a), outer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert codes == [0] * 5, codes
        """.replace("HANDLER", str(how == "handler")),
        timeout=120,
    )


class EveryLine:
    """Calls `what` at lines of the package, as a handler or a finaliser may that comes there."""

    def __init__(self, what, places):
        self.what, self.places, self.lines, self.inside = what, places, 0, False

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.enter_frame)
        return self

    def __exit__(self, *args):
        sys.settrace(self.before)

    def enter_frame(self, frame, event, argument):
        return self.see_line if frame.f_code.co_filename.startswith(SOURCES) else None

    def see_line(self, frame, event, argument):
        if event == "line" and not self.inside:
            self.lines += 1
            if self.lines in self.places:
                self.inside = True
                try:
                    self.what()
                finally:
                    self.inside = False
        return self.see_line


def smooth(x, y):
    x = x * 0.5 + y
    x[1:] -= np.exp(-y[:-1])
    return x, x.sum()


def first_call(places, kind):
    """A first call in the middle of which other functions, and the same one, are called, made and asked for."""
    function = jitrt.jit(types.FunctionType(smooth.__code__, globals(), "smooth"))
    x, y = np.random.default_rng(0).uniform(1, 2, (2, 40))
    wanted = smooth(x, y)
    results = []

    def what():
        if kind == "other":
            results.append(jitrt.jit(lambda u: np.sqrt(u) * 2 - 1)(x))
        elif kind == "same":
            results.append(2 * function(x, y)[0])
        elif kind == "threads":
            jitrt.set_num_threads(jitrt.num_threads())
            jitrt.clear_caches()
        else:
            function.explain(x, y)
            jitrt.jit(lambda u: np.sqrt(u) * 2 - 1).compile(x)

    with EveryLine(what, places) as seen:
        got = function(x, y)
    for found, right in zip((*got, *function(x, y)), (*wanted, *wanted)):
        assert np.allclose(found, right, rtol=1e-12)
    for found in results:
        assert np.allclose(found, np.sqrt(x) * 2 - 1 if kind == "other" else 2 * wanted[0], rtol=1e-12)
    made = function.cache_info().compiled  # an explanation is of a program for these shapes alone
    assert made == 1 or (kind == "explanation" and places and made == 2)
    return seen.lines


@pytest.mark.parametrize("kind", ["other", "same", "explanation", "threads"])
@pytest.mark.parametrize(
    "places", [pytest.param(150, id="short"), pytest.param(5000, marks=pytest.mark.slow, id="long")]
)
def test_calls_at_every_line_of_a_compilation(kind, places, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "SMALL_CALL", -1)  # first calls are compiled
    lines = first_call((), kind)
    chance = random.Random(places)
    for _ in range(5):
        first_call(frozenset(chance.randrange(lines) for _ in range(places // 5)), kind)


def test_finalisers_and_weak_references_that_call_compiled_functions():
    x = np.linspace(1, 2, 50)
    inner, results = jitrt.jit(lambda u: u * 3 - 1), []

    class Value:
        def __del__(self):
            results.append(inner(x[: len(results)]))

    def collected(phase, info):
        if phase == "stop":
            results.append(inner(x))

    def outer(u):
        value, other = Value(), Value()
        value.itself = value
        reference = weakref.ref(other, lambda r: results.append(inner(x[1:])))
        del value, other, reference
        gc.collect()
        return np.sqrt(u) + 1

    gc.callbacks.append(collected)
    try:
        for n in range(1, 20):
            assert np.allclose(jitrt.jit(outer)(x[:n]), np.sqrt(x[:n]) + 1)
    finally:
        gc.callbacks.remove(collected)
    assert results


@pytest.mark.parametrize("error", [MemoryError, OSError, RecursionError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "place", ["jitrt.call.tracing.trace", "jitrt.programs._made", "jitrt.codegen.kernels.structural_key"]
)
def test_what_fails_for_a_passing_reason_is_tried_again(error, place, monkeypatch):
    import jitrt.pipeline

    monkeypatch.setenv("JITRT_CACHE_DIR", "")
    function = jitrt.jit(lambda x, k=place + error.__name__: np.sqrt(x) * 2 + len(k))
    x = np.arange(9.0)
    wanted = np.sqrt(x) * 2 + len(place + error.__name__)
    with monkeypatch.context() as failing:
        failing.setattr(place, lambda *args, **kwargs: (_ for _ in ()).throw(error("no more")))
        for _ in range(2):
            try:
                assert np.allclose(function(x), wanted)
                assert error is not KeyboardInterrupt
            except KeyboardInterrupt:
                assert error is KeyboardInterrupt
    for _ in range(4):
        assert np.allclose(function(x), wanted)
    assert function.cache_info().compiled == 1


def test_a_run_that_fails_for_a_passing_reason_is_tried_again(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "SMALL_CALL", -1)  # first calls are compiled
    function = jitrt.jit(smooth, donate=("x",))  # which only Python serves
    x, y = np.random.default_rng(0).uniform(1, 2, (2, 100_000))
    wanted = smooth(x, y)[0]
    for _ in range(3):
        function(x.copy(), y)
    assert function.cache_info().compiled == 1
    with monkeypatch.context() as failing:
        failing.setattr(Program, "take_frame", lambda self: (_ for _ in ()).throw(MemoryError()))
        assert np.allclose(function(x.copy(), y)[0], wanted)
    assert np.allclose(function(x.copy(), y)[0], wanted)
    assert function.cache_info().compiled == 1 and function.cache_info().plain == 0


def test_a_debugger_that_is_left_ends_the_call():
    def function(x):
        if x.sum() > 2:
            raise bdb.BdbQuit
        return x

    with pytest.raises(bdb.BdbQuit):
        jitrt.jit(function)(np.ones(3))


class Timeout(Exception):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, Timeout])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_interrupt_that_the_function_catches_does_not_become_part_of_a_program(error):
    def handler(number, frame):
        raise error

    def function(x):
        try:
            k = sum(range(20_000_000))
            return x * 2 + k
        except BaseException:
            return x * 3

    before = signal.signal(signal.SIGALRM, handler)
    try:
        compiled = jitrt.jit(function)
        with pytest.raises(error):
            signal.setitimer(signal.ITIMER_REAL, 0.03)
            compiled(np.ones(4))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for _ in range(3):
        assert np.array_equal(compiled(np.ones(4)), function(np.ones(4)))
    assert compiled.cache_info().compiled == 1


def test_handlers_wait_for_work_and_not_for_the_users_code():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(atwork.is_at_work()))
    own = signal.getsignal(signal.SIGTERM)
    try:
        with atwork.at_work():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not seen
            with atwork.users_code():
                assert seen == [True]
                os.kill(os.getpid(), signal.SIGTERM)
                assert len(seen) == 2
            os.kill(os.getpid(), signal.SIGTERM)
            assert len(seen) == 2
        assert seen == [True, True, False]
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_locks_are_re_entrant():
    """A handler or a finaliser may come while its thread holds a lock; one that nobody waits for may be any."""
    wrong = []
    for folder in SOURCES:
        for path in Path(folder).rglob("*.py"):
            for k, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if "threading.Lock()" in line and "unstarted" not in line:
                    wrong.append(f"{path}:{k}")
    assert not wrong


def test_calls_in_the_middle_of_a_compilation_by_numba():
    from numba.core.compiler_lock import global_compiler_lock

    function, x = jitrt.jit(lambda u: np.sqrt(u) + u * 7), np.arange(5.0)
    with global_compiler_lock:
        assert np.array_equal(function(x), np.sqrt(x) + x * 7)
        assert function.cache_info().compiled == 0
    for _ in range(3):
        assert np.array_equal(function(x), np.sqrt(x) + x * 7)
    assert function.cache_info().compiled == 1
