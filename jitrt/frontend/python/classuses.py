"""What code does with the class of an object that it asks for.

Most code asks for it to tell people of it, in an error that is not raised. The class of a copy of an object shows as
that of the object, so that this is none of the trace's business, nor is which class it is, as long as nobody keeps it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .bytecode import Instruction

CLASS_NAMES = frozenset({"type", "__class__"})

_FORMATS = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "CONVERT_VALUE"})
_SHOWN = frozenset({"__name__", "__qualname__", "__module__"})
_COMPARISONS = frozenset({"IS_OP", "COMPARE_OP", "CONTAINS_OP"})
_NAMELESS = frozenset({"LOAD_CONST", "LOAD_FAST", "STORE_FAST", "KW_NAMES"})  # these have constants and variables
_LOADS = frozenset("LOAD_FAST LOAD_DEREF LOAD_GLOBAL LOAD_CONST".split())
# What an argument is made with, and how many more values are on the stack behind it, without what calls want there.
_OPERANDS = dict.fromkeys(_LOADS, 1) | {"LOAD_ATTR": 0, "BINARY_SUBSCR": -1}


class Use(enum.IntEnum):
    """What becomes of the class, from what matters least to what matters most."""

    SHOWN = 0
    COMPARED = 1
    HELD = 2


def names_a_class(instruction: Instruction) -> bool:
    """Whether an instruction loads, or changes, the class of an object or what gives it."""
    return instruction.opname not in _NAMELESS and instruction.argval in ("type", "__class__")


def use_of_class(instructions: Sequence[Instruction], k: int) -> Use:
    """What becomes of the class that instruction number `k` loads, or loads the function for.

    Parameters
    ----------
    instructions : sequence of Instruction
        Those of a code object, without ``PUSH_NULL``.
    k : int
        One that `names_a_class`.

    Examples
    --------
    >>> from jitrt.frontend.python.bytecode import decoded
    >>> def first_use(function):
    ...     found = [i for i in decoded(function.__code__) if i.opname != "PUSH_NULL"]
    ...     return use_of_class(found, next(k for k, i in enumerate(found) if names_a_class(i))).name
    >>> first_use(lambda x: f"it is {type(x[0])}")
    'SHOWN'
    >>> first_use(lambda x: x.__class__ is int)
    'COMPARED'
    >>> first_use(lambda x: type(x)(3))
    'HELD'
    """
    if instructions[k].opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        called = _behind_call(instructions, k)
        if called is None:
            return Use.HELD
        if called == k + 3 and instructions[k + 1].opname == "LOAD_CONST":
            return Use.SHOWN  # `type(None)` is always the same
        k = called
    elif instructions[k].opname == "LOAD_ATTR" and instructions[k].argval == "__class__":
        k += 1
    else:
        return Use.HELD
    if instructions[k].opname in _FORMATS or instructions[k].argval in _SHOWN:
        return Use.SHOWN
    if instructions[k].argval == "type":  # another one, to compare it with
        k = _behind_call(instructions, k) or k
    elif instructions[k].opname in _LOADS:
        while instructions[k].opname in (*_LOADS, "LOAD_ATTR", "BUILD_TUPLE"):
            k += 1
    return Use.COMPARED if instructions[k].opname in _COMPARISONS else Use.HELD


def _behind_call(instructions: Sequence[Instruction], k: int) -> int | None:
    """The number of the instruction behind the call of what `k` loads, with one argument; None if that is not seen."""
    depth = 0
    for number in range(k + 1, len(instructions) - 1):
        instruction = instructions[number]
        if instruction.opname == "CALL":
            if depth == instruction.arg:
                return number + 1 if instruction.arg == 1 else None
            depth -= instruction.arg
        elif instruction.opname in _OPERANDS:
            depth += _OPERANDS[instruction.opname]
        else:
            return None
        if depth < 1:  # it is an argument itself, or what an attribute is looked up in
            return None
    return None
