"""Graphs that NumPy computes node by node: the same values with and without what is needed no more."""

import tracemalloc

import numpy as np
import pytest

from jitrt.ir import build as b
from jitrt.ir.interpret import evaluate, evaluate_once
from jitrt.ir.node import type_of
from jitrt.ir.ops.updates import region_between, update

VALUES = np.arange(12.0).reshape(3, 4)
X = b.input_node(0, type_of(VALUES))


def assigned(old, row, value):
    view = b.view("getitem", old, index=(row,))
    return update(old, value, region_between(view, old))


def graphs():
    twice = b.elementwise(np.add, X, X)
    square = b.elementwise(np.multiply, twice, twice)
    row = b.view("getitem", square, index=(0,))
    first = assigned(twice, 0, row)
    second = assigned(first, 1, b.view("getitem", twice, index=(2,)))
    third = assigned(second, 2, row)
    other = assigned(first, 2, row)
    read = b.elementwise(np.negative, second)
    yield "shared operands", (square, twice)
    yield "assignments in a row", (third,)
    yield "what lies between assignments is read", (third, read)
    yield "two rows of assignments with one beginning", (third, other)
    yield "results between assignments", (first, third, second)
    yield "an input", (X, square)
    yield "twice", (square, square)
    yield "a temporary, twice", (b.elementwise(np.add, square, square), b.elementwise(np.exp, twice))
    sums = b.elementwise(np.add, b.elementwise(np.multiply, X, X), X)
    yield "temporaries and their views", (b.view("getitem", sums, index=(1,)), b.elementwise(np.subtract, X, sums))
    yield "a literal", (b.elementwise(np.add, b.constant(np.ones(4)), X),)


@pytest.mark.parametrize(("name", "roots"), list(graphs()))
def test_the_same_values(name, roots):
    given = {X: VALUES.copy()}
    wanted = evaluate(roots, dict(given))
    for got, want in zip(evaluate_once(roots, given), wanted, strict=True):
        assert np.array_equal(got, want)
    assert list(given) == [X] and np.array_equal(given[X], VALUES)


def test_memory_is_used_again():
    large = np.zeros(100_000)
    x = y = b.input_node(0, type_of(large))
    for k in range(20):
        y = b.elementwise(np.add, b.elementwise(np.multiply, y, b.constant(2.0)), b.constant(float(k)))
    tracemalloc.start()
    try:
        evaluate_once([y], {x: large})
        assert tracemalloc.get_traced_memory()[1] < 1.5 * large.nbytes  # NumPy writes into what nobody else has
    finally:
        tracemalloc.stop()
