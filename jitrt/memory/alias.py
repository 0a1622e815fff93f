"""Aliases: which stored values may lie in the memory of which.

A stored value has memory of its own, unless it is the result of a call that may hand its argument through: a call that
NumPy makes of a function without a row in the op table. What such a result may alias has to stay as it is for as long
as the result is needed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..expr.node import Node
from ..expr.optable import Kind
from ..schedule.fuse import producer, storage

F = TypeVar("F", bound=Callable)

# Functions of NumPy that have no row and always allocate what they return.
_ALLOCATING = {
    np: """argpartition argsort bincount convolve corrcoef correlate cov cross digitize gradient histogram interp
    kron lexsort median nanmedian nanpercentile nanquantile partition percentile poly polyfit polyval quantile
    searchsorted sort trapezoid union1d unique""",
    np.linalg: """cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet
    solve svd tensorinv tensorsolve""",
    np.fft: "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
}

_declared: weakref.WeakSet[Any] = weakref.WeakSet()


@lru_cache(maxsize=1)
def _allocating() -> frozenset[Any]:
    return frozenset(_plain(getattr(module, name)) for module, names in _ALLOCATING.items() for name in names.split())


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
    """
    _declared.add(_plain(function))
    return function


def may_alias_arguments(node: Node) -> bool:
    """Whether the value of a node that NumPy executes may lie in the memory of an operand."""
    call = node.kwargs.get("call")
    if node.op.kind is not Kind.HOST or call is None:
        return False
    function = _plain(call.function)
    return function not in _declared and function not in _allocating()


def alias_sets(nodes: Sequence[Node]) -> dict[Node, frozenset[Node]]:
    """For each node the stored values in whose memory it may lie.

    Parameters
    ----------
    nodes : sequence of Node
        Arguments before users.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt.expr import build as b
    >>> from jitrt.expr.types import ArrayType
    >>> x = b.input_node(0, ArrayType(np.dtype(np.float64), (2, 3)))
    >>> y = b.elementwise(np.exp, x)
    >>> sets = alias_sets([x, y, b.view("transpose", y, axes=(1, 0))])
    >>> [[n.op.name for n in s] for s in sets.values()]
    [['input'], ['exp'], ['exp']]
    """
    sets: dict[Node, frozenset[Node]] = {}
    for node in nodes:
        base = storage(node)
        if base is not node:
            sets[node] = sets[base]
            continue
        source = producer(node)
        sets[node] = frozenset((node,))
        if may_alias_arguments(source):
            sets[node] = sets[node].union(*(sets[a] for a in source.args))
    return sets
