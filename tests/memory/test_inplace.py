"""What is done in place: every condition, met and not met."""

import itertools
import weakref

import numpy as np
import pytest
from handmade import array_input, copying, decision, kernel, over, place, plan, reason, several, statements, value

import jitrt
from jitrt.ir import aliasing as alias
from jitrt.ir import build as b
from jitrt.ir.aliasing import may_alias_arguments, non_aliasing
from jitrt.ir.ops.contractions import Call, call, call_result
from jitrt.ir.ops.movement import getitem
from jitrt.ir.ops.optable import OPS
from jitrt.ir.types import ArrayType
from jitrt.memory.plan import alias_sets
from jitrt.schedule.loopnest import (
    Compute,
    FoldInto,
    Load,
    Loop,
    Neutral,
    Operand,
    Result,
    Store,
    StoreNeutral,
    Strips,
    Update,
)

F8 = np.dtype("f8")


def opaque(function, *args, shape=(1000,)):
    """The result of a call that NumPy makes."""
    node = call(Call(function, lambda values: (values, {}), "opaque", ""), args)
    return node, call_result(node, (), ArrayType(F8, shape))


# The operand must be dead, it and all that shares its memory.


def test_a_dead_operand_is_overwritten():
    x, t, u, r = array_input(), value(), value(), value()
    made = plan([kernel(t, x), kernel(u, t), kernel(r, u, x)], [r])
    assert over(made, u) == (t,) and over(made, r) == (u,)
    assert place(made, t) == place(made, u) == (r, 0)
    assert made.layout.nbytes == 0


def test_a_chain_of_any_length_is_one_slot():
    x, other = array_input(), array_input()
    chain = [value() for _ in range(20)]
    total = value(())
    steps = [kernel(chain[0], x)]
    steps += [kernel(after, before, other) for before, after in itertools.pairwise(chain)]
    steps.append(_fold(total, chain[-1]))
    made = plan(steps, [total])
    assert {place(made, n) for n in chain} == {("frame", 0)}
    assert made.layout.nbytes == 8000 and made.layout.unshared_nbytes == 20 * 8000


def test_an_operand_that_is_read_later_stays():
    x, t, u, r = array_input(), value(), value(), value()
    made = plan([kernel(t, x), kernel(u, t), kernel(r, u, t)], [r])
    assert over(made, u) == () and reason(made, u, t) == "is needed in step 2"
    assert place(made, t) != place(made, u)


def test_a_result_of_the_program_stays():
    x, t, r = array_input(), value(), value()
    made = plan([kernel(t, x), kernel(r, t)], [t, r])
    assert reason(made, r, t) == "is a result of the program"


def test_the_callers_arrays_and_constants_stay():
    x, c, r = array_input(), b.constant(np.arange(1000.0)), value()
    made = plan([kernel(r, x, c)], [r])
    assert reason(made, r, x) == "belongs to the caller"
    assert reason(made, r, c) == "is a constant"


def test_a_view_that_is_read_later_keeps_its_base():
    x, t, u, r = array_input(), value(), value(), value()
    backwards = getitem(t, (slice(None, None, -1),))
    made = plan([kernel(t, x), kernel(u, t), kernel(r, u, backwards)], [r])
    assert reason(made, u, t) == "is needed in step 2"


def test_one_operand_dead_and_the_other_not():
    x, s, t, u, r = array_input(), value(), value(), value(), value()
    made = plan([kernel(s, x), kernel(t, x), kernel(u, s, t), kernel(r, u, s)], [r])
    assert over(made, u) == (t,)


def test_only_one_of_two_dead_operands_is_overwritten():
    x, s, t, r = array_input(), value(), value(), value()
    made = plan([kernel(s, x), kernel(t, s), kernel(s2 := value(), x), kernel(r, t, s2)], [r])
    assert len(over(made, r)) == 1


# What NumPy executes.


