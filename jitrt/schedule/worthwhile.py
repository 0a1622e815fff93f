"""Whether a program gains anything over the plain function.

A program with steps that NumPy executes is driven from Python, which costs some microseconds a call. On small arrays
that is more than fusing the rest can save. What a program computes for an argument that the function writes into is
copied there at the end, when nothing can fail any more; NumPy's ``x += y`` writes at once. In both cases the plain
function runs if it is expected to be as fast. The estimate is a fixed function of the graph: a decision by the clock
would make results differ, in the last bit, from run to run.
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
_PROGRAM_CALL = 10_000  # a call of a program that is driven from Python
_HOST_STEP = 2_500  # what a step that NumPy executes costs beyond the execution itself
_PYTHON_STEP = 500  # the same, of an operator on Python numbers
_ADDITION = 0.06  # of one element in a vectorised loop
_LAUNCH = 50  # of a kernel
_NATIVE_CALL = 350  # a call of a program of kernels


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


def is_worth_copying(traced: Graph, written: Sequence[int]) -> bool:
    """Whether a program whose outputs `written` are copied into arguments is expected to be faster.

    Parameters
    ----------
    traced : Graph
        What the plain function computes.
    written : sequence of int
        Numbers of outputs of the graph.
    """
    nodes = traced.nodes()
    if not written or any(n.op.kind in (Kind.HOST, Kind.CONTROL) for n in nodes):
        return True  # `is_worthwhile` weighs the former, and a loop goes over its arrays again and again
    # Of an array that is assigned to in parts, only what is left of it is read.
    read = {a for n in nodes for a in (n.args[1:] if n.op.kind is Kind.UPDATE else n.args)}
    traffic = sum(n.type.nbytes for n in (*read.intersection(traced.inputs), *traced.outputs))
    traffic += sum(2 * traced.outputs[k].type.nbytes for k in written)
    return _NATIVE_CALL + _NUMPY_BYTE * traffic < numpy_time([traced])


def numpy_time(graphs: Sequence[Graph]) -> float:
    """Nanoseconds that NumPy is expected to need for what kernels can compute of these graphs."""
    return sum(_numpy_time(n) for g in graphs for n in g.nodes())


def _numpy_time(node: Node) -> float:
    """What NumPy needs for a node that a kernel can replace."""
    if node.op.kind is Kind.UPDATE:
        return _NUMPY_CALL + _NUMPY_BYTE * 2 * node.args[1].type.nbytes
    if node.op.kind not in (Kind.ELEMENTWISE, Kind.COMPOUND, Kind.ASSEMBLE, Kind.REDUCTION, Kind.SCAN, Kind.GATHER):
        return 0.0
    traffic = node.type.nbytes + sum(a.type.nbytes for a in node.args)
    return _NUMPY_CALL + _NUMPY_BYTE * traffic + _ADDITION * node.type.size * (node.op.cost - 1)
