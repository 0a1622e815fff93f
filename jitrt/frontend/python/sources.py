"""NumPy's functions that NumPy writes in Python: a trace goes through their own source, as through a user's function.

What they do on the way is kernels' work then, and fuses with what is around it. Where a source does what cannot be
traced, NumPy makes the call as a whole.
"""

from __future__ import annotations

import contextlib
import logging
import types
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import config
from ...errors import Untraceable, latest_control, watch_control
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.optable import VALUE_SHAPED, NotCovered
from ...ir.ops.steps import RULES
from .bytecode import names_in
from .clones import Clones, is_numpy_module
from .elsewhere import refusing
from .purevalues import SCOPES, is_numpy
from .smallmatrices import SMALL
from .userline import user_line

if TYPE_CHECKING:
    from ..state import Trace

_log = logging.getLogger("jitrt.trace")

# Their sources hand the work on to C: routines of LAPACK, sorting and selection, methods of arrays.
_HANDED_ON = frozenset(
    "_umath_linalg partition sort argsort lexsort _wrapfunc _wrapreduction _ureduce _makearray".split()
)
_ANSWERS = frozenset({np.allclose, np.array_equal, np.array_equiv})  # give a truth value, which the function looks at


class Sources:
    """The sources that one trace goes through."""

    def __init__(self) -> None:
        self._inside: set[Callable[..., Any]] = set()

    def call(
        self, trace: Trace, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
    ) -> tuple[Any] | None:
        """What the source of a function of NumPy's gives, in a tuple; None if NumPy has to make the call."""
        source = None if function in self._inside or latest_control() is not None else _source_of(function)
        if source is None:
            self._leave()
            return None
        before = trace.mark()
        self._inside.add(function)
        try:
            with contextlib.nullcontext() if function in _ANSWERS else _checks_are_assumed(trace):
                made = (source(*args, **kwargs),)
            if len(trace.calls.noted) > before[1]:
                raise Untraceable("NumPy executes some of it")
            if function is np.broadcast_arrays:
                trace.aliases.note_broadcast(made)
        except (Untraceable, Exception) as reason:
            if config.strict() and isinstance(reason, Exception) and not isinstance(reason, NotCovered):
                raise  # NumPy raises it, too, or it is ours
            _log.debug("NumPy makes the call of %s: %s", function.__name__, reason)
            watch_control(True)
            trace.take_back(before)
        else:
            return made
        finally:
            self._inside.discard(function)
        self._leave()
        return None

    def _leave(self) -> None:
        """Leave a call to NumPy; inside of a source the one around it is left instead."""
        if self._inside:
            raise Untraceable("NumPy executes some of it", user_line())


@contextlib.contextmanager
def _checks_are_assumed(trace: Trace) -> Iterator[None]:
    """A context in which what is decided by values, as whether weights sum to zero, is assumed to stay so."""

    def decide(node: Node) -> bool:
        if trace.loops.changes(node):
            raise Untraceable("NumPy decides on a value", user_line())
        truth = b.cast(node, np.dtype(bool))
        return trace.assume(truth) or not trace.assume(b.elementwise(np.logical_not, truth))

    decided, trace.loops.decide = trace.loops.decide, decide
    try:
        with trace.breaks.closed():
            yield
    finally:
        trace.loops.decide = decided


class _Copies(Clones):
    """Copies of NumPy's functions; they depend on no trace."""

    def __init__(self) -> None:
        super().__init__({}, (), {}, False)
        self.stand_for((), ())

    def of(self, value: Any) -> Any:
        if value is warnings.warn:
            return refusing("NumPy warns")
        is_source = is_numpy(value) or getattr(value, "__module__", "") in _OF_OWN
        if isinstance(value, types.FunctionType) and is_source and value not in SCOPES:
            return self._function(value)
        found = super().of(value)
        if found is value and isinstance(value, types.ModuleType) and is_numpy_module(value):
            return self._view(value)
        return found


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [np.array(a, copy=None, subok=subok) for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if all(a.shape == shape for a in arrays):
        return tuple(arrays)
    return tuple([np.broadcast_to(a, shape) for a in arrays])


def _trace_of(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return np.asanyarray(a).diagonal(offset, axis1, axis2).sum(-1, dtype, out)


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """As NumPy's, which asks how many elements a condition has chosen: here it is asked of the condition."""
    x = np.asanyarray(x)
    is_one = not isinstance(condlist, (list, tuple))
    masks = [np.asarray(c, dtype=bool) for c in ([condlist] if is_one else condlist)]
    if not masks or not x.ndim or (is_one and (x.ndim > 1 or not x.size)) or any(m.shape != x.shape for m in masks):
        raise NotCovered("conditions of other shapes")
    if len(masks) == len(funclist) - 1:
        masks.append(~np.any(masks, axis=0))
    if len(masks) != len(funclist):
        raise NotCovered("as many functions as conditions are wanted")
    y = np.zeros_like(x)
    for mask, function in zip(masks, funclist):
        if not callable(function):
            y[mask] = function
        elif np.any(mask):
            y[mask] = function(x[mask], *args, **kw)
    return y


# Of those that NumPy has in C, or by way of what has no meaning in a trace. They leave some calls to NumPy.
_OWN: dict[Any, Callable[..., Any]] = {
    np.broadcast_arrays: _broadcast_arrays, np.piecewise: _piecewise, np.trace: _trace_of, **SMALL,
}  # fmt: skip
_OF_OWN = {source.__module__ for source in _OWN.values()}


@cache
def _copies() -> _Copies:
    return _Copies()


@cache
def _source_of(function: Callable[..., Any]) -> types.FunctionType | None:
    """A copy of the source of one of NumPy's functions that finds in place of NumPy what a traced function finds."""
    if (own := _OWN.get(function)) is not None:
        return _copies().of(own)
    source = getattr(function, "_implementation", None)
    if type(source) is not types.FunctionType or function in VALUE_SHAPED or function in RULES:
        return None
    return None if names_in(source.__code__) & _HANDED_ON else _copies().of(source)
