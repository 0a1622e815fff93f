"""Functions with several results, one of which goes into an array that is larger than the operands."""

import numpy as np
import pytest

import jitrt

FUNCTIONS = {
    "divmod": lambda a, o: np.divmod(a, 2, out=(o, None)),
    "modf": lambda a, o: np.modf(a, out=(None, o)),
    "frexp": lambda a, o: np.frexp(a, o),
    "masked": lambda a, o: np.divmod(a, 2, out=(o, None), where=a > -1),
}


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 1, 4)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_has_no_array_of_its_own_has_the_same_shape(name, shape):
    fast, a = jitrt.jit(FUNCTIONS[name]), np.arange(4.0) * 1.5
    for _ in range(3):
        out, other = np.zeros(shape), np.zeros(shape)
        want, got = FUNCTIONS[name](a, out), fast(a, other)
        for x, y in zip(want, got):
            np.testing.assert_array_equal(x, y)
            assert x.strides == y.strides
        assert got[name == "modf"] is other