def test_what_numpy_reads_later_stays():
    x, t, u = array_input(), value(), value()
    node, result = opaque(np.linalg.norm, t)
    r = value()
    made = plan([kernel(t, x), kernel(u, t), node, kernel(r, u, result)], [r])
    assert reason(made, u, t) == "is needed in step 2"


def test_an_opaque_result_may_be_an_alias_of_an_argument():
    x, t, u = array_input(), value(), value()
    node, result = opaque(np.broadcast_arrays, t)
    r = value(of=result)
    steps = [kernel(t, x), node, kernel(u, t), kernel(r, u, result)]
    made = plan(steps, [r])
    assert reason(made, u, t) == "is needed in step 3"
    assert place(made, u) != place(made, t)


def test_unless_it_is_declared_not_to():
    @non_aliasing
    def copied(x):
        return x.copy()

    x, t, u = array_input(), value(), value()
    node, result = opaque(copied, t)
    r = value(of=result)
    made = plan([kernel(t, x), node, kernel(u, t), kernel(r, u, result)], [r])
    assert over(made, u) == (t,)


@pytest.mark.parametrize("function", [np.sort, np.linalg.inv, np.fft.rfft, np.interp, np.median])
def test_functions_of_numpy_that_allocate(function):
    assert not may_alias_arguments(opaque(function, value())[0])


@pytest.mark.parametrize("function", [np.broadcast_arrays, np.asarray, np.lib.stride_tricks.sliding_window_view])
def test_functions_of_numpy_that_may_hand_an_argument_through(function):
    assert may_alias_arguments(opaque(function, value())[0])


def test_a_function_of_numpy_can_be_declared(monkeypatch):
    monkeypatch.setattr(alias, "_declared", weakref.WeakSet())
    assert may_alias_arguments(opaque(np.nan_to_num, value())[0])
    non_aliasing(np.nan_to_num)
    assert not may_alias_arguments(opaque(np.nan_to_num, value())[0])


def test_aliases_of_aliases():
    t = value()
    _, first = opaque(np.broadcast_arrays, getitem(t, (slice(2, None),)))
    _, second = opaque(np.broadcast_arrays, first)
    fresh = b.elementwise(np.exp, second)
    sets = alias_sets([*t.args, t, *first.args[0].args, first, second, fresh])
    assert sets[second] == {t, first, second}
    assert sets[fresh] == {fresh}


def test_an_array_that_numpy_made_stays():
    x, r = array_input(), value()
    node, result = opaque(np.sort, x)
    made = plan([node, kernel(r, result)], [r])
    assert reason(made, r, result) == "is an array that NumPy made"


# The index maps must match.


def test_another_order_of_the_elements():
    x, t, r = array_input(), value(), value()
    made = plan([kernel(t, x), kernel(r, getitem(t, (slice(None, None, -1),)))], [r])
    assert reason(made, r, t) == "is indexed in another way"


def test_a_transposed_operand():
    x, t, r = array_input((30, 30)), value((30, 30)), value((30, 30))
    made = plan([kernel(t, x), kernel(r, b.view("transpose", t, axes=(1, 0)))], [r])
    assert over(made, r) == ()


def test_another_operand_that_reads_the_memory_elsewhere():
    x, t, r = array_input(), value(), value()
    made = plan([kernel(t, x), kernel(r, t, getitem(t, (slice(None, None, -1),)))], [r])
    assert reason(made, r, t) == "is read at other positions"


def test_the_same_operand_twice():
    x, t, r = array_input(), value(), value()
    made = plan([kernel(t, x), kernel(r, t, t)], [r])
    assert over(made, r) == (t,)
    assert str(made.steps[1].nest).splitlines()[0] == "nest(y0: f8(1))"


def test_a_broadcast_operand_is_read_again():
    x, t, r = array_input((1, 1000)), value((1, 1000)), value((50, 1000))
    wide = b.broadcast_to(t, (50, 1000))
    made = plan([kernel(t, x), kernel(r, wide, array_input((50, 1000)))], [r])
    assert over(made, r) == ()


