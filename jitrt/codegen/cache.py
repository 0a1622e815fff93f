"""The disk cache: object code of compiled modules, found by what it was compiled from.

A folder of the cache belongs to one *fingerprint*: versions, processor, and the text of the modules that emit code. In
it a module is one file, ``<hash>.module`` (checksum, then object code), and each text that it was compiled from is one
small file, ``<hash>.entry``, that names the module, its symbols, and those that the process has to have. A whole
program is one file, too, ``<hash>.program`` (checksum, the modules of its kernels, then what its frames are made from),
so that a process that asks for the same program again needs none of the stages in front of code generation. A table,
``<hash>.table`` (checksum, then JSON), has what processes have found out that is the same for all of them. A note is an
empty file, ``<hash>.note``.

Files are written under another name and renamed, so a reader sees a whole file or none, however many processes write.
Whatever goes wrong, the code is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import os
import threading
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from .. import forks
from ..atwork import at_work
from ..config import cache_directory, cache_limit
from . import linker
from .fingerprint import digest, fingerprint, sources

_log = logging.getLogger("jitrt.cache")
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
_BLOCK = 4096  # bytes that a small file takes on most disks

Home = tuple[str, list[str]]  # a module, and the symbols that the process has to have for it

_loaded: dict[str, dict[str, int]] = {}  # modules that this process has taken from the cache, and their symbols
_homes: dict[str, Home] = {}  # of symbols that are in the cache
_lock = threading.RLock()
forks.hold("cache", _lock)
_complained = False


def listed(symbols: Collection[str]) -> str:
    """Symbols as the log has them: the first ones, and how many others there are."""
    first = list(itertools.islice(symbols, 3))
    return ", ".join(first) + (f" and {len(symbols) - 3} more" if len(symbols) > 3 else "")


def _folder() -> Path | None:
    """The folder of this fingerprint; None if there is no cache."""
    directory = cache_directory()
    return None if directory is None else directory / fingerprint()


def has_note(text: str) -> bool:
    """Whether a process has left a note of that text; False if there is no cache."""
    try:
        folder = _folder()
        return folder is not None and _note(folder, text).exists()
    except Exception as error:
        _complain("read", error)
        return False


def note(text: str) -> None:
    """Leave a note of that text for other processes."""
    try:
        folder = _folder()
        if folder is not None:
            path = _note(folder, text)
            try:
                path.touch()
            except FileNotFoundError:
                folder.mkdir(parents=True, exist_ok=True)
                path.touch()
    except Exception as error:
        _complain("written", error)


def _note(folder: Path, text: str) -> Path:
    return folder / f"{digest(text + sources())}.note"


def _entry(folder: Path, text: str) -> Path:
    return folder / f"{digest(text)}.entry"


def has(text: str) -> bool:
    """Whether there is an entry for that text, so that `load` will give its symbols if their module is whole."""
    try:
        folder = _folder()
        return folder is not None and _entry(folder, text).exists()
    except Exception as error:
        _complain("read", error)
        return False


def load(text: str) -> dict[str, int] | None:
    """Addresses of the symbols that were compiled from `text`; None if the cache does not have them."""
    try:
        folder = _folder()
        if folder is None:
            return None
        entry = _entry(folder, text)
        if not entry.exists():
            return None
        module, symbols, needed = json.loads(entry.read_text(encoding="utf-8"))
        found = _symbols(folder, (module, needed), symbols)
        _mark_used(entry)
        _log.info("%s comes from the disk cache", listed(symbols))
        return found
    except FileNotFoundError:  # the module was deleted to keep the cache within its limit
        return None
    except Exception as error:
        _complain("read", error)
        return None


def load_program(text: str) -> tuple[dict[str, int], bytes] | None:
    """Addresses of the kernels of a program, and what else was stored of it; None if the cache does not have it."""
    try:
        folder = _folder()
        if folder is None:
            return None
        path = folder / f"{digest(text + sources())}.program"
        if not path.exists():
            return None
        head, _, data = _checked(path).partition(b"\n")
        addresses: dict[str, int] = {}
        for module, needed, symbols in json.loads(head):
            addresses |= _symbols(folder, (module, needed), symbols)
        _mark_used(path)
        _log.info("a program of %d kernels comes from the disk cache", len(addresses))
        return addresses, data
    except FileNotFoundError:
        return None
    except Exception as error:
        _complain("read", error)
        return None


def _symbols(folder: Path, home: Home, symbols: Iterable[str]) -> dict[str, int]:
    """Addresses of symbols of a module, which is linked if it was not."""
    module, needed = home
    with _lock, at_work():
        if module not in _loaded:
            path = folder / f"{module}.module"
            _link(path, needed)
            _loaded[module] = {}
            _mark_used(path)
        known = _loaded[module]
        for symbol in symbols:
            if symbol not in known:
                known[symbol] = linker.address(symbol)
            if not known[symbol]:
                raise ValueError(f"{module} does not contain {symbol}")
            _homes[symbol] = home
        return {symbol: known[symbol] for symbol in symbols}


def _checked(path: Path) -> bytes:
    """What a file has behind the checksum of it."""
    data = path.read_bytes()
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        raise ValueError(f"{path} is damaged")
    return data[32:]


def _mark_used(path: Path) -> None:
    with contextlib.suppress(OSError):  # a cache that may only be read serves all the same
        os.utime(path)


def _link(path: Path, needed: list[str]) -> None:
    code = _checked(path)
    if not linker.is_resolvable(needed):
        from .context import code_generator

        code_generator()  # numba makes the functions of its own known
        if not linker.is_resolvable(needed):
            raise ValueError(f"{path} needs functions that this process does not have")
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
        Symbols that the code uses and does not contain.
    """
    try:
        folder = _folder()
        if folder is None:
            return
        _write(folder / f"{module}.module", hashlib.sha256(code).digest() + code)
        entries = list(entries)
        for text, symbols in entries:
            _write(_entry(folder, text), json.dumps([module, symbols, needed]).encode())
            _homes.update((symbol, (module, needed)) for symbol in symbols)
        _log.info("%s and %d bytes of code went to the disk cache", module, len(code))
        _clean_now_and_then(1 + len(entries), len(code))
    except Exception as error:
        _complain("written", error)


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
    try:
        folder = _folder()
        homes: dict[str, tuple[list[str], list[str]]] = {}
        for symbol in symbols:
            if symbol not in _homes:
                return
            module, needed = _homes[symbol]
            homes.setdefault(module, (needed, []))[1].append(symbol)
        if folder is None:
            return
        head = json.dumps([(module, *rest) for module, rest in homes.items()]).encode()
        content = head + b"\n" + data
        _write(folder / f"{digest(text + sources())}.program", hashlib.sha256(content).digest() + content)
        _log.info(
            "a program of %d kernels and %d bytes went to the disk cache",
            sum(len(rest[1]) for rest in homes.values()),
            len(content),
        )
        _clean_now_and_then(1, len(content))
    except Exception as error:
        _complain("written", error)


