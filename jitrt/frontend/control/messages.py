"""Messages that staged functions print, warn of or log: where one is due, the plain function answers.

What a logger does not take is no message, as long as the levels that decide on it stay as they are. Nor is a filter of
warnings one, within ``with warnings.catch_warnings()``: a procedure that would warn stops.
"""

from __future__ import annotations

import ast
import logging
import warnings
from typing import TYPE_CHECKING, Any

from .values import NotNow, NotStaged

if TYPE_CHECKING:
    from .expressions import Expressions

_LEVELS = {
    "debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR,
    "exception": logging.ERROR, "critical": logging.CRITICAL,
}  # fmt: skip
_FILTERS = (warnings.simplefilter, warnings.filterwarnings)


def is_given(where: Expressions, e: ast.expr) -> bool | None:
    """Whether a statement that is this expression gives a message; None if it does something else."""
    if not isinstance(e, ast.Call):
        return None
    owner = e.func.value if isinstance(e.func, ast.Attribute) else e.func
    if not isinstance(owner, ast.Name) or owner.id in where.variables:
        return None
    if isinstance(e.func, ast.Attribute):
        of = where.expression(owner)
        if type(of) is logging.Logger:
            return _is_taken(where, of, e.func.attr, e)
        if of is not warnings:
            return None
    function = where.expression(e.func)
    if function in _FILTERS and where.r.catches_warnings:
        return False
    if function is print and where.r.depth:  # of progress, which is due in every call
        raise NotStaged("prints in a loop")
    return True if function in (print, warnings.warn) else None


def is_logged(e: ast.expr) -> bool:
    """Whether a message is one of a logger, whose level may be another one later on."""
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr in _LEVELS


def _is_taken(where: Expressions, logger: logging.Logger, method: str, e: ast.Call) -> bool:
    """Whether a logger takes a message; note what this depends on."""
    level = _LEVELS.get(method)
    if level is None:
        raise NotStaged(f"{method} of a logger")
    note = where.captures.note_attributes
    note(logger, "disabled")
    note(logger.manager, "_disable")
    above: logging.Logger | None = logger
    while above is not None:
        note(above, "level", "parent")
        above = None if above.level else above.parent
    if logger.isEnabledFor(level):
        if where.r.depth:
            raise NotNow("a message of a loop")
        return True
    for argument in [*e.args, *(k.value for k in e.keywords)]:
        _evaluate(where, argument)
    return False


def _evaluate(where: Expressions, e: ast.expr) -> Any:
    """Do what an argument of a message does beside being formatted."""
    parts = [v.value for v in e.values if isinstance(v, ast.FormattedValue)] if isinstance(e, ast.JoinedStr) else [e]
    for part in parts:
        where.expression(part)
