"""`cond`: an expression that is one of two, of which one is computed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from operator import is_
from typing import Any

import numpy as np

from .. import loops
from .calls import LEAF, PLACEHOLDER, Operation, filled, register
from .parse import parse
from .program import function_of
from .rows import of_columns
from .transform import substitute
from .tree import Expression, leaf, literal, nodes_of

_numbers = itertools.count()


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *args: Any) -> Expression:
    """``then(*args)`` if `condition` holds, else ``otherwise(*args)``; only one of them is computed.

    Parameters
    ----------
    condition : Expression or bool
        Of one element.
    then, otherwise : callable
        From expressions to an expression each. Other leaves and placeholders that they use become operands, too.
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
    # No names that a user can give, and others in each cond, of which one may stand in the other.
    own = [Expression(LEAF, (), (f"{next(_numbers)} of cond", None, None)) for _ in args]
    bodies = [literal(function(*own)) for function in (then, otherwise)]
    outer = [n for n in nodes_of(bodies) if n.operation in (LEAF, PLACEHOLDER) and n not in own]
    names = _names(own, outer)
    inside = {n: leaf(name, n.dtype, shape=n.shape) for n, name in zip((*own, *outer), names)}
    texts = [str(substitute(body, inside)) for body in bodies]
    found: Expression = _COND(condition, *args, *outer, names=names, then=texts[0], otherwise=texts[1])
    return found


def cond_of(operands: Sequence[Expression], names: Sequence[str], bodies: Sequence[Expression]) -> Expression | None:
    """The cond of a condition and arguments, and bodies of leaves of these names; None if these have no text."""
    texts = list(map(str, bodies))
    try:
        if not all(map(is_, map(parse, texts), bodies)):
            return None
    except (ValueError, TypeError):
        return None
    found: Expression = _COND(*operands, names=tuple(names), then=texts[0], otherwise=texts[1])
    return found


def _names(own: Sequence[Expression], outer: Sequence[Expression]) -> tuple[str, ...]:
    """Names for arguments of a cond, and for what else its bodies use, which keeps its own as far as it can."""
    names: list[str] = []
    taken = {str(n.name) for n in outer}
    for k, node in enumerate((*own, *outer)):
        name = str(node.name)
        if k < len(own) or not name.isidentifier() or name in names:
            name = next(made for number in itertools.count(k) if (made := f"cond_{number}") not in taken)
        taken.add(name)
        names.append(name)
    return tuple(names)


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
