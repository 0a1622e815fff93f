"""Signs of zeros, infinities and nan: what expressions of one number make of them, in loops and outside."""

import numpy as np
import pytest
from test_element_loops import outcome, same
from texts import function_of

import jitrt

EXPRESSIONS = """
np.clip(v, 0, 1)
np.clip(v, -0.0, 1.0)
np.clip(x, 0, 1)
np.clip(x, 0, None)
np.clip(x, None, 0.0)
v.clip(0, 1)
np.maximum(v, 0)
np.minimum(v, 0.0)
max(v, 0.0)
min(v, 0.0)
np.sum(v)
np.sum(x)
np.mean(v)
np.mean(x[:1])
np.prod(v)
np.cumsum(x)
v ** 0.5
np.power(v, 0.5)
x ** 0.5
v ** y
np.power(v, y)
v ** 2
np.sqrt(v)
abs(v)
-v
v + 0.0
v * 0
round(v, 1)
np.round(x, 1)
math.sqrt(v)
math.log1p(v)
math.log(v)
math.fmod(v, 1.0)
math.atan2(v, -1.0)
math.copysign(1.0, v)
math.sin(v)
math.acos(v)
math.atanh(v)
math.floor(v)
int(v)
divmod(v, 1.0)
v // 1.0
v % 1.0
float(v) // 1.0
float(v) % -1.0
np.sign(v)
np.heaviside(v, 0.5)
"""
VALUES = [[1.0, 4.0], [-0.0, 0.0], [0.0, -0.0], [np.inf, 1.0], [-np.inf, 1.0], [np.nan, -1.0], [1.0, 4.0]]


@pytest.mark.wide
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("expression", EXPRESSIONS.split("\n")[1:-1])
def test_as_numpy(expression, dtype):
    in_a_loop = f"def f(x, y):\n    out = []\n    for v in x:\n        out.append({expression})\n    return out\n"
    alone = f"def f(x, y):\n    v = x[0]\n    return {expression}, x + 1\n"
    for source in (in_a_loop, alone):
        function = function_of(source)
        fast = jitrt.jit(function)
        for values in VALUES:
            args = np.array(values, dtype), 0.5
            want = outcome(function, args)
            for _ in range(2):
                got = outcome(fast, args)
                assert got[2] == want[2], values
                same(got[0], want[0])
