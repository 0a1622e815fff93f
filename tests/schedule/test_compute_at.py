"""Positions and loop trees of the worked cases, and of random fusions run element by element."""

import numpy as np
import pytest
from execute import check
from worked_cases import CASES, FIRST_USES, UNMAPPABLE, at, column_softmax, softmax, transposed

from jitrt.schedule import Fusion, ScheduleError, compute_at, compute_with, inline_at, inline_most, propagate
from jitrt.schedule.positions import unmappable_axes


def by_name(fusion):
    return {t.name: t for t in fusion.tensors}


def positions(fusion):
    return {t.name: t.position for t in fusion.tensors if t.position}


@pytest.mark.parametrize("name", CASES)
def test_positions(name):
    build, expected = CASES[name]
    f = build()
    inline_most(f)
    if expected is not None:
        assert positions(f) == expected
    check(f, np.random.default_rng(1))


@pytest.mark.parametrize("name", CASES)
def test_loop_trees(name, golden):
    build, _ = CASES[name]
    f = build()
    inline_most(f)
    without = str(f)
    compute_with(f)
    first_uses = {t.name: (t.first_use[0], t.first_use[1].name) for t in f.tensors if t.first_use}
    if name in FIRST_USES:
        assert first_uses == FIRST_USES[name]
    text = str(f) if str(f) == without else f"{without}\n\nwith first consumers:\n{f}"
    golden(f"schedule/compute_at/{name}", f"{build.__doc__ or name}\n\n{text}")
    check(f, np.random.default_rng(1))


@pytest.mark.parametrize("name", UNMAPPABLE)
def test_unmappable_axes(name):
    f = CASES[name][0]()
    assert [(t.name, k) for t, k in unmappable_axes(f)] == UNMAPPABLE[name]


def test_the_order_of_a_consumer_propagates_through_a_transpose(golden):
    f = transposed()
    propagate(f, by_name(f)["t5"], 3)
    inline_most(f)
    assert positions(f) == at(t1=3, t2=3, t3=3, t4=3)
    golden("schedule/compute_at/c7b_order_of_the_consumer", str(f))
    check(f, np.random.default_rng(1))


def test_a_position_in_a_reduction_is_an_error_that_names_the_axis():
    f = softmax()
    t = by_name(f)
    with pytest.raises(ScheduleError, match="axis 1 of s is a reduction axis"):
        inline_at(f, t["s"], 2)
    with pytest.raises(ScheduleError, match="needed by the reduction s, and again by what depends on s"):
        inline_at(f, t["e"], -1)
    assert positions(f) == {}


def test_a_best_effort_position_is_the_deepest_legal_one():
    f = softmax()
    t = by_name(f)
    with pytest.raises(ScheduleError, match="loops would need each other"):
        inline_at(f, t["e"], 1)  # what needs its sum would stand in the loop that has to end before
    for name in ("sb", "s", "e"):
        inline_at(f, t[name], -1, best_effort=True)
    assert positions(f) == at(sb=1, s=1, e=1)
    inline_at(f, t["e"], 0)
    assert t["e"].position == 1, "a position only grows"


def test_softmax_at_the_row_but_not_inside():
    f = softmax()
    t = by_name(f)
    compute_at(f, t["m"], t["y"], 1)
    assert positions(f) == at(m=1, mb=1, d=1, e=1, s=1, sb=1)
    with pytest.raises(ScheduleError, match="cannot be computed inside of"):
        compute_at(f, t["m"], t["y"], -1)
    assert positions(f) == at(m=1, mb=1, d=1, e=1, s=1, sb=1)


def test_what_does_not_depend_on_the_producer_is_no_consumer():
    f = softmax()
    t = by_name(f)
    with pytest.raises(ScheduleError, match="m does not depend on y"):
        compute_at(f, t["y"], t["m"], 1)
    with pytest.raises(ScheduleError, match="not a position"):
        compute_at(f, t["m"], t["y"], 5)


