"""What a function is compiled to for arguments of given types: segments, and how a call runs through them."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import config, policy
from ..base.atwork import at_work
from ..base.frozen import replaced
from ..errors import NotWorthwhile, Untraceable
from ..frontend.forms import of_own_class
from ..frontend.numpy.draws import drawing
from ..frontend.numpy.scopes import entered
from ..frontend.python.captures import Capture, Captures
from ..frontend.python.stores import Arguments
from ..frontend.segments import GraphBreak, MadeCall, narrowed, needed
from ..frontend.trace import Traced
from ..ir.build import encoding_of
from ..ir.extents import formula
from ..ir.ops.contractions import Call
from ..ir.types import ArrayType
from ..ir.worthwhile import NOTHING, first_numpy_time, is_short, is_worth_copying, is_worth_python
from ..programs import Compiled
from ..runtime.dispatch import Words
from ..runtime.entry import Returned, make_plain_table, make_table
from ..runtime.formulas import OpenSizes
from ..runtime.guards import Captured, TakenApart, can_guard_objects
from ..runtime.program import Program
from ..values.memory import sharing
from ..values.trees import is_flat, leaf_count
from .effects import direct, finish, viewing, written_in_place
from .segments import Programs, Segment

TOO_SMALL = "only Python can serve such calls, and the arrays are too small to make up for that"
LITTLE_BETWEEN_LOOKS = "between the values that it looks at it computes too little, with arrays of this size"


_no_draws = contextlib.nullcontext()


class NewPath(Exception):
    """A value that the function looks at is one after which no call has gone on yet."""


class Plain:
    """The plain function runs, for the given reason.

    Parameters
    ----------
    reason : str
    error : Exception, optional
        What it will raise, if that is the reason.
    is_passing : bool
        Whether later calls may be compiled: arrays may get larger, and shapes come again.
    raises : bool
        Whether the plain function is expected to raise.
    operations : int
        How many had been traced before that was known.

    Attributes
    ----------
    integers : frozenset of int
        Numbers of the leaves that are Python integers, of which it does not matter what value they have.
    calls : int
        That have come to it through Python.
    arguments : tuple of int
        Numbers of the leaves that would be inputs of a program.
    open_sizes : OpenSizes, optional
        Which sizes of these may be others.
    """

    def __init__(
        self,
        reason: str,
        error: Exception | None = None,
        is_passing: bool = False,
        raises: bool = False,
        operations: int = 0,
    ):
        self.reason = reason
        self.operations = operations
        self.error = error
        self.raises = raises or error is not None
        self.is_passing = is_passing
        self.integers: frozenset[int] = frozenset()
        self.calls = 0
        self.arguments: tuple[int, ...] = ()
        self.open_sizes: OpenSizes | None = None

    def table(self, function: Callable[..., Any], call: TakenApart, captures: Captures) -> Words | None:
        """What lets native code serve calls like this one, or None if that needs Python."""
        watched = places_of([*captures.watched(), *captures.arrays])
        if self.is_passing:
            call = call.without_numbers_outside()
        return make_plain_table(function, call, watched, (), self.integers, self.arguments, self.open_sizes)


class Specialisation:
    """A function compiled for arguments of given types, shapes, strides and static values."""

    def __init__(
        self,
        traced: Traced,
        programs: Programs,
        sharing: Sequence[int] | None = None,
        donated: tuple[int, ...] = (),
        only_native: bool = False,
        parts: int = 0,
        compares: bool = False,
    ):
        self._compares = compares
        """Whether the function asks whether two objects are one."""

        self.parts = parts
        """How many values there are in what Python takes apart."""

        self.sharing = sharing
        self.donated = donated
        self.only_native = only_native
        """Whether calls have objects, and the plain function is faster than what takes them apart in Python."""

        self.sizes: frozenset[int] = frozenset()
        """Numbers of the leaves that are Python integers, of whose values formulas depend."""
        self.open_sizes: OpenSizes | None = None
        """Which sizes of calls may be others, if programs have formulas for numbers."""
        self.slow_calls = 0
        self.spared: int | None = None
        """Calls that still run plain, if a thread compiles for it."""
        self.backoff = policy.Backoff()
        self._programs = programs
        self._lock = threading.RLock()
        self._segments = 0
        self._calls = 0
        self._paths: list[Traced] = []
        self.new_paths = 0
        self.draws = False
        self.has_forms = bool(traced.forms)
        self.root = Segment()
        self._compiles = 0
        self._estimate: tuple[Traced, float, int, bool] | None = None
        self._memory: dict[Hashable, Any] = {}
        self.add(traced)

    @property
    def traced(self) -> Traced:
        """One path through the function."""
        return self._last.traced  # type: ignore[return-value]

    @property
    def compiled(self) -> Compiled:
        """The last segment of that path."""
        return self._last.compiled  # type: ignore[return-value]

    def integers(self, leaves: Sequence[Any]) -> frozenset[int]:
        """Numbers of the `leaves` that are Python integers and may have any value."""
        return frozenset(k for k in self.traced.arguments if type(leaves[k]) is int) - self.sizes

    @property
    def may_write(self) -> bool:
        """Whether a call may write into an input: also if it may take a path that no trace has taken."""
        return self.root.end is not None or bool(self.traced.written)

    @property
    def asks_what_is_shared(self) -> bool:
        """Whether it matters which inputs share memory."""
        return self._compares or self.may_write

    def written(self, inputs: Sequence[Any]) -> list[int]:
        """Numbers of the `inputs` that a call may write into."""
        if self.root.end is None:
            return [number for number, _ in self.traced.written]
        return [k for k, value in enumerate(inputs) if isinstance(value, np.ndarray)]

    @property
    def frame_bytes(self) -> int:
        program = self.compiled.program
        return max(program.image.nbytes, program.room)

    @property
    def is_changing(self) -> bool:
        """Whether the values that the function looks at are different in nearly every call."""
        return self.new_paths > policy.NEW_PATHS or self._segments > policy.SEGMENTS

    def after_fork(self) -> None:
        """A thread of the parent may have held the lock."""
        self._lock = threading.RLock()

    @property
    def numpy_time(self) -> float:
        """Nanoseconds that the plain function is expected to take, beyond what opaque calls need."""
        return self._estimated()[1]

    @property
    def operations(self) -> int:
        """Nodes of the graphs of the trace."""
        return self._estimated()[2]

    @property
    def kernels(self) -> set[str]:
        """Keys of the kernels of a trace."""
        compiled = [self.compiled, *(c.compiled for c in self.traced.breaks if c.compiled is not None)]
        return {key for c in compiled for key in c.program.image.kernels}

    @property
    def is_short(self) -> bool:
        """Whether the plain function is faster than a call that Python serves."""
        return self.only_native or (self._estimated()[3] and not config.strict())

    def _estimated(self) -> tuple[Traced, float, int, bool]:
        """The time that NumPy needs for what was traced, the number of operations, and whether it is short."""
        if self._estimate is None or self._estimate[0] is not self.traced:
            graphs = [*(c.graph for c in self.traced.breaks if c.graph is not None), self.traced.graph]
            nodes = sum(len(g.nodes()) for g in graphs)
            self._estimate = self.traced, first_numpy_time(graphs) / 1000, nodes, is_short(graphs, self.parts)
        return self._estimate

    @property
    def gains_anyway(self) -> bool:
        """Whether calls are faster than plain NumPy even if the function is traced at each of them."""
        saves = self.numpy_time > policy.TRACE_AGAIN + policy.TRACED_NODE_AGAIN * self.operations
        return saves and self._compiles < policy.COMPILES and self._segments <= policy.SEGMENTS

    @property
    def memory(self) -> dict[Hashable, Any] | None:
        """What is recorded in every call again; None if the function is not traced at every call."""
        if len(self._memory) > policy.REMEMBERED:
            self._memory.clear()
        return self._memory if self.is_changing else None

    def once(self, traced: Traced, before: int) -> Compiled:
        """What computes the last segment of a path that no call will take again.

        `before` is how many programs had been compiled before the trace.
        """
        compiled = self._programs.compile(traced.graph, [traced.values[k] for k in traced.registers])
        self._compiles = self._compiles + 1 if self._programs.count > before else 0
        return compiled

    def add(self, traced: Traced, programs: Programs | None = None) -> Compiled:
        """Add the path that a trace has taken, whose last segment `programs` compile; return that.

        Raises
        ------
        NotWorthwhile
            If the plain function is expected to be faster.
        """
        self._check_copies(traced)
        if not self._can_be_native(traced):
            self._check_worthwhile(traced)
        breaks = [replaced(c, compiled=c.compiled()) if isinstance(c.compiled, partial) else c for c in traced.breaks]
        traced = replaced(traced, breaks=tuple(breaks))
        self.draws = self.draws or traced.draws
        values = [traced.values[k] for k in traced.registers]
        programs = programs or self._programs
        compiled = programs.compile(traced.graph, values, self._overwritable(traced), written_in_place(traced))
        traced = _without_arguments(traced)
        with self._lock, at_work():
            if not self._is_served_natively(traced, compiled):
                self._check_worthwhile(traced, compiled)
            segment = self.root
            for end in traced.breaks:
                if segment.end is None:
                    segment.end = end
                    segment.plan = end.compiled, end.inputs, tuple(range(len(end.outputs)))
                elif not _are_alike(segment.end, end):
                    raise NotWorthwhile("what it does up to a value that it looks at is different from call to call")
                found = segment.following.get(end.key)
                if found is None:
                    found = segment.following[end.key] = Segment()
                    self._segments += 1
                segment = found
            segment.traced, segment.compiled, segment.direct = traced, compiled, direct(traced)
            self._last = segment
            self._paths.append(traced)
            if self._calls >= policy.TRIED_CALLS:
                self._narrow()
        return compiled

    def _narrow(self) -> None:
        """Leave out what segments compute for later ones and these never read, if that is one graph for all sizes."""
        if self.open_sizes is not None:
            return
        kept: dict[Segment, set[int]] = {}
        for path in self._paths:
            segment = self.root
            last = [*path.registers, *(r.index for r in path.results if r.source == "input")]
            for end, outputs in zip(path.breaks, needed(path.breaks, last)):
                kept.setdefault(segment, set()).update(outputs)
                segment = segment.following[end.key]
        for segment, found in kept.items():
            wanted = tuple(sorted(found))
            assert segment.end is not None
            if segment.end.graph is not None and wanted != segment.plan[2]:
                graph, inputs, samples = narrowed(segment.end, wanted)
                compiled = self._programs.compile(graph, samples, typical=False) if graph.outputs else None
                segment.plan = compiled, inputs, wanted

    def _overwritable(self, traced: Traced) -> tuple[int, ...]:
        """The inputs of the last segment that are donated arguments, and not needed behind it."""
        needed = {r.index for r in traced.results if r.source == "input"} | {number for number, _ in traced.written}
        if traced.breaks:  # a later trace starts with the arguments
            return ()
        leaves = {k: leaf for k, leaf in enumerate(traced.arguments) if k not in needed and leaf in self.donated}
        inputs = traced.graph.inputs
        return tuple(n for n, k in enumerate(traced.registers) if k in leaves and not encoding_of(inputs[n]))

    def _check_copies(self, traced: Traced) -> None:
        written = [output for _, output in traced.written]
        fields = [output for number, output in traced.written if number in traced.fields]
        if not (traced.breaks or config.strict() or is_worth_copying(traced.graph, written, fields)):
            raise NotWorthwhile("it does little more than to write into arrays, which NumPy does without a copy")

    def _check_worthwhile(self, traced: Traced, compiled: Compiled | None = None) -> None:
        """Stop where calls that Python serves do not pay, or, as long as nothing is compiled, never can."""
        if config.strict():
            return
        if self.only_native:
            raise NotWorthwhile(TOO_SMALL)
        breaks = [c for c in traced.breaks if c.graph is not None]
        graphs = [*(c.graph for c in breaks if c.graph is not None), traced.graph]
        programs = [] if compiled is None else [*(c.compiled for c in breaks), compiled]
        amount = sum((c.program.amount() for c in programs), NOTHING)
        if not is_worth_python(graphs, amount, self.parts, len(traced.breaks) - len(breaks)):
            raise NotWorthwhile(LITTLE_BETWEEN_LOOKS if traced.breaks else TOO_SMALL)

    def _is_served_natively(self, traced: Traced, compiled: Compiled) -> bool:
        """Whether native code can serve calls, as far as results and steps go."""
        return self._can_be_native(traced) and compiled.program.image.is_native

    def _can_be_native(self, traced: Traced) -> bool:
        """The same before it is known what NumPy has to do."""
        # Native code would not see whether an argument can be overwritten.
        if traced.breaks or self.donated or self.sharing is not None:
            return False
        if traced.scope and not traced.scope.only_ignores:
            return False
        returned_inputs = {r.index for r in traced.results if r.source == "input"}
        used = {number for number, _ in traced.written} | returned_inputs
        if not used.isdisjoint(traced.fields):  # which are no objects that native code could write or return
            return False
        if not returned_inputs.isdisjoint(traced.data):  # as which it has the masked arrays
            return False
        if self.only_native and not can_guard_objects():
            return False
        stored = [store.structure for store in traced.stores]
        if any(store.removed for store in traced.stores) or not all(map(is_flat, stored)):
            return False
        if any(r.twin or r.kind for r in traced.results):
            return False
        returned = len(traced.results) - sum(len(s[2]) for s in stored)
        views = [(r.source, r.index, r.view) for r in traced.results[:returned] if r.view is not None]
        return len(set(views)) == len(views) and all(r.view is None for r in traced.results[returned:])

    def inputs(self, leaves: list[Any]) -> list[Any]:
        """Values of the inputs of the graph: arguments, and captured arrays as they are now."""
        traced = self.traced
        found = [leaves[k] for k in traced.arguments]
        return [*found, *[c.read() for c in traced.captured]] if traced.captured else found

    def call(self, leaves: list[Any], arguments: Arguments) -> Any:
        """Run the segments, for `arguments` with these leaves.

        Raises
        ------
        NewPath
            If no call has seen these values yet.
        """
        if self._calls == policy.TRIED_CALLS and self.root.end is not None:
            with self._lock, at_work():
                self._narrow()
        if not self.draws:
            return self._run(leaves, arguments)
        with drawing(leaves):
            return self._run(leaves, arguments)

    def short_way(self) -> Callable[[Sequence[Any]], Any] | None:
        """What gives the result of the leaves of a call where that takes nothing but a program; otherwise None."""
        segment, arguments, backoff = self.root, self.traced.arguments, self.backoff
        compiled, made = segment.compiled, segment.direct
        if segment.end is not None or made is None or compiled is None or self.draws or self.has_forms:
            return None
        if self._compares or self.traced.captured or self.traced.registers != tuple(range(len(arguments))):
            return None
        return lambda leaves: made(compiled.run([leaves[k] for k in arguments], backoff))

    def _run(self, leaves: list[Any], arguments: Arguments) -> Any:
        inputs = self.inputs(leaves)
        registers = list(map(of_own_class, inputs)) if self.has_forms else inputs
        segment = self.root if self.root.end is None else deque(self._path(registers), maxlen=1)[0]
        traced, compiled = segment.traced, segment.compiled
        assert traced is not None and compiled is not None
        # Nothing may fail behind what follows: arguments have changed then.
        self.new_paths = 0
        self._calls += 1
        if segment.direct is not None:
            return segment.direct(compiled.run([registers[k] for k in traced.registers], self.backoff))
        return finish(traced, compiled, registers, arguments, self.backoff, inputs if self.has_forms else ())

    def _path(self, registers: list[Any]) -> Iterator[Segment]:
        """The segments that a call goes through; each is run once the next one is asked for, but for the last."""
        segment = self.root
        while segment.end is not None:
            yield segment
            end = segment.end
            segment.run(registers, self.backoff)
            try:
                with entered(end.guard_scope):
                    following = segment.following.get(end.guard.see(registers))
            except Exception as error:  # the function may catch it
                raise NewPath from error
            if following is None:
                raise NewPath
            for k in end.freed:
                registers[k] = None
            segment = following
        yield segment

    def programs_of(self, leaves: list[Any]) -> list[tuple[Program | Call, list[Any]]]:
        """What a call runs, each with its inputs: programs, the last of which is not run, and calls between them.

        Raises
        ------
        NewPath
            If no call has seen these values yet.
        """
        found: list[tuple[Program | Call, list[Any]]] = []
        with drawing(leaves) if self.draws else _no_draws:
            registers = list(map(of_own_class, self.inputs(leaves)))
            for segment in self._path(registers):
                compiled, inputs = segment.plan[:2]
                if segment.traced is not None:
                    compiled, inputs = segment.compiled, segment.traced.registers
                if compiled is not None:
                    found.append((compiled.program, [registers[k] for k in inputs]))
                if segment.end is not None and isinstance(made := segment.end.guard, MadeCall):
                    behind = list(registers)
                    segment.run(behind, self.backoff)
                    found.append((made.call, [operand.read(behind) for operand in made.operands]))
        return found

    def table(self, function: Callable[..., Any], call: TakenApart, captures: Captures) -> Words | None:
        """What lets native code serve calls like this one, or None if that needs Python."""
        if not self._is_served_natively(self.traced, self.compiled) or self._captures_forms():
            return None
        results, structure = self.traced.results, self.traced.structure
        first = leaf_count(structure)
        places = {size: first + k for k, (size, _) in enumerate(self.traced.sizes)}
        returned = [
            Returned(r.source, r.index, r.scalar, r.value, r.weak)
            if r.view is None or r.base is None
            else Returned(r.source, r.index, r.scalar, r.value, r.weak, *viewing(r.view, r.base, places))
            for r in results
        ]
        returned[first:first] = [Returned("array", k, True, None, True) for _, k in self.traced.sizes]
        program, arguments, written = self.compiled.program, self.traced.arguments, self.traced.written
        captured, watched = self._captured(captures), places_of(captures.watched())
        stores = self.traced.stores
        ignored = dict(self.traced.scope.switches) if self.traced.scope else ()
        return make_table(
            function,
            program,
            call,
            arguments,
            captured,
            watched,
            written,
            returned,
            structure,
            stores,
            ignored,
            compares=self._compares,
        )

    def guards(self, serve: Callable[..., Any], call: TakenApart, captures: Captures) -> Words | None:
        """What lets native code find that `serve` serves calls like this one, or None if that needs Python."""
        if self.donated or self.sharing is not None or self._captures_forms():
            return None
        integers = self.integers(call.leaves)
        watched, captured = places_of(captures.watched()), self._captured(captures)
        arguments, sizes = self.traced.arguments, self.open_sizes
        return make_plain_table(serve, call, watched, captured, integers, arguments, sizes, compiled=True)

    def _captures_forms(self) -> bool:
        """Whether an array that the function reads from outside is of another class than NumPy's own."""
        forms = self.traced.forms
        return any(number >= len(self.traced.arguments) and form.kind is not np.ndarray for number, form in forms)

    def _captured(self, captures: Captures) -> list[Captured]:
        """Places of captured arrays, with arrays like those that the function was compiled for."""
        values = self.traced.values[len(self.traced.arguments) :]
        return [(value, c.container, c.key) for value, c in zip(values, captures.arrays)]

    def shared(self, inputs: Sequence[Any]) -> tuple[int, ...] | None:
        """Which of the inputs of a call are the same where that matters, as `sharing` says."""
        return sharing(inputs, self.written(inputs), self._compares)

    def shares(self, leaves: list[Any]) -> bool:
        """Whether inputs of a call are the same where that matters, or overlap."""
        inputs = self.inputs(leaves)
        try:
            return self.shared(inputs) is not None
        except Untraceable:  # in part
            return True


def _are_alike(one: GraphBreak, other: GraphBreak) -> bool:
    """Whether two traces computed the same up to a look at a value, as far as types tell."""
    same = one.inputs == other.inputs and one.guard.reads == other.guard.reads and one.freed == other.freed
    same = same and (one.scope, one.guard_scope) == (other.scope, other.guard_scope)
    return same and [_shown(n.type) for n in one.outputs] == [_shown(n.type) for n in other.outputs]


def _shown(type_: ArrayType) -> tuple:
    """A type, with formulas: extents of two traces cannot be compared."""
    return type_.dtype, type_.weak, tuple(map(formula, type_.shape))


def _without_arguments(traced: Traced) -> Traced:
    """The same without the values of arguments, which must not live as long as the function does."""
    first = len(traced.arguments)
    return replaced(traced, values=(None,) * first + traced.values[first : first + len(traced.captured)])


def places_of(captures: list[Capture]) -> list[Captured]:
    """What captured values were, and where they are held."""
    return [(c.value, c.container, c.key) for c in captures]
