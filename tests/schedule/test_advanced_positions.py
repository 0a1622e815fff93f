"""Positions that nvFuser's tests of shared inputs, transposed inputs, expression order and computeWith are about.

Each test names the one that it is after. Where that one asserts no position, the numbers are compared, and the
positions are those that its computeAt asks for.
"""

import numpy as np
import pytest
from execute import check
from test_positions import most_producer_position, positions, split_for_threads

from jitrt.schedule import (
    Fusion,
    ScheduleError,
    compute_at,
    compute_with,
    inline_at,
    inline_most,
    propagate,
    self_mapped_axes,
)


def run(fusion):
    check(fusion, np.random.default_rng(0))


def source(fusion, name, shape, is_transposed):
    """An input, or one whose last axis is moved to the front: then its permutation is what is computed in the loops."""
    if not is_transposed:
        return fusion.input(name, *shape)
    order = (len(shape) - 1, *range(len(shape) - 1))
    stored = tuple(shape[order.index(k)] for k in range(len(shape)))
    return fusion.transpose(name, fusion.input(name + "_in", *stored), order)


def first_use(tensor):
    position, consumer = tensor.first_use
    return position, consumer.name


either = pytest.mark.parametrize("is_transposed", [False, True], ids=["plain", "transposed"])


@either
def test_advanced_2(is_transposed):
    """FusionAdvancedComputeAt2, FusionAdvancedComputeAtTransposed2: one input of three consumers"""
    f = Fusion()
    tv0 = source(f, "tv0", (6, 5), is_transposed)
    tv1, tv2, tv3 = (f.elementwise(f"tv{k}", tv0) for k in (1, 2, 3))
    tv4 = f.elementwise("tv4", tv2, tv1)
    tv5 = f.output(f.elementwise("tv5", tv4, tv3))
    tv6 = f.output(f.elementwise("tv6", tv5, tv3))
    split_for_threads(tv6)
    compute_at(f, tv0, tv6, 1)
    assert positions(f, "tv1", "tv2", "tv3", "tv4", "tv5", "tv6") == [1, 1, 1, 1, 1, 0]
    assert tv0.position == is_transposed  # an input exists before
    assert most_producer_position(tv6) == 1
    assert {len(t.axes) for t in (tv1, tv2, tv3, tv4, tv5, tv6)} == {3}
    run(f)


@either
def test_advanced_3(is_transposed):
    """FusionAdvancedComputeAt3, FusionAdvancedComputeAtTransposed3: four axes merged into one"""
    f = Fusion()
    tv0, tv1 = (source(f, name, (3, 2, 4, 3), is_transposed) for name in ("tv0", "tv1"))
    tv2 = f.elementwise("tv2", tv1)
    tv3 = f.output(f.elementwise("tv3", tv2, tv0))
    split_for_threads(tv3)
    compute_at(f, tv0, tv3, 1)
    compute_at(f, tv1, tv3, 1)
    assert positions(f, "tv0", "tv1", "tv2", "tv3") == [is_transposed, is_transposed, 1, 0]
    run(f)


@either
def test_advanced_4(is_transposed):
    """FusionAdvancedComputeAt4, FusionAdvancedComputeAtTransposed4: four inputs, each computed at the one result"""
    f = Fusion()
    inputs = [source(f, f"tv{k}", (3, 2, 4, 3), is_transposed) for k in range(4)]
    tv4 = f.elementwise("tv4", inputs[2], inputs[3])
    tv5 = f.elementwise("tv5", inputs[1], tv4)
    tv6 = f.output(f.elementwise("tv6", tv5, inputs[0]))
    split_for_threads(tv6)
    for tensor in inputs:
        compute_at(f, tensor, tv6, 1)
    assert [t.position for t in inputs] == [is_transposed] * 4
    assert positions(f, "tv4", "tv5", "tv6") == [1, 1, 0]
    run(f)


