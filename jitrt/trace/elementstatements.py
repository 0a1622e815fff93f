"""Statements of loops over elements, translated one by one; `elementloops` says into what."""

from __future__ import annotations

import ast
import math

import numpy as np

from .elementexpressions import Expressions, element, flag_name, local_name
from .elementtypes import (
    FLOAT,
    INT,
    Array,
    NotTranslated,
    Scalar,
    Value,
    as_float,
    as_int,
    flag_as,
    flag_of,
    join,
    number,
    stored,
    truth,
)

_MODULES = (np, math)


class Statements:
    """One walk over a function, with the types of its variables as far as they are known."""

    def __init__(self, names: list[str], known: Expressions):
        self.names, self.known = names, known
        self.lines: list[str] = []
        self.depth = 1
        self.temporaries = 0
        self.written: set[int] = set()
        self.returned: int | None = None
        self.several = False
        self.loops = 0

    def run(self, definition: ast.FunctionDef) -> None:
        self.block(definition.body)
        if self.known.assigned is not None:
            if self.returned is not None:
                raise NotTranslated("returns a value or nothing")
            self.emit("return None")

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.known.assigned is None:
                return
            handler = getattr(self, f"do_{type(statement).__name__}", None)
            if handler is None:
                raise NotTranslated(f"{type(statement).__name__} at line {statement.lineno} of the function")
            handler(statement)

    def nested(self, body: list[ast.stmt]) -> set[str] | None:
        """Translate an inner block; the variables that are assigned at its end."""
        before = set(self.known.assigned or ())
        self.depth += 1
        lines = len(self.lines)
        self.block(body)
        if len(self.lines) == lines:
            self.emit("pass")
        self.depth -= 1
        after, self.known.assigned = self.known.assigned, before
        return after

    def do_Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):
            raise NotTranslated("an expression whose value is not used")

    def do_Pass(self, s: ast.Pass) -> None:
        self.emit("pass")

    def do_Break(self, s: ast.Break) -> None:
        self.emit("break")
        self.known.assigned = None

    def do_Continue(self, s: ast.Continue) -> None:
        self.emit("continue")
        self.known.assigned = None

    def do_Raise(self, s: ast.Raise) -> None:
        self.emit("raise ArithmeticError")  # the plain function raises the user's exception
        self.known.assigned = None

    def do_Assert(self, s: ast.Assert) -> None:
        self.emit(f"if not {truth(self.known.value(s.test))}:")
        self.emit("    raise ArithmeticError")

    def do_If(self, s: ast.If) -> None:
        self.emit(f"if {truth(self.known.value(s.test))}:")
        then = self.nested(s.body)
        other: set[str] | None = self.known.assigned
        if s.orelse:
            self.emit("else:")
            other = self.nested(s.orelse)
        ends = [e for e in (then, other) if e is not None]
        self.known.assigned = set.intersection(*ends) if ends else None

    def do_While(self, s: ast.While) -> None:
        if s.orelse:
            raise NotTranslated("else of a loop")
        self.loops += 1
        self.emit(f"while {truth(self.known.value(s.test))}:")
        self.nested(s.body)
        if isinstance(s.test, ast.Constant) and s.test.value and not _breaks(s.body):
            self.known.assigned = None

    def do_For(self, s: ast.For) -> None:
        if s.orelse:
            raise NotTranslated("else of a loop")
        self.loops += 1
        counter, target = None, s.target
        first: list[tuple[ast.expr, Value]]
        iterable = s.iter
        if isinstance(iterable, ast.Call) and self.known.static(iterable.func) is enumerate and len(iterable.args) == 1:
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                raise NotTranslated("enumerate")
            (iterable,), (counter, target) = iterable.args, target.elts
        if isinstance(iterable, ast.Call) and self.known.static(iterable.func) is range and not iterable.keywords:
            if not isinstance(target, ast.Name) or counter is not None:
                raise NotTranslated("this loop")
            bounds = ", ".join(as_int(self.known.value(a)) for a in iterable.args)
            step = self.temporary()
            self.emit(f"for {step} in range({bounds}):")
            first = [(target, Value(step, Scalar(INT, True)))]
        elif isinstance(iterable, (ast.Tuple, ast.List)) and isinstance(target, ast.Name) and counter is None:
            parts = [self.known.value(e) for e in iterable.elts]
            if not parts or any(number(p) != Scalar(INT, True, literal=True) for p in parts):
                raise NotTranslated("a loop over these things")
            step = self.temporary()
            self.emit(f"for {step} in ({', '.join(p.code for p in parts)},):")
            first = [(target, Value(step, Scalar(INT, True)))]
        else:
            source = self.known.value(iterable)
            if not isinstance(source.type, Array) or not isinstance(target, (ast.Name, ast.Tuple)):
                raise NotTranslated("a loop over this")
            kept, step = self.temporary(), self.temporary()
            self.emit(f"{kept} = {source.code}")
            self.emit(f"for {step} in range(len({kept})):")
            first = [(target, element(Value(kept, source.type), [step]))]
            if counter is not None:
                first.append((counter, Value(step, Scalar(INT, True))))
        before = set(self.known.assigned or ())
        self.depth += 1
        for place, value in first:
            if isinstance(place, ast.Tuple):
                self.unpack_row(place, value)
            else:
                self.assign(place, value)
        self.depth -= 1
        self.nested(s.body)
        self.known.assigned = before

    def do_Return(self, s: ast.Return) -> None:
        if s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None):
            if self.returned is not None:
                raise NotTranslated("returns a value or nothing")
            self.emit("return None")
            self.known.assigned = None
            return
        parts = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
        several = isinstance(s.value, ast.Tuple)
        if self.returned not in (None, len(parts)) or (self.returned is not None and several != self.several):
            raise NotTranslated("returns different things")
        self.returned, self.several = len(parts), several
        leaves = []
        for k, part in enumerate(parts):
            name = f"return {k}"
            self.set(name, self.known.value(part))
            leaves.append(local_name(name))
            kind = self.known.variables[name]
            if isinstance(kind, Scalar):
                leaves.append(flag_name(name) if kind.flagged else "False")
        self.emit(f"return ({', '.join(leaves)},)")
        self.known.assigned = None

    def do_Assign(self, s: ast.Assign) -> None:
        if len(s.targets) == 1 and isinstance(s.targets[0], (ast.Tuple, ast.List)):
            self.unpack(s.targets[0], s.value)
            return
        value = self.known.value(s.value)
        if len(s.targets) > 1:
            value = self.kept(value)
        for target in s.targets:
            self.assign(target, value)

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.assign(s.target, self.known.value(s.value))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        if isinstance(s.target, ast.Name):
            old = self.known.value(ast.Name(s.target.id, ast.Load()))
            self.set(s.target.id, self.known.operation(s.op, old, s.value))
        elif isinstance(s.target, ast.Subscript):
            array, items = self.place(s.target)
            if any(":" in i for i in items):
                raise NotTranslated("an operation on whole arrays")
            items = [self.kept(Value(i, Scalar(INT, True))).code for i in items]
            old = element(array, items)
            number(old)
            self.store(array, items, self.known.operation(s.op, old, s.value))
        else:
            raise NotTranslated("sets an attribute")

    def unpack(self, target: ast.Tuple | ast.List, source: ast.expr) -> None:
        """``a, b = b, a``: everything is evaluated before anything is assigned."""
        if isinstance(source, ast.Attribute) and source.attr == "shape":
            array = self.known.value(source.value)
            if not isinstance(array.type, Array) or array.type.ndim != len(target.elts):
                raise NotTranslated("a shape")
            values = [Value(f"{array.code}.shape[{k}]", Scalar(INT, True)) for k in range(array.type.ndim)]
        elif isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts):
            values = [self.kept(self.known.value(e)) for e in source.elts]
        else:
            self.unpack_row(target, self.known.value(source))
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
        for place, value in zip(target.elts, [self.kept(element(row, [str(k)])) for k in range(len(target.elts))]):
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
        known = self.known.variables.get(name)
        kind = self.known.variables[name] = value.type if known is None else join(known, value.type)
        target = local_name(name)
        code = value.code
        if isinstance(kind, Scalar):
            if kind.flagged:
                self.emit(f"{flag_name(name)} = {flag_as(value, kind)}")
            if kind.dtype == FLOAT:
                code = as_float(value)
        self.emit(f"{target} = {code}")
        if self.known.assigned is not None:
            self.known.assigned.add(name)

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
        array = self.known.value(s.value)
        if not isinstance(array.type, Array):
            raise NotTranslated("assigns to an item of this")
        items = self.known.indices(s.slice)
        if len(items) != array.type.ndim:
            raise NotTranslated("assigns to a part of an array")
        self.written |= {o for o in array.type.origins if isinstance(o, int)}
        if any(o not in ("fresh",) and isinstance(o, str) for o in array.type.origins):
            raise NotTranslated("writes into an array of the outside")
        return array, items

    def store(self, array: Value, items: list[str], value: Value) -> None:
        assert isinstance(array.type, Array)
        self.emit(f"{array.code}[{', '.join(items)}] = {stored(value, array.type.dtype)}")


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a ``break`` leaves the loop with this body."""
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
    return False
