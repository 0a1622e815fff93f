"""`jit`: the decorator, and the functions that it makes."""

from __future__ import annotations

import functools
import logging
import types
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from . import config
from .errors import HalfDone, JitrtError, JitrtPerformanceWarning, NotWorthwhile, Untraceable
from .expr.contractions import Call as HostedCall
from .expr.contractions import answered
from .lookup import Specialisations
from .pandas_engine import PandasEngine
from .pickling import reduced, stand_in
from .programs import expect_compiles, note_call
from .runtime import results
from .runtime.dispatch import NativeCallable, release_all
from .runtime.entry import make_plain_table
from .runtime.errstate import FloatingPointRaised
from .runtime.guards import TakenApart
from .runtime.loopengine import MISS, loop_engine
from .specialisation import TOO_SMALL, NewWay, Plain, Programs, Specialisation, places_of
from .specialise import Call, internal_error, trace_and_run
from .trace.arguments import Growing, Structure, copies_of, flatten_call, rebuild
from .trace.donation import check_names
from .trace.draws import drawing
from .trace.integers import IntegerWanted
from .trace.storage import ReadOnly
from .trace.trace import trace
from .trace.tracer import Tracer

if TYPE_CHECKING:  # what only people ask for is imported when they do
    from .aot import Stages
    from .explain import Explanation
    from .profile import Profile

_log = logging.getLogger("jitrt.trace")
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

# A function that was called this often and never ran compiled runs as plain NumPy, without the search: for good, or if
# its arrays were too small with a look at them after calls whose number is a power of two, and after so many of them.
_MOST_PLAIN_CALLS = 16
_PLAIN_CALLS_BETWEEN_LOOKS = 4096
_UNLIMITED = 1 << 62
_MOST_SLOW_CALLS = 64  # in a row of a specialisation that only native code is to serve

_STAYS_IN_PYTHON = "goes through Python in every call of that kind"


class CacheInfo(NamedTuple):
    """What a function keeps for further calls."""

    compiled: int
    """Types, shapes and values of arguments that it is compiled for."""
    plain: int
    """Those for which the plain function was found to be right."""
    tables: int
    """Guards in native code, by which most calls are served."""
    frame_bytes: int
    """Temporary memory that a call with each kind of arguments works in, added up."""
    slow_calls: int
    """Calls so far that native code did not serve."""


