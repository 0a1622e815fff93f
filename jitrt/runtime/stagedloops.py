"""Calls of functions with loops that are compiled as a whole: staged as a procedure, run as one native function.

A procedure stops wherever Python or NumPy would do something else than it: everything that it wrote is taken back then,
and the plain function serves the call. So it does where the procedure has raised a floating-point exception that the
error state does not ignore.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import config, policy
from ..base import collection
from ..base.atwork import at_work, is_users_own
from ..base.frozen import replaced
from ..base.stages import enters
from ..codegen import tierup
from ..codegen.entries import entry_of
from ..errors import HalfDone, JitrtError, is_passing
from ..frontend.control.composites import LEAVES, are_different, assign_part, holder_count, is_leaf, take_apart
from ..frontend.control.outside import array_of, element_types
from ..frontend.control.results import WAY
from ..frontend.control.stage import MOST_BYTES, MOST_WHOLE_BYTES, STATIC, is_same_value, stage
from ..frontend.control.values import NotStaged, WholeArrays
from ..frontend.python.captures import Capture
from ..ir.loops import is_exact
from ..ir.rounding import EXACT, Rounding
from ..ir.verify import verify
from ..kernels.entry import TABLE
from ..kernels.pool import MOST_WORKERS
from ..kernels.procedure import WATCHED
from ..passes.fastmath import relaxed
from ..values.functions import MISSING
from ..values.keys import GENERATORS, layout_key
from ..values.memory import nbytes, overlaps_itself
from .dispatch import Words
from .errstate import errors, raising
from .loopengine import MISS
from .objects import fields
from .procedurecalls import procedure_table
from .procedureresults import Results
from .procedurework import Work
from .sources import lock_of, restore, state_of
from .threads import start_wanted_pool
from .verdicts import keep_verdict, staged_name, verdict

_log = logging.getLogger("jitrt.trace")

_STOPPED, _SHARED = 1, 2
_SERVED = TABLE.index("served")


class _Call(NamedTuple):
    """The arguments of a call, what tells it from others, what the arguments hold, and what holds what."""

    args: tuple
    key: tuple
    leaves: tuple
    trees: tuple | None


class _TooLarge(Exception):
    """Arrays that kernels, which use all threads, are better at."""


class LoopEngine:
    """Procedures of one function, by the types of its arguments.

    Parameters
    ----------
    function : callable
        The plain function.
    rounding : Rounding, optional
        In what results may differ from its own.
    has_loops : bool
        Whether it, or what it calls, has loops. One that has none, but operations that are loops, is left to the
        tracer until this asks for them.
    threads : int, optional
        Most threads that procedures may use.

    Attributes
    ----------
    active : bool
        Whether calls may be served; False after an error of ours.
    answering, serving : bool
        Whether there are procedures in use.
    compile_seconds : float
        What the latest `call` took to make a procedure; 0 if it had one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        rounding: Rounding = EXACT,
        has_loops: bool = True,
        threads: int | None = None,
    ):
        self._function, self._rounding = function, rounding
        self._threads = threads or MOST_WORKERS + 1
        self._has_loops = has_loops
        self._loops: dict[Any, list[_Loop]] = {}
        self._refused: dict[Any, str] = {}
        self._short: set[Any] = set()  # calls for which the plain function is faster, as it reads no lists beforehand
        self._left: set[Any] = set()  # refused because their loops work on whole arrays
        self._whole: set[Any] = set()  # where loops work on whole arrays
        self.compile_seconds = 0.0
        self.active = True
        self.answering = self.serving = False
        self._made = 0
        self._backoff = policy.Backoff(free=policy.REFUSALS)
        self._served = 0
        self._latest: tuple[_Loop, _Call] | None = None  # what has served a call in Python, and the call as it was

    def call(self, args: tuple, instead_of_plain: bool = False) -> Any:
        """The result of a call, or `MISS` if the tracer or the plain function has to serve it.

        Loops over whole arrays are left to the tracer, unless it leaves them to the plain function.
        """
        self.compile_seconds = 0.0
        if not (self._has_loops or instead_of_plain):
            return self.serve(args)
        try:
            call = self._taken(args)
            loop = self._find(call, instead_of_plain)
            self._latest = None if loop is None else (loop, call)
        except Exception as error:  # nothing has run yet
            _check_failure(error, self._function)
            self.active = self.active and is_passing(error)
            return MISS
        return MISS if loop is None else loop.run(call)

    def serve(self, args: tuple) -> Any:
        """`call` for types of arguments that are known; `MISS` for others."""
        try:
            call = self._taken(args)
            loop = next((found for found in self._loops.get(call.key, ()) if found.fits(call.leaves)), None)
            if loop is not None and loop.refused:
                self.answering = self.serving = any(not known.refused for known in self._all())
                loop = None
            self._served += loop is not None
            self._latest = None if loop is None else (loop, call)
        except Exception as error:
            _check_failure(error, self._function)
            return MISS
        return MISS if loop is None else loop.run(call)

    def tables(self, args: tuple) -> list[Words] | None:
        """All tables for native calls, if there are others since the call with these arguments; else None."""
        latest, self._latest = self._latest, None
        if latest is None:
            return None
        loop, call = latest  # which may have changed what its arguments hold
        if not (loop.wants_table() and loop.renew_table(call, len(args))):
            return None
        return [loop.table for loop in self._all() if loop.table is not None]

    def release(self) -> None:
        """Free the memory that procedures keep for further calls."""
        for loop in self._all():
            loop.pool.clear()
            loop.table = None

    def may_be_short(self) -> bool:
        """Whether it is time to find out if calls like this one are too short for compiled code."""
        latest = self._latest
        return self._served % policy.SERVED_BETWEEN == 0 or (latest is not None and latest[0].table is not None)

    def faster_plain(self, args: tuple, serve: Callable[..., Any]) -> list[Capture] | None:
        """If the plain function is faster than `serve` on calls like this one, what of the outside this depends on."""
        call = self._taken(args)
        for loop in self._loops.get(call.key, ()):
            if loop.fits(call.leaves) and loop.plain_is_faster(call, serve):
                return [*loop.staged.captured, *loop.staged.arrays]
        return None

    def note_short(self, args: tuple) -> None:
        """Leave calls like this one to the plain function, which is faster."""
        self._short.add(_sizes(args))

    def is_short(self, args: tuple) -> bool:
        """Whether a call is left to the plain function."""
        return bool(self._short) and _sizes(args) in self._short

    def source(self, args: tuple, instead_of_plain: bool = False) -> str:
        """The procedure that calls with such arguments run; empty if there is none. Parameters as for `call`."""
        if not self.active:
            return ""
        loop = self._find(self._taken(args), instead_of_plain or not self._has_loops)
        return "" if loop is None else str(loop.staged.procedure)

    def unrolled(self, args: tuple) -> frozenset[int]:
        """Lines of loops that are unrolled in the procedure of `source`."""
        loop = self._find(self._taken(args), not self._has_loops)
        return frozenset() if loop is None else loop.staged.unrolled

    def reason(self, args: tuple) -> str:
        """Why calls with such arguments run no procedure; empty if they do."""
        return self._refused.get(self._taken(args).key, "")

    @property
    def refusal(self) -> str:
        """Why the latest calls that were looked at run no procedure; empty if all do."""
        return next(reversed(self._refused.values()), "")

    def leaves(self, args: tuple) -> bool:
        """Whether loops over whole arrays are left to the tracer in calls with such arguments."""
        return self.active and self._taken(args).key in self._left

    def by_position(self, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
        """The arguments of a call by their positions; None if they do not fit."""
        if not kwargs:
            return args
        code, defaults = self._function.__code__, self._function.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
            return None
        if not kwargs.keys() <= set(names[max(len(args), code.co_posonlyargcount) :]):
            return None
        given = dict(zip(names[len(names) - len(defaults) :], defaults)) | kwargs
        rest = names[len(args) :]
        return (*args, *(given[name] for name in rest)) if all(name in given for name in rest) else None

    def _all(self) -> Iterator[_Loop]:
        """All procedures."""
        return (loop for loops in list(self._loops.values()) for loop in loops)

    def _taken(self, args: tuple) -> _Call:
        """The arguments, with those that are given by default, and what they hold."""
        missing = self._function.__code__.co_argcount - len(args)
        defaults = self._function.__defaults__ or ()
        if 0 < missing <= len(defaults):
            args = (*args, *defaults[len(defaults) - missing :])
        for a in args:
            if not is_leaf(a):
                trees, leaves, versions = take_apart(args)
                if any(trees):
                    return _Call(args, (trees, versions, *[_kind(v) for v in leaves]), leaves, trees)
                break
        return _Call(args, tuple([_kind(a) for a in args]), args, None)

    def _find(self, call: _Call, instead_of_plain: bool = False) -> _Loop | None:
        args, key = call.leaves, call.key
        made = self._loops.get(key, ())
        for loop in made:
            if loop.fits(args):
                return None if loop.refused else loop
        if key in self._whole and nbytes(args) > MOST_WHOLE_BYTES:
            return None
        if instead_of_plain and key in self._left:
            self._left.discard(key)
            self._refused.pop(key, None)
        if key in self._refused or self._made == policy.PROCEDURES or len(made) == policy.PROCEDURES_BY_VALUE:
            return None
        if self._backoff.spares():
            return None
        self._made += 1
        start = time.perf_counter()
        try:
            # Classes have other versions in each process.
            values = [repr(a) if isinstance(a, STATIC) else "" for a in args]
            is_lasting = call.trees is None and not instead_of_plain
            name = staged_name(self._function, key, values) if is_lasting else None
            known = None if name is None else verdict(name)
            if known is not None:
                raise WholeArrays if known[1] else NotStaged(known[0])
            with at_work(), collection.paused():
                loop = _Loop(self._function, call, self._rounding, instead_of_plain, self._threads)
            self.compile_seconds = time.perf_counter() - start
            enters("")  # it runs next
        except _TooLarge:
            self._whole.add(key)
            return None
        except NotStaged as reason:
            if isinstance(reason, WholeArrays):
                self._left.add(key)
            else:
                self._backoff.note(failed=True)
            self._refused[key] = str(reason)
            if reason.is_lasting and name is not None:
                keep_verdict(name, str(reason), isinstance(reason, WholeArrays))
            _log.info("%s: its loops are not compiled as such: %s", self._function.__name__, reason)
            return None
        if not self._has_loops:
            if not loop.renew_table(call, len(call.args)):
                self._refused[key] = "Python would have to make its results, or look at its arguments"
                return None
            loop.table = None  # `tables` makes it
        self._loops.setdefault(key, []).append(loop)
        if loop.is_whole:
            self._whole.add(key)
        self._backoff.note(failed=False)
        self.answering = self.serving = True
        return loop


def _kind(value: Any) -> Any:
    """What the compiled code depends on."""
    if type(value) is str:
        return str, value.isascii()  # a text of other characters is a constant
    return element_types(value) if type(value) is list else layout_key(value)


def _sizes(args: Sequence[Any]) -> tuple[Any, ...]:
    """What loops over arguments may take: shapes, small values, and about how many elements lists have."""
    return tuple([
        (list, len(a).bit_length()) if type(a) is list else getattr(a, "shape", a if type(a) in LEAVES else type(a))
        for a in args
    ])  # fmt: skip


def _work(args: tuple) -> float:
    """About the trips of loops, if they run over the arguments; too many to count for numbers that are no integers."""
    work = 0.0
    for a in args:
        if isinstance(a, np.ndarray):
            work += a.size
        elif isinstance(a, (int, np.integer)):
            work += abs(int(a))
        elif isinstance(a, (list, str)):
            work += len(a)
    return work


def _check_failure(error: Exception, function: Callable[..., Any]) -> None:
    """Raise what a user's handler has raised, and in strict mode errors of ours; others the plain function answers."""
    if is_users_own(error) or isinstance(error, JitrtError):
        raise error
    if is_passing(error):
        return
    _log.warning("%s: its loops are not compiled", function.__name__, exc_info=error)
    if config.strict():
        raise JitrtError("a function with loops could not be looked at") from error


class _Loop:
    """A function for arguments of given types, and for given values of some of them.

    Raises
    ------
    NotStaged
        If it cannot be staged, or writes into what may not be written.
    _TooLarge
        If it is better left to the tracer.
    """

    def __init__(self, function: Callable[..., Any], call: _Call, rounding: Rounding, takes_whole: bool, threads: int):
        self.function, self.threads = function, threads
        args = call.leaves
        layout = fields()
        if layout is None:
            raise NotStaged("objects of this build of Python lie elsewhere")
        enters("stage")
        staged = stage(function, args, takes_whole, call.trees)
        self.staged = replaced(staged, procedure=relaxed(staged.procedure)) if rounding.fastmath else staged
        self.is_whole = self.staged.is_whole
        if self.is_whole and nbytes(args) > MOST_WHOLE_BYTES:
            raise _TooLarge
        if config.strict():
            verify(self.staged.procedure)
        given = (*args, *(c.read() for c in self.staged.arrays))
        self.written = [k for k in self.staged.written if type(given[k]) not in GENERATORS]
        self.draws = [k for k in self.staged.written if type(given[k]) in GENERATORS]
        if not all(given[k].flags.writeable and not overlaps_itself(given[k]) for k in self.written):
            raise NotStaged("writes into an array that is read-only or overlaps itself")
        procedure = self.staged.procedure
        # The states of generators are taken back here and not by the procedure.
        self.address = entry_of(procedure, self.written, not self.draws and _work(args) < policy.MUCH_WORK)
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(self.address)
        self.offsets = [layout[name] for name in ("data", "shape", "strides")]
        self.results = Results(procedure, layout["data"])
        self.places = self.results.places
        self.takes = [k for k in range(len(args)) if k not in dict(self.staged.known) and k not in self.staged.unread]
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
        self.array_kinds = [_kind(c.value) for c in self.staged.arrays]

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
        return all(_kind(c.read()) == kind for c, kind in zip(self.staged.arrays, self.array_kinds))

    def wants_table(self) -> bool:
        """Whether there may be another table for native calls, or none any more."""
        if self.table is None:
            return not self.refused and self.renewals < policy.PROCEDURE_RENEWALS
        return self.refused or self.table.is_outdated

    def renew_table(self, call: _Call, count: int) -> bool:
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

    def run(self, call: _Call) -> Any:
        """A call."""
        try:
            made = MISS if self.refused else self.native(call)
        except HalfDone as error:
            raise error.failure from None
        except Exception as error:
            _check_failure(error, self.function)
            made = MISS
        return self.function(*call.args) if made is MISS else made

    def native(self, call: _Call) -> Any:
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
            if config.strict():
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

    def plain_is_faster(self, call: _Call, serve: Callable[..., Any]) -> bool:
        """Whether calls are too short for compiled code to pay; both give the same bits, so that a clock may decide."""
        is_little = _work(call.leaves) < policy.LITTLE_WORK
        lists = [a for a in call.leaves if type(a) is list]
        if self.assigns or not self.exact or (call.trees is not None and self.staged.written):
            return False
        if not (is_little or lists):
            return False
        shapes = _sizes(call.leaves)
        if shapes in self.tried or len(self.tried) >= policy.TRIED_SHAPES:
            return False
        self.tried.add(shapes)
        try:
            with np.errstate(all="ignore"):  # the call itself has warned
                is_slower = self._is_left_to_python(lists, is_little, call, serve)
                if is_slower and tierup.is_baseline(self.address):
                    tierup.optimise(self.address)
                    is_slower = self._is_left_to_python(lists, is_little, call, serve)
                return is_slower
        except Exception:
            return False

    def _is_left_to_python(
        self, lists: list[list[Any]], is_little: bool, call: _Call, serve: Callable[..., Any]
    ) -> bool:
        return self._reads_lists(lists, call, serve) or (is_little and self._is_slower(call, serve))

    def _reads_lists(self, lists: list[list[Any]], call: _Call, serve: Callable[..., Any]) -> bool:
        """Whether it takes longer to read lists among the arguments than the plain function takes for the call.

        Where that is most of a call, or the call is short, its loops do little: the plain function is done soon, too.
        """
        if not lists or self._has_effects(call):
            return False
        start = time.perf_counter()
        for values in lists:
            array_of(values, element_types(values))
        reading = time.perf_counter() - start
        whole = min(self._seconds(serve, call) for _ in range(2))
        is_soon = whole < max(policy.READING_LISTS * reading, policy.SHORT_SECONDS)
        return is_soon and self._seconds(self.function, call) < whole

    def _has_effects(self, call: _Call) -> bool:
        """Whether the plain function may have effects that the procedure has not, and has them at each trial."""
        stops, trial = self.stops, self._copy(call)
        if self.refused or self.native(trial) is MISS:
            self.stops = stops
            return True
        return False

    def _is_slower(self, call: _Call, serve: Callable[..., Any]) -> bool:
        if self._has_effects(call):
            return False
        native = min(self._seconds(serve, call) for _ in range(policy.TRIALS))
        plain = self._seconds(self.function, call)
        if plain > policy.CLEARLY_SLOWER * native:  # no further trial would change that, and it may take long
            return False
        return min(plain, *(self._seconds(self.function, call) for _ in range(policy.TRIALS - 1))) < native

    def _seconds(self, run: Callable[..., Any], call: _Call) -> float:
        args = self._copy(call).args
        before = time.perf_counter()
        run(*args)
        return time.perf_counter() - before

    def _copy(self, call: _Call) -> _Call:
        """The call with copies of what the procedure writes into, all of it arguments and no parts of others."""
        if not self.staged.written:
            return call
        copies = tuple([_copy(a) if k in self.staged.written else a for k, a in enumerate(call.args)])
        return call._replace(args=copies, leaves=copies)

    def count_stop(self) -> None:
        self.stops += 1
        # Native code counts the calls that it passes on after a stop, too.
        native = 0 if self.table is None else int(self.table[_SERVED]) - self.stops
        if self.stops > max(policy.STOPS, self.runs + native):
            self.refused = True
            _log.info("%s: its compiled loops stop too often", getattr(self.function, "__name__", "function"))


def _copy(array: np.ndarray) -> np.ndarray:
    """A copy with strides of the same kind, and writeable or not as the original."""
    copy = array.copy("K")
    if _kind(copy) == _kind(array):
        return copy
    if array.flags.c_contiguous or array.flags.f_contiguous:
        copy = array.copy("A")
        copy.flags.writeable = array.flags.writeable
        return copy
    wide = np.zeros([2 * n + 2 for n in array.shape], array.dtype)
    view = wide[tuple(slice(0, 2 * n, 2) for n in array.shape)]
    view[...] = array
    view.flags.writeable = array.flags.writeable
    return view
