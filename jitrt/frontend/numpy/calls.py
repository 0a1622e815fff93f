"""Calls that NumPy makes, as nodes: their operands are taken out of the arguments, and put back in every run."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.node import Node
from ...ir.ops.contractions import Call, call
from ...values.kinds import flatten, kind_of, rebuild
from ...values.trees import is_flat
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
    template = _Template((args, kwargs), operands, trace)
    if not kwargs and is_flat(template.tree[2][0]) and not template.fixed():
        return call(Call(function, None, name, user_line()), tuple(operands))
    return call(Call(function, template, name, user_line(), is_effect), tuple(operands))


class _Placeholder:
    """Where in a recorded call an operand goes."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class _Template:
    """A value with placeholders for operands; `inside` are the functions that lead to it."""

    __slots__ = ("leaves", "tree")

    def __init__(self, value: Any, operands: list[Node], trace: Trace, inside: tuple[Any, ...] = ()):
        leaves: list[Any] = []
        self.tree = flatten(value, leaves)
        self.leaves = [_with_placeholders(leaf, operands, trace, inside) for leaf in leaves]

    def __call__(self, values: list[Any]) -> Any:
        """The value with those of the operands."""
        return rebuild(self.tree, (_with_values(leaf, values) for leaf in self.leaves))

    def fixed(self) -> list[Any]:
        """The leaves that are no operands."""
        return [leaf for leaf in self.leaves if type(leaf) is not _Placeholder]

    def changed(self, change: Callable[[Any], Any]) -> _Template:
        """The same with other values in place of those that are `fixed`."""
        made = object.__new__(_Template)
        made.tree = self.tree
        made.leaves = [leaf if type(leaf) is _Placeholder else change(leaf) for leaf in self.leaves]
        return made


def _with_placeholders(leaf: Any, operands: list[Node], trace: Trace, inside: tuple[Any, ...]) -> Any:
    if isinstance(leaf, Tracer):
        operands.append(trace.laid_out(leaf))
        return _Placeholder(len(operands) - 1)
    leaf = without_stand_in(leaf)
    if isinstance(leaf, types.FunctionType) and leaf not in inside:

        def replaced(part: Any) -> Any:
            if kind_of(part, objects=False) is None:
                return _with_placeholders(part, operands, trace, (*inside, leaf))
            return _Template(part, operands, trace, (*inside, leaf))

        template = FunctionTemplate(leaf, replaced)
        return template if template.is_needed else leaf
    if isinstance(leaf, np.ndarray):
        operands.append(trace.lift(leaf))
        return _Placeholder(len(operands) - 1)
    check_no_symbol(leaf, "an argument of a call that NumPy makes")
    return leaf


def _with_values(template: Any, values: list[Any]) -> Any:
    if isinstance(template, _Placeholder):
        return values[template.index]
    if isinstance(template, _Template):
        return template(values)
    return (
        template.filled(lambda part: _with_values(part, values)) if isinstance(template, FunctionTemplate) else template
    )
