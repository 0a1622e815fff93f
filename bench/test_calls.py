"""What a call costs: small arrays, by number of arguments."""

import numpy as np
import pytest

from .peers import OF_STRINGS, PEERS, prepared
from .programs import Program, total


@pytest.mark.parametrize("peer", [p for p in PEERS if p not in OF_STRINGS])
@pytest.mark.parametrize("arguments", [1, 2, 4, 8, 16])
def test_call(benchmark, arguments, peer):
    benchmark.group = f"call: {arguments} arrays of 10 elements"
    args = tuple(np.arange(10.0) for _ in range(arguments))
    run = prepared(peer, Program(total(arguments), "call", lambda n, rng: args), args)
    if isinstance(run, str):
        pytest.skip(f"{peer}: {run}")
    benchmark(run)
