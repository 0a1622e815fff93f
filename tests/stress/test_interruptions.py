"""Whatever fails at whatever line of the package during a call: the result is right, and arguments change once.

An exception is raised at one line that a call runs, by a trace function of Python's. Ctrl-C reaches the user; any other
exception stands for an internal error, or for memory and file handles that are not to be had, and the plain function
answers. In either case later calls are right.
"""

import copy
import linecache
import logging
import random
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from jitrt.kernels import words

import jitrt
from jitrt import policy
from jitrt.base.stages import compiled_now
from jitrt.frontend.context import current
from jitrt.runtime.dispatch import Dispatch

SOURCES = tuple(str(Path(module.__file__ or "").parent) for module in (jitrt, words))
FACE = jitrt.JitFunction._call.__code__.co_filename
SAFE = re.compile(
    r'try:|[\w.]+\[\w+\] = 0|self\.\w+(, self\.\w+)* = [\w."]+(, [\w."]+)*|return getattr\(_local, "trace", None\)'
    r"|return MISS if loop is None else loop\.run\(call\)"
    r"|return self\.function\(\*call\.args\) if made is MISS else made"
    r'|return [\w.]+( (!=|==|is|is not) (\w+|"")|\(args, kwargs\))?'
)


UNSEEN = ("with ", "try:", "_local.trace = before")


class State:
    def __init__(self, u):
        self.u, self.steps = u, 0


def several_operations(a, b):
    return np.sqrt(a * a + b) * 2 - a


def changes_an_argument(a, b):
    a += b
    a[1:] *= 2.0
    return a.sum(), np.sort(a * 2)


def sets_attributes(a, b):
    a.u = a.u * 2 + b
    a.steps = a.steps + 1
    return a.u.sum()


def looks_at_values(a, b):
    t = a.copy()
    while t.max() < 40:
        t = t * 1.5 + b
    return t


def loops_and_writes(a, b):
    for _ in range(10):
        a = a * 0.5 + b
    b[:] = a
    return a


def follows_a_recursion(a, b):
    out = np.zeros_like(a)
    for k in range(1, len(a)):
        out[k] = out[k - 1] * 0.5 + a[k] * b[k]
    return out, out.sum()


def writes_elements(a, b):
    total = 0.0
    for k in range(1, len(a)):
        a[k] += a[k - 1] * b[k]
        total += a[k]
    return total


def stops_behind_writes(a, b):
    for k in range(len(a)):
        b[k] += a[k]
    try:
        return a[len(a) + 1]
    except IndexError:
        return b


def appends_to_a_list(a, b):
    found = []
    for k in range(len(a)):
        if a[k] > b[k]:
            found.append(a[k] - b[k])
    return found, len(found)


PROCEDURES = [follows_a_recursion, writes_elements, stops_behind_writes, appends_to_a_list]
FUNCTIONS = [several_operations, changes_an_argument, sets_attributes, looks_at_values, loops_and_writes]


def arguments(plain):
    a, b = np.random.default_rng(0).uniform(1, 2, (2, 50))
    return [State(a) if plain is sets_attributes else a, b]


def content(value):
    """All numbers in a result, or in arguments."""
    if isinstance(value, State):
        value = [value.u, value.steps]
    return [x for v in value for x in content(v)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def are_close(one, other):
    one, other = content(one), content(other)
    return len(one) == len(other) and all(np.allclose(p, q, rtol=1e-12) for p, q in zip(one, other))


def several_calls(function, args, calls=3):
    return [copy.deepcopy(function(*args)) for _ in range(calls)], args


def fresh(plain):
    return jitrt.jit(types.FunctionType(plain.__code__, globals(), plain.__name__))


class Interruption:
    """Raises `error` at a line, the `number`th one that the package runs, or the first behind it that may raise.

    Python sees no signal at the end of a ``with``, where a lock would stay taken, nor at a ``try``, nor at the
    assignment that ends a trace: behind it, nothing would run compiled in this thread. And errors are not raised in the
    lines of `FACE`, which run what may fail, and catch it, nor in lines that cannot fail, or only pass arguments on.
    """

    def __init__(self, error, number):
        self.error, self.number, self.lines, self.place = error, number, 0, ""

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.enter_frame)
        return self

    def __exit__(self, *args):
        sys.settrace(self.before)

    def enter_frame(self, frame, event, argument):
        # Of what a finaliser raises nobody hears.
        of_finaliser = "__del__" in (frame.f_code.co_name, frame.f_back.f_code.co_name)
        return self.see_line if frame.f_code.co_filename.startswith(SOURCES) and not of_finaliser else None

    def see_line(self, frame, event, argument):
        if event == "line":
            self.lines += 1
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            cannot_fail = frame.f_code.co_filename == FACE or SAFE.fullmatch(text.strip())
            spared = self.error is not KeyboardInterrupt and cannot_fail
            if self.lines >= self.number and not spared and not text.lstrip().startswith(UNSEEN):
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(self.before)
                raise self.error("interrupted")
        return self.see_line


