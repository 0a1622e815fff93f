"""How threads share loops that add up rows: by whole lines of the cache, and not at all if a row has few."""

import numpy as np
import pytest

import jitrt
from jitrt.runtime import threads
from jitrt.runtime.image import _chunk


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: 4)


@pytest.mark.parametrize("columns", [1, 2, 16, 63, 64, 100, 300, 1000, 5000])
def test_columns(columns):
    chunk = _chunk(columns, by_columns=True)
    assert chunk % 64 == 0 and chunk >= columns / 16


@pytest.mark.parametrize(("rows", "chunk"), [(16, 1), (100, 7), (1000, 63), (2000, 128)])
def test_other_loops(rows, chunk):
    assert _chunk(rows, by_columns=False) == chunk


def shares(function, x):
    """For each kernel of a call whether threads add to parts of a row."""
    compiled = jitrt.jit(function)
    compiled(x)
    steps = compiled.explain(x).compiled.program.steps
    return [step.call.adds_to_rows for step in steps if hasattr(step, "kernel")]


def test_which_kernels_add_to_rows():
    x = np.random.default_rng(1).random((7000, 16))
    assert any(shares(lambda x: (x.sum(axis=0), (x > 0.5).sum(axis=0)), x))
    assert not any(shares(lambda x: x.sum(axis=1), x)) and not any(shares(lambda x: x * 2 + 1, x))


@pytest.mark.parametrize("columns", [1, 3, 16, 65, 300])
@pytest.mark.parametrize("rows", [1, 500, 9000])
def test_values(rows, columns):
    x = np.random.default_rng(1).integers(0, 100, (rows, columns)).astype(float)
    function = lambda x: (x.sum(axis=0), x.max(axis=0), (x > 50).sum(axis=0))  # noqa: E731
    compiled = jitrt.jit(function)
    for _ in range(3):
        for got, want in zip(compiled(x), function(x)):
            np.testing.assert_array_equal(got, want)
