"""Arrays that share memory behind NumPy's functions: what is written to one is seen through the other, as in NumPy."""

import numpy as np
import pytest
from texts import function_of

import jitrt

windows = np.lib.stride_tricks.sliding_window_view
strided = np.lib.stride_tricks.as_strided


def diagonal_by_einsum(x):
    np.einsum("ii->i", x)[:] = 1
    return x * 2


def transposed_by_einsum(x):
    y = x * 2
    np.einsum("...ij->...ji", y)[0] = 7
    view = np.einsum("ii->i", y)
    view *= 10
    return y, view, np.einsum("ij->ji", x)


def strided_diagonal(x):
    strided(x, (4,), (sum(x.strides),))[:] += 100
    return x * 2


def turned(x):
    np.rot90(x)[0] = 0
    np.rot90(x, -1, (1, 0))[:, 1] = 5
    y = np.rot90(x, 2)
    x[1] = 3
    return y, np.rot90(x, 4), x + 1


def raveled(x):
    np.ravel(x, "K")[0] = 99
    x.ravel(order="F")[1] = 98
    x.ravel("A")[2] = 97
    np.reshape(x, (2, 8), order="F")[0, 3] = 96
    x.reshape(8, 2, order="A")[3] = 95
    return x + 0


def orders_of_elements(x):
    y = x * 2
    return (
        y.ravel("K"),
        y.T.ravel("A"),
        y[::-1].ravel("K"),
        y[:, ::2].ravel("K"),
        y.flatten("F"),
        y.reshape(2, 8, order="F"),
    )


def window_after_a_write(x):
    x[0] = 5
    return windows(x, 2, axis=0)


def window_and_its_array(x):
    y = x * 2
    return y, windows(y, 2, axis=0)


def window_before_a_write(x):
    w = windows(x, 2, axis=0)
    x[0] = 5
    return w * 2


def trimmed(x):
    row = np.trim_zeros(x[0])
    row[0] = 77
    return x + 1


def trimmed_view(x):
    return np.trim_zeros(x[0])


def converted_elsewhere(x):
    y = np.asarray_chkfinite(x)
    y += 1
    return x


def required(x):
    y = np.require(x, requirements="C")
    y[1] = 3
    return x + y


def unstacked(x):
    first, second = np.unstack(x)[:2]
    first += second
    return x * 1


def flat_values_are_repeated(x):
    x.flat[::2] = [1, 2]
    y = x * 2
    y.flat = x[0]
    x.flat[1:4] = np.arange(9.0)
    x.flat[5] = 3
    return x + 0, y


def shape_of_an_argument(x):
    x.shape = (2, 8)
    return x * 1


FUNCTIONS = [v for v in list(globals().values()) if callable(v) and getattr(v, "__module__", "") == __name__]


