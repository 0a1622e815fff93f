"""Frames of programs of which NumPy executes steps: for sizes that come again, and no more of them than are bounded."""

import numpy as np
import pytest

import jitrt
from jitrt import policy


def ranked(x, y):
    return (np.sort(x) * 2 + y * x - np.abs(y)) * x + np.sqrt(y) - 1


def arrays(generator, n):
    return generator.random(n), generator.random(n)


def frames_of(function):
    return [
        frame
        for found in function._specialisations.compiled()
        for frame in found.compiled.program._frames
        if found.compiled.program.sized is not None
    ]


def learnt(generator):
    """A function that has a program for any sizes."""
    fast = jitrt.jit(ranked)
    for n in range(20_000, 20_040, 4):
        args = arrays(generator, n)
        np.testing.assert_allclose(fast(*args), ranked(*args))
    return fast


def test_sizes_that_are_new_run_plain_once(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    generator = np.random.default_rng(1)
    fast = learnt(generator)
    for n in range(21_000, 21_300, 7):
        args = arrays(generator, n)
        for k in range(3):
            np.testing.assert_allclose(fast(*args), ranked(*args))
            assert ("sizes that are new" in fast.plain_reason) == (k == 0)
    assert fast.cache_info().compiled <= policy.SIZED_FRAMES


def test_draws_of_sizes_that_are_new_are_numpys(monkeypatch):
    """A call that ends in front of its program has drawn nothing."""
    monkeypatch.setattr(jitrt.ir.worthwhile, "_DRAW", 0)
    monkeypatch.setenv("JITRT_STRICT", "0")

    def noisy(r, x):
        return np.sqrt(np.exp(x) + x * r.random(x.shape[0])) * x - np.tanh(x) + np.cos(x) * np.sin(x)

    fast, generator = jitrt.jit(noisy), np.random.default_rng(2)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for n in range(3000, 3300, 5):
        x = generator.random(n)
        for _ in range(2):
            np.testing.assert_allclose(fast(one, x), noisy(other, x))
            assert one.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize(("name", "most"), [("SIZED_FRAMES", 3), ("SIZED_FRAME_BYTES", 1 << 20)])
def test_frames_are_bounded(monkeypatch, name, most):
    monkeypatch.setattr(policy, name, most)
    generator = np.random.default_rng(4)
    fast = learnt(generator)
    for n in range(21_000, 21_200, 2):
        args = arrays(generator, n)
        for _ in range(2):
            np.testing.assert_allclose(fast(*args), ranked(*args))
        (frame,) = frames_of(fast)
        held = [f.image.nbytes for f in frame._frames.values() if f is not None]
        assert held and sum(held) == frame._nbytes
        assert len(frame._frames) <= policy.SIZED_FRAMES
        assert frame._nbytes <= policy.SIZED_FRAME_BYTES or len(frame._frames) == 1
