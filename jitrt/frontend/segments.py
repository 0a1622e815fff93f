"""Segments: what a traced function computes between one graph break and the next.

A value that decides how the Python code goes on has to be there before the trace can go on: what was recorded is
computed, the trace continues with the real value, and what follows is another segment. A later call runs the segments
one after the other, and takes at each value the one that follows it, without running the Python code.

Values that a segment leaves for later ones are *registers*, numbered along the path; the first are the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base.frozen import frozen
from ..ir.build import encoding_of, input_node
from ..ir.interpret import evaluate
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.contractions import Call, is_effect
from ..ir.ops.raising import FORCE
from ..values.kinds import Tree, flatten
from .effects import forced_of
from .forms import ordinary

_COMPARED_BYTES = 4096  # of an array that is looked at: larger ones are taken to be different every time

# From a graph and the values of its inputs to what runs it, and the values of its outputs.
Execute = Callable[[Graph, list[Any]], tuple[Any, list[Any]]]


@frozen(eq=False)
class ValueGuard:
    """What a function sees of the value in a register, on which the further path depends.

    Parameters
    ----------
    register : int
    convert : callable
        What the function sees of the value, ``bool`` for example.
    """

    register: int
    convert: Callable[[Any], Any]

    @property
    def reads(self) -> tuple[int, ...]:
        """Registers that are looked at."""
        return (self.register,)

    def see(self, registers: list[Any]) -> Hashable:
        """What tells what the function sees now from what it may see in other calls."""
        return key_of(self.convert(registers[self.register]))


@frozen(eq=False)
class Operand:
    """An operand of a call: a literal `value`, or `view` of the value `base` in a register."""

    register: int
    base: Node
    view: Node
    value: Any = None

    def read(self, registers: list[Any]) -> Any:
        if self.register < 0:
            return self.value
        value = ordinary(registers[self.register])
        return value if self.view is self.base else evaluate((self.view,), {self.base: value})[0]


class MadeCall:
    """A call that NumPy makes between two segments, whose result may be of any shape.

    Parameters
    ----------
    call : Call
    operands : tuple of Operand
    first : int
        The register that takes the first part of the result.
    """

    __slots__ = ("call", "first", "operands", "shares", "structure")

    def __init__(self, call: Call, operands: tuple[Operand, ...], first: int):
        self.call, self.operands, self.first = call, operands, first
        self.structure: Tree = None
        self.shares = False
        """Whether an array that it gave lay in the memory of an operand."""

    @property
    def reads(self) -> tuple[int, ...]:
        """Registers of the operands."""
        return tuple(o.register for o in self.operands if o.register >= 0)

    def see(self, registers: list[Any]) -> Hashable:
        """Make the call, put the parts of its result into registers, and tell their types."""
        values = [o.read(registers) for o in self.operands]
        parts: list[Any] = []
        structure = flatten(self.call(*values), parts)
        if self.structure is None:
            self.structure = structure
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        for part in parts:
            shares = isinstance(part, np.ndarray) and any(np.may_share_memory(part, a) for a in arrays)
            self.shares = self.shares or shares
            registers.append(part.copy("K") if shares else part)
        return (structure, *((type(p), p.dtype, p.shape) if isinstance(p, _ARRAYS) else key_of(p) for p in parts))


_ARRAYS = (np.ndarray, np.generic)


class Watch:
    """A look at something outside of the function."""

    __slots__ = ("_read", "value")
    reads: tuple[int, ...] = ()

    def __init__(self, read: Callable[[], Any]):
        self._read = read
        self.value: Any = None
        """What was seen last."""

    def see(self, registers: list[Any]) -> Hashable:
        """What it is now."""
        self.value = self._read()
        return key_of(self.value)


class Barrier:
    """Nothing to see: what comes next has to be computed apart."""

    __slots__ = ()
    reads: tuple[int, ...] = ()

    def see(self, registers: list[Any]) -> Hashable:
        """Nothing."""
        return None


@frozen(eq=False)
class GraphBreak:
    """The end of a segment: a value is there, and what the function sees of it decides how the path goes on.

    Parameters
    ----------
    graph : Graph or None
        What is computed for it; None if the value is in a register already.
    compiled : object
        What `Execute` made of the graph.
    inputs : tuple of int
        Registers that the graph reads.
    samples : tuple
        What is like their values, but takes no memory.
    first : int
        The register that takes the first output.
    outputs : tuple of Node
        What the following registers hold.
    guard : ValueGuard, MadeCall, Watch or Barrier
        What is seen.
    key : hashable
        What tells what the function saw from what it may see in other calls.
    freed : tuple of int
        Registers that nothing needs afterwards.
    why, line : str
        What looks, and where in the user's code.
    scope, guard_scope : optional
        The error states (`scopes.Scope`) under which the graph is computed, and under which is looked.
    """

    graph: Graph | None
    compiled: Any
    inputs: tuple[int, ...]
    samples: tuple[Any, ...]
    first: int
    outputs: tuple[Node, ...]
    guard: ValueGuard | MadeCall | Watch | Barrier
    key: Hashable
    freed: tuple[int, ...]
    why: str
    line: str
    scope: Any = None
    guard_scope: Any = None


def key_of(value: Any) -> Hashable:
    """What tells a value that a function looked at from others.

    Examples
    --------
    >>> key_of(True) == key_of(1), key_of(0.0) == key_of(-0.0), key_of(np.nan) == key_of(float("nan"))
    (False, False, True)
    """
    kind = type(value)
    if kind is bool:
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        if value.nbytes > _COMPARED_BYTES:
            return (kind, object())
        return (kind, value.dtype.str, value.shape, value.tobytes())
    return (kind, value.hex()) if kind is float else (kind, repr(value))


def register_value(node: Node, value: Any) -> Any:
    """What a register holds of an output: numbers as such, arrays as they are."""
    if node.shape:
        return value
    number = value[()] if isinstance(value, np.ndarray) else value
    return number.item() if node.type.weak and isinstance(number, np.generic) else number


def sample(value: Any) -> Any:
    """Something with the type, the shape and the strides of `value`."""
    if not isinstance(value, np.ndarray):
        return value
    return as_strided(np.empty(1, value.dtype), value.shape, value.strides)


def narrowed(made: GraphBreak, kept: Sequence[int]) -> tuple[Graph, tuple[int, ...], tuple[Any, ...]]:
    """The graph of a segment for some of its outputs; the registers that it reads, and samples of their values.

    Of the others it computes what may raise.
    """
    assert made.graph is not None
    places = {node: k for k, node in enumerate(made.graph.inputs)}
    outputs = made.graph.outputs
    roots = [outputs[k] for k in kept]
    strides = [made.graph.strides[k] for k in kept]
    forced = forced_of([n.args[0] if n.op is FORCE else n for n in reversed(outputs)], roots, places)
    graph, read = graph_from_registers((*roots, *forced), places, (*strides, *(None for _ in forced)))
    return graph, tuple(made.inputs[k] for k in read), tuple(made.samples[k] for k in read)


def needed(traced: Sequence[GraphBreak], last: Iterable[int]) -> list[tuple[int, ...]]:
    """For each graph break of a path the outputs that are read afterwards; `last` are the registers read at the end."""
    used = set(last)
    found: list[tuple[int, ...]] = []
    for made in reversed(traced):
        used.update(made.guard.reads)
        kept = tuple(k for k, n in enumerate(made.outputs) if made.first + k in used or is_effect(n))
        found.append(kept)
        if made.graph is not None:
            used.update(narrowed(made, kept)[1])
    return found[::-1]


def graph_from_registers(
    roots: Sequence[Node],
    registers: dict[Node, int],
    strides: Sequence[tuple[int, ...] | None],
    first: Sequence[Node] = (),
) -> tuple[Graph, tuple[int, ...]]:
    """The graph that computes `roots` from registers, and the registers that it reads.

    Parameters
    ----------
    roots : sequence of Node
        Nodes of the trace.
    registers : dict of Node to int
        Nodes whose values are in registers.
    strides : sequence
        Of the arrays that the graph makes; None for a C-contiguous one.
    first : sequence of Node, optional
        What the graph reads in any case: its first inputs.
    """
    sources: list[Node] = list(first)
    done: dict[Node, Node] = {node: input_node(k, node.type, encoding_of(node)) for k, node in enumerate(first)}
    for node in topological_order(roots, ends=registers):
        if node in done:
            continue
        if node in registers:
            done[node] = input_node(len(sources), node.type, encoding_of(node))
            sources.append(node)
            continue
        done[node] = node.with_args(tuple([done[a] for a in node.args]))
    inputs = tuple(done[n] for n in sources)
    graph = Graph(inputs, tuple(done[n] for n in roots), tuple(strides))
    return graph, tuple(registers[n] for n in sources)


def is_recorded_in_a_loop(node: Node) -> bool:
    """Whether `node` depends on what one iteration of a loop that is being recorded hands to the next."""
    return not outside_of_loops((node,))


def outside_of_loops(nodes: Iterable[Node]) -> list[Node]:
    """Those of `nodes` that are not recorded in a loop; what several of them need is looked at once."""
    found: list[Node] = []
    known: set[Node] = set()
    for node in nodes:
        order = topological_order((node,), known)
        if not any(n.op.name == "input" and "placeholder" in n.kwargs for n in order):
            known.update(order)
            found.append(node)
    return found
