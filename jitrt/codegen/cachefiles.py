"""Files of the disk cache: where they are, whose they are, and how they are read, written and deleted.

The folder that ``JITRT_CACHE_DIR`` names may hold anything else: it may be a home. In it, a folder of the cache has a
fingerprint for a name, and in it is a file that marks it. Files of the cache have a hash for a name. Nothing else is
read, overwritten or deleted, and no link is followed.

Whoever writes machine code there runs it in the name of the user. So there is a cache only where folders and files
belong to the user, or to root, and nobody else may write to them.

A file is a checksum and what it has. The checksum is that of the names of the folder and of the file, too: a file that
was exchanged for another one, or copied from another machine, is a damaged one. Files are written under another name
and renamed, so a reader sees a whole file or none, however many processes write.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from ..config import cache_directory, cache_limit
from .fingerprint import fingerprint

_SAFE = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no wait for a pipe
_READ, _NEW, _APPEND = (
    _SAFE | mode for mode in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
)
_BLOCK = 4096  # bytes that a small file takes on most disks
_SUM = hashlib.sha256().digest_size

_FOLDER = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"[0-9a-f]{32}\.(module|entry|program|staged|table|note)|\.writing-[0-9a-f]{16}")
_COUNTER = "stored"
_MARK = "CACHEDIR.TAG"  # a convention, by which backups leave out such folders: https://bford.info/cachedir
_MARKED = b"Signature: 8a477f597d28d172789f06886806bc55\n# Programs and compiled kernels of jitrt; may be deleted.\n"


_recorded: list[str] | None = None


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Collect the names of the files that are read and written meanwhile, by any thread."""
    global _recorded
    before, _recorded = _recorded, []
    try:
        yield _recorded
    finally:
        _recorded = before


def are_recorded() -> bool:
    """Whether the files that are written are kept elsewhere, too."""
    return _recorded is not None


def is_name(text: str) -> bool:
    """Whether a file of the cache may be called so."""
    return _FILE.fullmatch(text) is not None and not text.startswith(".")


class Unsafe(Exception):
    """A folder or a file of the cache that somebody else may write to."""


def folder() -> str | None:
    """The folder of this fingerprint, which may not exist yet; None if there is no cache.

    Raises
    ------
    Unsafe
        If somebody else may write to it.
    """
    path = _path()
    if path is not None:
        directory = os.path.dirname(path)
        with contextlib.suppress(FileNotFoundError):
            _check(os.stat(directory), directory)
            _check(os.lstat(path), path)
    return path


def _path() -> str | None:
    """Where that is, whoever may write to it."""
    directory = cache_directory()
    return None if directory is None else f"{directory}{os.sep}{fingerprint()}"


