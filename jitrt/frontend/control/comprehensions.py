"""Comprehensions and generator expressions of staged functions, as the loops that they stand for.

[f(v) for v in x if v > 0]    →    made = []
                                   for v in x:
                                       if v > 0: made.append(f(v))
"""

from __future__ import annotations

import ast
from typing import Any

from . import containers, scalars
from .calls import Calls
from .generators import is_generator
from .iterations import iteration_of
from .nestedloops import is_nested
from .source import assigned
from .values import NotStaged, is_static

Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
_MADE = ".made"  # what the loops change; no name of a user's


class Comprehensions(Calls):
    """Expressions with comprehensions. Parameters as for `Expressions`."""

    def of_ListComp(self, e: ast.ListComp) -> Any:
        return self._comprehended(e)

    def of_SetComp(self, e: ast.SetComp) -> Any:
        add = ast.Call(ast.Attribute(ast.Name(_MADE, ast.Load()), "add", ast.Load()), [e.elt], [])
        _check_variables(e)
        return self._looped_over(e, containers.hashed(self, (), e), [ast.Expr(add)])

    def of_DictComp(self, e: ast.DictComp) -> Any:
        _check_variables(e)
        item = _placed(ast.Tuple([e.key, e.value], ast.Load()), e)
        known = None if containers.is_hashed(self.r, self.place_of(e)) else self._unrolled_list(e, item)
        if known is not None and all(is_static(key) for key, _ in known):
            return self.dict_of(dict(known), e)
        target = ast.Subscript(ast.Name(_MADE, ast.Load()), e.key, ast.Store())
        return self._looped_over(e, containers.hashed(self, {}, e), [ast.Assign([target], e.value)])

    def dict_from(self, e: ast.expr, source: ast.expr) -> Any:
        """``dict(source)`` of pairs."""
        key, value = (ast.Name(name, ast.Load()) for name in (".key", ".value"))
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in (".key", ".value")], ast.Store())
        return self.of_DictComp(_placed(ast.DictComp(key, value, [ast.comprehension(target, source, [], 0)]), e))

    def drawn(self, e: ast.expr) -> Any:
        """All that an iterator gives, as a list."""
        if isinstance(e, ast.GeneratorExp):
            return self._comprehended(e)
        item = ast.Name(".item", ast.Load())
        source = ast.comprehension(ast.Name(".item", ast.Store()), e, [], 0)
        return self._comprehended(_placed(ast.ListComp(item, [source]), e))

    def quantified(self, e: ast.GeneratorExp, is_all: bool) -> Any:
        """``any(…)`` or ``all(…)``, which end where the answer is known."""
        _check_variables(e)
        test = ast.UnaryOp(ast.Not(), e.elt) if is_all else e.elt
        decided = ast.Assign([ast.Name(_MADE, ast.Store())], ast.Constant(not is_all))
        return self._looped_over(e, is_all, [ast.If(test, [decided, ast.Break()], [])], leaves=True)

    def first(self, e: ast.GeneratorExp, default: Any, is_some: bool) -> Any:
        """``next(…, default)``; where there is no default, the procedure stops if nothing is found."""
        if len(e.generators) > 1:
            raise NotStaged("the first value of several loops")
        _check_variables(e)
        made = self._looped_over(e, default, [ast.Assign([ast.Name(_MADE, ast.Store())], e.elt), ast.Break()])
        return scalars.settled(self.r, made) if is_some else made

    def _comprehended(self, e: ast.ListComp | ast.GeneratorExp) -> Any:
        """The list that a comprehension makes."""
        _check_variables(e)
        if (known := self._unrolled_list(e, e.elt)) is not None:
            return self.display(known, e)
        append = ast.Call(ast.Attribute(ast.Name(_MADE, ast.Load()), "append", ast.Load()), [e.elt], [])
        return self._looped_over(e, self.list_at(e), [ast.Expr(append)])

    def _looped_over(self, e: Comprehension, made: Any, body: list[ast.stmt], leaves: bool = False) -> Any:
        """Run `body` for all that a comprehension goes through; the value of the variable that it changes."""
        for k, source in enumerate(reversed(e.generators)):
            if source.is_async:
                raise NotStaged("an asynchronous comprehension")
            for test in reversed(source.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(source.target, source.iter, body, [])]
            if leaves and k < len(e.generators) - 1:
                known = ast.Name(_MADE, ast.Load())
                stops = known if isinstance(made, bool) and not made else ast.UnaryOp(ast.Not(), known)
                body.append(ast.If(stops, [ast.Break()], []))
        statements = [_placed(s, e) for s in body]
        before = {name: self.variables.get(name, _placed) for name in (*assigned(statements), _MADE)}
        path, place = self.path, self.r.place()
        self.path = (*path, e.lineno, e.col_offset, "comprehension")
        self.variables[_MADE] = made
        self.block(statements)
        result = self.named(_placed(ast.Name(_MADE, ast.Load()), e))
        self.path = path
        self.r.begin_again(place)
        for name, value in before.items():
            self.variables.pop(name, None)
            if value is not _placed:
                self.variables[name] = value
        return result

    def _unrolled_list(self, e: Comprehension, elt: ast.expr) -> list[Any] | None:
        """The list, if it is known how long it is: a few values that are written out are gone through."""
        (source, *others) = e.generators
        if others or source.is_async or is_nested(self, source.iter) or is_generator(self, source.iter):
            return None
        before, place, iterated = dict(self.variables), self.r.place(), list(self.r.iterated)
        with self.r.attempt() as take_back:
            values, path = iteration_of(self, source.iter), self.path
            self.path = (*path, e.lineno, e.col_offset)
            made = self._chosen_of(values, source, elt) if isinstance(values, list) else None
            self.path = path
            if made is None:
                take_back()
                self.r.begin_again(place)
        self.variables, self.r.iterated = before, iterated
        return made

    def _chosen_of(self, values: list[Any], source: ast.comprehension, elt: ast.expr) -> list[Any] | None:
        made, path = [], self.path
        for k, value in enumerate(values):
            self.path = (*path, k)  # what calls make for one value is kept apart from what they make for others
            self.assign(source.target, value)
            tests = []
            for test in source.ifs:
                tests.append(self.condition(test))
                if tests[-1] is False:
                    break
            if not all(isinstance(t, bool) for t in tests):
                return None
            if all(tests):
                made.append(self.kept(self.expression(elt)))
        return made


def _check_variables(e: Comprehension) -> None:
    """Raise `NotStaged` where a comprehension assigns a variable of the function around it."""
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(e)):
        raise NotStaged("a variable that a comprehension assigns")


def _placed(node: Any, e: ast.expr) -> Any:
    """A node that stands where `e` stands, with all that it consists of that has no place of its own."""
    return ast.fix_missing_locations(ast.copy_location(node, e))
