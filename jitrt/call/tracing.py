"""From a call to what serves it and those like it: a traced and compiled function, or the reason why it runs plain."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from .. import config
from ..base.atwork import at_work, is_in_numba, is_users_own, users_code
from ..base.frozen import frozen
from ..base.stages import enters
from ..errors import JitrtError, JitrtPerformanceWarning, LoopsWanted, NotWorthwhile, Untraceable, is_passing
from ..frontend.numpy.draws import drawing, kept
from ..frontend.numpy.silence import Warns, without_warnings
from ..frontend.numpy.tracer import Tracer
from ..frontend.python.captures import Captures
from ..frontend.python.purity import scan_call
from ..frontend.python.stores import Arguments
from ..frontend.storage import ReadOnly
from ..frontend.trace import Request, Traced, trace
from ..ir.ops.contractions import Call as HostedCall
from ..ir.ops.contractions import answered
from ..ir.rounding import EXACT, Rounding
from ..ir.worthwhile import is_short
from ..passes.lower import NumberTooLarge
from ..values.kinds import Tree, rebuild
from ..values.memory import copies_of, overlap, sharing
from ..values.trees import classes_in, part_count
from .effects import finish
from .segments import Programs
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")


class Unspecialised(Exception):
    """A function cannot be traced with these arguments, which says nothing about others that are alike.

    `error` is what the function itself raises, if that is why.
    """

    def __init__(self, reason: str, error: Exception | None = None):
        super().__init__(reason)
        self.error = error


class CallRaises(Exception):
    """A trace has ended with what the function itself raises for these arguments, in all likelihood."""


@frozen(eq=False)
class Call:
    """A call of a function that has not been called like this before.

    Parameters
    ----------
    function : callable
        The user's function.
    name : str
    leaves, structure
        The arguments, as `flatten` takes them apart.
    captures : Captures
        What the function reads beside its arguments.
    shared : sequence of int, optional
        For each input the first input that is the same memory; by default all are told apart.
    donated : tuple of int
        Numbers of the leaves that may be overwritten.
    integers : frozenset of int
        Numbers of the leaves that are Python integers of any value.
    answers : dict, optional
        Gets what calls have given that NumPy made during the trace, for the run behind it (`contractions.answered`).
        None if nothing runs behind it, neither what is compiled nor the plain function.
    rounding : Rounding
        In what results may differ from the plain function's.
    """

    function: Callable[..., Any]
    name: str
    leaves: list[Any]
    structure: Tree
    captures: Captures
    shared: Sequence[int] | None = None
    donated: tuple[int, ...] = ()
    integers: frozenset[int] = frozenset()
    answers: dict[HostedCall, Any] | None = field(default_factory=dict)
    rounding: Rounding = EXACT

    def request(self, **options: Any) -> Request:
        """The call for the tracer; options are those of `Request`."""
        answers = {} if self.answers is None else self.answers
        return Request(
            self.function,
            self.leaves,
            self.structure,
            self.captures,
            self.shared,
            integers=self.integers,
            answers=answers,
            rounding=self.rounding,
            **options,
        )


def specialise(call: Call, programs: Programs, unsteady: bool) -> Specialisation | Plain:
    """The function of `call`, compiled for arguments like these.

    Parameters
    ----------
    call : Call
    programs : Programs
        What has been compiled for the function already.
    unsteady : bool
        Whether calls that NumPy makes have given other types than when traced.

    Raises
    ------
    Unspecialised
        If the function itself raises an exception for these arguments, or NumPy warns, or if they overlap, and the
        trace, which took them for different arrays, failed; or if numba is at work in this thread.
    IntegerWanted
        If values of some of the integers are needed.
    """
    if is_in_numba():  # in a signal handler or a finaliser
        raise Unspecialised("this thread is in the middle of a compilation by numba")
    operations = 0
    try:
        scan_call(call.function, call.structure, call.leaves, call.captures)
        with drawing(call.leaves, restores=True):
            enters("trace")
            traced = trace(call.request(execute=programs.execute_quietly, unsteady=unsteady))
        operations = traced.recorded
        return specialised(call, traced, programs)
    except LoopsWanted:
        raise
    except Warns as reason:
        raise Unspecialised(str(reason)) from None
    except Untraceable as reason:
        return _plain(call, reason, reason.operations)
    except NotWorthwhile as reason:
        return _plain(call, reason, operations)
    except NumberTooLarge as error:  # the plain function, which may catch it, does what stands in front of that
        return _plain(call, Untraceable(f"raises OverflowError: {error}"))
    except ReadOnly as error:
        raise Unspecialised(f"it raises ValueError: {error}", error) from None
    except Exception as error:
        if is_users_own(error):
            raise
        failures = [error]  # taken out of this frame, since its traceback leads to it and its arguments
    if isinstance(failures[0].__cause__, Untraceable):  # NumPy's C code replaces what a conversion raises
        return _plain(call, failures.pop().__cause__)
    if _is_refused(failures[0]):
        return _plain(call, Untraceable(f"code that is not Python's takes no stand-in for an array ({failures.pop()})"))
    if call.shared is None and overlap([leaf for leaf in call.leaves if isinstance(leaf, np.ndarray)]):
        raise Unspecialised("arguments overlap in memory")
    if call.answers is not None:
        raise Unspecialised(raised(failures[0]), failures.pop())
    return _after_failure(call, failures.pop())


def specialised(call: Call, traced: Traced, programs: Programs) -> Specialisation:
    """What serves calls like `call`, of which a trace has been made, with programs that `programs` compile.

    Raises
    ------
    NotWorthwhile
        If the plain function is expected to be faster.
    """
    for found in traced.breaks:
        _log.info("%s looks at a value (%s) at %s", call.name, found.why, found.line)
    for name, line in traced.host_calls:
        _log.info("%s leaves %s to NumPy at %s", call.name, name, line)
    parts = part_count(call.structure)
    only_native = bool(classes_in(call.structure)) and not config.strict() and is_short([traced.graph], parts)
    compares = call.captures.compare_objects
    return Specialisation(traced, programs, call.shared, call.donated, only_native, parts, compares)


def trace_and_run(call: Call, found: Specialisation, programs: Programs, unsteady: bool, arguments: Arguments) -> Any:
    """The result of a call that is traced while it runs, since it takes another path through `found` than those before.

    Parameters
    ----------
    call : Call
    found : Specialisation
        What serves calls like this one; it gets the new path.
    programs : Programs
        What has been compiled for the function already.
    unsteady : bool
        Whether calls that NumPy makes have given other types than when traced.
    arguments : Arguments
        Those of the call, to which its stores are applied.

    Raises
    ------
    Untraceable
        If the plain function has to run.
    """
    with at_work():
        before = programs.count
        changing, memory = found.is_changing, found.memory
        traced = trace(call.request(execute=programs.execute, unsteady=unsteady, changing=changing, memory=memory))
        written = [number for number, _ in traced.written]
        if call.shared is None and sharing(found.inputs(call.leaves), written) is not None:
            raise Untraceable("arguments overlap in memory, and one of them may be written")
        compiled = found.once(traced, before) if found.is_changing else found.add(traced)
    with answered(call.answers or {}):
        inputs = found.inputs(call.leaves) if found.has_forms else ()
        return finish(traced, compiled, list(traced.values), arguments, inputs=inputs)


def _plain(call: Call, reason: BaseException | None, operations: int = 0) -> Plain:
    _log.info("%s runs as plain NumPy: %s", call.name, reason)
    return Plain(str(reason), is_passing=isinstance(reason, NotWorthwhile), operations=operations)


def _after_failure(call: Call, failure: Exception) -> Plain:
    """Tell the user's exceptions from ours by a run of the plain function on copies: it raises its own.

    Where nothing runs behind the trace only: in a call the plain function runs anyway, and once, since copies are no
    help with what it changes outside of its arguments.

    Raises
    ------
    Unspecialised
        If it was the user's, or its reason is a passing one.
    """
    if call.captures.state:  # of which a try on copies would change the originals
        raise Unspecialised(raised(failure), failure)
    args, kwargs, _ = rebuild(call.structure, iter(copies_of(call.leaves)))
    raises = True
    with contextlib.suppress(Exception, Warns), kept(call.captures.generators), without_warnings():
        with users_code():
            call.function(*args, **kwargs)
        raises = False
    if raises or is_passing(failure):
        raise Unspecialised(raised(failure), failure)
    return internal_error(call.name, failure)


def raised(failure: Exception) -> str:
    """What a function raises, for a reason."""
    what = f"it raises {type(failure).__name__}"
    try:
        return f"{what}: {failure}"
    except Exception:  # its message is a value of the trace, which is over
        return what


def is_the_functions(failure: Exception) -> bool:
    """Whether a trace has ended with an exception of the function's, and not since it cannot be traced."""
    is_ours = isinstance(failure, (Warns, ReadOnly, NotWorthwhile)) or isinstance(failure.__cause__, Untraceable)
    return not (is_ours or is_users_own(failure) or _is_refused(failure))


