"""Handlers of a `KeyError` that one look into a dict may raise: the key is asked for instead.

    try:                         if k in counts:
        counts[k] += 1       →       counts[k] += 1
    except KeyError:             else:
        counts[k] = 1                counts[k] = 1

Whatever else the statements raise, the procedure stops and the plain function answers, so that it does not matter who
handles it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .values import Composite, DictDisplay
from .written_containers import Dict

if TYPE_CHECKING:
    from .expressions import Expressions

_OF_KEYS = (
    ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load,
)  # fmt: skip
_NOT_ASKED_TWICE = (ast.Call, ast.NamedExpr, ast.Lambda, ast.IfExp, ast.BoolOp, ast.comprehension, ast.Yield)


def asked_for(where: Expressions, s: ast.Try) -> ast.If | None:
    """What does the same as a `try` statement of that kind; None for others."""
    if len(s.handlers) != 1 or len(s.body) != 1 or s.finalbody:
        return None
    (statement,), (handler,) = s.body, s.handlers
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return):
        return None
    if handler.name is not None or not _is_key_error(where, handler.type):
        return None
    if any(isinstance(node, _NOT_ASKED_TWICE) for node in ast.walk(statement)):
        return None
    looks = [node for node in ast.walk(statement) if isinstance(node, ast.Subscript) and _reads(node, statement)]
    if len(looks) != 1 or not isinstance(looks[0].value, ast.Name):
        return None
    name, key = looks[0].value, looks[0].slice
    if not all(isinstance(node, _OF_KEYS) for node in ast.walk(key)) or not _is_dict(where.expression(name)):
        return None
    test = ast.Compare(key, [ast.In()], [ast.Name(name.id, ast.Load())])
    made = ast.If(test, [statement, *s.orelse], handler.body)
    return ast.fix_missing_locations(ast.copy_location(made, s))


def _is_key_error(where: Expressions, e: ast.expr | None) -> bool:
    return isinstance(e, ast.Name) and e.id == "KeyError" and where.expression(e) is KeyError


def _reads(node: ast.Subscript, statement: ast.stmt) -> bool:
    """Whether a subscript is read: not, if it is assigned, but by an augmented assignment."""
    return isinstance(node.ctx, ast.Load) or (isinstance(statement, ast.AugAssign) and node is statement.target)


def _is_dict(value: Any) -> bool:
    """Whether a value is a dict that raises for a key that it has not."""
    return type(value) in (dict, DictDisplay) or (isinstance(value, Composite) and value.kind in (Dict, dict))
