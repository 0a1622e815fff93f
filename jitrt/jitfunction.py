"""The functions that `jit` makes: calls of the plain function, and what people ask about them."""

from __future__ import annotations

import contextlib
import copy
import functools
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from .base.atwork import at_work, is_at_work
from .base.frozen import replaced
from .call.options import NO_OPTIONS, Options
from .call.site import ServedFunction
from .call.traced import TakenApart
from .call.tree import Plain, Specialisation
from .call.waiting import kind_of_call
from .errors import ControlException, LoopsWanted, NotWorthwhile, Untraceable
from .frontend.numpy.draws import drawing
from .frontend.python.variablenames import variable_names
from .frontend.trace import Request, Traced, trace
from .ir.node import Node
from .ir.worthwhile import BY_NUMPY
from .pickling import reduced, stand_in
from .values.kinds import TooMany, rebuild
from .values.memory import copies_of

if TYPE_CHECKING:  # what only people ask for is imported when they do
    from .inspect.ahead_of_time import Stages
    from .inspect.explain import Explanation
    from .inspect.profile import Profile

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


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

    def _repr_html_(self) -> str:
        rows = (f"<tr><td>{name.replace('_', ' ')}</td><td>{n:,}</td></tr>" for name, n in self._asdict().items())
        return f"<table>{''.join(rows)}</table>"


class ServedSignature(NamedTuple):
    """A signature of calls, and what serves these."""

    arguments: str
    """Types of the arguments, nested as they are."""
    plain_reason: str
    """Why they run the plain function; empty if they are compiled."""


