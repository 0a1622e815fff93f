"""Procedures begin with a version that is not optimised, and go on with one that is."""

import itertools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt import policy
from jitrt.codegen import later, tierup
from jitrt.runtime import trials

MOST_CALLS = 100_000  # until the optimised version is there
LONG = 3 << 20  # turns: more than those after which the optimised version is asked for


@pytest.fixture(autouse=True)
def as_for_users(monkeypatch):
    """Not as in tests, which go on with the optimised version at once."""
    monkeypatch.delenv("JITRT_STRICT", raising=False)


def new(text):
    """A function that no other test has, so that neither this process nor the disk has code for it."""
    text = textwrap.dedent(text).replace("NUMBER", repr(float(np.random.default_rng().random())))
    return function_of(text)


SMOOTHED = """
    def f(x, n):
        for k in range(n):
            x[k % len(x)] = 0.5 * x[k % len(x)] + x[(k + 1) % len(x)] * 0.25 + NUMBER
        return x[:5].sum()
"""
FOUND = """
    def f(x, n):
        found, best = [], NUMBER
        for i in range(n):
            row = x[i % 40 : i % 40 + 30]
            total = (row * row).sum() + np.prod(row)
            if total > best:
                best = total
                found.append(i)
        return found, best
"""
EXACT = """
    def f(x, n):
        for k in range(n):
            x[k] = 0.5 * x[k] + NUMBER
        return x[0]
"""
APART = """
    def f(x, n):
        out = np.zeros(n)
        for i in range(n):
            total = x[i % len(x)]
            for k in range(200):
                total = total * 0.5 + NUMBER
            out[i] = total
        return out[:100]
"""


def begun(text, *args):
    """A function, what it is compiled to, which has been called, and whether that is a baseline version."""
    function = new(text)
    compiled, others = jitrt.jit(function), set(tierup._baselines)
    compiled(*args)
    entries = set(tierup._baselines) - others
    assert entries, "no baseline version was made"
    asked = itertools.count()

    def is_baseline():
        assert next(asked) < MOST_CALLS, "no optimised version came"
        return any(map(tierup.is_baseline, entries))

    return function, compiled, is_baseline


@pytest.mark.parametrize("text", [SMOOTHED, FOUND, APART])
def test_both_versions_give_the_same_bits(text):
    x = np.random.default_rng(1).random(1000)
    function, compiled, is_baseline = begun(text, x.copy(), 500)

    def outcome(called):
        y = x.copy()
        result = called(y, 500)
        return result[0] if text is FOUND else np.asarray(result).tobytes(), y.tobytes()

    first = outcome(compiled)
    assert is_baseline()
    while is_baseline():
        compiled(x.copy(), 100_000)
    assert first == outcome(compiled) == outcome(function)


def test_a_long_call_goes_on_in_the_optimised_version():
    """It takes back what it wrote, and begins again."""
    function, compiled, is_baseline = begun(SMOOTHED, np.ones(501), 3000)
    while is_baseline():
        x = np.linspace(0, 1, 501)
        last = compiled(x, LONG)
    y = np.linspace(0, 1, 501)
    assert (last, x.tobytes()) == (function(y, LONG), y.tobytes())


def test_threads_that_call_while_the_version_changes():
    function, compiled, is_baseline = begun(SMOOTHED, np.ones(100), 3000)
    found = []

    def call():
        while is_baseline():
            found.append(compiled(np.ones(100), 4000))
        found.append(compiled(np.ones(100), 4000))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {function(np.ones(100), 4000)}


def test_one_version_where_two_would_differ():
    """Draws are not taken back where the version changes, and relaxed sums depend on what LLVM makes of them."""

    def draws(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.random()
        return total

    def adds(x, n):
        total = 0.0
        for k in range(n):
            total += x[k]
        return total

    before = set(tierup._baselines)
    assert jitrt.jit(draws)(np.random.default_rng(1), 500) == draws(np.random.default_rng(1), 500)
    assert jitrt.jit(adds, fastmath=True)(np.ones(500), 500) == 500
    assert set(tierup._baselines) == before
    assert jitrt.jit(adds)(np.ones(2 << 20), 500) == 500  # which may take long
    assert set(tierup._baselines) == before
    assert jitrt.jit(adds)(np.ones(2000, np.float32), 500) == 500
    assert set(tierup._baselines) > before


def test_one_version_where_numpy_has_the_loops():
    """The plain function has no loops that take Python long, so that a baseline version would be slower."""

    def searched(x, edges):
        return np.searchsorted(edges, x * 2.5) + 1

    before = set(tierup._baselines)
    x, edges = np.random.default_rng(1).random(1000), np.linspace(0.0, 2.5, 90)
    compiled = jitrt.jit(searched)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, edges), searched(x, edges))
    assert compiled.plain_reason == ""
    assert set(tierup._baselines) == before


