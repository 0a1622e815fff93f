"""Rewriting of graphs by rules that are data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from .. import config
from ..base.frozen import frozen
from .node import Graph, Node
from .ops.optable import Kind, Op
from .ops.rows import OPS


@frozen(eq=False)
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
    key : str
        By which it is switched off.
    is_needed : bool
        Whether later stages rely on it, so that it is never switched off.
    """

    name: str
    ops: Callable[[Op], bool]
    apply: Callable[[Node], Node | None]
    exact: str
    key: str = ""
    is_needed: bool = False


def rule(
    ops: str | Callable[[Op], bool], name: str, exact: str, is_needed: bool = False
) -> Callable[[Callable[[Node], Node | None]], Rule]:
    """Make a `Rule` of a function; `ops` are names separated by blanks, or what tells whether an operation is one."""
    if isinstance(ops, str):
        names = frozenset(ops.split())
        assert names <= OPS.keys(), names - OPS.keys()
        return lambda apply: Rule(name, lambda op: op.name in names, apply, exact, apply.__name__, is_needed)
    return lambda apply: Rule(name, ops, apply, exact, apply.__name__, is_needed)


USERS_RULES: list[Rule] = []
"""Rules for operations of users' own, which no program has that another process knows."""


def of_kind(*kinds: Kind) -> Callable[[Op], bool]:
    """For `rule`: operations of these kinds."""
    return lambda op: op.kind in kinds


def rewrite(
    graph: Graph, rules: tuple[Rule, ...], exhausted: Collection[Rule] = (), fired: Counter[str] | None = None
) -> Graph:
    """Apply `rules` everywhere until none of them changes anything.

    A node is visited after its arguments; the first rule that changes it wins, and the replacement is visited in turn.
    Takes time linear in the number of nodes visited, and no recursion.

    Parameters
    ----------
    graph : Graph
    rules : tuple of Rule
    exhausted : collection of Rule, optional
        Those of them that change no node of `graph`, as after an earlier pass.
    fired : Counter, optional
        Gets, by the keys of the rules, how often each of them has changed something.
    """
    off = config.rules_off()
    if off:
        rules = tuple([r for r in rules if r.is_needed or r.key not in off])
    nodes = graph.nodes()
    fresh = [r for r in rules if r not in exhausted]
    of_old = {op: [r for r in fresh if r.ops(op)] for op in {node.op for node in nodes}}
    if not any(of_old.values()):
        return graph
    of_new: dict[Op, list[Rule]] = {}
    old = frozenset(nodes)
    done: dict[Node, Node] = {node: node for node in graph.inputs}
    replaced: dict[Node, Node | None] = {}  # a rule is asked once: two large constants that it makes are not equal

    def step(node: Node) -> Node | None:
        candidates = of_old[node.op] if node in old else of_new.get(node.op)
        if candidates is None:
            candidates = of_new[node.op] = [r for r in rules if r.ops(node.op)]
        for rule in candidates:
            replacement = rule.apply(node)
            if replacement is not None and replacement is not node:
                if fired is not None:
                    fired[rule.key] += 1
                return replacement
        return None

    for start in nodes:
        if not of_old[start.op] and all(done[a] is a for a in start.args):
            done[start] = start
            continue
        stack = [] if start in done else [start]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            pending = [a for a in node.args if a not in done]
            if pending:
                stack.extend(reversed(pending))
                continue
            rebuilt = node.with_args(tuple([done[a] for a in node.args]))
            if rebuilt not in replaced:
                replaced[rebuilt] = step(rebuilt)
            replacement = replaced[rebuilt]
            if replacement is None:
                done[node] = done[rebuilt] = rebuilt
            elif replacement in done:
                done[node] = done[rebuilt] = done[replacement]
            else:
                stack.append(replacement)
    outputs = tuple([done[n] for n in graph.outputs])
    return graph if outputs == graph.outputs else graph.with_outputs(outputs)
