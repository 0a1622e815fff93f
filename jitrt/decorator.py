"""`jit`: the decorator."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from . import config
from .call.options import Options
from .frontend.promises import check_names
from .ir.rounding import Rounding
from .jitfunction import JitFunction
from .pandas_engine import PandasEngine
from .runtime import results
from .runtime.dispatch import release_all

P = ParamSpec("P")
R = TypeVar("R")


def clear_caches() -> None:
    """Give memory back to the system: frames of functions, and freed large results that are kept for the next ones.

    Up to ``JITRT_KEEP_BYTES`` (256 MiB by default) of freed results are kept. Compiled code stays.

    Examples
    --------
    >>> import jitrt
    >>> jitrt.clear_caches()
    """
    release_all()
    results.clear_caches()


@overload
def jit(function: Callable[P, R]) -> JitFunction[P, R]: ...
@overload
def jit(
    *,
    threads: int | None = None,
    donate: Sequence[str] = (),
    frozen: Sequence[str] = (),
    on_plain: str | None = None,
    fastmath: bool = False,
    wide_constants: bool = False,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...
def jit(
    function: Any = None,
    *,
    threads: int | None = None,
    donate: Sequence[str] = (),
    frozen: Sequence[str] = (),
    on_plain: str | None = None,
    fastmath: bool = False,
    wide_constants: bool = False,
) -> Any:
    """Make a NumPy function fast without changing what it does.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers.
    threads : int, optional
        Most threads that its kernels may use; all that the process has by default. Results do not depend on it.
    donate : sequence of str, optional
        Names of parameters whose arrays the caller does not need after the call. They may be overwritten, and one of
        them may be the result. Floating-point exceptions of a call that overwrites them cause no warning.
    frozen : sequence of str, optional
        Names of parameters whose arrays, by themselves or in lists, dicts and objects, nobody changes any more, as
        weights. What depends on nothing else is computed once for each of them; as `frozen` does for captured arrays.
    on_plain : {"ignore", "warn", "raise"}, optional
        What happens when a call is about to run the plain function: nothing, a `JitrtPerformanceWarning` for each
        reason, or that it is raised, before anything has run. By default what ``JITRT_ON_PLAIN`` says, else nothing.
    fastmath : bool, optional
        Compute with floating-point numbers as if they were real ones: sums and products may be formed in another
        order, products and sums be rounded once together, quotients become products, and formulas such as
        ``log(1 + x)`` functions of their own. Results differ from NumPy's in their last places, zeros perhaps in
        their sign; infinity and nan stay what they are, as long as what is rearranged does not overflow.
    wide_constants : bool, optional
        Compute what depends on constant arrays of half or single precision in double precision, and round it once.

    Returns
    -------
    JitFunction
        Called like `function`. It gives the same values, dtypes and shapes, and raises the same exceptions. Without
        `function`, with options alone, a decorator.

    Raises
    ------
    ValueError
        If `threads` is less than 1, `donate` or `frozen` names no parameter, or `on_plain` is none of the three.
    TypeError
        If `function` cannot be called, or `threads` is no integer.

    Notes
    -----
    At the first call with arguments of given dtypes and shapes, the third one if they have no more than 2 KB, the
    function runs once on symbols. What they record is fused into loop nests and compiled; another shape compiles
    nothing. Where the function does something that symbols cannot follow, it runs as plain NumPy;
    `JitFunction.explain` says why.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def norm(x, y):
    ...     return np.sqrt(x * x + y * y)
    >>> norm(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])

    Options are given to the decorator:

    >>> @jitrt.jit(donate=("u",))
    ... def step(u, dt):
    ...     return u + dt * (1 - u)
    >>> u = np.zeros(4)
    >>> step(u, 0.5)
    array([0.5, 0.5, 0.5, 0.5])
    """
    if function is None:
        return functools.partial(
            jit,
            threads=threads,
            donate=donate,
            frozen=frozen,
            on_plain=on_plain,
            fastmath=fastmath,
            wide_constants=wide_constants,
        )
    if not callable(function):
        raise TypeError(f"jit takes a function, not {type(function).__name__}")
    if threads is not None and operator.index(threads) < 1:
        raise ValueError(f"the number of threads must be at least 1, not {threads}")
    if on_plain not in (None, *config.ON_PLAIN):
        raise ValueError(f"on_plain must be one of {', '.join(config.ON_PLAIN)}, not {on_plain!r}")
    options = Options(
        threads,
        _names(function, donate, "donate"),
        _names(function, frozen, "frozen"),
        on_plain,
        Rounding(bool(fastmath), bool(wide_constants)),
    )
    return JitFunction(function, options)


def _names(function: Callable[..., Any], names: str | Sequence[str], option: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names)
    check_names(function, found, option)
    return found


jit.__pandas_udf__ = PandasEngine  # type: ignore[attr-defined]
