"""Random programs in poisoned frames: the right results, and no kernel touches memory that is not its own."""

import numpy as np
import pytest
from covering import few
from graphs import Writer as GraphWriter
from programs import Writer
from test_random_programs import mismatch

import jitrt
from jitrt.memory import inplace, plan

GROUP = 20

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def debugging(monkeypatch):
    """Small arrays are treated like large ones: steps change their order, temporaries lie in results."""
    monkeypatch.setenv("JITRT_DEBUG", "1")
    monkeypatch.setattr(plan, "_WORTH_REORDERING", 0)
    monkeypatch.setattr(inplace, "_SMALLEST_MOVED", 0)


def run_programs(seeds):
    """Programs with views, updates, loops and branches."""
    for seed in seeds:
        program = Writer(seed).write(3 + seed % 9)
        assert not (found := mismatch(program)), f"seed {seed}: {found}\n{program.source}"


def run_graphs(seeds):
    """Programs of array operations, which store more."""
    for seed in seeds:
        source, arguments, _ = GraphWriter(seed).write(5 + seed % 15)
        namespace = {"np": np}
        exec(source, namespace)
        with np.errstate(all="ignore"):
            compiled = jitrt.jit(namespace["f"])
            want, got = namespace["f"](*arguments.values()), compiled(*arguments.values())
        for g, w in zip(got, want):
            assert g.dtype == w.dtype and g.shape == w.shape, f"seed {seed}\n{source}"
            if w.dtype.kind != "f":
                np.testing.assert_array_equal(g, w, f"seed {seed}\n{source}")


@pytest.mark.parametrize("first", few(range(0, 80, GROUP), 1))
def test_random_programs(first):
    run_programs(range(first, first + GROUP))


@pytest.mark.parametrize("first", few(range(0, 80, GROUP), 1))
def test_random_graphs(first):
    run_graphs(range(first, first + GROUP))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(80, 3000, GROUP))
def test_many_random_programs(first):
    run_programs(range(first, first + GROUP))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(80, 3000, GROUP))
def test_many_random_graphs(first):
    run_graphs(range(first, first + GROUP))
