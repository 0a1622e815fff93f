"""Which results share memory with which, and with the arguments, in random programs: as in NumPy, byte by byte."""

import numpy as np
import pytest
from covering import few
from outcomes import outcome

import jitrt

SOURCES = (
    "x", "y", "W", "x * 2.0", "x.T * 2.0", "x[1:]", "x.copy()", "x + y[0]", "np.zeros((3, 4))", "np.sort(x)",
    "(x * 3.0)[1:, ::-1]", "np.asfortranarray(x + 1.0)", "np.linalg.inv(x[:3, :3] * 0 + np.eye(3))", "y[None] - x",
    "np.cumsum(x, axis=0)", "x[x > 3.0].reshape(-1, 1)", "np.stack([x, x * 2.0])[1]", "np.where(x > 2.0, x, 0.0)",
    "np.split(x + 2.0, 2, axis=1)[1]", "np.broadcast_to(y, (3, 4))", "np.full((3, 4), 2.0)", "x.astype('f4')",
)  # fmt: skip
FORMS = (
    "{}", "{}", "{}", "{}.T", "{}[1:]", "{}[:-1]", "{}[::-1]", "{}.reshape(-1)", "{}.ravel()", "{}.copy()", "{}[None]",
    "{}[0]", "{}[0, 0]", "{}[...]", "{}.real", "{}.sum()", "np.asarray({})", "{}.T.copy()", "{}.swapaxes(0, 1)",
    "{}[:, 0]", "{}.astype('f8', copy=False)", "{}.T.reshape(-1)", "np.ascontiguousarray({})", "{}.view()",
    "np.squeeze({}[:1])", "{}.T[::-1].T", "{}.reshape({}.shape)", "{}[0, ...]", "{}[:0]", "+{}", "{}.ravel('K')",
)  # fmt: skip
CHANGES = ("x += 1.0", "b[0] = 5.0", "a = a + b[0, 0]", "y[1:] = 2.0", "a, b = b, a", "b = a")
LOOKS = ("if a[0, 0] > 1e6: return None", "if b.max() > 1e6: return b", "t = y.sum().tolist(); a = a * 1.0")
RETURNS = ("({},)", "[{}]", "dict(enumerate([{}]))", "({0}, [{0}])", "({},)")

W = np.arange(12.0).reshape(3, 4)


def program(seed):
    """The lines of a function: two arrays, what happens to them, and some views of them that are returned."""
    rng = np.random.default_rng(seed)
    a, b = rng.choice(SOURCES, 2)
    lines = [f"a = {a}", f"b = {b}"]
    for _ in range(rng.integers(0, 3)):
        lines.append(str(rng.choice(rng.choice(np.array([CHANGES, LOOKS], dtype=object)))))
    forms = [str(f).replace("{}", str(rng.choice(["a", "a", "b"]))) for f in rng.choice(FORMS, rng.integers(1, 5))]
    if len(forms) == 1 and rng.random() < 0.5:
        return [*lines, f"return {forms[0]}"]
    return [*lines, "return " + str(rng.choice(RETURNS)).replace("{0}", "{}").replace("{}", ", ".join(forms))]


def function_of(lines):
    names = {"np": np, "W": W}
    exec("def f(x, y):\n" + "".join(f"    {line}\n" for line in lines), names)
    return names["f"]


@pytest.mark.parametrize("block", few(range(8), 2))
def test_like_numpy(block):
    compiled_ones = 0
    for seed in range(block * 40, block * 40 + 40):
        lines = program(seed)
        plain = function_of(lines)
        compiled = jitrt.jit(plain)
        for order in "CCCF":
            seen = []
            for f in (plain, compiled):
                x = np.arange(12.0).reshape(3, 4).copy(order)
                y = np.arange(4.0)
                seen.append(outcome(f, [x, y], [x, y, W]))
            if seen[0][0] is not None and seen[1][0] is not None:
                continue  # a program that makes no sense
            assert seen[0] == seen[1], "\n".join(lines)
        compiled_ones += compiled.cache_info().compiled > 0
    assert compiled_ones > 20
