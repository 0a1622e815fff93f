"""Functions in another module, which reach NumPy under names of their own."""

import numpy as anything
from numpy import full as filled
from numpy import zeros

WEIGHTS = anything.array([1.0, 2.0, 3.0])


def ramp(x):
    out = zeros(x.shape)
    out[1:] = x[:-1]
    return out + filled(x.shape, 0.5)


def weighted(x):
    result = anything.empty_like(x)
    result[...] = x * WEIGHTS
    return result


def asserts(x):
    assert x.min() >= 0, "negative"
    return anything.sqrt(x)


def asserts_after_a_write(x):
    x += 1
    if x[0] > 5:
        x[1] = 0
    assert x.sum() < 100
    return x