def test_a_broadcast_operand_beside_one_of_the_full_shape():
    x, w, t, u, r = array_input(), array_input((50, 1000)), value(), value((50, 1000)), value((50, 1000))
    made = plan([kernel(t, x), kernel(u, w), kernel(r, b.broadcast_to(t, (50, 1000)), u)], [r])
    assert over(made, r) == (u,)


def test_a_broadcast_into_a_storage_that_is_large_enough():
    """The first row of a dead array is added to three others: the sum lies in the rows behind the first."""
    x, w = array_input((4, 1024)), array_input((3, 1024))
    t, r, total = value((4, 1024)), value((3, 1024)), value(())
    first = b.broadcast_to(getitem(t, (slice(0, 1),)), (3, 1024))
    made = plan([kernel(t, x), kernel(r, first, w), _fold(total, r)], [total])
    assert over(made, r) == (t,)
    assert place(made, r)[1] == place(made, t)[1] + 8 * 1024
    last = b.broadcast_to(getitem(t, (slice(3, 4),)), (3, 1024))
    made = plan([kernel(t, x), kernel(r, last, w), _fold(total, r)], [total])
    assert over(made, r) == (t,) and place(made, r) == place(made, t)


def test_a_broadcast_into_a_storage_that_is_too_small():
    x, w = array_input((3, 1024)), array_input((3, 1024))
    t, r, total = value((3, 1024)), value((3, 1024)), value(())
    middle = b.broadcast_to(getitem(t, (slice(1, 2),)), (3, 1024))
    made = plan([kernel(t, x), kernel(r, middle, w), _fold(total, r)], [total])
    assert over(made, r) == ()


def test_another_type():
    x, t, r = array_input(), value(), value(dtype="i8")
    made = plan([kernel(t, x), kernel(r, t)], [r])
    assert reason(made, r, t) == "is of another type"


def test_empty_values():
    x, t, r = array_input((0,)), value((0,)), value((0,))
    made = plan([kernel(t, x), kernel(r, t)], [r])
    assert reason(made, r, t) == "is empty"


# The order of reading and writing inside of a kernel.


def _row_kernel(body, t, r, rows=10, columns=100):
    """A kernel over rows of `t` that writes `r`, an array of the same shape."""
    x, y = Operand("x0", F8, ("s", "1")), Operand("y0", F8, ("s", "1"))
    place_ = (8 * columns, 8)
    return statements((rows, columns), (y, x), ((r, 0, place_), (t, 0, place_)), body(x, y))


def _sum_then_store(x, y):
    """A softmax-like row: the row is folded, then read again and overwritten."""
    fold = OPS["reduce_add"]
    row = (Neutral(0, fold, F8), Loop(1, (Load(0, x), Update(0, 0))), Result(1, 0), Loop(1, (Load(2, x), Store(y, 2))))
    return (Loop(0, row, True),)


def _store_then_sum(x, y):
    fold = OPS["reduce_add"]
    row = (Neutral(0, fold, F8), Loop(1, (Load(0, x), Store(y, 0))), Loop(1, (Load(1, x), Update(0, 1))))
    return (Loop(0, row, True),)


def _store_then_load(x, y):
    return (Loop(0, (Loop(1, (Load(0, x), Store(y, 0), Load(1, x), Store(y, 1))),), True),)


def _load_in_an_outer_loop_of_its_own(x, y):
    """All rows are read for each row that is written."""
    return (Loop(0, (Loop(1, (Load(0, x),)),)), Loop(0, (Loop(1, (Store(y, 0),)),)))


def _strips_in_order(x, y):
    return (Loop(0, (Strips(1, ((Load(0, x),), (Load(1, x), Store(y, 1)))),), True),)


def _strips_that_read_again(x, y):
    return (Loop(0, (Strips(1, ((Load(0, x), Store(y, 0)), (Load(1, x),))),), True),)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (_sum_then_store, True),
        (_load_in_an_outer_loop_of_its_own, True),
        (_strips_in_order, True),
        (_store_then_sum, False),
        (_store_then_load, False),
        (_strips_that_read_again, False),
    ],
)
def test_every_element_is_read_before_it_is_written(body, wanted):
    t, r = value((10, 100)), value((10, 100))
    made = plan([kernel(t, array_input((10, 100))), _row_kernel(body, t, r)], [r])
    assert over(made, r) == ((t,) if wanted else ())
    if not wanted:
        assert reason(made, r, t) == "is read again after its first element is overwritten"


