"""From a call of a decorated function to what serves it: native code, a specialisation, or the plain function."""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .. import config
from ..base.atwork import at_work, is_at_work, is_users_own
from ..errors import HalfDone, JitrtError, JitrtPerformanceWarning, NotWorthwhile, Untraceable, is_passing
from ..frontend.arguments import Growing, Structure, flatten_call
from ..frontend.context import current
from ..frontend.integers import IntegerWanted
from ..frontend.numpy.draws import drawing
from ..frontend.numpy.tracer import Tracer
from ..frontend.python.captures import Captures
from ..frontend.storage import ReadOnly
from ..ir.ops.contractions import Call as HostedCall
from ..ir.ops.contractions import answered
from ..programs import expect_compiles, note_call
from ..runtime.dispatch import NativeCallable
from ..runtime.entry import make_fallback_table, make_plain_table
from ..runtime.errstate import FloatingPointRaised
from ..runtime.guards import TakenApart
from ..runtime.loopengine import MISS, loop_engine
from .lookup import Specialisations, take_apart
from .policy import MOST_KINDS, Fallback, kind_of_call
from .segments import Programs
from .tracing import Call, internal_error, trace_and_run
from .tree import TOO_SMALL, NewPath, Plain, Specialisation, places_of

if TYPE_CHECKING:
    from ..frontend.control.looplines import LoopLine

_log = logging.getLogger("jitrt.trace")

_PLAIN_CALLS = 16  # that Python serves before native code does, of a function that runs plain whatever its arguments
_MOST_SLOW_CALLS = 64  # of a specialisation, while native code serves none
_SLOW_CALL = 2.0  # seconds
_STAYS_IN_PYTHON = "goes through Python in every call of that kind"


