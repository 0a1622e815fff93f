"""Expressions of staged functions: each is visited once, and gives a value that is known or one of run time."""

from __future__ import annotations

import ast
import builtins
import enum
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ...base import operators
from ...values.functions import MISSING, cells_of
from . import (
    arithmetic,
    comparisons,
    complexnumbers,
    composites,
    containers,
    items,
    library,
    lists,
    modular,
    objects,
    references,
    reshaping,
    scalars,
    specialmethods,
    strings,
)
from . import arrays as a
from .localfunctions import LocalFunction, local_function
from .outside import Captures, Listing, of_listing
from .recorder import Recorder
from .runtimelists import RunTimeList
from .shortcircuit import chain
from .source import definition_of_lambda, shown, span
from .unbound import LOST, need_unbound
from .values import (
    BOOL,
    Array,
    Chosen,
    Complex,
    Composite,
    DictDisplay,
    Gone,
    NotStaged,
    Perhaps,
    Scalar,
    Unbound,
    dtype_of,
    integer,
    is_number,
    is_python_number,
    is_static,
    rebuilt,
    refusal,
    type_name,
)

_CONSTANTS = (np.dtype, np.generic, np.finfo, np.iinfo)  # whose attributes stay as they are
OPERATORS, UNARY = (
    {kind: table[name][0].__name__ for kind, name in operators.OF_SYNTAX.items() if name in table}
    for table in (operators.BINARY, operators.UNARY)
)
_MOST_SUPPOSED = 4  # rounds of staging
_PACKAGES = ("numpy", "scipy", "math")  # whose functions are known


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

    # What the classes that are made of this one do with lists, calls and statements.
    assign: Callable[[ast.expr, Any], None]
    block: Callable[[list[ast.stmt]], None]
    chosen: Callable[[str, Callable[[], Any], Callable[[], Any]], Any]
    concatenated: Callable[[Any, Any, ast.expr], Any]
    dict_from: Callable[[ast.expr, ast.expr], Any]
    display: Callable[[list[Any], ast.expr], Any]
    drawn: Callable[[ast.expr], Any]
    first: Callable[[ast.GeneratorExp, Any, bool], Any]
    forget: Callable[[Any], None]
    inlined: Callable[[Any, list[Any], dict[str, Any], ast.Call], Any]
    list_memory: Callable[[frozenset[str]], None]
    need_grown: Callable[[Any], NoReturn]
    quantified: Callable[[ast.GeneratorExp, bool], Any]
    referred: Callable[[Any, Any], Any]
    repeated: Callable[[Any, Any, ast.expr], Any]

    def __init__(
        self, r: Recorder, function: Any, variables: dict[str, Any], captures: Captures, path: tuple[Any, ...]
    ):
        self.r, self.function, self.captures, self.path = r, function, captures, path
        self.variables = variables
        self.here: Any = None  # the operation whose operands have been visited
        self.cells: dict[str, Any] = {}
        if isinstance(function, LocalFunction):
            self.locals = function.locals
        else:
            self.locals = frozenset((*function.__code__.co_varnames, *function.__code__.co_cellvars))
            self.cells = cells_of(function)

    # -- names

    def expression(self, e: ast.expr) -> Any:
        """The value of an expression."""
        handler = getattr(self, f"of_{type(e).__name__}", None)
        if handler is None:
            raise NotStaged(f"the expression {shown(e)}")
        return handler(e)

    def of_Constant(self, e: ast.Constant) -> Any:
        return e.value

    def of_JoinedStr(self, e: ast.JoinedStr) -> str:
        return "".join(map(self.expression, e.values))

    def of_FormattedValue(self, e: ast.FormattedValue) -> str:
        form = "" if e.format_spec is None else self.expression(e.format_spec)
        return strings.formatted(self.expression(e.value), e.conversion, form)

    def of_Name(self, e: ast.Name) -> Any:
        return scalars.settled(self.r, self.named(e))

    def operand(self, e: ast.expr) -> Any:
        """An operand of an operation that settles what kind of number it is."""
        value = self.untouched(e) if isinstance(e, (ast.Name, ast.Subscript)) else self.expression(e)
        return scalars.settled(self.r, value) if isinstance(value, Perhaps) else value

    def untouched(self, e: ast.expr) -> Any:
        """A value of which nothing is asked: it may be None."""
        if isinstance(e, ast.Tuple) and not any(isinstance(v, ast.Starred) for v in e.elts):
            return tuple(map(self.untouched, e.elts))
        if isinstance(e, ast.Subscript):
            return self._item(e)
        return self.named(e) if isinstance(e, ast.Name) else self.expression(e)

    def named(self, e: ast.Name) -> Any:
        """What a name stands for."""
        if e.id in self.variables:
            value = self.variables[e.id]
            if value is LOST:
                need_unbound(self.r, e.id)
            if isinstance(value, Unbound):
                if value.is_first:
                    need_unbound(self.r, e.id, NotStaged("a variable that two loops assign, and that is no number"))
                self.r.stop(scalars.negation(self.r, self.r.get(value.ran, BOOL)))  # type: ignore[arg-type]
                return value.value
            if isinstance(value, Gone):
                references.need("a list of an earlier iteration", value)
            return value
        if e.id in self.locals:
            need_unbound(self.r, e.id)
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
        return self.attribute(self.expression(e.value), e.attr, e)

    def attribute(self, value: Any, name: str, e: ast.AST) -> Any:
        """``value.name``, which `e` says."""
        if isinstance(value, Array):
            if name == "shape":
                return tuple(integer(extent) for extent in value.shape)
            if name == "size":
                return integer(value.size)
            if name == "dtype":
                self.r.require_native()
                return value.dtype
            if name in ("ndim", "itemsize"):
                return value.ndim if name == "ndim" else value.dtype.itemsize
            if name == "flat":
                return reshaping.flat(self.r, value)
            if name == "T":
                return a.transpose(self.r, value, range(value.ndim)[::-1])
            if name in ("real", "imag") and value.dtype.kind == "c":
                return a.part(self.r, value, name)
            if name == "real":
                return value
            raise NotStaged(f"the attribute {name} of an array")
        if isinstance(value, Composite):
            return objects.attribute(self, value, name, e)
        if isinstance(value, objects.Super):
            return objects.of_super(self, value, name, e)
        if isinstance(value, enum.Enum) and name in ("name", "value"):
            return self._of_member(value, name)
        if isinstance(value, type) and not issubclass(value, np.generic):
            return objects.of_class(self, value, name, e)
        if isinstance(value, Complex) and name in ("real", "imag"):
            return getattr(value, name)
        if isinstance(value, Scalar):
            if name == "dtype" and value.python is False:
                return value.dtype
            if name in ("real", "imag") and value.dtype.kind == "c":
                half = a.part(self.r, value, name)
                return scalars.from_register(self.r, half.element((a.ZERO,)), half.dtype)
            if name == "real" and value.dtype.kind == "f":
                return value
            raise NotStaged(f"the attribute {name} of a number")
        if isinstance(value, types.ModuleType) and hasattr(value, name):
            if value.__name__.partition(".")[0] not in _PACKAGES and name in vars(value):
                return self.captures.of(name, vars(value), name)
            found = getattr(value, name)
            self.captures.note(name, vars(value).get(name, MISSING), vars(value), name)
            return found
        if isinstance(value, Listing) and hasattr(list, name):
            raise NotStaged(f"{name} of a list from outside, which would be changed")
        if isinstance(value, np.dtype) and name == "type":
            return value.type
        if isinstance(value, _CONSTANTS) and not callable(found := getattr(value, name)):
            return found
        raise refusal(f"the attribute {name} of a {type_name(value)}", value)

    def _of_member(self, value: enum.Enum, name: str) -> Any:
        """``value.name`` or ``value.value``, unless the class has others of these names."""
        if any(name in vars(c) for c in type(value).__mro__[: type(value).__mro__.index(enum.Enum)]):
            raise NotStaged(f"the attribute {name} of a {type_name(value)}")
        return getattr(value, name)

    # -- operations

    def of_BinOp(self, e: ast.BinOp) -> Any:
        if (made := modular.lowest_bits(self, e)) is not None:
            return made
        x, y = self._in_turn([e.left, e.right], self.operand)
        if isinstance(e.op, ast.Mult) and isinstance(x, list) != isinstance(y, list):
            values, count = (x, y) if isinstance(x, list) else (y, x)
            return self.repeated(values, count, e)
        if isinstance(e.op, ast.Add) and all(isinstance(v, (list, RunTimeList)) for v in (x, y)):
            return self.concatenated(x, y, e)
        self.here = e
        return self.operation(OPERATORS[type(e.op)], x, y)

    def operation(self, op: str, x: Any, y: Any) -> Any:
        """A binary operator."""
        if objects.is_object(x) or objects.is_object(y):
            return specialmethods.binary(self, op, x, y, self.here)
        if complexnumbers.are_complex(x, y):
            return complexnumbers.binary(self, op, x, y)
        if all(isinstance(v, Array) or is_number(v) for v in (x, y)):
            if (made := arithmetic.mixed(self.r, op, x, y)) is not None:
                return made
            x, y = scalars.beside(self.r, x, y), scalars.beside(self.r, y, x)
        if isinstance(x, Array) or isinstance(y, Array):
            x, y = complexnumbers.as_numpys(self.r, x, y), complexnumbers.as_numpys(self.r, y, x)
            if not all(isinstance(v, Array) or is_number(v) for v in (x, y)):
                raise refusal(f"{op} of {type_name(x)} and {type_name(y)}", x, y)
            if op == "matmul":
                return library.scalar_if_0d(self.r, library.product(self.r, x, y))
            is_squared = not is_static(y) or (is_python_number(y) and y == 2)
            if op == "power" and isinstance(x, Array) and x.dtype == BOOL and is_squared:
                raise NotStaged("a square of truth values, which is of another type than their powers")
            return library.ufunc(self.r, getattr(np, op), [x, y])
        if is_number(x) and is_number(y):
            return arithmetic.binary(self.r, op, x, y)
        if isinstance(x, tuple) and isinstance(y, tuple) and op == "add":
            return x + y
        if is_static(x) and is_static(y) and type(x) in (str, tuple, int) and type(y) in (str, tuple, int):
            try:
                return arithmetic.BINARY[op](x, y)
            except Exception as error:
                raise NotStaged(f"{op} that raises {type(error).__name__}") from None
        if op == "bitwise_or" and all(v is None or isinstance(v, (type, types.UnionType)) for v in (x, y)):
            return x | y  # classes to ask for
        raise refusal(f"{op} of {type_name(x)} and {type_name(y)}", x, y)

    def of_UnaryOp(self, e: ast.UnaryOp) -> Any:
        if isinstance(e.op, ast.Not):
            return scalars.answer(self.r, self.condition(e.operand), False)
        value = self.expression(e.operand)
        op = UNARY[type(e.op)]
        if objects.is_object(value):
            return specialmethods.unary(self, op, value, e)
        if isinstance(value, Complex):
            return complexnumbers.unary(self.r, op, value)
        if isinstance(value, Array):
            return library.ufunc(self.r, getattr(np, op), [value])
        if not is_number(value):
            raise refusal(f"{op} of {type_name(value)}", value)
        return arithmetic.unary(self.r, op, value)

    def of_Compare(self, e: ast.Compare) -> Any:
        if len(e.ops) == 1 and isinstance(e.ops[0], (ast.Is, ast.IsNot)):
            return comparisons.compare(self, e.ops[0], self.untouched(e.left), self.untouched(e.comparators[0]))
        if len(e.ops) == 1:
            x, y = self._in_turn([e.left, e.comparators[0]], self.operand)
            self.here = e
            return comparisons.compare(self, e.ops[0], x, y)
        kinds: set[bool | None] = set()
        made = self._compared(self.expression(e.left), list(zip(e.ops, e.comparators)), kinds)
        if len(kinds) > 1 or None in kinds:
            raise NotStaged("a truth value that is Python's or NumPy's")
        return scalars.truth_value(made, kinds.pop())

    def condition(self, e: ast.expr) -> bool | str:
        """The truth of an expression: known, or the name of a truth value."""
        r = self.r
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return scalars.negation(r, self.condition(e.operand))
        if isinstance(e, ast.BoolOp):
            _check_assigns_nothing(e.values[1:])
            return chain(r, e.values, lambda k: self.condition(e.values[k]), isinstance(e.op, ast.And))
        if isinstance(e, ast.Compare) and len(e.ops) > 1:
            left = self.expression(e.left)
            return self._compared(left, list(zip(e.ops, e.comparators)))
        value = self.expression(e)
        self.here = e
        return self.truth_of(value)

    def truth_of(self, value: Any) -> bool | str:
        """The truth of a value."""
        r, value = self.r, strings.characters(value)
        if isinstance(value, Composite) and value.kind is dict:
            return bool(value.parts)
        if objects.is_object(value):
            return scalars.truth(r, specialmethods.truth(self, value, self.here))
        if isinstance(value, RunTimeList):
            return scalars.truth(r, integer(lists.length(r, value)))
        if isinstance(value, Array) and value.ndim == 0:
            value = library.scalar_if_0d(r, value)
        if isinstance(value, Array):
            if value.size.constant != 1:
                raise NotStaged("the truth value of an array")
            value = scalars.from_register(r, value.element((a.ZERO,) * value.ndim), value.dtype)
        if isinstance(value, Chosen):
            return bool(value)
        if not is_number(value) and not is_static(value):
            if not isinstance(value, (tuple, list, dict)):
                raise NotStaged(f"the truth value of {type_name(value)}")
            return bool(value)
        return scalars.truth(r, value)

    def _compared(
        self, left: Any, parts: list[tuple[ast.cmpop, ast.expr]], kinds: set[bool | None] | None = None
    ) -> bool | str:
        """A chain of comparisons: operands are evaluated once, and only if the comparisons before them hold.

        What may be its value is noted in `kinds`: Python's truth values, NumPy's, or those of which it is not known.
        """
        _check_assigns_nothing([later for _, later in parts[1:]])
        operands = [left] * (len(parts) + 1)

        def compared(k: int) -> bool | str:
            op, e = parts[k]
            operands[k + 1] = self.expression(e)
            self.here = e
            made = comparisons.compare(self, op, operands[k], operands[k + 1])
            found = scalars.truth(self.r, made)
            if kinds is not None and (k == len(parts) - 1 or found is not True):
                kinds.add(is_python_number(made))
            return found

        return chain(self.r, [e for _, e in parts], compared, True)

    def of_BoolOp(self, e: ast.BoolOp) -> Any:
        _check_assigns_nothing(e.values[1:])
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
        _check_assigns_nothing([e.body, e.orelse])
        return self.chosen(condition, lambda: self.expression(e.body), lambda: self.expression(e.orelse))

    def of_Lambda(self, e: ast.Lambda) -> LocalFunction:
        return local_function(definition_of_lambda(e), self)

    # -- containers

    def of_Tuple(self, e: ast.Tuple) -> Any:
        return tuple(self._several(e.elts))

    def of_List(self, e: ast.List) -> Any:
        return self.display(self._several(e.elts), e)

    def of_Dict(self, e: ast.Dict) -> Any:
        keys = [None if k is None else self.expression(k) for k in e.keys]
        if None in keys or not all(is_static(k) for k in keys) or any(isinstance(k, enum.Enum) for k in keys):
            raise NotStaged("keys of a dict")
        parts = {k: self.kept(self.expression(v)) for k, v in zip(keys, e.values)}
        return self.dict_of(parts, e)

    def dict_of(self, parts: dict[Any, Any], e: ast.expr | ast.arg) -> Any:
        """A dict that an expression makes, or a call for a parameter."""
        place = self.place_of(e)
        if containers.is_hashed(self.r, place):
            return containers.hashed(self, parts, e)
        if place in self.r.cells:
            return composites.with_cells(self.r, dict, parts, place, self.r.inside)
        return DictDisplay(parts, place, self.r.inside, self.r.depth)

    def of_Set(self, e: ast.Set) -> Any:
        values, place = self._several(e.elts), self.place_of(e)
        known = containers.SetDisplay(values, place) if is_static(values) else None
        if known is not None and not containers.is_hashed(self.r, place):
            return known
        return containers.hashed(self, values if known is None else known, e)

    def place_of(self, e: Any) -> tuple[Any, ...]:
        """What tells what an expression makes from what others make."""
        return (*self.path, e.lineno, span(e), type(e).__name__)

    def kept(self, value: Any) -> Any:
        """What a variable holds: arrays in memory, so that later changes of operands do not change it."""
        if isinstance(value, Array):
            return a.materialise(self.r, value)
        if isinstance(value, (tuple, list)):
            return rebuilt(value, map(self.kept, value))
        if isinstance(value, composites.Record) and value.is_copy:
            raise NotStaged("a copy of records")
        return value

    def _several(self, elements: list[ast.expr], evaluate: Callable[[ast.expr], Any] | None = None) -> list[Any]:
        values: list[Any] = []
        parts = [e.value if isinstance(e, ast.Starred) else e for e in elements]
        made = self._in_turn(parts, evaluate or self.expression)
        for e, value in zip(elements, made):
            if not isinstance(e, ast.Starred):
                values.append(value)
            elif isinstance(value := of_listing(value), (tuple, list)):
                values.extend(value)
            else:
                raise NotStaged("a starred value")
        return values

    def _in_turn(self, elements: Sequence[ast.expr], evaluate: Callable[[ast.expr], Any]) -> list[Any]:
        """The values of expressions; what one of them writes is no part of those in front of it."""
        r, values = self.r, list[Any]()
        for e in elements:
            reads = [v.reads for v in values if isinstance(v, Array) and v.view is None]
            if not (reads and any(isinstance(n, ast.Call) for n in ast.walk(e))):
                values.append(evaluate(e))
                continue
            path, place, since = self.path, r.place(), r.time
            with r.attempt() as take_back:
                value = evaluate(e)
                if r.has_written(frozenset().union(*reads), since):
                    take_back()
                    self.path = path
                    r.begin_again(place)
                    values = list(map(self.kept, values))
                    value = evaluate(e)
            values.append(value)
        return values

    def of_Slice(self, e: ast.Slice) -> Any:
        return slice(*(None if part is None else self.expression(part) for part in (e.lower, e.upper, e.step)))

    def of_Subscript(self, e: ast.Subscript) -> Any:
        return scalars.settled(self.r, self._item(e))

    def _item(self, e: ast.Subscript) -> Any:
        """What a subscript gives, of which nothing is asked: it may be None, as other parts of the tuple may."""

        def part(of: ast.expr) -> Any:
            value = self.named(of) if of is e.value and isinstance(of, ast.Name) else self.expression(of)
            return value if type(value) is tuple and of is e.value else scalars.settled(self.r, value)

        value, index = self._in_turn([e.value, e.slice], part)
        return items.read(self, value, index, e)

    def is_supposed(self, e: Any) -> bool:
        """Whether a number may be an element of a list of which it is not known what it holds: staging goes on then.

        It begins again behind the end, by when something may have been appended to the list.
        """
        r = self.r
        keys = [(self.place_of(e), "supposed", k) for k in range(_MOST_SUPPOSED)]
        if True not in r.guesses.values() or (r.changing.issuperset(keys) and r.supposed.isdisjoint(keys)):
            return False
        if r.supposed.isdisjoint(keys):
            key = next(k for k in keys if k not in r.changing)
            r.changing.add(key)
            r.supposed.add(key)
        r.begins_again = True
        return True


def _check_assigns_nothing(expressions: Sequence[ast.expr]) -> None:
    """Raise `NotStaged` where an expression that is evaluated on some ways only assigns a variable."""
    if any(isinstance(node, ast.NamedExpr) for e in expressions for node in ast.walk(e)):
        raise NotStaged("a variable that a part of an expression may assign")
