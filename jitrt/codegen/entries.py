"""The entries of procedures: those that this process knows, those of the disk cache, and new ones.

As with kernels, a process that finds them in the disk cache imports neither what emits code nor numba.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import policy
from ..ir.loops import Procedure
from . import cache
from .kernels import lock

_entries: dict[str, int] = {}


def entry_of(procedure: Procedure, written: Sequence[int]) -> int:
    """The address of the entry of a procedure that writes the array parameters ``x{k}`` for k in `written`.

    Raises
    ------
    NotStaged
        If it has an operation that cannot be emitted.
    """
    key = f"{procedure}\nwrites {written}\nshares loops of {policy.SHARED_WORK}"
    with lock:
        if key not in _entries:
            found = cache.load(key)
            if found is None:
                from .procedures import compile_procedure

                found = compile_procedure(key, procedure, written)
            (_entries[key],) = found.values()
        return _entries[key]
