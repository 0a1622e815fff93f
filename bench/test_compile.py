"""What the first call costs: a function never seen before, and a new shape for a compiled one."""

import itertools

import numpy as np
import pytest

from .peers import OF_STRINGS, PEERS
from .programs import Program, chain


@pytest.fixture(autouse=True)
def no_disk_cache(monkeypatch):
    """Otherwise a second run would find what the first one compiled."""
    monkeypatch.setenv("JITRT_CACHE_DIR", "")


_seeds = itertools.count()
_lengths = itertools.count(1000)


def _run(peer, function, args):
    run = PEERS[peer](Program(function, "compile", lambda n, rng: args), args)
    return run or pytest.skip(f"{peer} is not installed")


def _arrays(n):
    return tuple(np.linspace(k, k + 1, n) for k in range(4))


@pytest.mark.parametrize("peer", [p for p in PEERS if p not in OF_STRINGS])
@pytest.mark.parametrize("operations", [20, 200])
def test_cold(benchmark, operations, peer):
    """Each round is another function: read the median. numba stays out above 20 operations: it takes seconds."""
    if peer == "numba" and operations > 20:
        pytest.skip("numba takes seconds")
    benchmark.group = f"first call: {operations} operations, 1000 elements"
    args = _arrays(1000)

    def fresh():
        return (_run(peer, chain(operations, next(_seeds)), args),), {}

    _run(peer, chain(operations, next(_seeds)), args)()  # what a process does once
    benchmark.pedantic(lambda run: run(), setup=fresh, rounds=5)


@pytest.mark.parametrize("peer", ["numpy", "jitrt", "jax"])
def test_new_shape(benchmark, peer):
    benchmark.group = "first call at a new shape: 20 operations, some 1000 elements"
    function = chain(20, next(_seeds))
    if peer == "jax":
        pytest.importorskip("jax")
    compiled = _compiled(peer, function)

    def fresh():
        return _arrays(next(_lengths)), {}

    compiled(*_arrays(10))
    benchmark.pedantic(compiled, setup=fresh, rounds=20)


def _compiled(peer, function):
    if peer == "jitrt":
        import jitrt

        return jitrt.jit(function)
    if peer == "jax":
        import jax

        return jax.jit(function)
    return function
