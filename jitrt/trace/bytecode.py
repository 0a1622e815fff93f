"""Instructions of code, decoded once, since several looks at a function want them."""

from __future__ import annotations

import dis
import types
from functools import lru_cache

_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "NOT_TAKEN"})


@lru_cache(maxsize=256)
def decoded(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of `code` that do something.

    Examples
    --------
    >>> [i.opname for i in decoded((lambda x: -x).__code__)][-2:]
    ['UNARY_NEGATIVE', 'RETURN_VALUE']
    """
    return tuple(i for i in dis.get_instructions(code) if i.opname not in _SKIPPED)