def test_a_long_procedure_is_not_optimised_before_it_has_run(monkeypatch):
    """That takes LLVM seconds, for which the first calls of other functions have to wait."""
    monkeypatch.setattr(later.Task, "begin", later.Task.finish)
    statements = "    x[index] = x * NUMBER\n" * 60
    function = new(f"def f(x, index):\n{statements}    return x[0]\n")
    index = np.argsort(np.sin(np.arange(9)))
    before = set(tierup._baselines)
    compiled = jitrt.jit(function)
    for _ in range(20):
        x, y = np.ones(9), np.ones(9)
        assert compiled(x, index) == function(y, index)
        assert x.tolist() == y.tolist()
    assert set(tierup._baselines) > before


def test_for_a_long_procedure_no_call_waits(monkeypatch):
    monkeypatch.setattr(policy, "MOST_STATEMENTS", 1)
    monkeypatch.setattr(trials, "_is_slower", lambda loop, call, serve: True)
    monkeypatch.setattr(tierup, "optimise", lambda trampoline: pytest.fail("a call optimises"))
    function = new(EXACT)
    compiled = jitrt.jit(function)
    for n in [8] * 20:
        assert compiled(np.ones(n), n) == function(np.ones(n), n)


def test_what_is_slower_than_plain_is_optimised_before_it_is_given_up(monkeypatch):
    answers = []

    def is_slower(loop, call, serve):
        answers.append(tierup.is_baseline(loop.address))
        return answers[-1]

    monkeypatch.setattr(trials, "_is_slower", is_slower)
    function = new(EXACT)
    compiled = jitrt.jit(function)
    for n in [8] * 20:
        assert compiled(np.ones(n), n) == function(np.ones(n), n)
    assert answers == [True, False]


def run(folder, text):
    """What a process prints that has a disk cache in `folder`."""
    path = folder / "program.py"
    path.write_text(text)
    environment = dict(os.environ, JITRT_STRICT="0", JITRT_CACHE_DIR=str(folder))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = """
import os, sys, warnings
import numpy as np, jitrt
from jitrt.codegen import tierup

@jitrt.jit
def f(x, n):
    for k in range(n):
        x[k % len(x)] = 0.5 * x[k % len(x)] + 0.25 * x[(k + 1) % len(x)]
    return x[:3].sum()

def is_baseline():
    return bool(tierup._baselines)

def optimised():
    while is_baseline():
        f(np.ones(50), 100_000)

f(np.ones(50), 3000)
"""


def test_the_baseline_version_comes_from_the_disk_and_is_optimised(tmp_path):
    told = f"{PROGRAM}\nprint(is_baseline(), 'numba' in sys.modules)"
    value = "\nprint(f(np.ones(50), 3000))"
    assert run(tmp_path, told).split() == ["True", "True"]
    assert run(tmp_path, told).split() == ["True", "False"]
    *_, first = run(tmp_path, f"{told}\noptimised(){value}").split()
    assert run(tmp_path, told + value).split() == ["False", "False", first]


def test_a_process_ends_while_a_version_is_optimised(tmp_path):
    """LLVM is not left in the middle of something, which would end in a crash."""
    run(tmp_path, f"{PROGRAM}\nf(np.ones(50), 2_000_000)")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_optimises_by_itself(tmp_path):
    text = f"""{PROGRAM}
warnings.simplefilter("ignore")
assert is_baseline()
child = os.fork()
if child == 0:
    optimised()
    os._exit(17)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
optimised()
"""
    assert run(tmp_path, text).split() == ["17"]
