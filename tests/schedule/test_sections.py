"""Long programs are cut where few values are handed on; what is repeated is one kernel."""

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.schedule import sections


def positions(y, v, steps):
    """An oscillator with friction: two values go from step to step, and one of them is a result."""
    found = []
    for _ in range(steps):
        v = v - 0.01 * (np.sin(y) + 0.1 * v)
        y = y + 0.01 * v
        found.append(y)
    return found


def chain(x, c, steps):
    for k in range(steps):
        x = x * (1 + k / 1024) + c if k % 2 else x * c - x
    return x


def arguments(n=200):
    return np.linspace(0.1, 1, n), np.linspace(-1, 1, n)


@pytest.mark.parametrize("steps", [10, 100, 300])
@pytest.mark.usefixtures("without_procedures")
def test_the_kernels_of_an_unrolled_loop_are_few(steps):
    function = jitrt.jit(lambda y, v: positions(y, v, steps))
    args = arguments()
    for got, wanted in zip(function(*args), positions(*args, steps), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    explanation = function.explain(*args)
    texts = {str(nest) for nest in explanation.loop_nests}
    assert len(texts) <= 4  # the first one, the last one, and those in between
    assert max(text.count("sin") for text in texts) <= 2 * sections._LENGTH // 16


@pytest.mark.parametrize("steps", few([50, 400, 1500], 2))
@pytest.mark.usefixtures("without_procedures")
def test_chains(steps):
    function = jitrt.jit(lambda x, c: chain(x, c, steps))
    x, c = np.linspace(0, 1, 100), np.linspace(0.4, 0.6, 100)
    np.testing.assert_allclose(function(x, c), chain(x, c, steps), rtol=1e-9)
    nests = function.explain(x, c).loop_nests
    assert len(nests) == max(1, 2 * steps // sections._LENGTH)


def test_independent_results_are_not_one_nest():
    function = jitrt.jit(lambda x: [np.sin(x * k) for k in range(1, 200)])
    x = np.linspace(0, 1, 50)
    np.testing.assert_allclose(function(x), [np.sin(x * k) for k in range(1, 200)], rtol=1e-12, atol=1e-15)
    assert all(str(nest).count("sin") <= 2 * sections._LENGTH // 16 for nest in function.explain(x).loop_nests)


@pytest.mark.parametrize("shape", few([(), (3, 40), (0,), (7,), (5, 1, 6)], 3))
def test_shapes_folds_and_scans_across_sections(shape):
    def plain(x):
        found = []
        for k in range(150):
            x = np.tanh(x) * 0.5 + x.sum() / 1000
            if k % 40 == 0:
                x = np.cumsum(np.ravel(x)).reshape(shape) * 0.1
            found.append(x.max(initial=0) if k % 3 else x)
        return found

    x = np.random.default_rng(0).uniform(-1, 1, shape)
    got, wanted = jitrt.jit(plain)(x), plain(x)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10)
        assert type(g) is type(w)


def test_many_values_alive_move_the_cut():
    def plain(x):
        values = [x * (k + 1) for k in range(12)]
        for _ in range(150):
            values = [v * 0.99 + w * 0.01 for v, w in zip(values, values[1:] + values[:1])]
        return sum(values)

    x = np.linspace(0, 1, 64)
    function = jitrt.jit(plain)
    np.testing.assert_allclose(function(x), plain(x), rtol=1e-12)
    assert len(function.explain(x).loop_nests) > 1
