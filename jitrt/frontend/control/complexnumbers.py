"""Python's complex numbers in staged functions: two floats each, with the operations as CPython's C code has them.

Python 3.14 treats real operands on their own, and infinite products; there they are left to Python.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import replaced
from ...ir.integers import Poly
from ...ir.loops import Parameter
from . import arithmetic, scalars
from . import arrays as a
from .recorder import Recorder
from .values import (
    BOOL,
    FLOAT,
    Array,
    Complex,
    KindsDiffer,
    NotStaged,
    Scalar,
    View,
    dtype_of,
    is_number,
    is_python_number,
    is_static,
)

if TYPE_CHECKING:
    from .expressions import Expressions

COMPLEX = (complex, np.complex128)
_NO_PLACE = ast.Call(ast.Name("quotient"), [], [], lineno=0, col_offset=0)
_COMPLEX = np.dtype(complex)
_MOST_POWER = 100  # up to which CPython multiplies


def is_complex(value: Any) -> bool:
    """Whether a value is a complex number of Python's."""
    return isinstance(value, (Complex, complex)) and not isinstance(value, np.generic)


def parts_of(r: Recorder, value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a number of Python's, as floats."""
    if is_complex(value):
        return value.real, value.imag
    if not is_number(value) or is_python_number(value) is not True:
        raise NotStaged("a complex number of Python's beside one of NumPy's")
    if sys.version_info >= (3, 14):
        raise NotStaged("a complex number beside a real one")
    return arithmetic.as_float(r, scalars.settled(r, value)), 0.0


def made_of(r: Recorder, real: Any, imag: Any = 0.0) -> Any:
    """``complex(real, imag)``."""
    if not all(is_number(v) and not is_complex(v) for v in (real, imag)):
        raise NotStaged("a complex number of this")
    parts = [arithmetic.as_float(r, scalars.settled(r, v)) for v in (real, imag)]
    return _joined(*parts)


def _joined(real: Any, imag: Any) -> Any:
    return Complex(real, imag) if isinstance(real, Scalar) or isinstance(imag, Scalar) else complex(real, imag)


def are_complex(x: Any, y: Any) -> bool:
    """Whether two operands, one of which is known at run time only, are numbers that Python or `binary` combines."""
    if not (is_complex(x) or is_complex(y)) or (is_static(x) and is_static(y)):
        return False
    if isinstance(x, Array) or isinstance(y, Array):
        return False
    if isinstance(x, Complex) or isinstance(y, Complex) or (is_complex(x) and _is_float(y)):
        return True
    return (is_python_number(x) and is_python_number(y)) is True


def _is_float(value: Any) -> bool:
    """Whether a number is a float, among which NumPy's of 64 bits are."""
    return isinstance(value, Scalar) and value.dtype == FLOAT


def as_numpys(r: Recorder, value: Any, *others: Any) -> Any:
    """A complex number of Python's beside others as what NumPy makes of it; other values as they are."""
    if not isinstance(value, Complex):
        return value
    (dtype, *more) = {np.result_type(dtype_of(v), 0j) for v in others if not is_complex(v)} or {_COMPLEX}
    if more:
        raise NotStaged("a complex number of Python's beside numbers of several dtypes")
    made = a.fresh(r, dtype, (a.ONE,))
    store(r, made, (a.ZERO,), value)
    return scalars.from_register(r, made.element((a.ZERO,)), dtype)


def parameter(r: Recorder, name: str, kind: type) -> Any:
    """A complex number that is an argument, which the caller hands over as `as_array`."""
    dtype, count = (FLOAT, 2) if kind is complex else (_COMPLEX, 1)
    array = Parameter(name, dtype, 1, True)
    r.parameters.append(array)
    r.facts.bound(array.extent(0), [count], [count])
    view = View(name, a.ZERO, (Poly.number(dtype.itemsize),), frozenset({name}), True, True)
    parts = [r.load(view, dtype, (Poly.number(k),)) for k in range(count)]
    if kind is complex:
        return Complex(Scalar(FLOAT, True, parts[0]), Scalar(FLOAT, True, parts[1]))
    return Scalar(dtype, False, parts[0])


def as_array(value: Any) -> np.ndarray:
    """A complex number as an array that procedures read."""
    return np.array([value.real, value.imag] if type(value) is complex else [value])


def binary(where: Expressions, op: str, x: Any, y: Any) -> Any:
    """``x op y`` of such operands: Python asks the one on the left first, and NumPy's float is a float to it."""
    r = where.r
    if is_complex(x) and _is_float(y):
        y = replaced(y, python=True, flag="")
    made_by = [True if is_complex(v) else is_python_number(v) if is_number(v) else True for v in (x, y)]
    if None in made_by:
        raise KindsDiffer("a number that is Python's or NumPy's")
    if False in made_by:
        return arithmetic.binary(r, op, as_numpys(r, x, y), as_numpys(r, y, x))
    if op == "power":
        return _power(r, x, y)
    (a, b), (c, d) = parts_of(r, x), parts_of(r, y)
    if op in ("add", "subtract"):
        return _joined(arithmetic.binary(r, op, a, c), arithmetic.binary(r, op, b, d))
    if op == "multiply" and sys.version_info < (3, 14):
        return _joined(*_product(r, (a, b), (c, d)))
    if op == "divide" and sys.version_info < (3, 14):
        return _joined(*where.inlined(_quotient, [a, b, c, d], {}, _NO_PLACE))
    raise NotStaged(f"{op} of complex numbers")


def _product(r: Recorder, x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    """``_Py_c_prod``."""

    def combined(op: str, a: Any, b: Any, c: Any, d: Any) -> Any:
        return arithmetic.binary(r, op, arithmetic.binary(r, "multiply", a, b), arithmetic.binary(r, "multiply", c, d))

    return combined("subtract", x[0], y[0], x[1], y[1]), combined("add", x[0], y[1], x[1], y[0])


def _quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """``_Py_c_quot``; a division by zero stops the procedure."""
    if abs(c) >= abs(d):
        ratio = d / c
        scale = c + d * ratio
        return (a + b * ratio) / scale, (b - a * ratio) / scale
    ratio = c / d
    scale = c * ratio + d
    return (a * ratio + b) / scale, (b * ratio - a) / scale


def _power(r: Recorder, x: Any, y: Any) -> Any:
    """``c_powu``: by squaring; no infinite result."""
    if type(y) is not int or not 0 < y <= _MOST_POWER or sys.version_info >= (3, 14):
        raise NotStaged("a power of a complex number")
    made, square = (1.0, 0.0), parts_of(r, x)
    given = square
    for bit in range(y.bit_length()):
        if y >> bit & 1:
            made = _product(r, made, square)
        square = _product(r, square, square)
    for part in made:
        _stop_if_infinite(r, part, given)
    return _joined(*made)


def _stop_if_infinite(r: Recorder, made: Any, operands: tuple[Any, ...]) -> None:
    if isinstance(made, Scalar):
        r.stop(r.compute("isinf", [made.name], FLOAT, BOOL))


def equal(r: Recorder, op: str, x: Any, y: Any) -> Any:
    """``x == y`` or ``x != y``."""
    if op not in ("equal", "not_equal"):
        raise NotStaged("an order of complex numbers")
    same = [scalars.truth(r, arithmetic.compare(r, "equal", p, q)) for p, q in zip(parts_of(r, x), parts_of(r, y))]
    if False in same:
        both: bool | str = False
    else:
        names = [s for s in same if isinstance(s, str)]
        both = True if not names else names[0] if len(names) == 1 else r.compute("logical_and", names, BOOL)
    return scalars.answer(r, both, op == "equal")


def unary(r: Recorder, op: str, x: Complex) -> Any:
    """``-x``, ``+x`` or ``abs(x)``."""
    if op == "positive":
        return x
    if op == "negative":
        return Complex(arithmetic.unary(r, op, x.real), arithmetic.unary(r, op, x.imag))
    if op == "absolute":
        return arithmetic.of_math(r, "hypot", [x.real, x.imag])
    raise NotStaged(f"{op} of a complex number")


def magnitude(r: Recorder, x: Complex) -> Scalar:
    """``np.abs(x)``: a number of NumPy's, which may be infinite."""
    names = [scalars.register_of(r, v, FLOAT) for v in (x.real, x.imag)]
    return Scalar(FLOAT, False, r.compute("hypot", names, FLOAT))


def conjugate(r: Recorder, x: Complex) -> Complex:
    """``x.conjugate()``."""
    return Complex(x.real, arithmetic.unary(r, "negative", x.imag))


def store(r: Recorder, array: Array, indices: tuple[Poly, ...], value: Complex) -> None:
    """``array[indices] = value`` for an array of complex numbers."""
    view = array.memory
    if array.dtype.kind != "c":
        raise NotStaged("a complex number in a real array")
    part = np.dtype(f"f{array.dtype.itemsize // 2}")
    for k, v in enumerate((value.real, value.imag)):
        there = View(view.base, view.offset + k * part.itemsize, view.strides, view.origins)
        r.store(there, part, indices, scalars.register_of(r, v, part))
