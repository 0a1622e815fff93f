"""Python's operators, by the names of their methods: NumPy's ufunc of each, and the function that Python applies."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

BINARY: dict[str, tuple[np.ufunc, Callable[[Any, Any], Any]]] = {
    "add": (np.add, operator.add), "sub": (np.subtract, operator.sub), "mul": (np.multiply, operator.mul),
    "truediv": (np.divide, operator.truediv), "floordiv": (np.floor_divide, operator.floordiv),
    "mod": (np.remainder, operator.mod), "pow": (np.power, operator.pow), "matmul": (np.matmul, operator.matmul),
    "and": (np.bitwise_and, operator.and_), "or": (np.bitwise_or, operator.or_),
    "xor": (np.bitwise_xor, operator.xor), "lshift": (np.left_shift, operator.lshift),
    "rshift": (np.right_shift, operator.rshift),
}  # fmt: skip
COMPARISONS: dict[str, tuple[np.ufunc, Callable[[Any, Any], Any]]] = {
    "lt": (np.less, operator.lt), "le": (np.less_equal, operator.le), "gt": (np.greater, operator.gt),
    "ge": (np.greater_equal, operator.ge), "eq": (np.equal, operator.eq), "ne": (np.not_equal, operator.ne),
}  # fmt: skip
UNARY: dict[str, tuple[np.ufunc, Callable[[Any], Any]]] = {
    "neg": (np.negative, operator.neg), "pos": (np.positive, operator.pos), "abs": (np.absolute, operator.abs),
    "invert": (np.invert, operator.invert),
}  # fmt: skip
OF_SYNTAX: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Eq: "eq", ast.NotEq: "ne", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip
"""The names of the operators in syntax trees."""
ARITHMETIC: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
)  # fmt: skip
"""Those that turn an integer into a float if the other number is one."""
