"""Calls of functions that are loops over elements: compiled by numba beside the tracer, and checked before use.

The plain function serves calls until the compiled loop is ready, and whenever the loop stops because Python's result
would be no 64-bit number or an error, or has raised a floating-point exception that the error state does not ignore.
Then everything that it wrote is taken back first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config, forks
from ..atwork import at_work, is_users_own
from ..errors import JitrtError, is_passing
from ..trace.arguments import overlap, overlaps_itself
from ..trace.captures import Capture
from ..trace.elementloops import ElementLoop, has_loops, translate
from ..trace.elementtypes import Array, NotTranslated, Scalar
from . import threads
from .errstate import errors
from .loopengine import MISS

_log = logging.getLogger("jitrt.trace")

_WORTH_COMPILING = 0.02  # seconds that the plain function took so far
_MOST_STOPS = 8  # a loop that stops more often than that, and than it does not, costs more than it saves
_MOST_TRANSLATIONS = 16  # of one function, for types of arguments and values of the outside
_LITTLE_WORK = 64  # trips of loops where the plain function may be faster than any call of compiled code
_TRIALS = 5  # calls that are timed to learn that
_MOST_TRIED = 64  # shapes of arguments for which that is learnt
_SERVED_BETWEEN = 16  # calls that compiled code serves between two that may be tried
_SHORT = 6e-6  # seconds: less than Python needs to call compiled code
_SHORT_CALLS = 16  # calls in a row of which none takes longer
_TOLERANCE = 1e-12  # where functions such as exp are involved, whose last places differ between libraries

# Held while a loop compiles in the background: a fork waits for it.
_compiling = threading.RLock()
forks.hold("loops", _compiling)


class LoopEngine:
    """Compiled loops of one function, by the types of its arguments.

    Parameters
    ----------
    function : callable
        The plain function.

    Attributes
    ----------
    serving : bool
        Whether there are compiled loops in use.
    answering : bool
        Whether there are loops that are compiled, or will be.
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._loops: dict[Any, _Loop] = {}
        self._parameters = -1  # until the function is looked at
        self.serving = self.answering = False
        self._translations = 0
        self._served = 0

    @property
    def active(self) -> bool:
        """Whether the function may have loops; False once it is known to have none that can be compiled."""
        return self._parameters != 0

    def _has_loops(self) -> bool:
        if self._parameters < 0:
            self._parameters = self._function.__code__.co_argcount if has_loops(self._function) else 0
        return self._parameters > 0

    def call(self, args: tuple) -> Any:
        """The result of a call, or `MISS` if the tracer or the plain function has to serve it."""
        try:
            if not self._has_loops():
                return MISS
            args = self._completed(args)
            loop = self._find(args)
        except JitrtError:
            raise
        except Exception as error:  # nothing has run yet
            if is_users_own(error):
                raise
            if is_passing(error):
                return MISS
            self._parameters = 0
            _log.warning("%s: no compiled element loop", self._function.__name__, exc_info=error)
            if config.strict():
                raise JitrtError("a function with loops could not be looked at") from error
            return MISS
        return MISS if loop is None else loop.call(args)

    def serve(self, args: tuple) -> Any:
        """`call` for calls that are known to be served by compiled code, or to wait for it; `MISS` for others."""
        args = self._completed(args)
        loop = self._loops.get(tuple([_kind(a) for a in args]))
        if loop is None or loop.translated is None or not loop.fits():
            return MISS
        self._served += 1
        if loop.trusted:
            return loop.run(args)
        if loop.compiled is None:
            loop.prepare(args)
        return MISS if loop.compiled is not None else loop.plain(args)

    def may_be_short(self) -> bool:
        """Whether it is time to find out if calls like this one are too short for compiled code."""
        return self._served % _SERVED_BETWEEN == 0

    def faster_plain(self, args: tuple) -> list[Capture] | None:
        """If the plain function is faster on calls like this one, the values of the outside that this depends on."""
        args = self._completed(args)
        loop = self._loops.get(tuple([_kind(a) for a in args]))
        if loop is None:
            return None
        self.serving = self.serving or loop.trusted
        if loop.plain_is_faster(args) if loop.trusted else loop.short_calls >= _SHORT_CALLS:
            loop.short_calls = 0  # the next ones may be of another shape
            return [*loop.captured, *loop.arrays]
        return None

    def source(self, args: tuple) -> str:
        """The code that calls with such arguments run; empty if there is none."""
        loop = self._find(self._completed(args)) if self._has_loops() else None
        return "" if loop is None or loop.translated is None else loop.translated.source

    def _completed(self, args: tuple) -> tuple:
        """The arguments with those that are given by default."""
        missing = self._parameters - len(args)
        defaults = self._function.__defaults__ or ()
        return (*args, *defaults[len(defaults) - missing :]) if 0 < missing <= len(defaults) else args

    def _find(self, args: tuple) -> _Loop | None:
        key = tuple([_kind(a) for a in args])
        loop = self._loops.get(key)
        if loop is None or not loop.fits():
            self._translations += 1
            if self._translations > _MOST_TRANSLATIONS:
                self._parameters = 0
                return None
            loop = self._loops[key] = _Loop(self._function, args)
            if loop.final:
                self._parameters = 0
            self.answering = self.answering or loop.translated is not None
        return loop if loop.translated is not None else None


