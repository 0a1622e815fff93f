"""Calls that are timed to find out whether the plain function is faster; here the clock says what a test wants."""

import numpy as np
import pytest

import jitrt
from jitrt.runtime import trials


def _runs(text):
    found, k = [], 0
    while k < len(text):
        first = k
        while k < len(text) and text[k] == text[first]:
            k += 1
        found.append((text[first], k - first))
    return found


@pytest.mark.parametrize("plain, is_short", [(1e-5, True), (1e-2, False)])
def test_what_is_learnt_of_a_text_holds_for_others_of_about_that_length(monkeypatch, plain, is_short):
    monkeypatch.setattr(trials, "_seconds", lambda loop, run, call: plain if run is loop.function else 1e-4)
    fast = jitrt.jit(_runs)
    texts = ["aab" * k for k in range(44, 80)]
    assert [fast(text) for text in texts] == [_runs(text) for text in texts]
    assert fast._loops.is_short((texts[-1] + "b",)) is is_short and not fast._loops.is_short(("b" * 1000,))


def _powers(rows):
    total = 0.0
    for row in rows:
        for k in range(len(row)):
            total = total * 0.5 + row[k] * row[k - 1] - row[k] / 2
        total += np.fft.rfft(row)[1].real
    return total


@pytest.mark.parametrize("plain, is_faster", [(1e-3, True), (8e-3, False)])
def test_steps_that_numpy_executes_may_cost_more_than_the_loops_around_them_save(monkeypatch, plain, is_faster):
    monkeypatch.setattr(trials, "_seconds", lambda loop, run, call: plain if run is loop.function else 5e-3)
    fast, rows = jitrt.jit(_powers), np.arange(400.0).reshape(20, 20)
    assert fast(rows) == _powers(rows) and fast._loops.serving
    assert (fast._loops.faster_plain((rows[1:],), fast) is not None) is is_faster


GENERATOR = np.random.default_rng(3)


def _drawn(n):
    total = 0.0
    for _ in range(n):
        for k in range(40):
            for j in range(40):
                total = total * 0.5 + k - j * 0.25
        total += GENERATOR.zipf(3.0)  # a step
    return total


def test_what_draws_is_not_tried():
    fast, state, made = jitrt.jit(_drawn), GENERATOR.bit_generator.state, []
    for function in (fast, _drawn):
        GENERATOR.bit_generator.state = state
        made.append([function(n) for n in range(1, 40)])
    assert made[0] == made[1] and fast._loops.serving
