"""From a string to a function of the names in it.

The string is parsed, and every node of its tree compared with a list of what is allowed. The function's code is made
from that tree; the string itself is never executed.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base.operators import COMPARISONS, OF_SYNTAX
from ..base.syntax import syntax_tree
from .vocabulary import FUNCTIONS, HELPERS, takes

_LONGEST = 100_000
_DEEPEST = 500
_MOST_DIGITS = 400  # beyond the range of floats
_ATTRIBUTES = ("real", "imag", "T")
_OPERATORS = (ast.operator, ast.USub, ast.UAdd, ast.Invert, ast.cmpop, ast.expr_context)
_COMPARISONS = {kind: name for kind, name in OF_SYNTAX.items() if name in COMPARISONS}
_INSTEAD = {
    ast.Call: "functions are called by their names",
    ast.BoolOp: "'and' and 'or' take one truth value, not arrays of them: write & and |, with each side in parentheses",
    ast.Not: "'not' takes one truth value, not an array of them: write ~",
    ast.IfExp: "'x if c else y' takes one truth value, not an array of them: write where(c, x, y)",
    ast.Subscript: "elements and slices cannot be chosen: choose them in front of the call",
    ast.Starred: "arguments are written one by one",
    ast.NamedExpr: "nothing can be assigned: the result is what the call returns",
}
_PREFIX = "@"  # of the names of functions in the code: no name of the user's begins like this
_RESULT = "__result__"  # nor are there names with two underscores at both ends


class Expression(NamedTuple):
    """A string that has been checked."""

    names: tuple[str, ...]
    """The names of its inputs, in the order of the alphabet."""
    function: Callable[..., Any]
    """A function of these, and of the array that takes the result if there is one."""


def function_of(text: str, into: bool, order: str, casting: str) -> Expression:
    """The function that evaluates a string.

    Parameters
    ----------
    text : str
        The expression.
    into : bool
        Whether the result is written to an array, which is then the function's last argument.
    order, casting : str
        Of the result, as for `evaluate`.

    Raises
    ------
    SyntaxError
        If `text` is no expression of Python.
    ValueError
        If it is too long, or has something in it that is not allowed.
    """
    body, names = _checked(text)
    if into:  # copyto(result, body, casting=casting)
        names_in_code = [*names, _RESULT]
        target = ast.Name(names_in_code[-1], ast.Load())
        body = _call("copyto", [target, body], casting=casting)
        statements: list[ast.stmt] = [ast.Expr(body), ast.Return(target)]
    else:
        names_in_code = names
        statements = [ast.Return(_call("array", [body], order=order))]
    parameters = ast.arguments([], [ast.arg(n) for n in names_in_code], None, [], [], None, [])
    definition = ast.FunctionDef("expression", parameters, statements, [])
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    module = compile(tree, f"<expression {_shown(text)}>", "exec")
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType))
    return Expression(tuple(names), types.FunctionType(code, _names_of_functions()))


def _names_of_functions() -> dict[str, Any]:
    known = {**FUNCTIONS, **HELPERS, "array": np.array, "copyto": np.copyto}
    return {"__name__": __name__, "__builtins__": builtins, **{_PREFIX + name: f for name, f in known.items()}}


def _call(name: str, arguments: list[ast.expr], **keywords: str) -> ast.Call:
    given = [ast.keyword(k, ast.Constant(v)) for k, v in keywords.items()]
    return ast.Call(ast.Name(_PREFIX + name, ast.Load()), arguments, given)


def _checked(text: str) -> tuple[ast.expr, list[str]]:
    """The tree of an expression, with functions under the names that its code has for them; and its inputs."""
    if not isinstance(text, str):
        raise ValueError(f"an expression is a string, not {type(text).__name__}")
    if len(text) > _LONGEST:
        raise ValueError(f"the expression has {len(text):,} characters; the most are {_LONGEST:,}")
    try:
        whole = syntax_tree(text.strip(), "<expression>", "eval")
    except (RecursionError, MemoryError):
        raise ValueError(f"the expression {_shown(text)} is nested too deeply") from None
    names: set[str] = set()
    work: list[tuple[ast.AST, int]] = [(whole, 0)]
    while work:
        node, depth = work.pop()
        if depth > _DEEPEST:
            raise ValueError(f"the expression {_shown(text)} is nested more than {_DEEPEST} levels deep")
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(node, field, _allowed(value, node, text))
            elif isinstance(value, list):
                value[:] = [_allowed(x, node, text) if isinstance(x, ast.AST) else x for x in value]
        if isinstance(node, ast.Name) and not node.id.startswith(_PREFIX):
            names.add(node.id)
        work.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return whole.body, sorted(names)


def _allowed(node: ast.AST, parent: ast.AST, text: str) -> ast.AST:
    """What stands for a node in the code, if the node is allowed inside of `parent`."""

    def refused(why: str) -> ValueError:
        column = getattr(node, "col_offset", None)
        return ValueError(f"the expression {_shown(text)}: {why}" + (f" (column {column + 1})" if column else ""))

    if isinstance(node, _OPERATORS):
        return node
    match node:
        case ast.Name(id=name):
            if isinstance(parent, ast.Call) and node is parent.func:
                return node  # the call has been checked
            if name.startswith("__") and name.endswith("__"):
                raise refused(f"the name {name} is one of Python's own")
        case ast.Constant(value=value):
            if value is Ellipsis:
                raise refused("'...' has no meaning")
            if isinstance(value, str | bytes) and not isinstance(
                parent, ast.Call | ast.keyword | ast.Compare | ast.Expression
            ):
                raise refused("text can be compared, and given to functions")
            if isinstance(value, int) and value.bit_length() > _MOST_DIGITS * 3.33:
                raise refused(f"a number has more than {_MOST_DIGITS} digits")
        case ast.Attribute(attr=name):
            if name not in _ATTRIBUTES:
                raise refused(f"the attribute {name} is not allowed; .real, .imag and .T are")
        case ast.BinOp(left=left, op=ast.Pow() | ast.LShift(), right=right):
            name = "raised" if isinstance(node.op, ast.Pow) else "shifted"
            return ast.copy_location(_call(name, [left, right]), node)
        case ast.BinOp():
            pass
        case ast.UnaryOp(op=ast.Not()):
            raise refused(_INSTEAD[ast.Not])
        case ast.UnaryOp():
            pass
        case ast.Compare(left=left, ops=ops, comparators=others):
            if len(ops) > 1:
                raise refused("a < b < c takes truth values, not arrays of them: write (a < b) & (b < c)")
            if type(ops[0]) not in _COMPARISONS:
                raise refused("'is' and 'in' take no arrays")
            if any(isinstance(x, ast.Constant) and isinstance(x.value, str | bytes) for x in (left, *others)):
                comparison = ast.Constant(_COMPARISONS[type(ops[0])])
                return ast.copy_location(_call("compared", [comparison, left, *others]), node)
        case ast.Call(func=ast.Name(id=name) as function):
            if name not in FUNCTIONS:
                raise refused(f"there is no function {name}; there are {', '.join(sorted(FUNCTIONS))}")
            by_position, by_keyword = takes(name)
            if len(node.args) > by_position:
                raise refused(f"{name} takes {by_position} arguments by position")
            for keyword in node.keywords:
                if keyword.arg not in by_keyword:
                    raise refused(
                        f"{name} takes no argument {keyword.arg or '**'}; it takes {', '.join(sorted(by_keyword))}"
                    )
            function.id = _PREFIX + name
        case ast.keyword():
            pass
        case ast.Tuple() if isinstance(parent, ast.Call | ast.keyword):
            pass
        case _:
            why = _INSTEAD.get(
                type(node), f"{type(node).__name__} is not allowed: an expression has operators and functions"
            )
            raise refused(why)
    return node


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