def load_table(name: str) -> dict[str, Any]:
    """What processes have added to the table of that name."""
    try:
        folder = _folder()
        path = None if folder is None else _table(folder, name)
        if path is None or not path.exists():
            return {}
        found = json.loads(_checked(path))
        _mark_used(path)
        return found
    except FileNotFoundError:
        return {}
    except Exception as error:
        _complain("read", error)
        return {}


def extend_table(name: str, new: dict[str, Any]) -> None:
    """Add to the table of that name.

    Of what two processes add at the same time, that of one may be lost; it is added again when it is missed.
    """
    try:
        folder = _folder()
        if folder is None:
            return
        content = json.dumps(load_table(name) | new).encode()
        folder.mkdir(parents=True, exist_ok=True)
        _write(_table(folder, name), hashlib.sha256(content).digest() + content)
        _clean_now_and_then(1, len(content))
    except Exception as error:
        _complain("written", error)


def _table(folder: Path, name: str) -> Path:
    return folder / f"{digest(name + sources())}.table"


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    name = f"{path.parent}{os.sep}.writing-{os.urandom(8).hex()}"
    try:
        handle = os.open(name, _NEW_FILE, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(name, _NEW_FILE, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the folder may be gone
            os.unlink(name)
        raise


def _clean_now_and_then(files: int, nbytes: int) -> None:
    """When an eighth of the cache is new since the last time: delete what was not used for longest, in the background.

    Looking at every file of a full cache takes as long as some compiles. What is new is known without: all processes
    append to one file as many bytes as they have stored blocks.
    """
    directory, limit = cache_directory(), cache_limit()
    assert directory is not None
    path = directory / "stored"
    with open(path, "ab", buffering=0) as stored:
        stored.write(b"." * (files + nbytes // _BLOCK))
        is_due = stored.tell() * _BLOCK > limit // 8
    if is_due:
        os.truncate(path, 0)
        threading.Thread(target=clean, args=(limit - limit // 8, directory), name="jitrt cache").start()


def clean(limit: int, directory: Path | None = None) -> int:
    """Delete the files that were not used for longest until the cache has at most `limit` bytes.

    Parameters
    ----------
    limit : int
    directory : Path, optional
        Of the cache; that of the environment if none is given.

    Returns
    -------
    int
        Bytes deleted.
    """
    files = sorted(_files(directory or cache_directory()), key=lambda file: file[1])
    total = sum(size for _, _, size in files)
    deleted = 0
    for path, _, size in files:
        if total - deleted <= limit:
            break
        with contextlib.suppress(OSError):  # another process deletes, too, or the disk became read-only
            os.unlink(path)
            deleted += size
    return deleted


def _files(directory: Path | None) -> list[tuple[str, float, int]]:
    """Paths of all files, when they were last used, and how many bytes they have."""
    found = []
    with contextlib.suppress(OSError):
        for folder in os.scandir(directory) if directory else ():
            with contextlib.suppress(OSError):
                for file in os.scandir(folder):
                    with contextlib.suppress(OSError):  # deleted by another process meanwhile
                        status = file.stat()
                        found.append((file.path, status.st_mtime, status.st_size))
    return found


def summary() -> dict[str, Any]:
    """Where the cache is, and how much is in it."""
    files = _files(cache_directory())
    return {
        "directory": str(cache_directory()),
        "modules": sum(path.endswith(".module") for path, _, _ in files),
        "programs": sum(path.endswith(".program") for path, _, _ in files),
        "kernels": sum(path.endswith(".entry") for path, _, _ in files),
        "bytes": sum(size for _, _, size in files),
        "limit": cache_limit(),
    }


def _complain(how: str, error: Exception) -> None:
    """One line in the log, once a process, that the cache cannot be `read` or `written`."""
    global _complained
    if not _complained:
        _complained = True
        _log.warning("the disk cache is not used: it cannot be %s (%s: %s)", how, type(error).__name__, error)
