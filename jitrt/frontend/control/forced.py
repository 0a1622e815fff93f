"""Elements of arrays that nothing reads, computed for their exceptions.

    n = len(1 / x)       →    for i in range(0, n, 1): t = divide t1 (load x{8*i})
    y = (1 / x)[2]            v = divide t1 (load x{16}), behind such a loop

An array that is not in memory yet is computed where its elements are read, and of some operations no element is read,
or not each: NumPy has computed them all, and warns of a quotient or raises an exception whatever becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.frozen import frozen, replaced
from ...ir.integers import Poly
from ...ir.ops.optable import OPS
from .values import Array

_ONE = Poly.number(1)


@frozen(eq=False)
class Pending:
    """An array of which it is not known that every element is computed.

    Parameters
    ----------
    array : Array
    block : int
        The block of the recorder where it was made.
    compute : callable
        Records loops that compute every element.
    until : object
        The statement behind which it has to be computed; None if that is the one that makes it.
    """

    array: Array
    block: int
    compute: Callable[[], None]
    until: Any = None


def watched(r: Any, name: str, operands: Any, array: Array, nest: Callable[..., None]) -> Array:
    """The array, made by the operation `name`; `r` remembers it until every element is read, if that may raise."""
    op = OPS[name]
    if not op.tells(operands) or (op.raises(operands) and op.raises(operands) <= r.ignored):
        return array
    key = object()

    def element(indices: tuple[Poly, ...]) -> str:
        if (pending := r.pending.get(key)) is not None and _are_all(r, pending, indices):
            del r.pending[key]
        return array.element(indices)

    made = replaced(array, element=element)
    r.pending[key] = Pending(made, r.inside, lambda: nest(r, made.shape, lambda indices: made.element(indices)))
    return made


def _are_all(r: Any, pending: Pending, indices: tuple[Poly, ...]) -> bool:
    """Whether what is recorded here runs for all elements, each time that the array is made."""
    around = r.loops_since(pending.block)
    if around is None:
        return False
    for index, extent in zip(indices, pending.array.shape):
        if extent != _ONE:
            name = next(iter(index.names()), "") if len(index.terms) == 1 else ""
            if index != Poly.name(name) or name not in around or not r.are_equal(around.pop(name), extent):
                return False
    return not around


def put_off(r: Any, last: Any) -> None:
    """Leave the arrays that a statement has made to the statement `last`, behind which they have to be computed."""
    for key, pending in r.pending.items():
        if pending.block == r.inside and pending.until is None:
            r.pending[key] = replaced(pending, until=last)


def compute(r: Any, statement: Any = None, is_end: bool = False) -> None:
    """Compute, in the block that is recorded, the arrays that are due behind `statement`; at its end, all of them.

    What is made of others comes before these, as it may read all of their elements.
    """
    for key, pending in reversed(list(r.pending.items())):
        is_due = is_end or pending.until in (None, statement)
        if pending.block == r.inside and is_due and r.pending.pop(key, None) is not None:
            pending.compute()
