"""Loops over several indices, or over pairs of values, that stand for loops in loops."""

from __future__ import annotations

import ast
import copy
import itertools
import math
from typing import Any

import numpy as np

from ...base.syntax import syntax_tree
from ...ir.integers import Poly
from .arrays import ONE, materialise
from .iterations import Iteration, iteration_of, tabled
from .scalars import static_integer
from .source import without_continue
from .values import Array, NotStaged, integer, is_static
from .written_order import next_permutation

_MOST_KNOWN = 10_000  # values of tuples that are written out
_MOST_WRITTEN = 120  # permutations
_MOST_PLACES = 12  # of a permutation
_CHOSEN = (itertools.product, itertools.combinations, itertools.permutations)
_MANY = (np.ndindex, np.ndenumerate, *_CHOSEN)


def nested(where: Any, s: ast.For) -> list[ast.stmt] | None:
    """The loops that one over several indices at once stands for; None for other loops.

    for i, j in np.ndindex(a.shape): …    →    for i in range(a.shape[0]):
                                                   for j in range(a.shape[1]): …
    """
    e: Any = s.iter
    if (function := _function_of(where, e)) is None:
        return None
    loops = _Loops(where, s)
    values = loops.arguments()
    is_known = function in _CHOSEN and is_static(values) and not loops.has_ranges
    if is_known and not (function is itertools.permutations and _are_many(values)):
        return loops.known(function, values)
    if function is itertools.product and [k.arg for k in e.keywords] == ["repeat"]:
        *values, count = values
        values = values * static_integer(count)
    elif e.keywords:
        raise NotStaged("a loop over several indices, with keywords")
    if function is itertools.permutations:
        return loops.permutations(values)
    if function is itertools.product:
        return loops.product(values)
    return loops.combinations(values) if function is itertools.combinations else loops.indices(function, values)


def _are_many(values: list[Any]) -> bool:
    """Whether there are too many permutations of values that are written out to write these out, too."""
    return isinstance(values[0], (tuple, list)) and math.factorial(min(len(values[0]), 20)) > _MOST_WRITTEN


def is_nested(where: Any, e: ast.expr) -> bool:
    """Whether a loop over this stands for loops in loops."""
    return _function_of(where, e) is not None


