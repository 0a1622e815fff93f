"""Verdicts on calls that cannot be staged or traced, on disk: what one process has tried in vain, no other one tries.

A verdict decides what is tried, and never what a call gives.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import config, policy
from ..codegen import cache
from ..codegen.fingerprint import digest
from ..frontend.python.captures import Captures
from ..frontend.python.numbas import source_of
from ..values.attributes import is_plain_class
from ..values.constants import is_constant
from ..values.functions import underlying
from ..values.signature import Signature

# Packages whose functions are the same in each process, as long as their version is.
_STEADY = sys.stdlib_module_names | {"numpy", "scipy"}
_MOST_DESCRIBED = 256  # functions behind one; to look at more takes longer than to try in vain
_PLAIN = (bool, int, float, complex, str, type(None))

# What was said of functions, by the identities of their code, which is kept, and of all that they named then.
_texts: dict[int, tuple[types.CodeType, list[int], str]] = {}


def verdict(name: str) -> tuple[str, bool] | None:
    """Why that was tried in vain, and what else is to be known; None if it was not."""
    found = cache.load_table(name) if cache.may_have_table(name) else {}
    return (found["reason"], found["more"]) if found.keys() >= {"reason", "more"} else None


def keep_verdict(name: str, reason: str, more: bool) -> None:
    """Leave a verdict for other processes."""
    cache.extend_table(name, {"reason": reason, "more": more})


def traced_name(captures: Captures, key: Signature) -> str | None:
    """What a verdict on the trace of a call is found by: all code that it may run, and what the trace depends on.

    None if that makes sense in this process alone.
    """
    asked = repr((key.tree, key.types, key.donated, key.shared))
    if " at 0x" in asked:  # the address of an object
        return None
    codes = sorted(f"{c.co_filename} {c.co_firstlineno} {text_of(c)}" for c in captures.codes)
    values = sorted(f"{c.name} {_shown(c.value)}" for c in captures.values)  # found in another order in each process
    return "\n".join(["not traced", str(config.strict()), asked, *values, *codes])


def _shown(value: Any) -> str:
    return repr(value) if is_constant(value) else getattr(value, "__qualname__", type(value).__qualname__)


@lru_cache(maxsize=512)
def text_of(code: types.CodeType) -> str:
    """What code does, in words: two codes of the same text do the same with the same outside."""
    text, names = _described_code(code)
    return " ".join([code.co_name, text, *names])


def staged_name(
    function: Callable[..., Any], key: Hashable, values: Iterable[str], takes_whole: bool, classes: Iterable[type] = ()
) -> str | None:
    """What a function and kinds of its arguments are found by, with these values of some, and what it takes.

    None if that makes sense in this process alone, or is too much to say.

    Parameters
    ----------
    function : callable
    key : object
        The kinds.
    values : iterable of str
    takes_whole : bool
        Whether it takes loops over whole arrays.
    classes : iterable of type, optional
        Those of objects among the arguments: their methods may be called.
    """
    texts = ["staged", repr(key), str(takes_whole), *values]
    seen = set[int]()
    for value in (function, *dict.fromkeys(classes)):
        _describe(value, seen, texts)
    if len(seen) > _MOST_DESCRIBED:
        return None
    found = "\n".join(texts)
    return None if " at 0x" in found else found


def _describe(function: Any, seen: set[int], texts: list[str]) -> None:
    """Say what staging finds of a function: its code, and what it names, other functions of the user's among it."""
    if len(seen) > _MOST_DESCRIBED:
        return
    if isinstance(function, type) and id(function) not in seen and is_plain_class(function):
        seen.add(id(function))
        for name, member in (item for c in function.__mro__[:-1] for item in vars(c).items()):
            found = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if callable(found) or isinstance(found, _PLAIN):
                texts.append(f"{name} {_value(found)}")
            _describe(found, seen, texts)
        return
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or id(code) in seen:  # classes of functions have something else there
        return
    seen.add(id(code))
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    if package in _STEADY:
        version = getattr(sys.modules.get(package), "__version__", "")
        texts.append(f"{function.__module__}.{function.__qualname__} {version}")
        return
    named = _named(function, code)
    identities = [id(function.__defaults__), *[id(value) for _, value in named]]
    known = _texts.get(id(code))
    if known is None or known[1] != identities:
        text, _ = _described_code(code)
        lines = [f"{code.co_filename} {code.co_firstlineno} {function.__defaults__!r}", text]
        for name, value in named:
            parts = value if isinstance(value, tuple) else (value,)
            lines.append(f"{name} {len(parts)} {' '.join(map(_value, parts))}")
        known = code, identities, "\n".join(lines)
        if len(_texts) >= policy.SEEN:
            _texts.pop(next(iter(_texts)), None)
        _texts[id(code)] = known
    texts.append(known[2])
    for _, value in named:
        _describe(value, seen, texts)


def _named(function: Any, code: types.CodeType) -> list[tuple[str, Any]]:
    """What a function names: what is outside, and what modules there have under the names that stand in the code."""
    _, names = _described_code(code)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    found: list[tuple[str, Any]] = []
    for name in names:
        value: Any = function.__globals__.get(name)
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:  # not assigned yet
                value = None
        found.append((name, source_of(value) or underlying(value)))
        if isinstance(value, types.ModuleType):
            members = [vars(value).get(n) for n in names]
            found += [(name, source_of(m) or underlying(m)) for m in members]
    return found


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.ndim}"
    return repr(value) if isinstance(value, _PLAIN) else type(value).__qualname__


@lru_cache(maxsize=512)
def _described_code(code: types.CodeType) -> tuple[str, tuple[str, ...]]:
    """A hash of a function's code, with that of functions in it, and the names that stand there."""
    names = dict.fromkeys((*code.co_names, *code.co_freevars))
    handlers = code.co_exceptiontable.hex()
    texts = [f"{code.co_code.hex()} {code.co_varnames} {code.co_flags} {handlers}"]
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            text, inner = _described_code(value)
            texts.append(text)
            names |= dict.fromkeys(inner)
        else:  # sets have another order in each process
            texts.append(repr(sorted(value, key=repr) if type(value) is frozenset else value))
    return digest("\n".join(texts)), tuple(names)
