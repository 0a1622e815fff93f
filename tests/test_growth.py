"""Each stage takes about twice as long for twice as many operations: measured in lines that run, not in time."""

import functools
import gc
import sys

import numpy as np
import pytest

import jitrt
from jitrt import pipeline
from jitrt.base.atwork import at_work
from jitrt.codegen.kernels import Kernel, structural_key
from jitrt.frontend.trace import Request, trace
from jitrt.ir import interpret
from jitrt.ir.node import forget_dead
from jitrt.memory.plan import plan_block
from jitrt.passes.prepare import prepare
from jitrt.programs import _key
from jitrt.runtime.assemble import assemble
from jitrt.schedule.control import Tools, schedule
from jitrt.schedule.layout import Layouts

MOST = 2.2


def values_that_live_long(n):
    def function(x):
        found = []
        y = x
        for k in range(n // 4):
            y = np.cumsum(y * (0.5 + k))
            found.append(y)
        total = x
        for y in reversed(found):
            total = total + y
        return total

    return function


def many_results(n):
    def function(x):
        found = []
        y = x
        for k in range(n // 4):
            y = np.cumsum(y + 0.25 * k)
            found.append(y * 2.0)
        return tuple(found)

    return function


def steps_of_numpy(n):
    def function(x):
        y = x
        for k in range(n // 4):
            y = np.sort(y * 0.5 + k)
            y = y + y[::-1]
        return y

    return function


def stencils(n):
    def function(x):
        y = x
        for _ in range(n // 3):
            y = y[1:] + y[:-1] * 0.5
        return y

    return function


def sums(n):
    def function(x):
        found = []
        for k in range(n // 3):
            x = x * 0.9 + k
            found.append(x.sum())
        return tuple(found)

    return function


def written_arguments(n):
    def function(x):
        y = x[::-1].copy()
        for k in range(n // 6):
            x[1 + k % 5 :] += y[: y.size - 1 - k % 5] * (0.1 + k)
            y[: -1 - k % 3] -= x[1 + k % 3 :] * 0.5
        return y

    return function


def updates(n):
    def function(x):
        total = np.zeros_like(x)
        for k in range(n // 3):
            total[k % 7 :] += x[: x.size - k % 7] * 0.5
            x = x * 0.99
        return total

    return function


def parts_of_one(n):
    def function(x):
        y = x * 0.5
        return np.concatenate([y[k::n] * (1.5 + k) + y[(k + 1) % n :: n][0] for k in range(n)])

    return function


def integers(n):
    def function(x):
        k = x.astype(np.int64)
        for bits in range(n // 2):
            k = (k ^ bits) & (k + bits)
        return k

    return function


def halves(n):
    def function(x):
        def transform(v):
            if len(v) == 1:
                return v
            even, odd = transform(v[::2]), transform(v[1::2])
            return np.concatenate([even + 0.5 * odd, even - 0.5 * odd])

        return transform(x[: 2 ** (n // 50).bit_length() * 8])

    return function


KINDS = [
    values_that_live_long,
    many_results,
    steps_of_numpy,
    stencils,
    sums,
    updates,
    written_arguments,
    parts_of_one,
    integers,
    halves,
]


@pytest.fixture(autouse=True)
def what_earlier_tests_have_left():
    """No collection looks at it: that would take longer than everything else here."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def lines(run):
    """What `run` gives, and how many lines run for that."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += 1
        return see

    gc.collect()
    forget_dead()  # what earlier graphs have left
    gc.disable()
    before = sys.gettrace()
    sys.settrace(see)
    try:
        found = run()
    finally:
        sys.settrace(before)
        gc.enable()
    return found, count


def stages(function, size):
    """Lines that run in each stage; kernels are not compiled."""
    count = {}
    x = np.linspace(1, 2, size)
    known, leaves = jitrt.jit(function)._specialisations, []
    structure = known.take_all_apart((x,), {}, leaves, known.take_apart((x,), {}, leaves))
    with at_work():
        traced, count["trace"] = lines(lambda: trace(Request(function, leaves, structure, known.current_captures())))
    graph = traced.graph
    inputs = [*(leaves[k] for k in traced.arguments), *(c.read() for c in traced.captured)]
    _, count["key"] = lines(lambda: _key(graph, inputs, (), {}))
    prepared, count["prepare"] = lines(lambda: [graph, *(g for _, g in prepare(graph))][-1])
    strides = {node: v.strides for node, v in zip(graph.inputs, inputs) if isinstance(v, np.ndarray)}
    tools = Tools(pipeline._has_kernel, pipeline._is_inlined)
    block, count["schedule"] = lines(lambda: schedule(prepared, Layouts(strides), tools, graph.strides))
    scalars = [node for node in block.graph.inputs if node not in strides]
    memory, count["memory"] = lines(lambda: plan_block(block, scalars))

    def put_together():
        calls = list(memory.kernel_calls())
        kernels = {id(c): Kernel(structural_key(c.nest), 0, c.nest) for c in calls}
        return assemble(block.graph, pipeline._steps(block, memory, kernels), memory.layout, graph.strides, 0)

    _, count["codegen"] = lines(put_together)
    return count


@pytest.mark.wide
@pytest.mark.parametrize("size", [1000, 40_000])
@pytest.mark.parametrize("kind", KINDS)
def test_twice_as_many_operations(kind, size):
    stages(kind(20), size)  # what is made once
    few, many = stages(kind(100), size), stages(kind(200), size)
    growth = {stage: round(many[stage] / few[stage], 2) for stage in few}
    assert max(growth.values()) <= MOST, growth


def test_assumptions_are_computed_from_what_earlier_ones_have(monkeypatch):
    """Whether a number fits into an array is looked at each time that one is stored."""

    def function(a, b):
        [b, b][0] += a
        for k in range(1, len(a)):
            b[k] = b[k - 1] * 0.5 + 2.0
        return b

    computed = []
    plain = interpret.evaluate_node
    monkeypatch.setattr(interpret, "evaluate_node", lambda node, args: computed.append(node) or plain(node, args))
    found = []
    for n in (40, 80):
        computed.clear()
        a, b, c = np.arange(n), np.arange(n), np.arange(n)
        np.testing.assert_array_equal(jitrt.jit(function)(a, b), function(a, c))
        np.testing.assert_array_equal(b, c)
        found.append(len(computed))
    assert n < found[1] <= MOST * found[0]


def large_class(members):
    """A class of so many methods and properties, and a function whose code names all of them."""
    lines = ["class Large:", "    scale = 2.0"]
    for k in range(members):
        lines.append(f"    @property\n    def p{k}(self):\n        return self.scale * {k}")
        lines.append(f"    def m{k}(self, x):\n        return x + self.p{k}")
    names = ", ".join(f"o.m{k}(x)" for k in range(members))
    lines.append(f"def function(o, x):\n    return ({names}) if x.size > 3 else x")
    scope = {"__name__": __name__}
    exec("\n".join(lines), scope)
    return scope["Large"](), scope["function"]


def test_twice_as_many_methods():
    counts = []
    for members in (40, 80):
        value, function = large_class(members)
        args, leaves = (value, np.ones(3)), []
        known = jitrt.jit(function)._specialisations
        found = known.take_apart(args, {}, leaves)
        counts.append(lines(functools.partial(known.take_all_apart, args, {}, leaves, found))[1])
    assert counts[1] <= MOST * counts[0]
