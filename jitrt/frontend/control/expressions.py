"""Expressions of staged functions: each is visited once, and gives a value that is known or one of run time."""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..python.callbacks import MISSING
from ..python.captures import Capture
from . import arrays as a
from . import complexnumbers, library, scalars, subscripts
from .localfunctions import LocalFunction, local_function
from .recorder import Recorder
from .source import closure_of, definition_of_lambda
from .values import BOOL, INT, Array, Complex, NotStaged, Scalar, Unbound, dtype_of, integer, is_number, is_static
from .written import WRITTEN

OPERATORS = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.LShift: "left_shift", ast.RShift: "right_shift",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.MatMult: "matmul",
}  # fmt: skip
_COMPARED = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal",
}  # fmt: skip
_UNARY = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}
_MODULES = (np, np.linalg, math)
_PLAIN = (bool, int, float, complex, str, type(None), np.dtype, type, types.ModuleType, np.ufunc, types.EllipsisType)


class Expressions:
    """The expressions of one call of a function.

    Parameters
    ----------
    r : Recorder
    function : function
    variables : dict of str to value
    captures : Captures
        What is read from outside of the procedure.
    path : tuple
        Of the calls that lead here; it tells memory of different calls apart.
    """

    def __init__(
        self, r: Recorder, function: Any, variables: dict[str, Any], captures: Captures, path: tuple[Any, ...]
    ):
        self.r, self.function, self.captures, self.path = r, function, captures, path
        self.variables = variables
        self.cells: dict[str, Any] = {}
        if isinstance(function, LocalFunction):
            self.locals = function.locals
        else:
            self.locals = frozenset((*function.__code__.co_varnames, *function.__code__.co_cellvars))
            self.cells = closure_of(function)

    # -- names

    def expression(self, e: ast.expr) -> Any:
        """The value of an expression."""
        handler = getattr(self, f"of_{type(e).__name__}", None)
        if handler is None:
            raise NotStaged(f"{type(e).__name__} at line {e.lineno}")
        return handler(e)

    def of_Constant(self, e: ast.Constant) -> Any:
        return e.value

    def of_Name(self, e: ast.Name) -> Any:
        return scalars.settled(self.r, self.named(e))

    def operand(self, e: ast.expr) -> Any:
        """An operand of an operation that settles what kind of number it is."""
        return self.named(e) if isinstance(e, ast.Name) else self.expression(e)

    def named(self, e: ast.Name) -> Any:
        """What a name stands for."""
        if e.id in self.variables:
            value = self.variables[e.id]
            if isinstance(value, Unbound):
                self.r.stop(scalars.negation(self.r, self.r.get(value.ran, BOOL)))  # type: ignore[arg-type]
                return value.value
            return value
        if e.id in self.locals:
            raise NotStaged(f"{e.id} may not be assigned yet")
        if isinstance(self.function, LocalFunction):
            return self.function.scope.named(e)
        if e.id in self.cells:
            return self.captures.of(e.id, self.cells[e.id], None)
        space = self.function.__globals__
        if e.id in space:
            return self.captures.of(e.id, space, e.id)
        if hasattr(builtins, e.id):
            self.captures.note(e.id, MISSING, space, e.id)
            return getattr(builtins, e.id)
        raise NotStaged(f"{e.id} is not defined")

    def of_Attribute(self, e: ast.Attribute) -> Any:
        value = self.expression(e.value)
        if isinstance(value, Array):
            if e.attr == "shape":
                return tuple(integer(extent) for extent in value.shape)
            if e.attr in ("size", "ndim", "dtype", "itemsize"):
                known = {"ndim": value.ndim, "dtype": value.dtype, "itemsize": value.dtype.itemsize}
                return integer(value.size) if e.attr == "size" else known[e.attr]
            if e.attr == "T":
                return a.transpose(self.r, value, range(value.ndim)[::-1])
            if e.attr in ("real", "imag") and value.dtype.kind != "c" and e.attr == "real":
                return value
            raise NotStaged(f"the attribute {e.attr} of an array")
        if isinstance(value, Complex) and e.attr in ("real", "imag"):
            return getattr(value, e.attr)
        if isinstance(value, Scalar):
            if e.attr == "dtype" and value.python is False:
                return value.dtype
            raise NotStaged(f"the attribute {e.attr} of a number")
        if any(value is m for m in _MODULES) and hasattr(value, e.attr):
            found = getattr(value, e.attr)
            self.captures.note(e.attr, vars(value).get(e.attr, MISSING), vars(value), e.attr)
            return found
        if isinstance(value, (np.dtype, np.generic)) and not callable(found := getattr(value, e.attr)):
            return found
        raise NotStaged(f"the attribute {e.attr} of {type(value).__name__}")

    # -- operations

    def of_BinOp(self, e: ast.BinOp) -> Any:
        return self.operation(OPERATORS[type(e.op)], self.operand(e.left), self.operand(e.right))

    def operation(self, op: str, x: Any, y: Any) -> Any:
        """A binary operator."""
        if complexnumbers.are_complex(x, y):
            return complexnumbers.binary(self, op, x, y)
        if all(isinstance(v, Array) or is_number(v) for v in (x, y)):
            x, y = scalars.beside(self.r, x, y), scalars.beside(self.r, y, x)
        if isinstance(x, Array) or isinstance(y, Array):
            if not all(isinstance(v, Array) or is_number(v) for v in (x, y)):
                raise NotStaged(f"{op} of {type(x).__name__} and {type(y).__name__}")
            if op == "matmul":
                return library.scalar_if_0d(self.r, library.product(self.r, x, y))
            return library.ufunc(self.r, getattr(np, op), [x, y])
        if is_number(x) and is_number(y):
            return scalars.binary(self.r, op, x, y)
        if isinstance(x, tuple) and isinstance(y, tuple) and op == "add":
            return x + y
        if is_static(x) and is_static(y) and type(x) in (str, tuple, int) and type(y) in (str, tuple, int):
            return scalars.BINARY[op](x, y)
        raise NotStaged(f"{op} of {type(x).__name__} and {type(y).__name__}")

    def of_UnaryOp(self, e: ast.UnaryOp) -> Any:
        if isinstance(e.op, ast.Not):
            return scalars.truth_value(scalars.negation(self.r, self.condition(e.operand)))
        value = self.expression(e.operand)
        op = _UNARY[type(e.op)]
        if isinstance(value, Complex):
            return complexnumbers.unary(self.r, op, value)
        if isinstance(value, Array):
            return library.ufunc(self.r, getattr(np, op), [value])
        if not is_number(value):
            raise NotStaged(f"{op} of {type(value).__name__}")
        return scalars.unary(self.r, op, value)

    def of_Compare(self, e: ast.Compare) -> Any:
        if len(e.ops) == 1:
            return self.comparison(e.ops[0], self.operand(e.left), self.operand(e.comparators[0]))
        return scalars.truth_value(self.condition(e))

    def comparison(self, op: ast.cmpop, x: Any, y: Any) -> Any:
        """One comparison."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            if x is None or y is None or isinstance(x, bool) or isinstance(y, bool):
                return (x is y) == isinstance(op, ast.Is)
            raise NotStaged("identity")
        if type(op) not in _COMPARED:
            if is_static(x) and is_static(y):
                return (x in y) == isinstance(op, ast.In)
            raise NotStaged("a test of membership")
        name = _COMPARED[type(op)]
        if complexnumbers.are_complex(x, y):
            return complexnumbers.equal(self.r, name, x, y)
        if all(isinstance(v, Array) or is_number(v) for v in (x, y)):
            x, y = scalars.beside(self.r, x, y), scalars.beside(self.r, y, x)
        if isinstance(x, Array) or isinstance(y, Array):
            return library.ufunc(self.r, getattr(np, name), [x, y])
        if is_number(x) and is_number(y):
            return scalars.compare(self.r, name, x, y)
        if is_static(x) and is_static(y):
            return scalars.COMPARISONS[name][1](x, y)
        raise NotStaged(f"a comparison of {type(x).__name__} and {type(y).__name__}")

    def condition(self, e: ast.expr) -> bool | str:
        """The truth of an expression: known, or the name of a truth value."""
        r = self.r
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return scalars.negation(r, self.condition(e.operand))
        if isinstance(e, ast.BoolOp):
            return self._chain([partial(self.condition, v) for v in e.values], isinstance(e.op, ast.And))
        if isinstance(e, ast.Compare) and len(e.ops) > 1:
            left = self.expression(e.left)
            return self._compared(left, list(zip(e.ops, e.comparators)))
        value = self.expression(e)
        if isinstance(value, Array) and value.ndim == 0:
            value = library.scalar_if_0d(r, value)
        if isinstance(value, Array):
            if value.size.constant != 1:
                raise NotStaged("the truth value of an array")
            value = scalars.from_register(r, value.element((a.ZERO,) * value.ndim), value.dtype)
        if not is_number(value) and not is_static(value):
            return bool(value)
        return scalars.truth(r, value)

    def _compared(self, left: Any, parts: list[tuple[ast.cmpop, ast.expr]]) -> bool | str:
        """A chain of comparisons: operands are evaluated once, and only if the comparisons before them hold."""
        (op, e), *rest = parts
        right = self.expression(e)
        first = scalars.truth(self.r, self.comparison(op, left, right))
        if not rest or first is False:
            return first
        return self._chain([lambda: first, lambda: self._compared(right, rest)], True)

    def _chain(self, parts: list[Callable[[], bool | str]], is_and: bool) -> bool | str:
        """``and`` or ``or``: what stands behind is evaluated only if what stands before it does not decide."""
        r = self.r
        first = parts[0]()
        if isinstance(first, bool):
            if first is not is_and or len(parts) == 1:
                return first
            return self._chain(parts[1:], is_and)
        if len(parts) == 1:
            return first
        with r.attempt() as take_back:  # what can neither stop nor write is evaluated in any case
            before = r.stores
            with r.block() as block:
                r.suppose(first, is_and)
                second = self._chain(parts[1:], is_and)
            if before == r.stores and not any(map(_has_effect, block)):
                for statement in block:
                    r.emit(statement)
                if isinstance(second, bool):
                    return second if second is not is_and else first
                return r.compute("logical_and" if is_and else "logical_or", [first, second], [BOOL] * 2, BOOL)
            take_back()
        result = r.variable()
        r.put(result, first, BOOL)
        with r.block() as block:
            r.suppose(first, is_and)
            second = self._chain(parts[1:], is_and)
            r.put(result, r.literal(second, BOOL) if isinstance(second, bool) else second, BOOL)
        r.choice(*((first, block, ()) if is_and else (first, (), block)))
        return r.get(result, BOOL)

    def of_BoolOp(self, e: ast.BoolOp) -> Any:
        values = []
        for v in e.values[:-1]:
            value = self.expression(v)
            if not is_static(value):
                break
            if bool(value) is isinstance(e.op, ast.Or):
                return value
            values.append(value)
        if len(values) == len(e.values) - 1:
            return self.expression(e.values[-1])
        # The value of a truth value is its truth.
        kinds: set[bool | None] = set()
        with self.r.attempt() as take_back:
            for v in e.values[len(values) :]:
                value = self.expression(v)
                if not is_number(value) or dtype_of(value) != BOOL:
                    raise NotStaged("a value chosen by and, or")
                kinds.add(scalars.is_python_number(value))
            take_back()
        if len(kinds) != 1 or None in kinds:
            raise NotStaged("a truth value that is Python's or NumPy's")
        return scalars.truth_value(self.condition(e), kinds.pop())

    def of_IfExp(self, e: ast.IfExp) -> Any:
        condition = self.condition(e.test)
        if isinstance(condition, bool):
            return self.expression(e.body if condition else e.orelse)
        return self.chosen(condition, lambda: self.expression(e.body), lambda: self.expression(e.orelse))

    def chosen(self, condition: str, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """One of two values."""
        raise NotImplementedError

    def of_Lambda(self, e: ast.Lambda) -> LocalFunction:
        return local_function(definition_of_lambda(e), self)

    # -- containers

    def of_Tuple(self, e: ast.Tuple) -> Any:
        return tuple(self._several(e.elts))

    def of_List(self, e: ast.List) -> Any:
        return self._several(e.elts)

    def _several(self, elements: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for e in elements:
            if isinstance(e, ast.Starred):
                value = self.expression(e.value)
                if not isinstance(value, (tuple, list)):
                    raise NotStaged("a starred value")
                values.extend(value)
            else:
                values.append(self.expression(e))
        return values

    def of_Slice(self, e: ast.Slice) -> Any:
        return slice(*(None if part is None else self.expression(part) for part in (e.lower, e.upper, e.step)))

    def of_Subscript(self, e: ast.Subscript) -> Any:
        value, index = self.expression(e.value), self.expression(e.slice)
        if isinstance(value, Array):
            return subscripts.read(self.r, value, index)
        if isinstance(value, (tuple, list)):
            if isinstance(index, slice):
                return value[
                    slice(
                        *(
                            None if v is None else scalars.static_integer(v)
                            for v in (index.start, index.stop, index.step)
                        )
                    )
                ]
            k = scalars.static_integer(index)
            if not -len(value) <= k < len(value):
                raise NotStaged("an index out of range")
            return value[k]
        raise NotStaged(f"an item of {type(value).__name__}")

    # -- calls

    def of_Call(self, e: ast.Call) -> Any:
        args = self._several(e.args)
        if any(k.arg is None for k in e.keywords):
            raise NotStaged("starred keyword arguments")
        kwargs = {str(k.arg): self.expression(k.value) for k in e.keywords}
        if isinstance(e.func, ast.Attribute):
            owner = self.expression(e.func.value)
            if isinstance(owner, Array):
                return self._method(owner, e.func.attr, args, kwargs)
            if isinstance(owner, Complex) and e.func.attr == "conjugate" and not e.args:
                return complexnumbers.conjugate(self.r, owner)
            if isinstance(owner, Scalar):
                return self._scalar_method(owner, e.func.attr, args, kwargs)
        return self.call(self.expression(e.func), args, kwargs, e)

    def _method(self, array: Array, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        handler = library.METHODS.get(name)
        if handler is None:
            raise NotStaged(f"the method {name} of arrays")
        return self._handled(handler, [array, *args], kwargs, name)

    def _handled(self, handler: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], name: str) -> Any:
        kwargs = {k: scalars.settled(self.r, v) for k, v in kwargs.items()}
        try:
            made = handler(self.r, *scalars.settled(self.r, args), **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise NotStaged(f"arguments of {name}") from None
            raise
        return made if name in ("copy", "asarray", "array", "reshape") else library.scalar_if_0d(self.r, made)

    def _scalar_method(self, value: Scalar, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args or kwargs or name not in ("item", "copy") or value.python is not False:
            raise NotStaged(f"the method {name} of numbers")
        return (
            value
            if name == "copy"
            else Scalar(
                {"f": np.dtype(float), "i": INT, "u": INT, "b": BOOL}[value.dtype.kind],
                True,
                value.name
                if value.dtype.itemsize == 8 or value.dtype == BOOL
                else self.r.cast(value.name, value.dtype, np.dtype(float))
                if value.dtype.kind == "f"
                else "",
                value.value,
            )
        )

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function that is known."""
        r = self.r
        if isinstance(function, LocalFunction):
            return self.inlined(function, args, kwargs, e)
        is_python = type(function) is types.FunctionType or hasattr(function, "__jitrt_function__")
        if is_python and not _is_numpys(function):
            return self.inlined(getattr(function, "__jitrt_function__", function), args, kwargs, e)
        try:
            known = function in library.FUNCTIONS or function in WRITTEN
        except TypeError:
            known = False
        if known and function in WRITTEN:
            return self.inlined(WRITTEN[function], args, kwargs, e)
        if known:
            return self._handled(library.FUNCTIONS[function], args, kwargs, function.__name__)
        if isinstance(function, np.ufunc):
            if kwargs:
                raise NotStaged(f"keyword arguments of {function.__name__}")
            if all(map(is_static, args)) and all(map(is_number, args)):
                with np.errstate(all="raise"):
                    try:
                        return function(*args)
                    except FloatingPointError as error:
                        raise NotStaged(str(error)) from None
            return library.ufunc(r, function, scalars.settled(r, args))
        if function in scalars.MATH or function in scalars.ROUNDING or function in scalars.TESTS:
            return self._math(function, args, kwargs)
        if isinstance(function, type) and issubclass(function, np.generic) and len(args) == 1 and not kwargs:
            return self._converted(args[0], np.dtype(function))
        handler = _BUILTINS.get(function)
        if handler is not None and not kwargs:
            return handler(self, *args)
        raise NotStaged(f"a call of {getattr(function, '__name__', type(function).__name__)} at line {e.lineno}")

    def inlined(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a Python function, as if its statements stood here."""
        raise NotImplementedError

    def _math(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs or not all(map(is_number, args)) or any(dtype_of(v).kind == "c" for v in args):
            raise NotStaged(f"arguments of {function.__name__}")
        if all(map(is_static, args)):
            try:
                return function(*args)
            except (ValueError, OverflowError) as error:
                raise NotStaged(str(error)) from None
        if len(args) != (2 if function in (math.atan2, math.hypot) else 1):
            raise NotStaged(f"arguments of {function.__name__}")
        if function in scalars.ROUNDING:
            (x,) = args
            if dtype_of(x).kind in "iu" and x.python:
                return x
            if dtype_of(x) != np.dtype(float) or (function is round and x.python is not True):
                raise NotStaged("rounding of this")
            return scalars.rounded(self.r, x, scalars.ROUNDING[function])
        if function in scalars.TESTS:
            name = scalars.register_of(self.r, args[0], np.dtype(float))
            return Scalar(BOOL, True, self.r.compute(scalars.TESTS[function], [name], [np.dtype(float)], BOOL))
        return scalars.of_math(self.r, scalars.MATH[function], args)

    def _converted(self, value: Any, dtype: np.dtype) -> Any:
        """``np.float64(x)`` and the like."""
        if is_static(value) and is_number(value):
            return dtype.type(value)
        if (
            not isinstance(value, Scalar)
            or dtype.kind not in "biuf"
            or (dtype.kind in "iu" and value.dtype.kind == "f")
        ):
            raise NotStaged(f"a conversion to {dtype}")
        return scalars.from_register(self.r, scalars.register_of(self.r, value, dtype), dtype)

    # -- Python's own functions

    def _absolute(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return complexnumbers.unary(self.r, "absolute", x)
        return library.ufunc(self.r, np.absolute, [x]) if isinstance(x, Array) else scalars.unary(self.r, "absolute", x)

    def _length(self, x: Any) -> Any:
        if isinstance(x, Array) and x.ndim:
            return integer(x.shape[0])
        if isinstance(x, (tuple, list, str)):
            return len(x)
        raise NotStaged("the length of this")

    def _extreme(self, op: str, args: tuple[Any, ...]) -> Any:
        """Python's min and max: the first argument, unless a later one is smaller or larger."""
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            args = tuple(args[0])
        if not args or not all(map(is_number, args)):
            raise NotStaged("min or max of this")
        best = args[0]
        for other in args[1:]:
            best = self._better(op, best, other)
        return best

    def _better(self, op: str, best: Any, other: Any) -> Any:
        r = self.r
        kinds = dtype_of(best), dtype_of(other)
        flags = scalars.is_python_number(best), scalars.is_python_number(other)
        python = flags[0] if flags[0] == flags[1] else None
        condition = scalars.truth(r, scalars.compare(r, op, other, best))
        if isinstance(condition, bool):
            return other if condition else best
        flag = ""
        if python is None:
            names = [scalars.flag_of(r, v) for v in (other, best)]
            flag = r.compute("where", [condition, *names], [BOOL] * 3, BOOL)
        if kinds[0].kind in "iu" and kinds[1].kind in "iu":
            if kinds[0] != kinds[1] and True not in flags:
                raise NotStaged("min or max of numbers of different types")
            x, y = scalars.poly_of(r, best), scalars.poly_of(r, other)
            found = r.minimum(x, y) if op == "less" else r.maximum(x, y)
            return integer(found, kinds[flags[0] is True], python, flag)
        dtype = np.dtype(float) if set(flags) == {True} else kinds[flags[0] is True]
        names = [scalars.exactly(r, v, dtype) for v in (other, best)]
        name = r.compute("where", [condition, *names], [BOOL, dtype, dtype], dtype)
        settled = ""
        if kinds[0] != kinds[1] or any(isinstance(v, Scalar) and v.settled for v in (best, other)):
            names = [scalars.settled_flag(r, v, dtype) for v in (other, best)]
            settled = r.compute("where", [condition, *names], [BOOL] * 3, BOOL)
        return Scalar(dtype, python, name, None, None, flag, settled)

    def _divmod(self, x: Any, y: Any) -> Any:
        return self.operation("floor_divide", x, y), self.operation("remainder", x, y)

    def _sum(self, values: Any, start: Any = 0) -> Any:
        if not isinstance(values, (tuple, list)):
            raise NotStaged("a sum of this")
        for value in values:
            start = self.operation("add", start, value)
        return start

    def _boolean(self, x: Any) -> Any:
        return scalars.truth_value(scalars.truth(self.r, x))


def _number(function: Callable[[Recorder, Any], Any]) -> Callable[[Expressions, Any], Any]:
    def call(self: Expressions, x: Any) -> Any:
        if isinstance(x, Array) and x.size.constant == 1:
            x = scalars.from_register(self.r, x.element((a.ZERO,) * x.ndim), x.dtype)
        if not is_number(x):
            raise NotStaged("a number of this")
        return function(self.r, x)

    return call


def _collected(kind: type) -> Callable[[Expressions, Any], Any]:
    def call(self: Expressions, values: Any = ()) -> Any:
        if not isinstance(values, (tuple, list)):
            raise NotStaged(f"a {kind.__name__} of this")
        return kind(values)

    return call


_BUILTINS: dict[Any, Callable[..., Any]] = {
    abs: Expressions._absolute, len: Expressions._length, divmod: Expressions._divmod, sum: Expressions._sum,
    bool: Expressions._boolean,
    complex: lambda self, *args: complexnumbers.made_of(self.r, *args),
    int: _number(scalars.as_int), float: _number(scalars.as_float),
    min: lambda self, *args: self._extreme("less", args), max: lambda self, *args: self._extreme("greater", args),
    slice: lambda self, *args: slice(*args), tuple: _collected(tuple), list: _collected(list),
}  # fmt: skip


def _is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def _has_effect(statement: Any) -> bool:
    from ...ir.loops import Checked, For, Forever, If, Memory, Put, Scope, Stop, Store

    return isinstance(statement, (Checked, For, Forever, If, Memory, Put, Scope, Stop, Store))


class Captures:
    """What a procedure reads from outside: objects that have to stay, and arrays that are parameters of it."""

    def __init__(self, array: Callable[[Capture], Array]):
        self._array = array
        self.objects: dict[tuple[int, str], Capture] = {}
        self.arrays: dict[tuple[int, str], tuple[Capture, Array]] = {}

    def note(self, name: str, value: Any, container: Any, key: Any) -> None:
        """Note what has to stay as it is."""
        self.objects[id(container), name] = Capture(name, value, container, key)

    def note_function(self, function: Any) -> None:
        """Note what can be replaced of a function."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.note(name, getattr(function, name), function, name)

    def of(self, name: str, space: Any, key: Any) -> Any:
        """The object of that name."""
        at = id(space), name
        if at in self.arrays:
            return self.arrays[at][1]
        try:
            value = space.cell_contents if key is None else space[key]
        except ValueError:
            raise NotStaged(f"{name} is not assigned") from None
        capture = Capture(name, value, space, key)
        if type(value) is np.ndarray:
            made = self._array(capture)
            self.arrays[at] = capture, made
            return made
        if isinstance(value, types.ModuleType):
            return value
        parts = value if isinstance(value, tuple) else (value,)
        if not (is_function(value) or all(isinstance(v, (*_PLAIN, np.generic)) for v in parts)):
            raise NotStaged(f"{name}, of type {type(value).__name__}")
        self.objects[at] = capture
        return value


def is_function(value: Any) -> bool:
    """Whether a value is a function that can be called while staging."""
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)) or _is_jitted(value)


def _is_jitted(value: Any) -> bool:
    return hasattr(type(value), "__jitrt_function__") or "__jitrt_function__" in getattr(value, "__dict__", {})
