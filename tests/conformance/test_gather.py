"""Elements that arrays of integers choose, against NumPy: values, shapes, errors."""

import numpy as np
import pytest
from compare import check, together
from operands import LINES, MATRICES, ordinary

import jitrt

rng = np.random.default_rng(4)
cube = rng.normal(size=(6, 7, 5))
i = rng.integers(-6, 6, 9)
j = rng.integers(-5, 5, (3, 1))
k = rng.integers(-5, 5, 4).astype(np.int16)
u = rng.integers(0, 5, 9).astype(np.uint8)

INDICES = [
    "i", "i, u", "i, j", ":, k", "..., k", "i, :, u", "j, k, u[:4]", "None, i", "i, None, u", "2, :, k", "k, 1",
    ":, 1, k", "-1, ..., j", "::-2, k", "k, ::2, 1", "[0, -1]", "[[0], [1]], [2, 3]", "i, ..., 3", "np.array(2)",
    "k[0], u",
    "np.argsort(k)", "(i * 7) % 6", "i[:0]", "j[:, :0], k[:0]", "None, 1:3, None, k", "i[::-1], ::-1",
    "u.astype(np.uint32) % 6",
]  # fmt: skip


def test_indices():
    cases = {index: eval(f"lambda x, i, j, k, u: x[{index}] * 2 + 1", {"np": np}) for index in INDICES}
    check(together(cases), cube, i, j, k, u)
    literal = {index: eval(f"lambda x: x[{index}] * 2 + 1", {"np": np, **globals()}) for index in INDICES}
    check(together(literal), cube)


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "?bBhHiIlLefdgFDG")
def test_dtypes_and_layouts(char):
    arrays = [make(ordinary(char, 35)) for name, make in (LINES | MATRICES).items() if name not in ("0-d", "scalar")]
    places = [rng.integers(-a.shape[0], a.shape[0], 11) for a in arrays]
    count = len(arrays)

    def f(*args):
        return [x[p] for x, p in zip(args[:count], args[count:])]

    check(f, *arrays, *places)


def test_what_uses_a_gather():
    def f(x, i, j, k, u):
        chosen = np.sqrt(np.abs(x[i])) - x[u]
        nested = x[i][:, k % 4][..., u[:3] % 2]
        sums = x[i].sum(), x[:, k].max(axis=1), x[i, u].mean(), x[i].sum(axis=(0, 2))
        computed = (x * 2)[i], (x.T + 1)[j], np.cumsum(x[i], axis=-1), np.cumsum(x, 0)[i], x[i].T[::-1]
        return chosen, nested, sums, computed, np.concatenate([x[i], x[u]]), x[i] + x[:, :1].sum()

    check(f, cube, i, j, k, u, relative=1e-15)


def test_take():
    cases = {}
    for mode in ("raise", "clip", "wrap"):
        for axis in (None, 0, 1, -1):
            cases[f"{mode} {axis}"] = lambda x, i, mode=mode, axis=axis: (
                np.take(x, i, axis, mode=mode),
                x.take(i[:2], axis, mode=mode) + 1,
            )
    check(together(cases), cube, k)
    far = {name: f for name, f in cases.items() if not name.startswith("raise")}
    check(together(far), cube, np.array([[90, -70, 5], [1, 2, -8]]))


def test_take_along_axis():
    def f(x, order, column):
        ranks = np.take_along_axis(x, np.argsort(x, 1), 1)
        flat = np.take_along_axis(x, order.ravel() % 30, None)
        return ranks, np.take_along_axis(x, order, axis=0) * 2, np.take_along_axis(x, column, -1), flat

    x = cube
    order, column = rng.integers(-6, 6, (4, 7, 5)), rng.integers(-5, 5, (6, 1, 3))
    check(f, x, order, column)
    check(lambda x, c: np.take_along_axis(x[:1], c, 2), x, column)


@pytest.mark.wide
@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x[i] + 1,
        lambda x, i: x[:, i].sum(),
        lambda x, i: x[i - 2, i],
        lambda x, i: np.take(x, i, 2),
        lambda x, i: np.take(x, i),
        lambda x, i: np.take_along_axis(x, i[:, None, None] + np.zeros((1, 7, 5), int), 0),
        lambda x, i: x[None][i],
        lambda x, i: x[[0, 9]],
        lambda x, i: x[[0, 1], [0, 1, 2]],
        lambda x, i: x[i, i, i, i],
        lambda x, i: x[:0][i],
        lambda x, i: x[:0].take([1], mode="clip", axis=0),
    ],
    ids=range(12),
)
@pytest.mark.parametrize("wrong", [10**9, 210, -211])
def test_out_of_bounds(call, wrong):
    """NumPy's exception; and the function works afterwards."""
    compiled = jitrt.jit(call)
    inside, outside = np.array([0, 1, -1, 2]), np.array([0, 1, wrong, 2])
    for index in (outside, inside, outside):
        try:
            want = call(cube, index)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(cube, index)
        else:
            np.testing.assert_allclose(compiled(cube, index), want, rtol=1e-14)


def test_message():
    compiled = jitrt.jit(lambda x, i: x[:, i] * 2)
    compiled(cube, np.array([6, -7]))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 1 with size 7"):
        compiled(cube, np.array([0, 7]))


def test_nothing_is_written_before_the_bounds_are_known():
    def f(out, x, i):
        out[...] = x[i]
        return out.sum()

    out = np.zeros(50)
    index = np.arange(50)
    index[40] = 50
    with pytest.raises(IndexError):
        jitrt.jit(f)(out, np.ones(50), index)
    assert not out.any()


def test_large_gathers_on_threads():
    x, index, rows = rng.normal(size=(1000, 30)), rng.integers(-1000, 1000, 200_000), rng.integers(0, 1000, 5000)
    check(lambda x, i: (x[i, 3] * 2, x[:, 1][i].max(), np.exp(x[i % 7, i % 30]).argmax()), x, index)
    check(lambda x, i: (x[i] - x[i[::-1]], x[i].sum(axis=1)), x, rows, relative=1e-14)
    one, several = (jitrt.jit(lambda x, i: (x[i].sum(0), x[i].sum()), threads=n) for n in (1, None))
    for p, q in zip(one(x, rows), several(x, rows)):
        np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_gathered_where_tiles_are_turned(dtype):
    narrow = rng.integers(0, 200, (2, 64, 8)).astype(dtype)
    which = np.arange(37) % 2
    check(lambda x, i: (x[i], x[i].max(axis=2)), narrow, which)
    check(lambda x, i: (x[i] - x[i].max(axis=2, keepdims=True), x[i].min(axis=2)), narrow, which)
    check(lambda x, i: (x[:, :, ::-1][i] * 2, np.sqrt(x[i]) % 7), narrow, which)
