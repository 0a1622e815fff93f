"""Steps that NumPy executes, bound to a frame: where their operands are is found out once, and not at every call."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..ir.node import Node
from ..ir.ops.contractions import CALL, RESULT
from ..ir.ops.pythonnumbers import is_python
from ..ir.types import canonical
from .frames import Retrace
from .hosts import HostStep

Fetch = Callable[[list[Any]], Any]
"""From the objects of a call to a value."""


@frozen(eq=False)
class HostCall:
    """A step that NumPy executes.

    Parameters
    ----------
    step : HostStep
    run : callable
        Executes it on the objects of a call.
    """

    step: HostStep
    run: Callable[[list[Any]], None]


def gathered(fetches: Sequence[int | Fetch]) -> Fetch:
    """What gives the tuple of several values, each of them given by its number among the objects or by a function."""
    numbers = [f for f in fetches if isinstance(f, int)]
    if len(numbers) == len(fetches) > 1:
        return operator.itemgetter(*numbers)
    if len(numbers) == len(fetches) == 1:
        only = numbers[0]
        return lambda objects: (objects[only],)
    getters = [operator.itemgetter(f) if isinstance(f, int) else f for f in fetches]
    return lambda objects: [fetch(objects) for fetch in getters]


def into_memory(step: HostStep, operands: Fetch, memory: Fetch, returned: int) -> HostCall:
    """A step whose result is written where it is needed."""
    function, kwargs = _function_of(step.node)
    if step.node.op is CALL:
        function = function.into  # type: ignore[attr-defined]

    def run(objects: list[Any]) -> None:
        objects[returned] = function(*operands(objects), **kwargs, out=memory(objects))

    return HostCall(step, run)


def on_python_numbers(step: HostStep, operands: Fetch, place: int, returned: int) -> HostCall:
    """An operator on Python numbers."""
    node = step.node
    function, _ = _function_of(node)
    kind = type(node.dtype.type(0).item())

    def run(objects: list[Any]) -> None:
        value = function(*operands(objects))
        if type(value) is not kind:
            raise Retrace(f"{node.op.name} gave {type(value).__name__}, not {node.type}")
        objects[returned] = value
        objects[place] = np.asarray(value)

    return HostCall(step, run)


def allocating(
    step: HostStep,
    operands: Fetch,
    places: Sequence[int],
    returned: Sequence[int],
    own: Callable[[Any, list[Any]], Any],
) -> HostCall:
    """A step that makes arrays.

    Parameters
    ----------
    step : HostStep
    operands : callable
    places, returned : sequence of int
        For each of its results where kernels find it, as a contiguous array, and where the value itself goes.
    own : callable
        From a value and the objects of the call to an equal value whose memory is not used again.
    """
    function, kwargs = _function_of(step.node)
    is_number = step.node.type.weak and step.node.op is not RESULT
    results = [_Result(step.node, r, place, number) for r, place, number in zip(step.results, places, returned)]

    def run(objects: list[Any]) -> None:
        value = function(*operands(objects), **kwargs)
        if is_number and isinstance(value, (np.generic, np.ndarray)):
            value = value.item()
        for result in results:
            result.take(own(value if result.part is None else result.part(value), objects), objects)

    return HostCall(step, run)


def making(call: HostCall, makers: Sequence[tuple[int, Callable[[], np.ndarray]]]) -> HostCall:
    """The same step, and behind it what is made for places of the call."""

    def run(objects: list[Any]) -> None:
        call.run(objects)
        for place, make in makers:
            objects[place] = make()

    return HostCall(call.step, run)


class _Result:
    """An array that a step makes."""

    __slots__ = ("dtype", "node", "part", "place", "raw", "returned", "shape", "step")

    def __init__(self, step: Node, node: Node, place: int, returned: int):
        self.step, self.node, self.place, self.returned = step, node, place, returned
        self.shape, self.dtype = node.shape, node.dtype
        self.part = None if node is step else _part(node.numpy_kwargs["path"])
        self.raw = node.type.weak or step.op is CALL

    def take(self, value: Any, objects: list[Any]) -> None:
        array = value if type(value) is np.ndarray else np.asarray(value)
        if array.shape != self.shape or (array.dtype is not self.dtype and canonical(array.dtype) != self.dtype):
            # Types of rows are inferred, and inferred types are right; only those of other calls can change.
            failure = Retrace if self.step.op is CALL else TypeError
            raise failure(f"{self.step.op.name} gave {array.dtype}{array.shape}, not {self.node.type}")
        objects[self.returned] = value if self.raw else array
        contiguous = array.flags.c_contiguous
        objects[self.place] = array if contiguous else np.ascontiguousarray(array).reshape(array.shape)


def _function_of(node: Node) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What executes `node`, and with which keywords."""
    kwargs = node.numpy_kwargs
    if node.op is CALL:
        return kwargs["call"], {}
    assert node.op.numpy is not None
    function = node.op.numpy
    if node.quiet:
        function = np.errstate(**dict.fromkeys(node.quiet, "ignore"))(function)  # type: ignore[arg-type]
    return function, {} if is_python(node.op) else kwargs


def _part(path: tuple) -> Callable[[Any], Any] | None:
    """What takes the part ``value[path[0]][path[1]]…``; None for the value itself."""
    if len(path) < 2:
        return operator.itemgetter(*path) if path else None
    return lambda value: functools.reduce(operator.getitem, path, value)
