"""`np.mgrid` and `np.ogrid` in loops."""

import numpy as np
import pytest
from test_element_loops import agrees

X = np.array([3.0, 5.0, 1.0, 4.0, 0.0, 2.0, 6.0, 5.0])


def triangles(x, n):
    total = 0.0
    for k in range(n):
        rows, columns = np.mgrid[k:n, 0 : k + 1]
        total += (rows * columns * x[k]).sum()
    return total, np.mgrid[0:n, 1:4], np.ogrid[0:n, :3]


def planes(x, n):
    total = 0.0
    for k in range(n):
        a, b, c = np.ogrid[0:k, 1:3, k:n]
        total += (a + b * c).sum() + x[k]
        grid = np.mgrid[0:k, 0:2]
        grid[0] += 1
        total += grid[0].sum() + (grid[1, -1, 0] if k > 0 else 0)
    return total


def negative(x, n):
    total = 0.0
    for k in range(n):
        x[k] = 1
        total += np.mgrid[k:3, 0:2].sum()
    return total


@pytest.mark.parametrize("function", [triangles, planes])
def test_is_compiled_and_like_numpy(function):
    agrees(function, (X, 5), (X[::-1].copy(), 4), (X, 0), (X, 8))


def test_an_extent_below_zero():
    agrees(negative, (X, 3), (X, 2), (X, 6), (X, 3))