def _two_loops_over_rows(t, r, blocks=False, parallel=0, first=2):
    """Row by row, `t` is folded along axis 1, then read along axis 2, where `r` is written."""
    fold, negative, outer = OPS["reduce_add"], OPS["negative"], "0" if blocks else "s"
    x, again = Operand("x0", F8, (outer, "1", "0")), Operand("x0'", F8, (outer, "0", "1"))
    y = Operand("y0", F8, (outer, "0", "1"))
    block_of = 0 if blocks else None
    body = [
        Neutral(0, fold, F8),
        Loop(1, (Load(0, x), Update(0, 0)), parallel == 1, block_of),
        Loop(2, (Load(1, again), Compute(2, negative, (1,), (F8,), F8), Store(y, 2)), parallel == 2, block_of),
    ]
    if first == 1:
        body[1:] = body[:0:-1]
    row = 0 if blocks else 800
    places = ((r, 0, (row, 0, 8)), (t, 0, (row, 8, 0)), (t, 0, (row, 0, 8)))
    return statements((10, 100, 100), (y, x, again), places, (Loop(0, tuple(body), parallel == 0),))


@pytest.mark.parametrize("blocks", [False, True])
def test_a_row_that_is_read_in_a_loop_of_its_own(blocks):
    shape = (100,) if blocks else (10, 100)
    t, r = value(shape), value(shape)
    made = plan([kernel(t, array_input(shape)), _two_loops_over_rows(t, r, blocks)], [r])
    assert over(made, r) == (t,)
    nest = made.steps[1].nest
    assert [o.name for o in nest.operands] == ["y0", "y0'"], "one memory, traversed along two axes"
    assert place(made, t) == place(made, r)


def test_a_row_that_is_read_after_it_is_written():
    t, r = value((10, 100)), value((10, 100))
    made = plan([kernel(t, array_input((10, 100))), _two_loops_over_rows(t, r, first=1)], [r])
    assert over(made, r) == ()


def test_rows_that_threads_share():
    t, r = value((10, 100)), value((10, 100))
    made = plan([kernel(t, array_input((10, 100))), _two_loops_over_rows(t, r, parallel=2)], [r])
    assert over(made, r) == ()


def test_an_element_that_is_read_in_every_turn_of_a_loop():
    """y[i] is stored, and x[i] read, for every j: from the second on it would read what was written."""
    t, r = value((10,)), value((10,))
    x, y = Operand("x0", F8, ("1", "0")), Operand("y0", F8, ("1", "0"))
    body = (Loop(0, (Loop(1, (Load(0, x), Store(y, 0))),)),)
    step = statements((10, 5), (y, x), ((r, 0, (8, 0)), (t, 0, (8, 0))), body)
    made = plan([kernel(t, array_input((10,))), step], [r])
    assert over(made, r) == ()


def test_an_element_that_several_threads_read():
    t, r = value((10,)), value((10,))
    x, y = Operand("x0", F8, ("0", "1")), Operand("y0", F8, ("0", "1"))
    body = (Loop(0, (Loop(1, (Load(0, x),)),), True), Loop(1, (Store(y, 0),)))
    step = statements((5, 10), (y, x), ((r, 0, (0, 8)), (t, 0, (0, 8))), body)
    made = plan([kernel(t, array_input((10,))), step], [r])
    assert over(made, r) == ()


