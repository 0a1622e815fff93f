"""Python's operators on tracers.

Between arrays they are NumPy's ufuncs. Between Python floats, which a tracer can stand for, too, Python's own rules
hold: ``1.0 / 0.0`` raises, and a negative number has complex powers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from ...base.operators import ARITHMETIC, BINARY, COMPARISONS, UNARY
from ...errors import Untraceable
from ...ir.extents import Size
from ...ir.node import Node
from ...ir.ops.ufuncs import of_scalars
from ...values.masked import Masked
from ..python.classes import name_of
from ..python.userline import user_line
from ..rolling.loopnumber import LoopNumber
from .numbers import OVERFLOWING, as_python_float, note_overflow, operation, unary

_NUMBERS = (np.ndarray, np.generic, int, float, complex)


def _binary(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x <op> y`` where one of them is a tracer."""
    if type(x) is LoopNumber or type(y) is LoopNumber:
        x, y = (v.operand(w, python) if type(v) is LoopNumber else v for v, w in ((x, y), (y, x)))
    x_is_number, y_is_number = _is_number(x), _is_number(y)
    tracer = x if isinstance(x, Operators) else y
    if x_is_number and not y_is_number and _is_float64(y) and _is_complex(x):
        y, y_is_number = _python_float(y), True
    if isinstance(x, Masked) or isinstance(y, Masked):
        return _with_masked(ufunc, tracer)
    if x_is_number and y_is_number:
        nodes = tuple(_number_node(v, tracer, python) for v in (x, y))
        made = operation(tracer._trace, ufunc, *nodes)
        return tracer._trace.calls.python_call(python, *nodes) if made is None else tracer._new(made)
    if isinstance(x, _OPERANDS) and isinstance(y, _OPERANDS):
        if ufunc is np.power and tracer is x and tracer._is_array():
            return power(x, y)
        if ufunc is np.power and tracer is x and x.dtype.kind == "f" and _may_be_half(y):
            return _power_of_scalar(x, y)
        alone = x_is_number or y_is_number or type(x) is type(y)  # NumPy would ask nobody else
        made = tracer.__array_ufunc__(ufunc, "__call__", x, y) if alone else ufunc(x, y)
        if ufunc is np.multiply and isinstance(made, Operators) and made._scalar and made.dtype.kind == "c":
            return made._new(product(made._node, x, y), scalar=True)
        return made
    return _with_another(ufunc, tracer, x, y)


def _with_masked(ufunc: np.ufunc, tracer: Operators) -> Any:
    """``x <op> y`` of `tracer` and a masked array, which knows what comes of it."""
    if not tracer._is_array() and not tracer._is_weak() and ufunc in _COMPARING:
        raise Untraceable("compares a NumPy scalar with a masked array", user_line())
    return NotImplemented


def _with_another(ufunc: np.ufunc, tracer: Operators, x: Any, y: Any) -> Any:
    """``x <op> y`` of `tracer` and something that is neither an array nor a number.

    Python compares by identity what nobody else compares; NumPy compares every element.
    """
    other = y if tracer is x else x
    is_equality = ufunc in (np.equal, np.not_equal) and not tracer._is_weak()
    if type(other) in (list, tuple) and (tracer._is_array() or is_equality):
        return ufunc(x, y)
    if is_equality and (tracer._is_array() or other is not None):  # None is left to Python by NumPy's scalars alone
        raise Untraceable(f"an array or a NumPy scalar is compared with {type(other).__name__}", user_line())
    repeats = ufunc is np.multiply and tracer.dtype.kind in "iub"
    if type(other) in (list, tuple) and not repeats:  # Python says what it refuses by the name of a type, and NumPy
        raise Untraceable(f"an operation on a number and a {type(other).__name__}", user_line())  # makes an array of it
    _check_may_answer(tracer, other)
    return NotImplemented


def _check_may_answer(tracer: Operators, other: Any) -> None:
    """Leave to the plain function what NumPy does not leave to `other`.

    It refuses it by the names of types that Python does not see here, or makes an array of objects of it.
    """
    if isinstance(other, (str, bytes, NoneType)) or not (tracer._is_weak() or _is_asked(other, tracer)):
        raise Untraceable(f"an operation on an array or a number and {type(other).__name__}", user_line())


