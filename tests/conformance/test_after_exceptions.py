"""After an exception every byte is what NumPy leaves: what stands before it was written, what comes after it was not.

Warm programs have got through the same lines in earlier calls, so that only the values are wrong.
"""

import warnings

import numpy as np
import pytest
from outcomes import outcome

import jitrt

SIZES = (24, 20_000)

# What fails if `bad` is 1, or if y[0] is 0; and what is an ordinary result otherwise.
FAILING = {
    "solved": "t = np.linalg.inv(np.eye(3) * y[0]); x[:3] = t[0]",
    "index": "x[1] = y[(len(y) - 1) + bad]",
    "negative index": "x[1] = y[-len(y) - bad]",
    "gathered": "x[:3] = y[np.array([0, 1, 2]) + (y[:3] == 0.0) * 10**6]",
    "taken": "x[:3] = np.take(y, np.array([0, 1, 2]) + (y[0] == 0.0) * 10**6)",
    "scattered": "x[np.array([1, 2]) + (y[:2] == 0.0) * 10**6] = 5.0",
    "raised": "if y[0] == 0.0: raise KeyError('zero')",
    "asserted": "assert y.min() > 0.0, 'too small'",
    "divided": "x[2:] = x[2:] / y[:-2]",
    "root": "x[:] = x + np.sqrt(y - 1.0)",
    "chosen": "x[:2] = np.choose((y[:2] == 0.0) * 7, [y[:2], y[1:3]])",
    "split": "x[:2] = np.split(y[:6], 2 + 2 * bad)[0][:2]",
    "broadcast": "x[:2] = y[: 2 + bad]",
    "bincount": "x[:3] = np.bincount((y[:3] > 0.0) * 2 - 1, minlength=3)",
    "called": "x[0] = helper(y[0])",
    "in a loop": "for k in range(4): x[k] = y[len(y) - 4 + k + bad]",
    "object": "x[0] = {0: 1.0}[bad]",
}
STATEMENTS = (
    "x += 1.0",
    "x[1:] = x[:-1] * 2.0",
    "z *= 3.0",
    "z[::2] = x[::2]",
    "x[:] = y * 2.0 + z",
    "z[...] = np.sort(x)[::-1]",
    "x[3] = z.max()",
    "s = s + x.max()",
    "x, z = z, x",
    "np.cumsum(y, out=z)",
    "if z[1] > 1e9: x[:] = 0.0",
    "y[4:] += x[4:] * 0.5",
)
OVERWRITING = ("x[:] =", "x, z =", "z[...]", "np.cumsum")  # what was computed before, which then may not be computed


def helper(value):
    if value == 0.0:
        raise ArithmeticError("nothing")
    return value * 2.0


def program(name, seed):
    """A function with a line that may fail, and others around it."""
    rng = np.random.default_rng(seed)
    before, after = ([str(s) for s in rng.choice(STATEMENTS, n)] for n in rng.integers(0, 4, 2))
    after = [s for s in after if not s.startswith(OVERWRITING)]
    lines = ["s = 0.0", *before, FAILING[name], *after]
    lines.append(str(rng.choice(["return s + x.max()", "return x * 1.0", "return x, z[1:]", "return None"])))

    names = {"np": np, "helper": helper}
    exec("def f(x, y, z, bad):\n" + "".join(f"    {line}\n" for line in lines), names)
    return names["f"], "\n".join(lines)


def check(compiled, text, size, is_bad, donated=""):
    seen = []
    for f in (compiled.__wrapped__, compiled):
        x, y, z = np.arange(float(size)), np.arange(float(size)) % 7.0 + 1.0, np.ones(size)
        if is_bad:
            y[0] = 0.0
        with warnings.catch_warnings(record=True) as caught, np.errstate(divide="raise", invalid="raise"):
            warnings.simplefilter("always")
            found = outcome(f, [x, y, z, int(is_bad)], [x, y, z])
        if donated:
            del found[2]
            if not found[0]:
                del found[-1]["xyz".index(donated)]
        seen.append([*found, [str(w.message) for w in caught if w.category is RuntimeWarning]])
    assert seen[0] == seen[1], text
    return seen[0][0] is not None


@pytest.mark.wide
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("size", SIZES)
def test_like_numpy(name, size):
    failures = 0
    for seed in range(3):
        plain, text = program(name, seed)
        compiled = jitrt.jit(plain)
        failures += sum(check(compiled, text, size, is_bad) for is_bad in (False, False, True, True, False, True))
    assert failures == 9


@pytest.mark.wide
@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("donated", ["x", "y", "z"])
def test_what_is_donated(name, donated):
    for seed in range(2):
        plain, text = program(name, seed + 5)
        compiled = jitrt.jit(plain, donate=(donated,))
        for is_bad in (False, False, True, False, True):
            check(compiled, text, SIZES[1], is_bad, donated)


@pytest.mark.wide
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FAILING)
def test_the_first_call_fails(name, size):
    plain, text = program(name, 7)
    compiled = jitrt.jit(plain)
    assert [check(compiled, text, size, is_bad) for is_bad in (True, True, False, True)] == [True, True, False, True]
