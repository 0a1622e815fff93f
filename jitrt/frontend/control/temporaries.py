"""Names of arrays that need no memory: what they stand for is computed where it is used.

    d = x - y                →    for i: s = s + (load x[i] - load y[i]) * (load x[i] - load y[i])
    s = (d * d).sum()

Exact, because nothing is written between the assignment and its last use, and because every element is used.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...ir.ops.optable import MUTATING, MUTATING_METHODS
from .source import parameter_names

_MOST_CHEAP = 3  # additions and multiplications that are done again for a further use
_MOST_USES = 4
# They look at no element.
_ASKING = frozenset(
    "shape size ndim zeros_like ones_like empty_like full_like result_type can_cast iscomplexobj".split()
)
# They write into their arguments, or into what they are called on.
_WRITING = (
    MUTATING | MUTATING_METHODS | frozenset("append extend insert pop remove clear update reverse setdefault".split())
)
_BUILTINS = frozenset("abs min max float int bool round sum pow".split())


@lru_cache(maxsize=512)
def temporaries(definition: ast.FunctionDef) -> dict[ast.stmt, tuple[str, ast.stmt]]:
    """For assignments of such names the names, and the statements that use them last."""
    names = [n for n in ast.walk(definition) if isinstance(n, ast.Name)]
    stored = Counter(n.id for n in names if not isinstance(n.ctx, ast.Load))
    stored.update(parameter_names(definition))
    for node in ast.walk(definition):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            stored.update(2 * node.names)
    loaded = Counter(n.id for n in names if isinstance(n.ctx, ast.Load))
    found: dict[ast.stmt, tuple[str, ast.stmt]] = {}
    for block in _blocks(definition):
        for k, s in enumerate(block):
            if not (isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)):
                continue
            name = s.targets[0].id
            if stored[name] == 1 and (last := _last_use(block[k + 1 :], name, loaded[name], _is_cheap(s.value))):
                found[s] = name, last
    return found


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a function, but for those of functions inside of it."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
            for s in block:
                if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield from _blocks(s)


def _last_use(behind: Sequence[ast.stmt], name: str, count: int, is_cheap: bool) -> ast.stmt | None:
    """The statement that uses a name last, if nothing is written before, and all of its uses compute every element."""
    uses = 0
    if not 1 <= count <= (_MOST_USES if is_cheap else 1):
        return None
    for s in behind:
        if not _writes_nothing(s):
            return None
        parents = [
            (p, n) for p in ast.walk(s) for n in ast.iter_child_nodes(p) if isinstance(n, ast.Name) and n.id == name
        ]
        if not all(_uses_all(s, parent, node, count == 1) for parent, node in parents):
            return None
        uses += len(parents)
        if uses == count:
            return s
        if not (isinstance(s, ast.Assign) and all(isinstance(t, ast.Name) for t in s.targets)):
            return None
    return None


def _is_cheap(e: ast.expr) -> bool:
    """Whether it is computed in less time than it is stored and loaded."""
    operations = [n for n in ast.walk(e) if isinstance(n, (ast.BinOp, ast.Call))]
    return len(operations) <= _MOST_CHEAP and all(
        isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub, ast.Mult)) for n in operations
    )


def _writes_nothing(s: ast.stmt) -> bool:
    """Whether what a statement evaluates writes nothing; its targets are written afterwards."""
    if not isinstance(s, (ast.Assign, ast.AugAssign)):
        return False
    for node in ast.walk(s):
        if isinstance(node, (ast.Lambda, ast.NamedExpr, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            return False
        if isinstance(node, ast.Call):
            f = node.func
            known = isinstance(f, ast.Attribute) and f.attr not in _WRITING
            if not (known or (isinstance(f, ast.Name) and f.id in _BUILTINS)) or any(
                k.arg == "out" for k in node.keywords
            ):
                return False
    return True


def _uses_all(s: ast.stmt, parent: ast.AST, node: ast.Name, is_only: bool) -> bool:
    """Whether a use of a name computes all of its elements, and, but for the only one, makes no view of it."""
    if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    if isinstance(parent, ast.AugAssign):
        return parent.value is node
    if not is_only:
        return False
    if isinstance(parent, ast.Call):
        f = parent.func
        return isinstance(f, ast.Attribute) and f.attr not in _ASKING
    if isinstance(parent, ast.Attribute):
        return any(isinstance(n, ast.Call) and n.func is parent for n in ast.walk(s))
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
        items = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
        return all(_is_full(i) for i in items)
    return isinstance(parent, ast.Assign) and parent.value is node


def _is_full(item: ast.expr) -> bool:
    """Whether a part of a subscript is ``None``, ``...`` or ``:``."""
    if isinstance(item, ast.Slice):
        return item.lower is item.upper is item.step is None
    return (isinstance(item, ast.Constant) and item.value in (None, ...)) or (
        isinstance(item, ast.Attribute) and item.attr == "newaxis"
    )
