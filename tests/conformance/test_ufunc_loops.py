"""Every loop of every ufunc row at special values: all combinations of them, in contiguous arrays."""

import numpy as np
import pytest
from compare import check, together
from jitrt.kernels import vmath, vmath_complex
from operands import all_pairs, ordinary, special

from jitrt.base.dtypes import is_twin
from jitrt.ir.ops.ufuncs import NUMPY_UFUNCS

UNITS = ("s", "ms", "D")  # mixed, so that operands have to be cast to a common one
# Elementary functions are allowed the error of both sides.
ULP = {**dict.fromkeys(set(vmath.FUNCTIONS) - {"sqrt"}, 4.0)}
LEAST = {"logaddexp": 1.0, "logaddexp2": 1.0}
ZERO_SIGN_IS_OPEN = {"maximum", "minimum", "fmax", "fmin", "clip"}

UFUNCS = sorted(NUMPY_UFUNCS, key=lambda u: u.__name__)


def loops(ufunc: np.ufunc) -> list[str]:
    """Operand types of the loops of `ufunc`, objects excluded, and types that are equal to others."""
    twins = {c for c in "iIlLqQ" if is_twin(np.dtype(c))}
    return [t.partition("->")[0] for t in ufunc.types if "O" not in t and twins.isdisjoint(t)]


def operands(ufunc: np.ufunc, loop: str) -> list[np.ndarray]:
    dtypes = [np.dtype(f"{c}8[{UNITS[k % 3]}]" if c in "mM" else c) for k, c in enumerate(loop)]
    if len(loop) > 1 and any(c in "mM" for c in loop) and ufunc is not np.floor_divide:
        dtypes[1] = np.dtype(f"{loop[1]}8[ms]") if loop[1] in "mM" else dtypes[1]
    values = [special(t) for t in dtypes]
    if len(loop) > 2:
        values = [v[::4] if len(v) > 8 else v for v in values]
    elif len(loop) > 1:
        values = [v[::5] if len(v) > 40 else v for v in values]
    arrays = [np.concatenate([v, ordinary(t, 99, k)]) for k, (v, t) in enumerate(zip(all_pairs(*values), dtypes))]
    if ufunc is np.power and dtypes[1].kind == "i":
        arrays[1] = np.where(arrays[1] < 0, 3, arrays[1])  # NumPy raises; tests/errors
    if ufunc is np.multiply and "m" in loop:  # NumPy 2.5 raises where a product overflows; tests/errors
        arrays = [a if a.dtype.kind == "f" else np.where(abs(a.astype(float)) < 2**31, a, a[-1:]) for a in arrays]
    return arrays


def tolerance(ufunc: np.ufunc, complex_loops: bool) -> dict:
    """How far from NumPy the results of `ufunc` may be; by default not at all."""
    name = ufunc.__name__
    ulp = 4.0 if complex_loops and name in vmath_complex.FUNCTIONS else ULP.get(name, 0)
    return {"ulp": ulp, "zeros": name not in ZERO_SIGN_IS_OPEN, "least": LEAST.get(name, 0)}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_every_loop(ufunc):
    for complex_loops in (False, True):
        cases, args = {}, []
        for loop in loops(ufunc):
            if bool(set(loop) & set("FDG")) is complex_loops:
                cases[loop] = _case(ufunc, len(args), len(loop))
                args += operands(ufunc, loop)
        if cases:
            check(together(cases), *args, **tolerance(ufunc, complex_loops))


def _case(ufunc, first, count):
    if count == 1:
        return lambda *a: ufunc(a[first])
    if count == 2:
        return lambda *a: ufunc(a[first], a[first + 1])
    return lambda *a: ufunc(a[first], a[first + 1], a[first + 2])
