"""What `explain` says of each loop, and the warning of slow first calls."""

import logging
import re

import numpy as np
import pytest

import jitrt


def staged(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * k
    while total > 10.0:
        total *= 0.5
    return total


def short(x):
    total = 0.0
    for name in ("a", "b"):
        total += len(name)
    for v in x:
        total += v
    return total


def whole(x):
    for _ in range(5):
        x = np.sin(x) * 0.5 + x[::-1]
    return x


def in_numpy(x):
    for _ in range(2):
        print("", end="")
    return x.copy()


def shown(function, *args):
    loops = jitrt.jit(function).explain(*args).loops
    first = function.__code__.co_firstlineno
    return [(loop.line - first, loop.text, loop.what) for loop in loops]


def test_each_loop_has_a_line_and_a_verdict():
    x = np.linspace(0.0, 1.0, 50)
    assert shown(staged, x) == [
        (2, "for k in range(len(x)):", "compiled as a loop"),
        (4, "while total > 10.0:", "compiled as a loop"),
    ]
    (_, _, first), (_, text, second) = shown(short, x)
    assert first.startswith("unrolled") and second == "compiled as a loop" and text == "for v in x:"
    ((line, text, what),) = shown(whole, x)
    assert (line, text) == (1, "for _ in range(5):") and what.split()[0].strip(":") in ("compiled", "unrolled")
    ((_, _, what),) = shown(in_numpy, x)
    assert what.startswith("in Python; not as a procedure: ")


def test_the_text_shows_them():
    explanation = jitrt.jit(staged).explain(np.ones(5))
    assert f"line {staged.__code__.co_firstlineno + 2}: for k in range(len(x)):" in explanation.text()
    assert not jitrt.jit(lambda x: x + 1).explain(np.ones(5)).loops


@pytest.mark.parametrize("function, head", [(whole, "for _ in range(5):"), (staged, "for k in range(len(x)):")])
def test_slow_first_calls_name_the_line(function, head, monkeypatch, caplog):
    monkeypatch.setattr("jitrt.policy.SLOW_CALL", 1e-9)
    fast = jitrt.jit(function)
    with caplog.at_level(logging.WARNING, "jitrt.trace"):
        for n in (9, 9, 12):
            fast(np.ones(n))
    first, *_ = [r.getMessage() for r in caplog.records if "to compile" in r.getMessage()]
    line = function.__code__.co_firstlineno + (2 if function is staged else 1)
    assert f"line {line}: {head}" in first and "jit function of its own" in first
    assert re.search(r"it took 0\.\d s to compile, 0\.\d s of them to [a-z]", first)
    if function is staged:  # another size compiles nothing
        assert len([r for r in caplog.records if "to compile" in r.getMessage()]) == 1
