"""`cond`: an expression that is one of two, of which one is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
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


_functions: dict[tuple[str, tuple[str, ...]], Callable[..., Any]] = {}
"""The functions that texts are, of values of these names."""
_of_columns: dict[tuple[str, tuple[str, ...]], Callable[..., Any]] = {}
"""The same of columns."""


def _prepare(names: Sequence[str], then: str, otherwise: str) -> None:
    for text in (then, otherwise):
        key = text, tuple(names)
        if key not in _functions:
            _functions[key] = _placed(_parsed(text), names)


def _prepare_columns(names: Sequence[str], then: str, otherwise: str) -> None:
    _prepare(names, then, otherwise)
    for text in (then, otherwise):
        key = text, tuple(names)
        if key not in _of_columns:
            _of_columns[key] = _placed(of_columns(_parsed(text)), names)


def _parsed(text: str) -> Expression:
    body = parse(text)
    assert isinstance(body, Expression)
    return body


def _placed(body: Expression, names: Sequence[str]) -> Callable[..., Any]:
    function, places = function_of(body), [names.index(str(n.name)) for n in body.leaves]
    return lambda *values: function(*[values[k] for k in places])


def _choose(condition: Any, *values: Any, names: Sequence[str], then: str, otherwise: str) -> Any:
    key = tuple(names)
    return loops.cond(condition, _functions[then, key], _functions[otherwise, key], *values)


def _choose_rows(condition: Any, *values: Any, names: Sequence[str], then: str, otherwise: str) -> Any:
    """The one for the rows that it is chosen for, and the other for the others."""
    key = tuple(names)
    if np.ndim(condition) == 0:
        return loops.cond(condition, _of_columns[then, key], _of_columns[otherwise, key], *values)
    chosen = condition != 0
    given = [
        function(*[v if np.ndim(v) == 0 else v[rows] for v in values])
        for function, rows in ((_of_columns[then, key], chosen), (_of_columns[otherwise, key], ~chosen))
    ]
    found = np.empty(len(chosen), np.result_type(*given))
    found[chosen] = given[0]
    found[~chosen] = given[1]
    return found


def _of_rows(node: Expression) -> Expression | None:
    _, given = filled(node.template, node.operands)
    is_of_elements = all(of_columns(_parsed(given[side])) is not None for side in ("then", "otherwise"))
    return Expression(_ROWS, node.operands, node.template) if is_of_elements else None


_ROWS = register(Operation("cond_of_rows", _choose_rows, prepare=_prepare_columns))
_COND = register(Operation("cond", _choose, prepare=_prepare, columns=_of_rows))
