"""Random numbers: a traced function's draws are steps of the program, made at every call in the order of the function.

A generator is no input that a graph could have: a draw names it by its *source*, an argument, an object that the code
names, or a generator that the function makes. A call that fails gives every generator the state back that it had, so
that the plain function draws the same numbers.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen
from ...errors import LoopsWanted, Untraceable
from ..context import current, wants_loops
from ..python.userline import user_line
from .operands import plain_shape

if TYPE_CHECKING:
    from ..state import Trace

GLOBAL = np.random.mtrand._rand
MAKERS = frozenset({np.random.default_rng, np.random.RandomState})
MOST_DRAWS = 64  # in one trace: loops with more would be unrolled
# Methods that do something else than to return random numbers.
_OTHERS = frozenset({"bit_generator", "spawn", "shuffle", "seed", "set_state", "get_state", "bytes"})


@frozen(eq=False)
class Source:
    """Where a generator comes from.

    Parameters
    ----------
    kind : str
        ``"argument"``: leaf number `key` of the arguments; ``"object"``: `value` itself; ``"made"``: what `value`, a
        function of no arguments, makes once in every call, the `key`-th that the function makes.
    key : int
    value : object
    """

    kind: str
    key: int = -1
    value: Any = None


class _Call:
    """The generators of a call that is running."""

    def __init__(self, leaves: Sequence[Any]):
        self._leaves = leaves
        self._made: dict[int, Any] = {}
        self._states: dict[int, tuple[Any, Any]] = {}

    def generator(self, source: Source) -> Any:
        if source.kind == "made":
            if source.key not in self._made:
                self._made[source.key] = source.value()
            return self._made[source.key]
        found = self._leaves[source.key] if source.kind == "argument" else source.value
        if id(found) not in self._states:
            self._states[id(found)] = found, state_of(found)
        return found

    def restore(self) -> None:
        for generator, state in self._states.values():
            set_state(generator, state)


def state_of(generator: Any) -> Any:
    """The state of a generator, to be given back."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def set_state(generator: Any, state: Any) -> None:
    """Give a generator the state that it had."""
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


_local = threading.local()


@contextmanager
def drawing(leaves: Sequence[Any], restores: bool = False) -> Iterator[None]:
    """A context in which draws are made for the arguments `leaves`; generators get their states back if it fails.

    With `restores`, they do in any case.
    """
    before, call = getattr(_local, "call", None), _Call(leaves)
    _local.call = call
    try:
        yield
    except BaseException:
        call.restore()
        raise
    finally:
        _local.call = before
    if restores:
        call.restore()


@contextmanager
def kept(generators: Sequence[Any]) -> Iterator[None]:
    """A context after which generators have the states that they had."""
    states = [state_of(g) for g in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states):
            set_state(generator, state)


def _offer(kind: type, name: str) -> None:
    """Let a procedure serve the call of the whole function, if it can draw natively.

    Raises
    ------
    LoopsWanted
        If it can.
    """
    if wants_loops():
        from ..control.draws import has

        if has(kind, name):
            raise LoopsWanted(f"{name} is drawn natively", user_line())


class TracedGenerator:
    """What a traced function finds in place of a generator."""

    def __init__(self, source: Source, generator: Any):
        self._source, self._generator = source, generator
        self._shadow: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._generator)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._generator, name)
        _offer(type(self._generator), name)
        if name.startswith("_") or name in _OTHERS or not callable(method):
            raise Untraceable(f".{name} of a random generator", user_line())
        return lambda *args, **kwargs: self._draw(name, args, kwargs)

    def _draw(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        state = current()
        if state is None:
            raise Untraceable("a random generator outlives the trace", user_line())
        if self._shadow is None:
            self._shadow = copy.deepcopy(self._generator)
        source, shadow = self._source, getattr(self._shadow, name)

        def draw(*args: Any, **kwargs: Any) -> Any:
            return getattr(_local.call.generator(source), name)(*args, **kwargs)

        return state.calls.draw(draw, shadow, name, args, kwargs)


def of_object(generator: Any) -> TracedGenerator:
    """What stands for a generator that the code names."""
    return TracedGenerator(Source("object", value=generator), generator)


def of_argument(leaf: int, generator: Any) -> TracedGenerator:
    """What stands for a generator among the arguments."""
    return TracedGenerator(Source("argument", leaf), generator)


def made(state: Trace, maker: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> TracedGenerator:
    """``np.random.default_rng(seed)``: another generator in every call."""
    if len(args) == 1 and isinstance(args[0], TracedGenerator) and maker is np.random.default_rng:
        return args[0]
    if not all(isinstance(v, (int, type(None), np.integer)) for v in (*args, *kwargs.values())):
        raise Untraceable(f"{maker.__name__} of something else than a number", user_line())
    args, kwargs = plain_shape(args), plain_shape(kwargs)
    state.generators += 1
    return TracedGenerator(Source("made", state.generators, lambda: maker(*args, **kwargs)), maker(*args, **kwargs))
