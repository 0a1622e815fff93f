"""Which of its arguments a function that numba compiles may write into, as its intermediate code says.

y = np.empty_like(x); y[0] = 1.0       nothing: `y` is new
row = x[k]; row += 1.0                 `x`, of which `row` is a view
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numba  # noqa: F401 (the whole before its parts)
import numpy as np
from numba.core import ir
from numba.core.compiler import run_frontend

# Functions whose results are new arrays or numbers.
_NEW_ARRAYS = frozenset(
    """arange array copy cumprod cumsum dot empty empty_like eye full full_like linspace ones ones_like sort zeros
    zeros_like sum prod mean std var min max amin amax argmin argmax argsort any all median nansum""".split()
)
_NEW_OF_METHODS = frozenset("copy sum prod mean std var min max argmin argmax argsort any all item".split())
_NUMBERS_OF_ARRAYS = frozenset("dtype itemsize nbytes ndim shape size strides".split())
_NUMBERS = (abs, bool, complex, divmod, float, int, len, max, min, pow, range, round)
_CONTAINERS = frozenset("build_list build_set build_map build_list_from_tuple".split())
_NEW_OF_OPERATIONS = frozenset("const null global freevar unary".split())


@functools.lru_cache(maxsize=256)
def written_parameters(
    function: types.FunctionType,
    known: Callable[[Any], types.FunctionType | None],
    mutating: frozenset[str],
    mutating_methods: frozenset[str],
) -> frozenset[int]:
    """Positions of the parameters whose arrays a function may write into; all of them where that is not known.

    Parameters
    ----------
    function : function
        That numba compiles.
    known : callable
        From a value to the function of Python's that is compiled for it; None for others.
    mutating, mutating_methods : frozenset of str
        Names of NumPy's functions, and of arrays' methods, that write into arrays.
    """
    every = frozenset(range(function.__code__.co_argcount))
    try:
        found = _Function(function, known, mutating, mutating_methods).written()
    except Exception:  # what numba refuses it refuses in a call
        return every
    return every if found is None else frozenset(found)


@functools.lru_cache(maxsize=256)
def may_return_parameters(function: types.FunctionType, known: Callable[[Any], types.FunctionType | None]) -> bool:
    """Whether what a function returns may lie in the memory of its arguments; `known` as for `written_parameters`."""
    try:
        code = _Function(function, known, frozenset(), frozenset())
        returned = [s.value for b in code.code.blocks.values() for s in b.body if isinstance(s, ir.Return)]
        return any(code.roots(value) for value in returned)
    except Exception:  # as above
        return True


class _Function:
    """The definitions of one function's variables."""

    def __init__(
        self, function: Any, known: Callable[[Any], Any], mutating: frozenset[str], mutating_methods: frozenset[str]
    ):
        self.code = run_frontend(function)
        self.known, self.mutating, self.mutating_methods = known, mutating, mutating_methods
        self.passed_on = functools.partial(
            written_parameters, known=known, mutating=mutating, mutating_methods=mutating_methods
        )

    def written(self) -> set[int] | None:
        """The positions of parameters; None where arrays may lie in what this does not follow."""
        found: set[int] = set()
        for block in self.code.blocks.values():
            for statement in block.body:
                if isinstance(statement, (ir.SetItem, ir.StaticSetItem, ir.SetAttr, ir.DelItem)):
                    found |= self.roots(statement.target)
                elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    if statement.value.op in _CONTAINERS or statement.value.op == "make_function":
                        return None
                    found |= self.written_by(statement.value)
        return found

    def written_by(self, expression: ir.Expr) -> set[int]:
        if expression.op == "inplace_binop":
            return self.roots(expression.lhs)
        if expression.op != "call":
            return set()
        arguments = [*expression.args, *(value for _, value in expression.kws)]
        if expression.vararg is not None:
            return self.roots(expression.vararg).union(*map(self.roots, arguments))
        every = set[int]().union(*map(self.roots, arguments))
        function, of = self.called(expression)
        if of is not None:  # a method
            name = function
            is_quiet = name not in self.mutating_methods and hasattr(np.ndarray, name) and not expression.kws
            return set() if is_quiet else every | of
        python = self.known(function)
        if python is not None and not expression.kws:
            places = self.passed_on(python)
            return set[int]().union(*(self.roots(v) for k, v in enumerate(expression.args) if k in places))
        if any(function is number for number in _NUMBERS) or function in (slice, enumerate, zip, tuple, math.prod):
            return set()
        module = str(getattr(function, "__module__", None)).partition(".")[0]
        if module in ("math", "cmath") or (isinstance(function, type) and issubclass(function, Exception)):
            return set()
        is_known = module == "numpy" and getattr(function, "__name__", "") not in self.mutating
        return set[int]().union(*map(self.roots, _outputs(function, expression))) if is_known else every

    def called(self, expression: ir.Expr) -> tuple[Any, set[int] | None]:
        """What a call calls: a function and None, or the name of a method and the parameters its object may be of."""
        definition = self.code.get_definition(expression.func)
        if isinstance(definition, (ir.Global, ir.FreeVar)):
            return definition.value, None
        if isinstance(definition, ir.Expr) and definition.op == "getattr":
            holder = self.code.get_definition(definition.value)
            names = [definition.attr]
            while isinstance(holder, ir.Expr) and holder.op == "getattr":
                names.append(holder.attr)
                holder = self.code.get_definition(holder.value)
            if isinstance(holder, (ir.Global, ir.FreeVar)) and isinstance(holder.value, types.ModuleType):
                return operator.attrgetter(".".join(reversed(names)))(holder.value), None
            return definition.attr, self.roots(definition.value)
        raise ValueError("a function that is not known")

    def roots(self, value: Any, inside: frozenset[str] = frozenset()) -> set[int]:
        """The positions of the parameters in whose memory a variable's value may lie."""
        if isinstance(value, ir.Var):
            if value.name in inside:
                return set()
            definitions = self.code._definitions.get(value.name)
            if not definitions:
                raise ValueError("a variable without a definition")
            return set[int]().union(*(self.roots(d, inside | {value.name}) for d in definitions))
        if isinstance(value, ir.Arg):
            return {value.index}
        if not isinstance(value, ir.Expr) or value.op in _NEW_OF_OPERATIONS:
            return set()
        if (value.op == "call" and self.is_new(value)) or (value.op == "getattr" and value.attr in _NUMBERS_OF_ARRAYS):
            return set()
        if value.op in ("binop", "inplace_binop"):
            joined = [v for v in (value.lhs, value.rhs) if self.is_tuple(v)]
            own = [value.lhs] if value.op == "inplace_binop" else []
            return set[int]().union(*(self.roots(v, inside) for v in (*own, *joined)))
        return set[int]().union(*(self.roots(v, inside) for v in value.list_vars()))

    def is_tuple(self, value: ir.Var) -> bool:
        """Whether a variable is a tuple of the function's own: sums of tuples hold what their terms hold."""
        definitions = self.code._definitions.get(value.name, ())
        return any(isinstance(d, ir.Expr) and d.op == "build_tuple" for d in definitions)

    def is_new(self, expression: ir.Expr) -> bool:
        """Whether a call gives a new array, or a number."""
        function, of = self.called(expression)
        if of is not None:
            return function in _NEW_OF_METHODS and not expression.kws
        if _outputs(function, expression):
            return False
        if isinstance(function, np.ufunc):
            return True
        module = str(getattr(function, "__module__", None)).partition(".")[0]
        name = getattr(function, "__name__", "")
        return function in _NUMBERS or module in ("math", "cmath") or (module == "numpy" and name in _NEW_ARRAYS)


def _outputs(function: Any, expression: ir.Expr) -> list[ir.Var]:
    """The arguments of a call of a function of NumPy's that its result is written to."""
    named = [value for name, value in expression.kws if name == "out"]
    if isinstance(function, np.ufunc):
        return [*expression.args[function.nin :], *named]
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = ["", "", "out"]
    return [v for name, v in zip(names, expression.args) if name == "out"] + named
