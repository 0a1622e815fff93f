"""Calls of functions with loops that are compiled as a whole: which procedure serves which call."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import policy
from ..base import collection
from ..base.atwork import at_work, is_users_own
from ..base.stages import enters
from ..errors import JitrtError, is_passing
from ..frontend.control.composites import classes_within, is_leaf, take_apart
from ..frontend.control.stage import MOST_WHOLE_BYTES, STATIC
from ..frontend.control.values import NotStaged, WholeArrays
from ..frontend.python.captures import Capture
from ..ir.rounding import EXACT, Rounding
from ..kernels.pool import MOST_WORKERS
from ..values.memory import nbytes
from .dispatch import Words
from .loopengine import MISS
from .stagedfunction import StagedCall, StagedFunction, TooLarge, check_failure, kind_of, sizes_of
from .trials import plain_is_faster
from .verdicts import keep_verdict, staged_name, verdict

_log = logging.getLogger("jitrt.trace")


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
        self._loops: dict[Any, list[StagedFunction]] = {}
        self._refused: dict[Any, str] = {}
        self._short: set[Any] = set()  # calls for which the plain function is faster, as it reads no lists beforehand
        self._left: set[Any] = set()  # refused because their loops work on whole arrays
        self._whole: set[Any] = set()  # where loops work on whole arrays
        self._lengths: dict[Any, set[tuple[int, ...]]] = {}  # of lists in calls that are left
        self.compile_seconds = 0.0
        self.active = True
        self.answering = self.serving = False
        self._made = 0
        self._backoff = policy.Backoff(free=policy.REFUSALS)
        self._served = 0
        self._latest: tuple[StagedFunction, StagedCall] | None = (
            None  # what has served a call in Python, and the call as it was
        )

    def call(self, args: tuple, instead_of_plain: bool = False) -> Any:
        """The result of a call, or `MISS` if the tracer or the plain function has to serve it.

        Loops over whole arrays are left to the tracer, unless it leaves them to the plain function.
        """
        self.compile_seconds = 0.0
        if not (self._has_loops or instead_of_plain):
            return self.serve(args)
        call, loop, failures = None, None, []
        try:
            call = self._taken(args)
            loop = self._find(call, instead_of_plain or self._has_varying_lists(call))
        except Exception as error:  # nothing has run yet
            if is_users_own(error) or isinstance(error, JitrtError):
                raise
            if not is_passing(error):
                failures.append(error)
        self._latest = None if loop is None or call is None else (loop, call)
        if failures:
            return self._run_plain(args, call, failures)
        return MISS if loop is None or call is None else loop.run(call)

    def _run_plain(self, args: tuple, call: StagedCall | None, failures: list[Exception]) -> Any:
        """What the plain function answers after a failure, which is ours if the function does not fail, too."""
        try:
            result = self._function(*args)
            self.active = False
            check_failure(failures[0], self._function)
            return result
        except Exception:
            if self.active and call is not None:
                self._refused[call.key] = f"{type(failures[0]).__name__}: {failures[0]}"
            raise
        finally:
            failures.clear()  # their tracebacks lead to frames that lead to them

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
            check_failure(error, self._function)
            return MISS
        return MISS if loop is None else loop.run(call)

    def tables(self, args: tuple) -> list[Words] | None:
        """All tables for native calls, if there are others since the call with these arguments; else None."""
        latest, self._latest = self._latest, None
        if latest is None:
            return None
        loop, call = latest  # which may have changed what its arguments hold
        if not (loop.address and loop.wants_table() and loop.renew_table(call, len(args))):
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
            if loop.address and loop.fits(call.leaves) and plain_is_faster(loop, call, serve):
                return [*loop.staged.captured, *loop.staged.arrays]
        return None

    def note_short(self, args: tuple) -> None:
        """Leave calls like this one to the plain function, which is faster."""
        self._short.add(sizes_of(args))

    def is_short(self, args: tuple) -> bool:
        """Whether a call is left to the plain function."""
        return bool(self._short) and sizes_of(args) in self._short

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

    def called(self, args: tuple) -> tuple[str, ...]:
        """Names of the functions that NumPy or Python executes for the procedure of `source`."""
        loop = self._find(self._taken(args), True)
        return () if loop is None else tuple(dict.fromkeys(step.title for step in loop.staged.steps))

    def reason(self, args: tuple) -> str:
        """Why calls with such arguments run no procedure; empty if they do."""
        return self._refused.get(self._taken(args).key, "")

    @property
    def refusal(self) -> str:
        """Why the latest calls that were looked at run no procedure; empty if all do."""
        return next(reversed(self._refused.values()), "")

    def leaves(self, args: tuple) -> bool:
        """Whether loops over whole arrays are left to the tracer in calls with such arguments."""
        call = self._taken(args)
        return self.active and (call.key in self._left or self._is_too_large(call))

    def _has_varying_lists(self, call: StagedCall) -> bool:
        """Whether lists among the arguments of calls that are left have had so many lengths that there will be more."""
        if call.key not in self._left or not any(type(a) is list for a in call.leaves):
            return False
        lengths = self._lengths.setdefault(call.key, set())
        lengths.add(tuple(len(a) for a in call.leaves if type(a) is list))
        return len(lengths) > policy.FEW_VALUES

    def _is_too_large(self, call: StagedCall) -> bool:
        """Whether loops over whole arrays are left to the tracer since the arrays are large."""
        return call.key in self._whole and nbytes(call.leaves) > MOST_WHOLE_BYTES

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

    @property
    def count(self) -> int:
        """How many procedures there are that serve calls."""
        return sum(not loop.refused for loop in self._all())

    def _all(self) -> Iterator[StagedFunction]:
        """All procedures."""
        return (loop for loops in list(self._loops.values()) for loop in loops)

    def _taken(self, args: tuple) -> StagedCall:
        """The arguments, with those that are given by default, and what they hold."""
        missing = self._function.__code__.co_argcount - len(args)
        defaults = self._function.__defaults__ or ()
        if 0 < missing <= len(defaults):
            args = (*args, *defaults[len(defaults) - missing :])
        for a in args:
            if not is_leaf(a):
                trees, leaves, versions = take_apart(args)
                if any(trees):
                    return StagedCall(args, (trees, versions, *[kind_of(v) for v in leaves]), leaves, trees)
                break
        return StagedCall(args, tuple([kind_of(a) for a in args]), args, None)

    def _find(self, call: StagedCall, instead_of_plain: bool = False) -> StagedFunction | None:
        args, key = call.leaves, call.key
        made = self._loops.get(key, ())
        for loop in made:
            if loop.fits(args):
                return None if loop.refused else loop
        if not instead_of_plain and self._is_too_large(call):
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
            values = [repr(a) if isinstance(a, STATIC) else "" for a in args]
            kinds = key if call.trees is None else (call.trees, key[2:])  # classes have other versions in each process
            name = staged_name(self._function, kinds, values, instead_of_plain, classes_within(call.trees or ()))
            known = None if name is None or instead_of_plain else verdict(name)
            if known is not None:
                raise WholeArrays if known[1] else NotStaged(known[0])
            with at_work(), collection.paused():
                loop = StagedFunction(
                    self._function, call, self._rounding, instead_of_plain, self._threads, self._has_loops,
                    name if call.trees is None else None,
                )  # fmt: skip
            self.compile_seconds = time.perf_counter() - start
            enters("")  # it runs next
        except TooLarge:
            self._whole.add(key)
            return None
        except NotStaged as reason:
            if isinstance(reason, WholeArrays):
                self._left.add(key)
            else:
                if str(reason) in self._refused.values():  # it follows from the code, whatever the arguments
                    self._backoff.failures = max(self._backoff.failures, policy.REFUSALS + 1)
                self._backoff.note(failed=True)
            self._refused[key] = str(reason)
            if reason.is_lasting and name is not None and not instead_of_plain:
                keep_verdict(name, str(reason), isinstance(reason, WholeArrays))
            _log.debug("%s: its loops are not compiled as such: %s", self._function.__name__, reason)
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
