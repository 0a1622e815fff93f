"""`cond`: an expression that is one of two, of which one is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from .. import loops
from .calls import Operation, register
from .parse import parse
from .program import function_of
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


def _prepare(names: Sequence[str], then: str, otherwise: str) -> None:
    for text in (then, otherwise):
        key = text, tuple(names)
        if key not in _functions:
            body = parse(text)
            assert isinstance(body, Expression)
            _functions[key] = _placed(function_of(body), [names.index(str(n.name)) for n in body.leaves])


def _placed(function: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    return lambda *values: function(*[values[k] for k in places])


def _choose(condition: Any, *values: Any, names: Sequence[str], then: str, otherwise: str) -> Any:
    key = tuple(names)
    return loops.cond(condition, _functions[then, key], _functions[otherwise, key], *values)


_COND = register(Operation("cond", _choose, prepare=_prepare))
