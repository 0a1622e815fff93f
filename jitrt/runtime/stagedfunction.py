"""One function with loops as a procedure: for arguments of given types, and how it runs.

A procedure stops wherever Python or NumPy would do something else than it: everything that it wrote is taken back then,
and the plain function serves the call. So it does where the procedure has raised a floating-point exception that the
error state does not ignore.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import config, policy
from ..base.arrays import is_writeable
from ..base.atwork import at_work, is_users_own
from ..base.frozen import replaced
from ..base.stages import enters, may_put_off
from ..codegen import tierup
from ..codegen.entries import entry_of, make_later
from ..errors import HalfDone, JitrtError, is_passing
from ..frontend.control.composites import LEAVES, are_different, assign_part, holder_count
from ..frontend.control.outside import ArraysOf, element_types
from ..frontend.control.results import WAY
from ..frontend.control.stage import MOST_BYTES, MOST_WHOLE_BYTES, is_same_value, stage
from ..frontend.control.values import NotStaged
from ..ir.loops import is_exact
from ..ir.rounding import Rounding
from ..ir.verify import verify
from ..kernels.entry import TABLE
from ..kernels.procedure import MOST_INTEGER, WATCHED
from ..passes.fastmath import relaxed
from ..values.functions import MISSING
from ..values.keys import GENERATORS, layout_key
from ..values.memory import nbytes, overlaps_itself
from .dispatch import Words
from .errstate import errors, raising
from .loopengine import LATER, MISS
from .objects import fields
from .procedurecalls import procedure_table
from .procedureresults import Results
from .procedurework import Work
from .sources import lock_of, restore, state_of
from .stagedfiles import keep_staged, load_staged
from .threads import start_wanted_pool

_log = logging.getLogger("jitrt.trace")

_SHARED = 2  # an array that is written shares memory with another one
_SERVED = TABLE.index("served")


class StagedCall(NamedTuple):
    """The arguments of a call, what tells it from others, what the arguments hold, and what holds what."""

    args: tuple
    key: tuple
    leaves: tuple
    trees: tuple | None


class TooLarge(Exception):
    """Arrays that kernels, which use all threads, are better at."""


def kind_of(value: Any) -> Any:
    """What the compiled code depends on."""
    if type(value) is str:
        return str, value.isascii()  # a text of other characters is a constant
    if type(value) is int and not -MOST_INTEGER <= value <= MOST_INTEGER:
        return int, "of more than a word"
    return (list, element_types(value)) if type(value) is list else layout_key(value)


def _is_of_arrays(values: list[Any]) -> bool:
    return isinstance(element_types(values), ArraysOf)


def sizes_of(args: Sequence[Any]) -> tuple[Any, ...]:
    """What loops over arguments may take: shapes, small values, and about how many elements lists and texts have."""
    return tuple(
        [
            (type(a), len(a).bit_length())
            if type(a) in (list, str)
            else getattr(a, "shape", a if type(a) in LEAVES else type(a))
            for a in args
        ]
    )


_MANY_TRIPS = 1 << 62  # integers may be too large for floats


def trips(args: tuple) -> float:
    """About the trips of loops, if they run over the arguments; too many to count for numbers that are no integers."""
    work = 0.0
    for a in args:
        if isinstance(a, np.ndarray):
            work += a.size
        elif isinstance(a, (int, np.integer)):
            work += min(abs(int(a)), _MANY_TRIPS)
        elif isinstance(a, (list, str)):
            work += len(a)
    return work


def check_failure(error: Exception, function: Callable[..., Any]) -> None:
    """Raise what a user's handler has raised, and in strict mode errors of ours; others the plain function answers."""
    if is_users_own(error) or isinstance(error, JitrtError):
        raise error
    if is_passing(error):
        return
    _log.warning("%s: its loops are not compiled", function.__name__, exc_info=error)
    if config.strict():
        raise JitrtError("a function with loops could not be looked at") from error


