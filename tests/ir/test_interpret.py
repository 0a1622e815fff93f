"""Graphs that NumPy runs node by node."""

import numpy as np

from jitrt.ir import build as b
from jitrt.ir.interpret import evaluate
from jitrt.ir.ops.movement import getitem
from jitrt.ir.ops.updates import UPDATE, region_between, update
from jitrt.ir.types import ArrayType

F8 = np.dtype(np.float64)


def rows(array, values):
    """Assignments of `values` to the rows of `array`, one after the other."""
    found = [array]
    for k, value in enumerate(values):
        found.append(update(found[-1], value, region_between(getitem(array, k), array)))
    return found[1:]


def test_assignments_that_follow_each_other_share_a_copy():
    """Each of them copied the whole array, and kept the copy: seconds, and gigabytes, for a matrix made row by row."""
    x, y = (b.input_node(k, ArrayType(F8, (4, 3))) for k in range(2))
    values = [getitem(y, k) for k in range(4)]
    updates = rows(x, values)
    assert all(u.op is UPDATE for u in updates)
    given = {x: np.zeros((4, 3)), y: np.arange(12.0).reshape(4, 3)}
    memory = dict(given)
    (found,) = evaluate(updates[-1:], memory)
    np.testing.assert_array_equal(found, given[y])
    assert not given[x].any()
    assert not any(u in memory for u in updates[:-1])
    several = evaluate([updates[1], updates[3], updates[0]], dict(given))
    for made, count in zip(several, (2, 4, 1)):
        np.testing.assert_array_equal(made[:count], given[y][:count])
        assert not made[count:].any()


def test_what_depends_on_an_assignment_between_sees_it():
    x = b.input_node(0, ArrayType(F8, (4, 3)))
    first = rows(x, [getitem(x, 1)])[0]
    total = getitem(first, 0)
    row = getitem(x, 2)
    last = update(first, total, region_between(row, x))
    given = np.arange(12.0).reshape(4, 3)
    (found,) = evaluate([last], {x: given})
    np.testing.assert_array_equal(found, given[[1, 1, 1, 3]])
