"""Whether a program gains anything over the plain function.

A program with steps that NumPy executes is driven from Python, which costs some microseconds a call, and so is every
call for which native code cannot take the arguments apart or put the results together. On small arrays that is more
than fusing the rest can save. What a program computes for an argument that the function writes into is
copied there at the end, when nothing can fail any more; NumPy's ``x += y`` writes at once. In both cases the plain
function runs if it is expected to be as fast. The estimate is a fixed function of the graph: a decision by the clock
would make results differ, in the last bit, from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from ..base.frozen import frozen
from .control import Loop, bodies
from .extents import estimate
from .node import Graph, Node
from .ops.contractions import CALL, DOT, MATMUL
from .ops.optable import Kind
from .ops.pythonnumbers import is_python
from .types import ArrayType

# How reasons for plain NumPy begin where its own functions take the time, and those for loops in Python.
BY_NUMPY, BY_CALLS = "NumPy does most of it", "most of it are calls of "

# Picoseconds, measured on arrays of 1 to 1e6 elements; only their proportions matter. They are whole numbers, as the
# formulas of extents are.
_NUMPY_CALL = 400_000  # one call of a ufunc
_NUMPY_BYTE = 50  # traffic of one byte of an operand or a result
_FIELD = 8  # bytes moved for each byte that is copied into a field: records are read and written whole
_CACHED_BYTE = 6  # the same where all of a call fits into the caches of a core
_CACHE = 1 << 20  # bytes
_NUMPY_ROW = 10_000  # of a reduction: each run of elements that NumPy's inner loop takes at once
_PROGRAM_CALL = 3_000_000  # a call of a program that is driven from Python
_HOST_STEP = 1_000_000  # what a step that NumPy executes costs beyond the execution itself
_DRAW = 80_000_000  # the same of random numbers: the generator's state is kept, to be given back
_PYTHON_STEP = 500_000  # the same, of an operator on Python numbers
_ADDITION = 60  # of one element in a vectorised loop
_HALF_PRODUCT = 4_000  # of one multiplication in a product of matrices of half precision, which BLAS does not know
_COMPLEX = 10  # how much longer NumPy takes for functions of complex numbers, which it calls one by one
_WIDE = 8  # bytes of an element for which `numpy_cost` was measured
_LAUNCH = 50_000  # of a kernel
_NATIVE_CALL = 350_000  # a call of a program of kernels
_TAKEN_APART = 15_000_000  # what Python needs to take a call with objects, slices or functions apart
_PART = 1_000_000  # of lists, dicts and objects, which it takes apart at every call
_COMPILED_NODE = 1_000_000_000  # what it takes to compile an operation of a loop that is unrolled
_FEW_NODES = 2_000  # for which nobody waits longer than two seconds
_SEGMENTS = 4  # that may each take their part of it
_CALLS = 100  # that may be waited for
_TURNS = 16  # of a loop that values end
_LOOK = 2_000_000  # at a value for which nothing is computed first
_SEGMENT_CALL = 4_000_000  # what Python spends on a segment: a program, and a look at a value behind it


@frozen
class Amount:
    """What a program does in a call.

    Parameters
    ----------
    kernels : int
        How many it has.
    additions : int
        What they amount to.
    hosts : tuple of Node
        What NumPy executes.
    """

    kernels: int
    additions: int
    hosts: tuple[Node, ...]

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.kernels + other.kernels, self.additions + other.additions, self.hosts + other.hosts)

    @property
    def time(self) -> int:
        """Picoseconds that it is expected to take, beyond what opaque calls need."""
        hosts = sum(map(_host_time, self.hosts))
        return hosts + _LAUNCH * self.kernels + _ADDITION * self.additions


NOTHING = Amount(0, 0, ())


def is_worthwhile(traced: Graph, amount: Amount) -> bool:
    """Whether a program is expected to be faster than the plain function.

    Parameters
    ----------
    traced : Graph
        What the plain function computes.
    amount : Amount
        What the program does.
    """
    return not amount.hosts or _PROGRAM_CALL + amount.time < numpy_time([traced])


def is_worth_python(traced: Sequence[Graph], amount: Amount, parts: int = 0, looks: int = 0) -> bool:
    """Whether a call that Python serves is expected to be faster than one of the plain function.

    Parameters
    ----------
    traced : sequence of Graph
        What the plain function computes: a graph for each segment.
    amount : Amount
        What the programs of all segments do.
    parts : int
        How many values are in the lists, dicts and objects that are taken apart.
    looks : int
        How often it looks at values in front of which there is no segment.
    """
    if any(n.op.kind is Kind.CONTROL for g in traced for n in g.nodes()):
        return True  # one node stands for many calls of NumPy
    ours = _PROGRAM_CALL + _PART * parts + _SEGMENT_CALL * (len(traced) - 1) + _LOOK * looks + amount.time
    return ours < numpy_time(traced)


def is_short(traced: Sequence[Graph], parts: int = 0) -> bool:
    """Whether NumPy is done with the plain function before Python has taken a call apart.

    Parameters
    ----------
    traced : sequence of Graph
        What the plain function computes: a graph for each segment.
    parts : int
        As for `is_worth_python`.
    """
    loops = any(n.op.kind is Kind.CONTROL for g in traced for n in g.nodes())
    return not loops and first_numpy_time(traced) < _TAKEN_APART + _PART * parts


def is_worth_waiting(traced: Graph, looks: bool = False) -> bool:
    """Whether some hundred calls repay the compile, which takes long for what large loops are unrolled to.

    Parameters
    ----------
    traced : Graph
        What the plain function computes.
    looks : bool
        Whether it is a segment in front of a look at a value, behind which there will be others.

    Examples
    --------
    >>> from .build import elementwise, input_node
    >>> from .types import ArrayType
    >>> def unrolled(size):
    ...     x = y = input_node(0, ArrayType(np.dtype(np.float64), (size,)))
    ...     for _ in range(5000):
    ...         y = elementwise(np.sqrt, elementwise(np.add, y, x))
    ...     return Graph((x,), (y,))
    >>> is_worth_waiting(unrolled(10)), is_worth_waiting(unrolled(100_000))
    (False, True)
    """
    nodes = len(traced.nodes())
    few = _FEW_NODES // _SEGMENTS if looks else _FEW_NODES
    return nodes <= few or _COMPILED_NODE * nodes < _CALLS * numpy_time([traced])


def is_worth_recording(nodes: Sequence[Node], writes: int, times: float, few: int = _FEW_NODES) -> bool:
    """The same of `times` as many operations as those that have been recorded so far: they only become more.

    Parameters
    ----------
    nodes : sequence of Node
    writes : int
        How many assignments to parts of arrays have been recorded beside them.
    times : float
    few : int
        Operations that are worth it on arrays of any size.
    """
    gain = sum(map(_numpy_time, nodes))
    if gain + writes * _NUMPY_CALL < sum(_host_time(n) for n in nodes if n.op.kind is Kind.HOST):
        return False
    return times * (len(nodes) + writes) <= few or _COMPILED_NODE * len(nodes) < _CALLS * gain


def is_worth_copying(traced: Graph, written: Sequence[int], fields: Collection[int] = ()) -> bool:
    """Whether a program whose outputs `written` are copied into arguments is expected to be faster.

    Parameters
    ----------
    traced : Graph
        What the plain function computes.
    written : sequence of int
        Numbers of outputs of the graph.
    fields : collection of int
        Those of them that are copied into fields of records.
    """
    nodes = traced.nodes()
    if not written or any(n.op.kind in (Kind.HOST, Kind.CONTROL) for n in nodes):
        return True  # `is_worthwhile` weighs the former, and a loop goes over its arrays again and again
    # Of an array that is assigned to in parts, only what is left of it is read.
    read = {a for n in nodes for a in (n.args[1:] if n.op.kind is Kind.UPDATE else n.args)}
    traffic = sum(n.type.nbytes for n in (*read.intersection(traced.inputs), *traced.outputs))
    traffic += sum((_FIELD if k in fields else 2) * traced.outputs[k].type.nbytes for k in written)
    return _NATIVE_CALL + _traffic_time(traffic) < numpy_time([traced])


def numpy_time(graphs: Sequence[Graph]) -> int:
    """Picoseconds that NumPy is expected to need for what kernels can compute of these graphs."""
    return sum(_numpy_time(n) for g in graphs for n in g.nodes())


def first_numpy_time(graphs: Sequence[Graph]) -> int:
    """The same for the sizes that there were at first, where nothing but an estimate depends on it."""
    known: dict[int, ArrayType] = {}  # by identity: types are parts of nodes, and few

    def at_first(type_: ArrayType) -> ArrayType:
        found = known.get(id(type_))
        if found is None:
            found = known[id(type_)] = ArrayType(type_.dtype, tuple(map(estimate, type_.shape)))
        return found

    return sum(_numpy_time(n, at_first) for g in graphs for n in g.nodes())


def _host_time(node: Node) -> int:
    """What a step that NumPy executes takes beyond an opaque execution itself."""
    if is_python(node.op):
        return _PYTHON_STEP
    is_draw = node.op is CALL and node["call"].is_effect
    return (_DRAW if is_draw else _HOST_STEP) + _numpy_time(node)


def _numpy_time(node: Node, typed: Callable[[ArrayType], ArrayType] = lambda type_: type_) -> int:
    """What NumPy needs for a node that a kernel can replace; types are what `typed` makes of them."""
    own, *given = (typed(n.type) for n in (node, *node.args))
    if node.op.kind is Kind.UPDATE:
        return _NUMPY_CALL + _traffic_time(2 * given[1].nbytes)
    if node.op.kind is Kind.CONTROL:
        return turns_of(node.kwargs.get("loop")) * sum(_numpy_time(n, typed) for g in bodies(node) for n in g.nodes())
    if node.op in (MATMUL, DOT) and own.dtype == np.float16:
        return _NUMPY_CALL + _HALF_PRODUCT * own.size * given[0].shape[-1]
    if node.op.kind not in (Kind.ELEMENTWISE, Kind.COMPOUND, Kind.ASSEMBLE, Kind.REDUCTION, Kind.SCAN, Kind.GATHER):
        return 0
    traffic = own.nbytes + sum(t.nbytes for t in given)
    cost = node.op.cost * (_COMPLEX if node.dtype.kind == "c" else 1)
    if _is_simple(node):
        cost = 1
    elif node.dtype.itemsize >= _WIDE:
        cost = max(cost, node.op.numpy_cost)
    function = _ADDITION * own.size * (cost - 1)
    has_rows = node.op.kind in (Kind.REDUCTION, Kind.COMPOUND) and own.ndim > 0
    rows = _rows(given[0], own) if has_rows else 0
    return _NUMPY_CALL + _traffic_time(traffic) + function + _NUMPY_ROW * rows


def turns_of(loop: Loop | None) -> int:
    """How many iterations are expected of a loop; 1 of what is none."""
    return 1 if loop is None else _TURNS if loop.count is None else loop.count


def _is_simple(node: Node) -> bool:
    """Whether NumPy runs a simpler loop, because of the number that is the last operand."""
    last = node.args[-1] if node.op.simple_numbers else None
    if last is None or last.op.name != "constant":
        return False
    number = np.asarray(last["value"].value)
    return number.ndim == 0 and number.dtype.kind in "if" and float(number) in node.op.simple_numbers


def _traffic_time(nbytes: int) -> int:
    """Picoseconds that NumPy needs to read and write so many bytes."""
    return (_CACHED_BYTE if nbytes <= _CACHE else _NUMPY_BYTE) * nbytes


def _rows(operand: ArrayType, result: ArrayType) -> int:
    """In how many pieces NumPy's inner loop goes over the operand of a reduction."""
    return operand.size // operand.shape[-1] if operand.size > result.size else 0
