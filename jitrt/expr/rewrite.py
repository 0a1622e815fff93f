"""Rewriting of graphs by rules that are data."""

from __future__ import annotations

from collections.abc import Callable

from ..frozen import frozen
from .node import Graph, Node
from .optable import OPS, Kind, Op


@frozen
class Rule:
    """One rewrite.

    Parameters
    ----------
    name : str
        What it does, as *before → after*.
    ops : callable
        Whether it is tried at nodes of an operation.
    apply : callable
        From a node to the node that replaces it, or None where the rule does not apply.
    exact : str
        Why the result is the same, bit for bit; empty for a rule that may change rounding.
    """

    name: str
    ops: Callable[[Op], bool]
    apply: Callable[[Node], Node | None]
    exact: str


def rule(ops: str | Callable[[Op], bool], name: str, exact: str) -> Callable[[Callable[[Node], Node | None]], Rule]:
    """Make a `Rule` of a function; `ops` are names separated by blanks, or what tells whether an operation is one."""
    if isinstance(ops, str):
        names = frozenset(ops.split())
        assert names <= OPS.keys(), names - OPS.keys()
        return lambda apply: Rule(name, lambda op: op.name in names, apply, exact)
    return lambda apply: Rule(name, ops, apply, exact)


def of_kind(*kinds: Kind) -> Callable[[Op], bool]:
    """For `rule`: operations of these kinds."""
    return lambda op: op.kind in kinds


def rewrite(graph: Graph, rules: tuple[Rule, ...]) -> Graph:
    """Apply `rules` everywhere until none of them changes anything.

    A node is visited after its arguments; the first rule that changes it wins, and the replacement is visited in turn.
    Takes time linear in the number of nodes visited, and no recursion.
    """
    by_op: dict[Op, tuple[Rule, ...]] = {}
    done: dict[Node, Node] = {node: node for node in graph.inputs}
    replaced: dict[Node, Node | None] = {}  # a rule is asked once: two large constants that it makes are not equal

    def step(node: Node, candidates: tuple[Rule, ...]) -> Node | None:
        for r in candidates:
            replacement = r.apply(node)
            if replacement is not None and replacement is not node:
                return replacement
        return None

    for output in graph.outputs:
        stack = [output]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            pending = [a for a in node.args if a not in done]
            if pending:
                stack.extend(reversed(pending))
                continue
            args = tuple([done[a] for a in node.args])
            rebuilt = node if args == node.args else Node(node.op, args, node.params, node.type)
            candidates = by_op.get(node.op)
            if candidates is None:
                candidates = by_op[node.op] = tuple(r for r in rules if r.ops(node.op))
            if candidates and rebuilt not in replaced:
                replaced[rebuilt] = step(rebuilt, candidates)
            replacement = replaced.get(rebuilt)
            if replacement is None:
                done[node] = done[rebuilt] = rebuilt
            elif replacement in done:
                done[node] = done[rebuilt] = done[replacement]
            else:
                stack.append(replacement)
    return graph.with_outputs(done[n] for n in graph.outputs)
