"""``JITRT_PERF=1``: Linux' ``perf`` finds the names of compiled functions in ``/tmp/perf-<pid>.map``."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator

from .. import config
from ..base.stages import compiled_now

_FUNCTION, _SYMBOL_TABLE = 2, 2  # STT_FUNC, SHT_SYMTAB
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")  # of ELF's files for 64 bits


def note(code: bytes, address_of: Callable[[str], int]) -> None:
    """Write down where the functions of loaded object code are, if that is asked for.

    Parameters
    ----------
    code : bytes
    address_of : callable
        From a symbol to its address; 0 if there is none.
    """
    if not config.tells_perf() or not code.startswith(b"\x7fELF\x02\x01"):
        return
    lines = []
    for name, size in functions_in(code):
        if address := address_of(name):
            lines.append(f"{address:x} {size:x} jitrt:{compiled_now() or 'driver'}:{name}\n")
    with open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="utf-8") as file:
        file.write("".join(lines))


def functions_in(code: bytes) -> Iterator[tuple[str, int]]:
    """The names of the functions in an object file, and how many bytes each has."""
    (first,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [_SECTION.unpack_from(code, first + k * size) for k in range(count)]
    for _, kind, _, _, begin, length, link, _, _, each in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for place in range(begin, begin + length, each):
            name, info, _, section, _, extent = _SYMBOL.unpack_from(code, place)
            if info & 15 == _FUNCTION and section:
                end = code.index(b"\0", names + name)
                yield code[names + name : end].decode(), extent
