"""Random graphs: fused, compiled and run with threads, against the interpreter that runs them node by node."""

import numpy as np
import pytest
from covering import few
from fused_programs import Maker

import jitrt
from jitrt.ir.interpret import interpret
from jitrt.pipeline import compile_graph
from jitrt.runtime import table
from jitrt.schedule import groups, legalise, sharing, statements

IN_CI, AT_LENGTH = 200, 20_000
GROUP = 50
THREADS = 3

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def threads():
    before = jitrt.num_threads()
    jitrt.set_num_threads(THREADS)
    yield
    jitrt.set_num_threads(before)


def decide_otherwise(monkeypatch, rng):
    """Thresholds at which small arrays are treated as large ones are."""
    monkeypatch.setattr(table, "_PARALLEL_ADDITIONS", 1)
    monkeypatch.setattr(statements, "LITTLE_WORK", 1)
    monkeypatch.setattr(sharing, "_TURN_ELEMENTS", int(rng.choice([1, 8, 64, 1024])))
    monkeypatch.setattr(sharing, "_LONG_ROW", int(rng.choice([1, 4, 64])))
    monkeypatch.setattr(sharing, "_ROW_COST", int(rng.choice([0, 4, 100])))
    monkeypatch.setattr(sharing, "STACK_BYTES", int(rng.choice([64, 512, 1 << 15])))
    monkeypatch.setattr(sharing, "_FEW_TURNS", int(rng.choice([0, 8])))
    monkeypatch.setattr(sharing, "_MUCH_WORK", int(rng.choice([0, 500_000])))
    if rng.random() < 0.3:
        for name, value in (("BLOCK", 8), ("_MUCH", 16), ("_LEAST_ROWS", 2), ("_ENOUGH_ROWS", 3)):
            monkeypatch.setattr(legalise, name, value)
    monkeypatch.setattr(groups, "_LONG_ROW", int(rng.choice([1, 2, 64])))


def run(seed):
    rng = np.random.default_rng([seed, 1])
    graph, values = Maker(seed).make(3 + seed % 12)
    with pytest.MonkeyPatch.context() as monkeypatch:
        if seed % 3:
            decide_otherwise(monkeypatch, rng)
        program = compile_graph(graph, values).program
        before = [v.copy() for v in values]
        want = interpret(graph, values)
        with np.errstate(all="ignore"):
            for _ in range(2):
                for g, w in zip(program.run(values), want):
                    message = f"seed {seed}\n{graph}"
                    assert g.shape == np.shape(w), message
                    if g.dtype.kind == "f":
                        scale = max(1.0, float(np.max(np.abs(w), initial=0)))
                        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9 * scale, err_msg=message)
                    else:
                        np.testing.assert_array_equal(g, w, err_msg=message)
        for v, kept in zip(values, before):
            np.testing.assert_array_equal(v, kept)


@pytest.mark.parametrize("first", few(range(0, IN_CI, GROUP), 1))
def test_fused_programs(first):
    for seed in range(first, first + GROUP):
        run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(IN_CI, AT_LENGTH, GROUP))
def test_many_fused_programs(first):
    for seed in range(first, first + GROUP):
        run(seed)
