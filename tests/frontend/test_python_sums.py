"""Sums of Python's numbers, which Python 3.12 and later make with less rounding, by ``sum`` and ``math.sumprod``."""

import math

import numpy as np
import pytest

import jitrt

X = np.ones(300)
HUGE = 1e16
add = sum

SUMS = {
    "of a list": lambda x, a, b: x * sum([a] * 10),
    "of a tuple": lambda x, a, b: x * sum((a, b, -a)),
    "of a generator": lambda x, a, b: x * sum(v * 0.5 for v in (a, b, -a)),
    "with a start": lambda x, a, b: (sum([a, b, -a], 0.25), sum([a, b, -a], start=1), sum([a, -a], -0.0)),
    "with a truth value as its start": lambda x, a, b: sum([a, b, -a], True),
    "of floats and integers": lambda x, a, b: (sum([1, True, a, b, 7, False, -a]), sum([a, b, 2**70, -a])),
    "of large integers first": lambda x, a, b: sum([2**62, 2**62, a, b, -a, b]),
    "of NumPy's numbers, too": lambda x, a, b: (sum([a, b, x[0], -a]), sum([x[0], a, b, -a])),
    "of elements as Python has them": lambda x, a, b: sum(v.item() * b for v in x[:10]),
    "by another name": lambda x, a, b: x * add([a, b, -a]),
    "by a local name": lambda x, a, b: [f([a, b, -a]) * x for f in (sum,)],
    "handed on": lambda x, a, b: x * max(map(sum, [[a, b, -a], [b, a, -a]])),
    "in a loop": lambda x, a, b: [x * sum([a, b * k, -a]) for k in range(3)],
    "of nothing": lambda x, a, b: (sum([]), sum([], a), sum([-0.0 * a])),
    "of lists": lambda x, a, b: sum([[a], [b]], []),  # noqa: RUF017
    "of arrays": lambda x, a, b: sum([x, x * a, b]),
    "of strings": lambda x, a, b: sum(["a"], ""),
    "of none": lambda x, a, b: sum(),
    "of products": lambda x, a, b: x * math.sumprod([a, b, -a], [1.0, 1.0, 1.0]) + math.sumprod([b, 2], (3, 4.0)),
    "of products of elements": lambda x, a, b: math.sumprod(x[:3], [a, b, -a]),
}


def outcome(function, *args):
    try:
        return repr(function(*args))
    except Exception as error:
        return repr(error)


@pytest.mark.wide
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_pythons(name, traced, request):
    if traced:
        request.getfixturevalue("without_procedures")
    compiled = jitrt.jit(SUMS[name])
    for a, b in ((0.1, 0.3), (HUGE, 0.1), (math.inf, 0.1), (1e308, 1e308), (-0.0, -0.0)):
        with np.errstate(all="ignore"):
            for _ in range(2):
                assert outcome(compiled, X, a, b) == outcome(SUMS[name], X, a, b)


@pytest.mark.parametrize("traced", [False, True])
def test_sums_of_lists_of_any_length(traced, request):
    def run(x, values):
        return x + sum(values), sum(values)

    if traced:
        request.getfixturevalue("without_procedures")
    compiled = jitrt.jit(run)
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 10, 40):
        for scale in (1.0, 1e16):
            values = (rng.standard_normal(size) * rng.choice([1.0, scale], size)).tolist()
            assert outcome(compiled, X, values) == outcome(run, X, values)
    assert outcome(compiled, X, [math.inf, -math.inf, 1.0]) == outcome(run, X, [math.inf, -math.inf, 1.0])
    assert outcome(compiled, X, [-0.0, -0.0]) == outcome(run, X, [-0.0, -0.0])
    assert outcome(compiled, X, []) == outcome(run, X, [])


def test_sums_in_loops_over_elements():
    def run(x, values):
        for k in range(len(x)):
            x[k] = x[k] * sum(values)
        return x, sum(values)

    compiled = jitrt.jit(run)
    for values in ([0.1] * 10, [HUGE, 1.0, -HUGE], [-0.0], [], [math.inf, -math.inf], [1e308, 1e308, -1e308], [0.5, 2]):
        assert outcome(compiled, X[:9].copy(), values) == outcome(run, X[:9].copy(), values)
    assert compiled.explain(X[:9].copy(), [0.1] * 10).loop
