"""Calls that NumPy makes, as nodes: their operands are taken out of the arguments, and put back in every run.

`np.apply_along_axis` and its kind call a function of the user's at every run of the program. What that function has
closed over, or reads from its module, are operands of the call: it finds values where it found tracers while being
traced.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Untraceable
from ...ir.node import Node
from ...ir.ops.contractions import Call, call
from ...values.functions import MISSING, contents, users_method
from ...values.keys import GENERATORS
from ...values.kinds import flatten, kind_of, rebuild
from ...values.trees import is_flat
from ..hidden import check_no_symbol
from ..python.bytecode import assigns_nonlocals, names_in
from ..python.userline import user_line
from .standin import StandIn, users_own
from .tracer import Tracer

if TYPE_CHECKING:
    from ..state import Trace


# What a function that is an argument may close over: it cannot change it.
_READ = (
    Tracer, np.ndarray, np.generic, np.dtype, np.ufunc, int, float, complex, str, bytes, type(None), slice, range, type,
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, StandIn,
)  # fmt: skip


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
    leaf = users_own(leaf)
    called = leaf.func if isinstance(leaf, functools.partial) else leaf
    if isinstance(called, types.FunctionType) and (reason := vars(called).get("__jitrt_refuses__")):
        raise Untraceable(reason, user_line())
    if isinstance(called, types.MethodType) or users_method(type(called), "__call__"):
        name = getattr(called, "__name__", "an object")
        raise Untraceable(f"NumPy calls {name}, which may change what it is bound to", user_line())
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


def _may_change(value: Any) -> bool:
    """Whether a function may change a value that it names; a tuple it does not."""
    if isinstance(value, (*_READ, tuple)):
        return False
    return isinstance(value, (list, dict, set, bytearray, *GENERATORS)) or kind_of(value) is not None


class FunctionTemplate:
    """A function with placeholders in place of the tracers that it reaches.

    Parameters
    ----------
    function : function
    replaced : callable
        From what the function reaches to what takes its place, which is the same object where nothing has to.
    """

    __slots__ = ("_cells", "_function", "_globals")

    def __init__(self, function: types.FunctionType, replaced: Callable[[Any], Any]):
        self._function = function
        if assigns_nonlocals(function.__code__):
            raise Untraceable(f"NumPy calls {function.__name__}, which assigns a nonlocal variable", user_line())
        cells = [contents(cell) for cell in function.__closure__ or ()]
        named = {name: function.__globals__.get(name) for name in names_in(function.__code__)}
        outside = [*named.values(), *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        changing = [v for v in cells if not (v is MISSING or isinstance(v, _READ))]
        changing += [v for v in outside if _may_change(v)]
        if changing:  # NumPy's call may change it, and the plain function would do that again
            reason = f"NumPy calls {function.__name__}, which reaches a value of type {type(changing[0]).__name__}"
            raise Untraceable(reason, user_line())
        self._cells = [None if v is MISSING else (v, replaced(v)) for v in cells]
        self._globals = {}
        for name, value in named.items():
            if type(value) is Tracer or isinstance(value, types.FunctionType):
                made = replaced(value)
                if made is not value:
                    self._globals[name] = made

    @property
    def is_needed(self) -> bool:
        """Whether anything is replaced."""
        return bool(self._globals) or any(c is not None and c[0] is not c[1] for c in self._cells)

    def filled(self, fill: Callable[[Any], Any]) -> types.FunctionType:
        """The function with values in place of the placeholders."""
        f = self._function
        namespace = f.__globals__ | {name: fill(v) for name, v in self._globals.items()}
        cells = tuple(types.CellType() if c is None else types.CellType(fill(c[1])) for c in self._cells)
        made = types.FunctionType(f.__code__, namespace, f.__name__, f.__defaults__, cells)
        made.__kwdefaults__ = f.__kwdefaults__
        return made
