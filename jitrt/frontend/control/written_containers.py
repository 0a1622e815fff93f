"""Python's containers in plain Python: a staged function has objects of these classes in their place.

Keys are numbers and tuples of numbers. A table of places, of which at most half are taken, says where a key is in the
list of keys, which keeps the order in which they came (Knuth 1973, 6.4, linear probing). Where Python would raise an
exception, an assertion fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .written_lists import sorted_list

_PRIME = 2147483647  # 2**31 - 1
_MIX = 1640531527  # 2**32 times (3 - sqrt(5)) / 2: Fibonacci hashing
_LEAST = 16  # places


def _hash(key: Any) -> int:
    """Of equal numbers the same but for multiples of `_PRIME`: 1, 1.0 and True are one key."""
    assert not isinstance(key, np.ndarray)
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
        self._table = np.full(_LEAST, -1)
        for key in keys:
            self._enter(key)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: Any) -> bool:
        return self._find(key) >= 0

    def _place(self, key: Any) -> Any:
        """Where in the table a key is, or should be."""
        table, keys = self._table, self._keys
        last = len(table) - 1
        at = _code(key) & last
        while table[at] >= 0:
            if keys[table[at]] in (key,):
                break
            at = (at + 1) & last
        return at

    def _find(self, key: Any) -> Any:
        """Where in the list of keys a key is; -1 where it is missing."""
        return int(self._table[self._place(key)])

    def _enter(self, key: Any) -> Any:
        """The same, where a key that is missing is added."""
        at = self._place(key)
        found = int(self._table[at])
        if found < 0:
            found = len(self._keys)
            self._add(at, key)
        return found

    def _add(self, at: Any, key: Any) -> None:
        """Add a key that should be there."""
        self._table[at] = len(self._keys)
        self._keys.append(key)
        if 2 * len(self._keys) > len(self._table):
            self._grow()

    def _grow(self) -> None:
        """Make a table that is four times as large."""
        self._table = np.full(4 * len(self._table), -1)
        for k in range(len(self._keys)):
            self._table[self._place(self._keys[k])] = k

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

    def update(self, values: Any) -> None:
        for value in values:
            self.add(value)


class Dict(Keys):
    """A dict, whose items are added and changed."""

    def __init__(self, keys: Any = (), values: Any = ()) -> None:
        super().__init__(keys)
        self._values: list[Any] = []
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

    def most_common(self, n: Any = None) -> Any:
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

    def __getitem__(self, key: Any) -> Any:
        return self._values[self._slot(key)]


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
