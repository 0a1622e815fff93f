"""Control flow in graphs: a loop, or a choice, is one node whose bodies are graphs of their own.

A body is closed: what it reads from outside are inputs of its own, and arguments of the node. Inputs are numbered, and
told apart from those of bodies inside by the height of the nest, so that equal bodies are equal graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np

from ..base.frozen import frozen
from . import build as b
from .interpret import evaluate
from .node import Graph, Node, topological_order
from .ops.contractions import call_result
from .ops.optable import CONSTANT, INPUT, Kind, Op, row
from .ops.ufuncs import COPY
from .types import ArrayType


@frozen
class Loop:
    """What a loop does, as a parameter of its node.

    The arguments of the node are the first values of what is carried, then arrays of which each iteration gets one
    element along the first axis, then values that stay. Its results are the last values of what is carried, then arrays
    with an element for each iteration.

    Parameters
    ----------
    body : Graph
        One iteration: from carried values, elements and values that stay to new carried values and elements.
    carried, sliced, stacked : int
        Numbers of carried values, of arrays that are read by elements, and of arrays that are made of elements.
    count : int or None
        Number of iterations; None if only the carried values tell.
    guarded : bool
        Whether an iteration takes place only if the first carried value is true.
    """

    body: Graph
    carried: int
    sliced: int
    stacked: int
    count: int | None
    guarded: bool

    def __repr__(self) -> str:
        times = "while x0" if self.guarded else ""
        if self.count is not None:
            times = f"{times} at most {self.count} times" if times else f"{self.count} times"
        return f"{times} {_indented(self.body)}"


@frozen
class Branch:
    """Two graphs with the same inputs and outputs of the same types, one of which is computed."""

    then: Graph
    otherwise: Graph

    def __repr__(self) -> str:
        return f"{_indented(self.then)} otherwise {_indented(self.otherwise)}"


def _indented(graph: Graph) -> str:
    return str(graph).replace("\n", "\n    ")


def _run_loop(*args: Any, loop: Loop) -> tuple[Any, ...]:
    carried = [_of_type(v, n.type) for v, n in zip(args, loop.body.inputs[: loop.carried])]
    arrays, kept = args[loop.carried : loop.carried + loop.sliced], args[loop.carried + loop.sliced :]
    stacks: list[list[Any]] = [[] for _ in range(loop.stacked)]
    k = 0
    while (loop.count is None or k < loop.count) and (not loop.guarded or bool(carried[0])):
        values = (*carried, *(a[k] for a in arrays), *kept)
        results = evaluate(loop.body.outputs, dict(zip(loop.body.inputs, values)))
        carried = results[: loop.carried]
        for stack, value in zip(stacks, results[loop.carried :]):
            stack.append(value)
        k += 1
    elements = loop.body.outputs[loop.carried :]
    stacked = [np.array(s, n.dtype).reshape(len(s), *n.shape) for s, n in zip(stacks, elements)]
    return (*carried, *stacked)


def _run_branch(condition: Any, *args: Any, branch: Branch) -> tuple[Any, ...]:
    graph = branch.then if condition else branch.otherwise
    values = [_of_type(v, n.type) for v, n in zip(args, graph.inputs)]
    return tuple(evaluate(graph.outputs, dict(zip(graph.inputs, values))))


def _of_type(value: Any, type_: ArrayType) -> Any:
    return value.item() if type_.weak and isinstance(value, (np.ndarray, np.generic)) else value


LOOP = row(Op("loop", Kind.CONTROL, numpy=_run_loop))
BRANCH = row(Op("branch", Kind.CONTROL, numpy=_run_branch))


def loop(parameter: Loop, args: Sequence[Node]) -> list[Node]:
    """The results of a loop node."""
    node = Node(LOOP, tuple(args), b.params(loop=parameter), ArrayType(np.dtype(np.int8), ()))
    types = [n.type for n in parameter.body.inputs[: parameter.carried]]
    for element in parameter.body.outputs[parameter.carried :]:
        assert parameter.count is not None
        types.append(ArrayType(element.dtype, (parameter.count, *element.shape)))
    return [call_result(node, (k,), t) for k, t in enumerate(types)]


def branch(condition: Node, parameter: Branch, args: Sequence[Node]) -> list[Node]:
    """The results of a node that computes one of two graphs."""
    node = Node(BRANCH, (condition, *args), b.params(branch=parameter), ArrayType(np.dtype(np.int8), ()))
    return [call_result(node, (k,), n.type) for k, n in enumerate(parameter.then.outputs)]


def bodies(node: Node) -> tuple[Graph, ...]:
    """The graphs inside of a node; none for an ordinary one."""
    if node.op is LOOP:
        return (node["loop"].body,)
    if node.op is BRANCH:
        return node["branch"].then, node["branch"].otherwise
    return ()


def with_bodies(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """`node` with its graphs changed."""
    if node.op is LOOP:
        old = node["loop"]
        changed: Any = Loop(change(old.body), old.carried, old.sliced, old.stacked, old.count, old.guarded)
        return Node(LOOP, node.args, b.params(loop=changed), node.type)
    old = node["branch"]
    return Node(BRANCH, node.args, b.params(branch=Branch(change(old.then), change(old.otherwise))), node.type)


def is_of_control(node: Node) -> bool:
    """Whether a node is what a loop or a choice gives."""
    return node.op.name == "result" and node.args[0].op.kind is Kind.CONTROL


def used_results(nodes: Iterable[Node]) -> dict[Node, set[int]]:
    """For each loop and choice the numbers of those of its results that are among `nodes`."""
    used: dict[Node, set[int]] = {}
    for node in nodes:
        if is_of_control(node):
            used.setdefault(node.args[0], set()).add(node["path"][0])
    return used


def needed_results(what: Loop, used: set[int]) -> set[int]:
    """Results of a loop that are used, or that the body needs for those, or to go on."""
    needed = used | {0} if what.guarded else set(used)
    pending = list(needed)
    while pending:
        read = set(topological_order((what.body.outputs[pending.pop()],)))
        for k in range(what.carried):
            if k not in needed and what.body.inputs[k] in read:
                needed.add(k)
                pending.append(k)
    return needed


def height(nodes: Sequence[Node]) -> int:
    """How deep bodies are nested in `nodes`."""
    return max((1 + g.inputs[0].kwargs.get("height", 0) for n in nodes for g in bodies(n)), default=0)


@frozen
class Closed:
    """Graphs cut out of a larger one, and the nodes outside that they read."""

    graphs: tuple[Graph, ...]
    kept: tuple[Node, ...]


def close(
    outputs: Sequence[Sequence[Node]],
    parameters: Sequence[Node],
    is_inside: Callable[[Node], bool] | None = None,
    constant: Set[Node] = frozenset(),
) -> Closed:
    """Cut out what `outputs` compute from `parameters`.

    What does not depend on the parameters is computed once, outside, unless it is larger than all that it is made from
    or is a call that NumPy makes, which may raise where an iteration that does not take place would not.

    Parameters
    ----------
    outputs : sequence of sequence of Node
        Outputs of each graph.
    parameters : sequence of Node
        What becomes the first inputs of the graphs.
    is_inside : callable, optional
        Whether a node belongs to the body for another reason.
    constant : set of Node
        Nodes that do not change, whatever they have been computed from.
    """
    roots = [n for group in outputs for n in group]
    inside, outside = set(parameters), set()
    source_bytes: dict[Node, int] = {}
    for node in topological_order(roots, ends=constant | inside):
        if node in constant and node.op is not CONSTANT:
            outside.add(node)
            source_bytes[node] = node.type.nbytes
        elif any(a in inside for a in node.args) or (is_inside is not None and is_inside(node)):
            inside.add(node)
        elif node not in inside and _stays_outside(node, source_bytes):
            outside.add(node)
    order = topological_order(roots, ends=outside.union(parameters))
    kept = [n for n in order if n in outside]
    level = height([n for n in order if n not in outside])
    outer = (*parameters, *kept)
    inputs = [Node(INPUT, (), b.params(index=k, height=level), n.type) for k, n in enumerate(outer)]
    renamed = dict(zip(outer, inputs))
    copies = 0
    for node in order:
        if node in renamed:
            continue
        params = node.params
        if node.op is COPY:  # numbered anew, so that equal bodies are equal graphs
            copies += 1
            params = b.params(number=-copies)
        renamed[node] = Node(node.op, tuple(renamed[a] for a in node.args), params, node.type)
    return Closed(tuple(Graph(tuple(inputs), tuple(renamed[n] for n in group)) for group in outputs), tuple(kept))


_STORED = (Kind.HOST, Kind.CONTROL, Kind.REDUCTION, Kind.ASSEMBLE, Kind.COMPOUND)


def _stays_outside(node: Node, source_bytes: dict[Node, int]) -> bool:
    """Whether a node that does not depend on the parameters is computed before the loop.

    `source_bytes` says how large the stored values are that each node is computed from, and gains an entry.
    """
    if node.op is CONSTANT:
        source_bytes[node] = 0
    elif node.op is INPUT or node.op.kind in _STORED:
        source_bytes[node] = node.type.nbytes
    else:
        source_bytes[node] = sum(source_bytes[a] for a in node.args)
    return 0 < node.type.nbytes <= source_bytes[node]
