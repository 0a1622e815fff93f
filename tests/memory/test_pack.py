"""Packing: no overlap of what lives at the same time, and little waste."""

import itertools
import math
import random
from functools import partial

import numpy as np
import pytest
from jitrt.kernels import packing

import jitrt
from jitrt.memory import exact, frame, plan_offsets
from jitrt.memory.exact import improve
from jitrt.memory.nnc import allocation_graph
from jitrt.memory.pack import PLANNERS, best_fit, by_size, further_plans, height, lower_bound
from jitrt.memory.sections import preorders, sections_of


def random_buffers(seed, most=60, times=50, sizes=40, unit=64):
    r = random.Random(seed)
    buffers = []
    for _ in range(r.randrange(1, most)):
        first = r.randrange(times)
        buffers.append((unit * r.randrange(1, sizes), first, first + r.randrange(1, 12)))
    return buffers


def full_rectangle(seed, pieces):
    """Buffers that fill a rectangle of time and memory without a gap, so that the lower bound can be reached."""
    r = random.Random(seed)
    parts = [(0, 1 << 12, 0, 1 << 12)]
    while len(parts) < pieces:
        parts.sort(key=lambda p: (p[1] - p[0]) * (p[3] - p[2]))
        low, high, first, end = parts.pop()
        if r.random() < 0.5 and high - low > 1:
            cut = r.randrange(low + 1, high)
            parts += [(low, cut, first, end), (cut, high, first, end)]
        else:
            cut = r.randrange(first + 1, end)
            parts += [(low, high, first, cut), (low, high, cut, end)]
    r.shuffle(parts)
    return [(high - low, first, end) for low, high, first, end in parts]


def overlapping(a, b):
    return a[1] < b[2] and b[1] < a[2]


def check(buffers, offsets, total):
    for i, (size, first, end) in enumerate(buffers):
        assert offsets[i] >= 0
        if first < end:
            assert offsets[i] + size <= total
        for j in range(i):
            if size and buffers[j][0] and overlapping(buffers[i], buffers[j]) and first < end:
                assert offsets[i] >= offsets[j] + buffers[j][0] or offsets[j] >= offsets[i] + size


def optimum(buffers):
    """By trying every order: pushed down, a best plan is one in which each buffer lies on those placed before it."""
    best = sum(size for size, _, _ in buffers)
    for order in itertools.permutations(range(len(buffers))):
        offsets = {}
        for k in order:
            tops = (offsets[j] + buffers[j][0] for j in offsets if overlapping(buffers[j], buffers[k]))
            offsets[k] = max(tops, default=0)
        best = min(best, max(offsets[k] + buffers[k][0] for k in order))
    return best


def problem(buffers, rank=0, convert=list):
    sections = sections_of(buffers)
    columns = ([b[0] for b in buffers], sections.first, sections.end, *sections.neighbours())
    ranks = preorders(buffers, sections)[rank]
    state = packing.new_state(len(buffers), sections.count, len(columns[4]), lambda n: convert([0] * n))
    return packing.Problem(*map(convert, columns), convert(ranks)), state


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("seed", range(15))
def test_nothing_overlaps(seed, planner):
    buffers = random_buffers(seed)
    offsets, total = plan_offsets(buffers, planner=planner)
    check(buffers, offsets, total)
    assert lower_bound(buffers) <= total <= (1.1 if planner == "best" else 1.5) * lower_bound(buffers)
    assert all(offset % 64 == 0 for offset in offsets)


def test_every_greedy_plan_is_one():
    for seed in range(10):
        buffers = random_buffers(seed)
        for plan in further_plans(buffers):
            offsets = plan()
            check(buffers, offsets, height(buffers, offsets))


@pytest.mark.parametrize("planner", PLANNERS)
def test_nothing_to_pack(planner):
    assert plan_offsets([], planner=planner) == ([], 0)
    assert plan_offsets([(0, 0, 5), (64, 3, 3)], planner=planner) == ([0, 0], 0)
    assert plan_offsets([(0, 0, 5), (64, 3, 3), (10, 0, 1)], planner=planner) == ([0, 0, 0], 10)
    assert plan_offsets([(5, 0, 1), (6, 1, 2)], planner=planner) == ([0, 0], 6)


