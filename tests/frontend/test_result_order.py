"""Memory order: results have the strides that NumPy gives them, whatever the order of the arguments is."""

import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from texts import function_of

import jitrt

rng = np.random.default_rng(7)
plain = rng.normal(size=(4, 5))
LAYOUTS = {
    "C": plain,
    "Fortran": np.asfortranarray(plain),
    "transposed": plain.T,
    "rotated": rng.normal(size=(3, 4, 5)).transpose(1, 2, 0),
    "negative": plain[::-1, ::-1],
    "strided": rng.normal(size=(8, 10)).T[::2, ::2],
    "one wide row": np.broadcast_to(plain[0], (4, 5)),
    "one wide column": np.broadcast_to(plain[:, :1], (4, 5)),
    "one row": np.asfortranarray(plain[:1]),
    "empty": np.asfortranarray(plain[:0]),
}


def relaxed(x):
    y, z = x + 1, x * 2
    for _ in range(12):
        y = y * 0.5 + x
        z[1:] = z[:-1] * 0.5 + 1
    return y, z


def relaxed_until(x):
    y, change = x * 2, 1.0
    while change > 1e-3:
        new = y * 0.5 + x
        change = np.abs(new - y).max(initial=0)
        y = new
    return y * 2, y


FUNCTIONS = {
    "multiply": lambda x: x * 2,
    "transpose": lambda x: x.T + 1,
    "fused": lambda x: np.exp(x) + x,
    "several": lambda x: (x + 1, x * 2, x > 0, -x, x**2),
    "reduced": lambda x: ((x * 2).sum(0), x.sum(-1), x.mean(axis=0), x.max(axis=0, keepdims=True)),
    "copies": lambda x: (x.copy(), np.copy(x), x.astype(np.float32)),
    "selected": lambda x: (np.where(x > 0, x, 1), np.clip(x, -1, 1)),
    "selected from lists": lambda x: (np.select([x > 0], [x]), np.select([x > 1, x < 0], [x * 2, -x], x)),
    "broadcast": lambda x: (x + np.arange(x.shape[-1]), x * x.mean(0), x[..., None] * np.ones(3)),
    "views": lambda x: (x[::-1] * 2, (x * 2).T, x[:, ::2] * 2, np.swapaxes(x, 0, -1) * 1.5),
    "reshaped": lambda x: ((x * 2).ravel(), (x * 2).reshape(-1)),
    "assembled": lambda x: (np.stack([x, x]), np.concatenate([x, x]), np.roll(x, 1, 0)),
    "created": lambda x: (np.zeros_like(x), np.ones_like(x) + x, np.full_like(x, 2, dtype=np.int32)),
    "indexed": lambda x: (x[[0, 1, 0]], x[:, [1, 0]], x[[0, 1], [1, 0]], x[::-1, np.array([[0], [1]])] * 2),
    "scans": lambda x: x.cumsum(0),
    "sorted": lambda x: (
        np.sort(x + 1),
        np.sort(x, axis=0) * 2,
        np.round(x * 2, 1),
        np.frexp(x + 1)[0],
        np.fft.fft(x + 1),
    ),
    "asked for": lambda x: (
        np.zeros_like(x, order="F"),
        np.ones_like(x, order="A"),
        np.full_like(x, 2, order="C"),
        x.astype(int, order="F"),
        x.astype(float, order="C"),
        x.astype(np.float32, order="A"),
        np.asfortranarray(x + 1),
        np.array(x, order="F"),
        np.asarray(x * 2, order="F"),
        np.array([x, x]),
        np.array([x * 2, x], order="F"),
    ),
    "joined": lambda x: (
        np.stack([x, x], 1),
        np.stack([x, x * 2], -1),
        np.concatenate([x, x.T.copy().T], -1),
        np.dstack([x, x + 1]),
        np.pad(x, 1),
        np.pad(x + 1, 1, mode="edge") if x.size else x,
    ),
    "rolled": lambda x: (np.roll(x, 1, 1), np.roll(x, (1, 2), (0, 1)), np.roll(x[:2], 1, 0), np.roll(x, 1)),
    "decided": lambda x: (
        np.where(True, x, np.zeros(x.shape)),
        np.where(False, x, np.ones(x.shape)),
        np.where(True, np.ones(x.shape), x * 2),
        np.where(True, x, x.T.copy().T),
        np.where(x > 0, x * 2, x * 2),
        np.where(np.zeros(x.shape) > 0, x, x),
    ),
    "products": lambda x: (
        np.einsum("...ij->...ji", x),
        np.einsum("...ij,...kj->...ki", x + 1, x),
        np.einsum("...ij,...ij->...ij", x, x + 1),
        np.einsum("...ij->...j", x + 1),
    ),
    "places": lambda x: (x.argmax(0), np.argmin(x, axis=-1), np.argmax(x, 0, keepdims=True)) if x.size else x,
    "loops": relaxed,
    "loops until": relaxed_until,
    "contiguous": lambda x: np.ascontiguousarray(x) * 1,
}


