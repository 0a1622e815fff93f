"""`parse`: from the text of an expression to the expression, without running any of it."""

from __future__ import annotations

import ast
import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.operators import BINARY, COMPARISONS, OF_SYNTAX, UNARY
from ..base.syntax import syntax_tree
from . import tree
from .calls import GETITEM, NAMED, Operation, operation_named
from .text import _TEMPORARY, dtype_and_shape, dtype_of
from .tree import Expression, applied, leaf, literal, placeholder

_PYTHONS = {name: function for name, (_, function) in (BINARY | COMPARISONS | UNARY).items()}
_OPERATORS: dict[type, Callable[..., Any]] = {kind: _PYTHONS[name] for kind, name in OF_SYNTAX.items()}
_MOST_BITS = 1 << 12  # of a number that a text has Python compute
_TYPES = {"bool": bool, "int": int, "float": float, "complex": complex}


def parse(text: str) -> Expression:
    """The expression that a text stands for.

    Parameters
    ----------
    text : str
        What ``str`` of an expression gives; or a Python expression of names, numbers, operators, indices, methods, and
        NumPy's functions as ``np.…``, whose names are leaves.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        If the text is something else, or nested as deeply as Python reads nothing. Nothing in it is ever run.

    Examples
    --------
    >>> from jitrt import expr
    >>> e = expr.parse("np.sqrt(x**2 + y**2)")
    >>> expr.evaluate(e, x=3.0, y=4.0)
    np.float64(5.0)
    >>> expr.parse(str(e)) is e
    True
    """
    try:
        return _read(syntax_tree(text.strip()).body)
    except SyntaxError as error:
        raise ValueError(f"this is no expression: {error}") from None
    except (RecursionError, MemoryError):
        raise ValueError("this is no expression: it is nested too deeply") from None


def _read(statements: list[ast.stmt]) -> Expression:
    if len(statements) == 1 and isinstance(statements[0], ast.Expr):
        return _given(Reader({}, opens=True).value(statements[0].value))
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef):
        raise ValueError("this is no expression: it is neither one function nor one Python expression")
    function = statements[0]
    reader = Reader({}, opens=False)
    for make, given in ((leaf, function.args.args), (placeholder, function.args.kwonlyargs)):
        for argument in given:
            known = (None, None) if argument.annotation is None else dtype_and_shape(_text(argument.annotation))
            reader.names[argument.arg] = make(argument.arg, known[0], shape=known[1])
    for statement in function.body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            return _given(reader.value(statement.value))
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise ValueError(f"this is no expression: {ast.unparse(statement)}")
        target, value = statement.targets[0].id, reader.value(statement.value)
        reader.names[target] = value if _TEMPORARY.fullmatch(target) else tree.name(value, target)
    raise ValueError("this is no expression: it returns nothing")


def _given(value: Any) -> Expression:
    try:
        return literal(value)
    except TypeError as error:
        raise ValueError(f"this is no expression: {error}") from None


def _operated(kind: ast.AST, *operands: Any) -> Any:
    """What an operator gives for operands, which are Python's as long as there is no expression among them."""
    operate = _OPERATORS[type(kind)]
    if any(isinstance(v, (Expression, np.ndarray, np.generic)) for v in operands):
        return operate(*operands)
    if not all(isinstance(v, (int, float, complex)) for v in operands):
        raise ValueError("this is no expression: an operator is given neither expressions nor numbers")
    x, y = map(abs, (*operands, 1)[:2])
    bits = math.log2(max(x, 2)) * (y if isinstance(kind, ast.Pow) else 1) + (y if isinstance(kind, ast.LShift) else 0)
    try:
        if bits > _MOST_BITS and all(isinstance(v, int) for v in operands):
            raise OverflowError("a number is too large")
        return operate(*operands)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ValueError(f"this is no expression: {error}") from None


