"""What `explain` says about nests that were not fused: why, and what fusing them would have saved and cost."""

import numpy as np
import pytest
from fused_programs import Maker

import jitrt
from jitrt.pipeline import lower


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_of_columns(x):
    e = np.exp(x - x.max(0, keepdims=True))
    return e / e.sum(0, keepdims=True)


def scaled_gradient(x):
    across = x[1:-1, 2:] - x[1:-1, :-2]
    down = x[2:, 1:-1] - x[:-2, 1:-1]
    size = np.sqrt(across * across + down * down)
    return size / size.max()


def spectrum(x):
    z = np.fft.rfft(np.sin(x) * 2)
    return np.abs(z) ** 2


def scaled_rows_and_columns(x):
    e = np.exp(np.sin(x))
    return e.sum(0), e / e.sum(1, keepdims=True)


def scaled_rows_and_columns_of_squares(x):
    return (x * x).sum(0), x / (x * x).sum(1, keepdims=True)


def search_and_sum(x):
    e = np.exp(x)
    return e.argmax(1), e.sum(1)


def plus_transposed(x):
    e = np.exp(x)
    return e + e.T


def scan_and_sum(x):
    e = np.exp(x)
    return e.cumsum(1), e.sum(1)


SAID = [
    (softmax_of_columns, "exp is stored on its own, for step 4 (divide): one has to wait for all of the other"),
    (softmax_of_columns, "2.88 MB written and 2.88 MB read, against 6.12 M additions if computed there"),
    (softmax_of_columns, "partial_reduce_add is stored on its own, for step 3 (reduce_add): its blocks are shared out"),
    (scaled_gradient, "sqrt is stored on its own, for step 2 (divide): one has to wait for all of the other"),
    (spectrum, "is executed by NumPy on whole arrays; 2.88 MB written and 2.88 MB read"),
    (spectrum, "1: NumPy executes np.fft.rfft"),
    (
        scaled_rows_and_columns,
        "exp is stored on its own, for step 1 (partial_reduce_add): the one folds axes (1,), the other",
    ),
    (
        scaled_rows_and_columns_of_squares,
        "2.88 MB that step 0 (partial_reduce_add) reads are read again: nests that share a loop are one",
    ),
    (search_and_sum, "for step 1 (arg_reduce_maximum): a search runs alone"),
    (plus_transposed, "for step 1 (add): a user has to wait for all of it; 2.88 MB written and 2.88 MB read"),
    (scan_and_sum, "a scan and a fold, or scans along two axes, need loops of their own"),
]


@pytest.mark.parametrize("function, text", SAID)
def test_what_is_said(function, text):
    x = np.random.default_rng(1).normal(size=(600, 600))
    explanation = jitrt.jit(function).explain(x)
    assert text in explanation.text()


def test_one_nest_needs_no_reason():
    explanation = jitrt.jit(softmax).explain(np.random.default_rng(1).normal(size=(600, 600)))
    assert len(explanation.kernels) == 1
    assert "on its own" not in explanation.text() and "read again" not in str(explanation)


def test_every_value_that_another_group_reads_has_a_reason():
    found = 0
    for seed in range(60):
        graph, values = Maker(seed).make(3 + seed % 12)
        block = lower(graph, values).block
        for k, (group, step) in enumerate(zip(block.groups, block.steps)):
            for sink in group.sinks:
                if any(sink.into in later.loads for later in block.groups[k + 1 :]):
                    assert f"{sink.into.op.name} is stored on its own, for step" in step.reason, graph
                    found += 1
    assert found > 20
