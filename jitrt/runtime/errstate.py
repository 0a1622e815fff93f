"""NumPy's error state (`numpy.errstate`): which exceptions a program may raise, and which of them are asked for."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy._core import umath

from ..expr.control import bodies
from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from ..expr.ufuncs import elementwise_op
from ..kernels import entry
from ..kernels.floatflags import DIVIDE, INVALID, OVER, UNDER
from ..once import once
from ..prepare.simplify import literal
from . import threads
from .objects import builtin, fields

_NUMBERS = {"divide": DIVIDE, "over": OVER, "under": UNDER, "invalid": INVALID}


class FloatingPointRaised(Exception):
    """Kernels raised a floating-point exception that the error state does not ignore: the plain function decides."""


class OutOfBounds(FloatingPointRaised, IndexError):
    """An index is out of bounds: the plain function says which one, at the user's line."""


def may_raise(graph: Graph) -> int:
    """The exceptions that NumPy may report for a prepared graph, as a sum of their numbers.

    Examples
    --------
    >>> from jitrt.expr.build import elementwise, input_node
    >>> from jitrt.expr.types import ArrayType
    >>> x = input_node(0, ArrayType(np.dtype(np.float64), (2,)))
    >>> may_raise(Graph((x,), (elementwise(np.sqrt, x),))) == UNDER + INVALID
    True
    """
    found: set[str] = set()
    inner = 0
    for node in graph.nodes():
        for body in bodies(node):
            inner |= may_raise(body)
        operands = tuple(a.dtype for a in node.args)
        op = node.op
        if op.kind is Kind.HOST and not is_python(op) and any(t.kind in "fc" for t in (*operands, node.dtype)):
            found |= _NUMBERS.keys()
        row = elementwise_op(op.ufunc) if op.ufunc is not None else op
        found |= row.raises(operands, beside_a_number=any(map(_is_a_number, node.args)))
    return inner | sum(_NUMBERS[name] for name in found)


def _is_a_number(node: Node) -> bool:
    """Whether `node` is known to be a finite real number other than zero."""
    value = literal(node)
    return value is not None and value.dtype.kind in "biuf" and 0 < abs(value) < np.inf


@once
def error_state() -> Any:
    """The context variable that holds NumPy's error state, or None if it is not where native code looks for it."""
    variable = getattr(umath, "_extobj_contextvar", None)
    if variable is None:
        return None
    seen = []
    for state in ({"all": "ignore"}, {"all": "raise"}, {"divide": "warn"}, {"over": "call"}, {"invalid": "print"}):
        with np.errstate(**({"all": "ignore"} | state)):  # type: ignore[arg-type]
            seen.append(_mask(variable.get()))
    return variable if seen == [0, 0o2222, 0o0001, 0o0030, 0o4000] else None


def _mask(capsule: Any) -> int | None:
    """The integer that NumPy's capsule points to."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        return ctypes.c_int.from_address(get_pointer(capsule, b"numpy.ufunc.extobj")).value
    except (ValueError, TypeError):
        return None


def errors() -> int:
    """The floating-point exceptions that are not ignored now, as a sum of their numbers."""
    return _reader()()


@once
def _reader() -> Callable[[], int]:
    if error_state() is None or fields() is None:
        return _errors_in_python
    state = np.zeros(len(entry.STATE), np.int64)
    state[entry.STATE.index("error_state")] = id(error_state())
    return builtin("jitrt_errors", threads.native_address("jitrt_errors"), state)


def _errors_in_python() -> int:
    state = np.geterr()
    return sum(number for name, number in _NUMBERS.items() if state[name] != "ignore")  # type: ignore[literal-required]


_silent = contextlib.nullcontext()


def noting(watched: int) -> contextlib.AbstractContextManager[Any]:
    """A context for calls that NumPy makes inside of a program: instead of warning they raise `FloatingPointRaised`."""
    return _raising() if watched else _silent


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    kinds: dict[str, Any] = {name: "ignore" if how == "ignore" else "call" for name, how in np.geterr().items()}
    with np.errstate(**kinds, call=_raise):
        yield


def _raise(kind: str, flag: int) -> None:
    raise FloatingPointRaised(kind)


class Patience:
    """When to try kernels again after they have raised exceptions: the more calls in a row did, the later.

    Each such call pays for the kernels and for the plain function. Native tables count in the same way.
    """

    def __init__(self) -> None:
        self.raised = 0
        self.skipped = 0

    def is_over(self) -> bool:
        """Whether this call should run plain at once."""
        self.skipped -= 1
        return self.skipped >= 0

    def note(self, raised: bool) -> None:
        """Whether a call has raised an exception."""
        self.raised = min(self.raised + 1, entry.LONGEST_SKIP) if raised else 0
        self.skipped = (1 << self.raised) - 2 if raised else 0
