"""Every kernel that does much can be shared out evenly, whatever extents are in front: looked up in the schedule."""

import numpy as np
import pytest

import jitrt
from jitrt.runtime.steps import KernelStep

MUCH = 500_000  # additions
ENOUGH = 12  # turns: of these, each of two to six threads has nearly as many as the others

SHAPES = [(1, 1_000_000), (3, 400_000), (1_200_000,), (400_000, 3), (400_000, 1), (2, 3, 200_000), (1, 1000, 1000)]
SHAPES += [(3, 600, 700), (1, 1, 1_000_000), (3, 1, 400_000), (1000, 1000), (5, 200, 1000), (600, 3, 700)]

FUNCTIONS = {
    "elementwise": lambda x: np.exp(x) * 2,
    "total": lambda x: (x * x).sum(),
    "rows": lambda x: x.sum(axis=-1),
    "columns": lambda x: x.sum(axis=0),
    "maxima of rows": lambda x: abs(x).max(axis=-1),
    "maxima of columns": lambda x: x.max(axis=0),
    "any": lambda x: (x > 5).any(axis=-1),
    "product": lambda x: (x / 9).prod(axis=-1),
    "softmax": lambda x: (e := np.exp(x - x.max(axis=-1, keepdims=True))) / e.sum(axis=-1, keepdims=True),
    "standardised columns": lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1),
    "standardised rows": lambda x: (x - x.mean(axis=-1, keepdims=True)) / (x.std(axis=-1, keepdims=True) + 1),
    "normalised": lambda x: x / np.sqrt((x * x).sum()),
    "transposed": lambda x: x.T.copy() + 1,
    "joined": lambda x: np.concatenate([x, x * 2], axis=-1),
    "all but the first": lambda x: x.mean(axis=tuple(range(1, x.ndim))) if x.ndim > 1 else x.mean(),
    "rows and columns": lambda x: (x.sum(axis=0), x.sum(axis=-1)),
    "stencil of a stencil": lambda x: np.diff(np.diff(np.sqrt(x)) * x[..., 1:]),
    "logarithm of a sum": lambda x: np.log(np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1)),
}


def calls(explanation):
    return [s.call for s in explanation.compiled.program.steps if isinstance(s, KernelStep)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_turns_are_enough(name):
    for shape in SHAPES:
        explanation = jitrt.jit(FUNCTIONS[name]).explain(np.ones(shape))
        assert not explanation.plain_reason
        for call in calls(explanation):
            assert call.work < MUCH or call.span >= ENOUGH, (shape, str(call.nest), call.extents)


@pytest.mark.wide
@pytest.mark.parametrize("shape", [(1, 300_000), (3, 100_000), (300_000, 1), (3, 300, 301)])
@pytest.mark.parametrize("name", ["total", "rows", "columns", "standardised rows", "normalised", "softmax"])
def test_results_do_not_depend_on_threads(name, shape):
    x = np.random.default_rng(3).normal(size=shape)
    first = jitrt.jit(FUNCTIONS[name], threads=1)(x)
    for threads in (2, 3, 5):
        assert jitrt.jit(FUNCTIONS[name], threads=threads)(x).tobytes() == first.tobytes()
