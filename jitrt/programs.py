"""From a graph to its program: one that this process has made already, one from the disk cache, or a new one.

A program is a pure function of the graph, the strides of its inputs and a few options. They are its key, so the stages
of the `pipeline` run for a graph that is new on this machine only. A process that finds all of its programs in the disk
cache imports neither them nor numba, which together take most of the time until its first result.
"""

from __future__ import annotations

import contextlib
import logging
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import config, policy
from .base import collection
from .base.atwork import at_work, is_at_work
from .base.frozen import frozen, record, replaced
from .codegen import cache
from .errors import NotWorthwhile
from .frontend.segments import sample
from .ir.content import NotPortable, content
from .ir.node import Graph, forget_dead
from .runtime import portable
from .runtime.errstate import OutOfBounds, Uncomputed
from .runtime.hostfile import NotPlain, decode_hosts, encode_hosts
from .runtime.hosts import NO_HOSTS
from .runtime.image import Image
from .runtime.program import UNLIMITED, Details, Program
from .runtime.readiness import get_ready, get_ready_to_compile
from .values.glance import has_loops

if TYPE_CHECKING:
    from .memory.inplace import Decision
    from .pipeline import Made

_log = logging.getLogger("jitrt.cache")
_MOST_KNOWN = 512
_MOST_KNOWN_BYTES = 1 << 14  # of one of them
_MOST_CONSTANT_BYTES = 1 << 16


@frozen(eq=False)
class Known:
    """What became of a graph: a program, or the reason why the plain function is expected to be faster.

    Parameters
    ----------
    image : Image or None
    kernels : sequence of int
        Addresses of its kernels.
    more : object
        What there is to know beside: what NumPy executes, as `encode_hosts` says it.
    reason : str
    """

    image: Image | None
    kernels: Sequence[int]
    more: Any
    reason: str = ""


_known: dict[str, Known] = {}


