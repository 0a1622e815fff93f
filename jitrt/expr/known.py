"""`Known`: what is known of the type of an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..ir.types import PYTHON_SCALARS, dtype_name


def dtype_text(dtype: np.dtype) -> str:
    """``f8``, ``>f8`` where that is not the machine's order, and ``[('x', '<f8'), ('y', '<i4')]`` of fields."""
    if dtype.names is not None:
        return repr(np.lib.format.dtype_to_descr(dtype))
    return dtype_name(dtype) if dtype.isnative else dtype.str


@frozen
class Known:
    """What is known of the type of an array or of a number.

    Parameters
    ----------
    dtype : numpy.dtype, optional
        None if it is open.
    shape : tuple of int or None, optional
        None for extents that are open, and for a rank that is.
    weak : bool
        Whether it is a Python number.
    """

    dtype: np.dtype | None = None
    shape: tuple[int | None, ...] | None = None
    weak: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing is open."""
        return self.dtype is not None and self.shape is not None and None not in self.shape

    @property
    def has_rank(self) -> bool:
        """Whether only extents may be open."""
        return self.dtype is not None and self.shape is not None

    def __str__(self) -> str:
        """``f8[3,?]``; ``?`` for a dtype that is open, and ``[...]`` for a rank."""
        dtype = "?" if self.dtype is None else dtype_text(self.dtype)
        if self.shape is None:
            return f"{dtype}[...]"
        return f"{dtype}[{','.join('?' if n is None else str(n) for n in self.shape)}]{'*' if self.weak else ''}"


@frozen
class Tuple:
    """The types of an operation that gives several values."""

    parts: tuple[Known, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is open."""
        return all(part.is_complete for part in self.parts)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


UNKNOWN = Known()  # by identity: NumPy says that float64 equals None


def known_type(value: Any) -> Known:
    """The type of a value."""
    if type(value) in PYTHON_SCALARS:
        return Known(PYTHON_SCALARS[type(value)], (), type(value) is not bool)
    return Known(value.dtype, value.shape)
