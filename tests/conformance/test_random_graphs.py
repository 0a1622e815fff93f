"""Random functions, compiled and plain: what no one thought of."""

import numpy as np
import pytest
from covering import few
from graphs import EXTENTS, WIDE_EXTENTS, Writer

import jitrt

IN_CI, AT_LENGTH = 300, 5000
GROUP = 25

# Means of nothing and the like warn, here and in NumPy.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def run(seed, extents=EXTENTS):
    source, arguments, _ = Writer(seed, extents).write(3 + seed % 10)
    namespace = {"np": np}
    exec(source, namespace)
    compiled = jitrt.jit(namespace["f"])
    args = list(arguments.values())
    before = [a.copy() for a in args]
    with np.errstate(all="ignore"):
        want = namespace["f"](*args)
        scale, single = largest(source, arguments)
        reason = compiled.explain(*args).plain_reason
        assert not reason, f"seed {seed}: {reason}\n{source}"
        for _ in range(2):
            got = compiled(*args)
            try:
                compare(got, want, scale, single)
                for mine, other in zip(args, before):
                    np.testing.assert_array_equal(mine, other)
                shares = [[np.shares_memory(a, b) for b in (*got, *args)] for a in got]
                assert any(a.flags.f_contiguous for a in args) or shares == [
                    [np.shares_memory(a, b) for b in (*want, *args)] for a in want
                ]
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}\n{source}\n{arguments}") from None


def largest(source, arguments):
    """The largest magnitude that the program computes, and whether any of it is in single precision.

    Sums that cancel have errors of the size of their terms.
    """
    values = dict(arguments)
    scale = 1.0
    for line in source.splitlines()[1:-1]:
        name, _, expression = line.strip().partition(" = ")
        values[name] = eval(expression, {"np": np}, values)
        scale = max(scale, float(np.max(np.abs(values[name], dtype=float), initial=0)) ** 2)
    return scale, any(np.float32 == v.dtype for v in values.values() if hasattr(v, "dtype"))


def compare(got, want, scale, single):
    for g, w in zip(got, want):
        assert type(g) is type(w)
        assert g.dtype == w.dtype
        assert g.shape == w.shape
        if w.dtype.kind == "f":
            np.testing.assert_allclose(g, w, rtol=1e-3 if single else 1e-9, atol=(1e-5 if single else 1e-11) * scale)
        else:
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("first", few(range(0, IN_CI, GROUP), 4))
def test_random_functions(first):
    for seed in range(first, first + GROUP):
        run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(IN_CI, AT_LENGTH, GROUP))
def test_many_random_functions(first):
    for seed in range(first, first + GROUP):
        run(seed)


@pytest.mark.parametrize("first", few(range(0, IN_CI // 3, GROUP), 2))
def test_random_functions_of_wide_arrays(first):
    for seed in range(first, first + GROUP):
        run(seed, WIDE_EXTENTS)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(IN_CI // 3, AT_LENGTH, GROUP))
def test_many_random_functions_of_wide_arrays(first):
    for seed in range(first, first + GROUP):
        run(seed, WIDE_EXTENTS)