def strides_that_matter(x):
    return [s for s, n in zip(x.strides, x.shape) if n > 1]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_numpys_strides(name, layout):
    function, x = FUNCTIONS[name], LAYOUTS[layout]
    if layout in ("empty", "one row") and name == "indexed":
        pytest.skip("too few rows")
    if layout == "empty" and name in ("reduced", "broadcast"):
        pytest.skip("of nothing there is no mean and no maximum")
    compiled = jitrt.jit(function)
    want = function(x)
    for _ in range(2):
        got = compiled(x)
        for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_allclose(g, w, rtol=1e-13)
            assert g.flags.c_contiguous == w.flags.c_contiguous and g.flags.f_contiguous == w.flags.f_contiguous
            assert not w.size or strides_that_matter(g) == strides_that_matter(w)


def test_views_that_numpys_functions_give_stay_views():
    function = jitrt.jit(lambda x: (np.rot90(x), x[::-1]))
    for _ in range(2):
        turned, _ = function(plain)
        assert turned.strides == np.rot90(plain).strides and np.shares_memory(turned, plain)


def test_a_large_result_in_fortran_order():
    x = np.asfortranarray(rng.normal(size=(300, 400)))
    compiled = jitrt.jit(lambda x: x * 2 + 1)
    for _ in range(3):
        got = compiled(x)
        assert got.flags.f_contiguous and np.array_equal(got, x * 2 + 1)


def test_a_contiguous_copy_is_no_view():
    def write(x):
        y = np.ascontiguousarray(x)
        y[0] = 5.0
        z = np.asarray(x, order="C")
        z[1] = 6.0
        return y.sum() + z.sum()

    for x in (plain, np.asfortranarray(plain)):
        mine, theirs = x.copy("K"), x.copy("K")
        assert jitrt.jit(write)(mine) == pytest.approx(write(theirs))
        assert np.array_equal(mine, theirs)


def test_what_a_new_array_looks_like_decides_which_reshapes_are_views():
    def write(x):
        y = x * 2
        y.reshape(-1)[0] = 100.0
        y.T.reshape(-1)[1] = 200.0
        return y

    for x in (plain, np.asfortranarray(plain), plain.T):
        assert np.array_equal(jitrt.jit(write)(x), write(x))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda x: x[::-1, ::-1]])
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_copies_have_the_order_that_is_asked_for(layout, order):
    def copies(x):
        return (
            x.copy(order),
            (x + 1).copy(order),
            (x.T * 2).copy(order=order),
            np.array(x).copy(order),
            x[:, 1:].copy(order),
        )

    x = layout(np.arange(12.0).reshape(3, 4))
    for got, want in zip(jitrt.jit(copies)(x), copies(x)):
        np.testing.assert_array_equal(got, want)
        assert got.strides == want.strides


def test_what_numpy_executes_keeps_the_order_of_its_operands():
    def roots(c):
        t = np.sqrt(np.abs(c))
        return t, t + np.float16(1), t.T

    for c in (np.ones((5, 4), np.uint8, order="F"), np.ones((5, 4), np.float16, order="F")):
        want, got = roots(c), jitrt.jit(roots)(c)
        assert [a.strides for a in got] == [a.strides for a in want] and got[0].dtype == np.float16


