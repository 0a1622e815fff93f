"""Dispatch: from a call of a decorated function to the specialisation that serves it, in native code."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import policy
from ..base import layout
from ..base.atwork import at_work
from ..kernels import entry as native
from ..kernels import guard
from ..values.versions import version_of
from . import threads
from .errstate import error_state
from .objects import address, builtin, call_as_functions, fields, method
from .tally import HANDED_BACK, Tally


class Words(np.ndarray):
    """64-bit words that native code reads, and the Python objects whose addresses are among them."""

    kept: list[Any]
    address: int
    places: int = 1  # of the values that native code notes by place during a call
    classes: Mapping[type, int] = MappingProxyType({})  # which have to have these versions
    fixed: Sequence[tuple[int, int]] = ()  # addresses of words, and what these have to be

    @property
    def is_general(self) -> bool:
        """Whether arguments of any shape may be what they describe."""
        return bool(self[_FORMULAS])

    @property
    def is_outdated(self) -> bool:
        """Whether classes, or words at fixed addresses, are not what they were."""
        return any(version_of(kind) != version for kind, version in self.classes.items()) or any(
            ctypes.c_int64.from_address(place).value != known for place, known in self.fixed
        )


def words(values: dict[str, Any], layout: tuple[str, ...], kept: list[Any]) -> Words:
    """The words of `layout` that have the given values; the others are 0."""
    table = np.array([values.get(name, 0) for name in layout], np.int64).view(Words)
    table.kept, table.address = kept, address(table)
    return table


_KINDS = np.array([id(t) for t in (np.ndarray, bool, type(None), str, tuple, list, dict)], np.int64)
assert guard.KINDS == ("array", "bool", "none", "str", "tuple", "list", "dict")
_MISSED = sys.intern("_missed")
_NO_SLOTS = np.zeros((1, 2), np.int64)


class Dispatch:
    """The tables of one function: a hash table of them that native code looks up.

    A specialisation has one table, and more if several threads call it at the same time, since a table has one frame.

    Parameters
    ----------
    tally : Tally
        Counts calls that nothing compiled serves.
    """

    def __init__(self, tally: Tally) -> None:
        values = {
            "slots": address(_NO_SLOTS), "rows": 1, "places": 1, "kinds": address(_KINDS), "method": id(_MISSED),
            "tally": tally.address, "handed_back": id(HANDED_BACK),
        }  # fmt: skip
        self.words = words(values, native.STATE, [_NO_SLOTS])
        self._tables: dict[
            int, tuple[Any, int | None, list[Words]]
        ] = {}  # by identity: specialisation, hash, its tables
        self._refused: dict[int, Any] = {}  # specialisations that native code cannot serve, by identity
        self._renewals: dict[int, tuple[int, float]] = {}  # how many in a row, and when the last one was
        self._in_use: set[int] = set()  # identities of those of which `served` has told
        self._removed: list[Words] = []
        self._fallback: Words | None = None
        self._plain: Callable[..., Any] | None = None  # what the word `plain` leads to
        self._procedures: list[Words] = []

    def hand_back_to(self, function: Callable[..., Any]) -> None:
        """Let `function`, which has to live as long as this, be called where Python code hands a call back."""
        self._set("function", id(function))

    def serve_plain(self, function: Callable[..., Any]) -> None:
        """From now on every call is one of `function`."""
        if self._get("plain") != id(function):
            install()
            self._plain = function
            self._set("plain", id(function))

    def fall_back(self, table: Words, calls: int) -> None:
        """Let `table` serve the next `calls` calls that it describes and no other table does."""
        if self._fallback is not table:
            install()
            before, self._fallback = self._fallback, table
            self._make_room(table)
            self._set("otherwise", table.address)
            del before
        self._set("spared", calls)

    def end_fallback(self) -> int:
        """How many of these calls have not come, and will not be served so."""
        left = self._get("spared")
        self._set("spared", 0)
        return left

    def note_python(self) -> None:
        """Python serves a call."""
        self.words[_LAST] = 0

    def last(self) -> Any:
        """What native code has served the last call for; None if Python has served it, or that is forgotten."""
        address = self._get("last")
        if self._fallback is not None and address == self._fallback.address:
            return self._fallback
        if found := [t for t in self._procedures if t.address == address]:
            return found[0]
        tables = ((owner, t) for owner, _, tables in self._known() for t in tables)
        return next((owner for owner, t in tables if t.address == address), None)

    def wants(self, owner: Any) -> bool:
        """Whether a further table of `owner` would have served the call that has just missed all of them."""
        if fields() is None or id(owner) in self._refused:
            return False
        tables = self._tables[id(owner)][2] if id(owner) in self._tables else []
        is_free = any(not t[_BUSY] for t in tables)
        # What a table for any shape has missed needs a larger frame.
        if any(t.is_outdated for t in tables) or (is_free and tables[0].is_general):
            before, last = self._renewals.get(id(owner), (0, 0.0))
            now = monotonic()
            renewals = before + 1 if now - last < policy.RARELY else 1
            self.remove(owner)
            self._renewals[id(owner)] = renewals, now
            if renewals > policy.RENEWALS:
                self.refuse(owner)
            return renewals <= policy.RENEWALS
        return len(tables) < policy.TABLES and not is_free

    def _known(self) -> list[tuple[Any, int | None, list[Words]]]:
        """The tables, as they are now: another thread may add some meanwhile."""
        return list(self._tables.values())

    def refuse(self, owner: Any) -> None:
        """Native code cannot serve calls on behalf of the specialisation `owner`."""
        self._refused[id(owner)] = owner

    def refuses(self, owner: Any) -> bool:
        """Whether native code cannot serve calls on behalf of `owner`."""
        return id(owner) in self._refused

    def add(self, owner: Any, table: Words, args: tuple, kwargs: Mapping[str, Any]) -> None:
        """Let `table` serve calls like the one with these arguments, on behalf of the specialisation `owner`."""
        with at_work():
            install()
            if error_state() is not None:
                self._set("error_state", id(error_state()))
            value = None if table.is_general else _hash(self.words, args, kwargs)
            self._make_room(table)
            self._tables.setdefault(id(owner), (owner, value, []))[2].append(table)
            self._fill()
            self._set("latest", table.address)

    def _make_room(self, table: Words) -> None:
        """Let native code note as much as `table` asks for."""
        self._set("rows", max(self._get("rows"), int(table[_ROWS])))
        self._set("places", max(self._get("places"), table.places))

    def serve_procedures(self, tables: list[Words]) -> None:
        """Let these tables, and no others of procedures, serve what they describe: arguments of any shape."""
        if not (tables or self._procedures):
            return
        with at_work():
            install()
            if error_state() is not None:
                self._set("error_state", id(error_state()))
            for table in tables:
                self._make_room(table)
            self._removed += self._procedures
            self._procedures = tables
            self._fill()

    def remove(self, *owners: Any) -> None:
        """Forget the tables of specialisations."""
        with at_work():
            for owner in owners:
                self._refused.pop(id(owner), None)
                self._renewals.pop(id(owner), None)
                self._in_use.discard(id(owner))
            found = [id(owner) for owner in owners if id(owner) in self._tables]
            for number in found:
                self._removed += self._tables.pop(number)[2]
            if found:
                self._fill()

    def clear(self) -> None:
        """Forget all tables but those of procedures."""
        with at_work():
            self._set("plain", 0)
            self._set("spared", 0)
            for _, _, tables in self._known():
                self._removed += tables
            self._tables.clear()
            self._refused.clear()
            self._renewals.clear()
            self._in_use.clear()
            self._fill()

    def tables(self) -> int:
        """How many tables there are."""
        return len(self._procedures) + sum(len(tables) for _, _, tables in self._known())

    def served(self) -> list[tuple[Any, int]]:
        """The specialisations whose tables have served calls since this was asked before, and how many."""
        counts = [(owner, _served(tables)) for owner, _, tables in self._known()]
        found = [(owner, count) for owner, count in counts if count]
        self._in_use.update(id(owner) for owner, _ in found)
        return found

    def has_served(self, owner: Any) -> bool:
        """Whether a table of `owner` has served a call since this was asked before."""
        if id(owner) not in self._tables:
            return False
        served = _served(self._tables[id(owner)][2]) > 0 or id(owner) in self._in_use
        self._in_use.discard(id(owner))
        return served

    def crowd(self) -> list[Any]:
        """Specialisations in whose way many others are: their calls differ in values that the hash does not have."""
        counts = Counter(value for _, value, _ in self._known() if value is not None)
        return [o for o, value, _ in self._known() if value is not None and counts[value] > policy.CROWD]

    def free_tables(self) -> None:
        """Nobody uses a table any more."""
        for tables in (self._procedures, *(tables for _, _, tables in self._known())):
            for table in tables:
                table[_BUSY] = 0

    def _fill(self) -> None:
        """Lay out the hash table anew; at least half of it stays empty, so that a search ends soon.

        Another thread may call the function between any two lines, and Ctrl-C may end this one there. So the words that
        lead to the table change at once, and what they have led to lives until then.
        """
        every = [(value, t) for _, value, tables in self._known() for t in tables]
        found = [(value, t.address) for value, t in every if value is not None]
        general = [*self._procedures, *(t for value, t in every if value is None)]
        for table, following in zip(general, [*general[1:], None]):
            table[_FOLLOWING] = 0 if following is None else following.address
        size = 1 << (2 * len(found)).bit_length()
        pairs = [(0, 0)] * size
        for pair in found:
            k = pair[0] & (size - 1)
            while pairs[k][1]:
                k = (k + 1) & (size - 1)
            pairs[k] = pair
        slots = np.array(pairs, np.int64)
        self.words.kept[0] = slots, self.words.kept[0]
        self.words[_LATEST : _LATEST + 3] = [every[-1][1].address if every else 0, size - 1, address(slots)]
        self._set("general", general[0].address if general else 0)
        self.words.kept[0] = slots
        # A table that serves a call in another thread is needed until that call returns.
        self._removed = [t for t in self._removed if t[_BUSY]]

    def _get(self, name: str) -> int:
        return int(self.words[native.STATE.index(name)])

    def _set(self, name: str, value: int) -> None:
        self.words[native.STATE.index(name)] = value


_LATEST, _LAST = native.STATE.index("latest"), native.STATE.index("last")
assert native.STATE[_LATEST : _LATEST + 3] == ("latest", "mask", "slots")
_BUSY, _ROWS, _SERVED, _FOLLOWING, _FORMULAS = (
    native.TABLE.index(name) for name in ("busy", "rows", "served", "following", "formulas")
)


def _served(tables: list[Words]) -> int:
    total = 0
    for table in tables:
        count = table.item(_SERVED)
        if count:
            table[_SERVED] = 0
            total += count
    return total


def _hash(state: Words, args: tuple, kwargs: Mapping[str, Any]) -> int:
    function = threads.native_address("jitrt_hash_of")
    return builtin("jitrt_hash_of", function, state)(*args, **kwargs)


class NativeCallable(layout.Callable):
    """An object whose calls native code serves, if one of the tables of its dispatch describes them.

    Other calls, and all calls on builds of Python whose objects are not known, are passed on to the method `_call` of
    the subclass, with a tuple and a dict. It may hand the call back to the plain function `_function`.
    """

    __slots__ = ()

    _function: Callable[..., Any]

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._dispatch = Dispatch(tally)
        self._words = self._dispatch.words
        self._lock = threading.RLock()
        _note(self)
        if _installed:
            self._vectorcall = threads.native_address("jitrt_call")

    def release(self) -> None:
        """Free the memory that is kept for further calls."""
        with self._lock:
            self._dispatch.clear()

    def after_fork(self) -> None:
        """Make the object usable in a child process."""
        self._lock = threading.RLock()
        self._dispatch.free_tables()

    def _missed(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            if threads.start_wanted_pool():  # which is all that was amiss
                return self(*args, **kwargs)
            with self._tally.looks():
                return self._call(args, kwargs)
        except Exception as error:
            _shorten(error, self._function)
            raise

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            with self._tally.looks():
                result = self._call(args, kwargs)
        except Exception as error:
            _shorten(error, self._function)
            raise
        if result is not HANDED_BACK:
            return result
        with self._tally.runs_plain(self._tally.latest):
            return self._function(*args, **kwargs)


def _shorten(error: Exception, function: Any) -> None:
    """Let what `function` has raised seem to come from this call directly, without the frames between the two."""
    code, here = getattr(function, "__code__", None), error.__traceback__
    inner = here
    while inner is not None and here is not None and code is not None:
        found = inner.tb_frame.f_code
        if (found.co_filename, found.co_qualname) == (code.co_filename, code.co_qualname):
            here.tb_next = inner
            return
        inner = inner.tb_next


_all: dict[int, weakref.ref[NativeCallable]] = {}


def _note(function: NativeCallable) -> None:
    """Remember a function as long as it lives.

    What forgets it is no Python code, as a `WeakSet`'s is: an exception that a signal handler raises there is lost.
    """
    _all[id(function)] = weakref.ref(function, functools.partial(_all.pop, id(function)))


def _living() -> list[NativeCallable]:
    return [function for reference in list(_all.values()) if (function := reference()) is not None]


def release_all() -> None:
    """Free the memory that functions keep for further calls."""
    for function in _living():
        function.release()


def _after_fork() -> None:
    """Threads of the parent may have held locks and used tables when it forked; the child does not have them."""
    for function in _living():
        function.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_installed = False


def install() -> None:
    """Let native code serve the calls of all `NativeCallable` objects from now on, where that is possible."""
    global _installed
    if not _installed and fields() is not None:
        _installed = True
        call = threads.native_address("jitrt_call")
        for function in _living():
            function._vectorcall = call
        serve_by(method(NativeCallable, "__call__", call), directly=True)


def serve_by(call: Any, directly: bool) -> None:
    """Let `call` be the method that serves calls; `directly` if it is native code, which then needs no method."""
    NativeCallable.__call__ = call  # type: ignore[method-assign]
    kinds = NativeCallable.__subclasses__()
    for kind in kinds:  # which grows
        kinds += kind.__subclasses__()
        call_as_functions(kind, directly and kind.__call__ is call)