def call(plain, error, number, earlier):
    """A call that is interrupted at a line; how many lines it has run."""
    function, args = fresh(plain), arguments(plain)
    several_calls(function, args, earlier)
    wanted, wanted_args = several_calls(plain, arguments(plain), earlier + 1)
    outcome = None
    with Interruption(error, number) as interruption:
        try:
            outcome = function(*args)
        except error as raised:
            # Where something is written already, or results find no memory, an error cannot be made up for.
            lines, behind = traceback_of(raised), ("in finish", "in native", "in _made")
            assert error is KeyboardInterrupt or any(name in lines for name in behind), interruption.place
    assert current() is None, interruption.place
    assert not compiled_now(), interruption.place
    if outcome is None:
        assert interruption.place
    else:
        assert not (error is KeyboardInterrupt and interruption.place), interruption.place
        assert are_close(outcome, wanted[-1]), interruption.place
        assert are_close(args, wanted_args), interruption.place
    wanted, wanted_args = several_calls(plain, arguments(plain))
    for other in (function, fresh(plain)):
        got, got_args = several_calls(other, arguments(plain))
        assert are_close(got, wanted) and are_close(got_args, wanted_args), interruption.place
    return interruption.lines


def traceback_of(error):
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append(f"in {trace.tb_frame.f_code.co_name}")
        trace = trace.tb_next
    return " ".join(lines)


PLACES = [pytest.param(12, id="short"), pytest.param(600, id="long", marks=pytest.mark.slow)]


@pytest.mark.wide
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("plain", PROCEDURES)
def test_calls_of_procedures_that_are_interrupted(plain, error, places, monkeypatch, caplog):
    interrupted(plain, error, places, monkeypatch, caplog)


@pytest.mark.wide
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("plain", FUNCTIONS)
def test_calls_that_are_interrupted(plain, error, places, monkeypatch, caplog, without_procedures):
    interrupted(plain, error, places, monkeypatch, caplog)


def interrupted(plain, error, places, monkeypatch, caplog):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "SMALL_CALL", -1)  # first calls are compiled
    caplog.set_level(logging.CRITICAL, "jitrt")
    chance = random.Random(places)
    call(plain, error, sys.maxsize, 0)  # which imports what there is to import
    lines = [call(plain, error, sys.maxsize, earlier) for earlier in (0, 1)]
    for _ in range(places):
        earlier = chance.randrange(2) if lines[1] else 0
        call(plain, error, chance.randrange(lines[earlier]) + 1, earlier)


def test_arguments_nested_too_deeply(monkeypatch, caplog):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "SMALL_CALL", -1)  # first calls are compiled
    caplog.set_level(logging.CRITICAL, "jitrt")
    nested = [np.ones(3)]
    itself = [np.ones(3)]
    itself.append(itself)
    for _ in range(sys.getrecursionlimit() + 100):
        nested = [nested]
    function = jitrt.jit(lambda values: len(values))
    for _ in range(30):
        assert function(nested) == 1
        assert function(itself) == 2


def test_what_fails_while_native_code_learns_does_not_end_the_call(monkeypatch, caplog):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setattr(policy, "SMALL_CALL", -1)  # first calls are compiled
    caplog.set_level(logging.CRITICAL, "jitrt")

    def fail(self, owner):
        raise MemoryError

    monkeypatch.setattr(Dispatch, "wants", fail)
    function, (a, b) = fresh(changes_an_argument), arguments(changes_an_argument)
    got, got_args = several_calls(function, (a.copy(), b))
    wanted, wanted_args = several_calls(changes_an_argument, (a.copy(), b))
    assert are_close(got, wanted) and are_close(got_args, wanted_args)
