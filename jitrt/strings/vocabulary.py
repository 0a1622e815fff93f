"""The functions that a string may call, and what may be given to them."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_MOST_BITS = 1 << 20
"""Longer integers of Python are not computed: one string could ask for one that fills the memory."""


def raised(base: Any, exponent: Any) -> Any:
    """``base ** exponent``, if that is no integer of Python that has too many digits."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent * base.bit_length() > _MOST_BITS:
        raise ValueError(f"an integer to the power {exponent} has too many digits; write a float, as in 2.0 ** n")
    return base**exponent


def shifted(x: Any, count: Any) -> Any:
    """``x << count``, if that is no integer of Python that has too many digits."""
    if isinstance(x, int) and isinstance(count, int) and count + x.bit_length() > _MOST_BITS:
        raise ValueError(f"an integer that is shifted by {count} bits has too many digits")
    return x << count


def compared(name: str, left: Any, right: Any) -> Any:
    """Two texts compared by the operator of that name.

    A text of the expression is one of bytes beside arrays of bytes.
    """
    return getattr(operator, name)(*_texts(left, right))


def contains(text: Any, part: Any) -> Any:
    """Whether each text has `part` in it."""
    return np.strings.find(*_texts(text, part)) >= 0


def _texts(left: Any, right: Any) -> tuple[Any, Any]:
    """Both as text of the same kind."""
    if any(isinstance(x, bytes) or (isinstance(x, np.ndarray) and x.dtype.kind == "S") for x in (left, right)):
        left, right = (x.encode() if isinstance(x, str) else x for x in (left, right))
    return left, right


def complex_(real: Any, imag: Any) -> Any:
    """The complex numbers with these parts."""
    made = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), np.result_type(real, imag, np.complex64))
    made.real = real
    made.imag = imag
    return made


def where(condition: Any, x: Any, y: Any) -> Any:
    """The elements of `x` where the condition holds, and those of `y` elsewhere."""
    return np.where(condition, x, y)


_OTHERS = """all amax amin angle any argmax argmin around average clip copy count_nonzero cumprod cumsum diff dot fix
flip full_like imag inner interp isclose iscomplex isneginf isposinf isreal max mean median min nan_to_num nanargmax
nanargmin nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ones_like percentile prod ptp quantile
ravel real roll round sinc sort squeeze std sum trace transpose unwrap var vdot zeros_like""".split()

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: f for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.nout == 1},
    **{name: getattr(np, name) for name in _OTHERS},
    "complex": complex_,
    "contains": contains,
    "where": where,
}
"""Those that the user may call by name: NumPy's of that name, but for three of numexpr's."""

HELPERS: dict[str, Callable[..., Any]] = {"raised": raised, "shifted": shifted, "compared": compared}
"""What operators stand for where they need more than one operation of Python."""

# They write, show memory that was never written, make arrays of any size, loop any number of times, or return tuples.
_NOT_GIVEN = frozenset({"out", "overwrite_input", "copy", "shape", "subok", "device", "returned", "n"})
_OF_UFUNCS = frozenset({"dtype", "casting", "order"})


@functools.cache
def takes(name: str) -> tuple[int, frozenset[str]]:
    """What may be given to a function.

    Parameters
    ----------
    name : str
        A key of `FUNCTIONS`.

    Returns
    -------
    int
        The most arguments by position.
    frozenset of str
        The names of those by keyword.
    """
    function = FUNCTIONS[name]
    if isinstance(function, np.ufunc):
        return function.nin, _OF_UFUNCS
    by_position, by_keyword = 0, set()
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.name not in _NOT_GIVEN and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            by_keyword.add(parameter.name)
    for parameter in parameters:
        if parameter.name in _NOT_GIVEN or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            break
        by_position += 1
    return by_position, frozenset(by_keyword)
