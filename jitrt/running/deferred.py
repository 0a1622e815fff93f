"""Functions of a program that is run: plain ones until their calls have had work that a compiler is worth.

Importing the compiler takes twice as long as importing NumPy. A short program ends before that has paid.

How much work a call has is estimated from what a glance sees: instructions, loops, sizes of arrays, integers that say
how often. By the clock it would depend on the moment which calls run compiled, and with it the last bits of their
results.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import config, policy
from ..base import layout
from ..base.atwork import at_work, is_at_work

_COMPILER = "jitrt.jitfunction"
_CLASS: Any = vars(object)["__class__"]
_DEEPEST = 40  # recursion: each call has a frame of Python beside that of the function, and their number is limited
_GLANCE = 16  # members of an argument that are looked at


class Deferred(layout.Callable):
    """A function that becomes a jit function, staying the same object, once that is expected to pay.

    Parameters
    ----------
    function : function
        The plain one.
    """

    __slots__ = ()

    spent = 0.0
    """Nanoseconds that all calls of all these functions are expected to have taken."""
    depth = 0
    """How many of these calls have not ended."""

    def __init__(self, function: types.FunctionType):
        functools.update_wrapper(self, function)
        self.__jitrt_function__ = self._function = function
        self._loops: list[int] | None = None

    @property  # type: ignore[misc] # to `isinstance`, as jit functions do
    def __class__(self) -> type:
        return types.FunctionType

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if _COMPILER not in sys.modules:
            Deferred.spent += self._work((*args, *kwargs.values()))
            if Deferred.spent < policy.LOADING and Deferred.depth < _DEEPEST:
                Deferred.depth += 1
                try:
                    return self._function(*args, **kwargs)
                finally:
                    Deferred.depth -= 1
        if is_at_work():  # perhaps in the middle of importing the compiler, or in the trace of another function
            return self._function(*args, **kwargs)
        return self._become()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What functions have, and else what jit functions have."""
        if hasattr(types.FunctionType, name):
            return getattr(self._function, name)
        if name.startswith("_") and not name.startswith("__jitrt_"):
            raise AttributeError(f"'function' object has no attribute {name!r}")
        return getattr(self._become(), name)

    def __repr__(self) -> str:
        return f"<jitrt.jit of {self._function!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._become().__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def _work(self, args: tuple[Any, ...]) -> float:
        """Nanoseconds that the plain function is expected to take."""
        if self._loops is None:
            self._loops = instructions(self._function.__code__)
        seen = Glance()
        seen.look(args)
        seen.look_at_code(self._function)
        return seen.work(self._loops)

    def _become(self) -> Any:
        """This object, as the jit function.

        It shares its state with one that is made first, so that threads find a whole one at any time.
        """
        with at_work():  # many are never called: none gets the compiler ready before its first call
            from ..jitfunction import JitFunction

            made: Any = JitFunction(self._function)
            self._words = made._words
            self.__dict__ = made.__dict__
            _CLASS.__set__(self, JitFunction)
        return self


class Glance:
    """Sizes that one look at the arguments of a call sees.

    Attributes
    ----------
    elements : int
        Of all arrays.
    longest : int
        Elements of the longest sequence, or axis of an array.
    largest : int
        The largest integer.
    """

    __slots__ = ("elements", "largest", "longest")

    def __init__(self) -> None:
        self.elements = self.longest = self.largest = 0

    def look(self, values: Iterable[Any], deeper: bool = True) -> None:
        """Look at values, and at what these hold."""
        for value in values:
            kind = type(value)
            if kind is int:
                self.largest = max(self.largest, value)
            elif kind is tuple or kind is list or kind is dict:
                self.longest = max(self.longest, len(value))
                if deeper:
                    self.look(_first(value.values() if kind is dict else value), False)
            elif kind in _NOTHING_INSIDE:
                continue
            elif isinstance(shape := getattr(value, "shape", None), tuple):
                self.elements += getattr(value, "size", 0)
                self.longest = max(self.longest, *shape, 0)
            elif deeper and (members := getattr(value, "__dict__", None)):
                self.look(_first(members.values()), False)

    def look_at_code(self, function: types.FunctionType) -> None:
        """Look at literals and globals of a function."""
        code, outside = function.__code__, function.__globals__
        self.look(code.co_consts, False)
        self.look([outside[name] for name in code.co_names if name in outside], False)

    def work(self, loops: list[int]) -> float:
        """Nanoseconds for so many instructions in no loop, in one, in one within another, …"""
        turns = max(self.longest, policy.FEWEST_TURNS)
        elements = max(self.elements, self.largest) * policy.ELEMENT
        by_element = sum(
            count * turns**depth * (policy.INSTRUCTION + elements / turns**depth) for depth, count in enumerate(loops)
        )
        by_number = sum(
            count * self.largest**depth * (policy.INSTRUCTION + elements) for depth, count in enumerate(loops)
        )
        return max(by_element, by_number)


_NOTHING_INSIDE = frozenset(
    {float, bool, str, bytes, type(None), complex, type, types.ModuleType, types.FunctionType, Deferred}
)


def _first(values: Iterable[Any]) -> Iterator[Any]:
    return (value for _, value in zip(range(_GLANCE), values))


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
    every = list(dis.get_instructions(code))
    loops = [(x.argval, x.offset) for x in every if x.opcode in dis.hasjrel and x.argval < x.offset]
    starts = {start: max(end for first, end in loops if first == start) for start, _ in loops}
    counts = [0]
    for x in every:
        depth = sum(start <= x.offset <= end for start, end in starts.items())
        counts += [0] * (depth + 1 - len(counts))
        counts[depth] += 1
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):  # a comprehension, or a function inside
            found = [0, *instructions(inner)]
            counts = [a + b for a, b in zip([*counts, *[0] * len(found)], [*found, *[0] * len(counts)])]
    return counts


def decorator() -> Callable[[Any], Any]:
    """What makes such functions, or jit functions at once where somebody asks for what these do."""
    if config.strict() or config.on_plain() != "ignore" or _COMPILER in sys.modules:
        from ..jitfunction import jit

        return jit
    return Deferred