def _is_refused(failure: Exception) -> bool:
    """Whether code without a frame, called by the user's or by NumPy's, had no use for a stand-in of ours."""
    where = failure.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    module = "" if where is None else where.tb_frame.f_globals.get("__name__", "")
    return isinstance(failure, TypeError) and Tracer.__name__ in str(failure) and not module.startswith("jitrt")


def internal_error(name: str, failure: Exception, what: str = "runs as plain NumPy") -> Plain:
    """An error of ours: the plain function runs, or `what` else is done, and the log says so.

    Raises
    ------
    JitrtError
        Under ``JITRT_STRICT=1``, unless its reason is a passing one.
    Exception
        `failure`, if a signal handler has raised it, or a debugger that is left.
    """
    if is_users_own(failure):
        raise failure
    reason = f"internal error: {type(failure).__name__}: {failure}"
    _log.warning("%s %s: %s", name, what, reason, exc_info=failure)
    if config.strict() and not is_passing(failure):
        raise JitrtError(f"{name}: {reason}") from failure
    return Plain(reason, is_passing=is_passing(failure))


def warn(text: str) -> None:
    """Give a `JitrtPerformanceWarning` at the user's line."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__.partition(".")[0]:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(text, JitrtPerformanceWarning, stacklevel=level)


def warn_if_asked(text: str) -> None:
    """The same if a filter names the class: one that makes errors of all warnings does not concern what runs plain."""
    if any(category is JitrtPerformanceWarning for _, _, category, *_ in warnings.filters):
        warn(text)
