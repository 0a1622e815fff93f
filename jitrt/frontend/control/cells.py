"""Variables that functions inside assign by `nonlocal`: they become attributes of an object that all of them see.

total = 0.0                      cells = SimpleNamespace()
def add(v):                      cells.total = 0.0
    nonlocal total         →     def add(v):
    total += v                       cells.total += v
"""

from __future__ import annotations

import ast
import copy
import types

_CELLS = ".cells"
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def with_cells(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The definition with such variables as attributes; those that are bound by more than assignments stay as they are.

    Where one has no value yet, the procedure stops, and the plain function raises what Python does.
    """
    inside = [f for statement in definition.body for f in ast.walk(statement) if isinstance(f, ast.FunctionDef)]
    nonlocals = {name for f in inside for name in _declared(f)}
    names = (nonlocals & _bound(definition)) - _otherwise_bound(definition)
    if not names:
        return definition
    made = copy.deepcopy(definition)
    writer = _Writer(names)
    made.body = [writer.visit(statement) for statement in made.body]
    given = [ast.keyword(p, ast.Name(p, ast.Load())) for p in _parameters(made) if p in names]
    maker = ast.Constant(types.SimpleNamespace)  # type: ignore[arg-type]
    first = ast.Assign([ast.Name(_CELLS, ast.Store())], ast.Call(maker, [], given))
    made.body.insert(0, ast.copy_location(first, made.body[0]))
    return ast.fix_missing_locations(made)


class _Writer(ast.NodeTransformer):
    """Replaces names of a function by attributes, also in functions inside of it that have no others of these names."""

    def __init__(self, names: set[str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        cells = ast.copy_location(ast.Name(_CELLS, ast.Load()), node)
        return ast.copy_location(ast.Attribute(cells, node.id, node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        node.names = [name for name in node.names if name not in self.names]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _SCOPES):
            return super().generic_visit(node)
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):  # what is evaluated outside of it
            node.args.defaults = [self.visit(e) for e in node.args.defaults]
            node.args.kw_defaults = [e and self.visit(e) for e in node.args.kw_defaults]
        else:
            node.generators[0].iter = self.visit(node.generators[0].iter)
        before, self.names = self.names, self.names - _bound(node)
        try:
            return super().generic_visit(node)
        finally:
            self.names = before


def _declared(scope: ast.AST) -> set[str]:
    """Names that a function declares as those of a function around it."""
    return {name for node in _own(scope) if isinstance(node, ast.Nonlocal) for name in node.names}


def _bound(scope: ast.AST) -> set[str]:
    """Names that are a scope's own: its parameters, and what it assigns, but for what it declares as another one's."""
    own = _own(scope)
    found = {node.id for node in own if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    declared = {name for node in own if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names}
    return found.union(_parameters(scope)) - declared


def _otherwise_bound(scope: ast.AST) -> set[str]:
    """Names that a scope binds by definitions, imports, patterns and the like, or in an expression."""
    found: set[str | None] = set()
    for node in _own(scope):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.MatchMapping):
            found.add(node.rest)
        elif isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        elif isinstance(node, (ast.For, ast.withitem)):
            target = node.target if isinstance(node, ast.For) else node.optional_vars
            found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} if target is not None else set()
    return {name for name in found if name is not None}


def _own(scope: ast.AST) -> list[ast.AST]:
    """The nodes of a scope without those of scopes inside."""
    found, waiting = list[ast.AST](), list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _parameters(scope: ast.AST) -> list[str]:
    return [node.arg for node in _own(scope) if isinstance(node, ast.arg)]
