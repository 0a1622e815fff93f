"""Every program by every peer: elementwise chains, reductions and broadcasting."""

import numpy as np
import pytest

from .peers import PEERS, prepared
from .programs import PROGRAMS


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("n", [100, 10_000, 1_000_000])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(benchmark, program, n, peer):
    benchmark.group = f"{program.group}: {program.name}, {n:,} elements"
    run = prepared(peer, program, program.make(n, np.random.default_rng(3)))
    if isinstance(run, str):
        pytest.skip(f"{peer}: {run}")
    benchmark(run)
