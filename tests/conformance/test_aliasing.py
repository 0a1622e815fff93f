"""Results that are views share memory with what NumPy's share it with, and with nothing else."""

import numpy as np
import pytest
from operands import ordinary

import jitrt

FUNCTIONS = {
    "argument itself": lambda x, y: (x, y, x),
    "views of an argument": lambda x, y: (x[1:], x.T, x[::-1, 0], x.reshape(-1), y),
    "views of a result": lambda x, y: split_in_two(x + y),
    "result and its view": lambda x, y: with_view(x * 2.0),
    "copies": lambda x, y: (x.copy(), x + 0.0, np.copy(x[0] + y[0]), x, x.T.copy(), np.copy(y[:1])),
    "reshape that copies": lambda x, y: (x.T.reshape(-1), x.ravel(), y.T),
    "flatten": lambda x, y: (x.flatten(), x.ravel()),
    "broadcast": lambda x, y: (np.broadcast_to(x[0], (3, 4)), np.squeeze(x[:1]), np.expand_dims(y, 0)),
    "split": lambda x, y: np.split(x, 2, axis=1),
    "diagonal": lambda x, y: (np.diagonal(x), np.swapaxes(x, 0, 1), np.moveaxis(y, 0, 1)),
    "where and take": lambda x, y: (np.where(True, x, y), np.take(x, [0, 1]), x[[0, 1]], np.roll(x, 1)),
    "like": lambda x, y: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 2), np.atleast_2d(x), np.atleast_3d(y)),
    "same value twice": lambda x, y: (x + y, x + y, y + x),
    "astype": lambda x, y: (x.astype(float), x.astype(float, copy=False), x.astype(np.float32)),
    "no operation": lambda x, y: (np.roll(x, 0), np.squeeze(x), np.clip(x, None, 9.0), np.real(x), x.conj(), +x),
    "repeated once": lambda x, y: (np.tile(x, 1), np.repeat(x, 1, 0), np.pad(x, 0), np.concatenate((x,))),
    "flipped along no axis": lambda x, y: (np.flip(x, ()), np.flip(y)),
    "views of a copy": lambda x, y: views_of_copy(x[:, ::-2].reshape(2, 3)),
    "atleast of a result": lambda x, y: with_atleast(x - y),
}


def split_in_two(z):
    return z[:1], z[1:], z.T


def views_of_copy(z):
    return z, z[1:], z.T[::2]


def with_view(z):
    return z, z[1], z[..., None]


def with_atleast(z):
    return z, np.atleast_3d(z), np.ravel(z)


def sharing(results, arguments):
    """Which pairs of results and arguments share memory."""
    arrays = [*results, *arguments]
    return [[bool(np.shares_memory(a, b)) for b in arrays] for a in arrays]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sharing(name):
    function = FUNCTIONS[name]
    compiled = jitrt.jit(function)
    # Computed arrays are C-contiguous; NumPy gives those of Fortran operands Fortran order, whose ravel is a copy.
    for layout in (np.ascontiguousarray, np.asfortranarray)[: 1 if "of a result" in name else 2]:
        x, y = layout(ordinary("d", 12).reshape(3, 4)), layout(ordinary("d", 12, 1).reshape(3, 4))
        explanation = compiled.explain(x, y)
        assert not explanation.plain_reason, explanation.plain_reason
        for _ in range(2):
            got, want = compiled(x, y), function(x, y)
            for g, w in zip(got, want):
                np.testing.assert_array_equal(g, w)
            assert sharing(got, (x, y)) == sharing(want, (x, y))
            assert [g.flags.writeable for g in got] == [w.flags.writeable for w in want]
            assert [g is x or g is y for g in got] == [w is x or w is y for w in want]
            assert [[g is h for h in got] for g in got] == [[w is h for h in want] for w in want]
