"""What depends on constant arrays alone is computed once, bit for bit as NumPy computes it."""

import tracemalloc

import numpy as np
import pytest

import jitrt
from jitrt.ir import build as b
from jitrt.ir.interpret import evaluate
from jitrt.ir.node import Graph
from jitrt.ir.types import ArrayType
from jitrt.passes.constants import fold_constants

_UNARY = [np.negative, np.exp, np.sqrt, np.absolute, np.sin, np.square]
_BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.divide]


def _folded(node, shape=()):
    """The constant that `node` is folded to where an input of that shape reads it."""
    x = b.input_node(0, ArrayType(np.dtype(np.float64), shape))
    graph = fold_constants(Graph((x,), (b.elementwise(np.add, x, node),)))
    return graph.outputs[0].args[1]


def _value(node):
    return node["value"].value


def _random(rng, rows):
    """A random node on constants, and its value."""
    pool = []
    for shape in ((rows, 5), (5,), (rows, 1), (1, 5)):
        for dtype in (np.float64, np.float32, np.int32):
            value = np.asarray(rng.uniform(0.5, 2, shape) * (1 if dtype != np.int32 else 9)).astype(dtype)
            pool.append((b.constant(value), value))
    for _ in range(10):
        (x, v), (y, w) = pool[rng.integers(len(pool))], pool[rng.integers(len(pool))]
        kind = rng.integers(4)
        try:
            with np.errstate(all="raise"):
                if kind <= 1:
                    f = _BINARY[rng.integers(len(_BINARY))]
                    pool.append((b.elementwise(f, x, y), f(v, w)))
                elif kind == 2:
                    f = _UNARY[rng.integers(len(_UNARY))]
                    pool.append((b.elementwise(f, x), f(v)))
                else:
                    pool.append((b.cast(x, np.dtype(np.float32)), v.astype(np.float32)))
        except FloatingPointError:
            continue
    return pool[-1]


@pytest.mark.parametrize("rows", [3, 30_000])
@pytest.mark.parametrize("seed", range(20))
def test_random_constant_graphs_have_numpys_bits(seed, rows):
    node, value = _random(np.random.default_rng(seed), rows)
    folded = _folded(node, value.shape)
    assert folded.op.name == "constant" or value.nbytes > 4096
    (found,) = evaluate((folded,), {})
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(
        np.ascontiguousarray(found).view(f"u{value.itemsize}"), np.ascontiguousarray(value).view(f"u{value.itemsize}")
    )


def test_what_numpy_would_warn_of_stays():
    one = b.constant(np.array([1.0, 0.0]))
    divided = b.elementwise(np.divide, b.elementwise(np.add, one, one), b.elementwise(np.multiply, one, one))
    found = _folded(divided, (2,))
    assert found.op.name == "divide" and all(a.op.name == "constant" for a in found.args)


