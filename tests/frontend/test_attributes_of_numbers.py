"""Python's numbers have none of the attributes of arrays, whether they are arguments or computed."""

import numpy as np
import pytest

import jitrt

CALLS = """shape size ndim dtype itemsize nbytes T flat device strides base flags data
astype(float) item() tolist() fill(1.0) sort() copy() ravel() flatten() reshape(1) transpose() squeeze() sum() max()
mean() any() all() dot(2.0) take(0) clip(0, 1) round() cumsum() put(0, 1) nonzero() swapaxes(0, 0) view(int) argmax()
repeat(2) searchsorted(1) trace() diagonal() ptp() std() tobytes() compress([True]) choose([1])
real imag conjugate() is_integer() as_integer_ratio() hex() bit_length() __abs__() nothing""".split("\n")
ASKED = [name for line in CALLS for name in line.replace(", ", ",").split()]
NUMBERS = {
    "float": (2.5, "v"),
    "integer": (3, "v"),
    "truth value": (True, "v"),
    "complex": (1j, "v"),
    "NumPy's": (np.float64(2.5), "v"),
    "computed": (2.5, "(v * 2.0 + 1.0)"),
    "of an element": (2.5, "float(x[0])"),
    "by item": (2.5, "x[1].item()"),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("ignore")
def test_like_python(name):
    value, number = NUMBERS[name]
    for asked in ASKED:
        space = {"np": np}
        exec(
            f"""def f(x, v):
    y = x * 2.0
    try:
        {number}.{asked}
    except AttributeError:
        return -y
    return y
""",
            space,
        )
        compiled, x = jitrt.jit(space["f"]), np.array([0.5, 2.0])
        for _ in range(2):
            seen = []
            for f in (space["f"], compiled):
                try:
                    seen.append(f(x, value).tolist())
                except (TypeError, ValueError, IndexError) as error:
                    seen.append(type(error))
            assert seen[0] == seen[1], asked
