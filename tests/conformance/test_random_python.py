"""Random programs over Python's state, with that state changed between calls, return and leave what NumPy does."""

import types

import numpy as np
import pytest
from covering import few
from python_programs import written

import jitrt

pytestmark = pytest.mark.filterwarnings("ignore")
STATE = ("o", "d", "cb", "LOG", "TABLE", "W", "Base", "Derived")


def picture(value, seen):
    """A value as nested tuples that can be compared, with numbers for what occurs again."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype, value.shape, value.tolist())
    if isinstance(value, np.generic):
        return ("scalar", value.dtype, value.item())
    if isinstance(value, (int, float, str, type(None))):
        return (type(value), value)
    if isinstance(value, (tuple, list, dict, type, types.FunctionType)) or hasattr(value, "a"):
        if id(value) in seen:
            return ("again", seen.index(id(value)))
        seen.append(id(value))
    if isinstance(value, (tuple, list)):
        return (type(value), *(picture(v, seen) for v in value))
    if isinstance(value, dict):
        return (dict, *((k, picture(v, seen)) for k, v in value.items()))
    if isinstance(value, types.FunctionType):
        cells = [c.cell_contents for c in value.__closure__ or ()]
        return (value.__name__, *(picture(v, seen) for v in cells), picture(value.__defaults__, seen))
    if isinstance(value, type):
        names = [n for n in vars(value) if not n.startswith("__")]
        return (value.__name__, *((n, picture(vars(value)[n], seen)) for n in names if n in ("s", "w", "log")))
    if hasattr(value, "a"):
        held = vars(value) if hasattr(value, "__dict__") else {n: getattr(value, n) for n in value.__slots__}
        return (type(value).__name__, *((k, picture(v, seen)) for k, v in held.items()))
    return type(value).__name__


def close(one, other):
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-9, equal_nan=True))
    return one == other


def run(source, changes, jit):
    """What the calls return or raise, and what they leave."""
    space = {"__name__": "world"}
    exec(source, space)
    f, found = jit(space["f"]), []
    with np.errstate(all="ignore"):
        for k, change in enumerate(changes):
            try:
                result = f(np.arange(5.0) * 0.25 + k, space["o"], space["cb"], space["d"], space["kind"])
            except Exception as error:
                result = type(error).__name__
            seen = []
            found.append(picture((result, *(space[name] for name in STATE)), seen))
            try:
                exec(change, space)
            except Exception as error:
                found.append(type(error).__name__)
    return found


def mismatch(seed):
    """In what a compiled program differs from the plain one; empty if it does not."""
    source, changes = written(seed)
    want, got = (run(source, changes, jit) for jit in (lambda f: f, jitrt.jit))
    for k, (x, y) in enumerate(zip(want, got)):
        if not close(x, y):
            return f"call {k}: {y}\nand not {x}\n{source[source.index('def f(') :]}{changes}"
    return ""


@pytest.mark.parametrize("block", few(range(4), 2))
def test_random_python(block):
    for seed in range(25 * block, 25 * block + 25):
        assert not mismatch(seed), seed


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_much_random_python(block):
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        assert not mismatch(seed), seed
