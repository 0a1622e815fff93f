"""Choices between arrays by one number, of which only the one that is taken is computed.

    t0 = exp x;  t1 = sin y;  where c t0 t1   →   branch c (exp x) otherwise (sin y),   c a number

NumPy computes both. Here that stays so for what is used outside of the choice, too, and for what may raise an exception
or a warning, which NumPy does whichever is chosen. The rest is what the operands of the choice dominate.
"""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np

from ..ir import build as b
from ..ir.control import Branch, branch, close
from ..ir.extents import estimate, is_extent
from ..ir.node import Graph, Node
from ..ir.ops.optable import CONSTANT, INPUT, Kind
from ..ir.ops.raising import can_raise
from ..ir.ops.ufuncs import WHERE

# Additions for each element that is stored where kernels end, and would else share loops with what is around.
_LEAST_COST = 16
_LEAST_WORK = 1 << 12  # additions: below, both are computed before one is chosen
_MOVED = frozenset({Kind.ELEMENTWISE, Kind.REDUCTION, Kind.SCAN, Kind.VIEW, Kind.ASSEMBLE})

Users = dict[Node, list[Node]]


def with_branches(graph: Graph) -> tuple[Graph, int]:
    """`graph` with branches in place of choices by numbers where that pays, and how many they are."""
    count = 0
    tried: set[Node] = set()
    users: Users = {}
    while True:
        # The last ones first: those in front may be part of their bodies, which are prepared as graphs are.
        choices = [n for n in reversed(graph.nodes()) if n.op is WHERE and n not in tried and _is_of_a_number(n)]
        users = _users(graph) if choices else {}
        for choice in choices:
            tried.add(choice)
            made = _branch(choice, users, frozenset(graph.outputs))
            if made is not None:
                graph, count = _with(graph, choice, made), count + 1
                break
        else:
            return graph, count


def _is_of_a_number(choice: Node) -> bool:
    """Whether one number decides for all elements."""
    condition = choice.args[0]
    return condition.op is not CONSTANT and all(not is_extent(n) and n == 1 for n in condition.shape)


def _users(graph: Graph) -> Users:
    found: Users = {}
    for node in graph.nodes():
        for arg in dict.fromkeys(node.args):
            found.setdefault(arg, []).append(node)
    return found


def _branch(choice: Node, users: Users, outputs: Container[Node]) -> Node | None:
    """The choice as a branch; None if too little depends on which one is taken."""
    condition, *operands = choice.args
    parts = [_dominated(operand, choice, users, outputs) for operand in operands]
    inside = frozenset(n for part in parts for n in part)
    if not inside:
        return None
    read = {a for n in inside for a in n.args} - inside
    stored = _size(choice) + sum(_size(n) for n in read if n.op is not INPUT and n.op is not CONSTANT)
    work = sum(_work(n) for n in inside)
    if work < _LEAST_WORK or work < _LEAST_COST * stored:
        return None
    results = [b.broadcast_to(b.cast(operand, choice.dtype), choice.shape) for operand in operands]
    outside = {n for n in read | set(operands) if n not in inside}
    made = [r if r in inside and r.op.kind in (Kind.ELEMENTWISE, Kind.REDUCTION) else b.copy(r) for r in results]
    bodies = close([[r] for r in made], (), lambda n: n not in outside, outside)
    flag = b.cast(b.view("reshape", condition, shape=()), np.dtype(np.bool_))
    return branch(flag, Branch(*bodies.graphs), bodies.kept)[0]


def _dominated(operand: Node, choice: Node, users: Users, outputs: Container[Node]) -> list[Node]:
    """What is used for an operand of a choice, and nothing else, and can be left out without a trace."""
    found: list[Node] = []
    missing: dict[Node, int] = {}
    stack = [operand] if users[operand] == [choice] and choice.args.count(operand) == 1 else []
    while stack:
        node = stack.pop()
        if node.op.kind not in _MOVED or node in outputs or can_raise(node):
            continue
        found.append(node)
        for arg in dict.fromkeys(node.args):
            missing[arg] = missing.get(arg, len(users[arg])) - 1
            if missing[arg] == 0:
                stack.append(arg)
    return found


def _size(node: Node) -> int:
    return math.prod(map(estimate, node.shape))


def _work(node: Node) -> int:
    """Additions that a node amounts to."""
    if node.op.kind is Kind.ELEMENTWISE:
        return node.op.cost * _size(node)
    return max(map(_size, node.args)) if node.op.kind in (Kind.REDUCTION, Kind.SCAN) else 0


def _with(graph: Graph, old: Node, new: Node) -> Graph:
    """`graph` with one node in place of another."""
    return graph.mapped(lambda node, same: new if node is old else same)
