"""Positions that nvFuser's own tests of computeAt and inlining assert; each test names the one that it is after."""

import numpy as np
import pytest
from execute import check

from jitrt.schedule import Fusion, ScheduleError, compute_at, inline_at, inline_most, limit, propagate
from jitrt.schedule.replay import edge_map, loop_keys


def positions(fusion, *names):
    found = {t.name: t.position for t in fusion.tensors}
    return [found[n] for n in names]


def most_producer_position(tensor):
    """The deepest position of a producer: how many loops the tensor shares with what it reads."""
    return max((p.position for p in tensor.producers), default=0)


def aligned_position(keys, others, position):
    """The position of the other side that is aligned with a position of this one."""
    wanted = {k for k in keys[:position] if k is not None}
    return max((n + 1 for n, key in enumerate(others) if key in wanted), default=0)


def chain(fusion, first, count, start=1):
    tensors = [first]
    for k in range(start, start + count):
        tensors.append(fusion.elementwise(f"tv{k}", tensors[-1]))
    return tensors


def split_for_threads(tensor):
    """The loops that those tests give their reference."""
    while len(tensor.axes) > 1:
        tensor.merge(0)
    tensor.split(0, 8).split(0, 2)


def test_mismatched_dims_1_and_2():
    """InliningMismatchedDims1, InliningMismatchedDims2"""
    for best_effort_at in (False, True):
        f = Fusion()
        _, _, tv2 = chain(f, f.input("tv0", 2, 3, 4), 2)
        tv3 = f.transpose("tv3", tv2, (0, 2, 1))
        chain(f, tv3, 2, start=4)
        f.output(f.tensors[-1])
        if best_effort_at:
            for tensor in reversed(f.tensors):
                inline_at(f, tensor, -1, best_effort=True)
        else:
            inline_most(f)
        assert positions(f, "tv1", "tv2", "tv3", "tv4") == [3, 1, 3, 3]
        check(f, np.random.default_rng(0))


def test_mismatched_dims_4():
    """InliningMismatchedDims4: one tensor of a chain has two axes merged"""
    f = Fusion()
    *_, last = chain(f, f.input("tv0", 2, 3, 4), 5)
    f.output(last)
    f.tensors[3].merge(1)
    inline_most(f)
    assert positions(f, "tv1", "tv2", "tv3", "tv4") == [3, 1, 1, 3]


def broadcast_and_merged():
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 2, 3, 4))
    tv2 = f.broadcast("tv2", tv1, (0, 2, 4))
    tv3 = f.output(f.elementwise("tv3", tv2, f.input("w", 5, 2, 6, 3, 7, 4)))
    for tensor in (tv2, tv3):
        for k in range(3):
            tensor.merge(k)
    return f, tv1, tv2, tv3


def test_broadcast_axes_are_forwarded():
    """InliningBroadcast: the producer of a broadcast shares the loops that are merged with the new axes.

    There the broadcast shares the loops of its consumer, too, and all three are computed once for each turn of the
    longer loops. Here it is stored, so that they are computed once.
    """
    f, *_ = broadcast_and_merged()
    inline_most(f)
    assert positions(f, "tv1", "tv2") == [3, 0]
    check(f, np.random.default_rng(0))


def test_positions_match_across_a_merged_broadcast():
    """MatchedLeafPosWithoutReplayBroadcast"""
    _, tv1, tv2, _ = broadcast_and_merged()
    keys = loop_keys(tv1.domain, tv2.domain, edge_map(tv1, tv2))
    assert aligned_position(*keys, 3) == 3
    assert aligned_position(*keys[::-1], 3) == 3


def normalisation():
    f = Fusion()
    tv0 = f.elementwise("tv0", f.input("x", 6, 8))
    tv1 = f.reduce("tv1", tv0, (1,))
    tv2 = f.broadcast("tv2", tv1, (1,))
    f.output(f.elementwise("tv3", tv0, tv2))
    return f


def test_limits_of_a_normalisation():
    """IsAllowedID, GetMaxPosAllNormalization: the persistent tensor and the reduction at the row, all else inside"""
    f = normalisation()
    assert [limit(f, t)[0] for t in f.tensors if t.name in ("tv0", "tv1")] == [1, 1]
    inline_most(f)
    assert positions(f, "tv0", "tv1", "tv2") == [1, 1, 1]
    check(f, np.random.default_rng(0))


def test_limits_of_a_normalisation_whose_axes_are_split():
    """GetMaxPosAllNormalization after two splits"""
    f = normalisation()
    for t in f.tensors:
        if t.definition is not None:
            t.split(1, 2).split(0, 3)
    assert [limit(f, t)[0] for t in f.tensors if t.name in ("tv0", "tv1")] == [2, 2]
    inline_most(f)
    assert positions(f, "tv0", "tv1", "tv2") == [2, 2, 2]


