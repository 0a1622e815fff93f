"""Loops over elements: a Python function of arrays and numbers as typed scalar code that numba compiles.

A trace would unroll such loops. They are translated statement by statement instead, with every type decided here by
NumPy's rules and every step checked that may leave them; what is not known to be exact is not translated.

    total += x[i] * 2    →    total = (total + (x[i] * _f8(2)))          x: float64
    d[i, j] = min(a, b)  →    d[i, j] = (b if (b < a) else a)
    k = 3 * k + 1        →    k = _add(_mul(3, k), 1)                     stops where Python's integer is longer
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..frozen import frozen
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
    flag_of,
    join,
    number,
    power,
    stored,
    truth,
    unary,
)
from .purity import Capture

_MODULES = (np, math)
_ROUNDS = 8  # until the types of variables that depend on each other are known


@frozen
class ElementLoop:
    """A translated function.

    Parameters
    ----------
    source : str
        A function ``loop`` of the arguments and then the captured arrays; its names with an underscore are those of
        the checked arithmetic.
    returns : tuple of Type, or None
        What the function returns: numbers, each with its flag beside it where its type has one, and arrays.
    several : bool
        Whether that is a tuple.
    written : tuple of int
        Numbers of the arguments that may be written into.
    exact : bool
        Whether all arithmetic is correctly rounded.
    captured : tuple of Capture
        Numbers and functions of the outside that the code depends on.
    arrays : tuple of Capture
        Arrays of the outside, which follow the arguments.
    """

    source: str
    returns: tuple[Type, ...] | None
    several: bool
    written: tuple[int, ...]
    exact: bool
    captured: tuple[Capture, ...]
    arrays: tuple[Capture, ...]


def has_loops(function: Callable[..., Any]) -> bool:
    """Whether a function has loops of its own, by its code: a cheap first look."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    if code.co_kwonlyargcount:
        return False
    tree = _definition(function)
    return tree is not None and any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(tree))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef) or found.name != function.__name__:
        return None
    return found


def argument_type(value: Any, number: int) -> Type:
    """The type of an argument.

    Raises
    ------
    NotTranslated
        If translated code does not handle such a value.
    """
    if type(value) is np.ndarray:
        check_dtype(value.dtype)
        if not value.ndim:
            raise NotTranslated("an array without axes", by_argument=True)
        return Array(value.dtype, value.ndim, frozenset({number}), True, value.flags.c_contiguous)
    if type(value) in (bool, int, float):
        return Scalar({bool: BOOL, int: INT, float: FLOAT}[type(value)], True)
    if isinstance(value, np.generic):
        check_dtype(value.dtype)
        return Scalar(value.dtype, False)
    raise NotTranslated(f"an argument of type {type(value).__name__}", by_argument=True)


def translate(function: Callable[..., Any], args: tuple) -> ElementLoop:
    """The typed code of `function` for arguments of the types of `args`.

    Raises
    ------
    NotTranslated
        If it does anything else than loops over elements, or something whose result might differ from NumPy's.
    """
    definition = _definition(function)
    assert definition is not None
    names = [a.arg for a in definition.args.args]
    if len(names) != len(args):
        raise NotTranslated("another number of arguments", by_argument=True)
    variables = {name: argument_type(a, k) for k, (name, a) in enumerate(zip(names, args))}
    arrays: dict[str, Capture] = {}
    for _ in range(_ROUNDS):
        translator = _Translator(function, names, dict(variables), arrays)
        translator.run(definition)
        if translator.variables == variables:
            return translator.result()
        variables = translator.variables
    raise NotTranslated("variables whose types do not settle")


