"""What staging a function costs depends on its text alone, and is linear in it: in lines that run and statements."""

import sys

import numpy as np
import pytest
from llvmlite import ir
from texts import function_of

from jitrt.codegen.procedures import emit_procedure
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged
from jitrt.ir.loops import statements_within


def with_body(body, head="x, y"):
    """A function with that body, whose source is known."""
    return function_of(f"def f({head}):\n" + "".join(f"    {line}\n" for line in body))


def many_statements(n):
    """A long body."""
    body = [f"    s{k} = x[k] * {k + 1}.5 + s{max(k - 1, 0)}" for k in range(n)]
    return with_body(
        ["s0 = 0.0", *(f"s{k} = 0.0" for k in range(n)), "for k in range(len(x)):", *body, f"return s{n - 1}"]
    )


def many_loops(n):
    """One loop behind the other."""
    loops = [line for k in range(n) for line in ("for k in range(len(x)):", f"    s = s * 0.5 + x[k] * {k}.25")]
    return with_body(["s = 0.0", *loops, "return s"])


def many_rows(n):
    """Row statements in one loop."""
    rows = [f"    y[k, {j}:] = y[k, {j}:] * 0.5 + x[: len(x) - {j}]" for j in range(1, n + 1)]
    return with_body(["for k in range(len(y)):", *rows])


def many_choices(n):
    """Choices behind each other, each of which changes a variable."""
    choices = [line for j in range(n) for line in (f"    if x[k] > {j}.5:", f"        s = s + {j}.0")]
    return with_body(["s = 0.0", "for k in range(len(x)):", *choices, "return s"])


def nested(n):
    """Loops inside of each other, whose variables are numbers of other kinds at first."""
    lines = ["s = 0"]
    for k in range(n):
        lines.append("    " * k + f"for i{k} in range(3):")
        lines.append("    " * (k + 1) + "s = s + x[0]")
    return with_body([*lines, "return s"])


def cost(function, n=6):
    """Lines that run while a function is staged; its statements; instructions of LLVM."""
    args = (np.ones(n + 70), np.ones((n, n + 70)))
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        staged = stage(function, args)
    finally:
        sys.settrace(before)
    module = ir.Module("growth")
    emit_procedure(module, staged.procedure, staged.written, "entry")
    instructions = sum(len(block.instructions) for f in module.functions for block in f.blocks)
    return {
        "lines": count,
        "statements": sum(1 for _ in statements_within(staged.procedure.body)),
        "instructions": instructions,
    }


@pytest.mark.parametrize("kind", [many_statements, many_loops, many_rows, many_choices], ids=lambda f: f.__name__)
def test_twice_the_text_costs_twice_as_much(kind):
    cost(kind(5))  # what is made once
    few, many = cost(kind(16)), cost(kind(32))
    growth = {what: round(many[what] / few[what], 2) for what in few}
    assert max(growth.values()) <= 2.4, growth


def test_loops_inside_of_each_other():
    cost(nested(2))
    few, many = cost(nested(3)), cost(nested(6))
    assert many["statements"] <= 2.5 * few["statements"] and many["lines"] <= 5 * few["lines"]


@pytest.mark.parametrize("kind", [many_statements, many_rows, nested], ids=lambda f: f.__name__)
def test_the_size_of_arrays_costs_nothing(kind):
    function = kind(5)
    cost(function)
    assert cost(function, 6) == cost(function, 600)


def _doubled(n):
    return 1 if n == 0 else _doubled(n - 1) + _doubled(n - 1)


def test_calls_that_double_with_each_level_are_given_up():
    def f(x):
        for k in range(len(x)):
            x[k] += _doubled(11)  # never reached: there are no elements
        return x

    with pytest.raises(NotStaged, match=r"too many functions|too long"):
        stage(f, (np.zeros(0),))
