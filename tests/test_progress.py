"""Compilations are shown while they last."""

import io
import sys
import threading

import numpy as np
import pytest

import jitrt
from jitrt.base.stages import STAGES, Compilation, compiled_now, enters, unwatch, watch


def chain(x):
    for _ in range(3):
        x = np.sin(x) * 2 - 1
    return x


def recursion(x):
    out = np.empty_like(x)
    last = 0.0
    for k in range(len(x)):
        last = 0.5 * last + x[k]
        out[k] = last
    return out


@pytest.fixture
def seen():
    stages = []

    def note(compilation):
        stages.append((compilation.name, compilation.stage))

    watch(note)
    yield stages
    unwatch(note)


def fresh():
    """A function that no process has compiled."""
    number = float(np.random.default_rng().random())
    return jitrt.jit(lambda x: chain(x) + number)


def test_stages_of_functions_of_arrays(seen):
    fresh()(np.ones(1000))
    stages = [stage for _, stage in seen]
    assert stages[0] == "trace" and stages[-1] == ""
    assert set(stages) <= {*STAGES, ""}


def test_stages_of_functions_with_loops(seen):
    np.testing.assert_array_equal(jitrt.jit(recursion)(np.ones(3)), [1.0, 1.5, 1.75])
    names = {name for name, _ in seen}
    stages = [stage for _, stage in seen]
    assert names == {"recursion"} and stages[0] == "stage" and stages[-1] == ""


def test_warm_calls_enter_no_stage(seen):
    function = jitrt.jit(chain)
    function(np.ones(1000))
    function(np.ones(1000))
    del seen[:]
    function(np.ones(1000))
    assert not seen


def test_the_end_is_seen_if_the_function_raises(seen):
    @jitrt.jit
    def failing(x):
        raise LookupError(f"of {x.shape}")

    with pytest.raises(LookupError):
        failing(np.ones(1000))
    assert seen[-1][1] == ""


def test_seconds_of_stages():
    with Compilation("outer") as outer:
        enters("trace")
        with Compilation("inner"):
            enters("codegen")
        enters("codegen")
    assert set(outer.seconds) == {"trace", "codegen"} and not outer.stage
    enters("trace")  # nothing is compiled: nobody is told


def test_an_interrupted_end_leaves_nothing_behind():
    def interrupts(compilation):
        if not compilation.stage:
            raise KeyboardInterrupt

    watch(interrupts)
    with pytest.raises(KeyboardInterrupt), Compilation("outer"):
        enters("trace")
    unwatch(interrupts)
    assert not compiled_now()
    never_ended = Compilation("another")
    never_ended.__enter__()
    assert compiled_now() == "another"
    del never_ended
    assert not compiled_now()


@pytest.mark.parametrize("has_tqdm", [False, True])
def test_bars(has_tqdm, monkeypatch):
    if has_tqdm:
        pytest.importorskip("tqdm")
        monkeypatch.setattr("jitrt.running.progress._DELAY", 0)
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    jitrt.progress(True)
    try:
        with Compilation("model"):
            for stage in STAGES:
                enters(stage)
        other = threading.Thread(target=lambda: fresh()(np.ones(1000)))
        other.start()
        other.join()
    finally:
        jitrt.progress(False)
    text = shown.getvalue()
    assert "compiling model" in text and "generate machine code" in text
    before = len(text)
    with Compilation("model"):
        enters("codegen")
    assert len(shown.getvalue()) == before
