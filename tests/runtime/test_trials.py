"""Calls that are timed to find out whether the plain function is faster; here the clock says what a test wants."""

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
