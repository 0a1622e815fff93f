"""``reshape`` with -1 for an extent in staged functions."""

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

X = np.arange(24.0)


@pytest.mark.parametrize("given", ["-1, 4", "(4, -1)", "-1, 2, 3", "(2, -1, n)", "-1, n", "n, -1", "3, -1, 2, 2"])
def test_an_open_extent(given):
    function = function_of(
        "def f(x, n):\n    t = 0.0\n    for k in range(n):\n        t += x[k]\n"
        f"    y = x.reshape({given})\n    return y * 2, y.shape, t\n"
    )
    agrees(function, (X, 6), (X[:12], 4), (X.reshape(4, 6).ravel(), 3))


@pytest.mark.parametrize("given, n", [("-1, n", 5), ("n, -1, 0", 3), ("-1, n - n", 3), ("-1, -1", 3)])
def test_extents_that_do_not_fit(given, n):
    function = function_of(
        "def f(x, n):\n    t = 0.0\n    for k in range(n):\n        t += x[k]\n"
        f"    y = x.reshape({given})\n    return y * 2, t\n"
    )
    for x in (X, X[:0], X[:7]):
        if len(x) >= n:
            agrees(function, (x, n), compiled=given != "-1, -1")
