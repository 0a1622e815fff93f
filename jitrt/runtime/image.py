"""Images: programs as numbers, from which a frame is made without knowing the graph.

As in object code, nothing in an image is an address. Words that will hold one are named in tables: `Table.relocations`
those in the frame and in constants, `Table.patches` those in arrays of the call, and kernels are numbers. So a program
can be kept in the disk cache, and further frames of it cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.frozen import frozen
from ..ir.types import ArrayType
from ..kernels import driver as native
from . import threads
from .objects import address, tuple_and_array_offsets

if TYPE_CHECKING:
    from .formulas import Formulas

FIRST_KERNEL = len(native.CONTROL) + 1
"""The number of the first kernel in a row of a table; smaller ones are rows of the driver's own."""

PIECES_PER_THREAD = 4


@frozen(eq=False)
class Table:
    """Consecutive steps that run natively, each of them a row or more.

    Parameters
    ----------
    params : numpy.ndarray
        64-bit words that the rows read and write. Of those that will hold an address, the distance from what it is
        relative to.
    relocations : numpy.ndarray
        Words that will hold addresses: position, and 0 for the frame, or 1 and on for the constants.
    patches : numpy.ndarray
        Words that hold an address in an array of the call: position, place of the array, offset.
    rows : numpy.ndarray
        Rows as in `kernels.driver`, with positions of words for their addresses, and in front of it whether the third
        is one, too. A kernel is a number from `FIRST_KERNEL` on. In place of its chunk is 0 if no threads share it, and
        a negative number if they add to columns of rows.
    """

    params: np.ndarray
    relocations: np.ndarray
    patches: np.ndarray
    rows: np.ndarray


@frozen(eq=False)
class Image:
    """A program without addresses.

    Parameters
    ----------
    nbytes : int
        Of the frame.
    places : int
        How many arrays a call has: inputs first, then outputs, then what NumPy gives in between.
    scalars : tuple of (input, offset, dtype)
        Inputs that are copied into the frame.
    outputs : tuple of int
        Places of the outputs.
    fresh : tuple of (place, type, strides)
        Outputs that are new arrays; strides are None for C-contiguous ones.
    given : tuple of (place, place)
        Outputs that are the memory of an argument that was donated, and the place of that argument.
    saved : tuple of (place, start, stop)
        Bytes of arguments that are overwritten.
    constants : tuple of numpy.ndarray
        C-contiguous arrays that kernels read where they lie.
    actions : tuple of Table or None
        What a call runs in order; None for a step that NumPy executes.
    kernels : tuple of str
        Symbols of the kernels.
    work : int
        Additions that all of it amounts to.
    may_raise : int
        Floating-point exceptions that NumPy may report for it, as `mayraise.may_raise` numbers them, and from
        ``UNCOMPUTED_BIT`` on those for what it leaves out.
    counts : tuple of (offset, int)
        Numbers of elements, as 64-bit integers in the frame.
    formulas : Formulas, optional
        How numbers of the image depend on the extents of arrays, which are then what they were at first.
    """

    nbytes: int
    places: int
    scalars: tuple[tuple[int, int, np.dtype], ...]
    outputs: tuple[int, ...]
    fresh: tuple[tuple[int, ArrayType, tuple[int, ...] | None], ...]
    given: tuple[tuple[int, int], ...]
    saved: tuple[tuple[int, int, int], ...]
    constants: tuple[np.ndarray, ...]
    actions: tuple[Table | None, ...]
    kernels: tuple[str, ...]
    work: int
    may_raise: int
    counts: tuple[tuple[int, int], ...] = ()
    formulas: Formulas | None = None

    @property
    def is_native(self) -> bool:
        """Whether nothing of it is left to NumPy."""
        return None not in self.actions


def bind(table: Table, bases: Sequence[int], kernels: Sequence[int], limit: int) -> np.ndarray:
    """The block of words that makes the driver execute a table.

    Parameters
    ----------
    table : Table
    bases : sequence of int
        Addresses of the frame and of the constants.
    kernels : sequence of int
        Addresses of the kernels.
    limit : int
        Most threads to use.
    """
    header, width = len(native.HEADER), len(native.PATCH)
    row_table = header + width * len(table.patches)
    first = row_table + len(native.ROW) * len(table.rows)
    block = np.zeros(first + len(table.params), np.int64)
    base = address(block)
    item, data = tuple_and_array_offsets()
    block[:header] = (
        len(table.patches), base + 8 * header, len(table.rows), base + 8 * row_table, threads.process_words(), limit,
        item, data,
    )  # fmt: skip

    words = base + 8 * first
    patches = block[header:row_table].reshape(-1, width)
    patches[...] = table.patches
    patches[:, 0] = words + 8 * patches[:, 0]
    rows = block[row_table:first].reshape(-1, len(native.ROW))
    by_word, kernel, word, value, jump = table.rows.T
    is_kernel = kernel >= FIRST_KERNEL
    shared = is_kernel & (jump != 0)
    rows[:, 0] = kernel
    rows[is_kernel, 0] = np.array(kernels, np.int64)[kernel[is_kernel] - FIRST_KERNEL]
    rows[:, 1] = words + 8 * word
    rows[:, 2] = np.where(by_word, words + 8 * value, value)
    rows[:, 3] = jump
    rows[shared, 3] = [_chunk(int(span), by_columns) for span, by_columns in zip(value[shared], jump[shared] < 0)]
    block[first:] = table.params
    position, region = table.relocations.T
    block[first + position] += np.array(bases, np.int64)[region]
    if limit > 1 and shared.any():
        threads.start_pool()
    return block


def _chunk(span: int, by_columns: bool) -> int:
    """Iterations of a parallel loop that one thread takes at a time: of columns whole lines of the cache.

    Threads that add to neighbours in one line again and again wait for each other.
    """
    pieces = PIECES_PER_THREAD * threads.num_threads()
    chunk = -(-span // pieces)
    return chunk if chunk < 64 and not by_columns else -(-chunk // 64) * 64
