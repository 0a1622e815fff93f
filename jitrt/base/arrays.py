"""What arrays tell of themselves."""

from __future__ import annotations

from typing import Any

WRITEABLE = 0x400  # of NumPy's flags


def is_writeable(array: Any) -> bool:
    """``array.flags.writeable``, which warns of arrays that `numpy.broadcast_arrays` has made."""
    return bool(array.flags.num & WRITEABLE)
