"""Verdicts on calls that are not traced, on disk: what one process has tried in vain, the next one does not try.

A verdict decides what is tried, and never what a call gives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import config
from ..codegen import cache
from ..frontend.python.captures import Captures
from ..frontend.python.purevalues import is_plain
from ..programs import text_of_code
from ..values.signature import Signature
from .tree import Plain

_text_of_code = lru_cache(maxsize=512)(text_of_code)


def verdict_name(captures: Captures, key: Signature) -> str | None:
    """What a verdict on a call is found by: all code that it may run, and what its trace depends on.

    None if that makes sense in this process alone.
    """
    asked = repr((key.tree, key.types, key.donated, key.shared))
    if " at 0x" in asked:  # the address of an object
        return None
    codes = sorted(f"{c.co_filename} {c.co_firstlineno} {_text_of_code(c)}" for c in captures.codes)
    values = [f"{c.name} {_shown(c.value)}" for c in captures.values]
    return "\n".join(["not traced", str(config.strict()), asked, *values, *codes])


def _shown(value: Any) -> str:
    return repr(value) if is_plain(value) else getattr(value, "__qualname__", type(value).__qualname__)


def known_verdict(name: str) -> Plain | None:
    """Why such calls run plain, if another process has found that out."""
    found = cache.load_table(name)
    if not found.keys() >= {"reason", "passing"}:
        return None
    return Plain(found["reason"], is_passing=found["passing"])


def keep_verdict(name: str, plain: Plain) -> None:
    """Leave a verdict for other processes."""
    cache.extend_table(name, {"reason": plain.reason, "passing": plain.is_passing})
