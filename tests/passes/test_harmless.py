"""What is left out raises nothing: ranges hold what NumPy computes, and calls outside of them say what NumPy says."""

import warnings

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.ir import build as b
from jitrt.ir.interpret import evaluate
from jitrt.ir.node import Graph
from jitrt.ir.ops.optable import OPS
from jitrt.ir.ops.raising import FORCE, LEFT_OUT, force
from jitrt.ir.ops.ufuncs import CAST
from jitrt.ir.types import ArrayType
from jitrt.passes.harmless import _range, _rounded, left_out

RAISING = {"divide": "raise", "over": "raise", "invalid": "raise", "under": "ignore"}
ENDS = (0.0, 1e-300, 1e-42, 1e-18, 1e-3, 0.5, 1.0, 1.5, 3.0, 20.0, 88.0, 200.0, 700.0, 3e4, 1e18, 1e38, 1e150, 1e300)
WITH_RANGES = [op for op in OPS.values() if op.range is not None and op.ufunc is not None]


def values(rng, range_, dtype, count=60):
    """Elements of a range, its ends among them."""
    low, high = (dtype.type(end) for end in range_)
    with np.errstate(all="ignore"):
        found = rng.uniform(0, 1, count).astype(dtype) * high + low * rng.uniform(0, 1, count).astype(dtype)
        small = np.array([0, -0.0, 1e-310, -1e-310, 1e-42, 1.0, -1.0]).astype(dtype)
    return np.clip(np.concatenate([found, small, [low, high]]), low, high).astype(dtype)


def some_range(rng, dtype):
    low, high = sorted(float(dtype.type(rng.choice(ENDS) * rng.choice([-1, 1, 1]))) for _ in range(2))
    most = float(np.finfo(dtype).max)
    return max(low, -most), min(high, most)


def lies_within(result, range_):
    return bool(np.isfinite(result).all()) and range_[0] <= float(result.min()) and float(result.max()) <= range_[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("op", WITH_RANGES, ids=lambda op: op.name)
def test_ranges_hold_what_numpy_computes(op, dtype):
    rng = np.random.default_rng(len(op.name))
    known = 0
    for _ in range(300):
        ranges = [some_range(rng, dtype) for _ in range(op.ufunc.nin)]
        if op.name in ("power", "float_power"):
            ranges[1] = (float(rng.choice([-2, -1, -0.5, 0, 0.5, 1, 2, 3, 2.5])),) * 2
        args = [values(rng, r, dtype) for r in ranges]
        nodes = [b.input_node(k, ArrayType(a.dtype, a.shape)) for k, a in enumerate(args)]
        node = b.elementwise(op.ufunc, *nodes)
        found = _range(node, dict(zip(nodes, ranges)))
        if found is None:
            continue
        known += 1
        with np.errstate(**RAISING):
            for shift in range(0, len(args[0]), 7):
                result = op.numpy(args[0], *(np.roll(a, shift) for a in args[1:]))
                assert result.dtype == node.dtype and lies_within(result, found), (ranges, found)
    assert known > 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["b", "B", "h", "I", "i8", "f", "d"])
def test_ranges_of_casts(target):
    rng, known = np.random.default_rng(5), 0
    for _ in range(300):
        range_ = some_range(rng, np.dtype(np.float64))
        array = values(rng, range_, np.dtype(np.float64))
        node = b.input_node(0, ArrayType(array.dtype, array.shape))
        found = _range(b.cast(node, np.dtype(target)), {node: range_}) if target != "d" else range_
        if found is not None:
            known += 1
            with np.errstate(**RAISING):
                assert lies_within(CAST.numpy(array, np.dtype(target)), found)
    assert known > 10


def test_rounding_is_outwards():
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        for exact in (1 / 3, -1 / 3, 1e-45, -1e-45, 1e-41, 2.0, 0.0):
            low, high = _rounded((exact, exact), dtype)
            assert low <= float(dtype.type(exact)) <= high and low <= exact <= high
    assert _rounded((0.0, 1e39), np.dtype(np.float32)) is None
    assert _rounded((1e-44, 1.0), np.dtype(np.float32))[0] == 0.0  # what is subnormal may be flushed
    assert _rounded((-1.0, 5.0), np.dtype(np.uint8)) is None


_TEMPLATES = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * {c}", "{c} - {a}", "{a} / {c}", "{a} / {b}", "np.sqrt({a})",
    "np.exp({a})", "np.log({a})", "np.abs({a})", "np.maximum({a}, {b})", "np.where({a} > {b}, {a}, {b})", "{a} ** 2",
    "{a}.astype('f4') * 2", "np.sin({a})", "-{a}", "{a}[::-1]", "1 / {a}", "np.concatenate([{a}, {b}])[:len(x)]",
)  # fmt: skip


def program(rng, count):
    """A function of two arrays that computes much of which it returns little."""
    names, lines = ["x", "y"], ["def f(x, y):"]
    for k in range(count):
        simple = rng.random() < 0.9
        template = _TEMPLATES[rng.integers(6 if simple else len(_TEMPLATES))]
        a = names[-1] if rng.random() < 0.5 else rng.choice(names)
        lines.append(
            f"    t{k} = ({template.format(a=a, b=rng.choice(names), c=f'{rng.uniform(0.5, 1.5):.3f}')}) * 0.5"
        )
        names.append(f"t{k}")
    lines.append(f"    return x + y, {rng.choice(names)}")
    return "\n".join(lines)


