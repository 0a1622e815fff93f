"""Folds and scans of masked arrays in a trace, as ``numpy.ma`` writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...values.masked import Masked
from .maskedoperations import (
    OPTIONAL,
    checked_fill,
    copied,
    domained,
    made,
    nomask,
    numpy,
    refuse,
    settled,
    unary,
    unmasked,
)
from .operators import is_tracer


def check_out(out: Any) -> None:
    """End the trace if results go into an array of the user's."""
    if out is not None:
        refuse("out")


class MaskedFolds(Masked):
    """The folds and scans of a masked array whose parts are symbols."""

    __slots__ = ()
    shape: Any
    size: Any
    ndim: Any
    dtype: Any

    def _filled(self, fill: Any) -> Any:
        """A copy of the data with a value where it is masked; the data itself if nothing can be."""
        if self._mask is nomask:
            return self._data
        fill = fill if is_tracer(fill) else checked_fill(fill, self.dtype)
        return copied(self._data.copy("K"), fill, self._mask)

    def _fold(self, name: str, fill: Any, axis: Any, keepdims: Any, **given: Any) -> tuple[Any, Any]:
        """A fold of the data with a value in place of what is masked, and where all is masked."""
        options = {} if keepdims is OPTIONAL else {"keepdims": keepdims}
        if self._shrinks and (axis is not None or options):
            settled(self)
        mask = self._mask if self._mask is nomask else np.all(self._mask, axis=axis, **options)
        if self._shrinks:
            mask = np.logical_and(mask, np.any(self._mask))
        return getattr(self._filled(fill), name)(axis=axis, **given, **options), mask

    def _folded(self, name: str, fill: Any, axis: Any, keepdims: Any, **given: Any) -> Any:
        result, mask = self._fold(name, fill, axis, keepdims, **given)
        return made(result, mask) if result.ndim else unmasked(result, mask)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._folded("sum", 0, axis, keepdims, dtype=dtype)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._folded("prod", 1, axis, keepdims, dtype=dtype)

    def all(self, axis: Any = None, out: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._folded("all", True, axis, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._folded("any", False, axis, keepdims)

    def _extreme(self, name: str, fill: Any, axis: Any, keepdims: Any) -> Any:
        result, mask = self._fold(name, fill, axis, keepdims)
        if not result.ndim:
            return unmasked(result, mask)
        found = made(result, mask)
        if mask is not nomask:
            np.copyto(result, found.fill_value, where=mask)
        return found

    def min(self, axis: Any = None, out: Any = None, fill_value: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._extreme("min", self._largest(fill_value), axis, keepdims)

    def max(self, axis: Any = None, out: Any = None, fill_value: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._extreme("max", self._smallest(fill_value), axis, keepdims)

    def _largest(self, fill: Any) -> Any:
        return np.ma.minimum_fill_value(np.empty(0, self.dtype)) if fill is None else fill

    def _smallest(self, fill: Any) -> Any:
        return np.ma.maximum_fill_value(np.empty(0, self.dtype)) if fill is None else fill

    def argmin(self, axis: Any = None, fill_value: Any = None, out: Any = None, *, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._filled(self._largest(fill_value)).argmin(axis, keepdims=keepdims is not OPTIONAL and keepdims)

    def argmax(self, axis: Any = None, fill_value: Any = None, out: Any = None, *, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        return self._filled(self._smallest(fill_value)).argmax(axis, keepdims=keepdims is not OPTIONAL and keepdims)

    def count(self, axis: Any = None, keepdims: Any = OPTIONAL) -> Any:
        options = {} if keepdims is OPTIONAL else {"keepdims": keepdims}
        if settled(self)._mask is not nomask:
            return (~self._mask).sum(axis=axis, dtype=np.intp, **options)
        if axis is None and not options.get("keepdims"):
            return self.size
        axes = range(self.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, self.ndim)
        left = 1 if options.get("keepdims") else 0
        kept = [(n,) if k not in axes else (1,) * left for k, n in enumerate(self.shape)]
        return numpy().full(sum(kept, ()), math.prod(self.shape[k] for k in axes), np.intp)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = OPTIONAL) -> Any:
        check_out(out)
        options = {} if keepdims is OPTIONAL else {"keepdims": keepdims}
        if self._shrinks and axis is None is dtype and not options and self.dtype == np.float64:
            total, mask = self._fold("sum", 0, None, OPTIONAL)
            result = unmasked(total, mask) * 1.0 / np.logical_not(self._mask).sum()
            return unmasked(result, np.logical_not(np.logical_or(np.isfinite(result), np.any(self._mask))))
        if settled(self)._mask is nomask:
            return self._as_itself(np.mean(self._data, axis=axis, dtype=dtype, **options))
        is_half = dtype is None and self.dtype.char == "e"
        if dtype is None and self.dtype.kind in "bui":
            dtype = np.dtype(np.float64)
        total = self.sum(axis=axis, dtype=np.dtype(np.float32) if is_half else dtype, **options)
        result = total * 1.0 / self.count(axis=axis, **options)
        if is_half:
            result = refuse("a mean of halves") if result.ndim else result.astype(np.float16)
        return result

    def _as_itself(self, result: Any) -> Any:
        """What NumPy gives of an array that is not masked; where it is not finite that is something else."""
        if result.dtype.char == "e":
            refuse("a mean of halves")
        result = unmasked(result, ~np.all(np.isfinite(result)))
        if not result.ndim:
            return result
        found = made(result, nomask, self)
        found._sharedmask = False
        return found

    def anom(self, axis: Any = None, dtype: Any = None) -> Any:
        m = self.mean(axis, dtype)
        return self - (np.expand_dims(m, axis) if axis else m)

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = OPTIONAL,
        mean: Any = OPTIONAL,
    ) -> Any:  # fmt: skip
        check_out(out)
        if mean is not OPTIONAL or not self.ndim:
            refuse("a variance with options")
        options = {} if keepdims is OPTIONAL else {"keepdims": keepdims}
        if settled(self)._mask is nomask:
            return self._as_itself(np.var(self._data, axis=axis, dtype=dtype, ddof=ddof, **options))
        count = self.count(axis=axis, **options) - ddof
        around = self - self.mean(axis, dtype, keepdims=True)
        if around.dtype.kind == "c":
            around = np.absolute(around) ** 2
        else:
            around *= around
        found = domained(np.divide, around.sum(axis, **options), count)
        if not found.ndim:
            return found
        mask = np.logical_or(np.all(self._mask, axis=axis, **options), count <= 0)
        return made(found._data, mask, self, True)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = OPTIONAL,
        mean: Any = OPTIONAL,
    ) -> Any:  # fmt: skip
        domain = np.ma.core.ufunc_domain[np.sqrt]  # type: ignore[attr-defined]
        return unary(np.sqrt, domain, self.var(axis, dtype, out, ddof, keepdims, mean))

    def _scan(self, name: str, fill: Any, axis: Any, dtype: Any) -> Any:
        data = getattr(self._filled(fill), name)(axis=axis, dtype=dtype)
        mask = self._mask if self._mask is nomask else self._mask.copy().reshape(data.shape)
        return made(data, mask, None, self._shrinks)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        check_out(out)
        return self._scan("cumsum", 0, axis, dtype)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        check_out(out)
        return self._scan("cumprod", 1, axis, dtype)
