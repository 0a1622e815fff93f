"""Random calls of NumPy's functions give, raise and leave behind what they do without jitrt."""

import numpy as np
import pytest
from numpy_calls import Call, functions, random_calls

import jitrt


@pytest.mark.parametrize("seed", range(8))
def test_random_calls(seed):
    differences = [f"{call.text}: {found}" for call in random_calls(40, seed) if (found := call.difference())]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize(
    "text",
    [
        "np.sum(x0, keepdims=None)",
        "np.sum(x0, keepdims=1)",
        "np.nanmax(x0, axis=0, keepdims=None)",
        "x0.std(dtype=int)",
        "np.mean(x0, 0, dtype='i4')",
        "np.reshape(x0, -1, order='K')",
        "np.reshape(x0, -1, order='A')",
        "np.pad(x0[0, 0], -1)",
        "np.ones((2, 6), order='K')",
        "np.ascontiguousarray(x0, 'f8', dtype='f4')",
        "np.take_along_axis(x0[0], [0, 1])",
        "np.heaviside(np.broadcast_to(x0[:1], x0.shape), 1, dtype=float)",
        "np.add(np.broadcast_to(x0[:1], x0.shape), x0[:, :1], dtype='f4')",
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "c16", "u1"])
def test_calls_that_differed(text, dtype):
    call = Call(text, (lambda: np.arange(12).reshape(3, 4).astype(dtype),))
    assert not call.difference(), call.difference()


def test_differences_are_found(monkeypatch):
    assert len(functions()) > 300
    monkeypatch.setattr(jitrt, "jit", lambda function: lambda *args: function(*args) + 0.5)
    made = (lambda: np.arange(3.0),)
    assert "gave" in Call("np.sin(x0)", made).difference()
