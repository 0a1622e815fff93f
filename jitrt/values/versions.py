"""The version of a class: a number that is another one after every change of the class or of one of its bases.

CPython's caches of attributes compare it. It is no part of Python's interface, so its place is found by what it does;
where that fails, classes have no version.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

from ..base.once import once

_HEADER = object.__basicsize__ // 4  # 32-bit words of an object, with its references
_MEMBER = "member"
_WORDS = 110  # of a class, as many as its static part has at least


@once
def version_offset() -> int | None:
    """Where a class keeps its version, in bytes; None if that is not known."""
    base = type("Base", (), {})
    probe, *others = (type("Probe", (base,), {}) for _ in range(3))
    before = _words(probe)
    seen = [_words(probe)]
    for changed in (probe, base):
        setattr(changed, _MEMBER, None)
        seen.append(_words(probe))
    seen += map(_words, (base, *others))
    found = [
        k
        for k, versions in enumerate(zip(*seen))
        if k >= _HEADER and before[k] == versions[0] and len({0, *versions}) == 1 + len(versions)
    ]
    return 4 * found[0] if len(found) == 1 else None


def _words(kind: type) -> tuple[int, ...]:
    _assign_version(kind)
    return struct.unpack(f"{_WORDS}I", ctypes.string_at(id(kind), 4 * _WORDS))


def _assign_version(kind: type) -> None:
    """A class that has changed gets its version when an attribute of it is looked up."""
    getattr(kind, _MEMBER, None)


def version_address(kind: type) -> int | None:
    """Where the version of a class is, in 32 bits; None if that is not known."""
    offset = version_offset()
    return None if offset is None else id(kind) + offset


def version_of(kind: type) -> int:
    """The version of a class; 0 if there is none.

    Examples
    --------
    >>> class Point:
    ...     pass
    >>> before = version_of(Point)
    >>> version_of(Point) == before
    True
    >>> Point.x = 1.0
    >>> version_of(Point) != before or version_offset() is None
    True
    """
    address = version_address(kind)
    if address is None:
        return 0
    _assign_version(kind)
    return ctypes.c_uint32.from_address(address).value


class Unchanged:
    """Whether what matters of a class is what it was.

    Parameters
    ----------
    kind : type
    same : callable
        Asked when the class has changed in any way, or has no version.
    """

    __slots__ = ("_kind", "_same", "_seen", "_version")

    def __init__(self, kind: type, same: Callable[[], bool]):
        self._kind, self._same = kind, same
        address = version_address(kind)
        self._version = None if address is None else ctypes.c_uint32.from_address(address)
        self._seen = version_of(kind)

    def __call__(self) -> bool:
        seen = self._seen
        if seen and self._version is not None and self._version.value == seen:
            return True
        seen = version_of(self._kind)
        if not self._same():
            return False
        self._seen = seen
        return True
