"""Tracing a call: from a Python function and its arguments to a graph and a recipe for the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..expr.build import input_node
from ..expr.node import Graph, Node, type_of
from ..expr.optable import Kind
from ..expr.types import ArrayType
from .arguments import Structure, flatten, is_dynamic, rebuild
from .purity import Capture, Captures, with_tracers
from .tracer import Trace, Tracer


@dataclass(frozen=True, slots=True)
class Result:
    """How one leaf of the result is made.

    Parameters
    ----------
    source : str
        ``"array"``: output number `index` of the graph; ``"input"``: the input number `index` itself;
        ``"value"``: the Python object `value`.
    view : Node, optional
        View operations that lead from the array to the leaf, as a chain of nodes on `base`.
    scalar, weak : bool
        Whether the leaf is a NumPy scalar or a Python number, not an array.
    """

    source: str
    index: int = -1
    view: Node | None = None
    base: Node | None = None
    scalar: bool = False
    weak: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True)
class Traced:
    """What a trace found.

    Parameters
    ----------
    graph : Graph
        Inputs (arguments first, then captured arrays), and the arrays to compute, each of them a fresh one.
    arguments : tuple of int
        For each input that is an argument, the number of its leaf.
    captured : tuple of Capture
        For the inputs after those, where to read them.
    results : tuple of Result
        How each leaf of the result is made.
    structure : Structure
        Nesting of the result.
    host_calls : tuple of (name, line)
        Calls left to NumPy, with the user's lines.
    """

    graph: Graph
    arguments: tuple[int, ...]
    captured: tuple[Capture, ...]
    results: tuple[Result, ...]
    structure: Structure
    host_calls: tuple[tuple[str, str], ...]


def trace(function: Callable[..., Any], leaves: list[Any], structure: Structure, captures: Captures) -> Traced:
    """Run `function` on tracers.

    Parameters
    ----------
    function : callable
        The user's function.
    leaves, structure
        ``(args, kwargs)`` of the call, as `flatten` takes them apart.
    captures : Captures
        What the function reads beside its arguments.

    Returns
    -------
    Traced

    Raises
    ------
    Untraceable
        If the function has to run as plain NumPy.
    Exception
        Whatever the function itself raises.
    """
    values: dict[Node, Any] = {}
    arguments = [k for k, leaf in enumerate(leaves) if is_dynamic(leaf)]
    inputs = []
    for number, value in enumerate([leaves[k] for k in arguments] + [c.value for c in captures.arrays]):
        inputs.append(input_node(number, _input_type(value)))
        values[inputs[-1]] = _read_only(value)
    state = Trace(dict(values))
    tracers: dict[int, Tracer] = {}
    symbolic = list(leaves)
    for node, k in zip(inputs, arguments):
        tracers[k] = symbolic[k] = Tracer(node, state, scalar=isinstance(leaves[k], np.generic))
    by_array = {}
    for node, capture in zip(inputs[len(arguments) :], captures.arrays):
        by_array[id(capture.value)] = Tracer(node, state)
    args, kwargs = rebuild(structure, iter(symbolic))
    traced = with_tracers(function, by_array) if by_array else function
    result = traced(*args, **kwargs)
    _check_containers_unchanged(args, kwargs, symbolic, structure)
    symbols = [*(tracers[k] for k in arguments), *by_array.values()]
    return _describe(result, inputs, symbols, tuple(arguments), captures, state)


def _read_only(value: Any) -> Any:
    """What a call that NumPy makes during the trace gets: it must not change the caller's array a first time."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _input_type(value: Any) -> ArrayType:
    type_ = type_of(value)
    if type_.dtype.kind not in "biufcmM":
        raise Untraceable(f"a captured array of {type_.dtype}")
    return type_


def _check_containers_unchanged(args: tuple, kwargs: dict, symbolic: list[Any], structure: Structure) -> None:
    after: list[Any] = []
    if flatten((args, kwargs), after) != structure or any(x is not y for x, y in zip(after, symbolic)):
        raise Untraceable("changes a list or dict that it was given")


def _describe(
    result: Any,
    inputs: list[Node],
    symbols: list[Tracer],
    arguments: tuple[int, ...],
    captures: Captures,
    state: Trace,
) -> Traced:
    flat: list[Any] = []
    structure = flatten(result, flat)
    input_storage = {tracer._storage: number for number, tracer in enumerate(symbols)}
    roots: list[Node] = []
    storages: dict[int, int] = {}
    results: list[Result] = []
    for leaf in flat:
        if not isinstance(leaf, Tracer):
            results.append(_plain_result(leaf))
            continue
        node = leaf._node
        if leaf._storage in input_storage:
            number = input_storage[leaf._storage]
            base = inputs[number]
            results.append(Result("input", number, None if node is base else node, base))
            continue
        base = node
        if not leaf._scalar and not node.type.weak:
            base = _storage_base(node)
        if leaf._storage not in storages:
            storages[leaf._storage] = len(roots)
            roots.append(base)
        number = storages[leaf._storage]
        if roots[number] is not base:  # two views of one storage that are reached by different chains
            raise Untraceable("returns views that share memory in a way that is not followed")
        view = None if node is base else node
        results.append(Result("array", number, view, base, leaf._scalar, node.type.weak))
    return Traced(
        Graph(tuple(inputs), tuple(roots)),
        arguments,
        tuple(captures.arrays),
        tuple(results),
        structure,
        tuple(state.host_calls),
    )


def _storage_base(node: Node) -> Node:
    """The array whose memory `node` views."""
    while node.op.kind is Kind.VIEW and node.args[0].op.kind is not Kind.SOURCE:
        node = node.args[0]
    return node


def _plain_result(leaf: Any) -> Result:
    if isinstance(leaf, np.ndarray):
        raise Untraceable("returns an array that does not depend on its arguments")
    if isinstance(leaf, (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, range)):
        return Result("value", value=leaf)
    raise Untraceable(f"returns a value of type {type(leaf).__name__}")
