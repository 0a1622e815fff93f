"""Loops over several indices, or over pairs of values, that stand for loops in loops."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import numpy as np

from .arrays import materialise
from .iterations import Iteration, iteration_of
from .source import leaves_iterations, without_continue
from .values import Array, NotStaged, integer, is_static

_MOST_KNOWN = 10_000  # values of tuples that are written out
_MANY = (np.ndindex, np.ndenumerate, itertools.product, itertools.combinations)


def nested(where: Any, s: ast.For) -> list[ast.stmt] | None:
    """The loops that one over several indices at once stands for; None for other loops.

    for i, j in np.ndindex(a.shape): …    →    for i in range(a.shape[0]):
                                                   for j in range(a.shape[1]): …
    """
    e = s.iter
    if not isinstance(e, ast.Call) or not isinstance(e.func, (ast.Attribute, ast.Name)):
        return None
    if (e.func.attr if isinstance(e.func, ast.Attribute) else e.func.id) not in {f.__name__ for f in _MANY}:
        return None
    function = where.expression(e.func)
    if function not in _MANY:
        return None
    loops = _Loops(where, s)
    values = loops.arguments()
    if function in (itertools.product, itertools.combinations) and is_static(values) and not loops.has_ranges:
        return loops.known(function, values)
    if leaves_iterations(without_continue(s.body)) or s.orelse or e.keywords:
        raise NotStaged("a loop over several indices that ends early, or with keywords")
    if function is itertools.product:
        return loops.product(values)
    return loops.combinations(values) if function is itertools.combinations else loops.indices(function, values)


class _Loops:
    """The statements in place of a loop; `name` begins the names of what they keep."""

    def __init__(self, where: Any, s: ast.For):
        self.where, self.s = where, s
        self.name = f".over{s.lineno}.{len(where.path)}"
        where.variables[".range"] = range

    def arguments(self) -> list[Any]:
        """What the call is given, each evaluated once; ranges are what loops run over."""
        e: Any = self.s.iter
        given = [*e.args, *(k.value for k in e.keywords)]
        self.has_ranges = any(map(self.is_range, given))
        return self.where._in_turn(given, self.argument) if self.has_ranges else self.where._several(given)

    def is_range(self, e: ast.expr) -> bool:
        is_call = isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "range"
        return is_call and self.where.expression(e.func) is range  # type: ignore[attr-defined]

    def argument(self, e: ast.expr) -> Any:
        return iteration_of(self.where, e) if self.is_range(e) else self.where.expression(e)

    def known(self, function: Any, values: list[Any]) -> list[ast.stmt]:
        """The same loop over a list, where all that it depends on is known."""
        e: Any = self.s.iter
        names = [k.arg for k in e.keywords]
        count = len(values) - len(names)
        try:
            items = function(*values[:count], **dict(zip(names, values[count:])))
        except (TypeError, ValueError) as error:  # which the plain function raises
            raise NotStaged(str(error)) from None
        made = list(itertools.islice(items, _MOST_KNOWN))
        if len(made) == _MOST_KNOWN:
            raise NotStaged("a loop over very many values")
        loop = ast.For(self.s.target, self.keep("values", made), self.s.body, self.s.orelse)
        return [ast.fix_missing_locations(ast.copy_location(loop, self.s))]

    def keep(self, name: str, value: Any) -> ast.expr:
        """A name for a value."""
        self.where.variables[f"{self.name}.{name}"] = value
        return ast.Name(f"{self.name}.{name}", ast.Load())

    def ranges(self, bounds: list[list[ast.expr]], made: ast.expr) -> list[ast.stmt]:
        """Loops over ranges in each other, in which what `made` says is assigned first."""
        body: list[ast.stmt] = [ast.Assign([self.s.target], made), *without_continue(list(self.s.body))]
        for k in reversed(range(len(bounds))):
            count = ast.Call(ast.Name(".range", ast.Load()), bounds[k], [])
            body = [ast.For(ast.Name(f"{self.name}.{k}", ast.Store()), count, body, [])]
        return [ast.fix_missing_locations(ast.copy_location(t, self.s)) for t in body]

    def index(self, k: int) -> ast.expr:
        return ast.Name(f"{self.name}.{k}", ast.Load())

    def indices(self, function: Any, values: list[Any]) -> list[ast.stmt]:
        if function is np.ndenumerate:
            array = values[0] if len(values) == 1 else None
            if not isinstance(array, Array):
                raise NotStaged("arguments of ndenumerate")
            array = materialise(self.where.r, array)
            shape: Any = tuple(map(integer, array.shape))
        else:
            shape = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
        if not shape:
            raise NotStaged("a loop over no axes")
        made: ast.expr = ast.Tuple([self.index(k) for k in range(len(shape))], ast.Load())
        if function is np.ndenumerate:
            element = ast.Subscript(self.keep("array", array), made, ast.Load())
            made = ast.Tuple([made, element], ast.Load())
        return self.ranges([[self.keep(f"{k}.n", n)] for k, n in enumerate(shape)], made)

    def product(self, values: list[Any]) -> list[ast.stmt]:
        """``for x, y in itertools.product(a, b)``: for each element of `a` all of `b`."""
        sources = [self.source(k, value) for k, value in enumerate(values)]
        bounds: list[list[ast.expr]] = [[self.keep(f"{k}.n", integer(it.count))] for k, (it, _) in enumerate(sources)]
        items = [ast.Subscript(kept, self.index(k), ast.Load()) for k, (_, kept) in enumerate(sources)]
        return self.ranges(bounds, ast.Tuple(list(items), ast.Load()))

    def combinations(self, values: list[Any]) -> list[ast.stmt]:
        """``for x, y in itertools.combinations(a, 2)``: each index of `a` with those behind it."""
        size = values[1] if len(values) == 2 else None
        if not is_static(size) or size not in (2, 3):
            raise NotStaged("combinations of more than three, or of a number that is not known")
        source, kept = self.source(0, values[0])
        count = self.keep("n", integer(source.count))
        one = ast.Constant(1)
        bounds = [[count], *([ast.BinOp(self.index(k), ast.Add(), one), count] for k in range(size - 1))]
        return self.ranges(
            bounds, ast.Tuple([ast.Subscript(kept, self.index(k), ast.Load()) for k in range(size)], ast.Load())
        )

    def source(self, k: int, value: Any) -> tuple[Iteration, ast.expr]:
        """What the argument of that number gives: Python copies it before the loop begins."""
        if isinstance(value, Array) and value.ndim == 1:
            value = iteration_of(self.where, self.keep(f"{k}.values", materialise(self.where.r, value, always=True)))
        if not isinstance(value, Iteration) or value.step != 1:
            raise NotStaged("pairs of values that are no numbers of a range or an array")
        return value, self.keep(f"{k}.source", value)
