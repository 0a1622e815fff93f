"""The op table's columns of floating-point exceptions against what NumPy's loops report."""

import itertools

import numpy as np
import operands
import pytest

from jitrt.ir.ops.optable import OPS
from jitrt.ir.ops.ufuncs import NUMPY_UFUNCS

UFUNCS = sorted(NUMPY_UFUNCS, key=lambda u: u.__name__)
KINDS = ("divide", "over", "under", "invalid")


def _points(char: str) -> np.ndarray:
    if char not in "fd":
        return operands.special(char)
    info = np.finfo(char)
    size = float(info.max)
    far = [88.5, -104.5, 710.0, -746.0, 1100.0, 1e22, size / 2, -size, size**0.5, size**-0.5, float(info.tiny) * 1.5]
    return np.concatenate([operands.special(char), np.array(far).astype(char)])


def _reported(call, *arguments: np.ndarray) -> set[str]:
    reported = set()

    def handler(kind: str, _flag: int) -> None:
        reported.update(word for word in KINDS if kind.startswith(word[:4]))

    with np.errstate(all="call", call=handler):
        call(*arguments)
    return reported


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
@pytest.mark.parametrize("char", "fdFDlib")
def test_numpy_reports_nothing_else(ufunc: np.ufunc, char: str) -> None:
    dtype = np.dtype(char)
    try:
        loop = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,))[:-1]
    except TypeError:
        pytest.skip("no such loop")
    pairs = zip(*itertools.product(_points(char), repeat=ufunc.nin), strict=True)
    arguments = [np.array(column, dtype) for column in pairs]
    if ufunc.__name__ == "power" and dtype.kind == "i":
        arguments[1] = np.abs(arguments[1]) & 63
    assert _reported(ufunc, *arguments) <= NUMPY_UFUNCS[ufunc].raises(loop)


@pytest.mark.parametrize(
    ("source", "target", "value"), [("d", "f", 1e300), ("d", "f", 1e-300), ("d", "l", np.nan), ("D", "F", 1e300)]
)
def test_casts(source: str, target: str, value: float) -> None:
    reported = _reported(lambda x: x.astype(target), np.full(9, value, source))
    assert reported
    assert reported <= OPS["cast"].raises((np.dtype(source),))


def test_integers_raise_by_division_alone() -> None:
    integers = (np.dtype(np.int64),) * 2
    raising = {op.name for op in NUMPY_UFUNCS.values() if op.raises(integers)}
    assert raising == {"floor_divide", "remainder", "fmod", "reciprocal"}
    zero = np.zeros(3, np.int64)
    for name in raising:
        assert "divide" in _reported(getattr(np, name), *[zero] * getattr(np, name).nin)