def test_arrays_of_one_value_have_an_order():
    def several(x, c):
        c.fill(-1.0)
        like = np.zeros_like(x)
        like[0] = 1.0
        ones = np.ones(x.shape)
        return (
            ones + x, np.where(x > 1, x, ones), np.where(x > 1, x, 0.0), np.zeros_like(x) + x, np.zeros_like(x),
            np.maximum(ones, x), x * c, c + 1, like + x, like, np.full_like(x, 3.0) * 2, np.zeros(x.shape[1]) + x,
        )  # fmt: skip

    for x in (np.arange(6.0).reshape(3, 2).T, np.arange(6.0).reshape(2, 3)):
        want, got = several(x, np.ones((2, 3))), jitrt.jit(several)(x, np.ones((2, 3)))
        for k, (a, b) in enumerate(zip(got, want)):
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides, k


def test_elements_that_arrays_choose_are_in_the_order_of_the_arrays():
    rng = np.random.default_rng(0)
    table = np.asfortranarray(rng.random((6, 6)))
    rows = np.asfortranarray(rng.integers(0, 5, (4, 6)))
    column = rng.integers(0, 5, (4, 1))
    functions = [
        lambda a, i, j: a[i, j], lambda a, i, j: a[j, i] * 2, lambda a, i, j: a[i, 2], lambda a, i, j: a[0][i],
        lambda a, i, j: a[i], lambda a, i, j: a[:, i],
    ]  # fmt: skip
    for function in functions:
        compiled = jitrt.jit(function)
        for i in (rows, rows[::-1], rows[:, ::-1], np.ascontiguousarray(rows), rows[::2], rows[:, :1]):
            for j in (column[: len(i)], i, np.ascontiguousarray(i)):
                got, want = compiled(table, i, j), function(table, i, j)
                np.testing.assert_array_equal(got, want)
                of_axes = [[s for s, n in zip(a.strides, a.shape) if n > 1] for a in (got, want)]
                assert of_axes[0] == of_axes[1]


ROWS = {
    "literal": lambda i: np.array([0, 2, 1])[:, np.newaxis],
    "literal in rows": lambda i: np.array([[0, 2], [1, 1]]).T,
    "given": lambda i: i[:, np.newaxis],
    "computed": lambda i: (i * 2 % 3)[:, np.newaxis],
    "one axis": lambda i: i,
}
COLUMNS = {
    "literal": lambda i: np.array([1, 0, 2]),
    "literal in rows": lambda i: np.array([[1], [2], [0]]),
    "given": lambda i: i,
    "computed": lambda i: 2 - i,
}
TAKEN = {
    "given": lambda x: x,
    "transposed": lambda x: x.T,
    "computed": lambda x: np.sqrt(x) + 1,
    "literal": lambda x: np.arange(9.0).reshape(3, 3),
}


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("taken", TAKEN)
def test_arrays_for_all_axes(rows, columns, taken):
    def chosen(x, i):
        return TAKEN[taken](x)[ROWS[rows](i), COLUMNS[columns](i)]

    def row(x, i):
        return TAKEN[taken](x)[0][ROWS[rows](i)]

    x, i = np.arange(9.0).reshape(3, 3), np.array([2, 0, 1])
    for function in (chosen, row):
        try:
            want = function(x, i)
        except IndexError:  # shapes that do not fit
            continue
        for _ in range(2):
            got = jitrt.jit(function)(x, i)
            np.testing.assert_array_equal(got, want)
            assert got.strides == want.strides and got.dtype == want.dtype


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_without_elements_decide_on_the_order(axis):
    """Arrays that are joined, some of them empty, in both orders of memory."""
    rng = np.random.default_rng(0)
    shapes = [(0, 4), (3, 4)] if axis == 0 else [(4, 0), (4, 3)]
    made = [np.array(rng.random(shape), order=order) for shape in shapes for order in "CF"]
    functions = [
        lambda x, y, z: np.concatenate([x, y, z], axis),
        lambda x, y, z: np.concatenate([x * 2, y, z + 1], axis) * 2,
        lambda x, y, z: (np.hstack if axis else np.vstack)([x[:0] if axis == 0 else x[:, :0], y, z]),
    ]
    for function in functions:
        fast = jitrt.jit(function)
        for parts in itertools.product(made, repeat=3):
            want, got = function(*parts), fast(*parts)
            np.testing.assert_array_equal(got, want)
            assert got.strides == want.strides or want.size == 0


