"""Loops over arrays that become one compute what they computed before, and do so only where no element is missed."""

import random
import warnings

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged
from jitrt.ir.loops import For, Memory, Scope, Store, statements_within
from jitrt.ir.verify import verify
from jitrt.passes.nests import fuse_nests, independent_loops
from jitrt.runtime.loopengine import MISS
from jitrt.runtime.stagedloops import LoopEngine


def with_body(body, parameters="a, b, c, steps"):
    return function_of("\n".join([f"def f({parameters}):", *(f"    {line}" for line in body)]) + "\n")


def stepping(*body):
    return with_body(["for _ in range(steps):", *(f"    {line}" for line in body), "return a, b, c"])


def arrays(shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    made = [rng.normal(size=shape) for _ in range(3)] if kind in "fc" else [rng.integers(0, 9, shape) for _ in range(3)]
    made = [x + 1j * rng.normal(size=shape) for x in made] if kind == "c" else made
    return [x.astype(dtype) for x in made]


def fused(function, args):
    """The loops over arrays in the user's loop: how many there are that have none inside."""
    procedure = fuse_nests(stage(function, args, True).procedure)
    verify(procedure)
    written = next(s for s in statements_within(procedure.body) if isinstance(s, For) and isinstance(s.body[0], Scope))
    inside = [s for s in statements_within(written.body) if isinstance(s, For)]
    return procedure, [s for s in inside if not any(isinstance(t, For) for t in statements_within(s.body))]


ONE = {
    "each needs its own element": ["b = b + a * c", "a = a + b * c"],
    "a temporary": ["t = a > b", "a = np.where(t, a - 1, a)", "b = np.where(t, b, b * 2)"],
    "an array that is read as well": ["a = a * 2 + c", "b = b + c * a"],
}
SEVERAL = {
    "a neighbour of what has been computed": ["b = a * 2", "a[1:] = b[:-1]"],
    "a neighbour of what is overwritten": ["b[:-1] = a[1:]", "a = b + 1"],
    "another extent": ["b = a * 2", "c[1:] = b[1:] + 1"],
}


@pytest.mark.parametrize("body", ONE.values(), ids=ONE)
@pytest.mark.parametrize("shape", [(9,), (3, 4), (2, 3, 4)], ids=str)
def test_operations_on_arrays_of_a_shape_are_one_loop(body, shape):
    procedure, loops = fused(stepping(*body), [*arrays(shape), 3])
    assert len(loops) == 1
    assert loops[0].index in independent_loops(procedure)
    assert {s.base for s in statements_within(loops[0].body) if isinstance(s, Store)} <= {
        s.target for s in statements_within(procedure.body) if isinstance(s, Memory)
    }


@pytest.mark.parametrize("body", SEVERAL.values(), ids=SEVERAL)
def test_what_needs_other_elements_waits_for_them(body):
    assert len(fused(stepping(*body), [*arrays((9,)), 3])[1]) > 1


def test_memory_that_nobody_reads_is_gone():
    _, (loop,) = fused(stepping("t = a > b", "a = np.where(t, a - 1, a)"), [*arrays((9,)), 3])
    assert sum(isinstance(s, Store) for s in statements_within(loop.body)) == 1


def test_rows_of_matrices_without_gaps_are_one_loop():
    _, (loop,) = fused(stepping("a = a * b"), [*arrays((3, 5)), 2])
    assert str(loop.stop) == "x0.n0*x0.n1"


@pytest.mark.parametrize("call", ["np.argsort(a, kind='stable')", "np.argsort(a, 0, kind='stable')"])
def test_numbers_of_rows_and_columns_that_are_stored_stay(call):
    function = with_body(["t = 0", "for i in range(40):", "    t += i", f"return {call}, t"], "a")
    fast = jitrt.jit(function)
    for shape in ((40, 70), (3, 5), (2, 1)):
        a = np.arange(np.prod(shape)).reshape(shape) % 3.0
        np.testing.assert_array_equal(fast(a)[0], function(a)[0])


@pytest.mark.parametrize("body", [["t = 1 / a", "b = b + 1"], ["t = 1 / a", "b = np.where(a > 1, t, b)"]])
def test_what_nobody_reads_still_warns(body):
    function = stepping(*body)
    a, b, c = arrays((9,))
    a[3] = 0
    engine = LoopEngine(function)
    engine._looked = True
    for call in (function, lambda *args: engine.call(args, True)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call(a, b, c, 2)
        assert [str(w.message) for w in found] == ["divide by zero encountered in divide"] * 2


TARGETS = [
    "{x}",
    "{x}[1:]",
    "{x}[:-1]",
    "{x}[1:-1]",
    "{x}[2:]",
    "{x}[::2]",
    "{x}[1:-1, 1:-1]",
    "{x}[:, 1:]",
    "{x}[-1]",
    "{x}[0]",
]
WHOLE = [
    "{x} = {y} * {z} + {x}",
    "{x} = np.where({x} > {y}, {z}, {x} - 1)",
    "{x} = {y}.copy()",
    "{x}, {y} = {y}, {x}",
    "{x} = np.roll({y}, 1, 0) + {x}",
    "t = {y} > {z}\n{x} = np.where(t, {x}, {y})",
    "{x} = {y}[:1] + {z}",
    "{x} *= {y}",
    "{x} += {x}[::-1]",
]
PARTS = [
    "{t:x} = {t:y} * 2",
    "{t:x} += {t:y}",
    "{t:x} = {t:y} - {t:z}",
    "{t:x} = {t:x} + {u:y}",
    "{t:x} = {u:y}",
    "{t:x} = 3",
]


def random_statement(rng, ndim):
    names = dict(zip("xyz", rng.choices("abc", k=3)))
    if rng.random() < 0.5:
        return rng.choice(WHOLE).format(**names).split("\n")
    targets = [t for t in TARGETS if ndim == 2 or "," not in t]
    target, other = rng.choice(targets), rng.choice(targets)
    form = rng.choice(PARTS)
    for k, v in names.items():
        form = form.replace(f"{{t:{k}}}", target.format(x=v)).replace(f"{{u:{k}}}", other.format(x=v))
    return [form]


@pytest.mark.parametrize("seed", few(range(60), 24))
def test_random_programs(seed):
    rng = random.Random(seed)
    ndim = rng.choice([1, 2])
    body = [line for _ in range(rng.randint(2, 5)) for line in random_statement(rng, ndim)]
    function = stepping(*body)
    dtype = rng.choice(["f8", "f8", "f4", "i8", "u1", "c16"])
    engine = LoopEngine(function)
    engine._looked = True
    # NumPy multiplies a single complex number in place in another order.
    for size in (6, 2, 3, 19) if dtype == "c16" else (6, 1, 2, 3, 19):
        args = [*arrays((size,) if ndim == 1 else (size, size + 1), dtype, seed), rng.randint(1, 4)]
        copies = [np.copy(x) for x in args[:3]] + args[3:]
        try:
            with np.errstate(all="ignore"):
                wanted = function(*args)
        except Exception:
            continue
        with np.errstate(all="ignore"):
            try:
                made = engine.call(tuple(copies), True)
            except NotStaged:
                return
        if made is MISS:
            continue
        for x, y in zip(map(np.asarray, (*wanted, *args[:3])), map(np.asarray, (*made, *copies[:3]))):
            assert x.dtype == y.dtype and x.shape == y.shape
            assert x.tobytes() == y.tobytes() or np.array_equal(x, y, equal_nan=True), body
