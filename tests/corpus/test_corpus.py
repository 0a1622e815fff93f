"""Functions as people write them give what they give as plain NumPy: results, changed arguments, errors, output."""

import contextlib
import io

import corpus_algorithms
import corpus_finance
import corpus_geometry
import corpus_images
import corpus_learning
import corpus_mutation
import corpus_physics
import corpus_python
import corpus_report
import corpus_signals
import corpus_simulation
import corpus_statistical
import numpy as np
import pytest
from catalogue import EXAMPLES
from corpus_compare import assert_agree, shared_memory

import jitrt

MODULES = (
    corpus_algorithms, corpus_finance, corpus_geometry, corpus_images, corpus_learning, corpus_mutation,
    corpus_physics, corpus_python, corpus_signals, corpus_simulation, corpus_statistical,
)  # fmt: skip


def outcome(function, args, log):
    """Everything that a caller sees of a call."""
    if log is not None:
        log.clear()
    printed = io.StringIO()
    value = error = None
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        try:
            value = function(*args)
        except Exception as raised:
            error = (type(raised), str(raised))
    return {
        "error": error,
        "value": value,
        "arguments": args,
        "printed": printed.getvalue(),
        "log": None if log is None else list(log),
        "shared": shared_memory(value, args, log),
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_agrees_with_numpy(name):
    example = EXAMPLES[name]
    compiled = jitrt.jit(example.function)
    for size in example.sizes:
        for n, seed in ((size, 0), (size, 1), (size + 1, 2), (size, 3)):
            want = outcome(example.function, example.make(np.random.default_rng(seed), n), example.log)
            got = outcome(compiled, example.make(np.random.default_rng(seed), n), example.log)
            assert_agree(got, want, example.tolerance, f"{name}({n}, seed {seed})")
    with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        try:
            reason = compiled.explain(*example.make(np.random.default_rng(0), example.sizes[0])).plain_reason
        except Exception as error:
            reason = f"raises {error!r}"
    corpus_report.STATES[name] = reason
    engine, args = compiled._loops, example.make(np.random.default_rng(0), example.sizes[0])
    if engine.active and (engine.reason(args) or engine.source(args)):
        corpus_report.LOOPS[name] = engine.reason(args)


def test_the_corpus_is_large_enough():
    assert len(EXAMPLES) >= 120 and len(MODULES) >= 8
