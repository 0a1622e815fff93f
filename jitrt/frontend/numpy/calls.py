"""Calls that NumPy makes, as nodes: their operands are taken out of the arguments, and put back in every run."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.node import Node
from ...ir.ops.contractions import Call, call
from ..hidden import check_no_symbol
from ..python.userline import user_line
from .closures import FunctionTemplate
from .standin import without_stand_in
from .tracer import Tracer

if TYPE_CHECKING:
    from ..state import Trace


def call_node(
    trace: Trace,
    function: Callable[..., Any],
    name: str,
    args: tuple,
    kwargs: dict[str, Any],
    is_effect: bool = False,
) -> Node:
    """The node of ``function(*args, **kwargs)``, whose operands are the tracers and arrays among the arguments."""
    operands: list[Node] = []
    template = _with_placeholders((args, kwargs), operands, trace)
    if len(operands) == len(args) and all(isinstance(p, _Placeholder) for p in template[0]) and not kwargs:
        return call(Call(function, _arguments, name, user_line()), tuple(operands))

    def arrange(values: list[Any]) -> tuple[tuple, dict]:
        return _with_values(template, values)

    return call(Call(function, arrange, name, user_line(), is_effect), tuple(operands))


def _arguments(values: list[Any]) -> tuple[tuple, dict]:
    """The arguments of a call that takes its operands as they are."""
    return tuple(values), {}


class _Placeholder:
    """Where in a recorded call an operand goes."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class _Parts:
    """A tuple with names of fields."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: type, parts: tuple[Any, ...]):
        self.kind, self.parts = kind, parts


def _with_placeholders(value: Any, operands: list[Node], trace: Trace, inside: tuple[Any, ...] = ()) -> Any:
    """`value` with placeholders for operands; `inside` are the functions that lead to it."""
    if isinstance(value, Tracer):
        operands.append(trace.laid_out(value))
        return _Placeholder(len(operands) - 1)
    value = without_stand_in(value)
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_with_placeholders(v, operands, trace, inside) for v in value)
    if issubclass(type(value), tuple) and hasattr(value, "_fields"):
        return _Parts(type(value), tuple(_with_placeholders(v, operands, trace, inside) for v in value))
    if type(value) is dict:
        return {k: _with_placeholders(v, operands, trace, inside) for k, v in value.items()}
    if isinstance(value, types.FunctionType) and value not in inside:
        reached = (*inside, value)
        template = FunctionTemplate(value, lambda v: _with_placeholders(v, operands, trace, reached))
        return template if template.is_needed else value
    if isinstance(value, np.ndarray):
        operands.append(trace.lift(value))
        return _Placeholder(len(operands) - 1)
    check_no_symbol(value, "an argument of a call that NumPy makes")
    return value


def _with_values(template: Any, values: list[Any]) -> Any:
    if isinstance(template, _Placeholder):
        return values[template.index]
    if type(template) in (tuple, list):
        return type(template)(_with_values(v, values) for v in template)
    if type(template) is _Parts:
        return template.kind(*(_with_values(v, values) for v in template.parts))
    if type(template) is dict:
        return {k: _with_values(v, values) for k, v in template.items()}
    if isinstance(template, FunctionTemplate):
        return template.filled(lambda part: _with_values(part, values))
    return template
