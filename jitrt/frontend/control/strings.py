"""Strings that values decide on: comparisons of numbers, since it is known which strings they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.integers import Poly
from .recorder import Recorder
from .scalars import negation, truth_value
from .values import BOOL, Chosen, NotStaged, is_static


def compare(r: Recorder, op: str, x: Any, y: Any) -> Any:
    """A comparison, by the name of its ufunc, of which a side is such a string."""
    if op not in ("equal", "not_equal"):
        raise NotStaged("an order of strings that values decide on")
    chosen, other = (x, y) if isinstance(x, Chosen) else (y, x)
    wanted = op == "equal"
    if isinstance(other, Chosen):
        both = [
            r.compute("logical_and", [_is(r, chosen, s), _is(r, other, s)], [BOOL] * 2, BOOL)
            for s in chosen.strings
            if s in other.strings
        ]
        return _any(r, both, wanted)
    if not is_static(other):
        raise NotStaged("a comparison of a string that values decide on")
    return _any(r, [_is(r, chosen, s) for s in chosen.strings if s == other], wanted)


def is_in(r: Recorder, x: Chosen, among: Any, wanted: bool) -> Any:
    """``x in among``, or ``x not in among``."""
    if not is_static(among) or not isinstance(among, (tuple, list, set, frozenset, dict)):
        raise NotStaged("a test of membership")
    return _any(r, [_is(r, x, s) for s in x.strings if s in among], wanted)


def _is(r: Recorder, x: Chosen, string: str) -> str:
    return r.machine("==", Poly.name(x.number), Poly.number(x.strings.index(string)))


def _any(r: Recorder, conditions: Sequence[str], wanted: bool) -> Any:
    """Whether one of the conditions holds, or, unless that is wanted, none."""
    if not conditions:
        return not wanted
    found = conditions[0]
    for condition in conditions[1:]:
        found = r.compute("logical_or", [found, condition], [BOOL] * 2, BOOL)
    return truth_value(found if wanted else negation(r, found))
