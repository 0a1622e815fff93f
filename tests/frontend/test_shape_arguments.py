"""Shapes, axes and counts of every kind that NumPy takes, and those that it refuses."""

import warnings

import numpy as np
import pytest

import jitrt


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


KINDS = {
    "int": int,
    "int64": np.int64,
    "uint8": np.uint8,
    "0-d": np.array,
    "1-d": lambda k: np.array([k]),
    "bool": bool,
    "numpy bool": np.bool_,
    "index": Index,
    "float": float,
    "list": lambda k: [np.int64(k)],
    "tuple": lambda k: (np.int64(k),),
}
X = np.arange(12.0).reshape(3, 1, 4)

FUNCTIONS = {
    "reshape": lambda x, k: x.reshape(k, -1),
    "reshape of a tuple": lambda x, k: np.reshape(x, (k, 12)),
    "reshape to one": lambda x, k: x[:1, :, :1].reshape(k),
    "resize of a view": lambda x, k: x[0].ravel().reshape((4, k)),
    "broadcast_to": lambda x, k: np.broadcast_to(x, (k, 3, 1, 4)),
    "broadcast_to one": lambda x, k: np.broadcast_to(x[0, 0, 0], k),
    "zeros": lambda x, k: np.zeros((k, 3)) + x[0, 0, 0],
    "zeros of one": lambda x, k: np.zeros(k) + x[0, 0, 0],
    "full": lambda x, k: np.full((k, 2), x[0, 0, 1]),
    "zeros_like": lambda x, k: np.zeros_like(x, shape=(k, 2)),
    "expand_dims": lambda x, k: np.expand_dims(x, k),
    "squeeze": lambda x, k: x.squeeze(k),
    "sum": lambda x, k: x.sum(axis=k),
    "sum of a tuple": lambda x, k: np.sum(x, axis=(k, 0)),
    "max": lambda x, k: np.max(x, k, keepdims=True),
    "mean": lambda x, k: x.mean(k),
    "var": lambda x, k: np.var(x, axis=k),
    "median": lambda x, k: np.median(x, axis=k),
    "reduce": lambda x, k: np.add.reduce(x, k),
    "accumulate": lambda x, k: np.add.accumulate(x, k),
    "cumsum": lambda x, k: x.cumsum(k),
    "argmax": lambda x, k: x.argmax(k),
    "sort": lambda x, k: np.sort(x, k),
    "diff": lambda x, k: np.diff(x, k),
    "diff along": lambda x, k: np.diff(x, axis=k),
    "take": lambda x, k: np.take(x, [0], axis=k),
    "take at": lambda x, k: np.take(x, k),
    "transpose": lambda x, k: x.transpose(k, 0, 2),
    "transpose of a tuple": lambda x, k: np.transpose(x, (k, 2, 0)),
    "swapaxes": lambda x, k: x.swapaxes(0, k),
    "moveaxis": lambda x, k: np.moveaxis(x, k, 0),
    "flip": lambda x, k: np.flip(x, k),
    "rot90": lambda x, k: np.rot90(x, k),
    "roll": lambda x, k: np.roll(x, k),
    "roll along": lambda x, k: np.roll(x, 1, k),
    "tile": lambda x, k: np.tile(x, k),
    "tile by a tuple": lambda x, k: np.tile(x, (k, 2)),
    "repeat": lambda x, k: np.repeat(x, k),
    "repeat along": lambda x, k: x.repeat(2, k),
    "pad": lambda x, k: np.pad(x, k),
    "split": lambda x, k: np.split(x, k),
    "array_split": lambda x, k: np.array_split(x, 2, k),
    "concatenate": lambda x, k: np.concatenate((x, x), axis=k),
    "stack": lambda x, k: np.stack((x, x), k),
    "diagonal": lambda x, k: x.diagonal(k),
    "trace": lambda x, k: np.trace(x, k),
    "tensordot": lambda x, k: np.tensordot(x, x[0], k),
    "arange": lambda x, k: np.arange(k) + x[0, 0, 0],
    "eye": lambda x, k: np.eye(k) + x[0, 0, 0],
}


