"""Calls of one function that traced programs serve: run, followed along new paths, and handed to native code."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import policy
from ..base.atwork import at_work, is_at_work, is_users_own
from ..errors import HalfDone, NotWorthwhile, Untraceable, is_passing
from ..frontend.integers import IntegerWanted
from ..frontend.numpy.draws import drawing
from ..frontend.python.captures import Captures
from ..frontend.storage import ReadOnly
from ..ir.ops.contractions import Call as HostedCall
from ..ir.ops.contractions import answered
from ..ir.worthwhile import BY_NUMPY
from ..runtime.dispatch import Dispatch
from ..runtime.errstate import FloatingPointRaised
from ..runtime.frames import NewSizes
from ..runtime.guards import TakenApart
from ..runtime.tally import Tally
from ..values.kinds import Tree
from .lookup import Specialisations, take_apart
from .options import Options
from .segments import Programs
from .tracing import Call, internal_error, trace_and_run, warn_if_asked
from .tree import TOO_SMALL, NewPath, Plain, Specialisation, places_of

_log = logging.getLogger("jitrt.trace")

_NEW_SIZES = Plain(f"{BY_NUMPY}, and the arrays have sizes that are new", is_passing=True)
_NEW_PATH = "a value that it looks at has led elsewhere"
_CHANGING = "the values that it looks at are different in nearly every call"
STAYS_IN_PYTHON = "goes through Python in every call of that kind"


class TracedCalls:
    """The traced programs of one function at work.

    Parameters
    ----------
    function : callable
        The plain function.
    name : str
    threads : int, optional
        Most threads that its kernels may use.
    donate : sequence of str
        Names of parameters whose arrays may be overwritten.
    dispatch : Dispatch
        The tables by which native code serves calls.
    lock : lock
        Held while any of this changes.
    call : callable
        Serves a call from the beginning, of a tuple and a dict.
    tally : Tally
        Counts calls that run plain.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        options: Options,
        dispatch: Dispatch,
        lock: threading.RLock,
        call: Callable[[tuple, dict[str, Any]], Any],
        tally: Tally,
    ):
        self._function, self._name, self._dispatch, self._lock, self._call = function, name, dispatch, lock, call
        self._donates, self._tally = bool(options.donate), tally
        self.programs = Programs(options.threads, options.rounding)
        self.known = Specialisations(function, name, self.programs, options, dispatch, lock)
        self.last: Plain | None = None
        """Why the plain function has ended a call that a program had begun."""

    def after_fork(self, lock: threading.RLock) -> None:
        """Make it usable in a child process, in which `lock` takes the place of the lock."""
        self._lock = lock
        self.known.after_fork(lock)

    def taken(self, args: tuple, kwargs: dict[str, Any]) -> TakenApart:
        """A call, taken apart with what the function names now."""
        leaves: list[Any] = []
        tree = self.known.take_apart(args, kwargs, leaves)
        return TakenApart(self.known.take_all_apart(args, kwargs, leaves, tree), leaves, (), args, kwargs)

    def run(self, found: Specialisation, call: TakenApart, answers: dict[HostedCall, Any]) -> Any:
        """The result of a call for which `found` was found; `answers` are what NumPy gave on the way to that."""
        failures: list[Exception] = []  # taken out of this frame, since their tracebacks lead to it and its arguments
        try:
            if found.is_changing:
                raise NewPath
            with answered(answers):
                result = found.call(call.leaves, (call.args, call.kwargs, self.known.state()))
        except NewPath:
            return self._take_a_new_path(found, call)
        except Exception as error:
            failures.append(error)
        if failures:
            # Native code knows when to try kernels again; what a call may overwrite depends on the error state.
            if isinstance(failures[0], (FloatingPointRaised, NewSizes)) and not self._donates:
                self.serve_natively(found, call)
            return self._serve_plain(found, failures.pop(), call.args, call.kwargs)
        self.serve_natively(found, call)
        return result

    def run_plain(self, found: Plain, call: TakenApart) -> Any:
        """Leave a call to the plain function, where `found` says why.

        Failures of the trace are ours if the function does not fail.
        """
        failures = [] if found.error is None else [found.error]
        found.error = None
        found.calls += 1
        try:
            if found.calls >= policy.CALLS_TO_TABLE and found in self.known:  # spare the next ones the search
                self.serve_natively(found, call)
        except Exception as error:  # the plain function runs all the same
            internal_error(self._name, error, STAYS_IN_PYTHON)
        if not failures or is_passing(failures[0]) or isinstance(failures[0], ReadOnly):
            failures.clear()
            return self._tally.hand_back(found.reason)
        try:
            with self._tally.runs_plain(found.reason):
                result = self._function(*call.args, **call.kwargs)
            if not self.known.catches():  # or it has gone another way, on which nothing fails
                internal_error(self._name, failures[0])
            return result
        finally:
            failures.clear()  # their tracebacks lead to frames that lead to them

    def _take_a_new_path(self, found: Specialisation, taken: TakenApart) -> Any:
        """A call that sees other values than earlier ones: trace it, and remember its path."""
        known = self.known
        structure, leaves, _, args, kwargs = taken
        reason = _NEW_PATH
        if not found.is_changing:
            found.new_paths += 1
            if found.is_changing and (integers := found.integers(leaves)):  # which may be why
                known.integers.fix(structure, integers)
                known.replace(found, None)
                return self._tally.hand_back(reason)
            if found.is_changing:
                self._note_changing_values(found)
        if found.open_sizes is not None:
            return self._add_a_path(found, taken)
        if found.is_changing and not found.gains_anyway:
            return self._tally.hand_back(_CHANGING)
        try:
            with drawing(leaves):
                arguments = (args, kwargs, known.state())
                captures, shared, integers = known.current_captures(), found.sharing, found.integers(leaves)
                rounding = self.programs.rounding
                call = Call(
                    self._function,
                    self._name,
                    leaves,
                    structure,
                    captures,
                    shared,
                    integers=integers,
                    rounding=rounding,
                )
                return trace_and_run(call, found, self.programs, known.unsteady, arguments)
        except FloatingPointRaised:
            pass
        except IntegerWanted as wanted:
            known.fix(structure, wanted, len(leaves))
            known.replace(found, None)
        except HalfDone as error:
            raise error.failure from None
        except (Exception, Untraceable, NotWorthwhile) as error:
            if not isinstance(error, Untraceable) and is_users_own(error):
                raise
            reason = str(error)
            _log.info("%s runs as plain NumPy: %s", self._name, reason)
        return self._tally.hand_back(reason)

    def _add_a_path(self, found: Specialisation, taken: TakenApart) -> Any:
        """The same where programs serve any shape: the call runs once its path is known."""
        known = self.known
        structure, leaves, _, args, kwargs = taken
        if found.is_changing:
            known.replace(found, None)
            return self._tally.hand_back(_NEW_PATH)
        captures, sizes = known.current_captures(), found.sizes
        integers, rounding = found.integers(leaves) | sizes, self.programs.rounding
        call = Call(self._function, self._name, leaves, structure, captures, integers=integers, rounding=rounding)
        if known.extend(found, call):
            new_paths = found.new_paths
            with contextlib.suppress(NewPath, FloatingPointRaised):
                result = found.call(leaves, (args, kwargs, known.state()))
                found.new_paths = new_paths  # as a call along a known path sets it back
                return result
        return self._tally.hand_back(_NEW_PATH)

    def _note_changing_values(self, found: Specialisation) -> None:
        """Say that a function is traced at every call from now on, or runs plain where that does not pay."""
        what = "is traced at every call" if found.gains_anyway else "runs as plain NumPy"
        _log.info("%s %s: %s", self._name, what, _CHANGING)
        warn_if_asked(f"{self._name} {what}: {_CHANGING}")
        if not found.gains_anyway:
            self.known.replace(found, Plain(_CHANGING))

    def serve_natively(self, found: Specialisation | Plain, call: TakenApart) -> None:
        """Let native code serve further calls like this one."""
        with self._lock:
            try:
                try:
                    if self._dispatch.wants(found):
                        with at_work():
                            self._add_table(found, call)
                except Untraceable:  # what it reads from outside is something else now
                    self._dispatch.refuse(found)
                if isinstance(found, Specialisation) and self._is_slow(found) and found.is_short:
                    self.known.replace(found, Plain(TOO_SMALL, is_passing=True))
            except Exception as error:  # the call itself has ended well
                if is_users_own(error):
                    raise
                if not is_passing(error):
                    self._dispatch.refuse(found)
                internal_error(self._name, error, STAYS_IN_PYTHON)

    def _is_slow(self, found: Specialisation) -> bool:
        """Whether native code cannot serve calls for `found`, or has served none of many."""
        found.slow_calls += 1
        if found.slow_calls % policy.SLOW_CALLS:
            return self._dispatch.refuses(found)
        return not self._dispatch.has_served(found)

    def _add_table(self, found: Specialisation | Plain, taken: TakenApart) -> None:
        """Let native code serve calls like this one on behalf of `found`, if it can."""
        captures = self.known.current_captures()
        call = taken._replace(state=places_of(captures.state))
        function = self._function
        if isinstance(found, Specialisation) and found.compiled.whole is not None:
            function = self._served_whole(found)
        table = found.table(function, call, captures)
        if table is None and isinstance(found, Specialisation) and not found.is_short:
            table = found.guards(self._served_by(found, taken.structure, captures), call, captures)
        if not captures.unchanged() or found not in self.known:
            return
        if table is not None:
            self._dispatch.add(found, table, taken.args, taken.kwargs)
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

    def _served_by(self, found: Specialisation, structure: Tree, captures: Captures) -> Callable[..., Any]:
        """What Python does in calls for which native code has found out that `found` serves them."""
        is_flat = all(part is None for part in (part for parts in structure[2] for part in parts[2]))
        short_way = found.short_way() if is_flat else None
        if short_way is not None:
            return self._served_directly(found, short_way)

        def serve(*args: Any, **kwargs: Any) -> Any:
            leaves = [*args, *kwargs.values()]
            failures: list[Exception] = []  # as in `_call`
            if not is_flat:
                leaves.clear()
                # Native code knows but the class of what is not read, of which another value may have leaves.
                if take_apart(args, kwargs, leaves, captures) != structure:
                    return self._call(args, kwargs)
            if found.is_changing or (found.asks_what_is_shared and found.shares(leaves)):
                return self._call(args, kwargs)
            try:
                return found.call(leaves, (args, kwargs, captures.containers()))
            except NewPath:
                return self._call(args, kwargs)
            except Exception as error:
                failures.append(error)
            return self._serve_plain(found, failures.pop(), args, kwargs)

        return serve

    def _served_directly(self, found: Specialisation, short_way: Callable[[Sequence[Any]], Any]) -> Callable[..., Any]:
        """The same where arguments are leaves, and nothing but a program has to run."""

        def serve(*args: Any, **kwargs: Any) -> Any:
            failures: list[Exception] = []  # as in `_call`
            try:
                return short_way((*args, *kwargs.values()) if kwargs else args)
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
        self._dispatch.note_python()
        if isinstance(failure, NewSizes):
            self.last = _NEW_SIZES
            return self._tally.hand_back(_NEW_SIZES.reason)
        self.last = Plain(f"compiled code has ended with {type(failure).__name__}, of which the plain function tells")
        if isinstance(failure, FloatingPointRaised):
            return self._tally.hand_back(self.last.reason)
        leaves: list[Any] = []
        structure = self.known.take_apart(args, kwargs, leaves)
        with self._tally.runs_plain(self.last.reason):
            result = self._function(*args, **kwargs)
        self.known.forget(found, failure, leaves, structure)
        return result