def _check(status: os.stat_result, path: str | Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Unsafe(f"{path} is a link")
    if not hasattr(os, "geteuid"):  # elsewhere than on Unix, modes say nothing
        return
    if status.st_uid not in (0, os.geteuid()):
        raise Unsafe(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unsafe(f"others may write to {path}; chmod go-w changes that")


def exists(name: str) -> bool:
    """Whether there is a file of that name, which need not be whole."""
    path = folder()
    return path is not None and os.path.lexists(f"{path}{os.sep}{name}")


_listed: dict[str, set[str]] = {}  # what folders had when this process first asked, and what it has written


def was_there(name: str) -> bool:
    """Whether a file of that name was there when this process first asked for one, or has been written by it."""
    path = _path()
    if path is None:
        return False
    if path not in _listed:
        found = set[str]()
        with contextlib.suppress(OSError):
            found.update(os.listdir(path))
        _listed[path] = found
    return name in _listed[path]


def read(name: str) -> bytes | None:
    """What a file has; None if there is none. It counts as used.

    Raises
    ------
    ValueError
        If it is damaged.
    Unsafe
        If somebody else may write to it.
    """
    path = folder()
    if path is not None and _recorded is not None:
        _recorded.append(name)
    return None if path is None else content(f"{path}{os.sep}{name}")


def content(path: str) -> bytes | None:
    """As `read`, of a file in any folder of the cache."""
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is not a file")
        _check(status, path)
        data = file.read()
    found = data[_SUM:]
    if _checksum(path, found) != data[:_SUM]:
        raise ValueError(f"{path} is damaged")
    with contextlib.suppress(OSError):  # a cache that may only be read serves all the same
        os.utime(path)
    return found


def _checksum(path: str, data: bytes) -> bytes:
    rest, name = os.path.split(path)
    known = hashlib.sha256(f"{os.path.basename(rest)}/{name}\n".encode())
    known.update(data)
    return known.digest()


def write(name: str, data: bytes) -> bool:
    """Write a file, as a whole or not at all, and delete others when there are too many; False if there is no cache."""
    path = _folder_to_write()
    if path is None:
        return False
    if _recorded is not None:
        _recorded.append(name)
    file = f"{path}{os.sep}{name}"
    _write(file, _checksum(file, data) + data)
    if path in _listed:
        _listed[path].add(name)
    _count(path, len(data))
    return True


def touch(name: str) -> None:
    """Make an empty file, if there is none."""
    path = _folder_to_write()
    if path is not None:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(f"{path}{os.sep}{name}", _NEW, 0o600))


def _folder_to_write() -> str | None:
    """The folder of this fingerprint, made and marked if it was not; for nobody but the user, whatever the umask is."""
    path = folder()
    if path is not None and not _is_marked(path):
        for missing in reversed([path for path in (Path(path), *Path(path).parents) if not path.exists()]):
            with contextlib.suppress(FileExistsError):  # another process makes it
                os.mkdir(missing, 0o700)
        _write(f"{path}{os.sep}{_MARK}", _MARKED)
    return path


def _is_marked(path: str) -> bool:
    """Whether a folder is one of the cache."""
    try:
        with os.fdopen(os.open(f"{path}{os.sep}{_MARK}", _READ), "rb") as file:
            return file.read() == _MARKED
    except OSError:
        return False


def _write(path: str, data: bytes) -> None:
    name = f"{os.path.dirname(path)}{os.sep}.writing-{os.urandom(8).hex()}"
    handle = os.open(name, _NEW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if os.path.isdir(path):
            _put_aside(path)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the folder may be gone
            os.unlink(name)
        raise


def _put_aside(path: str) -> None:
    """Make room where something else than a file is. A folder is deleted if it is empty: others are not ours."""
    aside = f"{path}-{os.urandom(8).hex()}"
    os.rename(path, aside)
    with contextlib.suppress(OSError):
        os.rmdir(aside)


def _count(path: str, nbytes: int) -> None:
    """When an eighth of the cache is new since the last time: delete what was not used for longest, in the background.

    Looking at every file of a full cache takes as long as some compiles. What is new is known without: all processes
    append to one file as many bytes as they have stored blocks.
    """
    directory, limit = os.path.dirname(path), cache_limit()
    counter = f"{path}{os.sep}{_COUNTER}"
    try:
        handle = os.open(counter, _APPEND, 0o600)
    except OSError:
        _put_aside(counter)
        handle = os.open(counter, _APPEND, 0o600)
    with os.fdopen(handle, "ab", buffering=0) as file:
        file.write(b"." * (1 + nbytes // _BLOCK))
        is_due = file.tell() * _BLOCK > limit // 8
        if is_due:
            file.truncate(0)
    if is_due:  # a quarter, since there may be another version of jitrt that counts for itself
        threading.Thread(target=clean, args=(limit - limit // 4, directory), name="jitrt cache").start()


def clean(limit: int, directory: str | Path | None = None) -> int:
    """Delete the files that were not used for longest until the cache has at most `limit` bytes.

    Parameters
    ----------
    limit : int
    directory : path, optional
        Of the cache; that of the environment if none is given.

    Returns
    -------
    int
        Bytes deleted.
    """
    found = sorted(files(directory), key=lambda file: file[1])
    total = sum(size for _, _, size in found)
    deleted = 0
    for path, _, size in found:
        if total - deleted <= limit:
            break
        with contextlib.suppress(OSError):  # another process deletes, too, or the disk became read-only
            os.unlink(path)
            deleted += size
    return deleted


def files(directory: str | Path | None = None) -> list[tuple[str, float, int]]:
    """Paths of all files of the cache, when they were last used, and how many bytes they have."""
    found = []
    directory = directory or cache_directory()
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory) if directory else ():
            if not (_FOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and _is_marked(entry.path)):
                continue
            with contextlib.suppress(OSError):
                for file in os.scandir(entry):
                    with contextlib.suppress(OSError):  # deleted by another process meanwhile
                        if _FILE.fullmatch(file.name) and file.is_file(follow_symlinks=False):
                            status = file.stat(follow_symlinks=False)
                            found.append((file.path, status.st_mtime, status.st_size))
    return found
