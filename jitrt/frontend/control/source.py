"""The syntax trees of functions."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from functools import lru_cache
from typing import Any

from .values import NotStaged


@lru_cache(maxsize=512)
def definition_of(code: types.CodeType) -> ast.FunctionDef:
    """The definition that a function was compiled from.

    Raises
    ------
    NotStaged
        If there is no source, or it says something else than the code.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError, ValueError):
        raise NotStaged("its source is not to be had") from None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        raise NotStaged("its source is not to be had")
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotStaged("a generator")
    arguments = found.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise NotStaged("parameters of other kinds than by position")
    if tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args)) != code.co_varnames[: code.co_argcount]:
        raise NotStaged("its source is that of another function")
    return found


@lru_cache(maxsize=512)
def has_loops(code: types.CodeType) -> bool:
    """Whether a function has a loop of its own."""
    try:
        tree = definition_of(code)
    except NotStaged:
        return False
    return any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(tree))


def assigned(statements: list[ast.stmt]) -> list[str]:
    """Names that statements assign, in the order in which they stand."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found[node.id] = None
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            raise NotStaged("a definition inside")
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in statements:
        visit(statement)
    return list(found)


def leaves_iterations(body: list[ast.stmt]) -> bool:
    """Whether statements of a loop have a `break` or `continue` of that loop."""
    return any(
        isinstance(s, (ast.Break, ast.Continue))
        or leaves_iterations(getattr(s, "orelse", []))
        or (not isinstance(s, (ast.For, ast.While)) and leaves_iterations(getattr(s, "body", [])))
        for s in body
    )


def without_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop without the `continue` at ends of choices: what follows stands on the other way.

    if a: continue    →    if a: pass
    b                      else: b
    """
    made: list[ast.stmt] = []
    for k, s in enumerate(body):
        if isinstance(s, ast.Continue):
            return made or [ast.copy_location(ast.Pass(), s)]
        if isinstance(s, ast.If) and leaves_iterations([s]):
            ways = (s.body, s.orelse)
            ends = [bool(way) and isinstance(way[-1], ast.Continue) for way in ways]
            if any(ends):
                rest = body[k + 1 :]
                then, otherwise = (without_continue(way if end else way + rest) for way, end in zip(ways, ends))
                return [
                    *made,
                    ast.copy_location(ast.If(s.test, then or [ast.copy_location(ast.Pass(), s)], otherwise), s),
                ]
        made.append(s)
    return made


def closure_of(function: Any) -> dict[str, Any]:
    """The cells of a function by name."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