def test_a_fold_in_memory_starts_before_it_reads():
    t, r = value((10,)), value((10,))
    fold = OPS["reduce_add"]
    x, y = Operand("x0", F8, ("1",)), Operand("y0", F8, ("1",))
    body = (Loop(0, (StoreNeutral(y, fold),)), Loop(0, (Load(0, x), FoldInto(y, fold, 0))))
    step = statements((10,), (y, x), ((r, 0, (8,)), (t, 0, (8,))), body)
    made = plan([kernel(t, array_input((10,))), step], [r])
    assert reason(made, r, t) == "is read again after its first element is overwritten"


def test_two_results_of_one_kernel():
    """Only one of them can have the operand's memory."""
    x, t, u, v, r = array_input(), value(), value(), value(), value()
    made = plan([kernel(t, x), several([u, v], [t], np.negative), kernel(r, u, v)], [r])
    assert [over(made, u), over(made, v)] == [(t,), ()]
    assert reason(made, v, t).startswith("shares its memory with")


# Parts: concatenations, splits, updates.


def test_parts_of_a_concatenation_are_stored_where_they_belong():
    x = array_input()
    p, q, r = value((512,)), value((512,)), value((1024,))
    low, high = getitem(r, (slice(0, 512),)), getitem(r, (slice(512, None),))
    steps = [kernel(p, getitem(x, (slice(0, 512),))), kernel(q, p), copying(low, p), copying(high, q)]
    made = plan(steps, [r])
    assert over(made, r) == (p, q)
    assert place(made, p) == (r, 0) and place(made, q) == (r, 4096)
    assert len(made.steps) == 2, "the copies are gone"
    assert made.layout.nbytes == 0


def test_a_part_that_is_needed_elsewhere_is_read_there():
    x, p, r, s = array_input((512,)), value((512,)), value((1024,)), value((512,))
    low, high = getitem(r, (slice(0, 512),)), getitem(r, (slice(512, None),))
    made = plan([kernel(p, x), copying(low, p), copying(high, x), kernel(s, p, x)], [r, s])
    assert over(made, r) == (p,) and len(made.steps) == 3


def test_a_part_that_is_needed_after_the_whole_is_overwritten_is_copied():
    x, p, r, s = array_input((512,)), value((512,)), value((1024,)), value((1024,))
    low, high = getitem(r, (slice(0, 512),)), getitem(r, (slice(512, None),))
    total = value(())
    steps = [kernel(p, x), copying(low, p), copying(high, x), kernel(s, r), _fold(total, s, p)]
    made = plan(steps, [total])
    assert over(made, r) == (p,) and over(made, s) == ()
    assert reason(made, s, r).startswith("shares its memory with copy f8[512], which is needed in step 4")


def test_the_same_part_twice_is_copied_once():
    x, p, r = array_input((512,)), value((512,)), value((1024,))
    low, high = getitem(r, (slice(0, 512),)), getitem(r, (slice(512, None),))
    made = plan([kernel(p, x), copying(low, p), copying(high, p)], [r])
    assert over(made, r) == (p,)
    assert len(made.steps) == 2


def test_a_slice_is_an_offset():
    x, t, r, total = array_input((4096,)), value((4096,)), value((2048,)), value(())
    made = plan([kernel(t, x), kernel(r, getitem(t, (slice(1024, 3072),))), _fold(total, r)], [total])
    assert over(made, r) == (t,)
    assert place(made, r)[1] == place(made, t)[1] + 8 * 1024


def test_halves_of_a_split_are_both_overwritten():
    x, t, u, v, total = array_input((2048,)), value((2048,)), value((1024,)), value((1024,)), value(())
    halves = getitem(t, (slice(0, 1024),)), getitem(t, (slice(1024, None),))
    steps = [kernel(t, x), kernel(u, halves[0]), kernel(v, halves[1]), _fold(total, u, v)]
    made = plan(steps, [total])
    assert over(made, u) == (t,) and over(made, v) == (t,)
    assert made.layout.nbytes == 8 * 2048


def test_a_small_slice_does_not_keep_a_large_array():
    x = array_input((4096,))
    t, part, big, total = value((4096,)), value((8,)), value((4096,)), value(())
    steps = [kernel(t, x), kernel(part, getitem(t, (slice(0, 8),))), kernel(big, x), _fold(total, big, part)]
    made = plan(steps, [total])
    assert reason(made, part, t) == "would keep more memory alive"
    assert made.layout.nbytes == 8 * 4096 + 64


