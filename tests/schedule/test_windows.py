"""Stencils of stencils: what is computed side by side, how much is kept of it, and what stays in memory."""

import numpy as np
import pytest

import jitrt
from jitrt.schedule.loopnest import Loop
from jitrt.schedule.windows import WINDOW_BYTES


def horizontal_diffusion(f):
    lap = 4 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
    east = lap[1:, 1:-1] - lap[:-1, 1:-1]
    east = np.where(east * (f[2:-1, 2:-2] - f[1:-2, 2:-2]) > 0, 0, east)
    north = lap[1:-1, 1:] - lap[1:-1, :-1]
    north = np.where(north * (f[2:-2, 2:-1] - f[2:-2, 1:-2]) > 0, 0, north)
    return f[2:-2, 2:-2] - 0.025 * (east[1:] - east[:-1] + north[:, 1:] - north[:, :-1])


def twice(x):
    """The same along the first axis only, twice."""
    y = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
    return (y[:-2] + 2 * y[1:-1] + y[2:]) / 4


def apart(x):
    """Two results of different extents, from one producer."""
    y = x[1:] * x[:-1] / (1 + x[1:])
    return y[1:] - y[:-1], y[2:] - 2 * y[1:-1] + y[:-2]


def along_rows(x):
    y = x[..., 1:] * x[..., :-1] / (1 + x[..., 1:])
    return y[..., 1:] - y[..., :-1]


def values(*shape, dtype="f8"):
    return np.random.default_rng(1).random(shape).astype(dtype)


def explained(function, *args):
    """The explanation, once the results are NumPy's."""
    compiled = jitrt.jit(function)
    want, got = function(*args), compiled(*args)
    for w, g in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, got)), strict=True):
        assert w.dtype == g.dtype and w.shape == g.shape
        assert w.tobytes() == g.tobytes()
    return compiled.explain(*args)


def rings(explanation):
    """For each memory with a ring the number of its rows."""
    nests = explanation.loop_nests
    return sorted(o.ring[2] for n in nests for o in n.operands if o.ring is not None and o.name == o.memory)


def loops(explanation):
    return [s for n in explanation.loop_nests for s in n.statements() if isinstance(s, Loop)]


@pytest.mark.wide
@pytest.mark.parametrize("shape", [(30, 100), (200, 1024), (9, 4000), (12, 20, 20), (5, 6, 5, 64), (64, 68, 1)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_horizontal_diffusion_keeps_nothing_in_memory(shape, dtype):
    f = values(*shape, dtype=dtype) if dtype != "i4" else (values(*shape) * 100).astype("i4")
    explanation = explained(horizontal_diffusion, f)
    assert explanation.frame_bytes == 0
    assert len(explanation.kernels) == 1
    assert 3 in rings(explanation)


@pytest.mark.parametrize(
    "name, function, shape",
    [
        ("horizontal_diffusion", horizontal_diffusion, (100, 200)),
        ("rows_in_blocks", twice, (20, 20_000)),
        ("vector_in_blocks", along_rows, (100_000,)),
    ],
)
def test_loop_nests(name, function, shape, golden):
    golden(f"schedule/{name}", "\n\n".join(map(str, explained(function, values(*shape)).loop_nests)))


def test_rows_of_the_window_are_kept_and_no_more():
    assert rings(explained(horizontal_diffusion, values(100, 200))) == [2, 3]
    assert rings(explained(twice, values(100, 200))) == [3]


@pytest.mark.parametrize("columns", [1000, 2731, 5000, 40_000])
def test_long_rows_are_cut_into_blocks_that_fit_the_stack(columns):
    x = values(20, columns)
    explanation = explained(horizontal_diffusion, x)
    blocked = [s for s in loops(explanation) if s.block_of is not None]
    assert bool(blocked) == (columns > 1400)
    (call,) = (s.call for s in explanation.compiled.program.steps)
    kept = {o.memory: n for o, n in zip(call.nest.operands, map(call.local_bytes.get, range(99))) if o.is_local}
    assert 0 < sum(kept.values()) <= WINDOW_BYTES


@pytest.mark.parametrize("shape", [(68, 68, 60), (40, 132, 160), (30, 600, 17)])
def test_planes_are_cut_into_blocks_of_rows(shape):
    """Rows along the last axis stay whole, as long as a few of each member fit the stack."""
    explanation = explained(horizontal_diffusion, values(*shape))
    assert explanation.frame_bytes == 0 and len(explanation.kernels) == 1
    assert any(s.block_of is not None for s in loops(explanation))


def test_vectors_are_cut_into_blocks():
    explanation = explained(along_rows, values(100_000))
    assert explanation.frame_bytes == 0 and len(explanation.kernels) == 1
    assert all(s.window is not None for s in loops(explanation) if s.block_of is not None)


def test_results_of_different_extents():
    for shape in ((70, 90), (5, 3000), (50_000,)):
        assert explained(apart, values(*shape)).frame_bytes == 0


def test_axes_in_front_of_the_stencil_are_common_loops():
    def planes(x):
        y = (x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]) / 4
        return (y[:, :-2] + 2 * y[:, 1:-1] + y[:, 2:]) / 4

    explanation = explained(planes, values(50, 40, 80))
    assert rings(explanation) == [3] and explanation.frame_bytes == 0


def test_every_thread_starts_with_the_rows_that_it_needs():
    x = values(301, 257)
    want = jitrt.jit(horizontal_diffusion, threads=1)(x)
    for threads in (2, 3, 4, 7):
        assert jitrt.jit(horizontal_diffusion, threads=threads)(x).tobytes() == want.tobytes()


# What stays in memory.


def test_a_value_that_is_a_result_is_stored():
    def function(x):
        y = x[1:] * x[:-1] / (1 + x[1:])
        return y, y[1:] - y[:-1]

    assert not rings(explained(function, values(100, 100)))


def test_a_value_that_numpy_reads_is_stored():
    def function(x):
        y = x[1:] * x[:-1] / (1 + x[1:])
        return y[1:] - y[:-1], np.sort(y, axis=0)

    assert not rings(explained(function, values(100, 100)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (y := np.sqrt(x) / (1 + x) * x)[::-1] - y,
        lambda x: (y := np.sqrt(x) / (1 + x) * x).T - y,
        lambda x: (y := np.sqrt(x) / (1 + x) * x)[::2] - y[1::2],
        lambda x: (y := np.sqrt(x) / (1 + x) * x) - y[50],
        lambda x: (y := np.sqrt(x) / (1 + x) * x)[1:] - y[:-1].mean(axis=0),
        lambda x: (y := np.sqrt(x) / (1 + x) * x)[np.arange(99)] - y[1:],
    ],
    ids=["reversed", "transposed", "strided", "one row", "folded", "gathered"],
)
def test_a_value_that_is_read_in_another_way_is_stored(function):
    x = values(100, 100)
    got, want = jitrt.jit(function)(x), function(x)
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15)
    assert not rings(jitrt.jit(function).explain(x))


