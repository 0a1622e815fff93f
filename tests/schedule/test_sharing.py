"""Groups that share outer loops: what is shared, where rows lie, and programs that were wrong once."""

import numpy as np
import pytest

import jitrt


def check(function, *args, kernels=None, frame=None):
    """Compare with NumPy; the explanation."""
    compiled = jitrt.jit(function)
    want = function(*args)
    for _ in range(2):
        got = compiled(*args)
        for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-14)
    explanation = compiled.explain(*args)
    assert not explanation.plain_reason
    assert kernels is None or len(explanation.kernels) == kernels
    assert frame is None or explanation.frame_bytes == frame
    return explanation


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def standardised_rows(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-9)


def standardised_columns(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)


def logsumexp(x):
    highest = np.max(x, axis=1)
    return highest + np.log(np.sum(np.exp(x - highest[:, None]), axis=1))


ROWS = [(40, 1), (40, 2), (40, 7), (31, 64), (9, 513), (20, 4096), (9, 5000), (700, 3)]


@pytest.mark.wide
@pytest.mark.parametrize("function", [softmax, standardised_rows, logsumexp, lambda x: x.var(axis=1)])
@pytest.mark.parametrize("shape", ROWS)
def test_a_row_loop_keeps_nothing_in_memory(function, shape):
    x = np.random.default_rng(1).normal(size=shape)
    check(function, x, kernels=1 if shape[1] > 1 else None, frame=0 if shape[1] > 1 else None)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x[::-1], lambda x: x[:, ::2], lambda x: x[:, ::-1]])
def test_memory_orders(layout):
    x = layout(np.random.default_rng(1).normal(size=(60, 70)))
    for function in (softmax, standardised_rows, standardised_columns, logsumexp):
        check(function, x)


def test_a_row_that_is_too_long_for_the_stack_lies_in_the_result():
    (nest,) = check(softmax, np.random.default_rng(1).normal(size=(12, 6000)), kernels=1, frame=0).loop_nests
    assert not any(operand.is_local for operand in nest.operands)


def test_the_result_is_not_used_as_long_as_its_row_is_read_elsewhere():
    def function(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) - e[:, ::-1]

    check(function, np.random.default_rng(1).normal(size=(12, 6000)))


def test_a_row_that_is_read_from_its_second_element():
    def function(x):
        t = np.where(x > 0, x, x.std(axis=1, keepdims=True))
        u = np.repeat(t[:, -1:], 2, 1)
        return np.tanh(u), u

    check(function, np.array([[1.5, 4.5], [0.5, 2.5]]))


def test_an_axis_that_one_result_folds_is_not_shared():
    def function(x):
        t = x * 2 + x
        return np.pad(np.repeat(t, 2, 0), 1), t.mean(keepdims=True)

    check(function, np.array([0.0, -2, 6, -2, 0]))


def test_a_fold_over_rows_and_one_over_columns():
    def function(x):
        t = np.exp(x)
        return t.sum(axis=0), t.sum(axis=1), t / t.sum(axis=1, keepdims=True)

    check(function, np.random.default_rng(1).normal(size=(50, 40)))


def test_a_value_that_numpy_needs_in_between():
    def function(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        order = np.sort(e, axis=0)
        return e / e.sum(axis=1, keepdims=True) + order

    check(function, np.random.default_rng(1).normal(size=(30, 40)))


def test_rows_of_a_large_array_are_shared_out_among_threads():
    x = np.random.default_rng(1).normal(size=(4000, 256))
    one, all_ = jitrt.jit(softmax, threads=1), jitrt.jit(softmax)
    np.testing.assert_array_equal(one(x), all_(x))
    (kernel,) = all_.explain(x).kernels
    assert "parallel" in str(kernel.nest).splitlines()[1]


def test_results_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(1).normal(size=(20_000, 33))
    before = jitrt.num_threads()
    try:
        results = []
        for n in (1, 2, 3):
            jitrt.set_num_threads(n)
            results.append([jitrt.jit(f)(x) for f in (softmax, standardised_columns, logsumexp)])
    finally:
        jitrt.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


def test_few_long_rows_keep_their_two_stages():
    """One row has work for every thread only if it is cut into blocks."""
    x = np.random.default_rng(1).normal(size=(2, 200_000))
    assert len(check(softmax, x).kernels) > 1


def test_explain_says_why_a_value_is_stored():
    x = np.random.default_rng(1).normal(size=(300, 64))
    assert "stored on its own" in check(standardised_columns, x).text()


@pytest.mark.parametrize("shape", [(12, 5), (600, 7), (40, 3000)])
def test_a_row_is_no_part_of_another_shape(shape):
    """What is reshaped there and back has the same axes, but a row of it, alone on the stack, cannot be reshaped."""

    def function(x):
        n = -x
        there = n.reshape(x.shape[::-1])
        return np.cos(np.tanh(n) + n) - there.reshape(x.shape)

    check(function, np.random.default_rng(1).normal(size=shape))


def test_a_gather_from_what_the_same_kernel_computes():
    """Everything is one turn, but what is gathered from lies in memory."""

    def function(x):
        highest = x.max(axis=0, keepdims=True)
        taken = np.take(highest, np.arange(70) % highest.shape[1] - 1, axis=1)
        return highest, taken.min(), np.pad(highest[:, :1] + taken, 2)[1:-1], np.exp(highest[0, taken.argmin()]) + taken

    for columns in (1, 3):
        check(function, np.random.default_rng(1).normal(size=(31, columns)))
