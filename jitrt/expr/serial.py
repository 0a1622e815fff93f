"""Expressions as rows of plain values, for pickles and JSON: an operation by its name, operands by their rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.syntax import syntax_tree
from ..ir.node import Constant
from .calls import LITERAL, Nested, Operand, Static, Template, is_current, is_source, operation_named, static_value
from .parse import Reader, as_argument
from .text import literal_text, static_text
from .transform import up_to_date
from .tree import Expression, literal, nodes_of

Row = tuple[str, tuple[int, ...], Any]


def rows(e: Expression) -> tuple[Row, ...]:
    """A row for each node: the name of its operation, the rows of its operands, and the rest of the call.

    Raises
    ------
    TypeError
        If a name leads to another operation than that of the expression.
    """
    e = up_to_date(e)
    numbers: dict[Expression, int] = {}
    made: list[Row] = []
    for node in nodes_of([e]):
        if not is_current(node.operation):
            raise TypeError(f"the operation {node.operation.name!r} has been made anew since the expression was")
        numbers[node] = len(made)
        given = node.value if node.operation is LITERAL else node.template
        made.append((node.operation.name, tuple([numbers[o] for o in node.operands]), _plain(given)))
    return tuple(made)


def _plain(given: Any) -> Any:
    if isinstance(given, Template):
        return tuple(map(_part, given.args)), tuple([(name, _part(part)) for name, part in given.kwargs])
    return given


def _part(part: Any) -> Any:
    if isinstance(part, Operand):
        return ("operand", part.number)
    if isinstance(part, Nested):
        return (part.kind, *map(_part, part.parts))
    return ("value", static_value(part))


def from_rows(given: Sequence[Row]) -> Expression:
    """The expression of these rows.

    Raises
    ------
    KeyError
        If an operation has a name that this process does not know.
    """
    made: list[Expression] = []
    for name, operands, rest in given:
        operation = operation_named(name)
        if operation is LITERAL:
            made.append(literal(rest))
        elif is_source(operation):
            made.append(Expression(operation, (), tuple(rest)))
        else:
            template = Template(tuple(map(_read, rest[0])), tuple([(key, _read(part)) for key, part in rest[1]]))
            made.append(Expression(operation, tuple([made[k] for k in operands]), template))
    return made[-1]


def _read(part: Any) -> Any:
    kind, *rest = part
    if kind == "operand":
        return Operand(rest[0])
    if kind == "value":
        (value,) = rest
        return Static(type(value), Constant(value) if type(value) is float else value)
    return Nested(kind, tuple(map(_read, rest)))


def to_json(e: Expression) -> str:
    """The expression as JSON.

    Parameters
    ----------
    e : Expression

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If there is something in it that has no text: objects, functions.

    Examples
    --------
    >>> from jitrt import expr
    >>> e = expr.leaf("x", "f8") * 2
    >>> expr.from_json(expr.to_json(e)) is e
    True
    """

    def value(given: Any) -> Any:
        if isinstance(given, (tuple, list)):
            return [value(v) for v in given]
        if given is None or type(given) in (bool, int, str):
            return given
        if isinstance(given, (np.ndarray, np.generic)) and given.dtype.hasobject:
            raise TypeError("a literal of objects has no text")
        return {"text": literal_text(given) if isinstance(given, np.ndarray) else static_text(given)}

    return json.dumps({"expression": 1, "nodes": [value(row) for row in rows(e)]})


def from_json(text: str) -> Expression:
    """The expression that `to_json` has written.

    Parameters
    ----------
    text : str

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        If it is something else.
    """
    reader = Reader({}, opens=False)

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return tuple([value(v) for v in given])
        if isinstance(given, dict):
            return as_argument(reader.value(syntax_tree(given["text"], mode="eval").body))
        return given

    data = json.loads(text)
    if not isinstance(data, dict) or data.get("expression") != 1:
        raise ValueError("this is no JSON of an expression")
    return from_rows(value(data["nodes"]))
