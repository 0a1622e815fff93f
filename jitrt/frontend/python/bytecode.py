"""Instructions of code, alike for all versions of Python, decoded once, since several looks at a function want them.

`dis` makes for each instruction also what prints it and where it stands in the source, which takes most of its time.
"""

from __future__ import annotations

import bisect
import dis
import itertools
import operator
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple


class Instruction(NamedTuple):
    """One instruction.

    Parameters
    ----------
    opname : str
    arg : int
        Its operand as a number; of no meaning where the operation has none.
    argval : object
        The name, the variable or the constant that the operand stands for, or the offset to which it jumps; otherwise
        the number.
    offset : int
        Where it stands in the code, in bytes.

    Notes
    -----
    Instructions of Python 3.13 and later on two variables are two of these, at the same offset. Of instructions that do
    the same by other names, in one version or in several, all have one name here, see `NAMES`.
    """

    opname: str
    arg: int
    argval: Any
    offset: int


def _opcodes(names: Iterable[str]) -> bytes:
    """The codes of those operations that this Python has."""
    codes = (dis.opmap.get(name, 256) for name in names)
    return bytes(code for code in codes if code < 256)  # larger ones are the compiler's own


_EXTENDED, _BINARY_OP = dis.opmap["EXTENDED_ARG"], dis.opmap["BINARY_OP"]
_SKIPPED = frozenset(_opcodes(("CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "NOT_TAKEN")))
_PAIRS = {
    op: re.findall("(?:LOAD|STORE)_FAST(?:_BORROW)?", dis.opname[op])
    for op in _opcodes(name for name in dis.opmap if name.count("FAST") == 2)
}
NAMES = {
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_FAST_CHECK": "LOAD_FAST",
    "LOAD_METHOD": "LOAD_ATTR",
    "LOAD_SMALL_INT": "LOAD_CONST",
    "POP_ITER": "POP_TOP",
}
_SUBSCRIPT = 26  # of BINARY_OP, from Python 3.14 on
_HANDLER = "PUSH_EXC_INFO"
_ALWAYS_JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD")
_NO_WAY_ON = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", *_ALWAYS_JUMPS)
_OPNAME = [NAMES.get(name, name) for name in dis.opname]
_VARIABLES = frozenset((*dis.haslocal, *dis.hasfree)) - _PAIRS.keys()
_CONSTANTS, _NAMES = frozenset(dis.hasconst), frozenset(dis.hasname)
# The lowest bits of the operand of these say something else.
_FLAG_BITS = dict.fromkeys(_opcodes(("LOAD_GLOBAL",)), 1) | dict.fromkeys(_opcodes(("LOAD_SUPER_ATTR",)), 2)
if sys.version_info >= (3, 12):
    _FLAG_BITS |= dict.fromkeys(_opcodes(("LOAD_ATTR",)), 1)
_JUMPS = frozenset(dis.hasjrel)
_BACKWARD = frozenset(op for op in dis.hasjrel if "BACKWARD" in dis.opname[op])


@lru_cache(maxsize=256)
def decoded(code: types.CodeType) -> tuple[Instruction, ...]:
    """The instructions of `code` that do something.

    Examples
    --------
    >>> [i.opname for i in decoded((lambda x: -x).__code__)][-2:]
    ['UNARY_NEGATIVE', 'RETURN_VALUE']
    """
    inside = frozenset(code.co_varnames)
    variables = (*code.co_varnames, *(c for c in code.co_cellvars if c not in inside), *code.co_freevars)
    names, constants = code.co_names, code.co_consts
    ops, args = code.co_code[::2], code.co_code[1::2]
    found: list[Instruction] = []
    extended = 0
    for k, op in enumerate(ops):
        if op in _SKIPPED:
            if op == _EXTENDED:
                extended = (extended | args[k]) << 8
            continue
        arg: Any = extended | args[k]
        value: Any = arg
        extended = 0
        if op in _VARIABLES:
            value = variables[arg]
        elif op in _CONSTANTS:
            value = constants[arg]
        elif op in _NAMES:
            value = names[arg >> _FLAG_BITS.get(op, 0)]
        elif op in _JUMPS:
            behind = k + 1
            while behind < len(ops) and not ops[behind]:  # inline caches
                behind += 1
            value = 2 * (behind - arg if op in _BACKWARD else behind + arg)
        elif op in _PAIRS:
            both = zip(_PAIRS[op], (arg >> 4, arg & 15))
            found += [Instruction(NAMES.get(name, name), which, variables[which], 2 * k) for name, which in both]
            continue
        subscript = arg == _SUBSCRIPT and op == _BINARY_OP
        found.append(Instruction("BINARY_SUBSCR" if subscript else _OPNAME[op], arg, value, 2 * k))
    return tuple(found)


def at(instructions: Sequence[Instruction], offset: int) -> int:
    """The number of the first instruction at an offset or behind it: a jump may lead to one that has been left out."""
    return min(bisect.bisect_left(instructions, offset, key=operator.attrgetter("offset")), len(instructions) - 1)


def successors(instructions: Sequence[Instruction], k: int) -> list[int]:
    """The numbers of those that may come behind number `k`, unless it raises an exception."""
    name = instructions[k].opname
    found = [at(instructions, instructions[k].argval)] if "JUMP" in name or name == "FOR_ITER" else []
    return found if name.startswith(_NO_WAY_ON) else [k + 1, *found]


def has_handlers(code: types.CodeType) -> bool:
    """Whether code has handlers of exceptions that do more than to raise them again.

    Examples
    --------
    >>> has_handlers((lambda x: [y for y in x]).__code__)
    False
    """
    return any(i.opname == _HANDLER for i in decoded(code))


@lru_cache(maxsize=1024)
def reads_later(code: types.CodeType, offset: int, variable: str) -> bool:
    """Whether a local variable may be read from `offset` on before something is assigned to it.

    Any exception handler is taken for one that may come next.
    """
    if variable not in code.co_varnames or variable in code.co_cellvars:
        return True
    instructions = decoded(code)
    pending = [at(instructions, offset), *(k for k, i in enumerate(instructions) if i.opname == _HANDLER)]
    seen: set[int] = set()
    while pending:
        k = pending.pop()
        instruction = instructions[k]
        if k in seen:
            continue
        seen.add(k)
        if "FAST" not in instruction.opname or instruction.argval != variable:
            pending += successors(instructions, k)
        elif instruction.opname != "STORE_FAST":
            return True
    return False


def do_the_same(instructions: Sequence[Instruction], a: int, b: int) -> bool:
    """Whether what comes from number `a` on does what comes from `b` on: compilers copy short ways to the end."""
    for _ in instructions:
        a, b = _behind_jumps(instructions, a), _behind_jumps(instructions, b)
        if a == b:
            return True
        ways = len(successors(instructions, a))
        if ways > 1 or instructions[a][:3] != instructions[b][:3]:
            return False
        if not ways:
            return True
        a, b = a + 1, b + 1
    return False


def _behind_jumps(instructions: Sequence[Instruction], k: int) -> int:
    """The number of the instruction that comes after number `k`, if that jumps in any case, and so on."""
    for _ in instructions:
        if not instructions[k].opname.startswith(_ALWAYS_JUMPS):
            break
        k = at(instructions, instructions[k].argval)
    return k


def line_of(code: types.CodeType, offset: int) -> int:
    """The line of the source from which the instruction at `offset` has been made."""
    line = next(itertools.islice(code.co_positions(), offset // 2, None), (None,))[0]
    return code.co_firstlineno if line is None else line


@lru_cache(maxsize=1024)
def printed_operand(code: types.CodeType, offset: int) -> str:
    """The operand of the instruction at `offset` as `dis` prints it: an operator by its sign."""
    return next((i.argrepr for i in dis.get_instructions(code) if i.offset == offset), "")


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of the functions and generators which it defines."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


_CERTAIN = frozenset({"LOAD_CONST", "LOAD_GLOBAL"})


@lru_cache(maxsize=1024)
def compares_objects(code: types.CodeType) -> bool:
    """Whether code may ask whether two of its values are one object: not a value and a constant, or what a module has.

    Examples
    --------
    >>> compares_objects((lambda x, y: x is y).__code__), compares_objects((lambda x: x is np.newaxis).__code__)
    (True, False)
    """
    for c in nested(code):
        instructions = decoded(c)
        for k, i in enumerate(instructions):
            if i.opname == "IS_OP":
                before = [j.opname for j in instructions[max(k - 2, 0) : k]]
                if before[-1] not in _CERTAIN and before != ["LOAD_GLOBAL", "LOAD_ATTR"]:
                    return True
    return False


def names_in(code: types.CodeType) -> set[str]:
    """What a function names outside of it."""
    return {name for c in nested(code) for name in c.co_names}


def names_and_texts(code: types.CodeType) -> set[str]:
    """What a function may look up: its names, and its texts, which may be names as well."""
    return names_in(code) | {text for c in nested(code) for text in c.co_consts if isinstance(text, str)}


def assigns_nonlocals(code: types.CodeType) -> bool:
    """Whether a function, or one that it defines, assigns a variable of a scope around itself."""
    return any(i.opname == "STORE_DEREF" and i.argval in c.co_freevars for c in nested(code) for i in decoded(c))