VIEWED = (
    "x", "x.T", "x[::-1].T", "x.T[::2]", "x[:1]", "x[:, 0]", "np.broadcast_to(x, (2, 4, 3))",
    "np.broadcast_to(x[0], (4, 3))",
    "np.broadcast_to(x, x.shape)", "np.broadcast_to(x * 2, (2, 4, 3))", "np.broadcast_to(x[0] * 2, (1, 3))",
    "np.broadcast_to(x.T, (3, 4))", "np.broadcast_to(x[:, :1], (4, 3))", "np.repeat(x, 2, axis=0).T[:, ::2]",
)  # fmt: skip
MADE = (
    "np.atleast_1d(v)", "np.atleast_2d(v)", "np.atleast_3d(v)", "np.round(v, 1)", "np.round(v)", "v.round(2)",
    "np.tile(v, 1)", "np.where(True, v, v)", "np.where(False, 0, v)", "np.where(v > 2, v, v)",
    "np.where([True], v, 1)", "v.ravel('K')", "v.flatten('K')", "np.ravel(v, 'A')", "v[None]", "np.expand_dims(v, 0)",
)  # fmt: skip


@pytest.mark.parametrize("viewed", VIEWED)
def test_views_of_views_have_numpys_strides(viewed):
    function = function_of(f"def f(x):\n    v = {viewed}\n    return [{', '.join(MADE)}]\n")
    compiled = jitrt.jit(function)
    for start in (0, 1):
        found = []
        for f in (compiled, function):
            x = np.arange(12.0).reshape(4, 3) + start
            flags = [(a.strides, a.tolist(), a.flags.writeable, np.shares_memory(a, x)) for a in f(x)]
            found.append(dict(zip(MADE, flags, strict=True)))
        assert found[0] == found[1]


NEW_AXES = [
    lambda x: x[0, 0][None],
    lambda x: x[0, 0][None, None] * 2,
    lambda x: x.sum()[None, ...],
    lambda x: (x + 1)[None],
    lambda x: (x + 1)[:, None],
    lambda x: (x * 2).T[..., None],
    lambda x: np.atleast_2d(x[0] + 1),
    lambda x: np.expand_dims(x + 1, 1),
    lambda x: np.array(x.mean(), ndmin=2),
    lambda x: np.array(x[0] + 1, ndmin=2),
    lambda x: np.array(x, ndmin=3),
    lambda x: np.array(x[::2, ::2], ndmin=3, copy=None),
]


@pytest.mark.parametrize("layout", ["C", "Fortran", "strided"])
@pytest.mark.parametrize("number", range(len(NEW_AXES)))
def test_strides_of_new_axes(number, layout):
    function, x = NEW_AXES[number], LAYOUTS[layout]
    compiled = jitrt.jit(function)
    for _ in range(3):
        got, want = compiled(x), function(x)
        assert (got.strides, got.flags.writeable) == (want.strides, want.flags.writeable)
        assert np.array_equal(got, want) or got == pytest.approx(want)


OF_WINDOWS = {
    "contiguous": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "copies": lambda v: (v.copy("K"), v.copy("A"), np.array(v, order="F")),
    "flat": lambda v: (v.ravel("K"), v.ravel("A"), v.reshape(-1)),
    "flags": lambda v: (v.flags.c_contiguous, v.flags.f_contiguous, v * 2),
    "like": lambda v: np.zeros_like(v),
    "one window": lambda v: (v[0], v[:, 0] * 2),
    "behind a look": lambda v: np.ascontiguousarray(v) if v.sum() > 0 else v.reshape(-1),
}


@pytest.mark.parametrize("window", [1, 3, 12])
@pytest.mark.parametrize("name", OF_WINDOWS)
def test_windows_that_numpy_lends(name, window):
    def function(x):
        return OF_WINDOWS[name](sliding_window_view(x, window, writeable=True))

    x = np.arange(1.0, 13.0)
    compiled = jitrt.jit(function)
    for _ in range(3):
        for g, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (compiled(x), function(x)))):
            assert np.array_equal(g, w)
            if isinstance(w, np.ndarray):
                assert strides_that_matter(g) == strides_that_matter(w)
                assert np.shares_memory(g, x) == np.shares_memory(w, x)


