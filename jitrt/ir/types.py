"""The type of a value: dtype, shape, and whether it is a Python scalar (weak under NEP 50)."""

from __future__ import annotations

import math

import numpy as np

from ..base.frozen import frozen
from .extents import formula

PYTHON_SCALARS: dict[type, np.dtype] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}

# How elements of an input lie in memory: as kernels have them, or anywhere, or anywhere and in the other byte order.
NATIVE, UNALIGNED, SWAPPED = "", "unaligned", "swapped"

_WEAK_TYPE = {np.dtype(np.int64): int, np.dtype(np.float64): float, np.dtype(np.complex128): complex}


@frozen
class ArrayType:
    """What is known of a value without computing it.

    Parameters
    ----------
    dtype : numpy.dtype
        Element type, in native byte order.
    shape : tuple of int
        Extents; ``()`` for a scalar.
    weak : bool
        True for a Python scalar, whose dtype yields to that of an array (NEP 50).
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    weak: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def promotion_key(self) -> np.dtype | type:
        """What ``ufunc.resolve_dtypes`` wants for this operand: a dtype, or a Python type if weak."""
        return _WEAK_TYPE.get(self.dtype, self.dtype) if self.weak else self.dtype

    def __str__(self) -> str:
        extents = ",".join(map(formula, self.shape))
        return f"{dtype_name(self.dtype)}[{extents}]" + ("*" if self.weak else "")


def dtype_name(dtype: np.dtype) -> str:
    """Short printed name of a dtype: ``f8``, ``i4``, ``b1``, ``M8[ns]``."""
    return dtype.str.lstrip("<>=|")


def canonical(dtype: np.dtype) -> np.dtype:
    """The dtype object that stands for all equal ones (``longlong`` becomes ``int64``)."""
    return np.dtype(dtype.str) if dtype.kind in "iu" else dtype


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of a C-contiguous array."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def fortran_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of an array that is contiguous in the order of Fortran."""
    return contiguous_strides(shape[::-1], itemsize)[::-1]
