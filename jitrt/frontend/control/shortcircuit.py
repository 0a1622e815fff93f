"""``and``, ``or`` and chains of comparisons: what stands behind is evaluated only if nothing before it decides.

What can neither stop nor write is evaluated in any case, which is faster than a jump:

    x > 0 and x < 5              →  logical_and (x > 0) (x < 5)
    i < len(x) and x[i] < 5      →  if i < len(x): x[i] < 5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...ir.loops import Checked, Compute, External, For, Forever, If, Memory, Put, Scope, Stop, Store
from .values import BOOL, Raises

if TYPE_CHECKING:
    from .recorder import Recorder

_EFFECTS = (Checked, External, For, Forever, If, Memory, Put, Scope, Stop, Store)


def chain(r: Recorder, parts: Sequence[Any], evaluate: Callable[[int], bool | str], is_and: bool) -> bool | str:
    """The truth of ``part and part …``, or of ``part or part …``: known, or the name of a truth value.

    Parameters
    ----------
    r : Recorder
    parts : sequence of ast.expr
        They tell the operands apart.
    evaluate : callable
        Records the operand of a number; it may do so several times.
    is_and : bool
    """
    is_outermost = r.branched is None
    if is_outermost:
        r.branched = set()
    try:
        return _from(r, 0, parts, evaluate, is_and)
    finally:
        if is_outermost:
            r.branched = None


def _from(
    r: Recorder, start: int, parts: Sequence[Any], evaluate: Callable[[int], bool | str], is_and: bool
) -> bool | str:
    """The chain from an operand on."""
    assert r.branched is not None
    first = evaluate(start)
    while isinstance(first, bool):
        if first is not is_and or start == len(parts) - 1:
            return first
        start += 1
        first = evaluate(start)
    undecided = [first]  # if all that stands before is
    for k in range(start + 1, len(parts)):
        # That an operand is no bare value is not found out again, in chains of chains.
        second = None if id(parts[k]) in r.branched else _bare(r, undecided, partial(evaluate, k), is_and)
        if second is None:
            r.branched.add(id(parts[k]))
            return _on_one_way(r, first, undecided, partial(_from, r, k, parts, evaluate, is_and), is_and)
        if not isinstance(second, bool):
            first = r.compute("logical_and" if is_and else "logical_or", [first, second], BOOL)
            undecided.append(second)
        elif second is not is_and:
            return second
    return first


def _bare(r: Recorder, undecided: Sequence[str], part: Callable[[], bool | str], is_and: bool) -> bool | str | None:
    """An operand that is evaluated in any case; None, and nothing is recorded, if that could stop or write."""
    with r.attempt() as take_back:
        before = -1 if r.trusts else r.stores  # an index may be in range only then
        with r.block() as block:
            value = _behind(r, undecided, part, is_and)
        if before == r.stores and not any(map(_has_effect, block)):
            for statement in block:
                r.emit(statement)
            return value
        take_back()
    return None


def _on_one_way(
    r: Recorder, first: str, undecided: Sequence[str], rest: Callable[[], bool | str], is_and: bool
) -> bool | str:
    """A chain of which the `rest` is evaluated only if `first`, the value of what stands before, does not decide."""
    result = r.variable()
    r.put(result, first, BOOL)
    with r.block() as block:
        second = _behind(r, undecided, rest, is_and)
        r.put(result, r.literal(second, BOOL) if isinstance(second, bool) else second, BOOL)
    r.choice(*((first, block, ()) if is_and else (first, (), block)))
    return r.get(result, BOOL)


def _behind(r: Recorder, undecided: Sequence[str], part: Callable[[], bool | str], is_and: bool) -> bool | str:
    """What stands behind values that do not decide; where it raises, the procedure stops."""
    for value in undecided:
        r.suppose(value, is_and)
    try:
        return part()
    except Raises:
        r.stop(r.literal(True, BOOL))
        return is_and


def _has_effect(statement: Any) -> bool:
    """Whether more than time is lost if a statement runs that need not."""
    return statement.is_guarded if isinstance(statement, Compute) else isinstance(statement, _EFFECTS)
