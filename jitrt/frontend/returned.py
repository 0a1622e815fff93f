"""What a traced function returns: outputs of its graph, views of these or of its inputs, and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.arrays import is_writeable
from ..base.frozen import frozen, replaced
from ..errors import Untraceable
from ..ir import build as b
from ..ir.extents import Size, extents_in, is_extent
from ..ir.integers import Poly
from ..ir.node import Node
from ..ir.ops.optable import Kind
from ..ir.ops.updates import is_read_only, region_between, through
from ..values.frozen import is_frozen, original
from .hidden import check_no_symbol
from .numpy.tracer import Tracer
from .python.stores import Given
from .state import Trace
from .storage import Cell

_WRITTEN_BY_KERNELS = frozenset(
    {Kind.ELEMENTWISE, Kind.REDUCTION, Kind.ASSEMBLE, Kind.SCAN, Kind.GATHER, Kind.COMPOUND}
)


@frozen
class Result:
    """How one leaf of the result is made.

    Parameters
    ----------
    source : str
        ``"array"``: output number `index` of the graph; ``"input"``: the input number `index` itself;
        ``"value"``: the Python object `value`; ``"given"``: what is at the path `value` of the arguments.
    view : Node, optional
        View operations that lead from the array to the leaf, as a chain of nodes on `base`.
    scalar, weak : bool
        Whether the leaf is a NumPy scalar or a Python number, not an array.
    twin : int
        How many other objects are such views of the same array: NumPy makes a new one for every view.
    kind : type, optional
        The class of a view of an array that is mapped from a file.
    """

    source: str
    index: int = -1
    view: Node | None = None
    base: Node | None = None
    scalar: bool = False
    weak: bool = False
    value: Any = None
    twin: int = 0
    kind: type | None = None


class Outputs:
    """The outputs of the graph of a trace, and how results are made of them.

    Parameters
    ----------
    inputs : list of Node
        Of the graph.
    state : Trace
    """

    def __init__(self, inputs: list[Node], state: Trace):
        self.roots: list[Node] = []
        self.strides: list[tuple[int, ...] | None] = []
        self._inputs, self._state = inputs, state
        self._of_input: dict[Cell, int] = {}
        self._places: dict[Any, int] = {}  # of outputs, by what is the same for results that share memory
        self._claimed: dict[Node, Any] = {}  # what a segment has computed is returned as it is, once
        self._owners: dict[Any, int] = {}  # how many results share memory
        self._alike: dict[Any, list[Tracer]] = {}  # the objects that are the same view of the same array

    def add(self, node: Node, strides: tuple[int, ...] | None = None) -> int:
        """Add an output; return its number."""
        self.roots.append(node)
        self.strides.append(strides)
        return len(self.roots) - 1

    def written(self, symbols: Sequence[Tracer]) -> list[tuple[int, int]]:
        """The numbers of inputs that have other contents now, and of the outputs that will be copied to them."""
        found = []
        for number, symbol in enumerate(symbols):
            if symbol._cell is not None and symbol._cell not in self._of_input:
                self._of_input[symbol._cell] = number
                if symbol._cell.content is not self._inputs[number]:
                    found.append((number, self.add(symbol._cell.content)))
        return found

    def results(self, leaves: Sequence[Any]) -> list[Result]:
        """How each leaf of what the function returns and stores is made; adds the outputs that this takes."""
        for key in map(_memory_of, leaves):
            self._owners[key] = self._owners.get(key, 0) + 1
        return [self._result(leaf) for leaf in leaves]

    def sizes(self, results: Sequence[Result]) -> tuple[tuple[Poly, int], ...]:
        """The extents that views name which are results, and numbers of the outputs that they are; adds these."""
        found: dict[Poly, int] = {}
        for result in results:
            region = region_between(result.view, result.base) if result.view and result.base else ()
            for extent in (e for _, params, _ in region for e in extents_in(params)):
                if extent.poly not in found:
                    found[extent.poly] = self.add(self._state.copy(b.extent(extent)))
        return tuple(found.items())

    def _result(self, leaf: Any) -> Result:
        if isinstance(leaf, Tracer):
            result = self._of_symbol(leaf)
            return self._told_apart(leaf, result) if leaf._is_array() else result
        if type(leaf) is Size:  # another number in other calls
            return self._of_symbol(Tracer(self._state.copy(b.extent(leaf)), self._state))
        if type(leaf) is np.ndarray and not is_writeable(leaf) and is_frozen(leaf):
            return Result("value", value=original(leaf))
        ordinary = type(leaf) is np.ndarray and leaf.dtype.kind in "biufcmM" and leaf.dtype.isnative
        is_kept = ordinary and leaf.flags.c_contiguous and is_writeable(leaf)
        return self._of_array(leaf) if is_kept else _plain_result(leaf)

    def _told_apart(self, leaf: Tracer, result: Result) -> Result:
        """The same for a leaf that may be one of several views with the same elements."""
        alike = self._alike.setdefault((result.source, result.index, result.view), [])
        twin = next((k for k, other in enumerate(alike) if other is leaf), len(alike))
        if twin == len(alike):
            alike.append(leaf)
        return replaced(result, twin=twin) if twin else result

    def _of_array(self, array: np.ndarray) -> Result:
        """An array that is the same in every call that comes this way."""
        constant = b.constant(array.copy())
        strides = self._state.orders.of_result(constant, array.strides)
        if strides not in (None, array.strides):
            raise Untraceable("returns a view of an array that does not depend on its arguments")
        return Result("array", self.add(constant, strides))

    def _of_symbol(self, leaf: Tracer) -> Result:
        node, cell, state = leaf._node, leaf._cell, self._state
        if not leaf._is_array() and node in self._inputs:
            return Result("input", self._inputs.index(node))
        if cell is not None and cell in self._of_input:
            number = self._of_input[cell]
            return self._of_input_memory(number, self._inputs[number], leaf)
        base = node if cell is None else cell.content
        key = _memory_of(leaf)
        is_computed = state.registers.is_computed(base)
        if is_computed and base.shape and self._claimed.setdefault(base, key) == key:
            return self._of_input_memory(state.registers[base], base, leaf)
        if node is not base and _is_all_of(leaf, base) and self._owners[key] == 1:
            strides, orders = leaf._strides(), state.orders
            made = orders.of_result(node, strides)
            # Axes of one element, which views may add, have other strides in memory that is made.
            if made == orders.normal(node, strides) and not (made and _has_unit(node.shape)):
                return Result("array", self.add(node, made))
        if key not in self._places:
            strides = None if cell is None else cell.strides
            self._places[key] = self.add(base, state.orders.of_result(base, strides))
        view = None if node is base else node
        return Result("array", self._places[key], view, base, leaf._scalar, node.type.weak)

    def _of_input_memory(self, number: int, base: Node, leaf: Tracer) -> Result:
        """A view of an input, or of what a segment has computed."""
        seen = base if leaf._cell is None else through(base, leaf._region())
        view = None if seen is base else seen
        form = None if leaf._cell is None else leaf._cell.form
        if form is None or form.kind is np.ndarray or not (view or leaf._is_base):
            return Result("input", number, view, base)
        return Result("input", number, view, base, kind=np.ndarray if leaf._is_base else form.kind)


def _memory_of(leaf: Any) -> Any:
    """What is the same for results that share memory."""
    if not isinstance(leaf, Tracer):
        return None
    return leaf._cell or (id(leaf) if leaf._is_array() else leaf._node)


def _has_unit(shape: tuple[Any, ...]) -> bool:
    return any(not is_extent(n) and n == 1 for n in shape)


def _is_all_of(leaf: Tracer, base: Node) -> bool:
    """Whether a view has the elements of an array that a kernel writes, each once and in ascending order of memory.

    Then the kernel can write the view's elements, and nobody has to make a view of the array. What is read-only stays a
    view, and so does what has no elements: NumPy's views of nothing have other strides than its new arrays.
    """
    node = leaf._node
    if (
        node.type.size == 0
        or base.op.kind not in _WRITTEN_BY_KERNELS
        or (node.type.size, node.dtype) != (base.type.size, base.dtype)
    ):
        return False
    return min(leaf._strides() or (0,)) >= 0 and not is_read_only(leaf._region())


def _plain_result(leaf: Any) -> Result:
    if isinstance(leaf, Given):
        return Result("given", value=leaf.path)
    if isinstance(leaf, np.ndarray):
        raise Untraceable("returns an array that does not depend on its arguments")
    if isinstance(leaf, (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, range)):
        check_no_symbol(leaf, "what it returns")
        return Result("value", value=leaf)
    raise Untraceable(f"returns a value of type {type(leaf).__name__}")