def arguments(rng, kind):
    x, y = rng.uniform(0.6, 2.0, 64), rng.uniform(0.6, 2.0, 64)
    value = {"zero": 0.0, "negative": -1.0, "nan": np.nan, "inf": np.inf, "huge": 1e300, "tiny": 1e-300}.get(kind)
    if value is not None:
        (x if rng.random() < 0.5 else y)[rng.integers(64)] = value
    return x, y


def outcome(function, args, state):
    with warnings.catch_warnings(record=True) as caught, np.errstate(**state):
        warnings.simplefilter("always")
        try:
            result = function(*(a.copy() for a in args))
        except FloatingPointError as error:
            result = str(error)
    return result, [(w.category, str(w.message)) for w in caught if "Jitrt" not in w.category.__name__]


def agree(got, want):
    if isinstance(want[0], str) or isinstance(got[0], str):
        return got == want
    with np.errstate(all="ignore"):
        same = all(np.allclose(g, w, rtol=1e-6, equal_nan=True) for g, w in zip(got[0], want[0]))
    return same and got[1] == want[1]


STATES = ({}, {"all": "raise"}, {"all": "ignore"}, {"under": "warn"}, {"under": "raise", "over": "ignore"})
CALLS = ("", "", "tiny", "", "huge", "zero", "", "nan", "negative", "inf", "")


@pytest.mark.parametrize("first", few(range(0, 60, 10), 2))
def test_random_programs(first):
    for seed in range(first, first + 10):
        rng = np.random.default_rng(seed)
        text, scope = program(rng, 60), {"np": np}
        exec(text, scope)
        compiled = jitrt.jit(scope["f"])
        state = STATES[rng.integers(len(STATES))] if seed % 3 else {}
        for kind in rng.permutation(CALLS) if seed % 2 else CALLS:
            args = arguments(rng, kind)
            for _ in range(2):
                got, want = outcome(compiled, args, state), outcome(scope["f"], args, state)
                assert agree(got, want), (seed, kind, state, text, got, want)


def chain():
    """A function of two arrays with a long sum that nothing reads."""
    terms, scope = " + ".join(f"{k}.0 * x * y" for k in range(1, 30)), {}
    exec(f"def f(x, y):\n    {terms}\n    return x - y", scope)
    return scope["f"]


def graph_of(found):
    return dict(found.stages)["trace"]


def test_a_long_chain_is_left_out_until_it_may_raise():
    compiled = jitrt.jit(chain())
    x, y = np.linspace(0, 1, 200), np.linspace(-1, 3, 200)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, y), x - y)
    assert any(n.op is LEFT_OUT for n in graph_of(compiled.explain(x, y).compiled).outputs)
    assert any(n.op.name == "assume" for n in graph_of(compiled.explain(x, y).compiled).outputs)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="overflow"):
            np.testing.assert_array_equal(compiled(x, y * 1e308), x - y * 1e308)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, y), x - y)
    assert not any(n.op is LEFT_OUT for n in graph_of(compiled.explain(x, y).compiled).outputs)


def test_an_error_state_that_asks_for_underflow_computes_all():
    compiled = jitrt.jit(chain())
    x, y = np.linspace(0, 1, 200), np.linspace(-1, 3, 200) * 1e-310
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, y), x - y)
    for _ in range(3):
        with np.errstate(under="raise"), pytest.raises(FloatingPointError):
            compiled(x * 1e-308, y)


def test_what_cannot_be_proved_is_computed():
    x = b.input_node(0, ArrayType(np.dtype(np.float64), (50,)))
    t = x
    for _ in range(20):
        t = b.elementwise(np.add, t, x)
    outside = b.elementwise(np.log, t)  # of what has zeros
    graph = Graph(
        (x,), (x, force(b.elementwise(np.multiply, outside, t)), force(b.elementwise(np.cosh, t))), (None,) * 3
    )
    found = left_out(graph, [np.linspace(-1, 1, 50)])
    assert {n.args[0].op.name for n in found.outputs if n.op is FORCE} <= {"log", "multiply", "cosh"}
    assert outside in found.nodes()


def test_values_that_are_not_finite_prove_nothing():
    x = b.input_node(0, ArrayType(np.dtype(np.float64), (50,)))
    t = x
    for _ in range(40):
        t = b.elementwise(np.add, t, x)
    graph = Graph((x,), (x, force(t)), (None, None))
    for value in (np.full(50, np.nan), np.full(50, np.inf), np.full(50, 1e308)):
        assert any(n.op is FORCE for n in left_out(graph, [value]).outputs)
    found = left_out(graph, [np.ones(50)])
    assert not any(n.op is FORCE for n in found.outputs)
    (check,) = [n for n in found.outputs if n.op.name == "assume"]
    assert evaluate((check,), {x: np.full(50, 7.0)})[0] == 0
    for value in (np.nan, 1e300, -np.inf):
        with pytest.raises(ArithmeticError):
            evaluate((check,), {x: np.array([1.0] * 49 + [value])})
