"""Random functions with loops, compiled and plain: values, changed arguments and shared memory."""

import numpy as np
import pytest
from compare import assert_same
from covering import few
from loop_programs import LoopWriter

import jitrt

IN_CI, AT_LENGTH = 120, 4000
GROUP = 20


def arguments(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 6)), rng.normal(size=(4, 6)), float(rng.normal())


def sharing(result, args):
    arrays = [v for v in (*result, *args) if isinstance(v, np.ndarray)]
    return [[np.shares_memory(x, y) for y in arrays] for x in arrays]


def run(seed):
    source = LoopWriter(seed).write()
    namespace = {"np": np}
    exec(source, namespace)
    compiled = jitrt.jit(namespace["f"])
    try:
        with np.errstate(all="ignore"):
            for _ in range(2):
                args, expected = arguments(seed), arguments(seed)
                want, got = namespace["f"](*expected), compiled(*args)
                assert_same(got, want)
                assert_same(args, expected)
                assert sharing(got, args) == sharing(want, expected)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n{source}") from None
    explanation = compiled.explain(*arguments(seed))
    return explanation.graph is not None and any(n.op.name == "loop" for n in explanation.graph.nodes())


@pytest.mark.parametrize("first", few(range(0, IN_CI, GROUP), 2))
def test_random_loops(first):
    rolled = sum(run(seed) for seed in range(first, first + GROUP))
    assert rolled  # what is compared is not only what stayed as it was


@pytest.mark.slow
@pytest.mark.parametrize("first", range(IN_CI, AT_LENGTH, GROUP))
def test_many_random_loops(first):
    for seed in range(first, first + GROUP):
        run(seed)
