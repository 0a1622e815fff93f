"""Preparation of loops and choices: results that nobody uses, values that stay, and the graphs inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.control import LOOP, Branch, Loop, branch, loop, needed_results, used_results, with_bodies
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.optable import Kind


def has_control(graph: Graph) -> bool:
    """Whether there is a loop or a choice in `graph`, bodies left aside."""
    return any(n.op.kind is Kind.CONTROL for n in graph.nodes())


def drop_unused(graph: Graph) -> Graph:
    """Let loops and choices compute only what is used, and take what no iteration changes from outside.

    loop[carried=2] x y  →  loop[carried=1] x      (where nothing depends on y)
    """
    used = used_results(graph.nodes())
    smaller: dict[Node, dict[int, Node]] = {}

    def change(old: Node, new: Node) -> Node:
        if old.op.name == "result" and old.args[0] in used:
            control = old.args[0]
            if control not in smaller:
                make = _smaller_loop if control.op is LOOP else _smaller_branch
                smaller[control] = make(control, new.args[0].args, used[control])
            return smaller[control][old["path"][0]]
        return new

    return graph.mapped(change)


def prepare_bodies(graph: Graph, prepare: Callable[[Graph], Graph]) -> Graph:
    """Apply `prepare` to the graphs inside of loops and choices."""
    return graph.mapped(lambda _, node: with_bodies(node, prepare) if node.op.kind is Kind.CONTROL else node)


def _smaller_loop(node: Node, args: Sequence[Node], used: set[int]) -> dict[int, Node]:
    """For each used result of a loop a node that has its value."""
    what: Loop = node["loop"]
    inputs, outputs = what.body.inputs, what.body.outputs
    if what.count == 0:
        return {k: args[k] for k in used}
    elements = range(what.carried, what.carried + what.sliced)
    guard = {0} if what.guarded else set()
    needed = needed_results(what, used)
    stays = {k for k in range(what.carried) if outputs[k] is inputs[k] and k not in guard}
    roles = [k for k in range(what.carried) if k in needed and k not in stays]
    stacked = sorted(k for k in needed if k >= what.carried)
    read = set(topological_order([outputs[k] for k in (*roles, *stacked)]))
    kept = [k for k, n in enumerate(inputs) if n in read and k not in roles and k not in elements]
    order = [*roles, *elements, *kept]
    body = Graph(tuple(inputs[k] for k in order), tuple(outputs[k] for k in (*roles, *stacked)))
    smaller = Loop(body, len(roles), what.sliced, len(stacked), what.count, what.guarded)
    made = dict(zip((*roles, *stacked), loop(smaller, [args[k] for k in order]) if roles or stacked else ()))
    return {k: made[k] if k in made else args[k] for k in used}


def _smaller_branch(node: Node, args: Sequence[Node], used: set[int]) -> dict[int, Node]:
    """For each used result of a choice a node that has its value."""
    what: Branch = node["branch"]
    order = sorted(used)
    outputs = [tuple(g.outputs[k] for k in order) for g in (what.then, what.otherwise)]
    read = set(topological_order([n for group in outputs for n in group]))
    kept = [k for k, n in enumerate(what.then.inputs) if n in read]
    inputs = tuple(what.then.inputs[k] for k in kept)
    smaller = Branch(*(Graph(inputs, group) for group in outputs))
    return dict(zip(order, branch(args[0], smaller, [args[1 + k] for k in kept])))


_CACHED_BYTES = 1 << 18  # of arrays that stay in the nearest caches from one iteration to the next
_FUSED_COST = 48  # additions for each element of iterations that are worth being one: more takes longer to compile
_MOST_FUSED = 8
_LEAST_TURNS = 4  # of the loop that remains


def fuse_iterations(graph: Graph) -> Graph:
    """Let an iteration of a loop do the work of several, if each element needs only itself.

    loop[100 times] f x  →  loop[25 times] (f f f f) x

    The arrays are then read and written less often; what is computed stays the same.
    """

    def change(_: Node, node: Node) -> Node:
        if node.op.name != "result" or node.args[0].op is not LOOP or _fused(node.args[0]) < 2:
            return node
        return _in_two_loops(node.args[0])[node["path"][0]]

    if not any(n.op is LOOP and _fused(n) > 1 for n in graph.nodes()):
        return graph
    return graph.mapped(change)


def _fused(node: Node) -> int:
    """How many iterations of a loop become one."""
    what: Loop = node["loop"]
    if what.guarded or what.count is None or what.sliced or what.stacked:
        return 1
    if sum(n.type.nbytes for n in what.body.inputs) <= _CACHED_BYTES:
        return 1
    nodes = what.body.nodes()
    if any(n.op.kind not in (Kind.ELEMENTWISE, Kind.SOURCE) and n.op.name != "broadcast_to" for n in nodes):
        return 1
    if any(n.op.name == "broadcast_to" and n.args[0].type.size > 1 for n in nodes):
        return 1
    cost = sum(n.op.cost for n in nodes if n.op.kind is Kind.ELEMENTWISE)
    fused = min(_MOST_FUSED, _FUSED_COST // max(cost, 1))  # whatever the count is, so that it needs no other kernels
    return fused if what.count >= _LEAST_TURNS * fused else 1


def _in_two_loops(node: Node) -> list[Node]:
    """The results of a loop as those of one over fused iterations, and of one over what that leaves."""
    what: Loop = node["loop"]
    assert what.count is not None
    fused = _fused(node)
    kept = node.args[what.carried :]
    turns, rest = divmod(what.count, fused)
    wide = Loop(_repeated(what, fused), what.carried, 0, 0, turns, False)
    results = loop(wide, node.args)
    if rest:
        results = loop(Loop(what.body, what.carried, 0, 0, rest, False), [*results, *kept])
    return results


def _repeated(what: Loop, times: int) -> Graph:
    """Several iterations as one."""
    inputs = what.body.inputs
    current = inputs[: what.carried]
    order = topological_order(what.body.outputs)
    for _ in range(times):
        made = dict(zip(inputs, (*current, *inputs[what.carried :])))
        for node in order:
            if node not in made:
                made[node] = node.with_args(tuple([made[a] for a in node.args]))
        current = tuple(made[n] for n in what.body.outputs)
    return Graph(inputs, current)
