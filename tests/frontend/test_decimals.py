"""``round(x, decimals)`` in loops gives the float that Python's or NumPy's gives."""

import numpy as np
import pytest
from test_element_loops import outcome, same
from texts import function_of

import jitrt

VALUES = {
    "random": np.random.default_rng(1).normal(size=3000) * 20,
    "large": np.random.default_rng(2).normal(size=50) * 1e7,
    "small": np.random.default_rng(3).normal(size=50) * 1e-3,
    "zeros and signs": np.array([0.0, -0.0, -0.001, 1e-300, -0.04, 0.75]),
    "middles": np.array([2.675, 0.125, 1.005, 0.15, 0.25, 2.5, -0.5]),
    "many middles": np.arange(60) * 0.005,
    "nan": np.array([1.25, np.nan]),
}


def rounded(x):
    python, numpy = [], []
    for v in x:
        python.append((round(float(v), 2), round(float(v), 1), round(float(v), 0)))
        numpy.append((round(v, 2), round(v * 3, 1), round(v, 0)))
    return python, numpy, round(len(x), 1)


@pytest.mark.parametrize("name", VALUES)
def test_as_python(name):
    compiled, x = jitrt.jit(rounded), VALUES[name]
    with np.errstate(all="ignore"):
        for values in (x, x[::2], x):
            assert repr(compiled(values)) == repr(rounded(values))


def test_it_is_compiled_and_does_not_stop():
    compiled, x = jitrt.jit(rounded), VALUES["random"]
    for _ in range(5):
        compiled(x)
    assert compiled.explain(x).loop
    assert sum(loop.stops for loops in compiled._loops._loops.values() for loop in loops) == 0


def named(x):
    out = {}
    for name, power in (("mean", 1), ("square", 2)):
        total = 0.0
        for v in x:
            total += v**power
        out[f"{name}_{power:02d}"] = total / len(x)
    return out


def test_texts_of_what_is_known():
    compiled, x = jitrt.jit(named), VALUES["small"]
    for values in (x, x[:7], x):
        assert {k: float(v).hex() for k, v in compiled(values).items()} == {
            k: float(v).hex() for k, v in named(values).items()
        }
    assert compiled.explain(x).loop


@pytest.mark.parametrize("dtype", [complex, np.complex64, np.float16, np.float32, float, np.int8, np.uint64, bool])
@pytest.mark.parametrize(
    "expression",
    ["round(v, 1)", "round(v)", "v.item()", "v.copy()", "round(v / 2)", "math.floor(v / 2)", "math.ceil(v)",
     "math.trunc(v)"],
)  # fmt: skip
def test_numbers_of_other_dtypes(dtype, expression):
    body = f"out = []\n    for v in x:\n        out.append({expression})\n    return out, {expression}"
    x, function = np.array([1, 0, 3]).astype(dtype), function_of(f"def f(x):\n    {body}\n")
    fast = jitrt.jit(function)
    for f in (fast, fast):
        same(outcome(f, (x,))[0], outcome(function, (x,))[0])
        assert outcome(f, (x,))[2] == outcome(function, (x,))[2]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, float])
@pytest.mark.parametrize("value", [-2.5, 0.5, -0.0, 3e4, np.inf, np.nan])
def test_whole_numbers_of_numpys_floats(dtype, value):
    body = "out = []\n    for v in x:\n        out.append((round(v), round(v * 3), math.floor(v), math.ceil(v)))"
    x, function = np.array([1.5, value, 2.5]).astype(dtype), function_of(f"def f(x):\n    {body}\n    return out\n")
    fast = jitrt.jit(function)
    for given in (x[:1], x, x[::2]):
        same(outcome(fast, (given,))[0], outcome(function, (given,))[0])
        assert outcome(fast, (given,))[2] == outcome(function, (given,))[2]
    assert dtype is np.float16 or fast.explain(x[:1]).loop
