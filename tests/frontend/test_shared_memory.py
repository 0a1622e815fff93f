"""Functions that ask whether arrays share memory: parts of one that is not there yet do as they will."""

import numpy as np
import pytest

import jitrt

FUNCTIONS = {
    "reversed": lambda x, y: np.shares_memory(y[..., ::-1].T, y),
    "halves": lambda x, y: (np.shares_memory(y[:1], y[1:]), np.may_share_memory(y[:, ::2], y[:, 1::2])),
    "every other": lambda x, y: np.shares_memory(y[:, ::2], y[:, 1::2]),
    "copy": lambda x, y: (np.shares_memory(y.copy(), y), np.shares_memory(y.reshape(-1), y)),
    "arguments": lambda x, y: (np.shares_memory(x, x[1:]), np.shares_memory(x, y)),
    "parts of numbers": lambda x, y: np.shares_memory((y + 0j).real, (y + 1j).imag),
    "parts of one": lambda x, y: (lambda z: np.shares_memory(z.real, z.imag))(y + 1j),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shared_memory(name):
    def function(x):
        y = x * 2
        return y, FUNCTIONS[name](x, y)

    fast = jitrt.jit(function)
    for shape in [(2, 3), (2, 3), (40, 60), (1, 1), (3, 2)]:
        x = np.arange(float(np.prod(shape))).reshape(shape)
        want, got = function(x), fast(x)
        np.testing.assert_array_equal(want[0], got[0])
        assert want[1] == got[1]
