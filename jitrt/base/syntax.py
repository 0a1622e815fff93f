"""Syntax trees of texts, in processes whose other threads make some, too."""

from __future__ import annotations

import ast
import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

_TRIES = 16  # two trees at one time are rare, so that a second try has always done so far


def syntax_tree(source: str | bytes, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """`ast.parse`, again where another thread was in its way.

    CPython 3.11 and 3.12 have one counter of depth for all trees that are being made (python/cpython#106905). Where a
    garbage collection in the middle of one runs Python code, another thread can make a tree meanwhile, and the first
    ends with a SystemError.

    Examples
    --------
    >>> ast.unparse(syntax_tree("a  +  b", mode="eval"))
    'a + b'
    """
    for _ in range(_TRIES):
        try:
            return ast.parse(source, filename, mode)
        except SystemError:
            continue
    return ast.parse(source, filename, mode)


@contextlib.contextmanager
def warned_before() -> Iterator[None]:
    r"""A context in which this thread parses and compiles what Python has warned of when it compiled it itself.

    `warnings.catch_warnings` would change what other threads are told.

    Examples
    --------
    >>> with warned_before():
    ...     tree = syntax_tree(r"'\d'", mode="eval")
    """
    place = _InThisThread()
    silence = ("ignore", None, Warning, place, 0)
    warnings.filters.insert(0, silence)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        place.thread = None  # where another thread has put another list there, or a copy
        with contextlib.suppress(ValueError):
            warnings.filters.remove(silence)  # type: ignore[attr-defined]


class _InThisThread:
    """In the place of a pattern in a filter of warnings: matches every module, in the thread that made it."""

    def __init__(self) -> None:
        self.thread: int | None = threading.get_ident()

    def match(self, _: str) -> bool:
        return threading.get_ident() == self.thread
