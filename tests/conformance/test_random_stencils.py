"""Random stencils of stencils on rows that are long enough to be computed side by side, against plain NumPy."""

import numpy as np
import pytest
from compare import assert_same
from covering import few
from stencils import program

import jitrt


def run(seed: int, odd: bool = False) -> int:
    """Compare one function with NumPy, and with itself on other numbers of threads; how many rows it keeps."""
    source, arguments = program(seed, odd)
    namespace = {"np": np}
    exec(source, namespace)
    plain = namespace["f"]
    with np.errstate(all="ignore"):
        want = plain(**arguments)
        compiled = [jitrt.jit(plain, threads=n) for n in (1, 2, 3)]
        got = [f(**arguments) for f in compiled]
    for results in got:
        for result, expected in zip(results, want, strict=True):
            assert_same(result, expected, path=source)
    for results in got[1:]:
        for result, first in zip(results, got[0]):
            assert result.tobytes() == first.tobytes(), source
    nests = compiled[0].explain(**arguments).loop_nests
    return sum(o.ring is not None for nest in nests for o in nest.operands)


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_random_stencils(seed):
    run(seed)


def test_the_programs_are_such_that_rows_are_kept():
    assert sum(run(seed) > 0 for seed in range(100, 112)) >= 3


@pytest.mark.parametrize("first", few(range(0, 60, 10), 2))
def test_reversed_and_shifted_operands(first):
    """A row of them is none of a window's: reversed, or from the middle of one row to the middle of the next."""
    for seed in range(first, first + 10):
        run(seed, odd=True)


@pytest.mark.parametrize("seed", few(range(1000, 1012), 6))
def test_what_kernels_touch(seed, monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", "1")
    run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 6000, 100))
def test_many_random_stencils(start):
    for seed in range(start, start + 100):
        run(seed, odd=seed % 2 == 1)
