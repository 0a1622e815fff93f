"""What writes into an array does nothing to a NumPy scalar, or is an error: full indexing gives scalars."""

import numpy as np
import pytest

import jitrt

SCALARS = {
    "element": lambda b: b[1, 2],
    "element of a row": lambda b: b[1][2],
    "flat element": lambda b: b.flat[6],
    "iterated": lambda b: next(iter(b[1])),
    "reduced": lambda b: b.sum(),
    "computed": lambda b: b[0, 1] * 2,
    "negated": lambda b: -b[1, 2],
}
ARRAYS = {
    "element as an array": lambda b: b[1, 2, ...],
    "squeezed": lambda b: b[1:2, 2:3].squeeze(),
    "reshaped": lambda b: b[1:2, 2].reshape(()),
    "copied": lambda b: np.array(b[1, 2]),
    "row": lambda b: b[1],
}


def put_flat(t):
    t.flat[0] = 3


def set_flat(t):
    t.flat = 3


def set_item(t):
    t[...] = 3


def set_real(t):
    t.real = 3


WRITES = {
    "fill": lambda t: t.fill(0.25),
    "flat element": put_flat,
    "flat": set_flat,
    "item": set_item,
    "real": set_real,
    "out of a ufunc": lambda t: np.multiply(t, 3, out=t),
    "out in a tuple": lambda t: np.sqrt(4.0, out=(t,)),
    "out of a function": lambda t: np.sum(np.ones(3), out=t),
    "clip": lambda t: t.clip(0, 0.1, out=t),
    "copyto": lambda t: np.copyto(t, 3),
    "copyto where": lambda t: np.copyto(t, 3, where=True),
    "put": lambda t: np.put(t, 0, 3),
    "put as a method": lambda t: t.put(0, 3),
    "place": lambda t: np.place(t, True, 3),
    "putmask": lambda t: np.putmask(t, True, 3),
    "at": lambda t: np.add.at(t, (), 3),
    "sort": lambda t: t.sort(),
    "in place": lambda t: t.__iadd__(3) if hasattr(t, "__iadd__") else None,
}


def outcome(function, b):
    try:
        t = function(b)
    except (TypeError, AttributeError, ValueError) as error:
        return type(error), b
    return type(t), np.asarray(t).copy(), b


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("made", (SCALARS | ARRAYS).values(), ids=SCALARS | ARRAYS)
def test_writes(made, write):
    def function(b):
        t = made(b)
        write(t)
        return t

    compiled = jitrt.jit(function)
    for _ in range(2):
        want, got = (outcome(f, np.arange(12.0).reshape(3, 4) + 1) for f in (function, compiled))
        assert got[0] is want[0]
        for a, b in zip(got[1:], want[1:]):
            np.testing.assert_array_equal(a, b)