class _OfFunction:
    """An attribute of the plain function."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance._function, self._name)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance._function, self._name, value)
        instance.clear()  # native code does not see what the function has now


class JitFunction(ServedFunction, Generic[P, R]):
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

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R: ...

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

        @property
        def __class__(self) -> type:
            """What `isinstance` goes by beside the type: tools that ask for functions find one."""
            is_function = type(self._function) is types.FunctionType
            # cloudpickle would write it as the plain function; see `pickling`.
            writes = sys._getframe(1).f_globals.get("__name__", "").startswith("cloudpickle.")
            return types.FunctionType if is_function and not writes else JitFunction

    def __init__(self, function: Callable[P, R], options: Options = NO_OPTIONS):
        super().__init__(function, options)
        self._stand_in: Any = None

    # Libraries tell by the code whether a function has been edited.
    __code__ = _OfFunction()
    __defaults__ = _OfFunction()
    __kwdefaults__ = _OfFunction()
    __globals__ = _OfFunction()
    __closure__ = _OfFunction()
    __builtins__ = _OfFunction()

    def __copy__(self) -> JitFunction[P, R]:
        return self  # as functions are

    def __deepcopy__(self, memo: Any) -> JitFunction[P, R]:
        return self

    def __repr__(self) -> str:
        return f"<jitrt.jit of {self._function!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self, self._function, (self._options,), protocol)

    @property
    def __jitrt_stand_in__(self) -> Any:
        """What is pickled for functions of the main module."""
        if self._stand_in is None:
            self._stand_in = stand_in(self._function, self.__qualname__)
        return self._stand_in

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """What a call with these arguments runs.

        Parameters
        ----------
        *args, **kwargs
            As for a call. The function is compiled for them if it was not.

        Returns
        -------
        Explanation
            Printed: what serves the call, its loops, what NumPy executes, and what helps.

        Raises
        ------
        Exception
            What the function raises for these arguments.

        Notes
        -----
        The function is not run. If there are steps that NumPy executes, what was recorded of it runs once on copies of
        the arguments, to tell the share of the time that they take.

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
        explanation = self._explained(args, kwargs)
        if not (explanation.host_calls or explanation.plain_reason.startswith(BY_NUMPY)):
            return explanation
        from .inspect.profile import SHORT, numpy_shares, plain_times, step_times

        call = self._traced.taken(args, kwargs)
        copies = copies_of(call.leaves)
        with contextlib.suppress(Exception, ControlException), drawing(copies, restores=True):  # of the steps' own
            found = self._specialisations.find(copies, call.structure)
            if isinstance(found, Plain):
                with at_work():
                    args, kwargs, _ = rebuild(call.structure, iter(copies))
                    traced, inputs, _ = self._traced_with_names(args, kwargs)
                times = plain_times(traced.graph, inputs)
            else:
                times = tuple(t for run in found.programs_of(copies) for t in step_times(*run, SHORT))
            explanation = replaced(explanation, numpy_shares=numpy_shares(times))
        return replaced(explanation, file=getattr(getattr(self, "__code__", None), "co_filename", ""))

    def _compiled_alike(self, function: Callable[..., Any]) -> JitFunction[..., Any]:
        return JitFunction(function, self._options)

    def _explained(self, args: tuple, kwargs: dict[str, Any]) -> Explanation:
        """What a call runs, without times."""
        known = self._specialisations
        from .inspect.explain import Explanation

        if is_at_work():
            return Explanation(self.__name__, "this thread is in the middle of a compilation")
        if known.plain is not None:
            return Explanation(self.__name__, known.plain.reason, loops=self._loops_of(args, known.plain.reason))
        by_position = self._loops.by_position(args, kwargs)
        if self._labelled is not None and (labelled := self._labelled.explain(args, kwargs)) is not None:
            return labelled
        if by_position is not None and (loop := self._loops.source(by_position)):
            return self._of_procedure(loop, by_position)
        in_order = args if by_position is None else by_position
        try:
            call = self._traced.taken(args, kwargs)
        except TooMany as error:
            return Explanation(self.__name__, str(error), loops=self._loops_of(in_order, str(error)))
        found = self._found_or_loops(call, by_position)
        if isinstance(found, str):
            return self._of_procedure(found, in_order)
        self._end_fallback(kind_of_call(args, kwargs))  # calls like this one run what is found
        self._waiting.end(args, kwargs)
        if isinstance(found, Plain):
            if found.error is not None:
                raise found.error
            return Explanation(self.__name__, found.reason, loops=self._loops_of(in_order, found.reason))
        rolled = any(n.op.name == "loop" for n in found.traced.graph.nodes())
        loops = self._loops_of(in_order, "", rolled)
        names = functools.partial(self._names_of, found.traced, args, kwargs)
        return Explanation(self.__name__, "", found.traced, found.compiled, loops=loops, names=names)

    def _of_procedure(self, text: str, args: tuple) -> Explanation:
        from .inspect.explain import Explanation

        called = self._loops.called(args)
        return Explanation(self.__name__, "", loop=text, loops=self._loops_of(args), called=called)

    def _found_or_loops(self, call: TakenApart, by_position: tuple | None) -> Specialisation | Plain | str:
        """What a trace gives for a call, or the text of the procedure that serves it instead."""
        known = self._specialisations
        try:
            with self._wanting_loops(by_position):
                found = known.find(call.leaves, call.structure)
        except LoopsWanted as wanted:
            assert by_position is not None
            self._take_loops(wanted.is_unrolled)
            return self._loops.source(by_position, instead_of_plain=True) or known.find(call.leaves, call.structure)
        if not isinstance(found, Plain) or found.error is not None:
            return found
        if by_position is not None and (text := self._loops.source(by_position, instead_of_plain=True)):
            return text
        general = known.find_for_calls(call.leaves, call.structure, may_make=False)  # for calls with other shapes
        return found if isinstance(general, Plain) else general

    def _names_of(self, traced: Traced, args: tuple, kwargs: dict[str, Any]) -> dict[Node, str]:
        """The user's names of the values of a trace, as far as another one finds them: those of calls keep no names."""
        from .inspect.ahead_of_time import input_names

        names = dict(zip(traced.graph.inputs, input_names(self._function, args, kwargs, traced)))
        with contextlib.suppress(Exception, ControlException), at_work():  # where the function looks at values, say
            names |= self._traced_with_names(args, kwargs)[2]
        return names

    def _traced_with_names(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Traced, list[Any], dict[Node, str]]:
        """A trace, the values of its inputs, and the names of the user's variables that held values of its graph."""
        call, captures = self._traced.taken(args, kwargs), self._specialisations.current_captures()
        request = Request(self._function, call.leaves, call.structure, captures, rounding=self._options.rounding)
        with variable_names() as names:
            traced = trace(request)
        inputs = [call.leaves[k] for k in traced.arguments] + [c.read() for c in traced.captured]
        return traced, inputs, names

    def compile(self, /, *args: Any, **kwargs: Any) -> Explanation:
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
        from .inspect.ahead_of_time import with_examples

        args, kwargs = with_examples(args, kwargs)
        explanation = self._explained(args, kwargs)
        if not (explanation.plain_reason or explanation.loop):
            call = self._traced.taken(args, kwargs)
            self._traced.serve_natively(self._specialisations.find_for_calls(call.leaves, call.structure), call)
        return explanation

    def lower(self, /, *args: Any, **kwargs: Any) -> Stages:
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
        Exception
            What the function raises for such arguments.

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
        from .inspect.ahead_of_time import Stages, input_names, with_examples
        from .pipeline import lower

        args, kwargs = with_examples(args, kwargs)
        try:
            with at_work():
                traced, inputs, values = self._traced_with_names(args, kwargs)
                lowered = lower(replaced(traced.graph, rounding=self._options.rounding), inputs)
        except (Untraceable, NotWorthwhile) as reason:
            raise ValueError(f"{self.__name__} runs as plain NumPy: {reason}") from None
        names = input_names(self._function, args, kwargs, traced)
        return Stages(self.__name__, lowered, lambda: self.compile(*args, **kwargs), traced, names, values)

    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Run the function some times on copies of these arguments, and say where the time goes.

        Parameters
        ----------
        *args, **kwargs
            As for a call.

        Returns
        -------
        Profile
            Prints a table: time and memory traffic of each kernel, calls that NumPy makes, and Python.

        Raises
        ------
        Exception
            What the function raises for these arguments.

        Notes
        -----
        The arguments are not changed, but what the function does beside its result, it does each time.

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
        from .inspect.profile import Profile, StepTime, best_time, machine_bandwidth, step_times

        try:
            call = self._traced.taken(args, kwargs)
            args, kwargs, _ = rebuild(call.structure, iter(copies_of(call.leaves)))
        except TooMany:
            args, kwargs = copy.deepcopy((args, kwargs))
        with np.errstate(all="ignore"):
            self(*args, **kwargs)
            explanation = self._explained(args, kwargs)
            if explanation.plain_reason:  # which may be that it prints: not thousands of times
                seconds = best_time(lambda: self._function(*args, **kwargs), most_runs=10)
                return Profile(self.__name__, seconds, seconds, (), machine_bandwidth(), explanation.plain_reason)
            seconds = best_time(lambda: self(*args, **kwargs))
            plain = best_time(lambda: self._function(*args, **kwargs))
        steps: tuple[StepTime, ...] = ()
        reason, copies = "", copies_of(call.leaves)
        if explanation.loop:
            steps = (StepTime("a loop over elements or rows, compiled as one function", seconds, 0, False),)
        elif isinstance(found := known.find(copies, call.structure), Plain):
            reason = found.reason
        else:
            programs = found.programs_of(copies)
            with drawing(copies, restores=True):
                steps = tuple(step for program, inputs in programs for step in step_times(program, inputs))
        return Profile(self.__name__, seconds, plain, steps, machine_bandwidth(), reason)

    def signatures(self) -> tuple[ServedSignature, ...]:
        """The signatures of the calls so far, and what serves each of them.

        Returns
        -------
        tuple of ServedSignature
            Those that are remembered, the oldest first.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def twice(x):
        ...     return 2 * x
        >>> _ = twice(np.ones(500)), twice(np.array([1, "one"], object))
        >>> for signature in twice.signatures():
        ...     print(signature.arguments, "|", signature.plain_reason or "compiled")
        f8(s0,) | compiled
        object | takes an array of object, which has no kernels
        """
        return tuple(
            [
                ServedSignature(str(call), found.reason if isinstance(found, Plain) else "")
                for call, found in self._specialisations.known()
            ]
        )

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
        >>> _ = halve(np.ones(300)), halve(np.ones(300)), halve(np.ones(400))
        >>> info = halve.cache_info()
        >>> info.compiled, info.plain, info.slow_calls
        (1, 0, 1)
        """
        known, traced = self._specialisations, len(self._specialisations.compiled())
        compiled = traced + self._loops.count
        if self._labelled is not None:
            compiled += self._labelled.compiled.cache_info().compiled
        return CacheInfo(compiled, len(known) - traced, self._dispatch.tables(), known.frame_bytes(), self._slow_calls)