def shared(values):
    return [[np.shares_memory(a, b) for a in values] for b in values]


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function, order):
    if order == "F" and function is shape_of_an_argument:
        pytest.skip("such an array has no such shape")
    compiled = jitrt.jit(function)
    for start in (0.0, 1.0, 0.0):
        mine, theirs = (np.asarray(np.arange(16.0).reshape(4, 4) + start, order=order) for _ in range(2))
        got, want = ([*r] if isinstance(r, tuple) else [r] for r in (compiled(mine), function(theirs)))
        for a, b in zip([*got, mine], [*want, theirs], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.strides == b.strides
        assert shared([*got, mine]) == shared([*want, theirs])


FLATTENED = (
    "a.ravel()", "np.ravel(a)", "a.flatten()", "a.reshape(-1)", "a.reshape(a.size)", "a[1:].ravel()", "a[::2].ravel()",
    "a[0].ravel()", "a[..., 0].ravel()", "a.T.ravel()", "a[::-1].ravel()", "a[..., ::-1].reshape(-1)",
    "a.reshape(4, 5, 10)[:, 0].ravel()", "a.T.reshape(20, 2, 5)", "a[:, 1:2].ravel()",
)  # fmt: skip
LAYOUTS = {
    "C": lambda v: v[:200].reshape(4, 50),
    "F": lambda v: v[:200].reshape(50, 4).T,
    "columns": lambda v: v.reshape(4, 100)[:, ::2],
    "left half": lambda v: v.reshape(4, 100)[:, :50],
    "rows": lambda v: v.reshape(8, 50)[::2],
    "turned": lambda v: v[:200].reshape(4, 50)[::-1, ::-1],
    "vector": lambda v: v[:200],
    "every other": lambda v: v[::2],
    "turned vector": lambda v: v[:200][::-1],
    "one row": lambda v: v.reshape(1, 400)[:, ::2],
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("flattened", FLATTENED)
def test_what_is_flattened_is_a_view_or_a_copy_as_in_numpy(flattened, layout):
    """It is written, and shows in the array if it is a view of it."""
    body = f"    c = {flattened}\n    c[:1] = 0.25\n    for i in range(3):\n        b[i] = i\n    return c\n"
    function = function_of(f"def f(a, b):\n{body}")
    compiled = jitrt.jit(function)
    for _ in range(2):
        found = []
        for f in (compiled, function):
            memory = np.arange(400.0)
            try:
                made = f(LAYOUTS[layout](memory), np.zeros(3))
                found.append((made.tolist(), memory.tolist(), np.shares_memory(made, memory)))
            except (IndexError, ValueError) as error:
                found.append((type(error), memory.tolist(), False))
        assert found[0] == found[1]


VIEWS = (
    "a.T", "a[:]", "a[...]", "a.ravel()", "np.ravel(a)", "a.reshape(-1)", "a.reshape(a.shape)", "np.asarray(a)",
    "a.transpose()", "np.transpose(a)", "a.T.T", "a[0:]", "a[::-1][::-1]", "np.expand_dims(a, 0)[0]", "a.real", "a",
    "(a, a.T, a)", "np.squeeze(a)", "np.atleast_1d(a)", "a.astype(float, copy=False)",
)  # fmt: skip


@pytest.mark.parametrize("shape", [(300,), (10, 30)])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_all_of_an_argument_is_not_the_argument(view, shape):
    function = function_of(f"def f(a, b):\n    for i in range(3):\n        b[i] = i\n    return {view}\n")
    compiled = jitrt.jit(function)
    for _ in range(2):
        found = []
        for f in (compiled, function):
            array = np.arange(300.0).reshape(shape).copy()
            made = f(array, np.zeros(3))
            parts = made if isinstance(made, tuple) else (made,)
            found.append([(part is array, np.shares_memory(part, array), part.strides) for part in parts])
        assert found[0] == found[1]


COPIES = (
    "v * 1", "1 * v", "v + 0", "v - 0", "v / 1", "+v", "v ** 1", "v.copy()", "np.array(v)", "np.array(v)[1]",
    "v.astype(v.dtype)", "np.asfortranarray(v)", "np.where(True, v, 0)", "np.where(v > 9, v, v)", "v.conj()",
    "np.copy(v, order='K')", "(v, v * 1, +v)", "np.negative(-v)", "(v * 1).T[1:]", "np.positive(v)",
)  # fmt: skip


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_copies_of_what_lies_in_the_memory_of_an_argument_have_their_own(copy, dtype):
    function = function_of(f"def f(x, windows):\n    v = windows(x, 3, writeable=True)\n    return {copy}\n")
    compiled = jitrt.jit(function)
    for start in (0, 1, 2):
        found = []
        for f in (compiled, function):
            x = np.arange(8, dtype=dtype) + start
            made = f(x, windows)
            parts = made if isinstance(made, tuple) else (made,)
            for part in parts:
                found.append((np.shares_memory(part, x), part.strides, part.tolist(), part.flags.writeable))
        assert found[: len(parts)] == found[len(parts) :]


def test_results_are_not_compared_with_what_is_handed_out():
    """What tells of the order of bins is NumPy's: it gets an array, and results that are symbols are none."""
    graph = jitrt.jit(lambda x: x + np.digitize(x, (0.0, 1.0, 2.0))).lower(np.arange(300.0)).graph
    assert [n.op.name for n in graph.nodes()].count("call") == 1