def _function_of(where: Any, e: ast.expr) -> Any:
    """The function of several indices that an expression calls."""
    if not isinstance(e, ast.Call) or not isinstance(e.func, (ast.Attribute, ast.Name)):
        return None
    if (e.func.attr if isinstance(e.func, ast.Attribute) else e.func.id) not in {f.__name__ for f in _MANY}:
        return None
    function = where.expression(e.func)
    return function if function in _MANY else None


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
        """Loops over ranges in each other, in which what `made` says is assigned first.

        for x, y in product(a, b):        →    left = False
            if x + y > n: break                for i in range(len(a)):
                                                   for j in range(len(b)):
                                                       x, y = a[i], b[j]
                                                       if x + y > n: left = True; break
                                                   if left: break
        """
        left = ast.Name(f"{self.name}.left", ast.Load())
        is_left = leaves(self.s.body)
        body: list[ast.stmt] = [ast.Assign([self.s.target], made), *without_continue(list(self.s.body))]
        if is_left:
            body = with_flag(body, left.id)
        for k in reversed(range(len(bounds))):
            count = ast.Call(ast.Name(".range", ast.Load()), bounds[k], [])
            body = [ast.For(ast.Name(f"{self.name}.{k}", ast.Store()), count, body, [])]
            if is_left and k > 0:
                body.append(ast.If(left, [ast.Break()], []))
        if is_left:
            body.insert(0, setting(left.id, False))
        if self.s.orelse:
            body += [ast.If(ast.UnaryOp(ast.Not(), left), self.s.orelse, [])] if is_left else self.s.orelse
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

    def permutations(self, values: list[Any]) -> list[ast.stmt]:
        """``for p in itertools.permutations(a, count)``: each one is made of the one before it.

        Of how many elements they are has to be known.
        """
        first = values[0] if 1 <= len(values) <= 2 else None
        table = tabled(self.where.r, first) if isinstance(first, (tuple, list)) and first else None
        source, _ = self.source(0, first if table is None else table)
        places = values[1] if len(values) == 2 else None
        if places is None:
            (e, *_) = self.s.iter.args  # type: ignore[attr-defined]
            places = (
                self.where.expression(e.args[0]) if self.is_range(e) and len(e.args) == 1 else source.count.constant
            )
        count = -1 if places is None else static_integer(places)
        if not 0 < count <= _MOST_PLACES:
            raise NotStaged("permutations of a number of elements that is not known, or large")
        n, total = integer(source.count), ONE
        for k in range(count):
            total = total * (source.count - k)
        self.where.r.require(source.count - count)
        self.where.r.require(Poly.number(int(2 ** (62 / count))) - source.count)
        text = f"""
order = arange(n)
turns = arange(n, n - {count}, -1)
for k in range(total):
    advance(order, turns, k)
    target = {", ".join(f"source[order[{k}]]" for k in range(count))},
"""
        names = {
            "arange": np.arange, "range": range, "n": n, "total": integer(total), "advance": next_permutation,
            "source": source, "order": None, "turns": None, "k": None,
        }  # fmt: skip
        for name, value in names.items():
            if value is not None:
                self.keep(name, value)
        *begin, loop = syntax_tree(text).body
        assert isinstance(loop, ast.For)
        for node in (node for statement in (*begin, loop) for node in ast.walk(statement)):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = f"{self.name}.{node.id}"
        assigned = loop.body[-1]
        assert isinstance(assigned, ast.Assign)
        assigned.targets = [self.s.target]
        loop.body += self.s.body
        loop.orelse = self.s.orelse
        made = [ast.fix_missing_locations(ast.copy_location(t, self.s)) for t in (*begin, loop)]
        for k, statement in enumerate(made[:-1]):  # what they make is kept apart from the table of values
            statement.col_offset = -1 - k
        return made

    def source(self, k: int, value: Any) -> tuple[Iteration, ast.expr]:
        """What the argument of that number gives: Python copies it before the loop begins."""
        if isinstance(value, Array) and value.ndim == 1:
            value = iteration_of(self.where, self.keep(f"{k}.values", materialise(self.where.r, value, always=True)))
        if not isinstance(value, Iteration) or value.step != 1:
            raise NotStaged("pairs of values that are no numbers of a range or an array")
        return value, self.keep(f"{k}.source", value)


def leaves(body: list[ast.stmt], by: type[ast.stmt] = ast.Break) -> bool:
    """Whether statements of a loop have a `break`, or what else is asked for, of that loop."""
    return any(
        isinstance(s, by)
        or leaves(getattr(s, "orelse", []), by)
        or (not isinstance(s, (ast.For, ast.While)) and any(leaves(its, by) for its in _bodies(s)))
        for s in body
    )


def _bodies(s: ast.stmt) -> list[list[ast.stmt]]:
    """The bodies of a statement that is no loop, but for what stands behind ``else``."""
    cases = [case.body for case in getattr(s, "cases", [])]
    return [getattr(s, "body", []), getattr(s, "finalbody", []), *cases]


def setting(name: str, value: bool) -> ast.stmt:
    """A statement that sets a variable."""
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def with_flag(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements of a loop, with a variable that says whether a `break` has left it."""
    return [statement for s in body for statement in _flagged(s, name)]


def _flagged(s: ast.stmt, name: str) -> list[ast.stmt]:
    if isinstance(s, ast.Break):
        return [ast.copy_location(setting(name, True), s), s]
    if isinstance(s, (ast.FunctionDef, ast.ClassDef)):
        return [s]
    made = copy.copy(s)
    for part in ("orelse",) if isinstance(s, (ast.For, ast.While)) else ("body", "orelse", "finalbody"):
        if isinstance(its := getattr(s, part, None), list):
            setattr(made, part, with_flag(its, name))
    if isinstance(s, ast.Match):
        made.cases = [ast.match_case(c.pattern, c.guard, with_flag(c.body, name)) for c in s.cases]  # type: ignore[attr-defined]
    return [made]