def two_inputs(is_transposed):
    f = Fusion()
    tv0, tv1 = (source(f, name, (6, 5), is_transposed) for name in ("tv0", "tv1"))
    tv2 = f.elementwise("tv2", tv0)
    return f, tv0, tv1, tv2, f.output(f.elementwise("tv3", tv1, tv2))


@either
def test_advanced_5(is_transposed):
    """FusionAdvancedComputeAt5, FusionAdvancedComputeAtTransposed5: a split of a split that does not divide"""
    f, tv0, tv1, tv2, tv3 = two_inputs(is_transposed)
    tv3.merge(0).split(0, 8).split(1, 4)
    for tensor in (tv0, tv1) if is_transposed else (tv2,):
        compute_at(f, tensor, tv3, 1)
    assert positions(f, "tv2", "tv3") == [1, 0]
    assert tv2.axes[0].extent == 4  # ceil(30 / 8)
    run(f)


@either
def test_advanced_6(is_transposed):
    """FusionAdvancedComputeAt6, FusionAdvancedComputeAtTransposed6: the producer is split already, further in"""
    f, tv0, tv1, tv2, tv3 = two_inputs(is_transposed)
    tv2.merge(0).split(0, 8).split(1, 4)
    tv3.merge(0).split(0, 8)
    for tensor in (tv0, tv1) if is_transposed else (tv2,):
        compute_at(f, tensor, tv3, 1)
    assert positions(f, "tv2", "tv3") == [1, 0]
    assert [a.extent for a in tv2.axes] == [4, 2, 4]  # inside of the position it keeps its own loops
    run(f)


def two_ranks():
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 6))
    tv3 = f.elementwise("tv3", f.input("tv2", 6))
    tv4 = f.output(f.elementwise("tv4", tv1, tv3))
    tv5 = f.broadcast("tv5", tv1, (1,))
    tv7 = f.output(f.elementwise("tv7", tv5, f.input("tv6", 6, 8)))
    return f, tv1, tv3, tv4, tv5, tv7


def test_advanced_7():
    """FusionAdvancedComputeAt7: computeAt at the consumer of rank 1 leaves the loops of the other as they are"""
    f, tv1, tv3, tv4, tv5, tv7 = two_ranks()
    compute_at(f, tv1, tv7, 1)
    domain = tv5.domain
    compute_at(f, tv1, tv4, -1)
    compute_at(f, tv3, tv4, -1)
    assert tv5.domain is domain
    assert [t.position for t in (tv1, tv3, tv4, tv5, tv7)] == [1, 1, 0, 1, 0]
    run(f)


def test_advanced_8():
    """FusionAdvancedComputeAt8: the same in the reverse order.

    Inside of both loops of the consumer of rank 2 the producer of rank 1 would be computed again for every column: the
    position aligned with theirs is 1.
    """
    f, tv1, tv3, tv4, tv5, tv7 = two_ranks()
    compute_at(f, tv1, tv4, -1)
    compute_at(f, tv3, tv4, -1)
    compute_at(f, tv1, tv7, -1)
    assert [t.position for t in (tv1, tv3, tv4, tv5, tv7)] == [1, 1, 0, 1, 0]
    run(f)


def test_advanced_7_with_merged_axes():
    """FusionAdvancedComputeAt7 as it is, where the consumer of rank 2 runs over both axes in one loop.

    There the producer of rank 1 is computed in that loop, each element of it several times. Here that is no common
    loop, and the deepest position is none.
    """
    f, tv1, tv3, tv4, tv5, tv7 = two_ranks()
    tv7.split(1, 2).merge(0).split(0, 4)
    with pytest.raises(ScheduleError, match="axis 0 of tv5 is not loop 0 of its consumer tv7"):
        compute_at(f, tv1, tv7, 1)
    compute_at(f, tv1, tv7, 1, best_effort=True)
    domain = tv5.domain
    compute_at(f, tv3, tv4, -1)
    assert tv5.domain is domain
    assert tv5.position == 0
    run(f)


