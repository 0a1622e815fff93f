"""`cond`: an expression that is one of two, of which one is computed."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from .. import loops
from .calls import Operation, filled, register
from .parse import parse
from .program import function_of
from .rows import of_columns
from .tree import Expression, leaf, literal

_depth: ContextVar[int] = ContextVar("depth of conds that are built", default=0)


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *args: Any) -> Expression:
    """``then(*args)`` if `condition` holds, else ``otherwise(*args)``; only one of them is computed.

    Parameters
    ----------
    condition : Expression or bool
        Of one element.
    then, otherwise : callable
        From expressions to an expression each. Other leaves that they use become operands, too.
    *args : Expression, array or number
        Their arguments, which are computed in any case.

    Returns
    -------
    Expression
        Where conds stand in conds, the type is known at the first call. `numpy.where` chooses element by element, and
        computes both.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x, limit = expr.leaf("x"), expr.leaf("limit")
    >>> e = expr.cond(x.sum() > limit, lambda x: x / x.sum(), lambda x: x * 1.0, x)
    >>> expr.evaluate(e, x=np.array([1.0, 3.0]), limit=2.0)
    array([0.25, 0.75])
    """
    depth = _depth.get()
    names = [f"cond{depth}_{k}" for k in range(len(args))]
    token = _depth.set(depth + 1)
    try:
        bodies = [literal(function(*map(leaf, names))) for function in (then, otherwise)]
    finally:
        _depth.reset(token)
    outer = {str(n.name): n for body in bodies for n in body.leaves if n.name not in names}
    given = {"names": (*names, *outer), "then": str(bodies[0]), "otherwise": str(bodies[1])}
    found: Expression = _COND(condition, *args, *outer.values(), **given)
    return found


def _parsed(text: str) -> Expression:
    body = parse(text)
    assert isinstance(body, Expression)
    return body


@cache
def _chooser(names: tuple[str, ...], then: str, otherwise: str) -> Callable[..., Any]:
    """The function of a condition and of values of these names that computes one of two texts."""
    first, second = (function_of(_parsed(text), names) for text in (then, otherwise))
    return lambda condition, *values: loops.cond(condition, first, second, *values)


@cache
def _chooser_of_rows(names: tuple[str, ...], then: str, otherwise: str) -> Callable[..., Any]:
    """The same of columns: the one for the rows that it is chosen for, and the other for the others."""
    first, second = (function_of(of_columns(_parsed(text)), names) for text in (then, otherwise))

    def choose(condition: Any, *values: Any) -> Any:
        if np.ndim(condition) == 0:
            return loops.cond(condition, first, second, *values)
        chosen = condition != 0
        given = [
            function(*[v if np.ndim(v) == 0 else v[rows] for v in values])
            for function, rows in ((first, chosen), (second, ~chosen))
        ]
        found = np.empty(len(chosen), np.result_type(*given))
        found[chosen] = given[0]
        found[~chosen] = given[1]
        return found

    return choose


def _of_rows(node: Expression) -> Expression | None:
    _, given = filled(node.template, node.operands)
    is_of_elements = all(of_columns(_parsed(given[side])) is not None for side in ("then", "otherwise"))
    return Expression(_ROWS, node.operands, node.template) if is_of_elements else None


def _choice(name: str, special: Callable[..., Any], columns: Any = None) -> Operation:
    return register(Operation(name, lambda *args, **given: special(**given)(*args), special=special, columns=columns))


_ROWS = _choice("cond_of_rows", _chooser_of_rows)
_COND = _choice("cond", _chooser, _of_rows)
