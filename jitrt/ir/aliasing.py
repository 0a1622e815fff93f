"""Which calls that NumPy makes may give results in the memory of their arguments."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from .node import Node
from .ops.contractions import Call
from .ops.optable import Kind
from .ops.steps import RULES

F = TypeVar("F", bound=Callable)

# Functions of NumPy without a rule for the shapes of their results that always allocate what they return.
_ALLOCATING = {
    np: """bincount corrcoef cov cross digitize gradient kron poly polyfit polyval trapezoid union1d unique""",
    np.linalg: "cond eig eigvals lstsq matrix_power matrix_rank norm pinv tensorinv tensorsolve",
}

_declared: weakref.WeakSet[Any] = weakref.WeakSet()


@lru_cache(maxsize=1)
def _allocating() -> frozenset[Any]:
    named = {getattr(module, name) for module, names in _ALLOCATING.items() for name in names.split()}
    return frozenset(map(_plain, named | RULES.keys()))


def _plain(function: Any) -> Any:
    """What NumPy's dispatching functions lead to."""
    return getattr(function, "_implementation", function)


def non_aliasing(function: F) -> F:
    """Declare that the results of `function` share no memory with its arguments.

    Parameters
    ----------
    function : callable
        A function of arrays for which jitrt has no kernel, so that it is called inside of a compiled program. Of those
        of NumPy that always allocate their results jitrt knows it.

    Returns
    -------
    callable
        `function` itself.

    Notes
    -----
    Without the declaration the memory of its arguments is not reused for as long as its results are needed.

    Examples
    --------
    >>> import jitrt
    >>> import numpy as np
    >>> matrix_power = jitrt.non_aliasing(np.linalg.matrix_power)
    >>> matrix_power is np.linalg.matrix_power
    True
    """
    _declared.add(_plain(function))
    return function


def may_alias_arguments(node: Node) -> bool:
    """Whether the value of a node that NumPy executes may lie in the memory of an operand."""
    call = node.kwargs.get("call")
    return node.op.kind is Kind.HOST and call is not None and may_alias(call)


def is_lent(node: Node) -> bool:
    """Whether a node is what NumPy has given in a call, so that it may lie in the memory of an operand."""
    return node.op.name == "result" and may_alias_arguments(node.args[0])


def may_alias(call: Call) -> bool:
    """Whether what a call gives may lie in the memory of an operand."""
    function = _plain(call.function)
    return function not in _declared and function not in _allocating()
