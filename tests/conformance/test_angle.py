"""The angle of complex numbers in the plane, in radians and degrees; of real ones it is 0 or pi."""

import numpy as np
import pytest
from compare import check
from operands import special


@pytest.mark.parametrize("char", "FDfdil")
def test_angle(char):
    x = special(char)
    check(lambda x: (np.angle(x), np.angle(x[::-1]), np.angle(x[:6].reshape(2, 3).T)), x, ulp=2, zeros=False)


@pytest.mark.parametrize("char", "FD")
def test_degrees(char):
    x = special(char)
    check(lambda x: (np.angle(x, deg=True), np.angle(x * 2, True) + 1), x, ulp=4, zeros=False)
