"""Contiguous loops use the widest vectors that the machine has."""

import re

import numpy as np
import pytest

import jitrt
from jitrt.codegen.context import code_generator

features = code_generator()._tm_features
widest = "zmm" if "+avx512f" in features else "ymm" if "+avx2" in features else None
x = np.arange(1.0, 101.0)


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda a, b: a * b + 1.0, (x, x)),
        (lambda a: np.sqrt(a) / 3.0, (x.astype(np.float32),)),
        (lambda a: np.exp(a) + np.sin(a), (x,)),
        (lambda a: a.sum(), (x,)),
        (lambda a: a.max(axis=-1), (x.reshape(10, 10),)),
        (lambda a: (a * a).sum(axis=0), (x.reshape(5, 20),)),
        (lambda a: np.where(a > 5, a, -a), (x.astype(np.int32),)),
        (lambda a: a[:, 1:] - a[:, :-1], (x.reshape(5, 20),)),
    ],
    ids="chain float32 functions sum maximum columns where stencil".split(),
)
def test_wide_registers(function, arguments):
    (kernel,) = jitrt.jit(function).explain(*arguments).kernels
    assert widest in kernel.assembly


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_constants_in_a_loop(dtype):
    """A constant argument must not change the signature of a function that has vector variants."""

    def f(x):
        return np.arctan2(x, 2.0) + np.arctan2(3.0, x) + np.hypot(x, 2.0) + np.log(np.full(1, 2.0))[0]

    x = np.linspace(0.5, 4, 100).astype(dtype)
    np.testing.assert_allclose(jitrt.jit(f)(x), f(x), rtol=20 * np.finfo(dtype).eps)


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda a: np.exp(a[::2]), x.astype(np.float32)),
        (lambda a: np.sin(a[::2]), x),
        (lambda a: np.abs(a[::2]), x * 1j),
    ],
    ids="exponential sine modulus".split(),
)
def test_vectors_of_elements_at_a_distance(function, argument):
    """LLVM makes no vectors for a distance of one element alone: the kernel compares no distance with 1."""
    (kernel,) = jitrt.jit(function).explain(argument).kernels
    assert widest in kernel.assembly
    assert not re.search(r"cmpq\s+\$1,", kernel.assembly)


def test_functions_of_elements_at_a_distance_give_what_those_of_neighbours_give():
    rng = np.random.default_rng(1)
    for function in (np.exp, np.abs, np.tan, np.cbrt):
        z = rng.normal(size=203) * 5 if function is not np.abs else rng.normal(size=203) + 1j * rng.normal(size=203)
        compiled = jitrt.jit(lambda z, function=function: function(z))
        for part in (z[::2], z[::-1], z[1::3], z[::-7]):
            assert compiled(part).tobytes() == compiled(part.copy()).tobytes()