OF_NOTHING = {
    "tile": lambda x: (np.tile(x, 2), np.tile(x, (1, 3)), np.tile(x, (2, 2, 2))),
    "tiles of nothing": lambda x: (np.tile(x, 0), np.tile(x * 2, (1, 0))),
    "roll": lambda x: (np.roll(x, 1), np.roll(x + 1, 1), np.roll(x, 1, axis=0)),
    "views": lambda x: ((x * 2).reshape(x.shape[::-1]), np.concatenate([x, x]).reshape(-1, 1, 5), (x + 1).T),
    "copies": lambda x: (x.copy(), x * 2, np.repeat(x, 2, axis=0), np.concatenate([x, x]), x.flatten()),
}


@pytest.mark.parametrize("name", OF_NOTHING)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (2, 0, 5)], ids=str)
def test_strides_of_arrays_without_elements(name, shape):
    for x in (np.zeros(shape), np.zeros(shape, order="F"), np.zeros((4, *shape[1:]))[:0, ::2]):
        function = OF_NOTHING[name]
        compiled = jitrt.jit(function)
        for _ in range(2):
            assert [r.strides for r in compiled(x)] == [r.strides for r in function(x)]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_counts_of_broadcast_arrays(axis):
    """NumPy counts the truth values of a copy, whose axes have another order than those of a broadcast array."""
    fast = jitrt.jit(lambda x: np.count_nonzero(x, axis=axis))
    a = np.arange(60.0).reshape(3, 4, 5)
    broadcast = [np.broadcast_to(part, a.shape) for part in (a[0], a[:, :1], a[:, :, :1], a[0, 0], a[:, :1, :1])]
    for x in [a, a.transpose(0, 2, 1), np.asfortranarray(a), a[:, ::-1, ::2], *broadcast]:
        for values in (x, x > 3):
            want, got = np.count_nonzero(values, axis=axis), fast(values)
            np.testing.assert_array_equal(got, want)
            assert got.strides == want.strides


@pytest.mark.parametrize("part", [lambda y: y[..., ::-1], lambda y: y[1:], lambda y: y.view("u8"), lambda y: y])
def test_steps_of_numpy_read_results_in_any_order(part):
    def function(x):
        y = x * 2
        seen = part(y)
        seen += 1
        if np.median(y) > 3:
            seen[..., -1] = 0
        return y, seen

    fast, x = jitrt.jit(function), np.arange(1200.0)
    for array in (x.reshape(10, 20, 6).transpose(2, 0, 1), x.reshape(100, 12).T, x.reshape(30, 40), x):
        for want, got in zip(function(array), fast(array)):
            np.testing.assert_array_equal(want, got)
            assert want.strides == got.strides


FILLED = (
    "np.zeros(x.shape)", "np.ones(x.shape)", "np.empty(x.shape)", "np.full(x.shape, 2.0)", "np.full(x.shape, s)",
    "np.full(x.shape, x[0, 0])", "np.full(x.shape, x.max())", "np.full_like(np.ascontiguousarray(x), s)",
    "np.full_like(x, x.max(), order='C')", "np.zeros(x.shape, order='F')", "np.full(x.shape, s, order='F')",
    "np.broadcast_to(x[0, 0], x.shape).copy()", "np.broadcast_to(x[0], x.shape)", "np.broadcast_to(s, x.shape)",
    "np.broadcast_to(2.0, x.shape)", "np.broadcast_to(x.max(), x.shape)", "np.broadcast_to(np.arange(3.0), x.shape)",
)  # fmt: skip
WRITTEN = ("pass", "e[0] = 1", "e[:, 1:] = x[:, :-1]", "e[...] = x", "e += x", "e[x > 3] = 2", "e[...] = x[0]")
SEEN = (
    "e + x", "np.where(x > 2, x, e)", "(e * x).ravel('K')", "(x - e).copy('A')", "np.cumsum(e + x, 0)", "e",
    "np.sort(x + e, 0)", "np.concatenate((e + x, x))", "(e + x).flags.c_contiguous", "(e + x).sum(0)", "np.copy(e)",
    "e.ravel('A')", "np.abs(e)", "e.astype(np.float32)", "np.zeros_like(e + x)", "np.maximum(e, 1) * x.T.copy().T",
)  # fmt: skip


