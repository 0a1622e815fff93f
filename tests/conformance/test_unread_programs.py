"""Random programs with unused results say, compiled, what they say as plain NumPy: results, exceptions, warnings."""

import numpy as np
import pytest
from covering import few
from unread_programs import KINDS, SIZES, STATES, arguments, outcome, program

import jitrt


def agree(got, want):
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(agree, got, want))
    if isinstance(want, str):
        return got == want
    x, y = np.asarray(got), np.asarray(want)
    with np.errstate(all="ignore"):
        return x.dtype == y.dtype and x.shape == y.shape and np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", few(range(0, 120, 10), 6))
def test_random_programs(first):
    for seed in range(first, first + 10):
        rng = np.random.default_rng(seed)
        text = program(rng)
        scope = {"np": np}
        exec(text, scope)
        size, state = int(rng.choice(SIZES)), STATES[rng.integers(len(STATES))]
        compiled = jitrt.jit(scope["f"])
        for call, kind in enumerate(KINDS):
            given = arguments(rng, size, kind)
            got, want = (outcome(f, given, state) for f in (compiled, scope["f"]))
            assert agree(got, want), f"program {seed}, call {call} ({kind}), {state}\n{text}\n{got}\n{want}"