def _update(old, new, start, stop, fill):
    """``new = old; new[start:stop] = fill`` as copies of what is left, and a store."""
    copies = [copying(getitem(new, (slice(*r),)), getitem(old, (slice(*r),))) for r in ((0, start), (stop, None))]
    return [*copies, copying(getitem(new, (slice(start, stop),)), fill)]


def test_an_update_of_a_dead_array_is_a_store():
    x, old, new, fill, r = array_input(), value(), value(), array_input((800,)), value()
    steps = [kernel(old, x), *_update(old, new, 100, 900, fill), kernel(r, new)]
    made = plan(steps, [r])
    assert over(made, new) == (old,)
    assert len(made.steps) == 3, "nothing is copied"
    assert place(made, old) == place(made, new) == (r, 0)


def test_an_update_of_an_array_that_is_read_later_copies_it():
    x, old, new, fill, r = array_input(), value(), value(), array_input((800,)), value()
    made = plan([kernel(old, x), *_update(old, new, 100, 900, fill), kernel(r, new, old)], [r])
    assert over(made, new) == () and len(made.steps) == 5


def test_an_update_with_what_stands_there():
    """x[100:900] += fill: every element is read before it is written."""
    x, old, new, fill, r = array_input(), value(), value(), array_input((800,)), value()
    steps = [kernel(old, x), *_update(old, new, 100, 900, fill)[:2]]
    inside = slice(100, 900)
    steps += [kernel(getitem(new, (inside,)), getitem(old, (inside,)), fill), kernel(r, new)]
    made = plan(steps, [r])
    assert over(made, new) == (old,) and len(made.steps) == 3


def test_an_update_that_reads_the_old_values_elsewhere():
    """x[100:900] = x[99:899] + fill."""
    x, old, new, fill, r = array_input(), value(), value(), array_input((800,)), value()
    steps = [kernel(old, x), *_update(old, new, 100, 900, fill)[:2]]
    steps += [kernel(getitem(new, (slice(100, 900),)), getitem(old, (slice(99, 899),)), fill), kernel(r, new)]
    made = plan(steps, [r])
    assert reason(made, new, old) == "is read at other positions" and len(made.steps) == 5


def test_an_update_that_reads_old_values_that_stay():
    """x[100:500] = x[500:900] + fill: what is read is not what is written."""
    x, old, new, fill, r = array_input(), value(), value(), array_input((400,)), value()
    steps = [kernel(old, x), *_update(old, new, 100, 500, fill)[:2]]
    steps += [kernel(getitem(new, (slice(100, 500),)), getitem(old, (slice(500, 900),)), fill), kernel(r, new)]
    made = plan(steps, [r])
    assert over(made, new) == (old,) and len(made.steps) == 3


def test_rows_beside_the_overwritten_ones():
    """x[1:3] + x[3] lies over x[1:3]; the row that is added is in the same memory, but not among what is written."""
    t, r, total = value((4, 100)), value((2, 100)), value(())
    last = b.broadcast_to(getitem(t, (slice(3, 4),)), (2, 100))
    steps = [kernel(t, array_input((4, 100))), kernel(r, getitem(t, (slice(1, 3),)), last), _fold(total, r)]
    made = plan(steps, [total])
    assert over(made, r) == (t,)
    assert [o.name for o in made.steps[1].nest.operands] == ["y0", "x0"]
    assert made.steps[1].layouts[1].base is t


def test_columns_of_an_update():
    """x[:, 1:-1] = fill: ranges of bytes interleave, elements do not."""
    x, old, new, r = (array_input((30, 30)), *(value((30, 30)) for _ in range(3)))
    fill = array_input((30, 28))
    steps = [kernel(old, x)]
    for columns in (slice(0, 1), slice(29, 30)):
        steps.append(copying(getitem(new, (slice(None), columns)), getitem(old, (slice(None), columns))))
    steps += [kernel(getitem(new, (slice(None), slice(1, -1))), fill), kernel(r, new)]
    made = plan(steps, [r])
    assert over(made, new) == (old,) and len(made.steps) == 3


