"""What stands for a masked array in a trace: attributes, methods and operators of ``numpy.ma.MaskedArray``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.operators import BINARY, COMPARISONS, UNARY
from ...values.masked import Masked
from .maskedfolds import MaskedFolds, check_out
from .maskedoperations import (
    binary,
    checked_fill,
    compare,
    copied_as,
    decided,
    domained,
    getdata,
    made,
    mask_of,
    nomask,
    power,
    refuse,
    settled,
    silenced,
    state,
    ufunc_of_masked,
    unmasked,
    unsafe_divisor,
)  # fmt: skip
from .operators import is_tracer


class MaskedTracer(MaskedFolds):
    """A masked array whose data, mask and fill value are symbols."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ma.MaskedArray

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            refuse(f"{ufunc.__name__} with options")
        return ufunc_of_masked(ufunc, inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        name = _SYNONYMS.get(function.__name__, function.__name__)
        if function is np.where or function is np.shape or function is np.ndim or function is np.size:
            return function(*[a._data if isinstance(a, Masked) else a for a in args], **kwargs)
        if name not in _METHODS or not args or args[0] is not self:
            refuse(f"np.{function.__name__}")
        return getattr(self, name)(*args[1:], **kwargs)

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ma.MaskedArray, name) and not name.startswith("__array_"):
            return refuse(name)
        raise AttributeError(f"'MaskedArray' object has no attribute {name!r}")

    shape = property(lambda self: self._data.shape)
    ndim = property(lambda self: self._data.ndim)
    size = property(lambda self: self._data.size)
    dtype = property(lambda self: self._data.dtype)
    itemsize = property(lambda self: self._data.itemsize)
    nbytes = property(lambda self: self._data.nbytes)
    data = property(lambda self: self._data[...])
    baseclass = property(lambda self: np.ndarray)
    hardmask = property(lambda self: self._hardmask)
    sharedmask = property(lambda self: self._sharedmask)
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(len(self))]) if self.ndim > 1 else refuse("a loop over elements")

    @property
    def mask(self) -> Any:
        settled(self)
        return self._mask if self._mask is nomask else self._mask[...]

    @mask.setter
    def mask(self, value: Any) -> None:
        settled(self)
        if self._hardmask or not (
            isinstance(value, (bool, np.bool)) or (is_tracer(value) and value.shape == self.shape)
        ):
            refuse("a mask that is set")
        if value is not nomask or self._mask is not nomask:
            self._set_up_mask()
            self._mask[...] = value

    def _set_up_mask(self) -> None:
        """Have a mask that is an array."""
        if self._mask is nomask:
            self._mask = state().zeros(self.shape, np.dtype(bool))

    @property
    def fill_value(self) -> Any:
        if self._fill_value is None:
            self._fill_value = checked_fill(None, self.dtype)
        return self._fill_value[()]

    @fill_value.setter
    def fill_value(self, value: Any) -> None:
        target = checked_fill(value, self.dtype)
        if self._fill_value is None:
            self._fill_value = target
        else:
            self._fill_value[...] = target

    def get_fill_value(self) -> Any:
        return self.fill_value

    def set_fill_value(self, value: Any = None) -> None:
        self.fill_value = value

    def filled(self, fill_value: Any = None) -> Any:
        if self._mask is nomask:
            return self._data[...]
        fill = self.fill_value if fill_value is None else checked_fill(fill_value, self.dtype)
        return self._filled(fill) if decided(np.any(self._mask)) else self._data[...]

    def __getitem__(self, index: Any) -> Any:
        settled(self)
        index = index._data if isinstance(index, Masked) else index
        data, mask = self._data[index], self._mask if self._mask is nomask else self._mask[index]
        if not data._is_array():
            return unmasked(data, mask)
        found = made(data, mask, self)
        found._sharedmask = found._sharedmask or mask is not nomask
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        settled(self)
        settled(value)
        if self._hardmask:
            refuse("an assignment under a hard mask")
        place = index._data if isinstance(index, Masked) else index
        if value is np.ma.masked:
            self._set_up_mask()
            self._mask[place] = True
            return
        mask = mask_of(value)[0]
        with silenced("over", "invalid"):
            self._data[place] = value._data if isinstance(value, Masked) else value
        keeps_mask = isinstance(index, Masked) and not isinstance(value, Masked) and self._mask is not nomask
        if not keeps_mask and (self._mask is not nomask or mask is not nomask):
            self._set_up_mask()
            self._mask[place] = mask

    def compressed(self) -> Any:
        data = settled(self)._data.ravel()
        return data if self._mask is nomask else data[np.logical_not(self._mask.ravel())]

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        mask = self._mask if self._mask is nomask else self._mask.reshape(*shape, order=order)
        return made(self._data.reshape(*shape, order=order), mask, self, self._shrinks)

    def ravel(self, order: Any = "C") -> Any:
        if order in ("k", "K", "a", "A"):
            order = "F" if self._data.flags.fnc else "C"
        data = self._data.ravel(order=order)
        mask = self._mask if self._mask is nomask else self._mask.ravel(order=order).reshape(data.shape)
        return made(data, mask, self, self._shrinks)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True) -> Any:
        if order != "K" or casting != "unsafe" or not subok:
            refuse("astype with options")
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        data = self._data.astype(dtype)
        mask = self._mask if self._mask is nomask else copied_as(self._mask, data)
        found = made(data, mask, self, self._shrinks)
        if found._fill_value is not None:
            found._fill_value = checked_fill(found._fill_value, data.dtype)
        return found

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        check_out(out)
        data = self._data.round(decimals)
        return made(data, self._mask, self, self._shrinks) if data.ndim else unmasked(data, self._mask)

    def _part(self, data: Any) -> Any:
        """A part of complex data."""
        return made(data[...], self._mask if self._mask is nomask else self._mask.copy(), None, self._shrinks)

    real = property(lambda self: self._part(self._data.real))
    imag = property(lambda self: self._part(self._data.imag))

    # Operators in place.

    def _update(self, ufunc: np.ufunc, other: Any, neutral: int) -> Any:
        settled(self)
        mask = mask_of(settled(other))[0]
        if mask is not nomask and (self._mask is not nomask or decided(np.any(mask))):
            self._set_up_mask()
            self._mask |= mask
        return self._write(ufunc, getdata(other), neutral)

    def _write(self, ufunc: np.ufunc, other: Any, neutral: int) -> Any:
        other = np.where(self._mask, other.dtype.type(neutral), other)
        data: Any = self._data
        ufunc(data, other, out=data)
        return self

    def _divide(self, ufunc: np.ufunc, other: Any) -> Any:
        settled(self)
        data, (mask, _) = getdata(other), mask_of(settled(other))
        outside = unsafe_divisor(self._data, data)
        data = np.where(outside, data.dtype.type(1), data)
        new = outside if mask is nomask else np.logical_or(mask, outside)
        if self._mask is not nomask:
            self._mask |= new
        elif decided(np.any(new)):
            self._mask = new
        return self._write(ufunc, data, 1)

    def __iadd__(self, other: Any) -> Any:
        return self._update(np.add, other, 0)

    def __isub__(self, other: Any) -> Any:
        return self._update(np.subtract, other, 0)

    def __imul__(self, other: Any) -> Any:
        return self._update(np.multiply, other, 1)

    def __itruediv__(self, other: Any) -> Any:
        return self._divide(np.true_divide, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._divide(np.floor_divide, other)

    def __ipow__(self, other: Any) -> Any:
        return refuse("**=")


Masked.in_traces = MaskedTracer


def _both(name: str) -> Callable[..., Any]:
    """A method of arrays that data and mask go through."""

    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in ("diagonal", "repeat"):
            settled(self)
        mask = self._mask if self._mask is nomask else getattr(self._mask, name)(*args, **kwargs)
        return made(getattr(self._data, name)(*args, **kwargs), mask, self, self._shrinks)

    return apply


def _operator(f: Callable[[Any, Any], Any], ufunc: np.ufunc, reflected: bool) -> Callable[[Any, Any], Any]:
    """A binary operator that ``numpy.ma`` has in its own way; NumPy's scalars in front of it ask the ufunc."""

    def apply(self: Any, other: Any) -> Any:
        if not reflected:
            return f(self, other)
        is_scalar = is_tracer(other) and not other._is_weak() and not other._is_array()
        return ufunc_of_masked(ufunc, (other, self)) if is_scalar else f(other, self)

    return apply


def _by_ufunc(ufunc: np.ufunc, reflected: bool = False) -> Callable[..., Any]:
    return lambda self, *others: ufunc(*others, self) if reflected else ufunc(self, *others)


def _refusing(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: refuse(name)


_OWN: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: binary(np.add, x, y), "sub": lambda x, y: binary(np.subtract, x, y),
    "mul": lambda x, y: binary(np.multiply, x, y), "truediv": lambda x, y: domained(np.divide, x, y),
    "floordiv": lambda x, y: domained(np.floor_divide, x, y), "pow": power,
}  # fmt: skip
for _name, (_ufunc, _) in BINARY.items():
    for _prefix, _is_reflected in (("", False), ("r", True)):
        _own = _OWN.get(_name)
        _made = _by_ufunc(_ufunc, _is_reflected) if _own is None else _operator(_own, _ufunc, _is_reflected)
        setattr(MaskedTracer, f"__{_prefix}{_name}__", _made)
    if f"__i{_name}__" not in vars(MaskedTracer):
        setattr(MaskedTracer, f"__i{_name}__", _refusing(f"an assignment by {_name}"))
for _name, _what in {
    "array": "an array made of it", "bool": "bool", "complex": "complex", "contains": "in", "float": "float",
    "int": "int", "reduce_ex": "a copy", "repr": "repr",
}.items():  # fmt: skip
    setattr(MaskedTracer, f"__{_name}__", _refusing(_what))
for _name, (_ufunc, _) in COMPARISONS.items():
    setattr(MaskedTracer, f"__{_name}__", lambda self, other, f=_ufunc: compare(self, other, f))
for _name, (_unary, _of_number) in UNARY.items():
    setattr(MaskedTracer, f"__{_name}__", _by_ufunc(_unary))
for _name in ("copy", "diagonal", "flatten", "repeat", "squeeze", "swapaxes", "transpose"):
    setattr(MaskedTracer, _name, _both(_name))

# Functions of NumPy's that call the method of that name of what is no ordinary array.
_SYNONYMS = {"amax": "max", "amin": "min", "around": "round"}
_METHODS = frozenset(
    "all any argmax argmin cumprod cumsum max mean min prod ravel repeat reshape round squeeze std sum swapaxes "
    "transpose var".split()
)
