"""Every movement row against NumPy, alone and between elementwise operations."""

import numpy as np
import pytest
from compare import check, together
from operands import ordinary
from texts import function_of

import jitrt

VIEWS = {
    "negative step": lambda x: x[::-1, 1::2],
    "newaxis": lambda x: x[None, :, None, 1:-1],
    "ellipsis": lambda x: x[..., 0, ::-2],
    "integer": lambda x: x[-1],
    "all integers": lambda x: x[1, 2, 3],
    "element as a view": lambda x: x[1, 2, 3, ...],
    "empty slice": lambda x: x[5:2],
    "out of bounds": lambda x: x[-10:10, 2:100],
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: (np.transpose(x, (1, -1, 0)), x.transpose(2, 0, 1), x.transpose((0, 2, 1)), x.transpose()),
    "permute_dims": lambda x: np.permute_dims(x, (2, 1, 0)),
    "matrix_transpose": lambda x: np.matrix_transpose(x),
    "reshape": lambda x: (x.reshape(2, -1), x.reshape((6, 4)), np.reshape(x, -1), x.reshape(1, 24, 1)),
    "reshape of a transpose": lambda x: x.T.reshape(6, -1),
    "reshape of a slice": lambda x: x[:, ::2].reshape(-1),
    "ravel": lambda x: (x.ravel(), np.ravel(x[::-1]), x.T.ravel(), x.flatten()),
    "ravel in order F": lambda x: (x.ravel("F"), np.reshape(x, (4, 6), order="F")),
    "broadcast_to": lambda x: (np.broadcast_to(x, (2, 2, 3, 4)), np.broadcast_to(x[:1, :, :1], (5, 3, 4))),
    "expand_dims": lambda x: (np.expand_dims(x, 1), np.expand_dims(x, (0, -1))),
    "squeeze": lambda x: (np.squeeze(x[:1, :, :1]), x[:1, :, :1].squeeze(0), np.squeeze(x[:, 1:2], axis=-2)),
    "swapaxes": lambda x: (np.swapaxes(x, 0, 2), x.swapaxes(-1, 1)),
    "moveaxis": lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, (0, 1), (1, 0))),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "flip": lambda x: (np.flip(x), np.flip(x, 1), np.flip(x, (0, -1)), np.flipud(x), np.fliplr(x)),
    "rot90": lambda x: (np.rot90(x), np.rot90(x, 2, (0, 2)), np.rot90(x, -1, (-1, 1)), np.rot90(x, 4), np.rot90(x, 3)),
    "einsum without sums": lambda x: (np.einsum("i...->...i", x), np.einsum("iij->ij", x[:, :2])),
    "diagonal": lambda x: (np.diagonal(x), x.diagonal(1, 1, 2), np.diagonal(x, -1, 2, 0)),
    "sliding windows": lambda x: (
        np.lib.stride_tricks.sliding_window_view(x, (2, 1, 3)),
        np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(-1, 0)),
    ),
    "real and imag": lambda x: (np.real(x), x.real, np.imag(x), x.imag),
    "atleast": lambda x: (
        np.atleast_1d(x[0, 0, 0]),
        np.atleast_2d(x[0, 0]),
        np.atleast_3d(x[0, 0]),
        np.atleast_3d(x[0]),
    ),
    "several atleast": lambda x: np.atleast_2d(x[0, 0], x[0]),
}

SPLITS = {
    "split": lambda x: np.split(x, 2),
    "split at": lambda x: np.split(x, [1, 3], axis=2),
    "split past the end": lambda x: np.split(x, [2, 9], axis=1),
    "split in disorder": lambda x: np.split(x, [2, 1], axis=1),
    "split in one": lambda x: np.split(x, 1),
    "array_split": lambda x: np.array_split(x, 3, axis=2),
    "hsplit": lambda x: np.hsplit(x, 3),
    "vsplit": lambda x: np.vsplit(x, 2),
    "dsplit": lambda x: np.dsplit(x, [1]),
}

