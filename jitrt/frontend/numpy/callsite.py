"""What a call in the traced code says that NumPy does not hand on: an ``out`` that is None or ``...``."""

from __future__ import annotations

import itertools
import types
from functools import lru_cache

from ..python.bytecode import decoded
from ..python.userline import calling_frame


def names_out() -> bool:
    """Whether the call that the traced code is making has an argument ``out``."""
    frame = calling_frame()
    if frame is None:
        return False
    names = _keywords(frame.f_code).get(frame.f_lasti, ())
    if names is not None:
        return "out" in names
    dicts = (value for value in frame.f_locals.values() if type(value) is dict)
    return any("out" in value for value in (*dicts, frame.f_code.co_consts))


@lru_cache(maxsize=256)
def _keywords(code: types.CodeType) -> dict[int, tuple[str, ...] | None]:
    """The names of the arguments of calls, by where the calls stand; None if a dict has them."""
    found: dict[int, tuple[str, ...] | None] = {}
    for before, call in itertools.pairwise(decoded(code)):
        if call.opname == "CALL_FUNCTION_EX":
            found[call.offset] = None
        elif before.opname == "KW_NAMES" or call.opname == "CALL_KW":  # the former until Python 3.12
            found[call.offset] = before.argval
    return found
