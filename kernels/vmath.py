"""Vector mathematics: elementary functions as straight-line code that vectorises inside the loop around it.

`emitter` appends a function to LLVM IR; `evaluate` runs the same formula on NumPy arrays. `FUNCTIONS` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from . import (
    vmath_arc,
    vmath_area,
    vmath_complex,
    vmath_erf,
    vmath_exp,
    vmath_log,
    vmath_power,
    vmath_trig,
    vmath_wide_arc,
    vmath_wide_area,
    vmath_wide_exp,
    vmath_wide_log,
    vmath_wide_power,
    vmath_wide_root,
    vmath_wide_sum,
    vmath_wide_trig,
)
from .number import FLOAT, Number
from .number_arrays import Arrays
from .number_llvm import LLVM
from .vmath_variants import emit_call

Emitter = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


@dataclass(frozen=True, slots=True)
class Function:
    """An elementary function: NumPy's or SciPy's name, the number of arguments, the formula, its loops' types.

    `wide` is another formula, for registers of AVX-512.
    """

    name: str
    arity: int
    formula: Callable[..., Number]
    types: str = "df"
    wide: Callable[..., Number] | None = None


_ALL = (
    Function("exp", 1, vmath_exp.exp, wide=vmath_exp.exp),
    Function("exp2", 1, vmath_exp.exp2, wide=vmath_exp.exp2),
    Function("expm1", 1, vmath_exp.expm1, wide=vmath_wide_exp.expm1),
    Function("log", 1, vmath_log.log, wide=vmath_wide_log.log),
    Function("log2", 1, vmath_log.log2, wide=vmath_wide_log.log2),
    Function("log10", 1, vmath_log.log10, wide=vmath_wide_log.log10),
    Function("log1p", 1, vmath_log.log1p, wide=vmath_wide_area.log1p),
    Function("sqrt", 1, vmath_power.sqrt),
    Function("cbrt", 1, vmath_power.cbrt, wide=vmath_wide_root.cbrt),
    Function("hypot", 2, vmath_power.hypot, wide=vmath_wide_root.hypot),
    Function("sin", 1, vmath_trig.sin, wide=vmath_trig.sin),
    Function("cos", 1, vmath_trig.cos, wide=vmath_trig.cos),
    Function("tan", 1, vmath_trig.tan, wide=vmath_wide_trig.tan),
    Function("arcsin", 1, vmath_arc.arcsin, wide=vmath_arc.arcsin),
    Function("arccos", 1, vmath_arc.arccos, wide=vmath_arc.arccos),
    Function("arctan", 1, vmath_arc.arctan, wide=vmath_wide_arc.arctan),
    Function("arctan2", 2, vmath_arc.arctan2, wide=vmath_wide_arc.arctan2),
    Function("sinh", 1, vmath_exp.sinh, wide=vmath_wide_exp.sinh),
    Function("cosh", 1, vmath_exp.cosh, wide=vmath_wide_exp.cosh),
    Function("tanh", 1, vmath_exp.tanh, wide=vmath_wide_exp.tanh),
    Function("arcsinh", 1, vmath_area.arcsinh, wide=vmath_wide_area.arcsinh),
    Function("arccosh", 1, vmath_area.arccosh, wide=vmath_wide_area.arccosh),
    Function("arctanh", 1, vmath_area.arctanh, wide=vmath_wide_area.arctanh),
    Function("logaddexp", 2, vmath_area.logaddexp, wide=vmath_wide_sum.logaddexp),
    Function("logaddexp2", 2, vmath_area.logaddexp2, wide=vmath_wide_sum.logaddexp2),
    # Kernels call NumPy's own loop for float32, whose bits no formula has.
    Function("power", 2, vmath_power.power, "d", wide=vmath_wide_power.power),
    Function("float_power", 2, vmath_power.power, "d", wide=vmath_wide_power.power),
    Function("expit", 1, vmath_exp.expit, wide=vmath_exp.expit),
    Function("erf", 1, vmath_erf.erf, wide=vmath_erf.erf),
    Function("erfc", 1, vmath_erf.erfc, wide=vmath_erf.erfc),
    Function("sinc", 1, vmath_trig.sinc),
)
FUNCTIONS = {function.name: function for function in _ALL}
_BITS = {"d": 64, "f": 32}


def emitter(name: str, chars: str, fma: bool = True, avx512: bool = False) -> Emitter | None:
    """What emits one function of scalars, or None if there is no such function of these types.

    Parameters
    ----------
    name
        The ufunc's name, ``"exp"``.
    chars
        NumPy's type characters of the loop's arguments, ``"d"``, ``"ff"``.
    fma
        Whether the target has a fused multiply-add.
    avx512
        Whether the target has AVX-512 F and DQ, and uses registers of 512 bits.

    Returns
    -------
    Callable or None
        ``emit(builder, values)`` appends instructions at the builder's position and returns the result.
    """
    function = FUNCTIONS.get(name)
    if function is None or len(chars) != function.arity or len(set(chars)) != 1 or chars[0] not in function.types:
        return None
    bits = _BITS[chars[0]]
    formula, wide = function.formula, function.wide
    if wide is not None and avx512:
        return lambda builder, values: emit_call(builder, name, wide, bits, values)

    def emit(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
        back = LLVM(builder, fma)
        return formula(*(Number(back, value, FLOAT, bits) for value in values)).value

    return emit


def complex_emitter(name: str, char: str, fma: bool = True, avx512: bool = False) -> Emitter | None:
    """What emits one function of a complex number of type ``"D"`` or ``"F"``, a structure of two floats, or None."""
    formula = vmath_complex.FUNCTIONS.get(name)
    if formula is None:
        return None
    bits = {"D": 64, "F": 32}[char]

    def emit(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
        back = LLVM(builder, fma)

        def real(name: str, *numbers: Number) -> Number:
            call = emitter(name, "df"[bits == 32] * len(numbers), fma, avx512)
            assert call is not None
            return Number(back, call(builder, [number.value for number in numbers]), FLOAT, bits)

        result = formula(real, *(Number(back, builder.extract_value(values[0], k), FLOAT, bits) for k in range(2)))
        if isinstance(result, Number):
            return result.value
        pair = ir.Constant(values[0].type, ir.Undefined)
        return builder.insert_value(builder.insert_value(pair, result[0].value, 0), result[1].value, 1)

    return emit


def evaluate_complex(name: str, z: Any, fma: bool = True, avx512: bool = False) -> Any:
    """A function of a complex array by the formula that `complex_emitter` compiles.

    Examples
    --------
    >>> evaluate_complex("sqrt", np.array([-4.0 + 0.0j]))
    array([0.+2.j])
    """
    z = np.asarray(z)
    part = z.real.dtype
    bits = 8 * part.itemsize

    def real(name: str, *numbers: Number) -> Number:
        arrays = np.broadcast_arrays(*(number.value for number in numbers))
        return Number(back, evaluate(name, *arrays, fma=fma, avx512=avx512), FLOAT, bits)

    back = Arrays(fma)
    with np.errstate(all="ignore"):
        parts = (Number(back, np.ravel(values).copy(), FLOAT, bits) for values in (z.real, z.imag))
        result = vmath_complex.FUNCTIONS[name](real, *parts)
    if isinstance(result, Number):
        return result.value.reshape(z.shape)
    value = np.empty(z.size, z.dtype)
    value.real, value.imag = result[0].value, result[1].value
    return value.reshape(z.shape)


def evaluate(name: str, *arrays: Any, fma: bool = True, avx512: bool = False) -> Any:
    """A function of NumPy arrays by the same formula that `emitter` compiles.

    Parameters
    ----------
    name
        The ufunc's name.
    *arrays
        Arrays of one type, float64 or float32.
    fma
        Emulate a fused multiply-add, or compute without.
    avx512
        Use the formula for AVX-512, if there is one.

    Examples
    --------
    >>> evaluate("exp", np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    function = FUNCTIONS[name]
    values = np.broadcast_arrays(*(np.asarray(array) for array in arrays))
    char = values[0].dtype.char
    if len(values) != function.arity or char not in function.types:
        raise TypeError(f"{name} has no loop for {[v.dtype for v in values]}")
    wide = function.wide if avx512 else None
    back, formula = Arrays(fma, avx512=wide is not None), wide or function.formula
    with np.errstate(all="ignore"):
        result = formula(*(Number(back, np.ravel(v), FLOAT, _BITS[char]) for v in values))
    return np.asarray(result.value).reshape(values[0].shape)
