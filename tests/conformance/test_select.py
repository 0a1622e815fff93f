"""np.select: the first condition that holds, NumPy's dtypes, shapes and errors."""

import numpy as np
import pytest
from compare import check, together

import jitrt

x = np.arange(-6.0, 6.0).reshape(3, 4)
x[1, 1], x[2, 0] = np.nan, -0.0
i = np.arange(12, dtype=np.int8).reshape(3, 4)


def test_select():
    cases = {
        "first wins": lambda x, i: np.select([x > 0, x > -3, x < 9], [x, x * 2, i], 7),
        "literals": lambda x, i: np.select([x > 2, x < -2], [1, 2.5]),
        "default": lambda x, i: np.select([i > 3], [i], -1),
        "dtypes": lambda x, i: np.select([i > 3, i > 1], [i, i.astype(np.float32)], 2),
        "complex": lambda x, i: np.select([i > 3], [i * 1j], x),
        "broadcast": lambda x, i: np.select([x[:, :1] > 0, i[0] > 1], [x[0], x[:, 1:2]], np.float32(3)),
        "booleans": lambda x, i: np.select([x > 0, i > 3], [i > 5, x < 3], False),
        "arrays of literals": lambda x, i: np.select([x > 0], [np.arange(4)], np.array([9])) + 1,
    }
    check(together(cases), x, i)


@pytest.mark.parametrize(
    "call",
    [lambda x, i: np.select([i], [x]), lambda x, i: np.select([x > 0], [x, x]), lambda x, i: np.select([], []) + x],
    ids=["integers", "lengths", "nothing"],
)
def test_of_other_operands(call):
    with pytest.raises((TypeError, ValueError)) as plain:
        call(x, i)
    with pytest.raises(plain.type):
        jitrt.jit(call)(x, i)


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u4", "u8", "f4"])
@pytest.mark.parametrize("number", [1, -1, 300, 1.5, 1e300, 2j])
def test_numbers_among_the_choices(number, dtype):
    """They decide nothing about the dtype, but are copied as arrays of NumPy's: not to unsigned ones."""
    values = np.arange(3).astype(dtype)
    for call in (
        lambda v: np.select([v > 1, v < 1], [number, v]),
        lambda v: np.select([v > 1, v < 1], [v, number], v),
        lambda v: np.select([v > 1], [v], number),
    ):
        compiled, outcomes = jitrt.jit(call), []
        for function in (call, compiled, compiled):
            try:
                with np.errstate(all="ignore"):
                    result = function(values)
                outcomes.append((result.dtype, result.tolist()))
            except (TypeError, OverflowError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[1:] == [outcomes[0]] * 2