def test_bad_input():
    with pytest.raises(ValueError, match="negative"):
        plan_offsets([(-1, 0, 1)])
    with pytest.raises(ValueError, match="planner must be one of best, greedy, nnc"):
        plan_offsets([(1, 0, 1)], planner="worst")
    with pytest.raises(ValueError, match="companions are for"):
        plan_offsets([(1, 0, 1), (1, 1, 2)], companions=[(0, 1)])


@pytest.mark.parametrize("seed", range(60))
def test_the_search_finds_the_optimum(seed):
    buffers = random_buffers(seed, most=8, times=8, sizes=9, unit=1)
    wanted = optimum(buffers)
    offsets, total = plan_offsets(buffers, budget=60)
    check(buffers, offsets, total)
    assert total == wanted
    for rank in range(3):
        task, state = problem(buffers, rank)
        assert packing.search(task, state, wanted, 10**9)[0] == packing.SOLVED
        check(buffers, state.offset, wanted)
        outcome, steps = packing.search(task, state, wanted - 1, 10**9)
        assert outcome == packing.IMPOSSIBLE
        assert packing.search(task, state, wanted - 1, max(steps - 1, 0))[0] == (
            packing.STOPPED if steps else packing.IMPOSSIBLE
        )


@pytest.mark.parametrize("seed", range(12))
def test_the_lower_bound_is_reached_where_greedy_is_above(seed):
    buffers = full_rectangle(seed, 24)
    assert lower_bound(buffers) == 1 << 12
    # No time limit: a search of so many steps, however long they take.
    outcomes = []
    for rank in range(3):
        task, state = problem(buffers, rank)
        outcomes.append(packing.search(task, state, 1 << 12, 20_000)[0])
        if outcomes[-1] == packing.SOLVED:
            check(buffers, state.offset, 1 << 12)
    assert packing.SOLVED in outcomes and packing.IMPOSSIBLE not in outcomes


def test_greedy_alone_does_not_reach_these_bounds():
    above = sum(
        height(b, best_fit(b, by_size(b))) > lower_bound(b) for b in (full_rectangle(seed, 24) for seed in range(12))
    )
    assert above >= 10


def test_compiled_and_interpreted_searches_agree():
    for seed in range(3):
        buffers = full_rectangle(seed, 40)
        for capacity in ((1 << 12) - 1, 1 << 12, 5000):
            task, state = problem(buffers)
            arrays, array_state = problem(buffers, convert=partial(np.array, dtype=np.int64))
            assert packing.compiled()(arrays, array_state, capacity, 2000) == packing.search(
                task, state, capacity, 2000
            )
            assert list(array_state.offset) == state.offset


def test_the_budget_bounds_the_search(monkeypatch):
    """The clock stands still until the search is asked for, then runs by 10 ms whenever it is looked at."""
    clock = itertools.count(0.0, 0.01)
    monkeypatch.setattr(exact.time, "perf_counter", lambda: next(clock))
    buffers = full_rectangle(3, 200)
    start = best_fit(buffers, by_size(buffers))
    offsets = improve(buffers, start, lower_bound(buffers), 0.5)
    check(buffers, offsets, height(buffers, start))
    assert next(clock) < 0.7
    assert improve(buffers, start, lower_bound(buffers), -1.0) == start


def test_without_a_budget_the_plan_is_greedy():
    buffers = full_rectangle(1, 30)
    assert plan_offsets(buffers, budget=0) == plan_offsets(buffers, planner="greedy")


@pytest.mark.parametrize("planner", PLANNERS)
def test_equal_input_gives_equal_plans(planner):
    buffers = random_buffers(5, most=40)
    assert plan_offsets(buffers, planner=planner) == plan_offsets(list(buffers), planner=planner)


def test_sections_keep_the_overlaps():
    for seed in range(20):
        buffers = random_buffers(seed)
        sections = sections_of(buffers)
        spans = [(0, f, e) for f, e in zip(sections.first, sections.end)]
        for (i, a), (j, b) in itertools.combinations(enumerate(buffers), 2):
            assert overlapping(a, b) == overlapping(spans[i], spans[j])


# The allocation graph.


def test_a_chain_takes_turns_in_two_places():
    chain = [(64, k, k + 2) for k in range(10)]
    offsets, total = plan_offsets(chain, planner="nnc")
    assert total == 128
    assert set(offsets) == {0, 64}


