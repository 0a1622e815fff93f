"""Loops over what a generator of the user's gives: the loop's body stands in place of each ``yield``.

    def above(x, low):                        v.x, v.low = y, 0.5
        for e in x:                           for v.e in v.x:
            if e > low: yield e * 2    →          if v.e > v.low:
    for v in above(y, 0.5): s += v                    v = v.e * 2
                                                      s += v

The names of the generator get a prefix. A ``break`` that leaves several of its loops goes through a variable.
"""

from __future__ import annotations

import ast
import copy
import inspect
import types
from collections.abc import Iterable
from typing import Any

from .localfunctions import LocalFunction
from .nestedloops import leaves, setting, with_flag
from .source import assigned, bind, generator_of, parameter_names, without_continue
from .values import NotStaged

_MOST_YIELDS = 4
_FURTHER = 10_000  # columns that a copy of the body seems to stand to the right: what it makes is kept apart
_REFUSED = (
    ast.Try, ast.With, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Match,
    ast.NamedExpr,
)  # fmt: skip


def is_generator(where: Any, e: ast.expr) -> bool:
    """Whether an expression makes a generator whose text is known, and is iterated over where it is made."""
    if not (isinstance(e, ast.Call) and isinstance(e.func, ast.Name)):
        return isinstance(e, ast.GeneratorExp)
    try:
        function = where.expression(e.func)
    except NotStaged:
        return False
    if isinstance(function, LocalFunction):
        return function.is_generator
    return type(function) is types.FunctionType and bool(function.__code__.co_flags & inspect.CO_GENERATOR)


def spliced(where: Any, s: ast.For) -> list[ast.stmt] | None:
    """The statements that a loop over a generator stands for; None for other loops."""
    e, body, before = s.iter, s.body, list[ast.stmt]()
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "enumerate" and not e.keywords:
        if not (1 <= len(e.args) <= 2 and is_generator(where, e.args[0])) or where.expression(e.func) is not enumerate:
            return None
        number, value = (f".numbered{s.lineno}.{len(where.path)}.{k}" for k in range(2))
        before = [ast.Assign([_store(number)], e.args[1] if len(e.args) == 2 else ast.Constant(0))]
        pair = ast.Tuple([_load(number), _load(value)], ast.Load())
        following = ast.BinOp(_load(number), ast.Add(), ast.Constant(1))
        body = [ast.Assign([s.target], pair), ast.Assign([_store(number)], following), *body]
        s, e = ast.copy_location(ast.For(_store(value), e.args[0], body, s.orelse), s), e.args[0]
    if not is_generator(where, e):
        return None
    made = _Splice(where, s).statements(e)
    return [ast.fix_missing_locations(ast.copy_location(t, s)) for t in (*before, *made)]


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Iterable[str], prefix: str):
        self.names, self.prefix = frozenset(names), prefix

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id not in self.names:
            return node
        return ast.copy_location(ast.Name(self.prefix + node.id, node.ctx), node)