def test_shared_loops_cannot_be_transformed():
    f = column_softmax()
    inline_most(f)
    t = by_name(f)
    with pytest.raises(ScheduleError, match="shares with another"):
        t["sb"].split(0, 2)
    with pytest.raises(ScheduleError, match="shares with another"):
        t["y"].reorder((1, 0))


def test_broadcast_to_two_extents_is_one_loop_with_neither():
    f = Fusion()
    t1 = f.broadcast("T1", f.elementwise("T0", f.input("v", 3)), (0,))
    f.output(f.elementwise("T2", t1, f.input("a", 4, 3)))
    f.output(f.elementwise("T3", t1, f.input("b", 5, 3)))
    inline_most(f)
    assert positions(f) == {}
    check(f, np.random.default_rng(1))


def random_fusion(rng):
    """Elementwise operations, reductions, broadcasts and transposes over axes of extents 3 and 4; several outputs."""
    f = Fusion()
    tensors = [f.input(f"x{k}", *[(3, 4), (3,), (4,)][rng.integers(3)]) for k in range(rng.integers(1, 4))]
    for k in range(rng.integers(3, 11)):
        t = tensors[-1] if rng.random() < 0.4 else tensors[rng.integers(len(tensors))]
        shape, name = t.domain.shape, f"t{k}"
        match rng.integers(7):
            case 0 | 1 if len(shape) == 2 and 1 not in shape:
                tensors.append(f.reduce(name, t, (int(rng.integers(2)),)))
            case 2 if len(shape) == 1:
                tensors.append(f.broadcast(name, t, (1,) if shape == (3,) else (0,)))
            case 3 if len(shape) == 2:
                tensors.append(f.transpose(name, t, (1, 0)))
            case _:
                fitting = [
                    u
                    for u in tensors
                    if len(u.domain.shape) == len(shape)
                    and all(1 in pair or pair[0] == pair[1] for pair in zip(shape, u.domain.shape))
                ]
                tensors.append(f.elementwise(name, t, fitting[rng.integers(len(fitting))]))
    made = [t for t in tensors if t.definition is not None]
    for t in made:
        if not t.uses or rng.random() < 0.15:
            f.output(t)
    return f


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_fusions(first):
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        f = random_fusion(rng)
        inline_most(f)
        check(f, rng)
        compute_with(f)
        check(f, rng)


def test_a_merge_is_not_replayed_where_one_of_its_axes_is_folded():
    f = Fusion()
    x = f.elementwise("x", f.input("in", 3, 4))
    total = f.output(f.reduce("total", x, (1,)))
    y = f.output(f.elementwise("y", x))
    y.merge(0)
    propagate(f, y, 1)
    assert [a.kind.value for a in total.axes] == ["i", "r"]
    inline_most(f)
    assert positions(f) == {}
    check(f, np.random.default_rng(1))


def test_more_loops_than_letters():
    f = Fusion()
    for k in range(20):
        f.output(f.elementwise(f"t{k}", f.input(f"x{k}", 2)))
    assert "for z in 2:" in str(f) and "for i1 in 2:" in str(f)


def transform(tensor, rng):
    """Some splits, merges and a new order of its loops."""
    for _ in range(rng.integers(1, 4)):
        n = len(tensor.axes)
        match rng.integers(3):
            case 0 if n:
                tensor.split(int(rng.integers(n)), int(rng.integers(1, 6)))
            case 1 if n > 1:
                k = int(rng.integers(n - 1))
                if tensor.axes[k].is_reduction == tensor.axes[k + 1].is_reduction:
                    tensor.merge(k)
            case _:
                tensor.reorder([int(k) for k in rng.permutation(n)])


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_fusions_with_transformed_loops(first):
    for seed in range(first, first + 50):
        rng = np.random.default_rng([seed, 7])
        f = random_fusion(rng)
        made = [t for t in f.tensors if t.definition is not None]
        reference = made[rng.integers(len(made))]
        transform(reference, rng)
        propagate(f, reference, int(rng.integers(len(reference.axes) + 1)))
        inline_most(f)
        check(f, rng)
        compute_with(f)
        check(f, rng)
