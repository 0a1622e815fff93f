"""Syntax trees of texts, in processes whose other threads make some, too."""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager
from typing import Any

from .warningfilters import in_this_thread

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


def warned_before() -> AbstractContextManager[Any]:
    r"""A context in which this thread parses and compiles what Python has warned of when it compiled it itself.

    Examples
    --------
    >>> with warned_before():
    ...     tree = syntax_tree(r"'\d'", mode="eval")
    """
    return in_this_thread("ignore")
