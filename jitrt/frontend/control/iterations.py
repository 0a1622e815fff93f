"""What loops run over: ranges, arrays, and what Python and functions of `itertools` make of them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.integers import Poly
from . import arithmetic, containers, lists, scalars, strings, subscripts
from .arrays import ZERO, fresh, materialise, store
from .kinds import Number
from .outside import of_listing
from .ranges import Iteration, counted
from .recorder import MOST_EXTENT
from .runtimelists import RunTimeList
from .values import Array, Composite, NotStaged, Scalar, integer, type_name
from .variables import number_of
from .written_maps import accumulate

if TYPE_CHECKING:
    from .expressions import Expressions
    from .recorder import Recorder

MOST_UNROLLED = 16  # values of different kinds that a loop runs over


def iteration_of(where: Expressions, e: ast.expr) -> Iteration | list[Any]:
    """What ``for … in e`` runs over: indices, or values that are written out."""
    if isinstance(e, ast.Call) and not e.keywords and not any(isinstance(v, ast.Starred) for v in e.args):
        is_named = isinstance(e.func, ast.Name) or is_of_itertools(e.func)
        function = where.expression(e.func) if is_named else None
        if function is range:
            return _range(where, [where.expression(v) for v in e.args])
        if function is reversed and len(e.args) == 1:
            return _reversed(iteration_of(where, e.args[0]))
        if function is enumerate and 1 <= len(e.args) <= 2:
            first = where.expression(e.args[1]) if len(e.args) == 2 else 0
            return _enumerated(where, iteration_of(where, e.args[0]), first)
        if function is zip and e.args:
            return _zipped(where, [iteration_of(where, v) for v in e.args])
        if function is map and len(e.args) >= 2:
            called, *given = where.expression(e.args[0]), *(iteration_of(where, v) for v in e.args[1:])
            return _mapped(where, called, _zipped(where, given), e)
        if (made := _of_library(where, function, e)) is not None:
            return made
    return over(where, where.expression(e))


def is_of_itertools(e: ast.expr) -> bool:
    """Whether an expression names a function of a module that is called as `itertools` is."""
    return isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id == "itertools"


def tabled(r: Recorder, values: Sequence[Any]) -> Iteration | None:
    """A loop over values that are written out, all of them numbers of one type or tuples of such; None for others.

    for a, b in [(1, 0.5), (2, 0.25)]: …    →    first, second = memory with 1, 2, and with 0.5, 0.25
                                                 for k in range(2): a, b = first[k], second[k]
    """
    bind = _column(r, values)
    n = Poly.number(len(values))
    return None if bind is None else Iteration(ZERO, n, 1, n, bind)


def _column(r: Recorder, values: Sequence[Any]) -> Callable[[Poly], Any] | None:
    first = values[0]
    if any(type(v) is not type(first) for v in values):
        return None
    if type(first) is tuple:
        if any(len(v) != len(first) for v in values):
            return None
        columns = [_column(r, column) for column in zip(*values)]
        known = [c for c in columns if c is not None]
        return (lambda k: tuple(c(k) for c in known)) if len(known) == len(columns) else None
    are_words = type(first) is not int or all(-(1 << 63) <= value < 1 << 63 for value in values)
    if type(first) not in (int, float, complex) or not are_words:
        return None
    kind = Number(np.dtype(type(first)), True)
    array = fresh(r, kind.dtype, (Poly.number(len(values)),))
    for k, value in enumerate(values):
        store(r, array, (Poly.number(k),), r.literal(value, kind.dtype))
    return lambda k: number_of(r, kind, [array.element((k,))])


def over(where: Expressions, value: Any) -> Iteration | list[Any]:
    value = of_listing(strings.characters(value))
    if isinstance(value, Iteration):
        return value
    if isinstance(value, Array) and value.ndim:
        value = materialise(where.r, value)
        n = value.shape[0]
        return Iteration(ZERO, n, 1, n, lambda index: subscripts.rows_of(where.r, value, index))
    if isinstance(value, RunTimeList):
        where.r.iterated.append(value)
        n = lists.length(where.r, value)
        return Iteration(ZERO, n, 1, n, lambda index: lists.element(where.r, value, index))
    if isinstance(value, (tuple, list)):
        return list(value)
    if containers.is_container(value) or isinstance(value, containers.DictView):
        return containers.iteration(where, value)
    if isinstance(value, Composite):
        if value.kind is not dict and value.items is None:
            raise NotStaged(f"a loop over {value.kind.__name__}")
        return list(value.parts if value.kind is dict else value.items or ())
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, range):
        return _range(where, [value.start, value.stop, value.step])
    raise NotStaged(f"a loop over {type_name(value)}")


def _range(where: Expressions, bounds: list[Any]) -> Iteration:
    if not 1 <= len(bounds) <= 3:
        raise NotStaged("a range")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(step, Scalar) and step.argument is None:
        return _range_of_steps(where, start, stop, step)
    by = scalars.static_integer(step)
    if by == 0:
        raise NotStaged("a range of step zero")
    first, last = scalars.index_of(where.r, start), scalars.index_of(where.r, stop)
    length = last - first if by > 0 else first - last
    if abs(by) > 1:
        length = where.r.in_steps(where.r.maximum(length, ZERO), abs(by))
    return Iteration(first, last, by, length, integer)


def _range_of_steps(where: Expressions, start: Any, stop: Any, step: Any) -> Iteration:
    """A range whose step is known at run time only: it has to be positive."""
    r = where.r
    first, last, by = (scalars.index_of(r, v) for v in (start, stop, step))
    r.require(by - 1)
    count = r.maximum(Poly.name(r.machine("floordiv", last - first + by - 1, by, [], [by])), ZERO)
    return Iteration(ZERO, count, 1, count, lambda k: integer(first + k * by))


def _reversed(source: Iteration | list[Any]) -> Iteration | list[Any]:
    if isinstance(source, list):
        return source[::-1]
    source = counted(source)
    if source.step > 0:
        return Iteration(source.stop - 1, source.start - 1, -1, source.count, source.bind)
    return Iteration(source.stop + 1, source.start + 1, 1, source.count, source.bind)


def _enumerated(where: Expressions, source: Iteration | list[Any], first: Any) -> Iteration | list[Any]:
    if isinstance(source, list):
        return [(arithmetic.binary(where.r, "add", first, k), v) for k, v in enumerate(source)]
    source = counted(source)
    begin, bind = scalars.poly_of(where.r, first), source.bind

    def bound(index: Poly) -> Any:
        number = index - source.start if source.step == 1 else source.start - index
        return integer(begin + number), bind(index)

    return Iteration(source.start, source.stop, source.step, source.count, bound)


def _zipped(where: Expressions, sources: list[Iteration | list[Any]]) -> Iteration | list[Any]:
    if all(isinstance(s, list) for s in sources):
        return [tuple(v) for v in zip(*sources)]
    parts = [counted(s) for s in sources if isinstance(s, Iteration)]
    if len(parts) != len(sources):
        raise NotStaged("a loop over values of different kinds")
    count = parts[0].count
    for part in parts[1:]:
        count = where.r.minimum(count, part.count)

    def bound(index: Poly) -> Any:
        return tuple(s.bind(s.start + index if s.step == 1 else s.start - index) for s in parts)

    return Iteration(ZERO, count, 1, count, bound)


def _mapped(where: Any, function: Any, source: Iteration | list[Any], e: ast.Call) -> Iteration:
    """``map(function, …)``: a call in each iteration."""
    if not isinstance(source, Iteration):
        raise NotStaged("map over values that are written out")
    bind = source.bind
    return Iteration(
        source.start, source.stop, source.step, source.count, lambda k: where.call(function, list(bind(k)), {}, e)
    )


_WITHOUT_END = Poly.number(MOST_EXTENT)


def _of_library(where: Expressions, function: Any, e: ast.Call) -> Iteration | list[Any] | None:
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
        return over(where, values)
    return None


def _source(where: Expressions, e: ast.expr) -> Iteration:
    """What is iterated over, with indices from 0 on."""
    is_known = not isinstance(e, ast.Call) or (isinstance(e.func, ast.Name) and e.func.id == "range")
    found = iteration_of(where, e) if is_known else None
    if isinstance(found, list):
        found = tabled(where.r, found) if found else None
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
    n = r.in_steps(length, step)
    return Iteration(ZERO, n, 1, n, lambda k: source.bind(first + k * step))


def _cycle(where: Expressions, source: Iteration) -> Iteration:
    r, n = where.r, source.count
    r.require(n - 1)

    def bound(k: Poly) -> Any:
        r.facts.natural.append(n - 1)
        return source.bind(Poly.name(r.machine("mod", k, n, [0], [n - 1])))

    return Iteration(ZERO, _WITHOUT_END, 1, _WITHOUT_END, bound)
