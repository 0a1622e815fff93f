"""The disk cache: object code of compiled modules, found by what it was compiled from.

A folder of the cache belongs to one *fingerprint*: versions, processor, and the text of the modules that emit code. In
it a module is one file, ``<hash>.module`` (object code), and each text that it was compiled from is one small file,
``<hash>.entry``, that names the module, its symbols, and those that the process has to have. A whole program is one
file, too, ``<hash>.program`` (the modules of its kernels, then what its frames are made from), so that a process that
asks for the same program again needs none of the stages in front of code generation. A table, ``<hash>.table`` (JSON),
has what processes have found out that is the same for all of them. A note is an empty file, ``<hash>.note``.

Whatever goes wrong, the code is compiled anew.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Collection, Iterable
from typing import Any

from ..base import forks
from ..base.atwork import at_work, is_users_own
from ..config import cache_directory, cache_limit
from . import cachefiles, linker
from .fingerprint import digest, sources

_log = logging.getLogger("jitrt.cache")

Home = tuple[str, list[str]]  # a module, and the symbols that the process has to have for it

_loaded: dict[str, dict[str, int]] = {}  # modules that this process has taken from the cache, and their symbols
_homes: dict[str, Home] = {}  # of symbols that were in the cache when this process last saw them there
_lock = threading.RLock()
forks.hold("cache", _lock)
_complained = False


def listed(symbols: Collection[str]) -> str:
    """Symbols as the log has them: the first ones, and how many others there are."""
    first = list(itertools.islice(symbols, 3))
    return ", ".join(first) + (f" and {len(symbols) - 3} more" if len(symbols) > 3 else "")


class _Complaints:
    """Around what cannot be `read` or `written`: one line in the log, once a process, and the cache is not used."""

    def __init__(self, how: str):
        self._how = how

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        global _complained
        if not isinstance(error, Exception) or is_users_own(error):
            return False
        is_deleted = self._how == "read" and isinstance(error, FileNotFoundError)  # to keep the cache within its limit
        if not is_deleted and not _complained:
            _complained = True
            text = "the disk cache is not used: it cannot be %s (%s: %s)"
            _log.warning(text, self._how, type(error).__name__, error)
        return True


def _name(text: str, kind: str) -> str:
    """The file of what `text` says; for machine code, the folder tells what else it depends on."""
    return f"{digest(text if kind == 'entry' else text + sources())}.{kind}"


def has_note(text: str) -> bool:
    """Whether a process has left a note of that text; False if there is no cache."""
    with _Complaints("read"):
        return cachefiles.exists(_name(text, "note"))
    return False


def note(text: str) -> None:
    """Leave a note of that text for other processes."""
    with _Complaints("written"):
        cachefiles.touch(_name(text, "note"))


def has(text: str) -> bool:
    """Whether there is an entry for that text, so that `load` will give its symbols if their module is whole."""
    with _Complaints("read"):
        return cachefiles.exists(_name(text, "entry"))
    return False


def load(text: str) -> dict[str, int] | None:
    """Addresses of the symbols that were compiled from `text`; None if the cache does not have them."""
    with _Complaints("read"):
        entry = cachefiles.read(_name(text, "entry"))
        if entry is not None:
            module, symbols, needed = json.loads(entry)
            found = _symbols((module, needed), symbols)
            _log.debug("%s comes from the disk cache", listed(symbols))
            return found
    return None


def load_program(text: str) -> tuple[dict[str, int], bytes] | None:
    """Addresses of the kernels of a program, and what else was stored of it; None if the cache does not have it."""
    with _Complaints("read"):
        content = cachefiles.read(_name(text, "program"))
        if content is not None:
            head, _, data = content.partition(b"\n")
            addresses: dict[str, int] = {}
            for module, needed, symbols in json.loads(head):
                addresses |= _symbols((module, needed), symbols)
            _log.debug("a program of %d kernels comes from the disk cache", len(addresses))
            return addresses, data
    return None


def _symbols(home: Home, symbols: Iterable[str]) -> dict[str, int]:
    """Addresses of symbols of a module, which is linked if it was not."""
    module, needed = home
    with _lock, at_work():
        if module not in _loaded:
            _link(module, needed)
            _loaded[module] = {}
        known = _loaded[module]
        for symbol in symbols:
            if symbol not in known:
                known[symbol] = linker.address(symbol)
            if not known[symbol]:
                raise ValueError(f"{module} does not contain {symbol}")
            _homes[symbol] = home
        return {symbol: known[symbol] for symbol in symbols}


def _link(module: str, needed: list[str]) -> None:
    code = cachefiles.read(f"{module}.module")
    if code is None:
        raise FileNotFoundError(module)
    if not linker.is_resolvable(needed):
        from .context import code_generator

        code_generator()  # numba makes the functions of its own known
        if not linker.is_resolvable(needed):
            raise ValueError(f"{module} needs functions that this process does not have")
    linker.link(code)


def store(module: str, code: bytes, entries: Iterable[tuple[str, list[str]]], needed: list[str]) -> None:
    """Keep the object code of a module.

    Parameters
    ----------
    module : str
        A name that no other module has; its symbols contain it.
    code : bytes
        Object code.
    entries : iterable of (text, symbols)
        The texts that it was compiled from, and the symbols that each of them gave.
    needed : list of str
        Symbols that the code uses and does not contain. Those of numba's functions are other ones in other processes.
    """
    if any(symbol.startswith("numba.") for symbol in needed):
        return
    with _Complaints("written"):
        if not cachefiles.write(f"{module}.module", code):
            return
        for text, symbols in entries:
            cachefiles.write(_name(text, "entry"), json.dumps([module, symbols, needed]).encode())
            _homes.update((symbol, (module, needed)) for symbol in symbols)
        _log.debug("%s and %d bytes of code went to the disk cache", module, len(code))


def is_kept(symbol: str) -> bool:
    """Whether the module of a symbol that this process has is in the cache.

    It need not stay there: another process may delete it, and `JITRT_CACHE_DIR` may name another folder meanwhile.
    """
    with _Complaints("read"):
        return symbol in _homes and cachefiles.exists(f"{_homes[symbol][0]}.module")
    return False


def store_program(text: str, symbols: Iterable[str], data: bytes) -> None:
    """Keep a program.

    Parameters
    ----------
    text : str
        What it was made from.
    symbols : iterable of str
        Its kernels. If the cache does not have them all, it does not keep the program.
    data : bytes
        What `load_program` gives back beside them.
    """
    homes: dict[str, tuple[list[str], list[str]]] = {}
    for symbol in symbols:
        if not is_kept(symbol):
            return
        module, needed = _homes[symbol]
        homes.setdefault(module, (needed, []))[1].append(symbol)
    kernels = sum(len(names) for _, names in homes.values())
    with _Complaints("written"):
        content = json.dumps([(module, *rest) for module, rest in homes.items()]).encode() + b"\n" + data
        if cachefiles.write(_name(text, "program"), content):
            _log.debug("a program of %d kernels and %d bytes went to the disk cache", kernels, len(content))


def load_bytes(text: str, kind: str) -> bytes | None:
    """What was stored under `text` as a file of that kind; None if there is nothing."""
    with _Complaints("read"):
        return cachefiles.read(_name(text, kind))
    return None


def store_bytes(text: str, kind: str, data: bytes) -> None:
    """Keep `data` for `load_bytes`."""
    with _Complaints("written"):
        cachefiles.write(_name(text, kind), data)


def load_table(name: str) -> dict[str, Any]:
    """What processes have added to the table of that name."""
    with _Complaints("read"):
        return json.loads(cachefiles.read(_name(name, "table")) or "{}")
    return {}


def may_have_table(name: str) -> bool:
    """Whether there was a table of that name when this process first asked, or it has made one: a look in memory."""
    with _Complaints("read"):
        return cachefiles.was_there(_name(name, "table"))
    return False


def extend_table(name: str, new: dict[str, Any]) -> None:
    """Add to the table of that name.

    Of what two processes add at the same time, that of one may be lost; it is added again when it is missed.
    """
    with _Complaints("written"):
        cachefiles.write(_name(name, "table"), json.dumps(load_table(name) | new).encode())


# What is counted, by the ends of names of files: code, programs of graphs, those of functions with loops, and kernels.
_KINDS = {"modules": ".module", "programs": ".program", "procedures": ".staged", "kernels": ".entry"}


def summary() -> dict[str, Any]:
    """Where the cache is, and how much is in it; and, if there is one that is not used, why that is so."""
    files = cachefiles.files()
    found = {
        "directory": str(cache_directory()),
        **{name: sum(path.endswith(ending) for path, _, _ in files) for name, ending in _KINDS.items()},
        "bytes": sum(size for _, _, size in files),
        "limit": cache_limit(),
    }
    try:
        cachefiles.folder()
    except (cachefiles.Unsafe, OSError) as error:
        found["not used"] = str(error)
    return found