def test_both_ends_of_an_edge_must_not_be_dummies():
    """Read literally, the rule that neither end may be one never reuses anything."""
    assert allocation_graph([(8, 0, 1), (8, 1, 2)]) == [0, 0]
    assert allocation_graph([(8, 0, 2), (8, 1, 2)]) == [0, 8]


def test_a_part_of_a_buffer_is_reused():
    # Two small buffers share the memory of a large one that comes before them, a third that comes after.
    buffers = [(100, 0, 1), (60, 1, 3), (40, 2, 4), (100, 4, 5)]
    offsets, total = plan_offsets(buffers, planner="nnc")
    check(buffers, offsets, total)
    assert total == 100


def test_the_tightest_edge_is_split():
    # The last buffer fits behind both large ones; the one that died last is nearer.
    buffers = [(100, 0, 2), (100, 0, 4), (50, 5, 6)]
    offsets, _ = plan_offsets(buffers, planner="nnc")
    assert offsets[2] == offsets[1]


def test_among_the_largest_the_one_with_most_conflicts_is_first():
    buffers = [(8, 0, 1), (8, 0, 6), (8, 2, 3), (8, 4, 5)]
    assert plan_offsets(buffers, planner="nnc")[0][1] == 0


@pytest.mark.parametrize("sizes", [(64, 64), (64, 192), (192, 64)])
def test_companions_share_an_offset(sizes):
    one, two = sizes
    buffers = [(one, 0, 3), (two, 4, 7), (32, 2, 5), (128, 7, 9), (16, 0, 9)]
    offsets, total = plan_offsets(buffers, planner="nnc", companions=[(1, 0)])
    check(buffers, offsets, total)
    assert offsets[0] == offsets[1]


@pytest.mark.parametrize("seed", range(20))
def test_companions_in_random_graphs(seed):
    buffers = random_buffers(seed, most=30)
    r = random.Random(seed)
    free, companions = list(range(len(buffers))), []
    for _ in range(4):
        i, j = r.sample(range(len(buffers)), 2) if len(buffers) > 1 else (0, 0)
        if i in free and j in free and i != j and not overlapping(buffers[i], buffers[j]):
            free = [k for k in free if k not in (i, j)]
            companions.append((i, j))
    offsets, total = plan_offsets(buffers, planner="nnc", companions=companions)
    check(buffers, offsets, total)
    assert all(offsets[i] == offsets[j] for i, j in companions)


def test_impossible_companions():
    with pytest.raises(ValueError, match="alive at the same time"):
        plan_offsets([(8, 0, 2), (8, 1, 3)], planner="nnc", companions=[(0, 1)])
    with pytest.raises(ValueError, match="one companion"):
        plan_offsets([(8, 0, 1), (8, 1, 2), (8, 2, 3)], planner="nnc", companions=[(0, 1), (1, 2)])


def test_sizes_are_divided_by_what_they_have_in_common():
    buffers = [(3 * size, first, end) for size, first, end in full_rectangle(2, 20)]
    offsets, total = plan_offsets(buffers)
    assert math.gcd(*offsets, total) % 3 == 0


# In programs.


def test_slots_are_reused():
    def chain(x):
        for _ in range(6):
            x = np.cumsum(x * 2.0)[::-1] + 1.0
        return x

    layout = jitrt.jit(chain).explain(np.ones(1000)).compiled.program.layout
    assert layout.nbytes < layout.unshared_nbytes


def test_numbers_among_the_arguments_are_not_packed(monkeypatch):
    """They live as long as the frame, and may be thousands: the numbers of a nested list."""
    counts = []
    monkeypatch.setattr(
        frame, "plan_offsets", lambda buffers, **kw: counts.append(len(buffers)) or plan_offsets(buffers, **kw)
    )
    numbers = [0.5 * k for k in range(300)]

    def function(x, *numbers):
        y = np.cumsum(x) * 0.5
        for number in numbers:
            y = y + number
        return np.cumsum(y)

    compiled = jitrt.jit(function)
    for size in (40, 50, 2000):
        x = np.linspace(0, 1, size)
        np.testing.assert_allclose(compiled(x, *numbers), function(x, *numbers), rtol=1e-12)
    assert counts
    assert max(counts) < 300
