"""At work: whether a thread is in the middle of something of the compiler's, and what waits until that is done.

A signal handler, a finaliser and the callback of a weak reference run between any two instructions, and may call a
compiled function. LLVM, locks and tables must not be entered twice by one thread, so in a thread that is at work such a
call runs the plain function. An exception of a signal handler would be lost in a callback of LLVM or in a finaliser, or
leave something half done, so that signal handlers wait until the work is done. In the user's code, which a trace runs,
they do not wait: it may run for ever.
"""

from __future__ import annotations

# The functions of `signal` try to make an enum of each handler, which takes twenty times as long.
import _signal  # type: ignore[import-not-found]
import operator
import os
import sys
import threading
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from ..errors import Interrupted

_WORK, _USERS_CODE = "work", "user's code"
_FROM_HANDLER = "_jitrt_from_handler"  # an attribute of exceptions


class _State(threading.local):
    mode = ""


_state = _State()
_waiting: deque[tuple[Callable[..., Any], int]] = deque()  # signal handlers and numbers


def is_at_work() -> bool:
    """Whether this thread is at work, or in the user's code that it runs for that."""
    return _state.mode != ""


def is_in_numba() -> bool:
    """Whether this thread is in the middle of a compilation of numba's, which is not ours to know of otherwise."""
    found = sys.modules.get("numba.core.compiler_lock")
    return found is not None and found.global_compiler_lock.is_locked()


class at_work:
    """A context in which this thread is at work.

    Raises
    ------
    BaseException
        At its end, what the handlers of signals raise that came meanwhile.

    Examples
    --------
    >>> with at_work():
    ...     is_at_work()
    True
    >>> is_at_work()
    False
    """

    __slots__ = ("_outer", "_taken")
    _mode = _WORK

    # Python looks for signals where a function begins, after calls and where it jumps back: not from an assignment to
    # `mode` to the end of a method. So it cannot be that a thread stays at work.

    def __enter__(self) -> None:
        self._outer = _state.mode
        self._taken = _take_over() if not self._outer and _is_main() else ()
        _state.mode = self._mode

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if self._taken:
                _give_back(self._taken)
        finally:
            _state.mode = self._outer
        if self._outer != _WORK and _waiting and _is_main():
            _run_waiting()
        if not self._outer and isinstance(error, Interrupted):
            raise error.error from None


class users_code(at_work):
    """A context in which a thread that is at work runs code of the user's, and signals are handled at once."""

    __slots__ = ()
    _mode = _USERS_CODE

    def __enter__(self) -> None:
        outer = _state.mode
        try:
            super().__enter__()
            if _is_main():
                _run_waiting()
        except BaseException:
            _state.mode = outer
            raise


class _Waiting:
    """Stands for a signal handler of the user's while the main thread is at work."""

    __slots__ = ("handler",)

    def __init__(self, handler: Callable[..., Any]):
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> None:
        if _state.mode == _WORK:
            _waiting.append((self.handler, number))
        else:
            _run(self.handler, number, frame)


_NUMBERS = range(1, _signal.NSIG)
_seen: tuple[list[Any], tuple[int, ...]] = [], ()  # the handlers of all signals, and the numbers of those to wait


def _take_over() -> tuple[int, ...]:
    """Let the handlers of all signals wait; their numbers. Handlers are mostly those of the time before."""
    global _seen
    handlers = list(map(_signal.getsignal, _NUMBERS))
    known, numbers = _seen
    if len(known) != len(handlers) or not all(map(operator.is_, known, handlers)):
        numbers = tuple([number for number, handler in zip(_NUMBERS, handlers) if callable(handler)])
        _seen = handlers, numbers
    for number in numbers:
        handler = handlers[number - 1]
        if type(handler) is not _Waiting:  # or it was left to wait, see `_give_back`
            _signal.signal(number, _Waiting(handler))
    return numbers


def _give_back(numbers: tuple[int, ...]) -> None:
    """Put handlers back. One that does not get there since another one raises an exception waits for nothing."""
    for number in numbers:
        handler = _signal.getsignal(number)
        if type(handler) is _Waiting:
            _signal.signal(number, handler.handler)


def _run_waiting() -> None:
    while _waiting:
        handler, number = _waiting.popleft()
        _run(handler, number, sys._getframe(1))


def _is_main() -> bool:
    """Whether this is the thread that runs signal handlers."""
    return threading.get_ident() == threading.main_thread().ident


def _run(handler: Callable[..., Any], number: int, frame: Any) -> None:
    """Run a signal handler. What it raises in the user's code must not be caught there, since the trace goes on."""
    try:
        handler(number, frame)
    except BaseException as error:
        vars(error)[_FROM_HANDLER] = True
        if _state.mode:
            raise Interrupted(error) from None
        raise


def is_users_own(error: BaseException) -> bool:
    """Whether none of the code that runs has raised `error`, but a signal handler, or a debugger that is left.

    It ends the call. So does what any other function raises that `sys.settrace` has set: it is called with the frame in
    which something happens, and the name of what happens.
    """
    debugger = sys.modules.get("bdb")
    if _FROM_HANDLER in vars(error) or (debugger is not None and isinstance(error, debugger.BdbQuit)):
        return True
    handlers = {_code(_signal.getsignal(number)) for number in range(1, _signal.NSIG)} - {None}
    trace, outer = error.__traceback__, None
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code in handlers:
            return True
        # Memory may run out anywhere, and the plain function may need less.
        if outer is not None and not isinstance(error, MemoryError) and _traces(frame, outer):
            return True
        trace, outer = trace.tb_next, frame
    return False


def _traces(frame: types.FrameType, outer: types.FrameType) -> bool:
    """Whether the function of a frame was called to be told of an event in the frame around it."""
    code = frame.f_code
    if frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        return False  # what looks whether NumPy warns
    given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    return any(v is outer for v in given) and any(type(v) is str and v in _EVENTS for v in given)


_EVENTS = frozenset({"call", "line", "return", "exception", "opcode", "c_call", "c_return", "c_exception"})


def _code(handler: Any) -> Any:
    """The code of a signal handler; None if it has none."""
    if type(handler) is _Waiting:
        handler = handler.handler
    return getattr(handler, "__code__", None) or getattr(getattr(type(handler), "__call__", None), "__code__", None)  # noqa: B004


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)
