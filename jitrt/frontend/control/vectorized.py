"""`np.vectorize` in staged functions: a loop over the elements, with the statements of the function in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.frozen import frozen
from .values import NotStaged, is_static
from .written_maps import VECTORIZED

ATTRIBUTES = ("pyfunc", "otypes", "excluded", "cache", "signature")
"""Of a `np.vectorize` object: what it does."""


@frozen
class Vectorized:
    """What `np.vectorize` has made.

    Parameters
    ----------
    function : callable or LocalFunction
        Of Python numbers.
    dtype : numpy.dtype or None
        Of the result; None for that of the function's first result.
    """

    function: Any
    dtype: np.dtype | None

    def loop(self, count: int) -> Callable[..., Any]:
        """The loop over the elements of so many arrays: a function of `function`, `dtype` and these.

        Raises
        ------
        NotStaged
            If there is none.
        """
        if count not in VECTORIZED:
            raise NotStaged(f"np.vectorize with {count} arguments")
        return VECTORIZED[count]


def of_call(function: Any = None, otypes: Any = None, *more: Any, **others: Any) -> Vectorized:
    """``np.vectorize(function, otypes=…)``.

    Raises
    ------
    NotStaged
        If there are other options, or several results.
    """
    if function is None or more or any(v not in (None, False) for v in others.values()):
        raise NotStaged("np.vectorize with other options")
    if otypes is None:
        return Vectorized(function, None)
    if not is_static(otypes) or len(otypes) != 1:
        raise NotStaged("np.vectorize with several results")
    try:
        dtype = np.dtype(otypes[0])
    except TypeError:
        raise NotStaged("np.vectorize with what is no dtype") from None
    if dtype.kind not in "biuf":
        raise NotStaged(f"np.vectorize with {dtype}")
    return Vectorized(function, dtype)


def of_object(value: np.vectorize) -> Vectorized:
    """What a `np.vectorize` object is, if its options are those of `of_call`."""
    return of_call(
        value.pyfunc, value.otypes, excluded=value.excluded or None, cache=value.cache, signature=value.signature
    )