def outcome(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except (TypeError, ValueError) as error:
            return type(error)


def same(want, got):
    if isinstance(want, (list, tuple)):
        assert type(want) is type(got) and len(want) == len(got)
        for a, b in zip(want, got):
            same(a, b)
    elif isinstance(want, type):
        assert got is want
    else:
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.wide
@pytest.mark.parametrize("given", [True, False], ids=["argument", "literal"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_kinds_of_integers(function, given):
    """None of them is an internal error, which would raise here."""
    for kind in KINDS.values():
        k = kind(1)
        if given:
            compiled = jitrt.jit(function)
            results = [outcome(compiled, X, k) for _ in range(2)]
        else:
            results = [outcome(jitrt.jit(lambda x, kind=kind: function(x, kind(1))), X)]
        for got in results:
            same(outcome(function, X, k), got)


SHAPES = {
    "reshape": (lambda x, s: x.reshape(s), (4, 3)),
    "reshape of an array": (lambda x, s: np.reshape(x * 2, s), (2, 6)),
    "broadcast_to": (lambda x, s: np.broadcast_to(x, s), (2, 3, 1, 4)),
    "zeros": (lambda x, s: np.zeros(s) + x[0, 0, 0], (2, 3)),
    "transpose": (lambda x, s: np.transpose(x, s), (2, 0, 1)),
    "transposed": (lambda x, s: x.transpose(s), (2, 0, 1)),
    "expand_dims": (lambda x, s: np.expand_dims(x, s), (0, 2)),
    "sum": (lambda x, s: x.sum(s), (0, 2)),
    "flip": (lambda x, s: np.flip(x, s), (0, 2)),
    "tile": (lambda x, s: np.tile(x, s), (2, 2)),
    "moveaxis": (lambda x, s: np.moveaxis(x, s, (0, 1)), (2, 1)),
    "pad": (lambda x, s: np.pad(x[0, 0], s), (1, 2)),
    "roll": (lambda x, s: np.roll(x, s, (0, 2)), (1, 2)),
    "split": (lambda x, s: np.split(x, s, 2), (1, 3)),
}


@pytest.mark.parametrize(("function", "shape"), SHAPES.values(), ids=SHAPES)
def test_kinds_of_shapes(function, shape):
    for kind in (tuple, list, np.array, lambda s: list(np.array(s)), lambda s: tuple(map(Index, s))):
        want = outcome(function, X, kind(shape))
        compiled = jitrt.jit(function)
        same(want, outcome(compiled, X, kind(shape)))
        same(want, outcome(compiled, X, kind(shape)))
        same(want, outcome(jitrt.jit(lambda x, kind=kind: function(x, kind(shape))), X))


def test_the_shape_of_another_array():
    compiled = jitrt.jit(lambda x, y: x.reshape(np.array(y.shape)) + y)
    np.testing.assert_array_equal(compiled(X, np.ones((6, 2))), X.reshape(6, 2) + 1)
    assert not compiled.explain(X, np.ones((6, 2))).looked_at


def test_another_shape_in_another_call():
    compiled = jitrt.jit(lambda x, s, k: x.reshape(s).sum(k))
    for shape, axis in (((3, 4), 0), ((2, 6), 1), ((3, 4), 0), ((12,), 0)):
        want = X.reshape(shape).sum(axis)
        same(want, compiled(X, np.array(shape), np.int64(axis)))
    assert len(compiled.explain(X, np.array([3, 4]), np.int64(0)).looked_at) == 2


@pytest.mark.parametrize("n", [0, 6, 7])
@pytest.mark.parametrize("shape", [(-7, 1), (-2, 3), (2, -9), (-7, -1), (0, -3), (-1, -2, 3), (-4,), (3, -1, 2)])
def test_any_negative_extent_is_the_unknown_one(n, shape):
    for function in (lambda x: x.reshape(shape) * 2, lambda x: np.reshape(x + 1, shape)):
        fast, x = jitrt.jit(function), np.arange(float(n))
        try:
            want = function(x)
        except ValueError as error:
            with pytest.raises(ValueError) as raised:
                fast(x)
            assert str(raised.value) == str(error)
        else:
            np.testing.assert_array_equal(fast(x), want, strict=True)


@pytest.mark.parametrize("counts", [-1, (-1, 2), (2, -3), 0, (0, 2)])
@pytest.mark.parametrize("shape", [(0,), (3,), (0, 2), (2, 0)])
def test_copies_whose_number_is_negative(shape, counts):
    fast, x = jitrt.jit(lambda x: np.tile(x, counts) + 1), np.ones(shape)
    try:
        want = np.tile(x, counts) + 1
    except ValueError as error:
        with pytest.raises(ValueError) as raised:
            fast(x)
        assert str(raised.value) == str(error)
    else:
        np.testing.assert_array_equal(fast(x), want, strict=True)