@pytest.mark.parametrize("inlined", ["tv1", "tv2"])
def test_expression_order_1(inlined):
    """FusionComputeAtExprOrder1: one of two producers is inlined, the other is a result"""
    f = Fusion()
    tv0 = f.input("tv0", 7)
    made = {name: f.elementwise(name, tv0) for name in ("tv1", "tv2")}
    tv3 = f.output(f.elementwise("tv3", made["tv1"], made["tv2"]))
    for name, tensor in made.items():
        if name != inlined:
            f.output(tensor)
    compute_at(f, made[inlined], tv3, -1)
    assert {name: t.position for name, t in made.items()} == {"tv1": 0, "tv2": 0} | {inlined: 1}
    run(f)


def test_expression_order_2():
    """FusionComputeAtExprOrder2: two producers at different depths of their consumer"""
    f = Fusion()
    tv0 = f.input("tv0", 5, 7)
    tv1, tv2 = f.elementwise("tv1", tv0), f.elementwise("tv2", tv0)
    tv3 = f.output(f.elementwise("tv3", tv1, tv2))
    tv3.split(1, 3)
    compute_at(f, tv1, tv3, -1)
    compute_at(f, tv2, tv3, -2)
    assert positions(f, "tv1", "tv2", "tv3") == [3, 2, 0]
    run(f)


