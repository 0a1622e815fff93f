"""Running a graph with NumPy, node by node: the oracle of the tests, and what runs when no kernel can be built."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base.arrays import is_writeable
from .extents import is_extent
from .node import Graph, Node, topological_order
from .ops.optable import INPUT, ValueWanted
from .ops.updates import UPDATE, write_region
from .types import contiguous_strides


def evaluate(roots: Sequence[Node], values: dict[Node, Any]) -> list[Any]:
    """Values of `roots`, given the `values` of the inputs they depend on.

    `values` is also the memory of the run: it gains an entry for every node that is computed. Assignments to parts of
    one array that follow each other are computed together, in one copy of that array.
    """
    stack = [r for r in roots if r not in values]
    while stack:
        node = stack[-1]
        if node in values:
            stack.pop()
            continue
        updates = _updates(node, values)
        operands = [updates[0].args[0], *(u.args[1] for u in updates)] if updates else list(node.args)
        pending = [a for a in operands if a not in values]
        if pending:
            stack.extend(pending)
            continue
        values[node] = _value(node, updates, [values[a] for a in operands])
        stack.pop()
    return [values[r] for r in roots]


def evaluate_once(roots: Sequence[Node], inputs: Mapping[Node, Any]) -> list[Any]:
    """The same, in less memory: the value of a node goes after its last use, and NumPy takes its place for another one.

    Memory that no array has had before takes longer to fill than most operations take.
    """
    order = topological_order(roots, inputs)
    uses = Counter(roots)
    for node in order:
        uses.update(node.args)
    inner = {n.args[0] for n in order if n.op is UPDATE and n.args[0].op is UPDATE}
    inner = {n for n in inner if uses[n] == 1 and n not in inputs}  # which nothing asks for but the next assignment
    values = dict(inputs)
    for node in order:
        if node in inner:
            continue
        updates = [node] if node.op is UPDATE else []
        while updates and updates[-1].args[0] in inner:
            updates.append(updates[-1].args[0])
        updates.reverse()
        operands = [updates[0].args[0], *(u.args[1] for u in updates)] if updates else node.args
        given = [values[a] for a in operands]
        for operand in operands:
            uses[operand] -= 1
            if not uses[operand] and operand not in inputs:
                del values[operand]
        is_plain = isinstance(node.op.numpy, np.ufunc) and not node.params and not node.type.weak
        values[node] = _in_place(node, given) if is_plain else _value(node, updates, given)
    return [values[r] for r in roots]


def _in_place(node: Node, given: list[Any]) -> Any:
    """What a ufunc gives, in the memory of an operand to which nothing else refers, as NumPy does with temporaries."""
    ufunc: Any = node.op.numpy
    for k in range(len(given)):
        if sys.getrefcount(given[k]) == _OF_LIST and type(given[k]) is np.ndarray:
            value = given[k]
            if value.shape == node.type.shape and value.dtype == node.type.dtype and value.flags.carray:
                return ufunc(*given, out=value if value.base is None else None)
    return ufunc(*given)


_HELD = [object()]
_OF_LIST = sys.getrefcount(_HELD[0])  # references to what a list alone holds


def _value(node: Node, updates: list[Node], operands: list[Any]) -> Any:
    """The value of a node; of the last of several assignments to parts of one array, in one copy of that."""
    if len(updates) < 2:
        return evaluate_node(node, operands)
    made = np.array(operands[0], order="C")
    for update, part in zip(updates, operands[1:]):
        write_region(made, update["region"], part)
    return made


def _updates(node: Node, values: dict[Node, Any]) -> list[Node]:
    """Assignments to parts of one array that lead to `node`, in order, up to one that has a value."""
    found = []
    while node.op is UPDATE and node not in values:
        found.append(node)
        node = node.args[0]
    return found[::-1]


def evaluate_node(node: Node, args: Sequence[Any]) -> Any:
    """The value of one node with NumPy."""
    if node.op.name == "constant":
        return node["value"].value
    if node.op is INPUT and is_extent(node["index"]):  # a count of elements
        return np.intp(node["index"])
    if node.op is INPUT:
        raise ValueWanted(node)
    assert node.op.numpy is not None, node
    value = node.op.numpy(*args, **node.numpy_kwargs)
    if node.type.weak and node.op.name != "result":
        return value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    return value


def interpret(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Outputs of `graph` for the values of its inputs.

    Examples
    --------
    >>> from jitrt.ir.build import elementwise, input_node
    >>> from jitrt.ir.types import ArrayType
    >>> x = input_node(0, ArrayType(np.dtype(np.float64), (2,)))
    >>> interpret(Graph((x,), (elementwise(np.sqrt, x),)), [np.array([4.0, 9.0])])
    [array([2., 3.])]
    """
    with np.errstate(all="ignore"):
        return evaluate(graph.outputs, dict(zip(graph.inputs, inputs)))


def stored(value: Any, strides: tuple[int, ...] | None) -> Any:
    """A value that NumPy has computed, in the order of memory that its own array would have had."""
    value = np.asarray(value)
    wanted = contiguous_strides(value.shape, value.dtype.itemsize) if strides is None else strides
    if value.base is None and is_writeable(value) and value.strides == wanted:
        return value
    made = np.empty(value.shape, value.dtype)
    if strides is not None:
        made = np.empty_like(as_strided(np.empty(1, value.dtype), value.shape, wanted))
    made[...] = value
    return made