def test_a_reader_of_the_old_values_between_the_parts():
    x, old, new, fill, s, r = array_input(), value(), value(), array_input((800,)), value(), value()
    parts = _update(old, new, 100, 900, fill)
    made = plan([kernel(old, x), *parts, kernel(s, old), kernel(r, new, s)], [r])
    assert over(made, new) == ()
    made = plan([kernel(old, x), *parts[:2], kernel(s, old), parts[2], kernel(r, new, s)], [r])
    assert over(made, new) == (old,), "the copies change nothing, so it may be read behind them"


# Memory of results.


def test_a_temporary_lies_in_a_result_that_is_written_later():
    x = array_input((4096,))
    t, s, r = value((4096,)), value(()), value((4096,))
    made = plan([kernel(t, x), _fold(s, t), kernel(r, x)], [s, r])
    assert place(made, t) == (r, 0)
    assert made.layout.nbytes == 0


def test_but_not_when_the_result_is_written_before():
    x = array_input((4096,))
    t, s, r = value((4096,)), value(()), value((4096,))
    made = plan([kernel(r, x), kernel(t, x), _fold(s, t)], [s, r])
    assert place(made, t)[0] == "frame"


def test_several_temporaries_in_one_result():
    x = array_input((4096,))
    ts = [value((2048,)) for _ in range(2)]
    half = getitem(x, (slice(0, 2048),))
    s, r = value(()), value((4096,))
    made = plan([*(kernel(t, half) for t in ts), _fold(s, *ts), kernel(r, x)], [s, r])
    assert {place(made, t) for t in ts} == {(r, 0), (r, 8 * 2048)}


def test_small_temporaries_stay_in_the_frame():
    x, t, s, r = array_input((8,)), value((8,)), value(()), value((8,))
    made = plan([kernel(t, x), _fold(s, t), kernel(r, x)], [s, r])
    assert place(made, t)[0] == "frame"


def test_decisions_are_printed():
    x, t, u, r = array_input(), value(), value(), value()
    made = plan([kernel(t, x), kernel(u, t, x), kernel(r, u)], [r])
    assert str(decision(made, u)) == "step 1: copy f8[1000] in place of copy f8[1000]"
    assert str(decision(made, t)) == (
        f"step 0: copy f8[1000] in memory of its own: input {x['index']} belongs to the caller"
    )
    assert "FLOAT64[1000] @0x00  steps 0..1  copy f8  in the result FLOAT64[1000]" in str(made.layout)


def _fold(into, *operands):
    """A kernel that folds its operands into a scalar."""
    read = [Operand(f"x{k}", F8, ("1",)) for k in range(len(operands))]
    y, fold = Operand("y0", F8, ("0",)), OPS["reduce_add"]
    inner = tuple(s for k, x in enumerate(read) for s in (Load(k, x), Update(0, k)))
    body = (Neutral(0, fold, F8), Loop(0, inner), Result(len(read), 0), Store(y, len(read)))
    size = min(n.type.size for n in operands)
    places = ((into, 0, (0,)), *((n, 0, (8,)) for n in operands))
    return statements((size,), (y, *read), places, body)


@pytest.mark.parametrize("shape", [(11, 33, 1), (363,), (5,)])
def test_a_fold_in_the_first_element_of_a_result_is_read_outside_of_the_loop_that_writes_it(shape):
    def plain(x):
        flat = x.reshape(-1)
        shifted = np.roll(flat * -1 + flat.min(axis=None, keepdims=True), 1)
        return shifted, np.pad(flat, 1)

    x = np.random.default_rng(0).integers(-9, 9, shape, dtype=np.int32)
    for got, wanted in zip(jitrt.jit(plain)(x), plain(x), strict=True):
        np.testing.assert_array_equal(got, wanted)
