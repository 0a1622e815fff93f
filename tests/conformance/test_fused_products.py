"""Products that are added with one rounding: kernels give the bits of exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from jitrt.codegen.context import has_fma
from jitrt.ir import build as b
from jitrt.ir.node import Graph
from jitrt.ir.ops import fused
from jitrt.ir.ops.rows import NUMPY_FUNCTIONS
from jitrt.ir.types import ArrayType
from jitrt.pipeline import compile_graph

NUMBERS = [0.0, -0.0, 1.0, -1.5, 1 + 2.0**-23, 1 - 2.0**-24, 3e-5, 2.0**60, np.inf, -np.inf, np.nan]


@pytest.mark.skipif(not has_fma(), reason="the processor rounds twice, as BLAS does there")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_round_once(dtype):
    rng = np.random.default_rng(0)
    x, y, z = np.array(list(itertools.product(NUMBERS, repeat=3)), dtype).T.copy()
    x, y, z = (np.concatenate([v, rng.standard_normal(500).astype(dtype)]) for v in (x, y, z))
    z[-250:] = -x[-250:] * y[-250:]  # of which the error of the product is left
    inputs = tuple(b.input_node(k, ArrayType(np.dtype(dtype), v.shape)) for k, v in enumerate((x, y, z)))
    graph = Graph(inputs, (NUMPY_FUNCTIONS[fused.fused_multiply_add](*inputs),))
    with np.errstate(all="ignore"):
        (found,) = compile_graph(graph, [x, y, z]).program.run([x, y, z])
        is_finite = np.isfinite(x * y + z)
    np.testing.assert_array_equal(found, fused.fused_multiply_add(x, y, z))
    for k in np.flatnonzero(is_finite)[::7]:
        exact = Fraction(float(x[k])) * Fraction(float(y[k])) + Fraction(float(z[k]))
        assert abs(Fraction(float(found[k])) - exact) <= Fraction(float(np.spacing(np.abs(found[k])))) / 2
