"""Handlers of a `KeyError` that one look into a dict may raise: the key is asked for instead.

    try:                         if k in counts:
        counts[k] += 1       →       counts[k] += 1
    except KeyError:             else:
        counts[k] = 1                counts[k] = 1

Exact where nothing that may raise or have an effect comes before the look. Whatever else the statements raise, the
procedure stops and the plain function answers, so that it does not matter who handles it.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .values import Composite, DictDisplay
from .written_containers import Dict

if TYPE_CHECKING:
    from .expressions import Expressions

_OF_KEYS = (
    ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load,
)  # fmt: skip
_RAISING_NOTHING = (ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context)
# What has effects, need not come to the look, or has its parts in another order than they stand.
_REFUSED = (
    ast.Call, ast.NamedExpr, ast.Lambda, ast.IfExp, ast.BoolOp, ast.comprehension, ast.Yield, ast.Compare, ast.Dict,
)  # fmt: skip


def asked_for(where: Expressions, s: ast.Try) -> ast.If | None:
    """What does the same as a `try` statement of that kind; None for others."""
    if len(s.handlers) != 1 or len(s.body) != 1 or s.finalbody:
        return None
    (statement,), (handler,) = s.body, s.handlers
    if handler.name is not None or not _is_key_error(where, handler.type):
        return None
    nodes = _evaluated_by(statement)
    looks = [node for node in nodes if isinstance(node, ast.Subscript)]
    if len(looks) != 1 or not isinstance(name := looks[0].value, ast.Name):
        return None
    (look,) = looks
    inside = list(ast.walk(look))
    before = [n for n in itertools.takewhile(lambda node: node is not look, nodes) if n not in inside]
    if not (_are(_OF_KEYS, ast.walk(look.slice)) and _are(_RAISING_NOTHING, before) and _is_dict(where.named(name))):
        return None
    for node in before:
        if isinstance(node, ast.Name):
            where.named(node)  # which stops where it has no value
    test = ast.Compare(look.slice, [ast.In()], [ast.Name(name.id, ast.Load())])
    made = ast.If(test, [statement, *s.orelse], handler.body)
    return ast.fix_missing_locations(ast.copy_location(made, s))


def _is_key_error(where: Expressions, e: ast.expr | None) -> bool:
    return isinstance(e, ast.Name) and e.id == "KeyError" and where.expression(e) is KeyError


def _are(kinds: tuple[type, ...], nodes: Iterable[ast.AST]) -> bool:
    return all(isinstance(node, kinds) for node in nodes)


def _evaluated_by(statement: ast.stmt) -> list[ast.AST]:
    """What a statement evaluates before it assigns, in that order; nothing for statements that are not looked into."""
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return):
        return []
    if any(isinstance(node, _REFUSED) for node in ast.walk(statement)):
        return []
    target = [statement.target] if isinstance(statement, ast.AugAssign) else []
    return [node for e in (*target, statement.value) if e is not None for node in _evaluated(e)]


def _evaluated(e: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression, in the order in which their values are found."""
    for part in ast.iter_child_nodes(e):
        yield from _evaluated(part)
    yield e


def _is_dict(value: Any) -> bool:
    """Whether a value is a dict that raises for a key that it has not."""
    return type(value) in (dict, DictDisplay) or (isinstance(value, Composite) and value.kind in (Dict, dict))