JOINS = {
    "concatenate": lambda x, y: (
        np.concatenate((x, y)),
        np.concatenate([x, y, x], 1),
        np.concatenate((x, y[:, :0]), -2),
    ),
    "concatenate flat": lambda x, y: np.concatenate((x, y[0]), axis=None),
    "concatenate an array": lambda x, y: np.concatenate(x, axis=1),
    "stack": lambda x, y: (np.stack((x, y)), np.stack([x, y], axis=-1), np.stack((x, y), 1)),
    "hstack": lambda x, y: (np.hstack((x, y)), np.hstack((x[0, 0], y[0, 0])), np.hstack((x[0, 0, 0], y[0, 0, 1]))),
    "vstack": lambda x, y: (np.vstack((x, y)), np.vstack((x[0, 0], y[0, 1]))),
    "dstack": lambda x, y: (np.dstack((x, y)), np.dstack((x[0, 0], y[0, 0])), np.dstack((x[0], y[0]))),
    "column_stack": lambda x, y: (np.column_stack((x[0, 0], y[0, 1])), np.column_stack((x[0], y[1]))),
    "roll": lambda x, y: (
        np.roll(x, 2),
        np.roll(x, -1, 0),
        np.roll(x, (1, 5), (1, 2)),
        np.roll(x, 1, (0, 2)),
        np.roll(x, 0),
    ),
    "tile": lambda x, y: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x[0], (2, 2, 1)), np.tile(x, (0, 1, 1))),
    "repeat": lambda x, y: (np.repeat(x, 3), x.repeat(2, axis=1), np.repeat(x, 0, 0), np.repeat(x, [1, 2], axis=0)),
    "pad": lambda x, y: (
        np.pad(x, 1),
        np.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=3),
        np.pad(x[0], (1, 2)),
        np.pad(x, ((1, 2),)),
        np.pad(x, 1, mode="edge"),
        np.pad(x[0, 0], 0),
    ),
    "take": lambda x, y: (
        np.take(x, [0, 3, -1]),
        x.take([1, 0], axis=0),
        np.take(x, np.array([[0, 2]]), 1),
        np.take(x, 2, axis=1),
        np.take(x, [5, -7], mode="wrap"),
        np.take(x, [90, -7], mode="clip"),
    ),
    "gather": lambda x, y: (
        x[[0, 1, 0]],
        x[np.array([[1, 0]])],
        x[:, [0, 2]],
        x[[0, 1], [1, 2]],
        x[np.array(1)],
        x[[]],
    ),
    "gather by a mask": lambda x, y: (x[x == x[0]], np.compress([True, False], x, 0)),
    "where": lambda x, y: (
        np.where(x == y, x, y),
        np.where(x[0] != y, 1, x),
        np.where(True, x, y[0]),
        np.where(x[..., :1] == y, x[:1], 0),
    ),
    "copies": lambda x, y: (x.copy(), np.copy(x), x[::-1].copy(), x.T.copy()),
    "like": lambda x, y: (
        np.zeros_like(x),
        np.ones_like(x, dtype=np.float32),
        np.full_like(x, 1),
        np.zeros_like(x, shape=(2, 0)),
        np.full_like(x, 3, dtype=complex),
        np.empty_like(x)[:0],
    ),
}
DTYPES = "?bHifdFe"


def operand(char, seed=0):
    return ordinary(char, 24, seed).reshape(2, 3, 4)


def between(f, operator):
    """`f` applied to something computed, and its results computed with."""
    return lambda *args: after(f(*[operator(a) for a in args]), operator)


def after(result, operator):
    if isinstance(result, (tuple, list)):
        return [after(r, operator) for r in result]
    return operator(result)


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", DTYPES)
def test_views(char):
    cases = {**VIEWS, **SPLITS}
    check(together(cases), operand(char))
    check(together(cases), operand(char)[::-1, :, ::-1])
    check(together(cases), np.asfortranarray(operand(char)))


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", DTYPES)
def test_joins(char):
    check(together(JOINS), operand(char), operand(char, 1))
    check(together(JOINS), operand(char)[:, ::-1], np.asfortranarray(operand(char, 1)))


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "bid")
def test_between_elementwise_operations(char):
    cases = {name: between(f, np.square) for name, f in {**VIEWS, **SPLITS}.items() if name != "real and imag"}
    check(together(cases), operand(char))
    cases = {name: between(f, np.negative) for name, f in JOINS.items() if "mask" not in name and name != "like"}
    check(together(cases), operand(char), operand(char, 1))


def test_mixed_dtypes():
    x, y = operand("i"), operand("f", 1)
    names = ("concatenate", "stack", "hstack", "vstack", "dstack", "where", "concatenate flat")
    check(together({n: JOINS[n] for n in names}), x, y)
    check(together({n: JOINS[n] for n in names}), operand("?"), operand("F"))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,), (1, 1), (2, 0, 2), ()])
