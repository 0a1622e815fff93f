"""Loops and choices as functions: plain Python outside of a trace, one node of the graph inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from .frontend.numpy.tracer import Tracer
from .frontend.rolling.loops import NotOneNode, record_cond, record_fori, record_scan, record_while, run_once, trace_of
from .values.kinds import flatten, rebuild

S = TypeVar("S")
_NONE = cast(Any, object())


def fori_loop(lower: int, upper: int, body: Callable[[int, S], S], init: S = _NONE) -> S:
    """Apply `body` for each integer from `lower` up to, and without, `upper`.

    Inside of a function that `jit` compiles the loop becomes one step of the program, whatever its length: the body is
    traced once, and runs natively. The parameters are those of `jax.lax.fori_loop`.

    Parameters
    ----------
    lower, upper : int
        The first number, and the one behind the last; there is no iteration if `upper` is not larger.
    body : callable
        ``body(i, state)`` gives the next state.
    init : array, number, or nested tuples, lists and dicts of them
        The first state. It keeps its structure.

    Returns
    -------
    state
        The last state; `init` if there is no iteration.

    Raises
    ------
    TypeError
        If `upper` is a function: there was an order of parameters without `lower`.

    See Also
    --------
    while_loop, scan

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def newton(a):
    ...     return jitrt.fori_loop(0, 6, lambda i, x: (x + a / x) / 2, a)
    >>> newton(np.array([2.0, 9.0]))
    array([1.41421356, 3.        ])
    """
    if callable(upper) or init is _NONE:
        raise TypeError(
            "fori_loop takes (lower, upper, body, init): fori_loop(n, body, init) is fori_loop(0, n, body, init)"
        )
    if isinstance(lower, Tracer) or isinstance(upper, Tracer):
        state = (lower, init)
        return while_loop(lambda s: s[0] < upper, lambda s: (s[0] + 1, body(s[0], s[1])), state)[1]
    trace = trace_of(init, body)
    if trace is not None and upper > lower:
        with run_once(body):
            return record_fori(trace, range(lower, upper), body, init)
    for i in range(lower, upper):
        init = body(i, init)
    return init


def while_loop(condition: Callable[[S], Any], body: Callable[[S], S], init: S) -> S:
    """Apply `body` as long as `condition` holds.

    Parameters
    ----------
    condition : callable
        ``condition(state)`` gives a boolean.
    body : callable
        ``body(state)`` gives the next state.
    init : array, number, or nested tuples, lists and dicts of them
        The first state. It keeps its structure, and inside of a function that `jit` compiles its types, too: there a
        Python number becomes what `body` makes of it.

    Returns
    -------
    state
        The first state for which `condition` does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def halve_below(x, limit):
    ...     return jitrt.while_loop(lambda x: x.max() > limit, lambda x: x / 2, x)
    >>> halve_below(np.array([5.0, 16.0]), 3.0)
    array([0.625, 2.   ])
    """
    trace = trace_of(init, body, condition)
    if trace is not None:
        with run_once(condition, body):
            return record_while(trace, condition, body, init)
    while condition(init):
        init = body(init)
    return init


def scan(body: Callable[[S, Any], tuple[S, Any]], init: S, xs: Any) -> tuple[S, Any]:
    """Apply `body` to a state and each element of `xs` along the first axis, and stack what it gives.

    Parameters
    ----------
    body : callable
        ``body(state, x)`` gives the next state and a result ``y``.
    init : array, number, or nested tuples, lists and dicts of them
        The first state. It keeps its structure.
    xs : array, or nested tuples, lists and dicts of arrays
        Arrays with the same number of elements, at least one, along the first axis.

    Returns
    -------
    state
        The last state.
    ys
        The results, stacked along a new first axis.

    Raises
    ------
    ValueError
        If there are no arrays in `xs`, if they have different lengths, or no elements.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> jitrt.scan(lambda total, x: (total + x, 2 * total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 6.]))
    """
    arrays: list[Any] = []
    structure = flatten(xs, arrays)
    lengths = {len(a) for a in arrays}
    if len(lengths) != 1:
        raise ValueError(f"the arrays of a scan have different lengths: {sorted(lengths)}" if lengths else "no arrays")
    (length,) = lengths
    if length == 0:
        raise ValueError("a scan over nothing: the shapes of its results are not known")
    trace = trace_of(init, xs, body)
    if trace is not None:
        try:
            with run_once(body):
                return record_scan(trace, body, init, xs, length)
        except NotOneNode:
            pass
    made: list[Any] = []
    shapes: Any = None
    for k in range(length):
        init, y = body(init, rebuild(structure, iter([a[k] for a in arrays])))
        leaves: list[Any] = []
        shapes = flatten(y, leaves)
        made.append(leaves)
    return init, rebuild(shapes, iter([np.stack(column) for column in zip(*made)]))


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *args: Any) -> Any:
    """``then(*args)`` if `condition` holds, else ``otherwise(*args)``; only one of them is computed.

    Parameters
    ----------
    condition : bool, or an array of one element
    then, otherwise : callable
    *args
        Their arguments.

    Returns
    -------
    object
        What the chosen one gives.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def centred_if_large(x):
    ...     return jitrt.cond(abs(x).max() > 10, lambda x: x - x.mean(), lambda x: x, x)
    >>> centred_if_large(np.array([2.0, 4.0, 12.0]))
    array([-4., -2.,  6.])
    """
    if type(condition) is Tracer:
        with run_once(then, otherwise):
            return record_cond(condition._trace, condition, then, otherwise, args)
    return then(*args) if condition else otherwise(*args)
