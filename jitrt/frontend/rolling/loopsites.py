"""Python's loops, as the bytecode shows them: `for` over ranges, and conditions that end loops."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from functools import lru_cache

from ...base.frozen import frozen
from ..python.bytecode import Instruction, at, decoded, do_the_same, has_handlers, printed_operand, successors

_CALLS = frozenset({"CALL", "CALL_FUNCTION"})
# What changes a value on the stack of the frame, where nobody sees it: that many values down, if there is a number.
_COLLECTS = frozenset({"LIST_APPEND", "SET_ADD", "MAP_ADD"})
_YIELDS = frozenset({"YIELD_VALUE", "YIELD_FROM", "SEND"})


@frozen
class LoopSite:
    """A statement ``for variable in range(…)``.

    Parameters
    ----------
    head : int
        Offset of the instruction that asks for the next number.
    variable : str
        The local variable that gets it.
    reads_variable : bool
        Whether the body may read it.
    assigns_variable : bool
        Whether the body may assign to it.
    reads_elsewhere : bool
        Whether other code of the function reads it.
    may_end_early : bool
        Whether there is a way out of the body that leaves numbers of the range over.
    """

    head: int
    variable: str
    reads_variable: bool
    assigns_variable: bool
    reads_elsewhere: bool
    may_end_early: bool


@lru_cache(maxsize=1024)
def loop_site(code: types.CodeType, call: int) -> LoopSite | None:
    """The loop over the result of the call at the offset `call`; None if the result is used otherwise.

    Loops whose iterations change what does not show in local variables are none either.
    """
    found = _following(code, call)
    if found is None:
        return None
    head, store = found
    instructions = decoded(code)
    repeated, may_end_early = _body(instructions, instructions.index(head))
    body = [i for i in repeated if i is not store]
    if store.opname != "STORE_FAST" or _changes_what_is_hidden(body):
        return None
    readers = body
    if has_handlers(code):
        readers = [i for i in decoded(code) if i is not store]  # they stand behind the loop
    variable = store.argval
    mentions = [i for i in readers if i.argval == variable]
    reads = any(i.opname != "STORE_FAST" for i in mentions)
    within = {i.offset for i in body}
    others = [i for i in decoded(code) if i.offset not in within]
    elsewhere = any(i.argval == variable and i.opname != "STORE_FAST" for i in others)
    return LoopSite(head.offset, variable, reads, bool(mentions), elsewhere, may_end_early)


def _body(instructions: Sequence[Instruction], head: int) -> tuple[list[Instruction], bool]:
    """What a `for` loop may repeat or raise errors with, and whether there is a way out of it.

    What follows upon `break` may stand within, a copy of the end of the function.
    """
    inside = range(head + 1, at(instructions, instructions[head].argval))
    found = {head} | {k for k in inside if instructions[k].opname.startswith("RAISE")}
    known = 0
    while known < len(found):
        known = len(found)
        found.update(k for k in reversed(inside) if not found.isdisjoint(successors(instructions, k)))
    leaves = any(not found.issuperset(successors(instructions, k)) for k in found if k != head)
    return [instructions[k] for k in sorted(found - {head})], leaves


def _changes_what_is_hidden(body: list[Instruction]) -> bool:
    """Whether the body of a loop changes what is on the stack of the frame since before the loop.

    From Python 3.12 on comprehensions stand in the code that they are part of. What they make is below the iterators of
    their loops. A loop is part of one if some of these are not in the body.
    """
    for i in body:
        if i.opname in _YIELDS:
            return True
        if i.opname in _COLLECTS:
            inside = sum(head.opname == "FOR_ITER" and head.offset < i.offset < head.argval for head in body)
            if inside < i.arg - 1:
                return True
    return False


@frozen
class ConditionSite:
    """A condition on which a loop goes on or ends.

    Parameters
    ----------
    loop : int
        Offset that names the loop: of the first instruction of a `while` loop's body, or of the head of a `for` loop.
    stays : bool
        The truth value with which the loop goes on.
    end : int
        Offset of what comes next if it does not.
    is_entry : bool
        Whether this is the test of a `while` loop before its first iteration.
    is_break : bool
        Whether it is an ``if …: break`` at the end of the body of a `for` loop without `else`.
    """

    loop: int
    stays: bool
    end: int
    is_entry: bool = False
    is_break: bool = False


@lru_cache(maxsize=1024)
def condition_site(code: types.CodeType, test: int, is_order: bool) -> ConditionSite | None:
    """What the truth of the value that is tested at the offset `test` decides; None if it is something else.

    From Python 3.13 on comparisons ask for the truth of what they give. Those of tuples have asked before whether
    elements are equal: `is_order` says that the value is the result of another comparison.
    """
    instructions = decoded(code)
    k = sum(i.offset <= test for i in instructions) - 1
    if k >= 0 and (instructions[k].opname == "TO_BOOL" or (is_order and instructions[k].opname == "COMPARE_OP")):
        k += 1
    return _condition(code, k)


def _condition(code: types.CodeType, k: int) -> ConditionSite | None:
    instructions, found = decoded(code), _end_of_loop(code, k)
    if found is not None or not _is_test(instructions, k):
        return found
    bottoms = [_end_of_loop(code, later) for later in range(k + 1, len(instructions))]
    loops = {(site.loop, site.stays) for site in bottoms if site is not None and not site.is_break}
    for way, end, stays in _ways(instructions, k):
        if (way, stays) in loops:
            return ConditionSite(way, stays, end, is_entry=True)
    return None


def _ways(instructions: Sequence[Instruction], k: int) -> list[tuple[int, int, bool]]:
    """The two ways on from a test: the offset, that of the other one, and the truth value with which it is taken."""
    test, following = instructions[k], instructions[k + 1].offset
    truth = "TRUE" in test.opname
    return [(int(test.argval), following, truth), (following, int(test.argval), not truth)]


def _is_test(instructions: Sequence[Instruction], k: int) -> bool:
    name = instructions[k].opname if 0 <= k < len(instructions) - 1 else ""
    return name.startswith("POP_JUMP") and name.endswith(("IF_TRUE", "IF_FALSE"))


def _end_of_loop(code: types.CodeType, k: int) -> ConditionSite | None:
    """The condition behind the body of a loop, if a test is one."""
    instructions = decoded(code)
    if not _is_test(instructions, k):
        return None
    test = instructions[k].offset
    # Both ways are followed to where they go next; the one that goes back is that of the loop.
    for way, end, stays in _ways(instructions, k):
        first = instructions[at(instructions, way)]
        back = int(first.argval) if way > test and first.opname.startswith("JUMP_BACKWARD") else way
        if back > test:
            continue
        head = instructions[at(instructions, back)]
        if head.opname != "FOR_ITER":
            return ConditionSite(head.offset, stays, end)
        if _breaks(code, head, end):
            return ConditionSite(head.offset, stays, end, is_break=True)
    return None


def _breaks(code: types.CodeType, head: Instruction, offset: int) -> bool:
    """Whether what comes at an offset in a `for` loop is that it ends as it does behind its last iteration."""
    instructions = decoded(code)
    behind = at(instructions, head.argval)
    if instructions[behind].opname == "END_FOR":  # Python 3.12 pops the iterator, too; 3.13 as `break` does
        behind += 1 if sys.version_info < (3, 13) else 2
    leaving = at(instructions, offset)
    return instructions[leaving].opname == "POP_TOP" and do_the_same(instructions, leaving + 1, behind)


def only_counts(code: types.CodeType, start: int, end: int, name: str) -> bool:
    """Whether code between two offsets does nothing with an integer variable but to add literals to it."""
    if has_handlers(code):
        return False  # they stand elsewhere
    inside = [i for i in decoded(code) if start <= i.offset <= end]
    k = 0
    while k < len(inside):
        if inside[k].argval != name:
            k += 1
            continue
        group = inside[k : k + 4]
        names = [i.opname for i in group]
        counts = names == ["LOAD_FAST", "LOAD_CONST", "BINARY_OP", "STORE_FAST"] and group[3].argval == name
        if not counts or type(group[1].argval) is not int:
            return False
        if printed_operand(code, group[2].offset).rstrip("=") not in ("+", "-"):
            return False
        k += 4
    return True


def only_called(code: types.CodeType, name: str) -> bool:
    """Whether the code uses the global `name` only to call it, and at least once."""
    uses = [k for k, i in enumerate(decoded(code)) if i.argval == name and i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    instructions = decoded(code)
    for k in uses:
        instruction = instructions[k]
        followed = instructions[k + 1 : k + 2]
        pushes_null = instruction.opname == "LOAD_GLOBAL" and bool(instruction.arg & 1)
        if not pushes_null and not (followed and followed[0].opname == "PUSH_NULL"):
            return False
    return bool(uses)


def _following(code: types.CodeType, call: int) -> tuple[Instruction, Instruction] | None:
    """Of a loop over the result of a call: the head and the store of the variable."""
    instructions = decoded(code)
    # While a Python function runs, its caller's offset may be that of the inline cache behind the call.
    k = sum(i.offset <= call for i in instructions) - 1
    if k < 0 or instructions[k].opname not in _CALLS or len(instructions) < k + 4:
        return None
    get, head, store = instructions[k + 1 : k + 4]
    if get.opname != "GET_ITER" or head.opname != "FOR_ITER":
        return None
    return head, store