def _is_asked(other: Any, tracer: Operators) -> bool:
    """Whether NumPy's operators leave an operation of what `tracer` stands for to `other` (NEP 13)."""
    if type(other) in (list, tuple) or hasattr(type(other), "__array_ufunc__"):
        return True
    own = 0 if tracer._is_array() else _LOWEST_PRIORITY
    return getattr(type(other), "__array_priority__", _LOWEST_PRIORITY) > own


_LOWEST_PRIORITY = -1_000_000.0  # of NumPy's scalars, and of what names none


_PYTHON_NUMBERS = frozenset({int, float, complex, bool, Size})


def _is_number(value: Any) -> bool:
    """Whether `value` is, or stands for, a Python number."""
    return value._is_weak() if isinstance(value, Operators) else type(value) in _PYTHON_NUMBERS


def power(x: Any, y: Any, **out: Any) -> Any:
    """``x**y`` for an array: NumPy's operator does not call `power` for some exponents, whose powers it is not."""
    if x.dtype.kind == "c" and type(y) in (int, float) and (type(y), y) in _SIMPLE_POWERS:
        return _SIMPLE_POWERS[type(y), y](x, **out)
    if x.dtype.kind == "c" and isinstance(y, Operators) and y._is_weak() and y.dtype.kind == "f":
        exponent: Any = y
        return np.positive(np.where(exponent == 0.5, np.sqrt(x), np.power(x, exponent)), **out)
    if x.dtype.kind == "b" and y.__class__ in (int, Size) and y == 2:
        return np.square(x, **out)  # which gives other integers than the power does
    return _root(x, y) if _is_half(y) and x.dtype.kind in "iu" else np.power(x, y, **out)


# Of floats `power` itself has these special cases. Those of complex numbers are for Python's own numbers alone.
_SIMPLE_POWERS = {(int, -1): np.reciprocal, (int, 2): np.square, (float, 0.5): np.sqrt}


def _root(x: Any, half: Any) -> Any:
    """``x**0.5``, for which NumPy takes the root of floats: -inf and -0.0 tell it from a power.

    Integers are neither, and the root is their power, rounded correctly.
    """
    return np.sqrt(x.astype(np.result_type(x.dtype, half), copy=False))


def _is_half(exponent: Any) -> bool:
    return (type(exponent) is float or isinstance(exponent, np.floating)) and exponent == 0.5


def _may_be_half(exponent: Any) -> bool:
    """Whether an exponent, no array, is 0.5 or may be."""
    if not isinstance(exponent, Operators):
        return _is_half(exponent)
    return exponent.dtype.kind == "f" and not exponent._is_array()


def _power_of_scalar(x: Any, y: Any) -> Any:
    """``x**y`` of NumPy scalars, for which NumPy calls the power of the C library: it takes no root for 0.5."""
    dtype = np.result_type(*[0.0 if _is_number(v) else v.dtype for v in (x, y)])
    return np.float_power(x, y).astype(dtype)


def _is_float64(value: Any) -> bool:
    if isinstance(value, Operators):
        return bool(value._scalar) and value.dtype == np.float64
    return type(value) is np.float64


def _is_complex(number: Any) -> bool:
    return type(number) is complex or (isinstance(number, Operators) and number.dtype.kind == "c")


def _python_float(value: Any) -> Any:
    """One of NumPy's, which is a float of Python's, too: behind a complex number, Python computes with it."""
    return value._new(as_python_float(value._node)) if isinstance(value, Operators) else float(value)


def _number_node(value: Any, tracer: Operators, python: Callable[[Any, Any], Any]) -> Node:
    """The node of one of two numbers, `tracer` the other; an integer literal as the float that Python makes of it."""
    if isinstance(value, Operators):
        return value._node
    if type(value) in (int, bool, Size) and tracer._node.dtype.kind == "f" and python in ARITHMETIC:
        value = float(value)
    return tracer._trace.lift(value)


