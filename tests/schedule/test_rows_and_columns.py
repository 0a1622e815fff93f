"""Folds of the rows and of the columns of one producer, in one pass."""

import numpy as np
import pytest

import jitrt


def sums(x):
    e = np.exp(x)
    return e.sum(0), e.sum(1)


def several(x):
    e = np.exp(x)
    return e.sum(0), e.max(1), e.min(0), e.sum(1), e * 2


def cheap(x):
    return (x * x).sum(0), (x * x).max(1)


def weighted(x):
    return (x * x[:, :1]).sum(0), (x * x[:1]).sum(1)


SHAPES = [(1000, 300), (517, 301), (4000, 64), (300, 1000)]


def layouts(x):
    return {"C": x, "F": np.asfortranarray(x), "strided": np.repeat(x, 2, 1)[:, ::2], "reversed": x[::-1, ::-1]}


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [sums, several, cheap, weighted])
def test_one_pass_gives_what_two_give(function, shape, layout):
    x = layouts(np.random.default_rng(1).normal(size=shape))[layout]
    before = jitrt.num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            jitrt.set_num_threads(threads)
            results.append(jitrt.jit(function)(x))
    finally:
        jitrt.set_num_threads(before)
    for result, expected in zip(results[0], function(x)):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-11)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


def test_a_nan_is_in_its_row_and_in_its_column():
    x = np.random.default_rng(1).normal(size=(1000, 300))
    x[517, 299] = np.nan
    columns, rows = jitrt.jit(lambda x: (np.maximum(x, 0).max(0), np.maximum(x, 0).min(1)))(x)
    assert np.flatnonzero(np.isnan(columns)).tolist() == [299]
    assert np.flatnonzero(np.isnan(rows)).tolist() == [517]


def test_the_loop_nest(golden):
    nests = jitrt.jit(sums).explain(np.ones((1000, 1000))).loop_nests
    assert len(nests) == 2
    golden("schedule/rows_and_columns", "\n".join(map(str, nests)))


def test_three_axes_have_rows_too():
    def function(x):
        return x.sum((0, 1)), x.max(2)

    x = np.random.default_rng(1).normal(size=(20, 70, 300))
    f = jitrt.jit(function)
    for result, expected in zip(f(x), function(x)):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-11)
    assert len(f.explain(x).kernels) == 2


def test_rows_that_are_used_share_their_loop_with_their_users():
    def function(x):
        return (x * x).sum(0), x / (x * x).sum(1, keepdims=True)

    x = np.random.default_rng(1).normal(size=(1000, 300))
    f = jitrt.jit(function)
    for result, expected in zip(f(x), function(x)):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-11)
    assert "2 nests in one" in f.explain(x).text()