class ServedFunction(NativeCallable):
    """A function whose calls native code serves; where it cannot, Python finds or makes what can.

    Parameters
    ----------
    function : callable
        The plain function.
    threads : int, optional
        Most threads that its kernels may use.
    donate : sequence of str
        Names of parameters whose arrays may be overwritten.
    """

    def __init__(self, function: Callable[..., Any], threads: int | None = None, donate: Sequence[str] = ()):
        super().__init__()
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__jitrt_function__ = function
        self._function = function
        self._threads = threads
        self._donate = tuple(donate)
        self._slow_calls = 0
        self._begin()
        self._is_new = self._specialisations.plain is None and expect_compiles(function)

    def _begin(self) -> None:
        """Know nothing of any call."""
        self._programs = Programs(self._threads)
        self._specialisations = Specialisations(
            self._function, self.__name__, self._programs, self._donate, self._dispatch, self._lock
        )
        self._loops = loop_engine(self._function)
        self._fallbacks: dict[Hashable, Fallback] = {}  # by the kind of calls
        self._falling_back: Fallback | None = None  # what native code serves without a look at it
        self._last: Plain | None = None  # why Python let the last call that it served run plain
        self._plain_calls = 0
        if config.disabled():
            self._specialisations.run_plain("JITRT_DISABLE is set")

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call that native code does not serve."""
        if is_at_work() or _is_debugged():  # in a signal handler or a finaliser, or of a function that is being traced
            return self._function(*args, **kwargs)
        known = self._specialisations
        self._slow_calls += 1
        self._dispatch.note_python()
        self._last = None
        if self._is_new:
            self._is_new = False
            note_call(self._function)
        try:
            by_position = self._loops.by_position(args, kwargs) if self._loops.active else None
        except MemoryError:  # of which the plain function may need less
            return self._function(*args, **kwargs)
        if self._loops.answering and by_position is not None:
            result = self._loops.serve(by_position)
            if result is not MISS:
                if self._serve_loops(by_position):
                    self._serve_short_calls(args)
                return result
        if known.plain is not None:
            self._last = known.plain
            self._plain_calls += 1
            if self._plain_calls >= _PLAIN_CALLS and not self._loops.serving:
                self._dispatch.serve_plain(self._function)
            return self._function(*args, **kwargs)
        try:
            kind = kind_of_call(args, kwargs)
            fallback = self._fallbacks.get(kind)
            is_spared = fallback is not None and fallback.holds and not fallback.is_look_due()
        except Exception as error:
            if is_users_own(error):
                raise
            self._last = internal_error(self.__name__, error)
            return self._function(*args, **kwargs)
        if fallback is not None and is_spared:
            self._last = fallback.plain
            self._fall_back(fallback, args, kwargs)
            return self._function(*args, **kwargs)
        leaves: list[Any] = []
        failures: list[Exception] = []  # taken out of this frame, since their tracebacks lead to it and its arguments
        try:
            structure = known.take_apart(args, kwargs, leaves)
        except Exception as error:
            failures.append(error)
        if failures:
            self._note_plain(internal_error(self.__name__, failures.pop()), kind)
            return self._function(*args, **kwargs)
        if current() is not None or any(type(leaf) is Tracer for leaf in leaves):
            return self._function(*args, **kwargs)  # inside of another function's trace
        if by_position is not None and self._loops.active:
            result = self._loops.call(by_position)
            if result is not MISS:
                self._note_slow_call(self._loops.compile_seconds, by_position, True)
                self._serve_loops(by_position)
                self._serve_short_calls(args)
                return result
        answers: dict[HostedCall, Any] = {}
        try:
            structure = known.take_all_apart(args, kwargs, leaves, structure)
            before = perf_counter()
            found = known.find(leaves, structure, answers)
            self._note_slow_call(perf_counter() - before, args)
            if isinstance(found, Specialisation) and not known.spares_traces:
                known.given_up = None
                if fallback is not None:
                    fallback.note_compiled()
        except (JitrtError, Warning):
            raise
        except Exception as error:  # nothing has run yet
            found = internal_error(self.__name__, error)
        if isinstance(found, Plain) and not kwargs and self._loops.active:
            result = self._loops.call(args, instead_of_plain=True)
            if result is not MISS:
                self._serve_loops(args)
                return result
        if isinstance(found, Plain):
            if found.error is not None:
                failures.append(found.error)
                found.error = None
            self._note_plain(found, kind)
            self._note_plain_call(found, args, kwargs, leaves, structure)
            return self._run_plain(failures, args, kwargs)
        try:
            if found.is_changing:
                raise NewPath
            with answered(answers):
                result = found.call(leaves, (args, kwargs, known.state()))
        except NewPath:
            return self._take_a_new_path(found, leaves, structure, args, kwargs)
        except Exception as error:
            failures.append(error)
        if failures:
            # Native code knows when to try kernels again; what a call may overwrite depends on the error state.
            if isinstance(failures[0], FloatingPointRaised) and not self._donate:
                self._serve_natively(found, args, kwargs, leaves, structure)
            return self._serve_plain(found, failures.pop(), args, kwargs)
        self._serve_natively(found, args, kwargs, leaves, structure)
        return result

    def _run_plain(self, failures: list[Exception], args: tuple, kwargs: dict[str, Any]) -> Any:
        """The plain function's result, after a trace with these failures: they are ours if it does not fail."""
        try:
            result = self._function(*args, **kwargs)
            if failures and not is_passing(failures[0]) and not isinstance(failures[0], ReadOnly):
                internal_error(self.__name__, failures[0])
            return result
        finally:
            failures.clear()  # their tracebacks lead to frames that lead to them

    def _take_a_new_path(
        self, found: Specialisation, leaves: list[Any], structure: Structure, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        """A call that sees other values than earlier ones: trace it, and remember its path."""
        known = self._specialisations
        if not found.is_changing:
            found.new_paths += 1
            if found.is_changing and (integers := found.integers(leaves)):  # which may be why
                known.integers.fix(structure, integers)
                known.replace(found, None)
                return self._function(*args, **kwargs)
            if found.is_changing:
                self._note_changing_values(found)
        if found.is_changing and not found.gains_anyway:
            return self._function(*args, **kwargs)
        try:
            with drawing(leaves):
                arguments = (args, kwargs, known.state())
                captures, shared, integers = known.current_captures(), found.sharing, found.integers(leaves)
                call = Call(self._function, self.__name__, leaves, structure, captures, shared, (), integers)
                return trace_and_run(call, found, self._programs, known.unsteady, arguments)
        except FloatingPointRaised:
            pass
        except IntegerWanted as wanted:
            known.fix(structure, wanted, len(leaves))
            known.replace(found, None)
        except HalfDone as error:
            raise error.failure from None
        except (Exception, Untraceable, NotWorthwhile) as reason:
            if not isinstance(reason, Untraceable) and is_users_own(reason):
                raise
            _log.info("%s runs as plain NumPy: %s", self.__name__, reason)
        return self._function(*args, **kwargs)

    def _note_changing_values(self, found: Specialisation) -> None:
        """Say that a function is traced at every call from now on, or runs plain where that does not pay."""
        reason = "the values that it looks at are different in nearly every call"
        what = "is traced at every call" if found.gains_anyway else "runs as plain NumPy"
        _log.info("%s %s: %s", self.__name__, what, reason)
        warnings.warn(f"{self.__name__} {what}: {reason}", JitrtPerformanceWarning, stacklevel=5)
        if not found.gains_anyway:
            self._specialisations.replace(found, Plain(reason))

    def _serve_natively(
        self,
        found: Specialisation | Plain,
        args: tuple,
        kwargs: dict[str, Any],
        leaves: list[Any],
        structure: Structure,
    ) -> None:
        """Let native code serve further calls like this one, which had these leaves."""
        with self._lock:
            try:
                try:
                    if self._dispatch.wants(found):
                        with at_work():
                            self._add_table(found, args, kwargs, leaves, structure)
                except Untraceable:  # what it reads from outside is something else now
                    self._dispatch.refuse(found)
                if isinstance(found, Specialisation) and self._is_slow(found) and found.is_short:
                    self._specialisations.replace(found, Plain(TOO_SMALL, is_passing=True))
            except Exception as error:  # the call itself has ended well
                if is_users_own(error):
                    raise
                if not is_passing(error):
                    self._dispatch.refuse(found)
                internal_error(self.__name__, error, _STAYS_IN_PYTHON)

    def _is_slow(self, found: Specialisation) -> bool:
        """Whether native code cannot serve calls for `found`, or has served none of many."""
        found.slow_calls += 1
        if found.slow_calls % _MOST_SLOW_CALLS:
            return self._dispatch.refuses(found)
        return not self._dispatch.has_served(found)

    def _add_table(
        self,
        found: Specialisation | Plain,
        args: tuple,
        kwargs: dict[str, Any],
        leaves: list[Any],
        structure: Structure,
    ) -> None:
        """Let native code serve calls like this one on behalf of `found`, if it can."""
        captures = self._specialisations.current_captures()
        call = TakenApart(structure, leaves, places_of(captures.state))
        function = self._function
        if isinstance(found, Specialisation) and found.compiled.whole is not None:
            function = self._served_whole(found)
        table = found.table(function, call, captures)
        if table is None and isinstance(found, Specialisation) and not found.only_native:
            table = found.guards(self._served_by(found, structure, captures), call, captures)
        if not captures.unchanged() or found not in self._specialisations:
            return
        if table is not None:
            self._dispatch.add(found, table, args, kwargs)
        elif isinstance(found, Specialisation):
            self._dispatch.refuse(found)

    def _served_whole(self, found: Specialisation) -> Callable[..., Any]:
        """What native code calls where kernels cannot go on, and `found` leaves out what nothing reads."""

        def serve(*args: Any, **kwargs: Any) -> Any:
            if not is_at_work():
                found.compiled.leave_nothing_out()
                with self._lock:
                    self._dispatch.remove(found)
            return self._call(args, kwargs)

        return serve

    def _served_by(self, found: Specialisation, structure: Structure, captures: Captures) -> Callable[..., Any]:
        """What Python does in calls for which native code has found out that `found` serves them."""
        is_flat = all(part is None for part in (*structure[1][0][1], *structure[1][1][2], *structure[1][2][1]))

        def serve(*args: Any, **kwargs: Any) -> Any:
            leaves = [*args, *kwargs.values()]
            failures: list[Exception] = []  # as in `_call`
            if not is_flat:
                leaves.clear()
                take_apart(args, kwargs, leaves, captures)
            if found.is_changing or (found.may_write and found.shares(leaves)):
                return self._call(args, kwargs)
            try:
                return found.call(leaves, (args, kwargs, captures.containers()))
            except NewPath:
                return self._call(args, kwargs)
            except Exception as error:
                failures.append(error)
            return self._serve_plain(found, failures.pop(), args, kwargs)

        return serve

    def _serve_plain(self, found: Specialisation, failure: Exception, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The plain function's result, or NumPy's own exception or warning at the user's line."""
        if is_users_own(failure):
            raise failure
        if isinstance(failure, HalfDone):
            raise failure.failure from None
        leaves: list[Any] = []
        structure = self._specialisations.take_apart(args, kwargs, leaves)
        self._dispatch.note_python()
        self._last = Plain(f"compiled code has ended with {type(failure).__name__}, of which the plain function tells")
        result = self._function(*args, **kwargs)
        if not isinstance(failure, FloatingPointRaised):
            self._specialisations.forget(found, failure, leaves, structure)
        return result

    def _serve_loops(self, args: tuple) -> bool:
        """Let native code run the procedure that has served a call; whether to find out if such calls are too short."""
        with self._lock:
            try:
                may_be_short = self._loops.may_be_short()
                tables = self._loops.tables(args)
                if tables is not None:
                    self._dispatch.serve_procedures(tables)
                return may_be_short
            except Exception as error:  # the call itself has ended well
                if is_users_own(error):
                    raise
                internal_error(self.__name__, error, _STAYS_IN_PYTHON)
                return False

    def _serve_short_calls(self, args: tuple) -> None:
        """Let native code call the plain function where even compiled loops over elements are not faster."""
        try:
            captures = self._loops.faster_plain(args, self)
            if captures is None:
                return
            with self._lock:
                leaves: list[Any] = []
                call = TakenApart(flatten_call(args, {}, (), leaves, Growing()), leaves)
                table = make_plain_table(self._function, call, places_of(captures), ())
                if table is not None:
                    self._dispatch.add(Plain("such calls are too short for compiled code"), table, args, {})
        except Exception as error:  # the call itself has ended well
            if is_users_own(error):
                raise
            internal_error(self.__name__, error, _STAYS_IN_PYTHON)

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
        why = f"; not as a procedure: {refused}" if refused else ""
        unrolled = self._loops.unrolled(args) if rolled is None and not reason else frozenset[int]()

        def what(line: int) -> str:
            if reason:
                return f"in NumPy: {reason}{why}"
            if rolled is None:
                return "unrolled: its values are of different kinds" if line in unrolled else "compiled as a loop"
            if rolled:
                return f"compiled as a loop over whole arrays where its iterations record the same{why}"
            return f"unrolled: each iteration is recorded by itself{why}"

        return loop_lines(self._function, what)

    def _note_slow_call(self, seconds: float, args: tuple, is_staged: bool = False) -> None:
        """Say which loop has made a first call slow, and what would help."""
        if seconds < _SLOW_CALL:
            return
        loops = self._loops_of(args, "", None if is_staged else False)
        what = f"; {loops[0]}" if loops else ""
        if is_staged:
            what += (
                ". All its loops are one procedure: fewer statements in it would help, or a function of its own, with"
            )
            what += " its own decorator, for a part that no loop is around"
        elif loops:
            what += ". One operation on whole arrays in its place would help, or a function of its own for the loop,"
            what += " without what is no procedure"
        else:
            what = "; parts of it as functions of their own are compiled each by itself"
        _log.warning("%s: it took %.1f s to compile it%s", self.__name__, seconds, what)

    def clear(self) -> None:
        """Forget all calls, and free the frames. Kernels stay, so that nothing has to be compiled again."""
        with self._lock:
            self._specialisations.clear()
            self._dispatch.serve_procedures([])
            self._begin()

    def release(self) -> None:
        """Free the frames of all specialisations. The next call allocates one."""
        super().release()
        self._dispatch.serve_procedures([])
        self._loops.release()
        for found in self._specialisations.compiled():
            found.compiled.program.release()

    def after_fork(self) -> None:
        super().after_fork()
        self._specialisations.after_fork(self._lock)

    def _note_plain_call(
        self, found: Plain, args: tuple, kwargs: dict[str, Any], leaves: list[Any], structure: Structure
    ) -> None:
        """Spare the next calls like this one the search."""
        try:
            if found in self._specialisations:
                self._serve_natively(found, args, kwargs, leaves, structure)
        except Exception as error:  # the plain function runs all the same
            internal_error(self.__name__, error, _STAYS_IN_PYTHON)

    def _note_plain(self, found: Plain, kind: Hashable) -> None:
        """A call of that kind runs plain."""
        known, fallbacks = self._specialisations, self._fallbacks
        self._last = found
        if kind not in fallbacks and len(fallbacks) >= MOST_KINDS:
            fallbacks.pop(next(iter(fallbacks)))
        fallbacks.setdefault(kind, Fallback()).note_plain(found, known.calls_between_looks, found is known.given_up)

    def _fall_back(self, fallback: Fallback, args: tuple, kwargs: dict[str, Any]) -> None:
        """Let native code run the plain function in calls of one kind, until it is time for a look at one of them."""
        if self._loops.serving:
            return
        try:
            with self._lock:
                if self._falling_back is not None:
                    self._falling_back.calls -= self._dispatch.end_fallback()
                if fallback.table is None:
                    fallback.table = make_fallback_table(self._function, args, kwargs)
                self._falling_back = fallback
                calls = fallback.calls_to_next_look()
                if calls and fallback.table is not None:
                    fallback.calls += calls
                    self._dispatch.fall_back(fallback.table, calls)
        except Exception as error:  # the plain function runs all the same
            internal_error(self.__name__, error, _STAYS_IN_PYTHON)

    def _end_fallback(self, kind: Hashable) -> None:
        """Look at the next call of that kind."""
        fallback = self._fallbacks.pop(kind, None)
        if fallback is not None and fallback is self._falling_back:
            self._dispatch.end_fallback()
            self._falling_back = None

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
        >>> _ = twice(np.ones(5))
        >>> twice.plain_reason
        ''
        """
        served = self._dispatch.last()
        if self._falling_back is not None and served is self._falling_back.table:
            served = self._falling_back.plain
        plain = self._last if served is None else served
        return plain.reason if isinstance(plain, Plain) else ""


def _is_debugged() -> bool:
    """Whether a debugger goes through the lines that this thread runs: it wants to see each of them once."""
    bdb = sys.modules.get("bdb")
    return bdb is not None and isinstance(getattr(sys.gettrace(), "__self__", None), bdb.Bdb)