def test_short_rows_are_left_alone():
    explanation = explained(twice, values(1000, 20))
    assert not rings(explanation)
    assert "rows of a turn would be too short" in explanation.text()


def test_windows_that_reach_too_far_are_left_alone():
    def function(x):
        y = np.sqrt(x) / (1 + x) * x
        return y[100:] - y[:-100]

    explanation = explained(function, values(400, 1000))
    assert not rings(explanation)
    assert "additions repeated at the edges of blocks" in explanation.text()


def test_memory_that_is_read_again_is_not_overwritten():
    """The rows that a thread begins with are those that another one has."""

    def into(x):
        x[2:-2, 2:-2] = horizontal_diffusion(x)

    def of_a_temporary(x):
        t = np.sort(x, axis=1)
        return horizontal_diffusion(np.pad(t, 2))

    for threads in (1, 2, 3):
        x = values(150, 300)
        want, got = x.copy(), x.copy()
        into(want)
        jitrt.jit(into, threads=threads)(got)
        assert want.tobytes() == got.tobytes()
        donated = jitrt.jit(lambda f: np.pad(horizontal_diffusion(f), 2), threads=threads, donate=("f",))
        assert donated(x.copy()).tobytes() == np.pad(horizontal_diffusion(x), 2).tobytes()
        assert jitrt.jit(of_a_temporary, threads=threads)(x).tobytes() == of_a_temporary(x).tobytes()


def test_loops_over_time():
    def function(x, steps):
        for _ in range(steps):
            x = np.pad(horizontal_diffusion(x), 2, mode="edge")
        return x

    x = values(80, 90)
    got = jitrt.jit(function)(x, 12)
    assert got.tobytes() == function(x, 12).tobytes()


def test_what_is_never_read_raises_all_the_same():
    def function(x):
        y = np.sqrt(x) / (1 + x) * x
        return y[1:-2, 1:] - y[:-3, 1:]

    x = values(100, 100)
    x[-1, :] = -1
    with pytest.raises(FloatingPointError), np.errstate(invalid="raise", divide="raise"):
        jitrt.jit(function)(x)


def test_debug_mode(monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", "1")
    for shape in ((30, 100), (9, 3000), (12, 20, 70)):
        explained(horizontal_diffusion, values(*shape))
    explained(apart, values(3000))
