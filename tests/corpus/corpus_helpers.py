"""Helpers that functions of the corpus call, in a module of their own."""

import numpy as np
from numpy import linspace, zeros


def window(n):
    w = zeros(n)
    w[n // 4 : -(n // 4) or None] = 1.0
    return w * linspace(1, 2, n)


def scale(x, factor=2.0):
    return x * factor


def cumulative(x, axis=-1):
    total = np.cumsum(x, axis=axis)
    return total / np.take(total, [-1], axis=axis)
