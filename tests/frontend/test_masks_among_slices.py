"""``a[:, mask] = number``: a choice among all elements, where NumPy would be left a copy of the array."""

import numpy as np
import pytest

import jitrt

STATEMENTS = [
    "a[:, m] = v", "a[..., m] = v", "a[m, ...] = v", "a[:, m, :] = v", "a[:, :, m] = v", "a[:, ..., m] = v",
    "a[m, :] = v", "a[:, m] += v", "a[:, m] = a[:, m] * 2", "a[:, m] = a[m]", "a.T[..., m] = v", "a[1:][:, m] = v",
    "a[:, m, None] = v", "a[::2, m] = v", "a[:, m] = [v]",
]  # fmt: skip
SHAPES = [(3, 4), (4, 4), (3, 4, 5), (4, 4, 4), (3,), (0, 4)]
MASKS = [(4,), (5,), (4, 5), (4, 4), (0,)]


def outcome(function, *args):
    args = [np.copy(x) for x in args]
    try:
        return function(*args), args, None
    except Exception as error:
        return None, None, (type(error), str(error))


@pytest.mark.wide
@pytest.mark.parametrize("value", [1.5, np.float64(2), 3, True, np.array(3.0)], ids=repr)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_as_numpy(statement, value):
    rng = np.random.default_rng(0)
    namespace = {"np": np, "v": value}
    exec(f"def plain(a, m):\n    {statement}\n    return a * 2", namespace)
    plain = namespace["plain"]
    for shape in SHAPES:
        for extents in MASKS:
            a, m = rng.uniform(0, 9, shape), rng.random(extents) < 0.5
            got, wanted = outcome(jitrt.jit(plain), a, m), outcome(plain, a, m)
            assert got[2] == wanted[2], (shape, extents)
            np.testing.assert_equal(got[:2], wanted[:2], err_msg=f"{shape} {extents}")


def test_numbers_are_chosen_by_kernels():
    def plain(f, solid):
        f[:, solid] = 0.0
        return f * 2

    f, solid = np.ones((9, 30, 30)), np.eye(30, dtype=bool)
    explanation = jitrt.jit(plain).explain(f, solid)
    assert explanation.kernels and not explanation.host_calls