# What of an array's flags compiled code depends on: C- and F-contiguous, aligned, writeable.
_FLAGS = 0x001 | 0x002 | 0x100 | 0x400


def _kind(value: Any) -> Any:
    """What the compiled code depends on."""
    if type(value) is np.ndarray:
        dtype = value.dtype
        return dtype.num, dtype.isnative, value.ndim, value.flags.num & _FLAGS
    return type(value)


def _work(args: tuple) -> float:
    """About the trips of loops, if they run over the arguments; too many to count for numbers that are no integers."""
    work = 0.0
    for a in args:
        if isinstance(a, np.ndarray):
            work += a.size
        elif isinstance(a, (int, np.integer)):
            work += abs(int(a))
    return work


class _Loop:
    """A function for arguments of given types."""

    def __init__(self, function: Callable[..., Any], args: tuple):
        self.function = function
        self.translated: ElementLoop | None = None
        self.compiled: Callable[..., Any] | None = None
        self.take_flags: Callable[[], int] = int  # of the processor: the exceptions since its last call
        self.captured: tuple[Capture, ...] = ()
        self.arrays: tuple[Capture, ...] = ()
        self.trusted = False
        self.unstarted = threading.Lock()  # taken by the one thread that starts to compile, and never given back
        self.final = False  # no other arguments change that the function is not compiled
        self.seconds = 0.0
        self.short_calls = 0
        self.tried: set[Any] = set()
        self.stops = self.runs = 0
        try:
            loop = translate(function, args)
            if any(not a.flags.aligned for a in args if isinstance(a, np.ndarray)):
                raise NotTranslated("an array that is not aligned", by_argument=True)
            if not all(args[k].flags.writeable for k in loop.written):
                raise NotTranslated("writes into a read-only array", by_argument=True)
        except NotTranslated as reason:
            self.final = not reason.by_argument
            self.refuse(str(reason))
            return
        self.translated, self.captured, self.arrays = loop, loop.captured, loop.arrays
        self.kinds = [_kind(c.value) for c in loop.arrays]
        self.written = loop.written

    def refuse(self, reason: str) -> None:
        """The plain function, or the tracer, serves all further calls."""
        self.translated, self.trusted = None, False
        _log.info("%s: no compiled element loop: %s", getattr(self.function, "__name__", "function"), reason)

    def fits(self) -> bool:
        """Whether what the code reads from outside is what it was."""
        for capture in self.captured:
            if capture.read() is not capture.value:
                return False
        return not self.arrays or [_kind(c.read()) for c in self.arrays] == self.kinds

    def call(self, args: tuple) -> Any:
        """A call that compiled code serves if it is ready."""
        if self.trusted:
            return self.run(args)
        if self.compiled is None:
            self.prepare(args)
            if self.compiled is None:
                return self.plain(args)
        return self.checked(args)

    def run(self, args: tuple) -> Any:
        """A call of trusted compiled code."""
        loop, compiled = self.translated, self.compiled
        if loop is None or compiled is None:
            return self.function(*args)
        saved = [(args[k], args[k].copy()) for k in self.written]
        watched = errors()
        try:
            if watched:
                self.take_flags()
            made = compiled(*args, *[c.read() for c in self.arrays]) if self.arrays else compiled(*args)
            if watched and self.take_flags() & watched:
                made = MISS
        except Exception:
            made = MISS
        if made is not MISS:
            self.runs += 1
            return _result(loop, made, args)
        for array, copy in reversed(saved):  # take back what was written
            array[...] = copy
        self.count_stop()
        return self.function(*args)

    def plain(self, args: tuple) -> Any:
        """A call of the plain function, timed."""
        before = time.perf_counter()
        try:
            return self.function(*args)
        finally:
            seconds = time.perf_counter() - before
            self.seconds += seconds
            self.short_calls = self.short_calls + 1 if seconds < _SHORT else 0

    def plain_is_faster(self, args: tuple) -> bool:
        """Whether calls are too short for compiled code to pay; both give the same bits, so that a clock may decide."""
        if self.translated is None or not self.translated.exact or _work(args) >= _LITTLE_WORK:
            return False
        shapes = tuple([a.shape if isinstance(a, np.ndarray) else a for a in args])
        if shapes in self.tried or len(self.tried) >= _MOST_TRIED:
            return False
        self.tried.add(shapes)
        best = []
        for run in (self.function, lambda *a: self.run(a)):
            seconds = []
            for _ in range(_TRIALS):
                copies = [_copy(a) if k in self.written else a for k, a in enumerate(args)]
                try:
                    with np.errstate(all="ignore"):  # the call itself has warned
                        before = time.perf_counter()
                        run(*copies)
                        seconds.append(time.perf_counter() - before)
                except Exception:
                    return False
            best.append(min(seconds))
        return best[0] < best[1]

    def prepare(self, args: tuple) -> None:
        """Compile, in the background and not before the plain function has taken long enough for that to pay."""
        full = (*args, *[c.value for c in self.arrays])
        if config.strict():
            self.compile(full)
        elif self.seconds > _WORTH_COMPILING and self.unstarted.acquire(blocking=False):
            with at_work():  # or nobody would compile, if an interrupt came in front of the start
                threading.Thread(target=self.compile, args=(full,), name="jitrt-loops").start()

    def compile(self, full: tuple) -> None:
        loop = self.translated
        if loop is None:
            return
        try:
            with _compiling, at_work():
                from ..codegen.elementloops import compile_loop, flags_taker  # brings numba

                threads.driver()  # names what native code calls
                compiled = compile_loop(loop, full)
                self.take_flags = flags_taker()
                self.compiled = compiled
        except NotTranslated as reason:
            self.refuse(str(reason))
        except Exception as error:  # numba's refusals have many types
            if is_passing(error):
                self.seconds, self.unstarted = 0.0, threading.Lock()
                return
            self.refuse(f"numba: {type(error).__name__}: {error}")
            if config.strict():
                raise JitrtError(f"a translated loop that numba does not compile:\n{loop.source}") from error

    def checked(self, args: tuple) -> Any:
        """A call that runs both, and compares what they give, bit by bit."""
        loop = self.translated
        if loop is None or self.compiled is None:
            return self.function(*args)
        outside = [c.read() for c in self.arrays]
        arrays = [a for a in (*args, *outside) if isinstance(a, np.ndarray)]
        if overlap(arrays) or any(map(overlaps_itself, arrays)):
            return self.plain(args)  # copies would not overlap
        copies = tuple(_copy(a) if isinstance(a, np.ndarray) else a for a in args)
        stopped = False
        try:
            made = self.compiled(*copies, *outside)
        except Exception:
            stopped = True
        result = self.function(*args)
        if stopped:
            self.count_stop()
        elif _same((_result(loop, made, copies), copies), (result, args), loop.exact):
            self.trusted = True
        else:
            self.refuse("the compiled loop gave something else than the plain function")
            if config.strict():
                raise JitrtError(f"a compiled loop gave something else than the plain function:\n{loop.source}")
        return result

    def count_stop(self) -> None:
        self.stops += 1
        if self.stops > max(_MOST_STOPS, self.runs):
            self.refuse("results that only Python itself can give")


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