def _text(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise ValueError(f"{ast.unparse(node)} is no text")
    return node.value


class Reader:
    """Reads parts of a text; `opens` says that names without a value are leaves."""

    def __init__(self, names: dict[str, Any], opens: bool):
        self.names, self._opens = names, opens

    def value(self, node: ast.expr) -> Any:
        """What a part of the text stands for."""
        match node:
            case ast.Constant(value=value) if not isinstance(value, bytes):
                return value
            case ast.Name(id=name):
                return self._named(name)
            case ast.Tuple(elts=parts):
                return tuple(map(self.value, parts))
            case ast.List(elts=parts):
                return list(map(self.value, parts))
            case ast.Dict(keys=keys, values=values):
                return {self.value(k): self.value(v) for k, v in zip(keys, values) if k is not None}
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(None if part is None else self.value(part) for part in (lower, upper, step)))
            case ast.Subscript(value=of, slice=index):
                if isinstance(of, ast.Name) and of.id == "op" and "op" not in self.names:
                    return self._operation(_text(index))
                return applied(GETITEM, (_given(self.value(of)), self.value(index)), {})
            case ast.UnaryOp(op=kind, operand=of) if type(kind) in _OPERATORS:
                return _operated(kind, self.value(of))
            case ast.BinOp(left=left, op=kind, right=right):
                return _operated(kind, self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _OPERATORS:
                return _operated(kind, self.value(left), self.value(right))
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call(func=function, args=args, keywords=keywords):
                given = {k.arg: self.value(k.value) for k in keywords if k.arg is not None}
                return self._call(function, [self.value(a) for a in args], given)
        raise ValueError(f"this is no part of an expression: {ast.unparse(node)}")

    def _named(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name in _TYPES:
            return _TYPES[name]
        if not self._opens:
            raise ValueError(f"{name} has no value")
        return leaf(name)

    def _operation(self, name: str) -> Any:
        try:
            return operation_named(name)
        except KeyError as error:
            raise ValueError(error.args[0]) from None

    def _attribute(self, node: ast.Attribute) -> Any:
        path = ast.unparse(node)
        root = path.partition(".")[0]
        if root in ("np", "scipy") and root not in self.names and path.replace(".", "").isidentifier():
            found = getattr(np, path[3:], None)
            if isinstance(found, type) and issubclass(found, np.generic):
                return found
            if isinstance(found, (float, type(None))) and path[3:] in ("pi", "e", "inf", "nan", "newaxis"):
                return found
            return self._operation(path)
        of = _given(self.value(node.value))
        if node.attr.startswith("_") or not hasattr(of, node.attr):
            raise ValueError(f"this is no part of an expression: {path}")
        return getattr(of, node.attr)

    def _call(self, function: ast.expr, args: list[Any], kwargs: dict[str, Any]) -> Any:
        match function:
            case ast.Name(id="array"):
                dtype, shape, data = args
                if not isinstance(data, str):
                    raise ValueError("a literal of objects has no text")
                return np.frombuffer(bytearray(base64.b64decode(data)), dtype_of(dtype)).reshape(shape)
            case ast.Name(id="name") if len(args) == 2:
                return applied(NAMED, (literal(args[0]), args[1]), {})
            case ast.Name(id="literal") if len(args) == 1:
                return _given(args[0])
            case ast.Name(id="slice"):
                return slice(*args)
            case ast.Name(id="float" | "complex" | "int" | "bool") if not any(isinstance(a, Expression) for a in args):
                return _TYPES[function.id](*args)
            case ast.Attribute(attr="array", value=ast.Name(id="np")):
                return np.array(args[0], np.dtype(args[1])) if len(args) > 1 else np.array(args[0], **kwargs)
            case ast.Attribute(attr="dtype", value=ast.Name(id="np")):
                return dtype_of(args[0])
            case ast.Attribute(attr="type", value=ast.Call(func=ast.Attribute(attr="dtype"), args=[dtype])):
                return args[0][()] if isinstance(args[0], np.ndarray) else np.dtype(_text(dtype)).type(args[0])
        called = self.value(function)
        if isinstance(called, type):
            return called(*args)
        if not callable(called) or isinstance(called, Expression):
            raise ValueError(f"{ast.unparse(function)} is no operation")
        args, kwargs = list(map(as_argument, args)), {key: as_argument(value) for key, value in kwargs.items()}
        return called(*args, **kwargs)


def as_argument(value: Any) -> Any:
    """An argument that is an operation, as NumPy's functions take it."""
    return value.apply if isinstance(value, Operation) else value
