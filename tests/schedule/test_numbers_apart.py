"""Unrolled loops over elements: functions of single numbers share the code of one kernel."""

import numpy as np

import jitrt


def trace_of_tanh(a):
    total = 0.0
    for i in range(len(a)):
        total += np.tanh(a[i, i])
    return a + total


def test_functions_of_many_numbers_share_their_code(without_procedures):
    a = np.random.default_rng(0).normal(size=(40, 40))
    fast = jitrt.jit(trace_of_tanh)
    np.testing.assert_allclose(fast(a), trace_of_tanh(a), rtol=1e-14)
    kernels = fast.explain(a).kernels
    assert len(kernels) > 40 and len({k.name for k in kernels}) < 5


def test_functions_of_few_numbers_stay_in_one_kernel():
    a = np.random.default_rng(0).normal(size=(3, 3))
    assert len(jitrt.jit(trace_of_tanh).explain(a).kernels) < 3