def test_reshape():
    """GetMaxProducerPosFromConsumerWithReshape: what follows the reshape has its axes"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 2, 6, 4))
    tv2 = f.reshape("tv2", tv1, (2, 3, 8))
    f.output(f.elementwise("tv3", tv2))
    assert tv2.domain.shape == (2, 3, 8)
    inline_most(f)
    assert positions(f, "tv1", "tv2") == [1, 3]
    # With the transformations of the reshape replayed on its producer all its loops are the same.
    g = Fusion()
    tv1 = g.elementwise("tv1", g.input("tv0", 2, 6, 4))
    tv2 = g.reshape("tv2", tv1, (2, 3, 8))
    tv3 = g.output(g.elementwise("tv3", tv2))
    propagate(g, tv3, 3)
    assert [a.extent for a in tv1.axes] == [2, 3, 8]
    inline_most(g)
    assert positions(g, "tv1", "tv2") == [3, 3]


def test_reduction_with_several_consumers():
    """FusionReductionMultiConsumer: issue 110"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 3, 4))
    tv2, tv3 = f.reduce("tv2", tv1, (1,)), f.reduce("tv3", tv1, (1,))
    f.output(f.elementwise("tv4", tv2, tv3))
    compute_at(f, tv1, tv2, -1, best_effort=True)
    assert tv1.position == 2
    check(f, np.random.default_rng(0))


def advanced_1(transposed=False):
    f = Fusion()
    tv0 = f.input("tv0", 6, 4)
    if transposed:
        tv0 = f.transpose("tv0t", f.input("x", 4, 6), (1, 0))
    tv1 = f.elementwise("tv1", tv0)
    tv2, tv3, tv4 = (f.elementwise(f"tv{k}", tv1) for k in (2, 3, 4))
    tv5 = f.elementwise("tv5", tv3, tv2)
    tv6 = f.output(f.elementwise("tv6", tv5, tv4))
    tv7 = f.output(f.elementwise("tv7", tv1, tv4))
    return f, tv1, tv6, tv7


@pytest.mark.parametrize("transposed", [False, True])
def test_advanced_compute_at_1(transposed):
    """FusionAdvancedComputeAt1, FusionAdvancedComputeAtTransposed1"""
    f, tv1, tv6, tv7 = advanced_1(transposed)
    split_for_threads(tv7)
    compute_at(f, tv1, tv7, 1)
    assert positions(f, "tv1", "tv2", "tv3", "tv4", "tv5", "tv6", "tv7") == [1, 1, 1, 1, 1, 0, 0]
    assert most_producer_position(tv6) == most_producer_position(tv7) == 1
    assert {len(t.axes) for t in f.tensors if t.definition is not None and t.name != "tv0t"} == {3}


@pytest.mark.parametrize("target", [0, 1])
def test_several_consumers(target):
    """FusionComputeAtMultiConsumers: a consumer that is not on the way is transformed, too"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 48))
    consumers = [f.output(f.elementwise(n, tv1)) for n in ("tv2", "tv3")]
    split_for_threads(consumers[target])
    compute_at(f, tv1, consumers[target], 1)
    assert positions(f, "tv1", "tv2", "tv3") == [1, 0, 0]
    for t in consumers:
        assert most_producer_position(t) == 1
        assert len(t.axes) == 3


def test_common_consumer_1():
    """FusionComputeAtCommonConsumer1"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 48))
    tv2, tv3 = f.elementwise("tv2", tv1), f.output(f.elementwise("tv3", tv1))
    tv4 = f.output(f.elementwise("tv4", tv2, tv3))
    f.output(f.elementwise("tv5", tv4))
    split_for_threads(tv3)
    compute_at(f, tv1, tv3, 1)
    assert positions(f, "tv1", "tv2", "tv3", "tv4", "tv5") == [1, 1, 1, 0, 0]
    assert most_producer_position(tv4) == 1


@pytest.mark.parametrize("further_output", [False, True])
def test_common_consumer_2_and_3(further_output):
    """FusionComputeAtCommonConsumer2, FusionComputeAtCommonConsumer3: an output without a common consumer"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 6, 8))
    tv3 = f.elementwise("tv3", f.elementwise("tv2", tv1))
    tv4 = f.elementwise("tv4", tv1)
    tv5 = f.output(f.elementwise("tv5", tv3, tv4))
    tv6 = f.output(f.elementwise("tv6", tv1)) if further_output else None
    split_for_threads(tv4)
    compute_at(f, tv1, tv4, 1)
    assert positions(f, "tv1", "tv2", "tv3", "tv4", "tv5") == [1, 1, 1, 1, 0]
    assert most_producer_position(tv5) == 1
    if tv6 is not None:
        assert most_producer_position(tv6) == 1
        assert len(tv6.axes) == 3


def test_no_common_consumer():
    """FusionComputeAtNoCommonConsumer"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 6, 8))
    tv2, tv3 = f.elementwise("tv2", tv1), f.elementwise("tv3", tv1)
    f.output(f.elementwise("tv5", f.elementwise("tv4", tv2, tv3)))
    f.output(f.elementwise("tv6", tv1))
    split_for_threads(tv3)
    compute_at(f, tv1, tv3, 1)
    assert positions(f, "tv1", "tv2", "tv3", "tv4", "tv5", "tv6") == [1, 1, 1, 1, 0, 0]