def test_expression_order_3():
    """FusionComputeAtExprOrder3: a chain whose parts are at different depths"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 5, 7))
    tv2 = f.elementwise("tv2", tv1)
    tv3 = f.output(f.elementwise("tv3", tv2))
    compute_at(f, tv2, tv3, 1)
    compute_at(f, tv1, tv2, -1)
    assert positions(f, "tv1", "tv2", "tv3") == [2, 1, 0]
    run(f)


def plus_transposed():
    f = Fusion()
    x = f.elementwise("x", f.input("in", 4, 4))
    y = f.output(f.elementwise("y", x, f.transpose("xt", x, (1, 0))))
    return f, x, y


def test_a_self_mapped_domain_is_cut():
    """FusionDetectSelfMappedDomains: ``x + x.T``, an error by hand, and a whole array by policy"""
    f, x, y = plus_transposed()
    assert (x, 0, 1) in self_mapped_axes(f)
    for attempt in (lambda: inline_at(f, x, 1), lambda: compute_at(f, x, y, 1), lambda: compute_at(f, x, y, -1)):
        with pytest.raises(ScheduleError, match="axes 0 and 1 of x are the same axis of what depends on it"):
            attempt()
        assert positions(f, "x", "xt") == [0, 0]
    reasons = inline_most(f)
    assert positions(f, "x", "xt", "y") == [0, 2, 0]
    assert "axes 0 and 1 of x" in reasons[x]
    run(f)


def test_tensors_that_are_read_one_way_are_not_self_mapped():
    f = Fusion()
    x = f.elementwise("x", f.input("in", 4, 4))
    f.output(f.elementwise("y", f.transpose("xt", x, (1, 0)), f.input("b", 4, 4)))
    assert self_mapped_axes(f) == []


def test_compute_with_1():
    """ComputeWith1: the first consumer is a reduction; its loops may not be changed any more.

    nvFuser finds out later which consumer is first, and freezes all of them until then. Here it is known at once, and
    the other consumer stays free.
    """
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 10, 11))
    tv2 = f.reduce("tv2", tv1, (1,))
    tv4 = f.output(f.elementwise("tv4", f.broadcast("tv3", tv2, (1,)), tv1))
    for name in ("tv3", "tv2", "tv1"):
        inline_at(f, next(t for t in f.tensors if t.name == name), 1)
    compute_with(f, [tv1])
    assert (tv1.position, first_use(tv1)) == (1, (2, "tv2"))
    for tensor in (tv1, tv2):
        with pytest.raises(ScheduleError, match=f"axis 1 of {tensor.name} is a loop that it shares"):
            tensor.split(1, 4)
    run(f)
    tv4.split(1, 4)
    run(f)


def test_compute_with_2():
    """ComputeWith2: the copy of an input that a softmax of one axis reads twice"""
    f = Fusion()
    copied = f.elementwise("tv0c", f.input("tv0", 30))
    total = f.reduce("tv2", f.elementwise("tv1", copied), (0,))
    f.output(f.elementwise("tv4", f.elementwise("tv1c", copied), f.broadcast("tv3", total, (0,))))
    copied.split(0, 4).split(0, 3)
    propagate(f, copied, 3)
    inline_most(f)
    compute_with(f, [copied])
    assert (copied.position, first_use(copied)) == (0, (3, "tv1"))
    run(f)


@pytest.mark.parametrize("new, expected", [(1, (2, "tv2")), (0, None)])
def test_compute_with_3(new, expected):
    """ComputeWith3: at an explicit position, with all of the storage kept.

    There the new axis is outermost and the position nevertheless 2. Here a new axis of the consumer ends the common
    loops, since the producer would be computed once for each turn of it.
    """
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 25))
    tv2 = f.output(f.broadcast("tv2", tv1, (new,)))
    at = 0 if new else 1
    tv2.split(at, 4).split(at, 3)
    propagate(f, tv2, len(tv2.axes))
    assert [a.extent for a in tv1.axes] == [3, 3, 4]
    compute_with(f, [tv1], position=-2)
    assert tv1.position == 0
    assert (tv1.first_use and first_use(tv1)) == expected
    run(f)


def test_compute_with_4():
    """ComputeWith4: all results of one expression are computed with the consumer of one of them.

    They have one loop nest, so the position of the one that is read is enough; the others, which nothing reads, are
    stored whole.
    """
    f = Fusion()
    tv0 = f.elementwise("tv0", f.input("in", 21, 5))
    welford = [f.reduce(n, tv0, (1,)) for n in ("mean", "variance", "count")]
    f.group("welford", *welford)
    tv2 = f.output(f.elementwise("tv2", welford[0]))
    for t in welford[1:]:
        f.output(t)
    tv2.split(0, 2).split(0, 3)
    propagate(f, tv2, 3)
    inline_at(f, welford[0], 2)
    inline_at(f, tv0, 2)
    compute_with(f, welford[:1], position=3)
    assert [t.position for t in (tv0, *welford)] == [2, 2, 0, 0]
    assert first_use(welford[0]) == (3, "tv2")
    assert {len(t.axes) for t in welford} == {4}
    run(f)


def test_compute_with_5():
    """ComputeWith5: what one expression with several results reads is computed with all of them"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 5, 10))
    welford = [f.reduce(n, tv1, (1,)) for n in ("mean", "variance", "count")]
    f.group("welford", *welford)
    f.output(f.elementwise("tv2", welford[0]))
    tv1.split(1, 4)
    propagate(f, tv1, 3)
    compute_with(f, [tv1])
    assert (tv1.position, first_use(tv1)) == (0, (3, "mean"))
    for t in welford:
        with pytest.raises(ScheduleError, match="is a loop that it shares"):
            t.split(2, 2)
    run(f)


def test_compute_with_6():
    """ComputeWith6: a mean over all axes but the last, whose loops come first.

    There the innermost loop is that of a vector and the position one less; here the compiler makes the vectors.
    """
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 2, 3, 2, 6))
    tv2 = f.elementwise("tv2", tv1)
    tv3 = f.reduce("tv3", tv2, (0, 1, 2))
    tv4 = f.broadcast("tv4", tv3, (0, 1, 2))
    f.output(f.elementwise("tv7", f.elementwise("tv6", f.elementwise("tv5", tv1), tv4)))
    tv3.merge(0).merge(0).reorder((1, 0)).split(0, 2)
    propagate(f, tv3, 3)
    inline_most(f)
    compute_with(f, [tv1])
    assert (tv1.position, first_use(tv1)) == (2, (3, "tv2"))
    assert positions(f, "tv2", "tv3", "tv5", "tv6") == [3, 2, 3, 3]
