"""Operations some of whose floating-point exceptions nobody asks for: those in the blocks of `np.errstate`.

    with np.errstate(divide="ignore"): y = 1 / x    →    divide[quiet=('divide',)] 1.0 x

They say so themselves, and not the part of a program that they stand in: so they may be computed with what stands
outside of the block. What rewrites one into something else, and does not know of it, makes a program that reports too
much; where it does, the plain function decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...base.frozen import frozen
from ..node import QUIET, Node
from .optable import Kind
from .raising import exceptions


def quieted(node: Node, ignored: Collection[str]) -> Node:
    """An elementwise operation that does not report the exceptions `ignored`, of those that it may raise."""
    silent = exceptions(node).intersection(ignored) if node.op.kind is Kind.ELEMENTWISE else ()
    return Node(node.op, node.args, (*node.params, (QUIET, tuple(sorted(silent)))), node.type) if silent else node


@frozen
class Reports:
    """What a kernel does with floating-point exceptions: flags are of whole kernels.

    Parameters
    ----------
    ignored, reported : frozenset of str
        What some of its operations raise without reporting it, and what others report.
    """

    ignored: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()

    def with_(self, others: Iterable[Reports]) -> Reports | None:
        """The same with what other operations do; None if something is reported here and ignored there."""
        ignored, reported = self.ignored, self.reported
        for other in others:
            ignored, reported = ignored | other.ignored, reported | other.reported
        return None if ignored & reported else Reports(ignored, reported)


def reports_of(node: Node) -> Reports:
    """What computing a node, and not its operands, does with exceptions."""
    return Reports(node.quiet, exceptions(node))
