"""Operators and methods of lazy arrays: one function for each that NumPy's arrays have, of small ones NumPy's own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..base.operators import BINARY, COMPARISONS, UNARY
from ..frontend.numpy.operators import power
from ..ir.ops.optable import MUTATING_METHODS
from ..ir.ops.rows import METHODS
from . import calls
from .array import ndarray, plain_of
from .calls import NUMBERS, eager, exact, lazy, real
from .pending import PENDING
from .ufuncs import array_ufunc, call_ufunc, into, is_worthwhile, record, recorded


def _is_number_or_array(value: Any) -> bool:
    return type(value) is ndarray or isinstance(value, (int, float, complex, np.generic)) or type(value) is np.ndarray


def _binary(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x <op> y`` where one of them is a lazy array."""
    made = record(ufunc, (x, y))
    return lazy(python(_elements(x), _elements(y))) if made is None else made


def _elements(value: Any) -> Any:
    return value._read() if type(value) is ndarray else value if type(value) in NUMBERS else real(value)


def _product(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x @ y`` where one of them is a lazy array."""
    are_arrays = all(type(v) is np.ndarray or (type(v) is ndarray and not v._scalar) for v in (x, y))
    if are_arrays and is_worthwhile((x, y)):
        return exact(call_ufunc(ufunc, "__call__", (x, y), {}))
    return lazy(python(real(x), real(y)), scalars=False)


def _updated(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: ndarray, y: Any) -> Any:
    """``x <op>= y``."""
    if x._scalar:
        return NotImplemented  # scalars are immutable: Python falls back to the operator itself
    with PENDING.lock:
        if x._memory.node is not None or PENDING.is_private(x._memory):
            node = _pow(x, y)._node() if ufunc is np.power else recorded(ufunc, (x, y))
            if into(x, node) is not None:
                return x
    eager(python, (x, y), {}, (x,))
    return x


def _forward(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Any:
    recorded = _product if ufunc is np.matmul else _binary

    def apply(self: ndarray, other: Any) -> Any:
        x, kind = self._plain, type(other)
        y = other._plain if kind is ndarray else other if kind in NUMBERS else None
        if x is None or y is None:
            return recorded(ufunc, python, self, other)
        made = python(x, y)
        if type(made) is np.ndarray and made.size < policy.SMALL_ARRAY:
            return plain_of(made)
        return lazy(made, scalars=ufunc is not np.matmul)

    return apply


def _reflected(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Any:
    recorded = _product if ufunc is np.matmul else _binary

    def apply(self: ndarray, other: Any) -> Any:
        x = self._plain
        if x is None or type(other) not in NUMBERS:
            return recorded(ufunc, python, other, self)
        return lazy(python(other, x))

    return apply


def _in_place(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Any:
    def apply(self: ndarray, other: Any) -> Any:
        x, kind = self._plain, type(other)
        y = other._plain if kind is ndarray else other if kind in NUMBERS else None
        if x is None or y is None:
            return _updated(ufunc, python, self, other)
        python(x, y)
        return self

    return apply


def _unary(ufunc: np.ufunc, python: Callable[[Any], Any]) -> Any:
    def apply(self: ndarray) -> Any:
        if self._plain is not None:
            return lazy(python(self._plain))
        made = record(ufunc, (self,))
        return lazy(python(self._read())) if made is None else made

    return apply


def _method(name: str) -> Any:
    """A method of NumPy's arrays."""
    numpys, function = getattr(np.ndarray, name), METHODS.get(name)

    def method(self: ndarray, *args: Any, **options: Any) -> Any:
        if self._plain is not None:
            return _bound(self._plain, name)(*args, **options) if args or options else lazy(numpys(self._plain), False)
        if function is not None:
            return calls.call_function(function, (self, *args), options)
        if name in MUTATING_METHODS and not self._scalar:
            return eager(numpys, (self, *args), options, (self,))
        return exact(
            eager(
                lambda value, *given, **named: getattr(value, name)(*given, **named),
                (self, *args),
                options,
                _outs(options),
            )
        )

    return method


def _attribute(name: str) -> Any:
    return lambda self: getattr(self._handed_out(), name)


def _conversion(name: str) -> Any:
    return lambda self, *args: getattr(self._read(), name)(*args)


def _outs(options: dict[str, Any]) -> tuple:
    out = options.get("out")
    return out if type(out) is tuple else (out,)


def _bound(plain: np.ndarray, name: str) -> Any:
    """An attribute of one of NumPy's arrays, or a method that takes lazy arrays and gives them."""
    found = getattr(plain, name)
    if not callable(found):
        return found

    def method(*args: Any, **options: Any) -> Any:
        if "out" in options:
            found(*real(args), **real(options))
            return options["out"]
        return lazy(found(*real(args), **real(options)), scalars=False)

    return method


def _pow(self: ndarray, other: Any, modulo: Any = None) -> Any:
    if self.dtype.kind in "fb" or self._scalar or not _is_number_or_array(other):
        return _binary(np.power, operator.pow, self, other)
    return power(self, other)


def _ipow(self: ndarray, other: Any) -> Any:
    return _updated(np.power, operator.ipow, self, other)


def _divmod(self: ndarray, other: Any) -> Any:
    return eager(divmod, (self, other), {})


def _rdivmod(self: ndarray, other: Any) -> Any:
    return eager(divmod, (other, self), {})


ndarray.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
for _name, (_ufunc, _python) in BINARY.items():
    if _name != "pow":
        setattr(ndarray, f"__{_name}__", _forward(_ufunc, _python))
        setattr(ndarray, f"__i{_name}__", _in_place(_ufunc, getattr(operator, f"i{_name.removesuffix('_')}")))
    setattr(ndarray, f"__r{_name}__", _reflected(_ufunc, _python))
for _name, (_ufunc, _python) in COMPARISONS.items():
    setattr(ndarray, f"__{_name}__", _forward(_ufunc, _python))
for _name, (_ufunc, _convert) in UNARY.items():
    setattr(ndarray, f"__{_name}__", _unary(_ufunc, _convert))
for _name in dir(np.ndarray):
    if not _name.startswith("_") and _name not in vars(ndarray):
        is_method = callable(getattr(np.ndarray, _name))
        setattr(ndarray, _name, _method(_name) if is_method else property(_attribute(_name)))
for _name in ("bool", "int", "float", "complex", "index", "str", "repr", "format", "round"):
    setattr(ndarray, f"__{_name}__", _conversion(f"__{_name}__"))
for _name, _function in {"pow": _pow, "ipow": _ipow, "divmod": _divmod, "rdivmod": _rdivmod}.items():
    setattr(ndarray, f"__{_name}__", _function)
