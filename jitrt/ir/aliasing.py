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


def may_alias(call: Call) -> bool:
    """Whether what a call gives may lie in the memory of an operand."""
    function = _plain(call.function)
    return function not in _declared and function not in _allocating()
