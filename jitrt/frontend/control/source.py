"""The syntax trees of functions."""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import inspect
import itertools
import linecache
import textwrap
import types
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...base.syntax import syntax_tree, warned_before
from .cells import with_cells
from .generated import initialiser
from .values import NotStaged, is_static

_SHOWN = 40  # letters of a statement in a reason
_MOST_ENDS = 16  # of a definition that are tried


def shown(tree: ast.AST) -> str:
    """How a part of a function begins, for a reason.

    Examples
    --------
    >>> shown(ast.parse("with open(name) as file:\\n    pass").body[0])
    '`with open(name) as file:`'
    """
    first = ast.unparse(tree).split("\n")[0]
    return f"`{first if len(first) <= _SHOWN else first[: _SHOWN - 1] + '…'}`"


def definition_of(code: types.CodeType) -> ast.FunctionDef:
    """The definition that a function was compiled from.

    Raises
    ------
    NotStaged
        If there is no source, it says something else than the code, or it is that of a generator.
    """
    if code.co_flags & inspect.CO_GENERATOR:
        raise NotStaged("a generator")
    return generator_of(code)


@lru_cache(maxsize=512)
def generator_of(code: types.CodeType) -> ast.FunctionDef:
    """The definition that a function was compiled from, which may be a generator."""
    try:
        found: Any = _lambda_of(code) if code.co_name == "<lambda>" else _tree_of(code).body[0]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        raise NotStaged("its source is not to be had") from None
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        raise NotStaged("its source is not to be had")
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotStaged("a generator")
    found = _with_private_names(found, code)
    if not _are_alike(_compiled(found, code), code):  # a file that has been written since it was read
        raise NotStaged("its source is that of another function")
    return with_cells(found) if code.co_cellvars else found


def _with_private_names(definition: ast.FunctionDef, code: types.CodeType) -> ast.FunctionDef:
    """The definition with the names that Python gives to private ones in classes: ``self.__x``, ``self._Walk__x``."""
    *_, owner, _ = ("", "", *code.co_qualname.split("."))
    prefix = f"_{owner.lstrip('_')}__"
    names = [name.removeprefix(prefix) for name in code.co_names if name.startswith(prefix)]
    private = {f"__{name}" for name in names if owner.strip("_") and not name.endswith("__")}
    if not private:
        return definition
    made = copy.deepcopy(definition)
    for node in ast.walk(made):
        if isinstance(node, ast.Attribute) and node.attr in private:
            node.attr = prefix + node.attr.removeprefix("__")
    return made


def _lines_of(code: types.CodeType) -> list[str]:
    """The lines of its file.

    Raises
    ------
    OSError
        If there are none. `inspect.findsource` takes a tenth of a second to say so of code that was typed in: it looks
        through the files of all modules.
    """
    name = code.co_filename
    linecache.checkcache(name)
    lines = linecache.getlines(name)
    if not lines and name.startswith("<"):
        raise OSError(name)
    return lines or inspect.findsource(code)[0]


def _tree_of(code: types.CodeType) -> ast.Module:
    """The tree of a definition."""
    if (code.co_filename, code.co_name) == ("<string>", "__init__"):
        return initialiser(code)
    with warned_before():
        return _indented_block(code) or syntax_tree(textwrap.dedent(inspect.getsource(code)))


def _indented_block(code: types.CodeType) -> ast.Module | None:
    """The tree of a definition, by its indentation; None where that does not tell.

    `inspect.getsource` takes ten times as long: it looks through all modules, and counts tokens.
    """
    lines = _lines_of(code)[code.co_firstlineno - 1 :]
    if not lines:
        return None
    texts = [line.lstrip() for line in lines]
    indent = len(lines[0]) - len(texts[0])
    margins = [len(line) - len(text) for line, text in zip(lines, texts)]
    ends = (k for k, text in enumerate(texts) if k and text and text[0] != "#" and margins[k] <= indent)
    for end in itertools.islice(itertools.chain(ends, [len(lines)]), _MOST_ENDS):
        try:
            tree = syntax_tree(textwrap.dedent("".join(lines[:end])))
        except (SyntaxError, ValueError):  # in the middle of decorators, brackets or a string
            continue
        return tree if len(tree.body) == 1 else None
    return None


