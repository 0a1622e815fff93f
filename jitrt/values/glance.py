"""How much work a call has, estimated from what a glance sees: instructions, loops, sizes of arrays, how often.

By the clock it would depend on the moment which calls run compiled, and with it the last bits of their results.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import operator
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import policy
from .attributes import has_plain_attributes

_GLANCE = 16  # members of an argument that are looked at
_JUMPS_BACK = {code for name, code in dis.opmap.items() if "JUMP_BACKWARD" in name}
_LOOPS = _JUMPS_BACK | {dis.opmap["FOR_ITER"]}
_CACHE = 0  # room behind instructions, which runs nothing
_GET_ITER, _LOAD_CONST = dis.opmap["GET_ITER"], dis.opmap["LOAD_CONST"]
_REACHED = 64  # functions that are looked at
_KNOWN_MODULES = frozenset({"numpy", "math", "cmath", "operator", "builtins"})  # whose functions are an instruction


class Glance:
    """Sizes that one look at the arguments of a call sees.

    Parameters
    ----------
    asked : class or tuple of classes
        Objects that may be asked for their shape and their attributes, which may run code of the user's.

    Attributes
    ----------
    elements : int
        Of all arrays.
    longest : int
        Elements of the longest sequence, or axis of an array.
    largest : int
        The largest integer.
    """

    __slots__ = ("_asked", "elements", "largest", "longest")

    def __init__(self, asked: type | tuple[type, ...] = object) -> None:
        self._asked = asked
        self.elements = self.longest = self.largest = 0

    def copy(self) -> Glance:
        """One that has seen the same."""
        found = Glance(self._asked)
        found.elements, found.longest, found.largest = self.elements, self.longest, self.largest
        return found

    def look(self, values: Iterable[Any], deeper: bool = True) -> None:
        """Look at values, and at what these hold."""
        for value in values:
            kind = type(value)
            if kind is int:
                self.largest = max(self.largest, value)
            elif kind is tuple or kind is list or kind in _DICTS:
                self.longest = max(self.longest, len(value))
                if deeper:
                    self.look(_first(value.values() if kind in _DICTS else value), False)
            elif kind in _NOTHING_INSIDE or isinstance(value, types.FunctionType):
                continue
            elif not issubclass(kind, self._asked):
                if deeper and has_plain_attributes(kind):
                    self.look(_first(vars(value).values()), False)
            elif isinstance(shape := getattr(value, "shape", None), tuple):
                self.elements += getattr(value, "size", 0)
                self.longest = max(self.longest, *shape, 0)
                if not shape and hasattr(kind, "__index__"):
                    with contextlib.suppress(TypeError):  # of an array that holds no integer
                        self.largest = max(self.largest, operator.index(value))
            elif deeper and (members := getattr(value, "__dict__", None)):
                self.look(_first(members.values()), False)

    def look_at_code(self, function: Callable[..., Any]) -> None:
        """Look at literals and globals of a function."""
        code, outside = function.__code__, function.__globals__
        self.look(code.co_consts, False)
        self.look([outside[name] for name in code.co_names if name in outside])

    def work(self, loops: Sequence[int], fewest_turns: int = policy.FEWEST_TURNS) -> float:
        """Nanoseconds for so many instructions in no loop, in one, in one within another, …

        Parameters
        ----------
        loops : sequence of int
            What `instructions` gives.
        fewest_turns : int
            That a loop is expected to make.
        """
        turns = max(self.longest, fewest_turns)
        elements = max(self.elements, self.largest) * policy.ELEMENT
        by_element = sum(
            count * turns**depth * (policy.INSTRUCTION + elements / turns**depth) for depth, count in enumerate(loops)
        )
        by_number = sum(
            count * self.largest**depth * (policy.INSTRUCTION + elements) for depth, count in enumerate(loops)
        )
        return max(by_element, by_number)


_DICTS = frozenset({dict, OrderedDict, defaultdict, Counter})
_NOTHING_INSIDE = frozenset({float, bool, str, bytes, type(None), complex, type, types.ModuleType, types.FunctionType})


def _first(values: Iterable[Any]) -> Iterator[Any]:
    return (value for _, value in zip(range(_GLANCE), values))


def has_loops(code: types.CodeType) -> bool:
    """Whether a function, or one that stands in it, has loops or comprehensions.

    Examples
    --------
    >>> has_loops((lambda x: [y + 1 for y in x]).__code__), has_loops((lambda x: x + 1).__code__)
    (True, False)
    """
    return not _LOOPS.isdisjoint(code.co_code[::2]) or any(map(has_loops, _inner(code)))


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """Comprehensions and functions inside."""
    return (inner for inner in code.co_consts if isinstance(inner, types.CodeType))


@functools.lru_cache(maxsize=512)
def instructions(code: types.CodeType) -> tuple[int, ...]:
    """How many instructions of a function stand in no loop, in one, in one within another, …

    What is done for each item of a tuple that is written out counts so many times.

    Examples
    --------
    >>> def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += x[i]
    ...     return s
    >>> len(instructions(total.__code__))
    2
    >>> def both(x, y):
    ...     for name in ("x", "y"):
    ...         print(name)
    >>> len(instructions(both.__code__))
    1
    """
    pairs = list(zip(code.co_code[::2], code.co_code[1::2]))
    depths = [0] * (len(pairs) + 2)  # how many more loops each instruction stands in than the one before
    times = [1] * (len(pairs) + 1)
    starts: dict[int, int] = {}
    argument = 0
    for k, (instruction, byte) in enumerate(pairs):
        argument = argument << 8 | byte
        if instruction in _JUMPS_BACK:
            start = max(k + 1 - argument, 0)
            starts[start] = max(starts.get(start, 0), k)
        if instruction != dis.EXTENDED_ARG:
            argument = 0
    for start, end in starts.items():
        before = pairs[start - 2] if start > 1 and pairs[start - 1][0] == _GET_ITER else (-1, 0)
        written = code.co_consts[before[1]] if before[0] == _LOAD_CONST else None
        if isinstance(written, tuple):
            times[start : end + 1] = [t * len(written) for t in times[start : end + 1]]
        else:
            depths[start] += 1
            depths[end + 1] -= 1
    counts = [0]
    for (instruction, _), depth, often in zip(pairs, itertools.accumulate(depths), times):
        counts += [0] * (depth + 1 - len(counts))
        counts[depth] += often * (instruction != _CACHE)
    for inner in _inner(code):
        counts = _sum(counts, [0, *instructions(inner)])
    return tuple(counts)


def functions_reached(function: Callable[..., Any], classes: Iterable[type] = ()) -> list[tuple[Any, int]]:
    """A function and those that it names, in turn; each is expected to be called in the innermost loop of the other.

    Parameters
    ----------
    function : callable
    classes : iterable of type, optional
        Of objects among the arguments, whose methods it may name.

    Returns
    -------
    list of (function, int)
        With the number of loops that its calls stand in.
    """
    found: list[tuple[Any, int]] = []
    seen: set[types.CodeType] = set()
    left = [(function, 0)]
    for called, depth in left:  # which grows
        code = getattr(called, "__code__", None)
        if isinstance(code, types.CodeType) and code not in seen and len(seen) < _REACHED:
            seen.add(code)
            found.append((called, depth))
            inner = depth + len(instructions(code)) - 1
            left += [(f, inner) for f in _named(called, code, classes)]
    return found


def instructions_reached(reached: Iterable[tuple[Any, int]]) -> list[int]:
    """`instructions` of the functions that `functions_reached` has found."""
    counts = [0]
    for function, depth in reached:
        counts = _sum(counts, [0] * depth + list(instructions(function.__code__)))
    return counts


def _named(function: Any, code: types.CodeType, classes: Iterable[type]) -> Iterator[Any]:
    """The functions that code may call: globals, what modules and classes have, methods of the `classes`."""
    outside = function.__globals__
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents
    holders = [*classes]
    for name in code.co_names:
        value = outside.get(name)
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in _KNOWN_MODULES:
                yield from (vars(value).get(n) for n in code.co_names)
        elif isinstance(value, type):
            holders.append(value)
            yield vars(value).get("__init__")
        elif value is not None:
            yield value
    for holder in holders:
        for cls in holder.__mro__[:-1]:
            members = vars(cls)
            for name in code.co_names:
                found = members.get(name)
                if found is not None:
                    yield getattr(found, "fget", None) or getattr(found, "__func__", found)


def _sum(one: list[int], other: list[int]) -> list[int]:
    return [a + b for a, b in itertools.zip_longest(one, other, fillvalue=0)]
