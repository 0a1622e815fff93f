"""Which functions of a module are decorated: those that work on arrays, by what their text says."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

DECORATOR = "@jitrt"
"""The name of the decorator in the code: no program can have it, so none can have another meaning for it."""

_ARRAY_ATTRIBUTES = frozenset(
    "T shape ndim astype reshape ravel flatten transpose dot sum prod mean std var cumsum cumprod argmax argmin".split()
)
SCIENTIFIC = frozenset({"numpy", "scipy"})
_DRIVERS = frozenset({"print", "input", "open", "exec", "eval", "exit", "quit", "breakpoint", "globals", "locals"})
_DRIVER_MODULES = frozenset({"sys", "os", "argparse", "matplotlib", "plt", "pickle", "json", "csv", "subprocess"})
_TRANSPARENT = frozenset({"property", "staticmethod", "classmethod", "cache", "lru_cache", "cached_property", "wraps"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Left(NamedTuple):
    """A function that is not decorated."""

    name: str
    line: int
    why: str


left: list[tuple[str, Left]] = []
"""Functions of the process that are not decorated, with their files."""


def decorate(tree: ast.Module, known: Iterable[str] = ()) -> list[Left]:
    """Add the decorator to the functions of a module that work on arrays.

    It is the innermost one, and stands in the line of ``def``, so that no line number changes.

    Parameters
    ----------
    tree : ast.Module
        The module. It is changed.
    known : iterable of str
        Names that mean NumPy or SciPy, or parts of them, beside those that the module imports.

    Returns
    -------
    list of Left
        The functions that work on arrays, and are not decorated.
    """
    names = {*known, *_scientific_names(tree)}
    local = {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}
    functions = list(_functions(tree, "", False))
    chosen = {id(f) for _, f in functions if _works_on_arrays(f, names)}
    while True:  # what calls a function that works on arrays does so, too
        called = {f.name for _, f in functions if id(f) in chosen}
        more = {id(f) for _, f in functions if id(f) not in chosen and not called.isdisjoint(_called(f))}
        if not more:
            break
        chosen |= more
    left = []
    inside: set[int] = set()  # functions inside of decorated ones are compiled with these
    for name, function in functions:
        if id(function) not in chosen or id(function) in inside:
            continue
        why = _why_not(function, local)
        if why:
            left.append(Left(name, function.lineno, why))
            continue
        inside.update(id(x) for x in ast.walk(function))
        mark = ast.Name(DECORATOR, ast.Load())
        mark.lineno = mark.end_lineno = function.lineno
        mark.col_offset = mark.end_col_offset = function.col_offset
        function.decorator_list.append(mark)
    return left


def _scientific_names(tree: ast.Module) -> Iterator[str]:
    """The names under which the module has NumPy and SciPy, and what they define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.asname or a.name.partition(".")[0] for a in node.names if _top(a.name) in SCIENTIFIC)
        elif isinstance(node, ast.ImportFrom) and not node.level and _top(node.module or "") in SCIENTIFIC:
            yield from (a.asname or a.name for a in node.names)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _functions(node: ast.AST, prefix: str, within: bool) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions with their qualified names, outer ones first; but for special methods, which Python calls."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            name = child.name
            special = isinstance(node, ast.ClassDef) and name[:2] == name[-2:] == "__" and name != "__call__"
            if not special:
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.", True)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", within)
        elif not isinstance(child, ast.expr):
            yield from _functions(child, prefix, within)


def _works_on_arrays(function: ast.FunctionDef, scientific: set[str]) -> bool:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) if name in scientific:
                return True
            case ast.Attribute(attr=name) if name in _ARRAY_ATTRIBUTES:
                return True
            case (
                ast.BinOp(left=ast.Subscript())
                | ast.BinOp(right=ast.Subscript())
                | ast.AugAssign(target=ast.Subscript())
            ):
                return True
    return False


def _called(function: ast.FunctionDef) -> Iterator[str]:
    """The names of functions and methods that it calls."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield name


def _why_not(function: ast.FunctionDef, local: set[str]) -> str:
    """Why a function is not decorated; empty if it is."""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name not in _TRANSPARENT | local | {"setter", "getter", "deleter", "abstractmethod"}:
            return f"it has the decorator {ast.unparse(decorator)}"
    for node in _always_run(function.body):
        match node:
            case ast.Yield() | ast.YieldFrom():
                return "it is a generator"
            case ast.Call(func=ast.Name(id=name)) if name in _DRIVERS:
                return f"it calls {name}"
            case ast.Attribute(value=ast.Name(id=name)) if name in _DRIVER_MODULES:
                return f"it uses {name}"
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own(function)):
        return "it is a generator"
    return ""


def _always_run(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """What every call gets to: not the branches of choices, handlers, and functions inside."""
    for statement in statements:
        if isinstance(statement, (ast.If, ast.Match, *_DEFINITIONS)):
            continue
        if isinstance(statement, ast.Try):
            yield from _always_run([*statement.body, *statement.orelse, *statement.finalbody])
        elif isinstance(statement, ast.For | ast.While | ast.With):
            yield from (x for item in getattr(statement, "items", ()) for x in ast.walk(item))
            yield from _always_run([*statement.body, *getattr(statement, "orelse", ())])
        else:
            yield from ast.walk(statement)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside."""
    work: list[ast.AST] = list(function.body)
    while work:
        node = work.pop()
        yield node
        if not isinstance(node, _DEFINITIONS):
            work.extend(ast.iter_child_nodes(node))