class _Splice:
    """One loop over a generator."""

    def __init__(self, where: Any, s: ast.For):
        self.where, self.s = where, s
        self.prefix = f".generator{s.lineno}.{len(where.path)}."
        self.left = self.prefix + "left"
        self.leaves = leaves(s.body)
        self.body = with_flag(s.body, self.left) if self.leaves else s.body
        self.body = without_continue(self.body)
        self.yields = 0

    def statements(self, e: ast.expr) -> list[ast.stmt]:
        body, names = self._of_expression(e) if isinstance(e, ast.GeneratorExp) else self._of_call(e)
        if any(isinstance(node, _REFUSED) for statement in body for node in ast.walk(statement)):
            raise NotStaged("a generator of this kind")
        renamed = _Renamed(names, self.prefix)
        returns = any(map(_returns, body))
        made = self._replaced([renamed.visit(copy.deepcopy(statement)) for statement in body], False, False)
        if not (self.leaves or returns):
            return [*made, *self.s.orelse]
        if self.s.orelse and returns:
            raise NotStaged("an else of a loop over a generator that returns")
        otherwise = [ast.If(ast.UnaryOp(ast.Not(), _load(self.left)), self.s.orelse, [])] if self.s.orelse else []
        return [setting(self.left, False), *made, *otherwise]

    def _of_expression(self, e: ast.GeneratorExp) -> tuple[list[ast.stmt], list[str]]:
        """The statements of a generator expression, and the names that are its own."""
        body: list[ast.stmt] = [ast.Expr(ast.Yield(e.elt))]
        for source in reversed(e.generators):
            if source.is_async:
                raise NotStaged("an asynchronous generator")
            for test in reversed(source.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(source.target, source.iter, body, [])]
        made = [ast.fix_missing_locations(ast.copy_location(t, e)) for t in body]
        return made, assigned(made)

    def _of_call(self, e: Any) -> tuple[list[ast.stmt], list[str]]:
        """The statements of a generator's function, whose parameters are assigned, and the names that are its own."""
        where = self.where
        function = where.expression(e.func)
        args, kwargs = where._arguments(e)
        if isinstance(function, LocalFunction):
            if function.scope is not where:
                raise NotStaged("a generator that is defined elsewhere")
            definition, defaults, named = function.definition, function.defaults, function.named
        else:
            definition, defaults, named = generator_of(function.__code__), function.__defaults__ or (), None
            where.captures.note_function(function)
        names = [*parameter_names(definition), *assigned(definition.body)]
        if not isinstance(function, LocalFunction):
            self._check_names(function, definition, names)
        if definition.args.kwarg:
            raise NotStaged("a generator that takes any arguments by name")
        bound = bind(definition, defaults, [where.kept(v) for v in args], kwargs, named)
        for name, value in bound.items():
            where.variables[self.prefix + name] = where.kept(value)
        return definition.body, names

    def _check_names(self, function: Any, definition: ast.FunctionDef, own: list[str]) -> None:
        """What a function from elsewhere reads must mean the same here."""
        where = self.where
        code: Any = getattr(where.function, "__code__", None)
        read = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name)} - set(own)
        is_near = code is not None and function.__globals__ is where.function.__globals__
        if not is_near or function.__closure__ or read & {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
            raise NotStaged("a generator that is defined elsewhere")

    def _replaced(self, body: list[ast.stmt], in_loop: bool, is_last: bool) -> list[ast.stmt]:
        """Statements of the generator, `is_last` if they are the last ones of an iteration of its loop."""
        made: list[ast.stmt] = []
        for k, statement in enumerate(body):
            is_end = is_last and k == len(body) - 1
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield | ast.YieldFrom):
                made += self._given(statement.value, in_loop, is_end)
                continue
            if isinstance(statement, ast.Return):
                return [*made, setting(self.left, True), *([ast.Break()] if in_loop else [])]
            if not (_has_yield(statement) or _returns(statement)):
                made.append(statement)
                continue
            if not isinstance(statement, ast.For | ast.While | ast.If):
                raise NotStaged("a generator that gets values")
            is_loop = not isinstance(statement, ast.If)
            parts = self._replaced(statement.body, in_loop or is_loop, is_end or is_loop)
            others = self._replaced(statement.orelse, in_loop, is_end)
            new = copy.copy(statement)
            new.body, new.orelse = parts, others
            made.append(new)
            if not self._is_left_in(statement, in_loop):
                continue
            if is_loop and statement.orelse:
                raise NotStaged("a generator whose loop has an else")
            if in_loop:
                made.append(ast.If(_load(self.left), [ast.Break()], []))
            else:
                rest = self._replaced(body[k + 1 :], in_loop, is_last)
                return [*made, ast.If(ast.UnaryOp(ast.Not(), _load(self.left)), rest, [])] if rest else made
        return made

    def _is_left_in(self, statement: ast.stmt, in_loop: bool) -> bool:
        """Whether the generator may have been left in a statement, and execution has got behind it all the same."""
        inner = [n for n in ast.walk(statement) if isinstance(n, ast.For | ast.While)]
        is_left = any(_returns(n) or (self.leaves and _has_yield(n)) for n in inner)
        return is_left or (not in_loop and _returns(statement))

    def _given(self, value: Any, in_loop: bool, is_last: bool) -> list[ast.stmt]:
        """What stands in place of a ``yield``."""
        if isinstance(value, ast.YieldFrom):
            each = ast.Expr(ast.Yield(_load(self.prefix + "each")))
            loop = ast.For(_store(self.prefix + "each"), value.value, [each], [])
            return self._replaced([ast.copy_location(loop, value)], in_loop, is_last)
        goes_on = leaves(self.body, ast.Continue)
        if (self.leaves and not in_loop) or (goes_on and not is_last) or self.yields == _MOST_YIELDS:
            raise NotStaged("a loop over a generator that it leaves elsewhere")
        given = ast.Constant(None) if value.value is None else value.value
        made = [ast.copy_location(ast.Assign([self.s.target], given), value), *self.body]
        if self.yields:
            made = copy.deepcopy(made)
            for node in (node for statement in made for node in ast.walk(statement)):
                if hasattr(node, "col_offset"):
                    node.col_offset += self.yields * _FURTHER
        self.yields += 1
        return made


def _returns(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(node))


def _has_yield(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(node))
