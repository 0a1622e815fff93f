"""Which functions may be loops over elements, by a look at their code that needs no translator."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ir.rounding import EXACT, Rounding
from ..values.glance import has_loops

if TYPE_CHECKING:
    from ..frontend.python.captures import Capture
    from .dispatch import Words
    from .stagedloops import LoopEngine

# What a call returns that the engine does not serve, and one that the plain function serves while a thread compiles.
MISS, LATER = object(), object()


class NoLoops:
    """The engine of a function without loops, which serves no call."""

    active = answering = serving = False
    compile_seconds = 0.0
    refusal = ""
    count = 0

    def call(self, args: tuple, instead_of_plain: bool = False) -> Any:
        return MISS

    serve = call

    def by_position(self, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
        return None if kwargs else args

    def leaves(self, args: tuple) -> bool:
        return False

    def release(self) -> None:
        pass

    def note_short(self, args: tuple) -> None:
        pass

    def is_short(self, args: tuple) -> bool:
        return False

    def may_be_short(self) -> bool:
        return False

    def faster_plain(self, args: tuple, serve: Callable[..., Any]) -> list[Capture] | None:
        return None

    def tables(self, args: tuple) -> list[Words] | None:
        return None

    def source(self, args: tuple, instead_of_plain: bool = False) -> str:
        return ""

    def called(self, args: tuple) -> tuple[str, ...]:
        return ()

    def reason(self, args: tuple) -> str:
        return ""

    def unrolled(self, args: tuple) -> frozenset[int]:
        return frozenset()


def loop_engine(
    function: Callable[..., Any], rounding: Rounding = EXACT, threads: int | None = None
) -> LoopEngine | NoLoops:
    """What serves calls of `function` as a loop over elements.

    Examples
    --------
    >>> loop_engine(lambda x: x + 1).active
    False
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or not has_loops(code):
        return NoLoops()
    from .stagedloops import LoopEngine

    return LoopEngine(function, rounding, threads=threads)
