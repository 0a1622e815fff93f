"""Arrays that are not ordinary ones: mapped from a file, byte-swapped, or not aligned.

A trace sees an ordinary array with the same elements; kernels know how these lie in memory. Where NumPy would make an
array of the same class or byte order of it, and not a view or an ordinary array, the trace ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..errors import Untraceable
from ..ir.types import NATIVE, SWAPPED, UNALIGNED
from .python.userline import user_line


@frozen
class Form:
    """How an array differs from ordinary ones.

    Parameters
    ----------
    kind : type
    swapped : bool
        Whether its bytes are in the order of other machines.
    unaligned : bool
    """

    kind: type = np.ndarray
    swapped: bool = False
    unaligned: bool = False

    @property
    def encoding(self) -> str:
        """How its elements lie in memory."""
        return SWAPPED if self.swapped else UNALIGNED if self.unaligned else NATIVE

    @property
    def of_copies(self) -> Form | None:
        """The form of what NumPy copies from such arrays."""
        return Form(self.kind, self.swapped) if self.swapped or self.kind is not np.ndarray else None


def form_of(value: Any) -> Form | None:
    """The form of an array; None for an ordinary one, and for what is no array."""
    kind = type(value)
    if kind is not np.ndarray and kind is not np.memmap:
        return None
    form = Form(kind, not value.dtype.isnative, not value.flags.aligned)
    return None if form == Form() else form


def encoding_of(value: Any) -> str:
    """How the elements of an array lie in memory."""
    form = form_of(value)
    return NATIVE if form is None else form.encoding


def of_own_class(value: Any) -> Any:
    """An array that is mapped from a file as one of NumPy's own class; other values as they are."""
    return value.view(np.ndarray) if isinstance(value, np.memmap) else value


def ordinary(value: Any) -> Any:
    """An ordinary array with the same elements in the same order of memory; other values as they are."""
    if encoding_of(value):
        return np.array(value, value.dtype.newbyteorder("="), order="K", subok=False)
    return of_own_class(value)


def check(form: Form | None, what: str) -> None:
    """End the trace if an array is not ordinary, of which NumPy would make another one in its form."""
    if form is not None and form.of_copies is not None:
        which = "a memory-mapped array" if form.kind is np.memmap else "an array in the byte order of other machines"
        raise Untraceable(f"{what} of {which}", user_line())


def check_order(form: Form | None) -> None:
    """End the trace if elements are chosen of an array whose byte order the result would have."""
    if form is not None and form.swapped:
        check(form, "elements are chosen")
