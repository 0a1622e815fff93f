"""Expressions of loops over elements: their code and their types."""

from __future__ import annotations

import ast
import builtins
import math
import types
from typing import Any

import numpy as np

from .captures import Capture
from .elementcalls import CREATION, EXACT_FUNCTIONS, LIKE, call
from .elementtypes import (
    BOOL,
    FLOAT,
    INT,
    Array,
    NotTranslated,
    Scalar,
    Type,
    Value,
    as_float,
    as_int,
    binary,
    check_dtype,
    compare,
    flag_as,
    join,
    number,
    power,
    stored,
    truth,
    unary,
)

_MODULES = (np, math)


class Expressions:
    """What is known of the variables of a function, and the expressions in terms of them.

    Parameters
    ----------
    function : callable
    names : list of str
        Of its parameters.
    variables : dict of str to Type
    arrays : dict of str to Capture
        Arrays of the outside that are found.
    """

    def __init__(self, function: Any, names: list[str], variables: dict[str, Type], arrays: dict[str, Capture]):
        self.function, self.variables, self.arrays = function, variables, arrays
        self.assigned: set[str] | None = set(names)  # None where execution does not get
        self.captured: dict[str, Capture] = {}
        self.exact = True

    def value(self, e: ast.expr) -> Value:
        handler = getattr(self, f"of_{type(e).__name__}", None)
        if handler is None:
            raise NotTranslated(f"{type(e).__name__} at line {getattr(e, 'lineno', 0)} of the function")
        return handler(e)

    def of_Constant(self, e: ast.Constant) -> Value:
        if type(e.value) is bool:
            return Value(str(e.value), Scalar(BOOL, True))
        if type(e.value) is int and abs(e.value) < 1 << 53:
            return Value(str(e.value), Scalar(INT, True, literal=True))
        if type(e.value) is int and abs(e.value) < 1 << 63:
            return Value(str(e.value), Scalar(INT, True))
        if type(e.value) is float and math.isfinite(e.value):
            return Value(repr(e.value), Scalar(FLOAT, True))
        raise NotTranslated(f"the constant {e.value!r}")

    def of_Name(self, e: ast.Name) -> Value:
        if e.id in self.variables:
            if self.assigned is None or e.id not in self.assigned:
                raise NotTranslated(f"{e.id} may not be assigned yet")
            kind = self.variables[e.id]
            flag = flag_name(e.id) if isinstance(kind, Scalar) and kind.flagged else ""
            return Value(local_name(e.id), kind, flag)
        return self.constant(self.static(e), e.id)

    def constant(self, value: Any, name: str) -> Value:
        """A number of the outside, which is part of the code, or an array, which is an argument more."""
        if type(value) in (bool, int, float):
            if type(value) is float and not math.isfinite(value):
                return Value({math.inf: "np.inf", -math.inf: "(-np.inf)"}.get(value, "np.nan"), Scalar(FLOAT, True))
            made = self.of_Constant(ast.Constant(value))
            return Value(f"({made.code})", made.type)
        if type(value) is np.ndarray and name in self.captured:
            check_dtype(value.dtype)
            self.arrays[name] = self.captured.pop(name)
        if name in self.arrays and type(value) is np.ndarray and value.ndim:
            return Value(local_name(name), Array(value.dtype, value.ndim, frozenset({f"outside {name}"}), True, False))
        raise NotTranslated(f"{name}, of type {type(value).__name__}")

    def static(self, e: ast.expr) -> Any:
        """The object of the outside that an expression names; None if it names none."""
        if isinstance(e, ast.Name):
            function = self.function
            if e.id in self.variables or e.id in function.__code__.co_varnames:
                return None
            free = function.__code__.co_freevars
            if e.id in free:
                cell = function.__closure__[free.index(e.id)]
                try:
                    value = cell.cell_contents
                except ValueError:
                    raise NotTranslated(f"{e.id} is not assigned") from None
                if e.id not in self.arrays:
                    self.captured[e.id] = Capture(e.id, value, cell, None)
                return value
            space = function.__globals__
            if e.id in space:
                if e.id not in self.arrays and not isinstance(space[e.id], types.ModuleType):
                    self.captured[e.id] = Capture(e.id, space[e.id], space, e.id)
                return space[e.id]
            return getattr(builtins, e.id, None)
        if isinstance(e, ast.Attribute):
            module = self.static(e.value)
            if isinstance(module, types.ModuleType) and module in _MODULES:
                return getattr(module, e.attr, None)
        return None

    def of_Attribute(self, e: ast.Attribute) -> Value:
        found = self.static(e)
        if found is not None:
            return self.constant(found, e.attr)
        array = self.value(e.value)
        if isinstance(array.type, Array) and e.attr == "size":
            return Value(f"{array.code}.size", Scalar(INT, True))
        if isinstance(array.type, Array) and e.attr == "ndim":
            return Value(str(array.type.ndim), Scalar(INT, True, literal=True))
        raise NotTranslated(f"the attribute {e.attr}")

    def of_BinOp(self, e: ast.BinOp) -> Value:
        return self.operation(e.op, self.value(e.left), e.right)

    def operation(self, op: ast.operator, left: Value, right: ast.expr) -> Value:
        y = self.value(right)
        if isinstance(op, ast.Pow):
            exponent = right.value if isinstance(right, ast.Constant) else None
            self.exact = False
            return power(left, y, exponent)
        return binary(op, left, y)

    def of_UnaryOp(self, e: ast.UnaryOp) -> Value:
        return unary(e.op, self.value(e.operand))

    def of_Compare(self, e: ast.Compare) -> Value:
        values = [self.value(v) for v in (e.left, *e.comparators)]
        parts = [compare(op, x, y) for op, x, y in zip(e.ops, values, values[1:])]
        return parts[0] if len(parts) == 1 else _both("and", parts)

    def of_BoolOp(self, e: ast.BoolOp) -> Value:
        values = [self.value(v) for v in e.values]
        name = "and" if isinstance(e.op, ast.And) else "or"
        if all(number(v).dtype == BOOL for v in values):
            return _both(name, values)
        code = f" {name} ".join(truth(v) for v in values)
        return Value(f"({code})", Scalar(BOOL, None))  # good for a condition only: it has no flag

    def of_IfExp(self, e: ast.IfExp) -> Value:
        condition = truth(self.value(e.test))
        x, y = self.value(e.body), self.value(e.orelse)
        kind = join(x.type, y.type)
        if not isinstance(kind, Scalar):
            raise NotTranslated("a choice between arrays")
        flag = ""
        if kind.flagged:
            flags = [flag_as(v, kind) for v in (x, y)]
            flag = f"({flags[0]} if {condition} else {flags[1]})"
        left, right = (as_float(v) if kind.dtype == FLOAT else v.code for v in (x, y))
        return Value(f"({left} if {condition} else {right})", kind, flag)

    def of_Subscript(self, e: ast.Subscript) -> Value:
        if isinstance(e.value, ast.Attribute) and e.value.attr == "shape":
            array = self.value(e.value.value)
            if isinstance(array.type, Array) and isinstance(e.slice, ast.Constant) and type(e.slice.value) is int:
                axis = range(array.type.ndim)[e.slice.value]
                return Value(f"{array.code}.shape[{axis}]", Scalar(INT, True))
            raise NotTranslated("a shape")
        array = self.value(e.value)
        if not isinstance(array.type, Array):
            raise NotTranslated("an item of this")
        return element(array, self.indices(e.slice))

    def indices(self, e: ast.expr) -> list[str]:
        """Code of the indices of an element or a view."""
        parts = e.elts if isinstance(e, ast.Tuple) else [e]
        items = []
        for part in parts:
            if isinstance(part, ast.Slice):
                bounds = [part.lower, part.upper, part.step]
                items.append(":".join("" if b is None else as_int(self.value(b)) for b in bounds))
                continue
            value = self.value(part)
            if number(value).dtype.kind not in "iu" or number(value).maybe_int:
                raise NotTranslated("an index that is no integer")
            items.append(value.code)
        return items

    def of_Call(self, e: ast.Call) -> Value:
        if isinstance(e.func, ast.Attribute) and e.func.attr == "copy" and not e.args and not e.keywords:
            array = self.value(e.func.value)
            if isinstance(array.type, Array):
                fresh = Array(array.type.dtype, array.type.ndim, frozenset({"fresh"}))
                return Value(f"{array.code}.copy()", fresh)
        if isinstance(e.func, ast.Attribute) and e.func.attr == "sum" and not e.args and not e.keywords:
            array = self.value(e.func.value)
            if isinstance(array.type, Array) and array.type.dtype.kind in "ib":  # the order does not matter
                return Value(f"_total({array.code})", Scalar(INT, False))
        function = self.static(e.func)
        if function is np.arange and not e.keywords and 1 <= len(e.args) <= 3:
            bounds = [self.value(a) for a in e.args]
            if all(number(v).dtype == INT and not number(v).maybe_int for v in bounds):
                code = ", ".join(v.code for v in bounds)
                return Value(f"np.arange({code})", Array(INT, 1, frozenset({"fresh"})))
        if function is None:
            raise NotTranslated(f"a call at line {e.lineno} of the function")
        if _is_creation(function):
            return self.created(function, e)
        if e.keywords:
            raise NotTranslated("keyword arguments")
        made = call(function, [self.value(a) for a in e.args])
        if getattr(function, "__name__", "") not in EXACT_FUNCTIONS and "math." in made.code:
            self.exact = False
        return made

    def created(self, function: Any, e: ast.Call) -> Value:
        """An array that the function makes."""
        keywords = {k.arg: k.value for k in e.keywords}
        args = list(e.args)
        if function in CREATION:
            name = CREATION[function]
            shape = keywords.pop("shape", None) or args.pop(0)
            filled = (keywords.pop("fill_value", None) or args.pop(0)) if name == "full" else None
            dtype_code = keywords.pop("dtype", None) or (args.pop(0) if args else None)
            ndim, shape_code = self.shape(shape)
            dtype = FLOAT
        else:
            name = LIKE[function]
            like = self.value(args.pop(0))
            if not isinstance(like.type, Array) or not (like.type.c_order or like.type.ndim == 1):
                raise NotTranslated("an array like one whose memory order is not known")
            filled = args.pop(0) if name == "full" else None
            dtype_code = keywords.pop("dtype", None)
            ndim, shape_code, dtype = like.type.ndim, f"{like.code}.shape", like.type.dtype
        if args or keywords:
            raise NotTranslated(f"arguments of {function.__name__}")
        fill = None if filled is None else self.value(filled)
        if fill is not None and function in CREATION:
            dtype = number(fill).dtype
            if number(fill).flagged:
                raise NotTranslated("an array of what may be an int or a float")
        if dtype_code is not None:
            dtype = self.dtype(dtype_code)
        check_dtype(dtype)
        kind = Array(dtype, ndim, frozenset({"fresh"}))
        if fill is not None:
            return Value(f"np.full({shape_code}, {stored(fill, dtype)}, np.{dtype.name})", kind)
        return Value(f"np.{name}({shape_code}, np.{_numpy_name(dtype)})", kind)

    def shape(self, e: ast.expr) -> tuple[int, str]:
        if isinstance(e, ast.Attribute) and e.attr == "shape":
            array = self.value(e.value)
            if isinstance(array.type, Array):
                return array.type.ndim, f"{array.code}.shape"
        parts = e.elts if isinstance(e, (ast.Tuple, ast.List)) else [e]
        codes = [as_int(self.value(p)) for p in parts]
        return len(codes), f"({', '.join(codes)},)"

    def dtype(self, e: ast.expr) -> np.dtype:
        if isinstance(e, ast.Attribute) and e.attr == "dtype":
            kind = self.value(e.value).type
            return kind.dtype
        found: Any = e.value if isinstance(e, ast.Constant) else self.static(e)
        if found is None:
            raise NotTranslated("a dtype")
        try:
            return np.dtype(found)
        except TypeError:
            raise NotTranslated("a dtype") from None