def test_softmax():
    """FusionSoftmaxComputeAt: at the row it works, inside of it it is an error"""
    for position, works in ((1, True), (-1, False)):
        f = Fusion()
        tv0 = f.input("tv0", 3, 4)
        tv1 = f.reduce("tv1", tv0, (1,))
        tv2 = f.broadcast("tv2", tv1, (1,))
        tv4 = f.elementwise("tv4", f.elementwise("tv3", tv0), tv2)
        tv6 = f.broadcast("tv6", f.reduce("tv5", tv4, (1,)), (1,))
        tv7 = f.output(f.elementwise("tv7", tv6, tv4))
        if works:
            compute_at(f, tv1, tv7, position)
            assert tv1.position == 1
            check(f, np.random.default_rng(0))
        else:
            with pytest.raises(ScheduleError):
                compute_at(f, tv1, tv7, position)


def test_output_with_a_consumer():
    """FusionComputeAtNonterminatingOutput"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 12))
    f.output(f.elementwise("tv2", tv1))
    tv3 = f.output(f.elementwise("tv3", tv1))
    tv4 = f.output(f.elementwise("tv4", tv3))
    compute_at(f, tv1, tv4, -1)
    assert positions(f, "tv3", "tv4") == [1, 0]
    check(f, np.random.default_rng(0))


def test_results_of_one_expression_share_their_position():
    """FusionInlineRepro1803: three results of one reduction"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 4, 6))
    welford = [f.reduce(n, tv1, (1,)) for n in ("mean", "variance", "count")]
    f.group("welford", *welford)
    f.output(f.elementwise("out", f.elementwise("tv2", welford[0], welford[1]), welford[2]))
    inline_most(f)
    assert positions(f, "mean", "variance", "count") == [1, 1, 1]
    assert str(f).count("welford(") == 3


def test_squeeze():
    """FusionSqueezeInlining"""
    f = Fusion()
    tv1 = f.broadcast("tv1", f.input("tv0", 5), (0,))
    tv2 = f.squeeze("tv2", f.elementwise("tv1b", tv1), (0,))
    f.output(f.elementwise("tv3", tv2))
    inline_most(f)
    assert positions(f, "tv1", "tv2") == [2, 1]


def test_only_loops_left_of_the_position_are_replayed():
    """FusionTransformPropagatorPos"""
    f = Fusion()
    tv1 = f.elementwise("tv1", f.input("tv0", 22, 10))
    tv2 = f.output(f.elementwise("tv2", tv1))
    tv2.split(0, 2).split(2, 5)
    propagate(f, tv2, 1)
    assert [a.extent for a in tv1.axes] == [11, 2, 10]


def test_only_selected_tensors_are_transformed():
    """FusionTransformPropagatorSelector"""
    f = Fusion()
    tv1, tv2 = f.input("tv0", 8), f.input("tv1", 8)
    tv3 = f.elementwise("tv2", tv1, tv2)
    one, other = f.output(f.elementwise("tv3", tv3)), f.output(f.elementwise("tv4", tv3))
    tv3.split(0, 4)
    propagate(f, tv3, 2, [tv1, one])
    assert [len(t.axes) for t in (tv1, tv2, one, other)] == [2, 1, 2, 1]


def test_loops_that_match_stay_as_they_are():
    """FusionTransformPropagatorNoOverwrite"""
    f = Fusion()
    tv1 = f.broadcast("tv1", f.input("tv0", 8), (0, 2))
    tv2 = f.output(f.elementwise("tv2", tv1))
    tv1.split(1, 4).split(0, 2)
    tv2.split(1, 4)
    before = tv1.domain
    propagate(f, tv2, 0)
    assert tv1.domain is before


def test_zero_dimensions():
    """FusionZeroDimComputeAt, FusionZeroDimBroadcast"""
    f = Fusion()
    tv1 = f.reduce("tv1", f.input("tv0", 6), (0,))
    tv2 = f.elementwise("tv2", tv1)
    compute_at(f, tv1, f.output(tv2), -1)
    assert positions(f, "tv1", "tv2") == [0, 0]
    g = Fusion()
    tv1 = g.broadcast("tv1", g.input("tv0"), (0, 1))
    g.output(g.reduce("tv3", g.elementwise("tv2", tv1, g.input("w", 3, 4)), (0, 1)))
    inline_most(g)
    check(g, np.random.default_rng(0))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_a_reduced_axis_that_is_broadcast_again_is_not_the_producer_s_axis(axes):
    """FusionRootMappingReductionDependency5 (issue 749), ComplexBCast, BCastAfterReduce"""
    f = Fusion()
    x = f.elementwise("x", f.input("x0", 3, 4))
    b = f.broadcast("b", f.reduce("r", x, axes), axes)
    f.output(f.elementwise("y", f.elementwise("z", x, b), x))
    inline_most(f)
    assert next(t for t in f.tensors if t.name == "x").position == (1 if axes == (1,) else 0)
    check(f, np.random.default_rng(0))