def results_and_strides(results):
    return [(np.asarray(r).tolist(), strides_that_matter(r) if isinstance(r, np.ndarray) else type(r)) for r in results]


@pytest.mark.wide(times=3)
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("filled", FILLED)
def test_filled_arrays_have_the_order_in_which_they_are_made(filled, written):
    if "broadcast_to" in filled and "copy" not in filled and written != "pass":
        return  # they are read-only
    values = f"    e = {filled}\n    {'pass' if 'empty' not in filled else 'e[...] = 0'}\n    {written}\n"
    function = function_of(f"def f(x, s):\n{values}    return [{', '.join(SEEN)}]\n")
    through_view = function_of(
        f"def f(x, s):\n{values}    r = e + x\n    v = r.reshape(-1)\n    v[1] = 100\n    return [r, v]\n"
    )
    for f in (function, through_view):
        compiled = jitrt.jit(f)
        for order in "FC":
            x = np.array(np.arange(12.0).reshape(4, 3), order=order)
            for _ in range(2):
                assert results_and_strides(compiled(x, 2.5)) == results_and_strides(f(x, 2.5))


LITERALS = ("np.eye(3)", "np.array([[1, 2], [3, 4.0]])", "np.array([[0.5] * 3] * 3)", "np.arange(6.0).reshape(2, 3)")


@pytest.mark.parametrize("literal", LITERALS)
@pytest.mark.parametrize("first", ["C", "F"])
def test_literals_with_the_same_elements_have_orders_of_their_own(first, literal):
    """So have filled arrays, and broadcast ones of the same number, which have none."""
    second = "CF"[first == "C"]
    a, b = (f"np.array({literal}, order='{order}')" for order in (first, second))
    functions = [
        f"def f(x):\n    a, b = {a}, {b}\n    return a * 2, b * 2, a + b, a, b, x[0, 0] * b\n",
        *(
            f"def f(x):\n    e, v = np.full(x.shape, {number}), np.broadcast_to({number}, x.shape)\n"
            "    return v + x, e + x, e * v\n"
            for number in ("x[0, 0]", "0.5")
        ),
    ]
    for function in map(function_of, functions):
        compiled = jitrt.jit(function)
        for x in (np.ones((3, 4), order="F"), np.ones((3, 4))):
            for _ in range(2):
                assert results_and_strides(compiled(x)) == results_and_strides(function(x))


STEPS = {
    "edges": "np.pad({}, ((0, 0), (1, 1)), mode='edge')",
    "edges of a part": "np.pad({}[:, 1:], 1, mode='edge')",
    "sorted": "np.sort({}, axis=-1)",
    "sorted rows": "np.sort({}[None], axis=-1)",
    "partition": "np.partition({}, 1, axis=0)",
    "percentiles": "np.percentile({}, [10, 50], axis=0)",
}
OPERANDS = {
    "written": "z = y * 2; z[1] = 1",
    "written input": "z = y; z[1:-1] -= 1",
    "copied and written": "z = y.copy('K'); z[1] = 1",
    "put together": "z = np.concatenate((y, y))",
    "swapped": "z = x\n    for _ in range(3):\n        z[:, 0] = y[:, -1]\n        y, z = z, y\n    z[:] = z[0]",
    "rows": "z = y.copy('A'); z[:] = z[[0, 2, 1, 0]]",
    "turned twice": "z = (x * 2).T.copy('K').T",
    "turned": "z = (y + 1).T",
    "written and turned": "z = y * 2; z[1] = 1; z = z[::-1].T",
    "other shapes": "z = (x * 2).reshape(3, 4).T.reshape(4, 3)",
}


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("step", STEPS)
def test_steps_of_numpy_see_the_order_of_what_is_written(step, operand):
    made = f"    {OPERANDS[operand]}\n    e = {STEPS[step].format('z')}\n    e[3:] = 1\n"
    function = function_of(f"def f(x, y):\n{made}    return e, e.ravel('K'), e + 1\n")
    compiled = jitrt.jit(function)
    for _ in range(2):
        got, want = (
            f(*(np.array(np.arange(12.0).reshape(4, 3) * k, order=order) for k, order in ((3, "C"), (2, "F"))))
            for f in (compiled, function)
        )
        assert results_and_strides(got) == results_and_strides(want)