def _is_creation(function: Any) -> bool:
    try:
        return function in CREATION or function in LIKE
    except TypeError:
        return False


def _numpy_name(dtype: np.dtype) -> str:
    return "bool_" if dtype == BOOL else dtype.name


def local_name(name: str) -> str:
    """A variable in translated code: none of its names can clash with that of a function."""
    return "v_" + name.replace(" ", "_")


def flag_name(name: str) -> str:
    return "f_" + name.replace(" ", "_")


def _both(name: str, values: list[Value]) -> Value:
    code = "(" + f" {name} ".join(v.code for v in values) + ")"
    kinds = {number(v).python for v in values}
    if len(kinds) > 1 or kinds == {None}:
        return Value(code, Scalar(BOOL, None))  # good for a condition only: it has no flag
    return Value(code, Scalar(BOOL, kinds.pop()))


def element(array: Value, items: list[str]) -> Value:
    """An element of an array, or a view of a part."""
    kind = array.type
    assert isinstance(kind, Array)
    if len(items) > kind.ndim:
        raise NotTranslated("more indices than axes")
    code = f"{array.code}[{', '.join(items)}]"
    cut = sum(":" in i for i in items)
    left = kind.ndim - len(items) + cut
    if left:
        return Value(code, Array(kind.dtype, left, kind.origins, False, kind.c_order and not cut))
    if kind.dtype.kind in "iu" and kind.dtype != INT:
        code = f"_i8({code})"
    return Value(code, Scalar(kind.dtype, False))
