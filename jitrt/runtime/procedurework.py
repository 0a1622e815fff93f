"""What calls of procedures work with: words for arguments and results, and memory that is kept from call to call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from ..frontend.control.external import Step
from ..ir.loops import Procedure
from ..kernels.external import unregister
from ..kernels.procedure import MOST_INTEGER
from .hoststeps import HostSteps
from .sources import is_source, word_of


class Work:
    """What one call of a procedure works with: words for its arguments and results, and a table of memory.

    Parameters
    ----------
    procedure : Procedure
    offsets : sequence of int
        Where arrays keep the addresses of their elements, extents and strides.
    steps : sequence of Step
        That Python executes.
    """

    def __init__(self, procedure: Procedure, offsets: Sequence[int], steps: Sequence[Step] = ()):
        count = 3 + len(procedure.parameters)
        self.words = (ctypes.c_int64 * count)(*offsets)
        self.numbers = (ctypes.c_double * count).from_buffer(self.words)
        self.singles = (ctypes.c_float * (2 * count)).from_buffer(self.words)
        self.pieces = (ctypes.c_int64 * (2 * sum(procedure.sites) + 1))()
        self.results = (ctypes.c_int64 * (len(procedure.results) + 1))()
        self.host = HostSteps(steps) if steps else None
        if self.host is not None:
            self.words[count - 1] = self.host.number
        self.addresses = tuple(map(ctypes.addressof, (self.words, self.pieces, self.results)))

    def take(self, given: tuple, takes: list[int], count: int) -> bool:
        """Write the arguments down; False for one that the procedure does not take."""
        words, at, host = self.words, 3, self.host
        if host is not None:
            host.begin()
        for k, value in enumerate(given):
            if k < count and k not in takes:
                continue
            kind = type(value)
            if kind is np.ndarray:
                words[at] = id(value)
            elif is_source(value):
                words[at] = word_of(value)
                if not words[at]:
                    return False
                if host is not None:
                    host.sources[words[at]] = value
            elif kind is int or isinstance(value, np.integer):
                if not -MOST_INTEGER <= value <= MOST_INTEGER:
                    return False
                words[at] = int(value)
            elif kind is np.float32:
                self.singles[2 * at] = value
            else:
                self.numbers[at] = value
            at += 1
        return True

    def __del__(self) -> None:
        if self.host is not None:
            unregister(self.host.number)
        free = _free()
        for k in range(0, len(self.pieces) - 1, 2):
            if self.pieces[k]:
                free(self.pieces[k])


def _free() -> Callable[[int], None]:
    function = ctypes.CDLL(None).free
    function.argtypes = [ctypes.c_void_p]
    function.restype = None
    return function
