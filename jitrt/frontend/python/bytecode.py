"""Instructions of code, decoded once, since several looks at a function want them.

`dis` makes for each instruction also what prints it and where it stands in the source, which takes most of its time.
"""

from __future__ import annotations

import dis
import itertools
import re
import sys
import types
from collections.abc import Iterable
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
    Instructions of Python 3.13 and later on two variables are two of these, at the same offset.
    """

    opname: str
    arg: int
    argval: Any
    offset: int


def _opcodes(names: Iterable[str]) -> bytes:
    """The codes of those operations that this Python has."""
    codes = (dis.opmap.get(name, 256) for name in names)
    return bytes(code for code in codes if code < 256)  # larger ones are the compiler's own


_EXTENDED = dis.opmap["EXTENDED_ARG"]
_SKIPPED = frozenset(_opcodes(("CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "NOT_TAKEN")))
_PAIRS = {
    op: re.findall("(?:LOAD|STORE)_FAST(?:_BORROW)?", dis.opname[op])
    for op in _opcodes(name for name in dis.opmap if name.count("FAST") == 2)
}
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
    names, constants, opname = code.co_names, code.co_consts, dis.opname
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
            found += [Instruction(name, which, variables[which], 2 * k) for name, which in both]
            continue
        found.append(Instruction(opname[op], arg, value, 2 * k))
    return tuple(found)


def line_of(code: types.CodeType, offset: int) -> int:
    """The line of the source from which the instruction at `offset` has been made."""
    line = next(itertools.islice(code.co_positions(), offset // 2, None), (None,))[0]
    return code.co_firstlineno if line is None else line


@lru_cache(maxsize=1024)
def printed_operand(code: types.CodeType, offset: int) -> str:
    """The operand of the instruction at `offset` as `dis` prints it: an operator by its sign."""
    return next((i.argrepr for i in dis.get_instructions(code) if i.offset == offset), "")