def _forward(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(self: Any, other: Any, *modulo: Any) -> Any:
        if modulo:  # of ``pow``
            return _power_modulo(self, other, *modulo)
        made = None if ufunc in _IN_OTHER_WAYS else self._of_two(ufunc, self, other)
        made = _binary(ufunc, python, self, other) if made is None else made
        return _checked(ufunc, made, self, other) if ufunc in OVERFLOWING else made

    return apply


def _of_any_types(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`compare`, an operator: where its ufunc has no loop, as for a date and a number, NumPy's arrays differ."""

    def apply(self: Any, other: Any) -> Any:
        try:
            return compare(self, other)
        except TypeError:
            raise Untraceable("compares what is of other types", user_line()) from None

    return apply


def _power_modulo(x: Any, y: Any, modulo: Any) -> Any:
    if x._is_weak():
        return pow(x._value("pow", lambda value: value), y, modulo)
    names = ", ".join(repr(type_name(v)) for v in (x, y, modulo))
    raise TypeError(f"unsupported operand type(s) for ** or pow(): {names}")


def _checked(ufunc: np.ufunc, made: Any, *operands: Any) -> Any:
    """The result `made`, of which it is noted whether it overflows if it is an integer of NumPy's."""
    is_integer = isinstance(made, Operators) and made._scalar and not made._is_weak() and made.dtype.kind in "iu"
    if is_integer and all(isinstance(v, (Operators, np.generic)) or type(v) in _PYTHON_NUMBERS for v in operands):
        nodes = [v._node if isinstance(v, Operators) else made._trace.lift(v) for v in operands]
        note_overflow(made._trace, ufunc, made._node, *nodes)
    return made


def product(made: Node, *operands: Any) -> Node:
    """A product of complex numbers as the operator gives it."""
    if any(isinstance(v, np.ndarray) or (isinstance(v, Operators) and v._is_array()) for v in operands):
        return made
    return of_scalars(made)


def _reflected(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(self: Any, other: Any) -> Any:
        made = None if ufunc in _IN_OTHER_WAYS else self._of_two(ufunc, other, self)
        made = _binary(ufunc, python, other, self) if made is None else made
        return _checked(ufunc, made, other, self) if ufunc in OVERFLOWING else made

    return apply


# For which arrays are no operands of an elementwise operation, or not always of this one.
_IN_OTHER_WAYS = frozenset({np.power, np.matmul})


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def update(self: Any, other: Any) -> Any:
        if not self._is_array():
            return NotImplemented  # scalars are immutable: Python falls back to the operator itself
        if type(other) is LoopNumber:
            other = other.operand(self, ufunc)
        if isinstance(other, Masked):
            raise Untraceable("writes a masked array into an array", user_line())
        if not isinstance(other, (Operators, list, tuple, *_NUMBERS)):
            _check_may_answer(self, other)
            return NotImplemented
        if ufunc is np.power:
            return power(self, other, out=self)
        return ufunc(self, other, out=self)

    return update


def _unary(ufunc: np.ufunc, python: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(self: Any) -> Any:
        if not self._is_weak():
            return _checked(ufunc, ufunc(self), self) if ufunc in OVERFLOWING else ufunc(self)
        made = unary(self._trace, ufunc, self._node)
        return self._trace.calls.python_call(python, self._node) if made is None else self._new(made)

    return apply


_REAL = frozenset({"int", "float"})
_OF_NO_ARGUMENT = frozenset({"bool", "int", "float", "complex", "index", "str", "repr", "bytes"})


def _conversion(name: str, convert: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any) -> Any:
        if name in _REAL and not self._is_weak() and (self.shape or self.dtype.kind == "c"):
            raise Untraceable(f"{name} of an array with axes, or a complex number, which warns or fails", user_line())
        if args and name in _OF_NO_ARGUMENT:
            raise Untraceable(f"{name} with an argument, which NumPy's method leaves unread or refuses", user_line())
        return self._value(name, (lambda value: convert(value, *args)) if args else convert)

    return apply


class Operators:
    """The operators of a tracer, and the conversions that would need its value."""

    __slots__ = ()

    @property
    def _node(self) -> Node:
        raise NotImplementedError

    _scalar: bool
    _trace: Any

    @property
    def dtype(self) -> Any:
        raise NotImplementedError

    def _is_array(self) -> bool:
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _is_weak(self) -> bool:
        raise NotImplementedError

    def _of_two(self, ufunc: np.ufunc, x: Any, y: Any) -> Any:
        """``ufunc(x, y)``, self among them, where nothing has to be asked before: what most operations are.

        None unless they are two arrays or NumPy scalars, or one and a floating-point or complex Python number, or an
        integer beside an array of those.
        """
        raise NotImplementedError

    def _new(self, node: Node, scalar: bool = False) -> Any:
        """Another tracer of the same trace, with memory of its own if it is an array."""
        return type(self)(node, self._trace, scalar)  # type: ignore[call-arg]

    def __reversed__(self) -> Any:
        return iter(self[::-1])  # type: ignore[index]

    def __round__(self, ndigits: Any = None) -> Any:
        is_real = self._node.dtype.kind != "c"
        if ndigits is not None and self._scalar and is_real and not self._node.type.weak:
            return np.round(self, ndigits)  # type: ignore[call-overload]
        return self._value("round", lambda value: round(value, ndigits))  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        raise Untraceable("an array that is being traced is pickled or copied", user_line())

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def is_tracer(value: Any) -> bool:
    """Whether `value` is a tracer, whatever class it claims to be of."""
    return issubclass(type(value), Operators)


def type_name(value: Any) -> str:
    """The name that exceptions have for the type of what a tracer stands for."""
    return name_of(value.__class__)


def traced_float(*args: Any) -> Any:
    """What a function that is traced finds in the place of ``float``."""
    if len(args) != 1:
        return float(*args)
    (value,) = args
    if is_tracer(value):
        return value._as_float()
    convert = getattr(type(value), "__float__", None)
    if type(convert) is not FunctionType:
        return float(value)
    made = convert(value)  # of a class that is written in Python: it may give what stands for a float
    if type(made) is float or (is_tracer(made) and made._is_weak() and made.dtype.kind == "f"):
        return made
    raise Untraceable(f"{type(value).__name__}.__float__ gives no float of Python's", user_line())


def traced_len(value: Any, /) -> Any:
    """What a function that is traced finds in the place of ``len``, which gives integers that may be any."""
    return value.__len__() if is_tracer(value) else len(value)


def traced_int(*args: Any, **options: Any) -> Any:
    """What a function that is traced finds in the place of ``int``."""
    return args[0] if len(args) == 1 and type(args[0]) is Size and not options else int(*args, **options)


def traced_complex(*args: Any, **kwargs: Any) -> Any:
    """What a function that is traced finds in the place of ``complex``.

    Python asks a tracer for a complex number, whose zero would make 0.0 of another part that is -0.0.
    """

    def real(value: Any) -> Any:
        return float(value) if is_tracer(value) and value.dtype.kind in "iuf" and not value.shape else value

    return complex(*map(real, args), **{k: real(v) for k, v in kwargs.items()})


_OPERANDS: Any = (Operators, *_NUMBERS)
_CONVERSIONS: dict[str, Callable[..., Any]] = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "str": str, "repr": repr,
    "format": format, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "contains": operator.contains,
    "bytes": bytes,
}  # fmt: skip

_COMPARING = frozenset(ufunc for ufunc, _ in COMPARISONS.values())

for _name, (_ufunc, _python) in BINARY.items():
    setattr(Operators, f"__{_name}__", _forward(_ufunc, _python))
    setattr(Operators, f"__r{_name}__", _reflected(_ufunc, _python))
    setattr(Operators, f"__i{_name}__", _in_place(_ufunc))
for _name, (_ufunc, _python) in COMPARISONS.items():
    setattr(Operators, f"__{_name}__", _forward(_ufunc, _python))
for _name in ("eq", "ne"):
    setattr(Operators, f"__{_name}__", _of_any_types(getattr(Operators, f"__{_name}__")))
for _name, (_ufunc, _convert) in UNARY.items():
    setattr(Operators, f"__{_name}__", _unary(_ufunc, _convert))
for _name, _convert in _CONVERSIONS.items():
    setattr(Operators, f"__{_name}__", _conversion(_name, _convert))
