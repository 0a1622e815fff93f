"""What one process has staged the next one takes from the disk, unless something that it depends on is another."""

import linecache
import math
import os
import subprocess
import sys
import types

import numpy as np
import pytest

import jitrt
from jitrt.codegen import cache, cachefiles
from jitrt.runtime import stagedfiles

TEXT = """
import math as m
FACTOR = {factor}
TABLE = {table}
CHOICES = {choices}
WEIGHTS = np.array([1, 2], {dtype!r})
def helper(x, power={power}, *, shift={shift}):
    return {helper}
def made(offset):
    def inner(v):
        return v + offset
    return inner
inner = made({offset})
def f(x, n=3, flag=True):
    total = {start}
    for k in range(len(x)):
        for j in range(2):
            total = total + helper(x[k]) * FACTOR + {body} + TABLE[j] + inner(x[k]) + WEIGHTS[j] * CHOICES["a"]
        x[k] = total if flag else n
    return total, {result}
"""
USUAL = {
    "factor": "2.0", "table": "[1.0, 2.0]", "choices": "{'a': 2}", "dtype": "f8", "power": "2", "shift": "1.0",
    "helper": "x * power + shift", "offset": "0.5", "start": "0.0", "body": "m.sqrt(np.pi * n)", "result": "(1j, n)",
}  # fmt: skip
CHANGES = {
    "factor": "3.0", "table": "[1.0, 2.5]", "choices": "{'a': 3}", "dtype": "i4", "power": "3", "shift": "-1.0",
    "helper": "x * power - shift", "offset": "0.25", "start": "1.0", "body": "m.cbrt(np.e * n)", "result": "(2j, n)",
}  # fmt: skip


library = math


def function_of(**parts):
    text = TEXT.format(**USUAL | parts)
    linecache.cache["<staged files>"] = (len(text), None, text.splitlines(True), "<staged files>")
    scope = {"np": np}
    exec(compile(text, "<staged files>", "exec"), scope)
    return scope["f"]


def check(function, *args):
    """A new jit function gives what the plain one gives, with and without what is on the disk."""
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    wanted, made = function(*copies[0]), jitrt.jit(function)(*copies[1])
    assert repr(made) == repr(wanted)
    for one, other in zip(*copies):
        np.testing.assert_array_equal(one, other)


def test_another_process_does_not_stage(tried):
    for size in (5, 9):
        check(function_of(), np.arange(float(size)))
    assert len(tried) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_read_from_outside(tried, change):
    check(function_of(), np.arange(5.0))
    check(function_of(**{change: CHANGES[change]}), np.arange(5.0))
    assert len(tried) == 2
    check(function_of(), np.arange(5.0))
    check(function_of(**{change: CHANGES[change]}), np.arange(5.0))
    assert len(tried) <= 4


def test_values_and_kinds_of_arguments(tried):
    calls = [(np.arange(5.0), 4), (np.arange(5.0), 4.5), (np.arange(5), 4), (np.arange(10.0)[::2], 4)]
    calls += [(np.arange(5.0), 4, False), (np.arange(5.0), -0.0), (np.arange(5.0), 7)]
    for _ in range(2):
        for args in calls:
            check(function_of(), *args)
    assert len(tried) <= len(calls)


def test_a_name_that_another_module_has(tried):
    def roots(x):
        for k in range(len(x)):
            x[k] = library.sqrt(x[k]) + library.floor(2.5)
        return x

    other = types.SimpleNamespace(sqrt=np.cbrt, floor=math.ceil)
    for library_now in (math, np, math, other):
        function = types.FunctionType(roots.__code__, {"library": library_now}, "roots")
        check(function, np.arange(1.0, 5.0))
    assert len(tried) >= 3


def test_a_name_that_hides_one_of_pythons(tried):
    def absolute(x):
        for k in range(len(x)):
            x[k] = abs(x[k])
        return x

    for scope in ({}, {"abs": math.floor}, {}, {"abs": np.abs}):
        check(types.FunctionType(absolute.__code__, {"np": np, **scope}, "absolute"), np.arange(-2.5, 5.0))


def test_later_changes_are_noticed(tried):
    check(function_of(), np.arange(5.0))
    function = function_of()
    fast = jitrt.jit(function)
    assert fast(np.arange(5.0)) == function(np.arange(5.0)) and len(tried) == 1
    function.__globals__["FACTOR"] = 7.0
    function.__globals__["TABLE"][1] = 8.0
    assert fast(np.arange(5.0)) == function(np.arange(5.0))
    function.__globals__["helper"].__defaults__ = (5,)
    assert fast(np.arange(5.0)) == function(np.arange(5.0))


def test_what_other_processes_cannot_find_is_not_kept(tried, monkeypatch):
    kept = []
    monkeypatch.setattr(stagedfiles.cache, "store_bytes", lambda *args: kept.append(args))

    class Own:
        scale = 2.0

    def scaled(x):
        for k in range(len(x)):
            x[k] = x[k] * Own.scale
        return x

    check(scaled, np.arange(5.0))
    assert not kept


@pytest.mark.parametrize("damage", [b"", b"\x80\x05.", b"cos\nsystem\n(S'false'\ntR."])
def test_files_that_are_no_staged_functions(tried, monkeypatch, damage):
    monkeypatch.setattr(cache, "load_bytes", lambda text, kind: damage)
    check(function_of(), np.arange(5.0))
    assert len(tried) == 1


def test_files_are_deleted_with_the_others(tried, tmp_path):
    check(function_of(), np.arange(5.0))
    assert any(path.endswith(".staged") for path, _, _ in cachefiles.files())
    cachefiles.clean(0)
    assert not list(tmp_path.rglob("*.staged"))


OUTSIDE = """
import numpy as np
import jitrt

def rows(x, n):
    total = 0.0
    for k in range(n):
        ordered = np.sort(x[k])
        places = np.argsort(x[k], kind="stable")
        total += ordered[3] + x[k, places[-1]] + (x @ x[k])[0] + (x[:, :40] @ x[:40]).sum() + np.sin(ordered[k])
    return total

def drawn(rng, n):
    total = 0.0
    for k in range(n):
        total += rng.normal() + rng.random() * rng.integers(5)
    return total

x = np.random.default_rng(1).random((200, 200))
for function, args in ((rows, (x, 60)), (drawn, (None, 500))):
    fast = jitrt.jit(function)
    for _ in range(3):
        one, other = ([np.random.default_rng(3) if a is None else a for a in args] for _ in range(2))
        want = function(*other)
        assert abs(fast(*one) - want) < 1e-9 * abs(want)
"""


def test_functions_outside_in_other_processes(tmp_path):
    """What staging defines, a process has to define that does not stage."""
    script = tmp_path / "program.py"
    script.write_text(OUTSIDE)
    for strict in ("1", "0", "1"):
        environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache"), "JITRT_STRICT": strict}
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0 and "cache" not in done.stderr, done.stderr