class _Translator:
    """One walk over a function, with the types of its variables as far as they are known."""

    def __init__(self, function: Any, names: list[str], variables: dict[str, Type], arrays: dict[str, Capture]):
        self.function, self.names, self.variables, self.arrays = function, names, variables, arrays
        self.lines: list[str] = []
        self.depth = 1
        self.temporaries = 0
        self.assigned: set[str] | None = set(names)  # None where execution does not get
        self.written: set[int] = set()
        self.exact = True
        self.captured: dict[str, Capture] = {}
        self.returned: int | None = None
        self.several = False
        self.loops = 0

    def result(self) -> ElementLoop:
        if not self.loops:
            raise NotTranslated("no loop over elements")
        parameters = ", ".join(_local(n) for n in [*self.names, *self.arrays])
        source = "\n".join([f"def loop({parameters}):", *self.lines, ""])
        returns = None
        if self.returned is not None:
            returns = tuple(self.variables[f"return {k}"] for k in range(self.returned))
        for kind in returns or ():
            if isinstance(kind, Array) and not (kind.whole and len(kind.origins) == 1):
                raise NotTranslated("returns a view")
        outside = tuple(self.arrays.values())
        return ElementLoop(
            source,
            returns,
            self.several,
            tuple(sorted(self.written)),
            self.exact,
            tuple(self.captured.values()),
            outside,
        )

    # Statements.

    def run(self, definition: ast.FunctionDef) -> None:
        self.block(definition.body)
        if self.assigned is not None:
            if self.returned is not None:
                raise NotTranslated("returns a value or nothing")
            self.emit("return None")

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.assigned is None:
                return
            handler = getattr(self, f"do_{type(statement).__name__}", None)
            if handler is None:
                raise NotTranslated(f"{type(statement).__name__} at line {statement.lineno} of the function")
            handler(statement)

    def nested(self, body: list[ast.stmt]) -> set[str] | None:
        """Translate an inner block; the variables that are assigned at its end."""
        before = set(self.assigned or ())
        self.depth += 1
        lines = len(self.lines)
        self.block(body)
        if len(self.lines) == lines:
            self.emit("pass")
        self.depth -= 1
        after, self.assigned = self.assigned, before
        return after

    def do_Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):
            raise NotTranslated("an expression whose value is not used")

    def do_Pass(self, s: ast.Pass) -> None:
        self.emit("pass")

    def do_Break(self, s: ast.Break) -> None:
        self.emit("break")
        self.assigned = None

    def do_Continue(self, s: ast.Continue) -> None:
        self.emit("continue")
        self.assigned = None

    def do_Raise(self, s: ast.Raise) -> None:
        self.emit("raise ArithmeticError")  # the plain function raises the user's exception
        self.assigned = None

    def do_Assert(self, s: ast.Assert) -> None:
        self.emit(f"if not {truth(self.value(s.test))}:")
        self.emit("    raise ArithmeticError")

    def do_If(self, s: ast.If) -> None:
        self.emit(f"if {truth(self.value(s.test))}:")
        then = self.nested(s.body)
        other: set[str] | None = self.assigned
        if s.orelse:
            self.emit("else:")
            other = self.nested(s.orelse)
        ends = [e for e in (then, other) if e is not None]
        self.assigned = set.intersection(*ends) if ends else None

    def do_While(self, s: ast.While) -> None:
        if s.orelse:
            raise NotTranslated("else of a loop")
        self.loops += 1
        self.emit(f"while {truth(self.value(s.test))}:")
        self.nested(s.body)
        if isinstance(s.test, ast.Constant) and s.test.value and not _breaks(s.body):
            self.assigned = None

    def do_For(self, s: ast.For) -> None:
        if s.orelse:
            raise NotTranslated("else of a loop")
        self.loops += 1
        counter, target = None, s.target
        first: list[tuple[ast.expr, Value]]
        iterable = s.iter
        if isinstance(iterable, ast.Call) and self.static(iterable.func) is enumerate and len(iterable.args) == 1:
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                raise NotTranslated("enumerate")
            (iterable,), (counter, target) = iterable.args, target.elts
        if isinstance(iterable, ast.Call) and self.static(iterable.func) is range and not iterable.keywords:
            if not isinstance(target, ast.Name) or counter is not None:
                raise NotTranslated("this loop")
            bounds = ", ".join(as_int(self.value(a)) for a in iterable.args)
            step = self.temporary()
            self.emit(f"for {step} in range({bounds}):")
            first = [(target, Value(step, Scalar(INT, True)))]
        elif isinstance(iterable, (ast.Tuple, ast.List)) and isinstance(target, ast.Name) and counter is None:
            parts = [self.value(e) for e in iterable.elts]
            if not parts or any(number(p) != Scalar(INT, True, literal=True) for p in parts):
                raise NotTranslated("a loop over these things")
            step = self.temporary()
            self.emit(f"for {step} in ({', '.join(p.code for p in parts)},):")
            first = [(target, Value(step, Scalar(INT, True)))]
        else:
            source = self.value(iterable)
            if not isinstance(source.type, Array) or not isinstance(target, (ast.Name, ast.Tuple)):
                raise NotTranslated("a loop over this")
            kept, step = self.temporary(), self.temporary()
            self.emit(f"{kept} = {source.code}")
            self.emit(f"for {step} in range(len({kept})):")
            first = [(target, _element(Value(kept, source.type), [step]))]
            if counter is not None:
                first.append((counter, Value(step, Scalar(INT, True))))
        before = set(self.assigned or ())
        self.depth += 1
        for place, value in first:
            if isinstance(place, ast.Tuple):
                self.unpack_row(place, value)
            else:
                self.assign(place, value)
        self.depth -= 1
        self.nested(s.body)
        self.assigned = before

    def do_Return(self, s: ast.Return) -> None:
        if s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None):
            if self.returned is not None:
                raise NotTranslated("returns a value or nothing")
            self.emit("return None")
            self.assigned = None
            return
        parts = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
        several = isinstance(s.value, ast.Tuple)
        if self.returned not in (None, len(parts)) or (self.returned is not None and several != self.several):
            raise NotTranslated("returns different things")
        self.returned, self.several = len(parts), several
        leaves = []
        for k, part in enumerate(parts):
            name = f"return {k}"
            self.set(name, self.value(part))
            leaves.append(_local(name))
            kind = self.variables[name]
            if isinstance(kind, Scalar):
                leaves.append(_flag(name) if kind.flagged else "False")
        self.emit(f"return ({', '.join(leaves)},)")
        self.assigned = None

    def do_Assign(self, s: ast.Assign) -> None:
        if len(s.targets) == 1 and isinstance(s.targets[0], (ast.Tuple, ast.List)):
            self.unpack(s.targets[0], s.value)
            return
        value = self.value(s.value)
        if len(s.targets) > 1:
            value = self.kept(value)
        for target in s.targets:
            self.assign(target, value)

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.assign(s.target, self.value(s.value))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        if isinstance(s.target, ast.Name):
            old = self.value(ast.Name(s.target.id, ast.Load()))
            self.set(s.target.id, self.operation(s.op, old, s.value))
        elif isinstance(s.target, ast.Subscript):
            array, items = self.place(s.target)
            if any(":" in i for i in items):
                raise NotTranslated("an operation on whole arrays")
            items = [self.kept(Value(i, Scalar(INT, True))).code for i in items]
            old = _element(array, items)
            number(old)
            self.store(array, items, self.operation(s.op, old, s.value))
        else:
            raise NotTranslated("sets an attribute")

    def unpack(self, target: ast.Tuple | ast.List, source: ast.expr) -> None:
        """``a, b = b, a``: everything is evaluated before anything is assigned."""
        if isinstance(source, ast.Attribute) and source.attr == "shape":
            array = self.value(source.value)
            if not isinstance(array.type, Array) or array.type.ndim != len(target.elts):
                raise NotTranslated("a shape")
            values = [Value(f"{array.code}.shape[{k}]", Scalar(INT, True)) for k in range(array.type.ndim)]
        elif isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts):
            values = [self.kept(self.value(e)) for e in source.elts]
        else:
            self.unpack_row(target, self.value(source))
            return
        for place, value in zip(target.elts, values):
            self.assign(place, value)

    def unpack_row(self, target: ast.Tuple | ast.List, row: Value) -> None:
        """``x, y = points[k]``."""
        if not isinstance(row.type, Array):
            raise NotTranslated("unpacks this")
        row = self.kept(row)
        self.emit(f"if len({row.code}) != {len(target.elts)}:")
        self.emit("    raise ArithmeticError")
        for place, value in zip(target.elts, [self.kept(_element(row, [str(k)])) for k in range(len(target.elts))]):
            self.assign(place, value)

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.set(target.id, value)
        elif isinstance(target, ast.Subscript):
            number(value)
            array, items = self.place(target)
            self.store(array, items, value)
        else:
            raise NotTranslated("assigns to this")

    def set(self, name: str, value: Value) -> None:
        """Assign to a variable."""
        known = self.variables.get(name)
        kind = self.variables[name] = value.type if known is None else join(known, value.type)
        local = _local(name)
        code = value.code
        if isinstance(kind, Scalar):
            if kind.flagged:
                self.emit(f"{_flag(name)} = {flag_as(value, kind)}")
            if kind.dtype == FLOAT:
                code = as_float(value)
        self.emit(f"{local} = {code}")
        if self.assigned is not None:
            self.assigned.add(name)

    def kept(self, value: Value) -> Value:
        """The value in a variable of its own."""
        name = self.temporary()
        flag = ""
        if isinstance(value.type, Scalar) and value.type.flagged:
            flag = f"{name}f"
            self.emit(f"{flag} = {flag_of(value)}")
        self.emit(f"{name} = {value.code}")
        return Value(name, value.type, flag)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def place(self, s: ast.Subscript) -> tuple[Value, list[str]]:
        """The array and the indices of an element that is written."""
        array = self.value(s.value)
        if not isinstance(array.type, Array):
            raise NotTranslated("assigns to an item of this")
        items = self.indices(s.slice)
        if len(items) != array.type.ndim:
            raise NotTranslated("assigns to a part of an array")
        self.written |= {o for o in array.type.origins if isinstance(o, int)}
        if any(o not in ("fresh",) and isinstance(o, str) for o in array.type.origins):
            raise NotTranslated("writes into an array of the outside")
        return array, items

    def store(self, array: Value, items: list[str], value: Value) -> None:
        assert isinstance(array.type, Array)
        self.emit(f"{array.code}[{', '.join(items)}] = {stored(value, array.type.dtype)}")

    # Expressions.

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
            flag = _flag(e.id) if isinstance(kind, Scalar) and kind.flagged else ""
            return Value(_local(e.id), kind, flag)
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
            return Value(_local(name), Array(value.dtype, value.ndim, frozenset({f"outside {name}"}), True, False))
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
        return _element(array, self.indices(e.slice))

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


def _local(name: str) -> str:
    """A variable in translated code: none of its names can clash with that of a function."""
    return "v_" + name.replace(" ", "_")


def _flag(name: str) -> str:
    return "f_" + name.replace(" ", "_")


def _both(name: str, values: list[Value]) -> Value:
    code = "(" + f" {name} ".join(v.code for v in values) + ")"
    kinds = {number(v).python for v in values}
    if len(kinds) > 1 or kinds == {None}:
        return Value(code, Scalar(BOOL, None))  # good for a condition only: it has no flag
    return Value(code, Scalar(BOOL, kinds.pop()))


def _element(array: Value, items: list[str]) -> Value:
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


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a ``break`` leaves the loop with this body."""
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
    return False
