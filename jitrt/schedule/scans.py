"""Parts of a loop that scans: what waits for the element before, and what vectors can do in front of it and behind."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.node import Node
from ..ir.ops.optable import Kind

_HIDDEN_COST = 8  # additions an element: about what a processor does while a scan waits for its last result


def scan_parts(nodes: Sequence[Node]) -> list[list[Node]]:
    """`nodes` in parts that run one after the other over a strip of the loop.

    A scan makes a loop as slow as a chain of dependent additions. Little other work is hidden behind that and shares
    its loop; more is done in loops of its own, where vectors can do it.

    Parameters
    ----------
    nodes : sequence of Node
        What the loop computes, operands before users.
    """
    if sum(n.op.cost for n in nodes if n.op.kind is not Kind.SCAN) <= _HIDDEN_COST:
        return [list(nodes)]
    part: dict[Node, int] = {}  # odd parts scan
    for node in nodes:
        behind = max((part[a] for a in node.args if a in part), default=0)
        is_scan = node.op.kind is Kind.SCAN
        part[node] = behind + (is_scan != behind % 2)
    first_use: dict[Node, int] = {}  # in which part
    for node in reversed(nodes):  # what only later parts need is computed there, and need not be kept
        if node in first_use and node.op.kind is not Kind.SCAN:
            part[node] = max(part[node], first_use[node] & ~1)
        for arg in node.args:
            first_use[arg] = min(part[node], first_use.get(arg, part[node]))
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        parts.setdefault(part[node], []).append(node)
    return [parts[k] for k in sorted(parts)]
