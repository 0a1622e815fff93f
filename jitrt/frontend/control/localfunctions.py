"""Functions that a staged function defines inside of itself: `def` and `lambda`.

Where one is called, its statements stand in place of the call. The names that it does not assign are those of the
function around it, with the values that they have at the call.
"""

from __future__ import annotations

import ast
from typing import Any

from .source import assigned, parameter_names
from .values import Composite, NotStaged, held_by, is_static


class LocalFunction:
    """A function, defined while the statements `scope` are visited.

    Two are equal where one definition has made both, so that a variable may hold the one or the other.

    Parameters
    ----------
    definition : ast.FunctionDef
    defaults : tuple
        Of the last parameters: values that are known.
    named : dict
        Defaults of parameters that have to be named.
    scope : Statements
    """

    def __init__(self, definition: ast.FunctionDef, defaults: tuple[Any, ...], named: dict[str, Any], scope: Any):
        self.definition, self.defaults, self.named, self.scope = definition, defaults, named, scope
        self.name = definition.name
        self.locals = frozenset((*parameter_names(definition), *assigned(definition.body)))
        self.is_generator = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(definition))

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is LocalFunction
            and self.definition is other.definition
            and self.scope is other.scope
            and repr((self.defaults, self.named)) == repr((other.defaults, other.named))
        )

    def __hash__(self) -> int:
        return hash((id(self.definition), id(self.scope)))


def local_function(definition: ast.FunctionDef, scope: Any) -> LocalFunction:
    """What a definition inside of a staged function makes.

    Raises
    ------
    NotStaged
        If it assigns names of the function around it, is no plain function, or has defaults that can change.
    """
    refused = (ast.Nonlocal, ast.Global, ast.Await)
    if definition.decorator_list or any(isinstance(n, refused) for n in ast.walk(definition)):
        raise NotStaged(f"the definition of {definition.name}")
    defaults = tuple(scope.expression(e) for e in definition.args.defaults)
    a = definition.args
    named = {p.arg: scope.expression(e) for p, e in zip(a.kwonlyargs, a.kw_defaults) if e is not None}
    if any(not is_static(v) or isinstance(v, (list, dict, set)) for v in (*defaults, *named.values())):
        raise NotStaged("a default that can change")
    return LocalFunction(definition, defaults, named, scope)


def outlives(value: Any, scope: Any) -> bool:
    """Whether a value holds a function that is defined in `scope`."""
    if isinstance(value, (tuple, list)):
        return any(outlives(v, scope) for v in value)
    if isinstance(value, Composite):
        return any(outlives(v, scope) for v in held_by(value))
    return isinstance(value, LocalFunction) and value.scope is scope
