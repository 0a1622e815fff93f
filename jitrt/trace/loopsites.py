"""Python's `for` loops over ranges, as the bytecode shows them."""

from __future__ import annotations

import dis
import types
from functools import lru_cache

from ..frozen import frozen

_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "NOT_TAKEN"})
_CALLS = frozenset({"CALL", "CALL_FUNCTION"})
_STORES = frozenset({"STORE_FAST", "STORE_FAST_LOAD_FAST"})
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
    """

    head: int
    variable: str
    reads_variable: bool
    assigns_variable: bool


@lru_cache(maxsize=1024)
def loop_site(code: types.CodeType, call: int) -> LoopSite | None:
    """The loop over the result of the call at the offset `call`; None if the result is used otherwise.

    Loops whose iterations change what does not show in local variables are none either.
    """
    found = _following(code, call)
    if found is None:
        return None
    head, store, end = found
    body = [i for i in _instructions(code) if head.offset < i.offset < end and i is not store]
    if store.opname not in _STORES or any(i.opname in _HIDDEN for i in body):
        return None
    readers = body
    if getattr(code, "co_exceptiontable", b"") or not hasattr(code, "co_exceptiontable"):
        readers = [i for i in _instructions(code) if i is not store]  # handlers stand behind the loop
    variable, *loaded = store.argval if isinstance(store.argval, tuple) else (store.argval,)
    mentions = [i for i in readers if _mentions(i, variable)]
    reads = variable in loaded or any(i.opname != "STORE_FAST" for i in mentions)
    return LoopSite(head.offset, variable, reads, bool(mentions))


def only_called(code: types.CodeType, name: str) -> bool:
    """Whether the code uses the global `name` only to call it, and at least once."""
    uses = [
        k for k, i in enumerate(_instructions(code)) if i.argval == name and i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    instructions = _instructions(code)
    for k in uses:
        instruction = instructions[k]
        followed = instructions[k + 1 : k + 2]
        pushes_null = instruction.opname == "LOAD_GLOBAL" and bool((instruction.arg or 0) & 1)
        if not pushes_null and not (followed and followed[0].opname == "PUSH_NULL"):
            return False
    return bool(uses)


@lru_cache(maxsize=256)
def _instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(i for i in dis.get_instructions(code) if i.opname not in _SKIPPED)


def _following(code: types.CodeType, call: int) -> tuple[dis.Instruction, dis.Instruction, int] | None:
    """Of a loop over the result of a call: the head, the store of the variable, the offset of the end."""
    instructions = _instructions(code)
    # While a Python function runs, its caller's offset may be that of the inline cache behind the call.
    k = sum(i.offset <= call for i in instructions) - 1
    if k < 0 or instructions[k].opname not in _CALLS or len(instructions) < k + 4:
        return None
    get, head, store = instructions[k + 1 : k + 4]
    if get.opname != "GET_ITER" or head.opname != "FOR_ITER":
        return None
    return head, store, int(head.argval)


def _mentions(instruction: dis.Instruction, variable: str) -> bool:
    argval = instruction.argval
    return argval == variable or (isinstance(argval, tuple) and variable in argval)
