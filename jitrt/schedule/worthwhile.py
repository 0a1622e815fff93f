"""Whether a program that leaves much to NumPy gains anything.

A program with steps that NumPy executes is driven from Python, which costs some microseconds a call. On small arrays
that is more than fusing the rest can save, so the plain function runs. The estimate is a fixed function of the graph:
a decision by the clock would make results differ, in the last bit, from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.node import Graph, Node
from ..expr.optable import Kind
from ..expr.pythonnumbers import is_python
from .nest import KernelCall

# Nanoseconds, measured on arrays of 1 to 1e6 elements; only their proportions matter.
_NUMPY_CALL = 500  # one call of a ufunc
_NUMPY_BYTE = 0.05  # traffic of one byte of an operand or a result
_PROGRAM_CALL = 5_000  # a call of a program that is driven from Python
_HOST_STEP = 2_000  # what a step that NumPy executes costs beyond the execution itself
_PYTHON_STEP = 500  # the same, of an operator on Python numbers
_ADDITION = 0.06  # of one element in a vectorised loop
_LAUNCH = 50  # of a kernel


def is_worthwhile(traced: Graph, steps: Sequence[KernelCall | Node]) -> bool:
    """Whether a program of these steps is expected to be faster than the plain function.

    Parameters
    ----------
    traced : Graph
        What the plain function computes.
    steps : sequence
        Kernels, and nodes that NumPy executes.
    """
    hosts = [s for s in steps if isinstance(s, Node)]
    if not hosts:
        return True
    kernels = [s for s in steps if isinstance(s, KernelCall)]
    ours: float = _PROGRAM_CALL + sum(_PYTHON_STEP if is_python(h.op) else _HOST_STEP for h in hosts)
    ours += sum(_LAUNCH + _ADDITION * k.elements * k.cost for k in kernels)
    return ours < numpy_time([traced])


def numpy_time(graphs: Sequence[Graph]) -> float:
    """Nanoseconds that NumPy is expected to need for what kernels can compute of these graphs."""
    return sum(_numpy_time(n) for g in graphs for n in g.nodes())


def _numpy_time(node: Node) -> float:
    """What NumPy needs for a node that a kernel can replace."""
    if node.op.kind not in (Kind.ELEMENTWISE, Kind.COMPOUND, Kind.ASSEMBLE, Kind.REDUCTION, Kind.SCAN, Kind.GATHER):
        return 0.0
    traffic = node.type.nbytes + sum(a.type.nbytes for a in node.args)
    return _NUMPY_CALL + _NUMPY_BYTE * traffic + _ADDITION * node.type.size * (node.op.cost - 1)
