"""Choices between statements of staged functions, and what ends in a choice: `if`, `try`, `with`, `match`, `assert`."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...kernels.floatflags import NUMBERS
from ...values.functions import MISSING
from . import messages, missingkeys, scalars
from .assignments import Assignments
from .kinds import join, kind_of, seen_from
from .source import shown
from .unbound import LOST, UNBOUND, put_unbound
from .values import BOOL, Array, NotNow, NotStaged, Raises, Scalar, Unassigned, Unbound, is_number
from .variables import Variable


class Choices(Assignments):
    """Assignments and choices. Parameters as for `Expressions`."""

    ends = False  # whether execution does not get behind the statement visited last

    def do_Expr(self, s: ast.Expr) -> None:
        is_message = messages.is_given(self, s.value)
        if is_message is None:
            super().do_Expr(s)
        elif is_message:
            if not self.r.branches:
                raise (NotNow if messages.is_logged(s.value) else NotStaged)("a message that is always given")
            self._stop()

    def do_If(self, s: ast.If) -> None:
        condition = self.condition(s.test)
        self.settle()
        if isinstance(condition, bool):
            self.block(s.body if condition else s.orelse)
            return
        self._note_look(s.test)
        before = self.variables
        branches = []
        for holds, body in ((True, s.body), (False, s.orelse)):
            self.variables = dict(before)
            with self.r.block() as block, self.r.branch():
                self.r.suppose(condition, holds)
                self.block(body)
            branches.append((block, self.variables, self.ends))
            self.ends = False
        self._meet(condition, before, branches)

    def _note_look(self, test: ast.expr) -> None:
        """Note that a loop goes on as numbers or arrays that are no integers say."""
        names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
        values = [self.variables[name] for name in names & self.variables.keys()]
        inexact = (isinstance(v, Array) or (isinstance(v, Scalar) and v.dtype.kind == "f") for v in values)
        self.r.looks_at_values |= self.r.depth > 0 and any(inexact)

    def _meet(
        self, condition: str, before: dict[str, Any], branches: list[tuple[list[Any], dict[str, Any], bool]]
    ) -> None:
        """Record a choice of blocks, and let variables hold what the one that has run has left."""
        r = self.r
        going = [(block, variables) for block, variables, ends in branches if not ends]
        self.variables = dict(before)
        if not going:
            self.ends = True
        merged: dict[str, Variable] = {}
        unbound: dict[str, tuple[Variable, str]] = {}
        names = dict.fromkeys(name for _, variables in going for name in variables)
        for name in names:
            values = [variables.get(name) for _, variables in going]
            if any(name not in variables or isinstance(variables[name], Unbound) for _, variables in going):
                same = all(name in v and v[name] is before.get(name) for _, v in going)
                if not same:
                    self.variables[name] = LOST
                    self._assigned_on_some(name, going, unbound)
                continue
            if all(v is before.get(name) for v in values):
                continue
            kind, *others = (seen_from(r, kind_of(value), r.around()) for value in values)
            for other in others:
                kind = join(kind, other)
            merged[name] = Variable(r, kind)
        for block, variables in going:
            with r.block(block):
                for name, variable in merged.items():
                    variable.put(r, variables[name])
                for name, (variable, ran) in unbound.items():
                    put_unbound(r, variable, ran, variables.get(name, MISSING))
        r.choice(condition, branches[0][0], branches[1][0])
        for name, variable in merged.items():
            self.variables[name] = variable.get(r)
        for name, (variable, ran) in unbound.items():
            self.variables[name] = Unbound(variable.get(r), ran)

    def _assigned_on_some(
        self, name: str, going: Sequence[tuple[Any, dict[str, Any]]], unbound: dict[str, tuple[Variable, str]]
    ) -> None:
        """Note a variable that is assigned on some of the ways, if it is a number: where it is read, that is asked."""
        r = self.r
        if (UNBOUND, name) not in r.changing:
            return
        held = [found[name] for _, found in going if name in found]
        if any(v is LOST for v in held):
            return
        values = [v.value if isinstance(v, Unbound) else v for v in held]
        if not all(map(is_number, values)):
            raise Unassigned(name)
        kind, *others = (seen_from(r, kind_of(value), r.around()) for value in values)
        with contextlib.suppress(NotStaged):
            for other in others:
                kind = join(kind, other)
            unbound[name] = Variable(r, kind), r.variable()

    def chosen(self, condition: str, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """One of two values."""
        r, blocks, made = self.r, list[Any](), list[Any]()
        for holds, part in ((True, then), (False, otherwise)):
            with r.block() as block:
                r.suppose(condition, holds)
                try:
                    made.append((block, self.kept(part())))
                except Raises:
                    if len(blocks) > len(made):
                        raise
                    r.stop(r.literal(True, BOOL))
            blocks.append(block)
        kind, *others = (kind_of(value) for _, value in made)
        variable = Variable(r, join(kind, *others) if others else seen_from(r, kind, r.around()))
        for block, value in made:
            with r.block(block):
                variable.put(r, value)
        r.choice(condition, *blocks)
        return variable.get(r)

    def do_Try(self, s: ast.Try) -> None:
        """Where a statement of the body raises, the procedure stops, and the plain function handles it."""
        made = missingkeys.asked_for(self, s)
        if made is not None:
            self.block([made])
            return
        for body in (s.body, s.orelse, s.finalbody):
            self.block(body)
            if self.ends and s.finalbody:
                raise NotStaged("a block that runs at all events")
            if self.ends:
                return

    def do_Import(self, s: ast.Import) -> None:
        for alias in s.names:
            module = self.captures.imported(alias.name)
            package = alias.name.partition(".")[0]
            self.variables[alias.asname or package] = module if alias.asname else self.captures.imported(package)

    def do_ImportFrom(self, s: ast.ImportFrom) -> None:
        for alias in s.names:
            if s.level or s.module is None or alias.name == "*":
                raise NotStaged(f"the statement {shown(s)}")
            self.variables[alias.asname or alias.name] = self.captures.imported(s.module, alias.name)

    def do_With(self, s: ast.With) -> None:
        """``with np.errstate(…)`` that ignores, and ``with warnings.catch_warnings()``.

        Where anything is raised or warned of inside, the plain function answers anyway.
        """
        with self.r.states():
            self._enter(s)
            self.block(s.body)

    def _enter(self, s: ast.With) -> None:
        for item in s.items:
            e = item.context_expr
            function = self.expression(e.func) if isinstance(e, ast.Call) and not e.args else None
            if function is warnings.catch_warnings and not e.keywords:  # type: ignore[attr-defined]
                self.r.catches_warnings = True
            elif function is not np.errstate or any(self.expression(k.value) != "ignore" for k in e.keywords):  # type: ignore[attr-defined]
                raise NotStaged(f"the statement {shown(s)}")
            else:
                named = {k.arg for k in e.keywords}  # type: ignore[attr-defined]
                self.r.ignored |= frozenset(NUMBERS) & (named if "all" not in named else frozenset(NUMBERS))

    def do_Match(self, s: ast.Match) -> None:
        """As a chain of choices; of the patterns, values and what may stand for anything."""
        subject = ast.Name(f".subject{s.lineno}", ast.Store())
        read = ast.Name(subject.id, ast.Load())
        chain: list[ast.stmt] = []
        for case in reversed(s.cases):
            test, names = _test_of(case.pattern, read)
            bound: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], read) for name in names]
            if case.guard is not None:
                test = ast.BoolOp(ast.And(), [test, case.guard])
            chain = [*bound, ast.If(test, case.body, chain)]  # what binds a name matches anything
        made: list[ast.stmt] = [ast.Assign([subject], s.subject), *chain]
        self.block([ast.fix_missing_locations(ast.copy_location(t, s)) for t in made])
        self.variables.pop(subject.id, None)

    def do_Assert(self, s: ast.Assert) -> None:
        condition = scalars.negation(self.r, self.condition(s.test))
        if condition is True:
            is_users = not str(self.function.__module__).startswith(__package__)
            raise NotStaged("an assertion that fails" if is_users else f"arguments of {self.function.__name__}")
        if condition is not False:
            self.r.stop(condition)

    def do_Raise(self, s: ast.Raise) -> None:
        self._stop()

    def _stop(self) -> None:
        """What comes next is left to the plain function."""
        self.r.stop(self.r.literal(True, BOOL))
        self.ends = True


def _test_of(pattern: ast.pattern, subject: ast.expr) -> tuple[ast.expr, list[str]]:
    """The condition under which a pattern matches, and the names that it binds."""
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value]), []
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)]), []
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return ast.Constant(True), [pattern.name] if pattern.name else []
    if isinstance(pattern, ast.MatchOr):
        parts = [_test_of(p, subject) for p in pattern.patterns]
        if not any(names for _, names in parts):
            return ast.BoolOp(ast.Or(), [test for test, _ in parts]), []
    raise NotStaged(f"the pattern {shown(pattern)}")
