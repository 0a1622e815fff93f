"""The cost model of fusion: bytes that are moved, against operations that are repeated.

A value that is stored is written once and read by each nest that needs it. A value that is not is computed again where
it is needed: as a whole where it is cheap (`fuse.py`), at the edges of blocks and of what threads share (`windows.py`).
Where nothing is repeated, as in turns of common loops (`sharing.py`), what counts is whether later nests of a turn find
in the cache what earlier ones have read.
"""

from __future__ import annotations

# Additions that take as long as a store and a load of an element, of whatever size: between 2, at the rate of the
# caches, and 6, at that of memory, lest one function be other kernels for every size of its arrays.
RECOMPUTED_COST = 3
EVEN_SHARES = 32  # turns of a loop that threads can share about evenly
CACHED_BYTES = 1 << 19  # what a turn may touch for later nests of it to find it in the second-level cache
# Bytes of a row that are read before the next row is. Shorter runs are fetched so slowly, page by page, that reading
# everything once more takes less: of 1000 x 1000 to 4096 x 4096 float64, standardised by columns, blocks of any width
# took 1.1 to 2.5 times as long as whole rows; of 300 x 20000, blocks of 256 columns 0.5 to 0.7.
_RUN_BYTES = 1 << 11


def bytes_moved(nbytes: int, readers: int) -> int:
    """Bytes that a stored value of `nbytes` moves: one write, and a read by each of its readers.

    Examples
    --------
    >>> bytes_moved(1000, 2)
    3000
    """
    return nbytes * (1 + readers)


def is_worth_repeating(additions: int, itemsize: int, nbytes: int) -> bool:
    """Whether it costs less to compute `additions` again, of elements of that size, than to move `nbytes`.

    Examples
    --------
    Three additions an element, rather than to store and to load it; not four:

    >>> is_worth_repeating(3, 8, bytes_moved(8, 1)), is_worth_repeating(4, 8, bytes_moved(8, 1))
    (True, False)
    """
    return additions * bytes_moved(itemsize, 1) <= nbytes * RECOMPUTED_COST


def columns_of_a_turn(column_bytes: int, columns: int, run_bytes: int, longest: int) -> int:
    """How many columns to fold, and to use what they are folded into, before the next ones; 0 if rows should be whole.

    Parameters
    ----------
    column_bytes : int
        What is read of one column.
    columns : int
    run_bytes : int
        Bytes of a column that are neighbours.
    longest : int
        Columns of which the neighbours are neighbours in memory.

    Examples
    --------
    >>> columns_of_a_turn(100 * 8, 100_000, 8, 100_000), columns_of_a_turn(1000 * 8, 1000, 8, 1000)
    (655, 0)
    """
    together = min(CACHED_BYTES // max(column_bytes, 1), columns // EVEN_SHARES, longest)
    return together if together * run_bytes >= _RUN_BYTES else 0


def weighed(moved: int, repeated: int) -> str:
    """What stands against what, in words.

    Examples
    --------
    >>> weighed(8_000_000, 12_345)
    '8 MB moved, against 12.3 k additions repeated'
    """
    return f"{size(moved)} moved, against {count(repeated)} additions repeated"


def size(nbytes: int) -> str:
    """A number of bytes, with three digits."""
    return f"{count(nbytes)}B" if nbytes >= 1000 else f"{nbytes} B"


def count(n: int) -> str:
    """A number with three digits.

    Examples
    --------
    >>> count(8_000_000), count(12_345), count(999)
    ('8 M', '12.3 k', '999')
    """
    for unit, name in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if n >= unit:
            return f"{n / unit:.3g} {name}"
    return str(n)