@record(eq=False)
class Compiled:
    """A program, and what each stage made on the way to it.

    Parameters
    ----------
    program : Program
    made : callable
        Gives what the stages made. Only people ask for it, and for them the stages run again: it takes as much memory
        as all that a call needs.
    times : dict of str to float, optional
        Time that each stage took, if the program was made in this process.
    whole : callable, optional
        If the program leaves out what nothing reads: compiles one that does not, which takes its place where it has to.
        It gives None if another specialisation will serve such calls.
    """

    program: Program
    made: Callable[[], Made]
    times: dict[str, float] | None = None
    whole: Callable[[], Compiled | None] | None = None

    def __repr__(self) -> str:
        return repr(self.program)

    def run(self, inputs: Sequence[Any], backoff: policy.Backoff | None = None, reports: bool = True) -> list[Any]:
        """Outputs of the program; parameters and exceptions as for `Program.run`."""
        if self.whole is not None:
            try:
                return self.program.run(inputs, backoff, reports)
            except (OutOfBounds, Uncomputed):
                self.leave_nothing_out()
        return self.program.run(inputs, backoff, reports)

    def leave_nothing_out(self) -> None:
        """Compute from now on what nothing reads, too."""
        if self.whole is not None:
            with at_work():
                whole = self.whole()
            self.whole = None
            if whole is not None:
                self.program, self.made, self.times = whole.program, whole.made, whole.times

    @property
    def stages(self) -> tuple[tuple[str, Graph], ...]:
        """The graph after every pass, in order, by the names of the passes."""
        return self.made().stages

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What is done in place."""
        return self.made().decisions

    @property
    def fired(self) -> Mapping[str, int]:
        """How often each rule of the passes has changed something."""
        return self.made().fired

    @property
    def seconds(self) -> dict[str, float]:
        """Time that each stage took."""
        return self.made().seconds if self.times is None else self.times


@contextlib.contextmanager
def nothing_known() -> Iterator[None]:
    """Let programs be taken from the disk, or made, as in a process that has made none."""
    from .codegen.kernels import forget_unkept

    forget_unkept()
    known = dict(_known)
    _known.clear()
    try:
        yield
    finally:
        _known.update(known)


def expect_compiles(function: Callable[..., Any]) -> bool:
    """Get ready for calls of `function`, so that none of them has to wait for what does not depend on it.

    That is the compiler and the native driver, if for all that the disk cache knows this is the first process that has
    the function. One that others have had and never called will hardly be called by this one.

    Returns
    -------
    bool
        Whether no process has called it yet.
    """
    if is_at_work():  # perhaps in the middle of the imports below
        return False
    with at_work():
        get_ready()
        text = code_text(function)
        if cache.has_note(text):
            return False
        if cache.has_note(uncalled := f"decorated {text}"):
            return True
        cache.note(uncalled)
        from . import pipeline  # noqa: F401
        from .codegen.compile import get_compiler_ready

        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType) and has_loops(code):
            from .codegen import procedures  # noqa: F401
        get_compiler_ready()
        get_ready_to_compile()
        return True


def note_call(function: Callable[..., Any]) -> None:
    """Let later processes know that `function` has been called."""
    cache.note(code_text(function))


def code_text(function: Callable[..., Any]) -> str:
    """Text that functions of the same code have in common."""
    code = getattr(function, "__code__", None)
    return f"function {text_of_code(code) if code is not None else type(function).__qualname__}"


def text_of_code(code: types.CodeType) -> str:
    """Text that code has in common with what does the same."""
    constants = (
        text_of_code(c) if isinstance(c, types.CodeType) else repr(c)
        for c in code.co_consts
        if type(c) is not frozenset
    )
    return f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames} [{', '.join(constants)}]"


def compile_graph(
    graph: Graph,
    inputs: Sequence[Any],
    threads: int | None = None,
    donated: Collection[int] = (),
    written: Mapping[int, int] = MappingProxyType({}),
) -> Compiled:
    """The program that computes `graph` for inputs of the types and strides of `inputs`.

    Parameters
    ----------
    graph : Graph
        What a trace recorded.
    inputs : sequence
        Values of ``graph.inputs``; only dtypes, shapes and strides matter.
    threads : int, optional
        Most threads that the program may use.
    donated : collection of int, optional
        Numbers of inputs, contiguous arrays, whose memory may be overwritten.
    written : mapping of int to int, optional
        Inputs, contiguous arrays, that have to hold an output in the end, and the number of that output.

    Raises
    ------
    NotWorthwhile
        If the plain function is expected to be faster.
    """
    made: list[Made] = []
    samples = [sample(value) for value in inputs]

    def make() -> Made:
        if not made:
            made.append(_made(graph, samples, donated, written))
        return made[0]

    def details() -> Details:
        return make().program.details()

    limit = UNLIMITED if threads is None else threads
    key = _key(graph, inputs, donated, written)
    found = None if key is None else known_program(key)
    if found is None:
        try:
            with collection.paused():  # until what is not kept is gone
                anew = _made(graph, samples, donated, written)
                program, times = replaced(anew.program, limit=limit, details=details), anew.seconds
                if config.debug():  # every call looks at it
                    made.append(anew)
                del anew
                forget_dead()
        except NotWorthwhile as reason:
            keep(key, Known(None, (), None, str(reason)))
            raise
        with contextlib.suppress(NotPlain):
            hosts = None if program.image.is_native else encode_hosts(program.hosts, graph)
            keep(key, Known(program.image, program.kernels, hosts))
        return Compiled(program, make, times)
    if found.image is None:
        raise NotWorthwhile(found.reason)
    steps = NO_HOSTS if found.more is None else decode_hosts(found.more, graph)
    return Compiled(Program(found.image, found.kernels, limit, steps, details), make)


def _made(graph: Graph, samples: list[Any], donated: Collection[int], written: Mapping[int, int]) -> Made:
    from .pipeline import compile_graph

    return compile_graph(graph, samples, donated, written)


def _key(graph: Graph, inputs: Sequence[Any], donated: Collection[int], written: Mapping[int, int]) -> str | None:
    """What a program is made from, as text; None if that makes sense in this process alone."""
    if config.debug():  # its frames look at the steps
        return None
    try:
        text = content(graph)
    except NotPortable:
        return None
    strides = [value.strides if isinstance(value, np.ndarray) else None for value in inputs]
    options = f"{config.strict()}{''.join(sorted(config.rules_off()))}"
    return f"program {text} {strides} {sorted(donated)} {sorted(written.items())} {options}"


def known_program(key: str) -> Known | None:
    """What this process or another one has kept by that key; None if nothing, or if that is damaged."""
    if key in _known:
        return _known[key]
    found = cache.load_program(key)
    if found is None:
        return None
    addresses, data = found
    try:
        image, more, reason = portable.loads(data)
        known = Known(image, [addresses[name] for name in _kernels(image)], more, reason)
    except Exception as error:
        _log.warning("a program in the disk cache is not used (%s: %s)", type(error).__name__, error)
        return None
    _remember(key, known, len(data))
    return known


def keep(key: str | None, known: Known) -> None:
    """Remember what became of a graph, here and on disk; nothing without a key."""
    if key is None:
        return
    from .codegen import cachefiles
    from .codegen.kernels import Addresses

    is_large = known.image is not None and sum(c.nbytes for c in known.image.constants) > _MOST_CONSTANT_BYTES
    if is_large and not cachefiles.are_recorded():
        return

    data = portable.dumps((known.image, known.more, known.reason))
    store = partial(cache.store_program, key, _kernels(known.image), data)
    if isinstance(known.kernels, Addresses):
        known.kernels.then(store)
    else:
        store()
    _remember(key, known, len(data))


def _kernels(image: Image | None) -> Sequence[str]:
    return () if image is None else image.kernels


def _remember(key: str, known: Known, nbytes: int) -> None:
    if nbytes > _MOST_KNOWN_BYTES:
        return
    if len(_known) >= _MOST_KNOWN:
        with contextlib.suppress(RuntimeError):  # another thread does the same
            _known.pop(next(iter(_known)), None)
    _known[key] = known