class JitFunction(NativeCallable, Generic[P, R]):
    """A function that runs compiled where that is possible, and as plain NumPy where not.

    Made by `jit`. Calling it gives what the plain function gives, and type checkers see the plain function's
    parameters and result.

    Attributes
    ----------
    __wrapped__ : callable
        The plain function.
    """

    __wrapped__: Callable[P, R]

    if TYPE_CHECKING:  # calls are native code's

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> JitFunction[P, R]: ...
        @overload
        def __get__(
            self: JitFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
        ) -> Callable[Q, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

    else:

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            return self if instance is None else types.MethodType(self, instance)

    def __init__(self, function: Callable[P, R], threads: int | None = None, donate: Sequence[str] = ()):
        super().__init__()
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__jitrt_function__ = function
        self._function = function
        self._stand_in: Any = None
        self._threads = threads
        self._donate = tuple(donate)
        self._programs = Programs(threads)
        self._specialisations = Specialisations(
            function, self.__name__, self._programs, self._donate, self._dispatch, self._lock
        )
        self._loops = loop_engine(function)
        self._plain_is_passing = False  # since arrays may get larger
        self._plain_calls = 0
        self._slow_calls = 0
        if config.disabled():
            self._specialisations.run_plain("JITRT_DISABLE is set")
        self._is_new = self._specialisations.plain is None and expect_compiles(function)

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call that native code does not serve."""
        known = self._specialisations
        self._slow_calls += 1
        if self._is_new:
            self._is_new = False
            note_call(self._function)
        if self._loops.answering and not kwargs:
            result = self._loops.serve(args)
            if result is not MISS:
                if self._loops.may_be_short():
                    self._serve_short_calls(args)
                return result
        if known.plain is not None:
            self._plain_calls += 1
            passing = self._plain_is_passing or self._loops.serving
            if self._plain_calls >= _MOST_PLAIN_CALLS and not passing:
                self._dispatch.serve_plain(self._function)
            if not self._looks_again():
                return self._function(*args, **kwargs)
        leaves: list[Any] = []
        failures: list[Exception] = []  # taken out of this frame, since their tracebacks lead to it and its arguments
        try:
            structure = known.take_apart(args, kwargs, leaves)
        except Exception as error:
            failures.append(error)
        if failures:
            self._count_plain_call(internal_error(self.__name__, failures.pop()))
            return self._function(*args, **kwargs)
        if any(type(leaf) is Tracer for leaf in leaves):
            return self._function(*args, **kwargs)  # inside of another function's trace
        if not kwargs and self._loops.active:
            result = self._loops.call(args)
            if result is not MISS:
                self._serve_short_calls(args)
                return result
        answers: dict[HostedCall, Any] = {}
        try:
            structure = known.take_all_apart(args, kwargs, leaves, structure)
            found = known.find(leaves, structure, answers)
        except ReadOnly as error:
            raise ValueError(str(error)).with_traceback(error.__traceback__) from None
        except (JitrtError, Warning):
            raise
        except Exception as error:  # nothing has run yet
            found = internal_error(self.__name__, error)
        if isinstance(found, Plain):
            found.error = None  # so does its traceback
            self._note_plain_call(found, args, kwargs, leaves, structure)
            return self._function(*args, **kwargs)
        known.plain, self._plain_calls = None, -_UNLIMITED
        if found.is_changing:
            return self._go_a_new_way(found, leaves, structure, args, kwargs)
        try:
            with answered(answers):
                result = found.call(leaves, (args, kwargs, known.state()))
        except NewWay:
            return self._go_a_new_way(found, leaves, structure, args, kwargs)
        except Exception as error:
            failures.append(error)
        if failures:
            return self._serve_plain(found, failures.pop(), args, kwargs)
        self._serve_natively(found, args, kwargs, leaves, structure)
        return result

    def _go_a_new_way(
        self, found: Specialisation, leaves: list[Any], structure: Structure, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        """A call that sees other values than earlier ones: trace it, and remember its way."""
        known = self._specialisations
        if not found.is_changing:
            found.new_ways += 1
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
        except ReadOnly as error:
            raise ValueError(str(error)).with_traceback(error.__traceback__) from None
        except HalfDone as error:
            raise error.failure from None
        except (Exception, Untraceable, NotWorthwhile) as reason:
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
            if self._dispatch.wants(found):
                try:
                    self._add_table(found, args, kwargs, leaves, structure)
                except Untraceable:  # what it reads from outside is something else now
                    self._dispatch.refuse(found)
                except Exception as error:  # the call itself has ended well
                    self._dispatch.refuse(found)
                    internal_error(self.__name__, error, _STAYS_IN_PYTHON)
            if isinstance(found, Specialisation) and found.only_native and self._is_slow(found):
                self._specialisations.replace(found, Plain(TOO_SMALL, too_small=True))

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
        table = found.table(self._function, call, captures)
        if table is None and isinstance(found, Specialisation) and not found.only_native:
            table = found.guards(self._served_by(found, structure), call, captures)
        if not captures.unchanged() or found not in self._specialisations:
            return
        if table is not None:
            self._dispatch.add(found, table, args, kwargs)
        elif isinstance(found, Specialisation):
            self._dispatch.refuse(found)

    def _served_by(self, found: Specialisation, structure: Structure) -> Callable[..., Any]:
        """What Python does in calls for which native code has found out that `found` serves them."""
        known = self._specialisations
        is_flat = all(part is None for part in (*structure[1][0][1], *structure[1][1][2], *structure[1][2][1]))

        def serve(*args: Any, **kwargs: Any) -> Any:
            leaves = [*args, *kwargs.values()]
            failures: list[Exception] = []  # as in `_call`
            if not is_flat:
                leaves.clear()
                known.take_apart(args, kwargs, leaves)
            if found.is_changing or (found.may_write and found.shares(leaves)):
                return self._call(args, kwargs)
            try:
                return found.call(leaves, (args, kwargs, known.state()))
            except NewWay:
                return self._call(args, kwargs)
            except Exception as error:
                failures.append(error)
            return self._serve_plain(found, failures.pop(), args, kwargs)

        return serve

    def _serve_plain(self, found: Specialisation, failure: Exception, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The plain function's result, or NumPy's own exception or warning at the user's line."""
        if isinstance(failure, HalfDone):
            raise failure.failure from None
        leaves: list[Any] = []
        structure = self._specialisations.take_apart(args, kwargs, leaves)
        result = self._function(*args, **kwargs)
        if not isinstance(failure, FloatingPointRaised):
            self._specialisations.forget(found, failure, leaves, structure)
        return result

    def _serve_short_calls(self, args: tuple) -> None:
        """Let native code call the plain function where even compiled loops over elements are not faster."""
        captures = self._loops.faster_plain(args)
        if captures is None:
            return
        with self._lock:
            try:
                leaves: list[Any] = []
                call = TakenApart(flatten_call(args, {}, (), leaves, Growing()), leaves)
                table = make_plain_table(self._function, call, places_of(captures), ())
                if table is not None:
                    self._dispatch.add(Plain("such calls are too short for compiled code"), table, args, {})
            except Exception as error:  # the call itself has ended well
                internal_error(self.__name__, error, _STAYS_IN_PYTHON)

    @property
    def __code__(self) -> Any:
        """Of the plain function: libraries that keep results tell by it whether a function has been edited."""
        return self._function.__code__

    def __repr__(self) -> str:
        return f"<jitrt.jit of {self._function!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self, self._function, (self._threads, self._donate), protocol)

    @property
    def __jitrt_stand_in__(self) -> Any:
        """What is pickled for functions of the main module."""
        if self._stand_in is None:
            self._stand_in = stand_in(self._function, self.__qualname__)
        return self._stand_in

    def clear(self) -> None:
        """Forget every specialisation, and free its frames. Kernels stay, so that nothing has to be compiled again."""
        self._specialisations.clear()

    def release(self) -> None:
        """Free the frames of all specialisations. The next call allocates one."""
        super().release()
        for found in self._specialisations.compiled():
            found.compiled.program.release()

    def after_fork(self) -> None:
        super().after_fork()
        self._specialisations.after_fork(self._lock)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What a call with these arguments runs.

        Parameters
        ----------
        *args, **kwargs
            As for a call. The function is compiled for them if it was not.

        Returns
        -------
        Explanation
            Prints the graph, the passes, the loop nests, the frame and the kernels, or why the plain function runs.

        Raises
        ------
        Exception
            What the function raises for these arguments.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def distance(x, y):
        ...     return np.sqrt(x * x + y * y)
        >>> print(distance.explain(np.ones(5), np.ones(5)).loop_nests[0])
        nest(y0: f8(1), x0: f8(1), x1: f8(1))
          for i parallel:
            v0 = x0[i]
            v1:f8 = multiply v0 v0
            v2 = x1[i]
            v3:f8 = multiply v2 v2
            v4:f8 = add v1 v3
            v5:f8 = sqrt v4
            y0[i] = v5
        """
        known = self._specialisations
        from .explain import Explanation

        if known.plain is not None and not self._plain_is_passing:
            return Explanation(self.__name__, known.plain.reason)
        if not kwargs and (loop := self._loops.source(args)):
            return Explanation(self.__name__, "", loop=loop)
        leaves: list[Any] = []
        structure = known.take_apart(args, kwargs, leaves)
        structure = known.take_all_apart(args, kwargs, leaves, structure)
        found = known.find(leaves, structure)
        if isinstance(found, Plain):
            if found.error is not None:
                raise found.error
            return Explanation(self.__name__, found.reason)
        return Explanation(self.__name__, "", found.traced, found.compiled)

    def compile(self, *args: Any, **kwargs: Any) -> Explanation:
        """Compile for arguments like these without running the function.

        Parameters
        ----------
        *args, **kwargs
            As for a call. An array may be given by a `spec`, or by a dtype and a shape as a tuple.

        Returns
        -------
        Explanation
            What a call with such arguments will run.

        Raises
        ------
        Exception
            What the function raises for such arguments.

        Examples
        --------
        >>> import jitrt
        >>> @jitrt.jit
        ... def scale(x, s):
        ...     return x * s
        >>> len(scale.compile(jitrt.spec("f8", (30, 40)), 2.0).kernels)
        1
        """
        from .aot import with_examples

        args, kwargs = with_examples(args, kwargs)
        explanation = self.explain(*args, **kwargs)
        if not (explanation.plain_reason or explanation.loop):
            leaves: list[Any] = []
            structure = self._specialisations.take_apart(args, kwargs, leaves)
            self._serve_natively(self._specialisations.find(leaves, structure), args, kwargs, leaves, structure)
        return explanation

    def lower(self, *args: Any, **kwargs: Any) -> Stages:
        """The stages of compilation in front of code generation, for arguments like these.

        Parameters
        ----------
        *args, **kwargs
            As for `compile`.

        Returns
        -------
        Stages
            Prints the graph after each pass, the loop nests and the frame.

        Raises
        ------
        ValueError
            If calls with such arguments run the plain function.

        Examples
        --------
        >>> import jitrt
        >>> @jitrt.jit
        ... def shifted(x):
        ...     return x + 1.5
        >>> print(shifted.lower(jitrt.spec("f4", 8)).graph)
        { lambda x0:f4[8] .
          t0:f4[8] = add x0 1.5
          in (t0) }
        """
        known = self._specialisations
        from .aot import Stages, with_examples
        from .pipeline import lower

        args, kwargs = with_examples(args, kwargs)
        leaves: list[Any] = []
        structure = known.take_apart(args, kwargs, leaves)
        structure = known.take_all_apart(args, kwargs, leaves, structure)
        try:
            traced = trace(self._function, leaves, structure, known.current_captures())
            inputs = [leaves[k] for k in traced.arguments] + [c.read() for c in traced.captured]
            lowered = lower(traced.graph, inputs)
        except (Untraceable, NotWorthwhile) as reason:
            raise ValueError(f"{self.__name__} runs as plain NumPy: {reason}") from None
        return Stages(self.__name__, lowered, lambda: self.compile(*args, **kwargs))

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Run the function some times on copies of these arguments, and say where the time goes.

        Parameters
        ----------
        *args, **kwargs
            As for a call.

        Returns
        -------
        Profile
            Prints a table: time and memory traffic of each kernel, calls that NumPy makes, and Python.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def scaled(x):
        ...     return 2 * x + 1
        >>> [step.what for step in scaled.profile(np.ones(1000)).steps]
        ['kernel: multiply, add']
        """
        known = self._specialisations
        from .profile import Profile, StepTime, best_time, machine_bandwidth, step_times

        leaves: list[Any] = []
        structure = known.take_all_apart(args, kwargs, leaves, known.take_apart(args, kwargs, leaves))
        args, kwargs, _ = rebuild(structure, iter(copies_of(leaves)))
        with np.errstate(all="ignore"):
            self(*args, **kwargs)
            explanation = self.explain(*args, **kwargs)
            if explanation.plain_reason:  # which may be that it prints: not thousands of times
                seconds = best_time(lambda: self._function(*args, **kwargs), most_runs=10)
                return Profile(self.__name__, seconds, seconds, (), machine_bandwidth(), explanation.plain_reason)
            seconds = best_time(lambda: self(*args, **kwargs))
            plain = best_time(lambda: self._function(*args, **kwargs))
        steps: tuple[StepTime, ...] = ()
        reason, copies = "", copies_of(leaves)
        if explanation.loop:
            steps = (StepTime("a loop over elements, compiled by numba in the background", seconds, 0, False),)
        elif isinstance(found := known.find(copies, structure), Plain):
            reason = found.reason
        else:
            programs = found.programs_of(copies)
            with drawing(copies, restores=True):
                steps = tuple(step for program, inputs in programs for step in step_times(program, inputs))
        return Profile(self.__name__, seconds, plain, steps, machine_bandwidth(), reason)

    def cache_info(self) -> CacheInfo:
        """What the function keeps for further calls.

        Returns
        -------
        CacheInfo
            How many kinds of arguments are known, and the memory of their frames.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def halve(x):
        ...     return x / 2
        >>> _ = halve(np.ones(3)), halve(np.ones(3)), halve(np.ones(4))
        >>> info = halve.cache_info()
        >>> info.compiled, info.plain, info.slow_calls
        (2, 0, 2)
        """
        known, tables = self._specialisations, self._dispatch.tables()
        compiled = len(known.compiled())
        return CacheInfo(compiled, len(known) - compiled, tables, known.frame_bytes(), self._slow_calls)

    def _note_plain_call(
        self, found: Plain, args: tuple, kwargs: dict[str, Any], leaves: list[Any], structure: Structure
    ) -> None:
        """Spare the next calls like this one the search."""
        if not self._count_plain_call(found) and found in self._specialisations:
            self._serve_natively(found, args, kwargs, leaves, structure)

    def _count_plain_call(self, found: Plain) -> bool:
        """Whether all calls run plain from now on, since there were many without another one."""
        known = self._specialisations
        self._plain_calls += 1
        if known.plain is None and self._plain_calls > _MOST_PLAIN_CALLS:
            known.run_plain(found.reason)
            self._plain_is_passing = found.too_small
        return known.plain is not None

    def _looks_again(self) -> bool:
        """Whether it is time to find out if arrays have got large enough for a plain function to be compiled."""
        n = self._plain_calls
        return self._plain_is_passing and (n & (n - 1) == 0 or n % _PLAIN_CALLS_BETWEEN_LOOKS == 0)


def clear_caches() -> None:
    """Give memory back to the system: frames of functions, and freed large results that are kept for the next ones.

    Up to ``JITRT_KEEP_BYTES`` (256 MiB by default) of freed results are kept. Compiled code stays.

    Examples
    --------
    >>> import jitrt
    >>> jitrt.clear_caches()
    """
    release_all()
    results.clear_caches()


@overload
def jit(function: Callable[P, R]) -> JitFunction[P, R]: ...
@overload
def jit(*, threads: int | None = None, donate: Sequence[str] = ()) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...
def jit(function: Any = None, *, threads: int | None = None, donate: Sequence[str] = ()) -> Any:
    """Make a NumPy function fast without changing what it does.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers.
    threads : int, optional
        Most threads that its kernels may use; all that the process has by default. Results do not depend on it.
    donate : sequence of str, optional
        Names of parameters whose arrays the caller does not need after the call. They may be overwritten, and one of
        them may be the result. Floating-point exceptions of a call that overwrites them cause no warning.

    Returns
    -------
    JitFunction
        Called like `function`. It gives the same values, dtypes and shapes, and raises the same exceptions. Without
        `function`, with options alone, a decorator.

    Raises
    ------
    ValueError
        If `threads` is less than 1, or `donate` names what is not a parameter.

    Notes
    -----
    At the first call with arguments of given dtypes and shapes the function runs once on symbols. What they record is
    fused into loop nests and compiled; a new shape costs a trace and no compile. Where the function does something
    that symbols cannot follow, it runs as plain NumPy; `JitFunction.explain` says why.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def norm(x, y):
    ...     return np.sqrt(x * x + y * y)
    >>> norm(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])

    Options are given to the decorator:

    >>> @jitrt.jit(donate=("u",))
    ... def step(u, dt):
    ...     return u + dt * (1 - u)
    >>> u = np.zeros(4)
    >>> step(u, 0.5)
    array([0.5, 0.5, 0.5, 0.5])
    """
    if function is None:
        return functools.partial(jit, threads=threads, donate=donate)
    if threads is not None and threads < 1:
        raise ValueError(f"the number of threads must be at least 1, not {threads}")
    names = (donate,) if isinstance(donate, str) else tuple(donate)
    check_names(function, names)
    return JitFunction(function, threads, names)


jit.__pandas_udf__ = PandasEngine  # type: ignore[attr-defined]
