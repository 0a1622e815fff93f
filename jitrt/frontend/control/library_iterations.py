"""Loops over what functions of `itertools` give."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from ...ir.integers import Poly
from . import iterations, scalars
from .arrays import ZERO
from .ranges import Iteration, counted
from .recorder import MOST_EXTENT
from .values import NotStaged, integer
from .written_maps import accumulate

if TYPE_CHECKING:
    from .expressions import Expressions

_WITHOUT_END = Poly.number(MOST_EXTENT)


def made(where: Expressions, function: Any, e: ast.Call) -> Iteration | list[Any] | None:
    """What ``for … in function(…)`` runs over; None for other functions."""
    if function is itertools.pairwise and len(e.args) == 1:
        return _pairwise(_source(where, e.args[0]))
    if function is itertools.islice and 2 <= len(e.args) <= 4:
        return _islice(where, _source(where, e.args[0]), [where.expression(v) for v in e.args[1:]])
    if function is itertools.cycle and len(e.args) == 1:
        return _cycle(where, _source(where, e.args[0]))
    if function is itertools.repeat and 1 <= len(e.args) <= 2:
        value, *times = (where.kept(where.expression(v)) for v in e.args)
        n = scalars.index_of(where.r, times[0]) if times else _WITHOUT_END
        return Iteration(ZERO, n, 1, n, lambda k: value)
    if function is itertools.count and len(e.args) <= 1:
        first = scalars.index_of(where.r, where.expression(e.args[0])) if e.args else ZERO
        return Iteration(ZERO, _WITHOUT_END, 1, _WITHOUT_END, lambda k: integer(first + k))
    if function is itertools.accumulate and 1 <= len(e.args) <= 2:
        values = where.inlined(accumulate, [where.expression(v) for v in e.args], {}, e)
        return iterations.over(where, values)
    return None


def _source(where: Expressions, e: ast.expr) -> Iteration:
    """What is iterated over, with indices from 0 on."""
    is_known = not isinstance(e, ast.Call) or (isinstance(e.func, ast.Name) and e.func.id == "range")
    found = iterations.iteration_of(where, e) if is_known else None
    if isinstance(found, list):
        found = iterations.tabled(where.r, found) if found else None
    if found is None:
        raise NotStaged("an iterator over this")
    found = counted(found)
    bind, start, step = found.bind, found.start, found.step
    n = where.r.maximum(found.count, ZERO)
    return Iteration(ZERO, n, 1, n, lambda k: bind(start + k * step))


def _pairwise(source: Iteration) -> Iteration:
    n = source.count - 1
    return Iteration(ZERO, n, 1, n, lambda k: (source.bind(k), source.bind(k + 1)))


def _islice(where: Expressions, source: Iteration, bounds: list[Any]) -> Iteration:
    r = where.r
    start, stop, by = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    step = 1 if by is None else scalars.static_integer(by)
    first = ZERO if start is None else scalars.index_of(r, start)
    last = source.count if stop is None else scalars.index_of(r, stop)
    if step < 1:
        raise NotStaged("a part of an iterator, backwards")
    for bound in (first, last):
        r.require(bound)
    length = r.maximum(r.minimum(last, source.count) - first, ZERO)
    n = Poly.name(r.machine("floordiv", length + (step - 1), Poly.number(step), [0], [length])) if step > 1 else length
    return Iteration(ZERO, n, 1, n, lambda k: source.bind(first + k * step))


def _cycle(where: Expressions, source: Iteration) -> Iteration:
    r, n = where.r, source.count
    r.require(n - 1)

    def bound(k: Poly) -> Any:
        r.facts.natural.append(n - 1)
        return source.bind(Poly.name(r.machine("mod", k, n, [0], [n - 1])))

    return Iteration(ZERO, _WITHOUT_END, 1, _WITHOUT_END, bound)