def _compiled(definition: ast.FunctionDef, code: types.CodeType) -> types.CodeType | None:
    """The code of a definition inside of a function that has the variables which `code` finds in cells."""
    a, none = definition.args, ast.Constant(None)  # defaults are no part of the code
    args = ast.arguments(a.posonlyargs, a.args, a.vararg, a.kwonlyargs, [none] * len(a.kwonlyargs), a.kwarg, [])
    bare = ast.FunctionDef("f", args, definition.body, [])
    around = syntax_tree(f"def around({', '.join(code.co_freevars)}): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body = [ast.copy_location(bare, definition)]
    flags = code.co_flags & __future__.annotations.compiler_flag
    with warned_before():
        made = compile(ast.fix_missing_locations(ast.Module([around], [])), "", "exec", flags, dont_inherit=True)
    return next(_codes(next(_codes(made), None)), None)


def _codes(code: types.CodeType | None) -> Iterator[types.CodeType]:
    return (c for c in (code.co_consts if code is not None else ()) if isinstance(c, types.CodeType))


def _are_alike(x: types.CodeType | None, y: types.CodeType) -> bool:
    """Whether two codes do the same."""
    if x is None or (x.co_varnames, x.co_freevars, x.co_argcount) != (y.co_varnames, y.co_freevars, y.co_argcount):
        return False
    return _instructions(x) == _instructions(y) and all(map(_are_alike, _codes(x), _codes(y)))


def _instructions(code: types.CodeType) -> list[tuple[str, Any]]:
    """The instructions, without the way in which methods are found: it depends on the imports of the module."""
    found = [i for i in dis.get_instructions(code) if i.opname not in _OF_CALLS]
    offsets = [i.offset for i in found]

    def operand(i: dis.Instruction) -> Any:
        if i.opcode in _JUMPS:
            return bisect_left(offsets, i.argval)
        return None if isinstance(i.argval, types.CodeType) else repr(i.argval)

    return [("LOAD_ATTR" if i.opname == "LOAD_METHOD" else i.opname, operand(i)) for i in found]


_OF_CALLS = ("PUSH_NULL", "PRECALL", "RESUME", "EXTENDED_ARG", "NOP")
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def parameter_names(definition: ast.FunctionDef) -> tuple[str, ...]:
    """The names of the parameters."""
    rest = [a for a in (definition.args.vararg, definition.args.kwarg) if a is not None]
    return (*positional_names(definition), *(a.arg for a in (*definition.args.kwonlyargs, *rest)))


def positional_names(definition: ast.FunctionDef) -> tuple[str, ...]:
    """The names of the parameters that may be given by position."""
    return tuple(a.arg for a in (*definition.args.posonlyargs, *definition.args.args))


def _lambda_of(code: types.CodeType) -> ast.FunctionDef | None:
    """The lambda expression of its file that spans the places of the instructions of `code`."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    begin = min(((p[0], p[2]) for p in places), default=None)
    end = max(((p[1], p[3]) for p in places), default=None)
    for e in ast.walk(_file_of("".join(_lines_of(code)))):
        if isinstance(e, ast.Lambda):
            body = e.body
            if (body.lineno, body.col_offset) == begin and (body.end_lineno, body.end_col_offset) == end:
                return definition_of_lambda(e)
    return None


@lru_cache(maxsize=8)
def _file_of(text: str) -> ast.Module:
    with warned_before():
        return syntax_tree(text)


@lru_cache(maxsize=512)
def definition_of_lambda(e: ast.Lambda) -> ast.FunctionDef:
    """The definition that says the same as a lambda expression."""
    body = ast.copy_location(ast.Return(e.body), e.body)
    return ast.copy_location(ast.FunctionDef("<lambda>", e.args, [body], []), e)


def assigned(statements: list[ast.stmt]) -> list[str]:
    """Names that statements assign, in the order in which they stand."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found[node.id] = None
        if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
            raise NotStaged("a definition inside")
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        if isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = None
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            return  # what these assign is their own
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in statements:
        visit(statement)
    return list(found)


@lru_cache(maxsize=512)
def returns_at_end(definition: ast.FunctionDef) -> bool:
    """Whether a function returns nowhere but with its last statement."""

    def returns(node: ast.AST) -> bool:
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            return False
        return isinstance(node, ast.Return) or any(map(returns, ast.iter_child_nodes(node)))

    *others, last = definition.body
    return not any(map(returns, others)) and (isinstance(last, ast.Return) or not returns(last))


def span(e: Any) -> tuple[Any, ...]:
    """What tells an expression from others that begin in the same line."""
    return e.col_offset, getattr(e, "end_lineno", None), getattr(e, "end_col_offset", None)


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


def bind(
    definition: ast.FunctionDef,
    defaults: tuple[Any, ...],
    args: list[Any],
    kwargs: dict[str, Any],
    named: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Parameters by name; `defaults` are those of the last ones, `named` those of parameters that have to be named.

    Raises
    ------
    NotStaged
        If the arguments do not fit.
    """
    names, alone = positional_names(definition), len(definition.args.posonlyargs)
    own = [a.arg for a in definition.args.kwonlyargs]
    rest, args = args[len(names) :], args[: len(names)]
    more = {k: v for k, v in kwargs.items() if k not in (*names[alone:], *own)}
    kwargs = {k: v for k, v in kwargs.items() if k not in more}
    is_too_much = (rest and not definition.args.vararg) or (more and not definition.args.kwarg)
    if is_too_much or not kwargs.keys() <= {*names[max(len(args), alone) :], *own}:
        raise NotStaged(f"arguments of {definition.name}")
    bound = dict(zip(names, args)) | kwargs
    for name, value in (*zip(names[len(names) - len(defaults) :], defaults), *(named or {}).items()):
        if name not in bound:
            if not is_static(value) or isinstance(value, (list, dict, set)):
                raise NotStaged("a default that can change")
            bound[name] = value
    if len(bound) != len(names) + len(own):
        raise NotStaged(f"arguments of {definition.name}")
    if definition.args.vararg:
        bound[definition.args.vararg.arg] = tuple(rest)
    if definition.args.kwarg:
        bound[definition.args.kwarg.arg] = more
    return bound