@pytest.mark.parametrize("rows", [2, 7, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_halves_of_large_results_have_numpys_bits(rows, dtype):
    rng = np.random.default_rng(rows)
    x = rng.uniform(-9, 9, (rows, 400_000 // rows)).astype(dtype)
    for other in (x[::-1].copy(), x[:1], x[:, :1].copy(), x[0], dtype(3)):
        for function in (np.multiply, np.subtract, np.not_equal):
            want = function(x, other)
            got = _value(_folded(b.elementwise(function, b.constant(x), b.constant(other)), x.shape))
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("place", [0, -1])
def test_what_numpy_would_warn_of_in_either_half_stays(place):
    x = np.ones((400, 1000))
    x[place, 0] = 1e300
    folded = _folded(b.elementwise(np.multiply, b.constant(x), b.constant(x)), x.shape)
    assert folded.op.name == "multiply"


def test_a_constant_does_not_grow():
    row, column = b.constant(np.arange(3000.0)), b.constant(np.arange(2000.0).reshape(2000, 1))
    found = _folded(b.elementwise(np.add, b.elementwise(np.multiply, row, row), column), (2000, 3000))
    assert found.op.name == "add" and found.args[0].op.name == "constant"
    wide = _folded(b.broadcast_to(b.elementwise(np.add, row, row), (2000, 3000)), (2000, 3000))
    assert wide.op.name == "broadcast_to" and wide.args[0].op.name == "constant"


def test_what_reads_inputs_stays():
    x = b.input_node(0, ArrayType(np.dtype(np.float64), (3,)))
    graph = Graph((x,), (b.elementwise(np.add, x, b.constant(np.ones(3))),))
    assert fold_constants(graph) is graph


def test_chains_take_the_memory_of_their_result_and_a_chunk():
    value = np.ones((2000, 1000))
    node = b.constant(value)
    for _ in range(12):
        node = b.elementwise(
            np.multiply, b.elementwise(np.add, node, b.constant(np.full(1000, 0.5))), b.constant(np.float64(0.5))
        )
    tracemalloc.start()
    found = _folded(node, value.shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.op.name == "constant"
    assert peak < 1.3 * value.nbytes


def test_views_share_memory_until_they_are_read():
    value = np.ones((1000, 1000))
    node = b.constant(value)
    tracemalloc.start()
    for _ in range(50):
        node = b.view("transpose", b.view("reshape", node, shape=(1000, 1000)), axes=(1, 0))
    found = _folded(node, value.shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.op.name == "constant" and peak < 1.1 * value.nbytes


CONSTANTS = {
    "array": lambda x: np.array([2]) ** -1,
    "filled": lambda x: np.full(3, 2) ** np.int64(-2),
    "power": lambda x: np.power(np.array([2, 3]), [1, -1]),
    "empty": lambda x: np.zeros(0, int) ** -1,
    "number": lambda x: np.int64(2) ** -1,
    "unread": lambda x: (np.arange(3) ** -1, x)[1],
}


@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("constant", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_that_numpy_refuses(constant, is_caught):
    def f(x):
        y = x + 1
        try:
            return constant(x) + 0, y
        except ValueError as error:
            if not is_caught:
                raise
            return str(error), y

    def outcome(function):
        try:
            return repr(function(np.arange(3.0)))
        except ValueError as error:
            return repr(error)

    fast = jitrt.jit(f)
    for _ in range(3):
        assert outcome(fast) == outcome(f)


C, K = (lambda: np.array([2.0, 1.0, 1.0, 3.0])), (lambda: np.array([0, 2, 1, 2]))


def _written(write):
    made = np.zeros(4)
    write(made)
    return made


STEPS = {
    "sort": lambda x: x + np.sort(C()),
    "argsort": lambda x: x[:, np.argsort(C())],
    "nonzero": lambda x: x[:, np.nonzero(K())[0]],
    "unique": lambda x: x[:, : np.unique(K()).size] * np.unique(K(), return_counts=True)[1],
    "convolve": lambda x: x[:, :3] + np.convolve(C(), np.array([1.0, 3.0]), "valid"),
    "fft": lambda x: x + np.fft.fft(C()).real,
    "interp": lambda x: x + np.interp(1.5, np.arange(4.0) * C()[1], C()),
    "bincount": lambda x: x[:, :3] + np.bincount(K()),
    "polyfit": lambda x: x[:, :2] + np.polyfit(K() * 1.0, C(), 1),
    "histogram": lambda x: x[:, :3] + np.histogram(C(), 3)[0],
    "scatter": lambda x: x + _written(lambda made: made.__setitem__([1, 3], C()[:2])),
    "scatter by array": lambda x: x + _written(lambda made: made.__setitem__(K(), C())),
    "scatter by slice": lambda x: x + _written(lambda made: made.__setitem__(slice(1, 3), C()[:2])),
    "put": lambda x: x + _written(lambda made: np.put(made, [1, 3], C()[:2])),
    "add at": lambda x: x + _written(lambda made: np.add.at(made, K(), C())),
    "sort in place": lambda x: x + _written(lambda made: (made.__setitem__(slice(None), C()), made.sort())),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_on_constants_are_made_once(name):
    compiled = jitrt.jit(lambda x: STEPS[name](np.sqrt(x)))
    x = np.linspace(0.0, 1.0, 400).reshape(100, 4)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), STEPS[name](np.sqrt(x)))
    explanation = compiled.explain(x)
    assert not explanation.host_calls and "1 kernel" in explanation.text().replace("2 kernels", "1 kernel")


def test_steps_on_constants_are_switched_off(monkeypatch):
    monkeypatch.setenv("JITRT_RULES_OFF", "fold_steps")
    compiled = jitrt.jit(lambda x: x + np.sort(C()))
    x = np.ones((5000, 4))
    np.testing.assert_array_equal(compiled(x), x + np.sort(C()))
    assert len(compiled.explain(x).host_calls) == 1


KEPT = {
    "warns": lambda x: x + _written(lambda made: made.astype("f4").__setitem__([1], np.array([1e300]))),
    "calls": lambda x: x + np.apply_along_axis(lambda v: heard.append(1) or v * 2, 0, C()),
    "grows": lambda x: x.sum() + np.convolve(np.arange(3000.0) + C()[0], np.arange(3000.0) + C()[0]),
}
heard = []


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.filterwarnings("ignore:overflow")
def test_steps_that_each_call_has_to_make_stay(name):
    compiled = jitrt.jit(lambda x: KEPT[name](x))
    x = np.ones((100, 4))
    heard.clear()
    for k in range(3):
        np.testing.assert_array_equal(compiled(x), KEPT[name](x))
        assert len(heard) == (2 * (k + 1) if name == "calls" else 0)


LAYOUTS = {
    "argwhere": lambda: np.argwhere(K()),
    "unravel_index": lambda: np.unravel_index(K(), (2, 2)),
    "eig": lambda: np.linalg.eig(np.array([[2.0, 1.0], [1.0, 3.0]])),
    "unique_all": lambda: np.unique_all(C()),
    "sorted in Fortran's order": lambda: np.sort(np.asfortranarray(C().reshape(2, 2)), axis=0),
    "numbers": lambda: (np.median(C()), np.searchsorted(np.sort(C()), 2.0), np.array_equal(C(), C())),
    "nothing": lambda: np.sort(np.array([])),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_steps_on_constants_give_arrays_of_their_own_in_numpys_memory_order(name):
    def described(value):
        if isinstance(value, tuple):
            return type(value).__name__, [described(part) for part in value]
        if isinstance(value, np.ndarray):
            return value.dtype, value.shape, value.strides, value.flags.writeable, value.tolist()
        return type(value), value

    compiled = jitrt.jit(lambda x: LAYOUTS[name]())
    made = [compiled(1.0) for _ in range(4)]
    assert [described(v) for v in made] == [described(LAYOUTS[name]())] * 4
    arrays = [a for v in made for a in (v if isinstance(v, tuple) else (v,)) if isinstance(a, np.ndarray)]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def test_a_constant_view_of_a_constant_shares_its_memory():
    def f(x):
        c = np.array([0.0, 1.0, 2.0, 0.0])
        part = np.trim_zeros(c)
        part[0] = 7.0
        return x + c

    compiled = jitrt.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(4)), f(np.ones(4)))
