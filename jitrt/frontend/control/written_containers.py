"""Python's containers in plain Python: a staged function has objects of these classes in their place.

Keys are numbers, strings one of which is chosen, and tuples of these. A table of places, of which at most half are
taken, says where a key is in the list of keys, which keeps the order in which they came (Knuth 1973, 6.4, linear
probing). A key that is removed leaves a mark in the table, and remains in the list until that is gone through. Where
Python would raise an exception, an assertion fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .written_lists import sorted_list

_PRIME = 2147483647  # 2**31 - 1
_MIX = 1640531527  # 2**32 times (3 - sqrt(5)) / 2: Fibonacci hashing
_LEAST = 16  # places
_FREE, _REMOVED = -1, -2  # in place of an index


def text_number(key: str) -> int:
    """A number that a string has."""
    raise NotImplementedError  # a row of the functions that procedures have


def _hash(key: Any) -> int:
    """Of equal numbers the same but for multiples of `_PRIME`: 1, 1.0 and True are one key."""
    assert not isinstance(key, np.ndarray)
    if isinstance(key, str):
        return text_number(key) * 4096
    if isinstance(key, (float, np.floating)):
        return int(float(key) * 4096.0) % _PRIME
    return int(key) % _PRIME * 4096


def _code(key: Any) -> Any:
    """A number that says where in a table a key should be."""
    if isinstance(key, tuple):
        code = 0
        for part in key:
            code = (code * 1000003 + _hash(part)) % _PRIME
        return code * _MIX >> 31
    return _hash(key) % _PRIME * _MIX >> 31


class Keys:
    """Keys in the order in which they came."""

    def __init__(self, keys: Any = ()) -> None:
        self._keys: list[Any] = []
        self._table = np.full(_LEAST, _FREE)
        self._dead = 0  # keys in the list that have been removed
        for key in keys:
            self._enter(key)

    def __len__(self) -> int:
        return len(self._keys) - self._dead

    def __contains__(self, key: Any) -> bool:
        return self._find(key) >= 0

    def _place(self, key: Any) -> Any:
        """Where in the table a key is, or should be."""
        table, keys = self._table, self._keys
        last = len(table) - 1
        at = _code(key) & last
        while table[at] != _FREE:
            if table[at] >= 0 and keys[table[at]] in (key,):
                break
            at = (at + 1) & last
        return at

    def _find(self, key: Any) -> Any:
        """Where in the list of keys a key is; below zero where it is missing."""
        return int(self._table[self._place(key)])

    def _enter(self, key: Any) -> Any:
        """The same, where a key that is missing is added."""
        at = self._place(key)
        found = int(self._table[at])
        if found < 0:
            found = self._add(at, key)
        return found

    def _add(self, at: Any, key: Any) -> Any:
        """Add a key that should be there, and say where it is in the list."""
        if 2 * len(self._keys) >= len(self._table):
            self._grow()
            at = self._place(key)
        found = len(self._keys)
        self._table[at] = found
        self._keys.append(key)
        return found

    def _grow(self) -> None:
        """Make a table that is four times as large."""
        self._compact()
        self._table = np.full(4 * len(self._table), _FREE)
        for k in range(len(self._keys)):
            self._table[self._place(self._keys[k])] = k

    def _drop(self, at: Any) -> None:
        """Remove the key there."""
        self._table[at] = _REMOVED
        self._dead += 1

    def _compact(self) -> None:
        """Leave out keys that have been removed."""
        if self._dead > 0:
            alive = np.zeros(len(self._keys), np.bool_)
            for k in self._table:
                if k >= 0:
                    alive[k] = True
            count = 0
            for k in range(len(alive)):
                if alive[k]:
                    self._move(k, count)
                    count += 1
            for _ in range(self._dead):
                self._shorten()
            self._dead = 0
            self._table[:] = _FREE
            for k in range(count):
                self._table[self._place(self._keys[k])] = k

    def _move(self, k: Any, to: Any) -> None:
        self._keys[to] = self._keys[k]

    def _shorten(self) -> None:
        self._keys.pop()

    def clear(self) -> None:
        self._keys.clear()
        self._table[:] = _FREE
        if self._dead > 0:
            self._dead = 0

    __eq__ = None  # type: ignore[assignment]
    __ne__ = None  # type: ignore[assignment]


class Set(Keys):
    """A set, to which elements are added."""

    def __init__(self, values: Any = (), keys: Any = ()) -> None:
        super().__init__(keys)
        for value in values:
            self.add(value)

    def add(self, key: Any) -> None:
        self._enter(key)

    def remove(self, key: Any) -> None:
        at = self._place(key)
        assert self._table[at] >= 0
        self._drop(at)

    def discard(self, key: Any) -> None:
        at = self._place(key)
        if self._table[at] >= 0:
            self._drop(at)

    def update(self, values: Any) -> None:
        for value in values:
            self.add(value)


class Dict(Keys):
    """A dict, whose items are added and changed."""

    def __init__(self, keys: Any = (), values: Any = ()) -> None:
        self._values: list[Any] = []
        super().__init__(keys)
        for value in values:
            self._values.append(value)

    def __getitem__(self, key: Any) -> Any:
        return self._values[self._slot(key)]

    def _slot(self, key: Any) -> Any:
        """Where in the list of values that of a key is."""
        at = self._find(key)
        assert at >= 0
        return at

    def _slot_with(self, key: Any, default: Any) -> Any:
        """The same, where a key that is missing gets a value."""
        at = self._enter(key)
        if at == len(self._values):
            self._values.append(default)
        return at

    def __setitem__(self, key: Any, value: Any) -> None:
        at = self._enter(key)
        if at == len(self._values):
            self._values.append(value)
        else:
            self._values[at] = value

    def _move(self, k: Any, to: Any) -> None:
        self._keys[to] = self._keys[k]
        self._values[to] = self._values[k]

    def _shorten(self) -> None:
        self._keys.pop()
        self._values.pop()

    def __delitem__(self, key: Any) -> None:
        at = self._place(key)
        assert self._table[at] >= 0
        self._drop(at)

    def pop(self, key: Any, *default: Any) -> Any:
        at = self._place(key)
        found = int(self._table[at])
        if len(default) == 0:
            assert found >= 0
        elif found < 0:
            return default[0]
        self._drop(at)
        return self._values[found]

    def clear(self) -> None:
        super().clear()
        self._values.clear()

    def get(self, key: Any, default: Any = None) -> Any:
        at = self._find(key)
        if at >= 0:
            return self._values[at]
        return default

    def setdefault(self, key: Any, default: Any) -> Any:
        return self._values[self._slot_with(key, default)]


class Counter(Dict):
    """A `collections.Counter`."""

    def __init__(self, values: Any = ()) -> None:
        super().__init__()
        for value in values:
            self[value] += 1

    def _slot(self, key: Any) -> Any:
        return self._slot_with(key, 0)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key, 0)

    def __delitem__(self, key: Any) -> None:
        at = self._place(key)
        if self._table[at] >= 0:
            self._drop(at)

    def most_common(self, n: Any = None) -> Any:
        self._compact()
        items = [(self._keys[k], self._values[k]) for k in range(len(self._keys))]
        found = sorted_list(items, lambda item: item[1], True)
        if n is None:
            return found
        assert n >= 0
        return found[:n]


class DefaultDict(Dict):
    """A `collections.defaultdict` of numbers: `default` is what its factory makes."""

    def __init__(self, default: Any) -> None:
        super().__init__()
        self._default = default

    def _slot(self, key: Any) -> Any:
        return self._slot_with(key, self._default)


def new_list(owner: Any) -> Any:
    """A list of the dict `owner`: all of them are held by reference."""
    raise NotImplementedError  # a row of the functions that procedures have


class ListDict(Dict):
    """A `collections.defaultdict` of lists."""

    def _slot(self, key: Any) -> Any:
        at = self._enter(key)
        if at == len(self._values):
            self._values.append(new_list(self))
        return at


class Deque:
    """A `collections.deque`: a list, of which the first elements may be gone."""

    def __init__(self, values: Any = (), maxlen: Any = None) -> None:
        self._values: list[Any] = []
        self._first = 0
        if maxlen is not None:
            assert maxlen >= 0
        self.maxlen = maxlen
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return len(self._values) - self._first

    def _index(self, k: Any) -> Any:
        n = len(self._values) - self._first
        at = k if k >= 0 else k + n
        assert 0 <= at < n
        return self._first + at

    def __getitem__(self, k: Any) -> Any:
        return self._values[self._index(k)]

    def __setitem__(self, k: Any, value: Any) -> None:
        self._values[self._index(k)] = value

    def _drop(self) -> None:
        """Leave out the first element; once half of the list is gone, the others move to its front."""
        self._first += 1
        if self._first >= 32 and 2 * self._first > len(self._values):
            n = len(self._values) - self._first
            for k in range(n):
                self._values[k] = self._values[k + self._first]
            for _ in range(self._first):
                self._values.pop()
            self._first = 0

    def append(self, value: Any) -> None:
        self._values.append(value)
        if self.maxlen is not None and len(self) > self.maxlen:
            self._drop()

    def appendleft(self, value: Any) -> None:
        if self._first == 0:
            n = len(self._values)
            for _ in range(n + 8):
                self._values.append(value)
            for k in range(n - 1, -1, -1):
                self._values[k + n + 8] = self._values[k]
            self._first = n + 8
        self._first -= 1
        self._values[self._first] = value
        if self.maxlen is not None and len(self) > self.maxlen:
            self._values.pop()

    def extend(self, values: Any) -> None:
        for value in values:
            self.append(value)

    def pop(self) -> Any:
        assert self._first < len(self._values)
        return self._values.pop()

    def popleft(self) -> Any:
        assert self._first < len(self._values)
        value = self._values[self._first]
        self._drop()
        return value

    def clear(self) -> None:
        self._values.clear()
        self._first = 0

    __eq__ = None  # type: ignore[assignment]
    __ne__ = None  # type: ignore[assignment]
