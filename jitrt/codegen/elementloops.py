"""Machine code of translated loops over elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from ..kernels.floatflags import clear_flags, raised_flags
from ..once import once
from ..trace.elementloops import ElementLoop
from ..trace.elementtypes import NotTranslated


@once
def _names() -> dict[str, Any]:
    """What the names in translated code mean."""
    from ..kernels import checked  # here, since numba makes its functions, and most programs have no such loops

    return {
        "np": np, "math": math, "_i8": np.int64, "_f8": np.float64, "_f4": np.float32,
        "_add": checked.add, "_sub": checked.subtract, "_mul": checked.multiply, "_floordiv": checked.floor_divide,
        "_mod": checked.modulo, "_neg": checked.negative, "_abs": checked.absolute, "_shl": checked.shift_left,
        "_shr": checked.shift_right, "_fits": checked.fits, "_exact": checked.exact, "_truncate": checked.truncate,
        "_div": checked.divide, "_div4": checked.divide_single, "_finite": checked.finite, "_pow": checked.power,
        "_remainder": checked.remainder, "_floor_quotient": checked.floor_quotient, "_larger": checked.larger,
        "_smaller": checked.smaller, "_total": checked.total,
    }  # fmt: skip


def compile_loop(loop: ElementLoop, args: Sequence[Any]) -> Callable[..., Any]:
    """The compiled loop for arguments of the types of `args`, the captured arrays among them.

    Floating-point operations are neither reordered nor contracted, and every index is checked.

    Raises
    ------
    NotTranslated
        If numba is told to compile nothing.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets what the environment says
        raise NotTranslated("NUMBA_DISABLE_JIT lets numba compile nothing")
    namespace = dict(_names())
    exec(compile(loop.source, "<jitrt element loop>", "exec"), namespace)
    dispatcher = numba.njit(boundscheck=True, error_model="numpy", nogil=True)(namespace["loop"])
    dispatcher.compile(tuple(numba.typeof(a) for a in args))
    dispatcher.disable_compile()
    return dispatcher


@once
def flags_taker() -> Callable[[], int]:
    """A function that gives the floating-point exceptions raised since it was called last, as a sum of their numbers.

    It is called before and after a loop, and not inside: to the compiler, arithmetic and flags are independent.
    """

    @intrinsic
    def take(typingctx: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            raised = raised_flags(builder)
            clear_flags(builder)
            return raised

        return numba.types.int64(), emit

    @numba.njit("int64()")
    def taken() -> int:
        return take()  # type: ignore[call-arg]  # numba gives the first argument

    return taken
