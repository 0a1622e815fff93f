"""Python's loops, as the bytecode shows them: `for` over ranges, and conditions that end loops."""

from __future__ import annotations

import bisect
import types
from functools import lru_cache

from ...base.frozen import frozen
from ..python.bytecode import Instruction, decoded, printed_operand

_CALLS = frozenset({"CALL", "CALL_FUNCTION"})
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
# Statements in the body that change a value on the stack of the frame, where nobody sees it.
_HIDDEN = frozenset({"LIST_APPEND", "SET_ADD", "MAP_ADD", "YIELD_VALUE", "YIELD_FROM", "SEND"})


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
    head, store, end = found
    body = [i for i in decoded(code) if head.offset < i.offset < end and i is not store]
    if store.opname != "STORE_FAST" or any(i.opname in _HIDDEN for i in body):
        return None
    readers = body
    if getattr(code, "co_exceptiontable", b"") or not hasattr(code, "co_exceptiontable"):
        readers = [i for i in decoded(code) if i is not store]  # handlers stand behind the loop
    variable = store.argval
    mentions = [i for i in readers if i.argval == variable]
    reads = any(i.opname != "STORE_FAST" for i in mentions)
    elsewhere = any(i.argval == variable and i.opname != "STORE_FAST" for i in decoded(code) if i not in body)
    ends = any(i.opname in _RETURNS or ("JUMP" in i.opname and i.argval >= end) for i in body)
    return LoopSite(head.offset, variable, reads, bool(mentions), elsewhere, ends)


@frozen
class ConditionSite:
    """A condition on which a loop goes on or ends.

    Parameters
    ----------
    loop : int
        Offset that names the loop: of the first instruction of a `while` loop's body, or of the head of a `for` loop.
    stays : bool
        The truth value with which the loop goes on.
    is_entry : bool
        Whether this is the test of a `while` loop before its first iteration.
    is_break : bool
        Whether it is an ``if …: break`` at the end of the body of a `for` loop without `else`.
    """

    loop: int
    stays: bool
    is_entry: bool = False
    is_break: bool = False


@lru_cache(maxsize=1024)
def condition_site(code: types.CodeType, test: int) -> ConditionSite | None:
    """What the truth of the value that is tested at the offset `test` decides; None if it is something else."""
    instructions = decoded(code)
    k = sum(i.offset <= test for i in instructions) - 1
    if k >= 0 and instructions[k].opname == "TO_BOOL":
        k += 1
    return _condition(instructions, k)


def _condition(instructions: tuple[Instruction, ...], k: int) -> ConditionSite | None:
    found = _end_of_loop(instructions, k)
    if found is not None or not _is_test(instructions, k):
        return found
    following = instructions[k + 1]
    for later in range(k + 1, len(instructions)):
        bottom = _end_of_loop(instructions, later)
        if bottom is not None and not bottom.is_break and bottom.loop == following.offset:
            stays = "TRUE" not in instructions[k].opname
            return ConditionSite(bottom.loop, stays, is_entry=True) if stays == bottom.stays else None
    return None


def _is_test(instructions: tuple[Instruction, ...], k: int) -> bool:
    name = instructions[k].opname if 0 <= k < len(instructions) - 1 else ""
    return name.startswith("POP_JUMP") and name.endswith(("IF_TRUE", "IF_FALSE"))


def _end_of_loop(instructions: tuple[Instruction, ...], k: int) -> ConditionSite | None:
    """The condition behind the body of a loop, if a test is one."""
    if not _is_test(instructions, k):
        return None
    test, following = instructions[k], instructions[k + 1]
    jumps = "TRUE" in test.opname
    target = int(test.argval)
    # Both ways are followed to where they go next; the one that goes back is that of the loop.
    for way, truth in ((target, jumps), (following.offset, not jumps)):
        back = way
        if way > test.offset and _at(instructions, way).opname.startswith("JUMP_BACKWARD"):
            back = int(_at(instructions, way).argval)
        if back > test.offset:
            continue
        head = _at(instructions, back)
        if head.opname != "FOR_ITER":
            return ConditionSite(head.offset, truth)
        leaving = _at(instructions, following.offset if way == target else target)
        jump = _at(instructions, leaving.offset + 1)
        if leaving.opname == "POP_TOP" and jump.opname == "JUMP_FORWARD" and jump.argval == head.argval:
            return ConditionSite(head.offset, truth, is_break=True)
    return None


def _at(instructions: tuple[Instruction, ...], offset: int) -> Instruction:
    """The first instruction at an offset or behind it: a jump may lead to one that has been left out."""
    return instructions[min(bisect.bisect_left([i.offset for i in instructions], offset), len(instructions) - 1)]


def only_counts(code: types.CodeType, start: int, end: int, name: str) -> bool:
    """Whether code between two offsets does nothing with an integer variable but to add literals to it."""
    if getattr(code, "co_exceptiontable", b"\0"):
        return False  # handlers stand elsewhere
    inside = [i for i in decoded(code) if start <= i.offset <= end]
    k = 0
    while k < len(inside):
        if inside[k].argval != name:
            k += 1
            continue
        group = inside[k : k + 4]
        names = [i.opname for i in group]
        counts = names[1:2] in (["LOAD_CONST"], ["LOAD_SMALL_INT"]) and names[2:3] == ["BINARY_OP"]
        counts = counts and [names[0], names[3:]] == ["LOAD_FAST", ["STORE_FAST"]] and group[3].argval == name
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


def _following(code: types.CodeType, call: int) -> tuple[Instruction, Instruction, int] | None:
    """Of a loop over the result of a call: the head, the store of the variable, the offset of the end."""
    instructions = decoded(code)
    # While a Python function runs, its caller's offset may be that of the inline cache behind the call.
    k = sum(i.offset <= call for i in instructions) - 1
    if k < 0 or instructions[k].opname not in _CALLS or len(instructions) < k + 4:
        return None
    get, head, store = instructions[k + 1 : k + 4]
    if get.opname != "GET_ITER" or head.opname != "FOR_ITER":
        return None
    return head, store, int(head.argval)
