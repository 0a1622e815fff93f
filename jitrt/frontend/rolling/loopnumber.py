"""The number of an iteration as a symbol, for loops that use it in arithmetic alone.

In a loop that is to become one node, the variable of the loop and integers that are counted up are `LoopNumber`: an
affine function of how many iterations there have been. Sums and products with numbers and arrays are recorded. Whatever
else needs the integer itself, an index for example, makes the loop one whose iterations differ: it raises `NotRolled`,
and the function is traced again with plain integers.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ControlException
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.indexing import take
from ...ir.ops.optable import NotCovered
from ...ir.ops.ufuncs import COPY, elementwise_op
from ...ir.types import ArrayType

EXACT = 1 << 53  # integers up to here are floats exactly

Place = tuple[types.CodeType, int]


class NotRolled(ControlException):
    """A loop that was assumed to repeat does not; the function has to be traced again without the assumption."""

    def __init__(self, place: Place):
        super().__init__("a loop does not repeat")
        self.place = place


class LoopNumber:
    """``factor * iterations + offset``."""

    __slots__ = ("counter", "factor", "offset")

    def __init__(self, factor: int, offset: int, counter: Counter):
        if abs(factor) * counter.most + abs(offset) > EXACT:
            raise NotRolled(counter.place)
        self.factor, self.offset, self.counter = factor, offset, counter

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    __array_ufunc__ = None  # NumPy's scalars leave operators to this class

    def after(self, iterations: int) -> int:
        """What the number is when there have been that many iterations."""
        return self.factor * iterations + self.offset

    def node(self) -> Node:
        """The value as a Python integer."""
        return affine(self.factor, self.offset, self.counter.node)

    def as_float(self) -> Any:
        """The tracer of the Python float of the same value."""
        weak = ArrayType(np.dtype(np.float64), (), weak=True)
        cast = b.cast(self.node(), np.dtype(np.float64))
        made = self.counter.tracer(Node(cast.op, cast.args, cast.params, weak))
        ends = self.after(0), self.after(self.counter.most)
        if min(ends) > 0 or max(ends) < 0:
            made._trace.loops.nonzero.add(made._node)
        return made

    def operand(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        """What takes the place of this number in ``function`` of it and `other`."""
        if type(other) is float or (is_traced(other) and other._node.type.weak and other.dtype.kind == "f"):
            return self.as_float()
        if is_traced(other) and not other._node.type.weak and other.dtype.kind in "fc" and function in _ARITHMETIC:
            return self.counter.tracer(self.node())
        if is_traced(other) and other._node.type.weak:
            other._trace.want_integers(other._node)
        raise NotRolled(self.counter.place)

    def element_of(self, array: Node) -> Node:
        """``array[number]`` of an array with one axis, whose elements no iteration can miss."""
        (extent,) = array.shape
        values = self.after(0), self.after(self.counter.most - 1)
        number = self
        if -extent <= min(values) and max(values) < 0:
            number = LoopNumber(self.factor, self.offset + extent, self.counter)
        elif not (min(values) >= 0 and max(values) < extent):
            raise NotRolled(self.counter.place)
        try:
            return take(array, b.cast(number.node(), np.dtype(np.int64)), 0, mode="clip")
        except NotCovered:
            raise NotRolled(self.counter.place) from None

    def _with(self, function: Callable[[Any, Any], Any], other: Any, reflected: bool) -> Any:
        if type(other) is LoopNumber and other.counter is self.counter and function in (operator.add, operator.sub):
            x, y = (other, self) if reflected else (self, other)
            return LoopNumber(function(x.factor, y.factor), function(x.offset, y.offset), self.counter)
        if type(other) is int:
            made = self._with_integer(function, other, reflected)
            if made is not None:
                return made
        mine = self.operand(other, function)
        return function(other, mine) if reflected else function(mine, other)

    def _with_integer(self, function: Callable[[Any, Any], Any], other: int, reflected: bool) -> Any:
        if function is operator.add:
            return LoopNumber(self.factor, self.offset + other, self.counter)
        if function is operator.sub:
            sign = -1 if reflected else 1
            return LoopNumber(sign * self.factor, sign * (self.offset - other), self.counter)
        if function is operator.mul:
            return LoopNumber(self.factor * other, self.offset * other, self.counter)
        if function is operator.truediv and not reflected and other and abs(other) <= EXACT:
            return self.as_float() / float(other)  # Python's quotient is the correctly rounded one, too
        return None

    def __neg__(self) -> LoopNumber:
        return LoopNumber(-self.factor, -self.offset, self.counter)

    def __pos__(self) -> LoopNumber:
        return self


class Counter:
    """How many iterations of a loop there have been.

    Parameters
    ----------
    place : Place
        What names the loop.
    most : int
        Iterations that the loop may have.
    index : int
        The number in the present iteration.
    node : Node
        The node that it is, of a Python integer.
    tracer : callable
        From nodes to tracers.
    """

    __slots__ = ("index", "most", "node", "place", "tracer")

    def __init__(self, place: Place, most: int, index: int, node: Node, tracer: Callable[[Node], Any]):
        self.place, self.most, self.index, self.node, self.tracer = place, most, index, node, tracer

    @classmethod
    def first(cls, place: Place, most: int, index: int, copy: int, tracer: Callable[[Node], Any]) -> Counter:
        """A counter that is now `index`: the copy of a literal with that number, which no other literal is."""
        start = b.constant(index)
        return cls(place, most, index, Node(COPY, (start,), b.params(number=copy), start.type), tracer)

    def next(self) -> Counter:
        """The counter in the next iteration."""
        return Counter(self.place, self.most, self.index + 1, affine(1, 1, self.node), self.tracer)

    def owns(self, number: LoopNumber) -> bool:
        """Whether a number counts the same run of the same loop."""
        return number.counter.tracer is self.tracer

    def rebased(self, number: LoopNumber) -> LoopNumber:
        """The same number in terms of this iteration."""
        offset = number.offset + number.factor * (number.counter.index - self.index)
        return LoopNumber(number.factor, offset, self)


def affine(factor: int, offset: int, node: Node) -> Node:
    """``factor * node + offset`` of Python integers that are small enough for every machine."""
    for ufunc, number in ((np.multiply, factor), (np.add, offset)):
        if number != (1 if ufunc is np.multiply else 0):
            node = Node(elementwise_op(ufunc), (node, b.constant(number)), (), node.type)
    return node


def is_traced(value: Any) -> bool:
    """Whether `value` is a tracer."""
    return hasattr(type(value), "_node")


_ARITHMETIC = frozenset(
    {operator.add, operator.sub, operator.mul, operator.truediv, np.add, np.subtract, np.multiply, np.divide}
)


def _arithmetic(function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._with(function, other, reflected)


def _refused(self: LoopNumber, *args: Any) -> Any:
    raise NotRolled(self.counter.place)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(LoopNumber, f"__{_name}__", _arithmetic(getattr(operator, _name), False))
    setattr(LoopNumber, f"__r{_name}__", _arithmetic(getattr(operator, _name), True))
for _name in """index int float complex bool hash eq ne lt le gt ge floordiv rfloordiv mod rmod pow rpow divmod rdivmod
    lshift rlshift rshift rrshift and rand or ror xor rxor invert abs round trunc floor ceil str repr format matmul
    rmatmul array getattr reduce copy deepcopy""".split():
    setattr(LoopNumber, f"__{_name}__", _refused)