def test_small_shapes(shape):
    x = ordinary("d", int(np.prod(shape)), 1).reshape(shape)
    cases = {
        "T": lambda x: x.T,
        "ravel": lambda x: x.ravel(),
        "reshape": lambda x: x.reshape((*x.shape, 1)),
        "flip": lambda x: np.flip(x),
        "expand": lambda x: np.expand_dims(x, -1),
        "squeeze": lambda x: np.squeeze(x),
        "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
        "stack": lambda x: np.stack((x, x + 1)),
        "concatenate": lambda x: np.concatenate((x, x), None),
        "tile": lambda x: np.tile(x, 2),
        "roll": lambda x: np.roll(x, 1),
        "repeat": lambda x: np.repeat(x, 2),
        "pad": lambda x: np.pad(x, 1),
        "clip": lambda x: np.clip(x, 0, 1),
        "copy": lambda x: x.copy(),
        "astype": lambda x: x.astype(int),
        "like": lambda x: np.ones_like(x),
        "where": lambda x: np.where(x > 0, x, 0),
        "hstack": lambda x: np.hstack((x, x)),
        "vstack": lambda x: np.vstack((x, x)),
        "item": lambda x: x[...],
        "new": lambda x: x[None],
        "moved": lambda x: np.moveaxis(x[None], 0, -1),
    }
    check(together(cases), x)


def test_clip():
    for char in "bHidfe":
        x = operand(char)
        low, high = x.dtype.type(2), x.dtype.type(20)
        bounds = operand(char, 3)
        check(
            lambda x, y, low, high: (
                np.clip(x, 2, 20),
                x.clip(low, high),
                np.clip(x, None, high),
                x.clip(min=low),
                np.clip(x, y, 20),
                np.clip(x, low, y),
                np.clip(x, y, y[::-1]),
                np.clip(x, 20, 2),
            ),
            x,
            bounds,
            low,
            high,
            zeros=False,
        )


CASTS = "?bBhHiIlLefdgFDG"


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("source", CASTS)
def test_astype(source):
    """All pairs of dtypes; numbers in the range of both, since C leaves the others open."""
    x = np.abs(operand(source)) if source != "?" else operand(source)
    cases = {target: casting(np.dtype(target)) for target in CASTS}
    check(together(cases), x)
    check(together(cases), x[1, ::-1, ::2])
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        check(together(cases), np.array([info.min, info.max, 0, info.max // 2 + 1], x.dtype))
    if x.dtype.kind == "f":
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-8, 65519.0, 2.5, 1e-40], x.dtype)
        check(together({t: f for t, f in cases.items() if t in "?efdgFDG"}), special)


@pytest.mark.parametrize("source", "fd")
def test_float_to_integer_out_of_range(source):
    """What x86-64 makes of them; uint32 is left out, since NumPy's contiguous and strided loops disagree there."""
    far = [np.nan, np.inf, 1e10, 3e9, 1e19, 1e300, 1.5, 0.5, 129, 256.5, 7e4, 2.0**31, 2.0**63, 2.0**64, 2.0**31 + 0.5]
    with np.errstate(over="ignore"):
        x = np.array(far + [-v for v in far], source)
    cases = {target: casting(np.dtype(target)) for target in ("b", "B", "h", "H", "i", "i8", "u8")}
    check(together(cases), np.stack([x, x[::-1]]))
    check(together(cases), np.stack([x, x[::-1]])[:, ::-3])


def casting(target):
    return lambda x: (x.astype(target), x.astype(target, copy=False), x[0].astype(target))


@pytest.mark.parametrize("number", [2.5, 3, True, 1 + 2j, np.float64(2.5), np.int32(3)], ids=repr)
@pytest.mark.parametrize("text", ["squeeze(v)", "transpose(v)", "copy(v)", "reshape(v, ())"])
def test_views_of_numbers(text, number):
    """Of a number of Python's NumPy makes an array without axes, of its own it gives a number for some."""
    function = function_of(f"def f(v):\n    return np.{text}\n")

    def outcome(called):
        try:
            made = called(number)
        except (TypeError, AttributeError) as error:
            return type(error)
        return type(made), made.dtype, made.shape, repr(made)

    assert outcome(jitrt.jit(function)) == outcome(function)
