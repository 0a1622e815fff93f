"""What calls of procedures work with: words for arguments and results, and memory that is kept from call to call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..frontend.control.complexnumbers import COMPLEX, as_array
from ..frontend.control.external import Step
from ..frontend.control.outside import ArraysOf, array_of, element_types
from ..frontend.control.strings import codes
from ..ir.loops import Procedure
from ..kernels.external import unregister
from ..kernels.procedure import FIRST_ARGUMENT, LIMIT, MOST_INTEGER, THREADS
from ..values.keys import GENERATORS
from .hoststeps import HostSteps
from .sources import word_of
from .threads import process_words


class Work:
    """What one call of a procedure works with: words for its arguments and results, and a table of memory.

    Parameters
    ----------
    procedure : Procedure
    offsets : sequence of int
        Where arrays keep the addresses of their elements, extents and strides.
    limit : int
        How many threads may be used.
    steps : sequence of Step
        That Python executes.
    """

    pieces: Any = ()  # until there is memory for them
    heads: Any = ()  # of lists of which native code makes what is read as an array
    host: HostSteps | None = None

    def __init__(self, procedure: Procedure, offsets: Sequence[int], limit: int, steps: Sequence[Step] = ()):
        count = FIRST_ARGUMENT + len(procedure.parameters)
        self.words = (ctypes.c_int64 * count)(*offsets)
        self.words[THREADS], self.words[LIMIT] = process_words(), limit
        self.numbers = (ctypes.c_double * count).from_buffer(self.words)
        self.singles = (ctypes.c_float * (2 * count)).from_buffer(self.words)
        self.pieces = (ctypes.c_int64 * (2 * sum(procedure.sites) + 1))()
        self.results = (ctypes.c_int64 * max(len(procedure.results), 1))()
        self.host = HostSteps(steps) if steps else None
        if self.host is not None:
            self.words[count - 1] = self.host.number
        self.arrays: dict[int, np.ndarray] = {}  # made of lists
        self.heads = []
        self.addresses = tuple(map(ctypes.addressof, (self.words, self.pieces, self.results)))

    def take(self, given: tuple, takes: list[int], count: int) -> bool:
        """Write the arguments down; False for one that the procedure does not take."""
        if self.host is not None:
            self.host.begin()
        taken = (value for k, value in enumerate(given) if k >= count or k in takes)
        return all(self.put(at, value) for at, value in enumerate(taken, FIRST_ARGUMENT))

    def list_at(self, at: int) -> tuple[int, int]:
        """Where native code writes the address of a list's elements down, and how many these are.

        What the argument's word refers to from now on is read as if it were an array.
        """
        data, shape, strides = self.words[:3]
        begin = max(data, shape, strides) // 8 + 1
        head = (ctypes.c_int64 * (begin + 3))()  # with an extent, how much room there is, and a stride
        self.heads.append(head)
        here = self.words[at] = ctypes.addressof(head)
        extent = here + 8 * begin
        head[shape // 8], head[strides // 8], head[begin + 2] = extent, extent + 16, 8
        return here + data, extent

    def complex_at(self, at: int, value: Any) -> int:
        """Where native code writes the two floats of a complex number down, which are read as an array from now on."""
        self.put(at, value)
        return self.arrays[at].ctypes.data

    def put(self, at: int, value: Any) -> bool:
        """Write an argument down."""
        kind = type(value)
        if kind is np.ndarray:
            self.words[at] = id(value)
        elif kind is list:
            types = element_types(value)
            try:
                array = self.arrays[at] = array_of(value, types)
            except OverflowError:
                return False
            if isinstance(types, ArraysOf):
                array[0] = self.words[0]
            self.words[at] = id(array)
            return types is not None
        elif kind is str:
            array = self.arrays[at] = codes(value)
            self.words[at] = id(array)
        elif kind in COMPLEX:
            array = self.arrays[at] = as_array(value)
            self.words[at] = id(array)
        elif kind in GENERATORS:
            self.words[at] = word_of(value)
            if self.host is not None:
                self.host.sources[self.words[at]] = value
            return bool(self.words[at])
        elif kind is int or isinstance(value, np.integer):
            if not -MOST_INTEGER <= value <= MOST_INTEGER:
                return False
            self.words[at] = int(value)
        elif kind is np.float32:
            self.singles[2 * at] = value
        else:
            self.numbers[at] = value
        return True

    def __del__(self) -> None:
        if self.host is not None:
            unregister(self.host.number)
        free = _free()
        for k in range(0, len(self.pieces) - 1, 2):
            if self.pieces[k]:
                free(self.pieces[k])
        for head in self.heads:
            ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(head[self.words[0] // 8]))


def _free() -> Callable[[int], None]:
    function = ctypes.CDLL(None).free
    function.argtypes = [ctypes.c_void_p]
    function.restype = None
    return function
