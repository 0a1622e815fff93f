"""Call sites: from a call of a decorated function to what serves it, as a state for each kind of calls.

    cold  →  compiled | trace tree | staged | fallback, which is left again by exponential back-off

A program without looks at values serves what is compiled, a tree of them what looks at values, a procedure what is
staged. Native code serves most calls of all three, and most calls that fall back to the plain function.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import logging
import sys
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .. import config, policy
from ..advice import advice
from ..base.atwork import is_at_work, is_users_own
from ..base.stages import STAGES, Compilation
from ..errors import JitrtError, JitrtPerformanceWarning, LoopsWanted
from ..frontend.context import current, wanting_loops
from ..frontend.numpy.tracer import Tracer
from ..ir.ops.contractions import Call as HostedCall
from ..ir.worthwhile import BY_CALLS
from ..programs import expect_compiles, note_call
from ..runtime.dispatch import NativeCallable
from ..runtime.entry import make_fallback_table, make_plain_table
from ..runtime.guards import TakenApart
from ..runtime.loopengine import LATER, MISS, NoLoops, loop_engine
from ..runtime.tally import tally_of
from ..values.growing import NOT_GROWING
from ..values.kinds import TooMany, flatten_call
from .labelled import LabelledCalls, has_labels
from .options import NO_OPTIONS, Options
from .traced import STAYS_IN_PYTHON, TracedCalls
from .tracing import internal_error, warn
from .tree import Plain, Specialisation, places_of
from .waiting import Waiting, kind_of_call

if TYPE_CHECKING:
    from ..frontend.control.looplines import LoopLine

_log = logging.getLogger("jitrt.trace")

_SHORT = Plain("such calls are too short for compiled code")
FIRST = Plain("one of the first calls of a kind with arrays so small", is_passing=True)
MEANWHILE = Plain("one of the first calls of a kind, while a thread compiles what serves later ones", is_passing=True)


class Served(enum.Enum):
    """What serves the calls of one kind."""

    COLD = "nothing yet"
    COMPILED = "a program"
    TREE = "programs between looks at values"
    STAGED = "a procedure"
    FALLBACK = "the plain function"


class Site:
    """The state of the calls of one kind. `become` changes it, and nothing else.

    Attributes
    ----------
    served : Served
    plain : Plain or None
        Why the plain function runs.
    backoff : Backoff
        Which calls that fall back are looked at: arrays may get larger, and shapes come again.
    table : object
        What lets native code serve calls that fall back.
    tries_loops : bool
        Whether loops over elements may do what NumPy would have to execute.
    """

    __slots__ = ("_has_recovered", "_relapses", "backoff", "plain", "served", "table", "tries_loops")

    def __init__(self) -> None:
        self.served = Served.COLD
        self.plain: Plain | None = None
        self.table: Any = None
        self.backoff = policy.Backoff(free=policy.PLAIN_CALLS, longest=policy.MOST_BETWEEN.bit_length() - 1)
        self.tries_loops = True
        self._has_recovered = False
        self._relapses = 0

    def become(self, served: Served, plain: Plain | None = None, most: int = 0, at_once: bool = False) -> None:
        """A call has been looked at.

        Parameters
        ----------
        served : Served
            What has served it.
        plain : Plain, optional
            Why the plain function did.
        most : int
            Most calls until the next look.
        at_once : bool
            Whether the next ones of many calls that fall back are not looked at either.
        """
        self.served, self.plain = served, plain
        backoff = self.backoff
        if served is not Served.FALLBACK:
            self._has_recovered = self._has_recovered or backoff.failures > 0
            backoff.note(failed=False)
            return
        if at_once:
            backoff.failures = max(backoff.failures, backoff.free)
        if self._has_recovered and backoff.failures >= backoff.free:
            self._has_recovered = False
            self._relapses = min(self._relapses + 1, policy.RELAPSES)
            backoff.failures = backoff.free + 3 + self._relapses
        backoff.note(failed=True, most=most)

    def spares(self) -> bool:
        """Whether a call falls back without a look at it."""
        return self.served is Served.FALLBACK and self.backoff.spares()


class ServedFunction(NativeCallable):
    """A function whose calls native code serves; where it cannot, Python finds or makes what can.

    Parameters
    ----------
    function : callable
        The plain function.
    options : Options, optional
    """

    _compiled_alike: Callable[[Callable[..., Any]], Any] | None = None
    """Makes another function compiled with the same options, where calls with Series and the like may be compiled."""

    def __init__(self, function: Callable[..., Any], options: Options = NO_OPTIONS):
        functools.update_wrapper(self, function)  # first: a function that wraps a compiled one has all that this has
        super().__init__(tally_of(function))
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self._function = function
        self._dispatch.hand_back_to(function)
        self._options = options
        self._told: set[str] = set()  # reasons that have been warned of
        self._slow_calls = 0
        self._begin()
        self._is_new = self._specialisations.plain is None and expect_compiles(function)

    @property
    def __jitrt_function__(self) -> Callable[..., Any]:
        return self._function

    def _begin(self) -> None:
        """Know nothing of any call."""
        self._traced = TracedCalls(
            self._function,
            self.__name__,
            self._options,
            self._dispatch,
            self._lock,
            self._call,
            self._tally,
        )
        self._specialisations = self._traced.known
        self._loops = loop_engine(self._function, self._options.rounding, self._options.threads)
        self._sites: dict[Hashable, Site] = {}
        self._falling_back: Site | None = None  # whose calls native code lets fall back
        self._plain_calls = 0
        self._labelled: LabelledCalls | None = None  # as soon as there are such calls
        code = getattr(self._function, "__code__", None)
        self._names_itself = code is not None and code.co_name in (*code.co_names, *code.co_freevars)
        self._waiting = Waiting(self._function, not isinstance(self._loops, NoLoops))
        if config.disabled():
            self._specialisations.run_plain("JITRT_DISABLE is set")

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call that native code does not serve: its result, or `HANDED_BACK`."""
        if is_at_work() or _is_debugged():  # in a signal handler or a finaliser, or of a function that is being traced
            return self._function(*args, **kwargs)
        traced, known = self._traced, self._specialisations
        self._slow_calls += 1
        if self._labelled is not None and (result := self._with_labels(args, kwargs)) is not MISS:
            return result
        self._dispatch.note_python()
        traced.last = None
        if self._is_new:
            self._is_new = False
            note_call(self._function)
        try:
            by_position = self._loops.by_position(args, kwargs)
        except MemoryError:  # of which the plain function may need less
            return self._function(*args, **kwargs)
        if by_position is not None and self._loops.is_short(by_position):
            traced.last = _SHORT
            return self._tally.hand_back(_SHORT.reason)
        if self._loops.active and self._loops.answering and by_position is not None:
            with self._tally.runs_compiled():
                result = self._loops.serve(by_position)
            if result is LATER:
                return self._meanwhile()
            if result is not MISS:
                self._serve_loops(by_position, args, always=False)
                return result
        if known.plain is not None:
            traced.last = known.plain
            self._tell(known.plain)
            self._plain_calls += 1
            if self._plain_calls >= policy.PLAIN_CALLS and not self._loops.serving:
                self._dispatch.serve_plain(self._function)
            return self._tally.hand_back(known.plain.reason)
        failures: list[Exception] = []  # taken out of this frame, since their tracebacks lead to it and its arguments
        is_first, compiling = False, None
        try:
            compiling = Compilation(self.__name__)
            is_first = self._may_wait and self._waiting.is_first(args, kwargs, known.unpaid)
        except Exception as error:
            failures.append(error)
        if is_first:
            traced.last = FIRST
            return self._tally.hand_back(FIRST.reason)
        leaves: list[Any] = []
        site, is_spared, tree, too_many = None, False, None, None
        try:
            site = self._site(kind_of_call(args, kwargs))
            if site is self._falling_back:  # native code had none left, or the table does not describe this call
                site.backoff.spared += self._dispatch.end_fallback()
                self._falling_back = None
            is_spared = site.spares()
            tree = None if is_spared else known.take_apart(args, kwargs, leaves)
        except TooMany as error:
            too_many = Plain(str(error))
        except Exception as error:
            failures.append(error)
        if site is None:
            site = Site()
        plain = site.plain or FIRST if is_spared else None
        if failures:
            plain = internal_error(self.__name__, failures.pop())
            self._fall_back(site, plain)
        elif is_spared:
            self._spare(site, args, kwargs)
        if plain is not None:
            return self._tally.hand_back(plain.reason)
        if current() is not None or any(type(leaf) is Tracer for leaf in leaves):
            return self._function(*args, **kwargs)  # inside of another function's trace
        if by_position is not None and self._loops.active and compiling is not None:
            with compiling:
                result = self._loops.call(by_position)
            if result is not MISS:
                site.become(Served.STAGED)
                self._note_slow_call(self._loops.compile_seconds, compiling, by_position, True)
                self._serve_loops(by_position, args)
                return result
        if too_many is not None:
            self._fall_back(site, too_many, at_once=True)
            return self._tally.hand_back(too_many.reason)
        answers: dict[HostedCall, Any] = {}
        call = TakenApart(tree, leaves, (), args, kwargs)
        found: Specialisation | Plain | None = None
        wanted: LoopsWanted | None = None
        try:
            call = call._replace(structure=known.take_all_apart(args, kwargs, leaves, tree))
            before = perf_counter()
            wanted_loops = self._wanting_loops(by_position, site.tries_loops)
            with Compilation(self.__name__, self._may_put_off) as compiling, wanted_loops:
                found = known.find(leaves, call.structure, answers)
                if isinstance(found, Specialisation) and self._is_spared(found, compiling.has_put_off and not answers):
                    return self._meanwhile()
            self._note_slow_call(perf_counter() - before, compiling, args)
            if isinstance(found, Specialisation) and not known.spares_traces:
                known.given_up = None
                site.become(Served.COMPILED if found.root.end is None else Served.TREE)
        except (JitrtError, Warning):
            raise
        except LoopsWanted as error:
            wanted = error.with_traceback(None)
        except TooMany as error:
            found = Plain(str(error))
        except Exception as error:  # nothing has run yet
            found = internal_error(self.__name__, error)
        if found is None:  # not where it is caught: it would be the context of what the function raises
            assert wanted is not None
            return self._with_loops(site, by_position, args, kwargs, wanted)
        if isinstance(found, Specialisation):
            return traced.run(found, call, answers)
        if by_position is not None and self._loops.active:
            result = self._called_loops(by_position)
            if result is LATER:
                return self._meanwhile()
            if result is not MISS:
                site.become(Served.STAGED)
                self._serve_loops(by_position)
                return result
        promises = self._options.donate or self._options.frozen  # which name parameters
        alike = None if promises else self._compiled_alike
        if alike is not None and self._labelled is None and has_labels(args, kwargs):
            self._labelled = LabelledCalls(self._function, alike)
            result = self._with_labels(args, kwargs)
            if result is not MISS:
                return result
        self._fall_back(site, found)
        return traced.run_plain(found, call)

    def _with_labels(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call with arrays of the same labels, or `MISS`."""
        assert self._labelled is not None
        result = self._labelled.call(args, kwargs)
        if result is not MISS:
            self._traced.last = None
        return result

    @staticmethod
    def _is_spared(found: Specialisation, is_new: bool) -> bool:
        """Whether a call runs plain while kernels are compiled; behind the last such call they are waited for."""
        if is_new and found.root.end is None:  # else its trace has waited for some already
            found.spared = policy.PUT_OFF_CALLS
        if found.spared is None:
            return False
        if found.spared:
            found.spared -= 1
            return True
        found.compiled.program.get_ready()
        found.spared = None
        return False

    def _wanting_loops(
        self, by_position: tuple | None, tries_loops: bool = True
    ) -> contextlib.AbstractContextManager[None]:
        """Where a trace of a call ends with `LoopsWanted`: not where procedures do not take the arguments."""
        if by_position is None:
            return wanting_loops(False)
        unrolled = self._loops.leaves(by_position)
        varying = (tries_loops and unrolled) or self._are_calls(by_position)
        return wanting_loops(tries_loops, unrolled, isinstance(self._loops, NoLoops), varying)

    def _are_calls(self, by_position: tuple) -> bool:
        """Whether procedures do not pay, since most of what the loops do are calls that NumPy executes."""
        return not config.strict() and self._loops.reason(by_position).startswith(BY_CALLS)

    def _with_loops(
        self, site: Site, by_position: Any, args: tuple, kwargs: dict[str, Any], wanted: LoopsWanted
    ) -> Any:
        """The result of a call of a function that is better made of loops over elements, if it can be.

        These are operations of its own, or loops, also of functions that it calls.
        """
        self._take_loops(wanted.is_unrolled)
        result = self._called_loops(by_position)
        if result is LATER:
            return self._meanwhile()
        if result is MISS:
            if wanted.varies and self._are_calls(by_position):  # each would take a trace
                plain = Plain(self._loops.reason(by_position), is_passing=True)
                self._fall_back(site, plain)
                return self._tally.hand_back(plain.reason)
            site.tries_loops = False
            return self._call(args, kwargs)
        site.become(Served.STAGED)
        self._serve_loops(by_position, args)
        return result

    def _called_loops(self, by_position: Any) -> Any:
        """What a procedure gives that takes the place of the plain function."""
        with Compilation(self.__name__, self._may_put_off):
            return self._loops.call(by_position, instead_of_plain=True)

    def _meanwhile(self) -> object:
        """A call runs plain while a thread compiles."""
        self._traced.last = MEANWHILE
        return self._tally.hand_back(MEANWHILE.reason)

    def _take_loops(self, has_loops: bool) -> None:
        """Have procedures, also where the function itself has no loops."""
        if isinstance(self._loops, NoLoops) and hasattr(self._function, "__code__"):
            from ..runtime.stagedloops import LoopEngine

            self._loops = LoopEngine(self._function, self._options.rounding, has_loops, self._options.threads)

    def _site(self, kind: Hashable) -> Site:
        """The state of calls of that kind."""
        site = self._sites.get(kind)
        if site is None:
            if len(self._sites) >= policy.KINDS:
                self._sites.pop(next(iter(self._sites)), None)
            site = self._sites[kind] = Site()
        return site

    @property
    def _may_wait(self) -> bool:
        """Whether first calls may run plain: nobody asks, and NumPy's results are those of later calls."""
        if self._options.rounding.wide_constants:
            return False
        return not config.strict() and (self._options.on_plain or config.on_plain()) == "ignore"

    @property
    def _may_put_off(self) -> bool:
        """Whether first calls may run plain while a thread compiles: none of them calls the function in turn."""
        return not self._names_itself and self._tally.is_outermost and self._may_wait

    def _tell(self, plain: Plain | None) -> None:
        """Warn that the plain function runs, once for each reason, or raise, as the user has asked for."""
        wanted = self._options.on_plain or config.on_plain()
        if wanted == "ignore" or plain is None or plain.raises:
            return
        found = advice(plain.reason, self._loops.refusal)
        helps = f"; what helps: {found.rewrite} ({found.page})" if found.rewrite else ""
        text = f"{self.__name__} runs as plain NumPy: {plain.reason}{helps}"
        if wanted == "raise":
            raise JitrtPerformanceWarning(text)
        if plain.reason not in self._told:
            self._told.add(plain.reason)
            warn(text)

    def _fall_back(self, site: Site, plain: Plain, at_once: bool = False) -> None:
        """A call runs the plain function, and if wanted the next ones without a look at them."""
        known = self._specialisations
        self._tally.loops = self._loops.refusal
        with contextlib.suppress(MemoryError):  # of which the plain function may need less
            self._tell(plain)
            self._traced.last = plain
            site.become(Served.FALLBACK, plain, known.calls_between_looks, at_once or plain is known.given_up)

    def _spare(self, site: Site, args: tuple, kwargs: dict[str, Any]) -> None:
        """A call runs the plain function without a look at it; let native code do so until the next look is due."""
        self._traced.last = site.plain
        self._tell(site.plain)
        if self._loops.serving:
            return
        try:
            with self._lock:
                if self._falling_back is not None:
                    self._falling_back.backoff.spared += self._dispatch.end_fallback()
                if site.table is None:
                    site.table = make_fallback_table(self._function, args, kwargs)
                self._falling_back, calls = site, site.backoff.spared
                if calls > 0 and site.table is not None:
                    site.backoff.spared = 0
                    self._dispatch.fall_back(site.table, calls)
        except Exception as error:  # the plain function runs all the same
            internal_error(self.__name__, error, STAYS_IN_PYTHON)

    def _end_fallback(self, kind: Hashable) -> None:
        """Look at the next call of that kind."""
        site = self._sites.pop(kind, None)
        if site is not None and site is self._falling_back:
            self._dispatch.end_fallback()
            self._falling_back = None

    def _serve_loops(self, by_position: tuple, args: tuple | None = None, always: bool = True) -> None:
        """Let native code run the procedure that has served a call, or the plain function where that is faster."""
        try:
            with self._lock:
                may_be_short = always or self._loops.may_be_short()
                tables = self._loops.tables(by_position)
                if tables is not None:
                    self._dispatch.serve_procedures(tables)
            captures = self._loops.faster_plain(args, self) if may_be_short and args is not None else None
            if captures is None or args is None:
                return
            with self._lock:
                leaves: list[Any] = []
                if any(type(a) in (list, str) and len(a) > policy.GUARDED_ELEMENTS for a in args):
                    self._loops.note_short(args)
                    return
                call = TakenApart(flatten_call(args, {}, (), leaves, NOT_GROWING), leaves)
                table = make_plain_table(self._function, call, places_of(captures), ())
                if table is not None:
                    self._dispatch.add(_SHORT, table, args, {})
        except Exception as error:  # the call itself has ended well
            if is_users_own(error):
                raise
            internal_error(self.__name__, error, STAYS_IN_PYTHON)

    def _loops_of(self, args: tuple, reason: str = "", rolled: bool | None = None) -> tuple[LoopLine, ...]:
        """What became of each loop of the function in calls like this one.

        Parameters
        ----------
        args : tuple
        reason : str
            Why the plain function runs; empty if it does not.
        rolled : bool, optional
            Where the function is traced, whether there are loops in its graph.
        """
        from ..frontend.control.looplines import loop_lines

        refused = self._loops.reason(args)
        unrolled = self._loops.unrolled(args) if rolled is None and not reason else frozenset[int]()

        def fate(line: int) -> str:
            if reason:
                return "in Python"
            if rolled is None:
                return "unrolled: its values are of different kinds" if line in unrolled else "compiled as a loop"
            if rolled:
                return "compiled as a loop over whole arrays where its iterations record the same"
            return "unrolled: each iteration is recorded by itself"

        return loop_lines(self._function, fate, refused)

    def _note_slow_call(self, seconds: float, compiling: Compilation, args: tuple, is_staged: bool = False) -> None:
        """Say which stage, and which loop, has made a first call slow, and what would help."""
        if seconds < policy.SLOW_CALL:
            return
        loops = self._loops_of(args, "", None if is_staged else False)
        where = f" ({loops[0]})" if loops else ""
        longest = max(compiling.seconds, key=compiling.seconds.__getitem__, default="")
        most = f", {compiling.seconds[longest]:.1f} s of them to {STAGES[longest]}" if longest else ""
        if is_staged:
            helps = "all its loops are one procedure: put a part that stands in no loop into a jit function of its own"
        elif loops:
            helps = "replace the loop by an operation on whole arrays, or put it into a jit function of its own"
        else:
            helps = "put parts of it into jit functions of their own: each is compiled by itself"
        _log.warning("%s: it took %.1f s to compile%s%s; %s", self.__name__, seconds, most, where, helps)

    def clear(self) -> None:
        """Forget all calls, and free the frames. Kernels stay, so that nothing has to be compiled again."""
        with self._lock:
            self._specialisations.clear()
            self._dispatch.serve_procedures([])
            self._begin()

    def release(self) -> None:
        """Free the frames of all specialisations. The next call allocates one."""
        super().release()
        with self._lock:
            self._dispatch.serve_procedures([])
        self._loops.release()
        for found in self._specialisations.compiled():
            found.compiled.program.release()

    def after_fork(self) -> None:
        super().after_fork()
        self._traced.after_fork(self._lock)

    @property
    def plain_reason(self) -> str:
        """Why the last call ran the plain function; empty if it was compiled, or if there was none.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def twice(x):
        ...     return 2 * x
        >>> _ = twice(np.array([1, "one"], object))
        >>> twice.plain_reason
        'takes an array of object, which has no kernels'
        >>> _ = twice(np.ones(500))
        >>> twice.plain_reason
        ''
        """
        served = self._dispatch.last()
        if self._falling_back is not None and served is self._falling_back.table:
            served = self._falling_back.plain
        plain = self._traced.last if served is None else served
        return plain.reason if isinstance(plain, Plain) else ""


def _is_debugged() -> bool:
    """Whether a debugger goes through the lines that this thread runs: it wants to see each of them once."""
    bdb = sys.modules.get("bdb")
    return bdb is not None and isinstance(getattr(sys.gettrace(), "__self__", None), bdb.Bdb)