class StagedFunction:
    """A function for arguments of given types, and for given values of some of them.

    The disk cache may have it under `name`.

    Raises
    ------
    NotStaged
        If it cannot be staged, or writes into what may not be written.
    TooLarge
        If it is better left to the tracer.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        call: StagedCall,
        rounding: Rounding,
        takes_whole: bool,
        threads: int,
        has_loops: bool,
        name: str | None,
    ):
        self.function, self.threads = function, threads
        args = call.leaves
        layout = fields()
        if layout is None:
            raise NotStaged("objects of this build of Python lie elsewhere")
        enters("stage")
        staged = None if name is None else load_staged(name, function, args)
        if staged is None:
            staged = stage(function, args, takes_whole, call.trees)
            if name is not None:
                keep_staged(name, function, args, staged)
        self.staged = replaced(staged, procedure=relaxed(staged.procedure)) if rounding.fastmath else staged
        self.is_whole = self.staged.is_whole
        if self.is_whole and not takes_whole and nbytes(args) > MOST_WHOLE_BYTES:
            raise TooLarge
        if config.strict():
            verify(self.staged.procedure)
        given = (*args, *(c.read() for c in self.staged.arrays))
        self.written = [k for k in self.staged.written if type(given[k]) not in GENERATORS]
        self.draws = [k for k in self.staged.written if type(given[k]) in GENERATORS]
        if not all(is_writeable(given[k]) and not overlaps_itself(given[k]) for k in self.written):
            raise NotStaged("writes into an array that is read-only or overlaps itself")
        procedure = self.staged.procedure
        # The states of generators are taken back here and not by the procedure. Where NumPy has the loops, and not
        # Python, a baseline version would be slower than the plain function.
        is_little = not self.draws and trips(args) < policy.MUCH_WORK
        self._begins = has_loops and is_little
        self.address = 0
        self.spared = 0
        """Calls that still run plain, while a thread compiles."""
        if is_little and not has_loops and may_put_off() and make_later(procedure, self.written):
            self.spared = policy.PUT_OFF_CALLS
        else:
            self._get_ready()
        self.offsets = [layout[name] for name in ("data", "shape", "strides")]
        self.results = Results(procedure, layout["data"])
        self.places = self.results.places
        self.takes = [k for k in range(len(args)) if k not in dict(self.staged.known) and k not in self.staged.unread]
        self.of_arrays = [k for k in self.takes if type(args[k]) is list and _is_of_arrays(args[k])]
        self.assigns = any(self.staged.stores)
        self.may_be_same = self.assigns and sum(map(holder_count, call.trees or ())) > 1
        self.exact = is_exact(procedure)
        self.pool: list[Work] = []
        self.table: Words | None = None  # for native calls
        self.renewals = 0
        self.refused = False
        self.stops = self.runs = 0
        self.tried: set[Any] = set()
        captured = self.staged.captured
        self.named = [(c.container, c.key, c.value) for c in captured if type(c.container) is dict]
        self.others = [c for c in captured if type(c.container) is not dict]
        self.array_kinds = [kind_of(c.value) for c in self.staged.arrays]

    def _get_ready(self) -> None:
        """Wait until it is compiled."""
        self.address = entry_of(self.staged.procedure, self.written, self._begins)
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(self.address)

    def fits(self, args: tuple) -> bool:
        """Whether what the code reads from outside, and arguments whose values it was made for, are what they were."""
        least, most = self.staged.sizes
        if (least or most < MOST_BYTES) and not least <= nbytes(args) <= most:
            return False
        for k, value in self.staged.known:
            if args[k] is not value and not is_same_value(args[k], value):
                return False
        for names, name, value in self.named:
            if names.get(name, MISSING) is not value:
                return False
        for capture in self.others:
            if capture.read() is not capture.value:
                return False
        return all(kind_of(c.read()) == kind for c, kind in zip(self.staged.arrays, self.array_kinds))

    @property
    def is_native(self) -> bool:
        """Whether native code serves calls: Python neither looks at their arguments nor makes their results."""
        return self.table is not None or not self.renewals

    def wants_table(self) -> bool:
        """Whether there may be another table for native calls, or none any more."""
        if self.table is None:
            return not self.refused and self.renewals < policy.PROCEDURE_RENEWALS
        return self.refused or self.table.is_outdated

    def renew_table(self, call: StagedCall, count: int) -> bool:
        """Make the table for native calls, if there is none, or what it says of the outside does not hold any more.

        The first `count` arguments are given, the others have been set by default.
        """
        if not self.wants_table():
            return False
        before, self.table = self.table, None
        if not self.refused and self.renewals < policy.PROCEDURE_RENEWALS:
            self.renewals += 1
            trees = (None,) * len(call.args) if call.trees is None else call.trees
            work = Work(self.staged.procedure, self.offsets, self.threads)
            self.table = procedure_table(self, call.args, trees, call.leaves, count, work)
        return self.table is not before

    def run(self, call: StagedCall) -> Any:
        """A call, or `LATER`."""
        if self.spared:
            self.spared -= 1
            return LATER
        try:
            if not self.address:
                self._get_ready()
            made = MISS if self.refused else self.native(call)
        except HalfDone as error:
            raise error.failure from None
        except Exception as error:
            check_failure(error, self.function)
            made = MISS
        return self.function(*call.args) if made is MISS else made

    def native(self, call: StagedCall) -> Any:
        """The result of the procedure; `MISS` if the plain function has to serve the call, and nothing is written.

        Raises
        ------
        HalfDone
            If it failed when something was written, or numbers were drawn.
        """
        start_wanted_pool()
        staged, args = self.staged, call.leaves
        if self.may_be_same and not are_different(call.args):
            return MISS
        if staged.listed and len({id(args[k]) for k in staged.listed}) < len(staged.listed):
            return MISS
        given = (*args, *[c.read() for c in staged.arrays]) if staged.arrays else args
        items = [a for k in self.of_arrays for a in args[k]]  # which stay there until the call has ended
        if items and any(np.may_share_memory(given[k], a) for k in self.written for a in items):
            return MISS
        try:
            work = self.pool.pop()
        except IndexError:
            work = Work(self.staged.procedure, self.offsets, self.threads, staged.steps)
        if not work.take(given, self.takes, len(args)):
            return MISS
        work.words[WATCHED] = errors()
        sources = [given[k] for k in self.draws]
        with contextlib.ExitStack() as locks:
            for source in sorted(sources, key=id):
                locks.enter_context(lock_of(source))
            states = [(source, state_of(source)) for source in sources]
            if work.host is not None:
                locks.enter_context(raising())
            status = self.entry(*work.addresses)
        if work.host is not None and work.host.error is not None:
            self._take_back(states)
            raise work.host.error
        if status:  # and what was written is taken back
            self._take_back(states)
            if status != _SHARED:
                self.count_stop()
            self.pool.append(work)
            return MISS
        try:
            self.runs += 1
            if tierup.is_baseline(self.address) and config.strict():
                tierup.optimise(self.address)  # so that tests see both versions
            way = work.results[self.places[WAY]]
            made = self.results.value(staged.returns[way], work.results, given)
            stored = [
                (s, self.results.value(s.value, work.results, given))
                for s in staged.stores[way]
                if work.results[self.places[s.flag]]
            ]
            self.pool.append(work)
            for s, value in stored:
                assign_part(call.args, s.path, s.name, value, s.appends is not None)
            return made
        except Exception as error:
            if staged.written or self.draws or self.assigns:
                raise HalfDone(error) from error
            raise

    def _take_back(self, states: Sequence[tuple[Any, Any]]) -> None:
        """Let generators of random numbers be in the states that they were in before a call."""
        with at_work():
            for source, state in states:
                restore(source, state)

    def count_stop(self) -> None:
        self.stops += 1
        # Native code counts the calls that it passes on after a stop, too.
        native = 0 if self.table is None else int(self.table[_SERVED]) - self.stops
        if self.stops > max(policy.STOPS, self.runs + native):
            self.refused = True
            _log.info("%s: its compiled loops stop too often", getattr(self.function, "__name__", "function"))
