"""What a trace has recorded and nothing reads in the end: it is computed all the same where NumPy may raise or warn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..ir.control import used_results
from ..ir.node import Node, topological_order
from ..ir.ops.raising import can_raise, force, is_of_raising_control


class Recorded:
    """The operations that the function has asked for, in order.

    Nodes that only the trace makes for itself are not among them: NumPy does not compute them.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self.note = self._nodes.append
        """Add a node."""

    def __len__(self) -> int:
        return len(self._nodes)

    def since(self, number: int) -> list[Node]:
        """Those behind the first ones."""
        return self._nodes[number:]

    def replace(self, number: int, nodes: Iterable[Node]) -> None:
        """Put others in the place of those behind the first ones."""
        self._nodes[number:] = nodes

    def forced(self, read: Sequence[Node], known: Collection[Node]) -> list[Node]:
        """What lets those be computed that may raise, as `forced_of` says."""
        return forced_of(self._nodes[::-1], read, known)


def forced_of(nodes: Iterable[Node], read: Sequence[Node], known: Collection[Node]) -> list[Node]:
    """Outputs for those nodes that may raise, and that `read`, for which `known` is there, does not need."""
    done = {*known, *topological_order(read, known)}
    used: dict[Node, set[int]] | None = None
    found: list[Node] = []
    for node in nodes:
        if node in done:
            continue
        order = topological_order((node,), done)
        if used is None:
            used = used_results(done)
        if any(can_raise(n) or is_of_raising_control(n, used) for n in order):
            found.append(force(node))
            used = None
        done.update(order)
    return found