def _result(loop: ElementLoop, made: Any, args: tuple) -> Any:
    """What the function returns, of what compiled code gives."""
    if loop.returns is None:
        return None
    leaves = []
    parts = iter(made)
    for kind in loop.returns:
        value = next(parts)
        if isinstance(kind, Array):
            (origin,) = kind.origins
            leaves.append(args[origin] if isinstance(origin, int) else value)
            continue
        leaves.append(_number(kind, value, next(parts)))
    return tuple(leaves) if loop.several else leaves[0]


def _number(kind: Scalar, value: Any, flag: bool) -> Any:
    if kind.maybe_int and flag:
        return int(value)
    if kind.python is False or (kind.python is None and not flag):
        return kind.dtype.type(value)
    return value


def _same(x: Any, y: Any, exact: bool) -> bool:
    if type(x) is not type(y):
        return False
    if isinstance(x, tuple):
        return len(x) == len(y) and all(_same(a, b, exact) for a, b in zip(x, y))
    if not isinstance(x, (np.ndarray, np.generic, float)):
        return bool(x == y)
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if exact or a.dtype.kind != "f":
        return a.tobytes() == b.tobytes() or (a.dtype.kind == "f" and _same_but_nan(a, b))
    scale = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
    return bool(np.allclose(a, b, rtol=0, atol=_TOLERANCE * scale, equal_nan=True))


def _same_but_nan(a: np.ndarray, b: np.ndarray) -> bool:
    good = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
    return bool(good.all())
