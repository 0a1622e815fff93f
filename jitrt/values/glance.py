"""How much work a call has, estimated from what a glance sees: instructions, loops, sizes of arrays, how often.

By the clock it would depend on the moment which calls run compiled, and with it the last bits of their results.
"""

from __future__ import annotations

import contextlib
import dis
import itertools
import operator
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import policy

_GLANCE = 16  # members of an argument that are looked at
_JUMPS_BACK = {code for name, code in dis.opmap.items() if "JUMP_BACKWARD" in name}
_LOOPS = _JUMPS_BACK | {dis.opmap["FOR_ITER"]}
_CACHE = 0  # room behind instructions, which runs nothing


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
            elif kind in _NOTHING_INSIDE or not issubclass(kind, self._asked) or isinstance(value, types.FunctionType):
                continue
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
        self.look([outside[name] for name in code.co_names if name in outside], False)

    def work(self, loops: list[int], fewest_turns: int = policy.FEWEST_TURNS) -> float:
        """Nanoseconds for so many instructions in no loop, in one, in one within another, …

        Parameters
        ----------
        loops : list of int
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


def instructions(code: types.CodeType) -> list[int]:
    """How many instructions of a function stand in no loop, in one, in one within another, …

    Examples
    --------
    >>> def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += x[i]
    ...     return s
    >>> len(instructions(total.__code__))
    2
    """
    depths = [0] * (len(code.co_code) // 2 + 2)  # how many more loops each instruction stands in than the one before
    starts: dict[int, int] = {}
    argument = 0
    for k, (instruction, byte) in enumerate(zip(code.co_code[::2], code.co_code[1::2])):
        argument = argument << 8 | byte
        if instruction in _JUMPS_BACK:
            start = max(k + 1 - argument, 0)
            starts[start] = max(starts.get(start, 0), k)
        if instruction != dis.EXTENDED_ARG:
            argument = 0
    for start, end in starts.items():
        depths[start] += 1
        depths[end + 1] -= 1
    counts = [0]
    for instruction, depth in zip(code.co_code[::2], itertools.accumulate(depths)):
        counts += [0] * (depth + 1 - len(counts))
        counts[depth] += instruction != _CACHE
    for inner in _inner(code):
        found = [0, *instructions(inner)]
        counts = [a + b for a, b in zip([*counts, *[0] * len(found)], [*found, *[0] * len(counts)])]
    return counts
