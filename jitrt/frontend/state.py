"""The state of a trace: what has been recorded, looked at, and left to NumPy."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.dtypes import is_twin
from ..errors import Untraceable
from ..ir import build as b
from ..ir.aliasing import is_lent
from ..ir.extents import is_extent
from ..ir.interpret import evaluate
from ..ir.node import Node, topological_order
from ..ir.numbered import is_count
from ..ir.ops.contractions import CALL, RESULT, Call
from ..ir.ops.movement import base_of
from ..ir.ops.optable import INPUT, Kind
from ..ir.types import contiguous_strides
from ..values.frozen import is_frozen
from .context import offer_loops, tracing
from .effects import Effects
from .graphbreaks import GraphBreaks
from .integers import IntegerWanted
from .numpy.aliases import Aliases
from .numpy.assignment import list_node
from .numpy.hostcalls import HostCalls
from .numpy.operators import is_tracer
from .numpy.order import Orders, by_stride
from .numpy.scopes import Phases
from .numpy.tracer import Tracer
from .python.userline import user_line
from .registers import Registers
from .rolling.loopnumber import Counter, Place
from .segments import Execute, ValueGuard, Watch, is_recorded_in_a_loop, register_value
from .storage import Cell

_MOST_INTEGER_LOOKS = 4  # at conditions of numbers: a function with more of them takes another path for each integer


class Trace:
    """The state of one trace: the values of the inputs, and what had to be left to NumPy.

    Parameters
    ----------
    inputs : sequence of Node
        The inputs of the graph.
    given : sequence
        Their values in this call. Calls that only NumPy can make are evaluated on them, to learn their types.
        None where nothing may depend on them.
    strides : mapping of int to tuple of int
        Strides in bytes of those that are arrays, by their numbers.
    execute : callable, optional
        What computes a graph; without it the function cannot look at values.
    unsteady : bool
        Whether calls that only NumPy can make give other types in other calls of the function.
    fixed : set of float, optional
        Numbers that are the same in every trace of the function: others are inputs of what is computed, so that it is
        found again. By default all are literals.
    integers : mapping of Node to int, optional
        Inputs that are Python integers, and the numbers of their leaves among the arguments.
    memory : dict, optional
        Nodes and graphs that earlier traces of the function have made, by what they were made of.
    answers : dict, optional
        What calls gave that NumPy will make again in the run behind the trace, if it is what they will give then.
    excepted : set of Place, optional
        Loops about which nothing is assumed.
    general : collection of int, optional
        Where extents are variables: numbers of the inputs that have them. What is found out of such an array has to
        hold for all extents, so nothing is.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        given: Sequence[Any],
        strides: Mapping[int, tuple[int, ...]],
        execute: Execute | None = None,
        unsteady: bool = False,
        fixed: Set[float] | None = None,
        integers: Mapping[Node, int] = MappingProxyType({}),
        memory: dict[Hashable, Any] | None = None,
        answers: dict[Call, Any] | None = None,
        excepted: Set[Place] = frozenset(),
        general: Collection[int] | None = None,
    ):
        self.loops = TracedLoops(excepted)
        self.registers = Registers(inputs, given, general or ())
        self.is_general = general is not None
        self.breaks = GraphBreaks(self, execute, inputs if self.is_general else ())
        self.calls = HostCalls(self, unsteady, {} if answers is None else answers)
        self.integers = integers
        self.memory: dict[Hashable, Any] = {} if memory is None else memory
        self._fixed = fixed
        self._tracers: list[weakref.ref[Tracer]] = []
        self.orders = Orders({inputs[k]: own for k, own in strides.items()})
        self.has_forms = False
        """Whether inputs are no ordinary arrays."""
        self.failures = Failures()
        self.conditions: dict[Node, None] = {}
        """What is assumed of values: where it does not hold, the plain function runs."""
        self.phases = Phases(self)
        self.effects = Effects()
        self.catching = 0
        """How many ``with warnings.catch_warnings()`` are open."""
        self.generators = 0
        """How many random generators the function has made."""
        self.namespace: Callable[[], Any] = lambda: np
        """Gives what the function finds in place of NumPy."""
        self.through: Callable[..., tuple[Any] | None] = lambda trace, function, args, kwargs: None
        """Calls one of NumPy's functions by its source; None if NumPy has to."""
        self.named: tuple[Any, ...] = ()
        """Copies of the lists, dicts and objects that the function names."""
        self.aliases = Aliases()
        self.shapes: dict[Node, Any] = {}
        """What has been looked at for the sake of shapes and axes."""
        self._known: dict[Node, bool] = {}
        self._laid_out: dict[tuple[Node, tuple[int, ...]], Node] = {}
        self._integer_looks = 0

    def copy(self, node: Node) -> Node:
        """A copy of `node`, numbered within the trace so that the same function traced again gives the same nodes."""
        return b.copy(node, self.effects.copy())

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> Tracer:
        """A new array of zeros."""
        return Tracer(self.filled(b.constant(dtype.type(0)), shape), self)

    def filled(self, number: Node, shape: tuple[int, ...]) -> Node:
        """A new array whose elements are `number`, and no view of that, which has no order in memory."""
        if number.op.name == "constant":
            return b.view("broadcast_to", number, shape=shape)
        node = b.view("broadcast_to", self.copy(number), shape=shape)
        self.orders.note(node, None)
        return node

    def fresh(self, node: Node) -> Node:
        """A node with the value of `node` that is no view of anything but a literal, and in nothing else's memory."""
        base = base_of(node)
        is_own = base is node and node.op.kind is not Kind.SOURCE and not is_lent(node)
        return node if is_own or base.op.name == "constant" else self.copy(node)

    def like(self, node: Node, array: Tracer, order: str) -> Tracer:
        """A new array with the value of `node` whose memory is in NumPy's `order`, after that of `array`."""
        strides = self.orders.of_copy(node, array._node.type, array._strides(), order)
        if node.op.name == "broadcast_to" and not node.args[0].shape:
            node = self.filled(node.args[0], node.shape)
        made = Tracer(self.in_order(node, strides), self)
        made._own(strides)
        return made

    def in_order(self, node: Node, strides: tuple[int, ...] | None) -> Node:
        """A node with the value of `node` in memory that has these strides; None for a C-contiguous array."""
        if strides != self.orders.of_result(node):
            node = self.copy(node)
            self.orders.note(node, strides)
        return node

    def laid_out(self, array: Tracer) -> Node:
        """The value of `array` for a call that NumPy makes: what a kernel computes has the order in memory that it
        would have there, since the call may go by it (``np.nditer``, ``ravel("K")``, ``copy("A")``).

        add x0 x1  →  transpose (copy (transpose (add x0 x1))) for arrays in Fortran's order
        """
        node = array._node
        if node.type.ndim < 2 or not array._is_array() or base_of(node) in self.registers:
            return node
        axes = tuple(by_stride(array._strides() or contiguous_strides(node.shape, 1)))
        if base_of(node).op is RESULT:
            return node
        if axes == tuple(range(node.type.ndim)):
            stored = Cell(base_of(node), number=0).strides_of(node)  # where a kernel has stored what it is a view of
            if stored is None or by_stride(stored) == list(axes):
                return node
        if (node, axes) not in self._laid_out:
            turned = self.copy(b.view("transpose", node, axes=axes))
            back = tuple(axes.index(k) for k in range(len(axes)))
            self._laid_out[node, axes] = b.view("transpose", turned, axes=back)
        return self._laid_out[node, axes]

    def node_of(self, value: Any) -> Node:
        """The node of a tracer, or of a value that is none."""
        return value._node if is_tracer(value) else self.lift(value)

    def lift(self, value: Any) -> Node:
        """The node of a value that is not a tracer.

        Raises
        ------
        Untraceable
            If it is nothing that a graph can hold.
        """
        if type(value) in (int, float) and value and value == value:  # zeros of both signs are equal, nan is not
            node = self.memory.get((type(value), value))
            if node is None:
                node = self._lift_scalar(value)
                if node.op is not INPUT:
                    self.memory[type(value), value] = node
            return node
        if isinstance(value, Node):
            return value
        if (
            type(value) is np.ndarray
            and value.dtype.kind in "biufcmM"
            and value.dtype.isnative
            and not is_twin(value.dtype)
        ):
            if any(s == 0 and n > 1 for s, n in zip(value.strides, value.shape)):  # which have no order of their own
                once = value[tuple([slice(None) if s else slice(0, 1) for s in value.strides])]
                return b.broadcast_to(self.lift(once), value.shape)
            # A snapshot: the function may write into its own array later.
            node = b.constant(np.ascontiguousarray(value) if value.ndim and is_frozen(value) else value.copy())
            return node if value.ndim < 2 else self.in_order(node, self.orders.of_result(node, value.strides))
        if type(value) in (bool, int, float, complex) or isinstance(value, np.generic):
            return self._lift_scalar(value)
        if type(value) in (list, tuple):
            return list_node(self, value)
        if is_extent(value):
            return self._lift_scalar(int(value))
        if isinstance(value, (int, float, complex)) and isinstance(value, enum.Enum):
            return self._lift_scalar(np.asarray(value)[()])
        raise Untraceable(f"an operand of type {type(value).__name__}", user_line())

    def _lift_scalar(self, value: Any) -> Node:
        if isinstance(value, float) and self._fixed is not None and value not in self._fixed:
            return self.registers.number(value)
        if isinstance(value, np.generic) and is_twin(value.dtype):
            raise Untraceable(f"an operand of type {type(value).__name__}", user_line())
        try:
            return b.constant(value)
        except OverflowError:
            raise Untraceable(f"the integer {value}", user_line()) from None

    def value_of(self, node: Node) -> Any:
        """What `node` is for the inputs of this call."""
        for source in topological_order((node,)) if self.loops.first_values else ():
            if source in self.loops.first_values and source not in self.registers.values:
                self.registers.values[source] = self.value_of(self.loops.first_values[source])
        with self.failures, np.errstate(all="ignore"), tracing(None):
            if self.is_general and not self.is_known(node):
                return self._value_at_first(node)
            return evaluate((node,), self.registers.values)[0]

    def _value_at_first(self, node: Node) -> Any:
        """What `node` is for the sizes of this call, of which others learn nothing: they look for themselves.

        Raises
        ------
        Untraceable
            If it depends on what NumPy has not computed yet.
        """
        computed = self.registers.first.unknown(node)
        if any(n.op is CALL or n.op.kind is Kind.CONTROL or (n.op is INPUT and not is_count(n)) for n in computed):
            raise Untraceable("assumes something of values that are not known before calls are made", user_line())
        return self.registers.first.values((node,))[0]

    def assume(self, condition: Node) -> bool:
        """Let the trace hold for calls in which `condition` is true; False if it is not now."""
        if condition not in self.conditions:
            # Where it held in an earlier trace, the program will look: the value may take computing on whole arrays.
            if ("assumed", condition) not in self.memory and not self.value_of(condition):
                return False
            self.memory["assumed", condition] = True
            self.effects.guard(condition)  # a loop that computes it anew does not become one node
            if not self.is_known(condition):
                self.conditions[condition] = None
        return True

    def is_known(self, node: Node) -> bool:
        """Whether the value of `node` depends on no input."""
        if node in self._known:
            return self._known[node]
        for n in topological_order((node,), self._known):
            effect = n.op.name in ("input", "call") or n.op.kind is Kind.CONTROL
            self._known[n] = not effect and all(self._known[a] for a in n.args)
        return self._known[node]

    def look(self, node: Node, why: str, convert: Callable[[Any], Any]) -> Any:
        """What the function sees of the value of `node`.

        Raises
        ------
        Untraceable
            If the value is not to be had.
        """
        if self.is_known(node):
            self.effects.guard(node)
            return convert(register_value(node, self.value_of(node)))
        if node.type.weak:
            if why != "bool" or self._integer_looks >= _MOST_INTEGER_LOOKS:
                if why == "bool":
                    offer_loops(user_line(), seen=True, varies=True)
                self.want_integers(node)
            self._integer_looks += node.dtype != np.float64
        if why == "bool":
            decided = self.loops.decide(node)
            if decided is not None:
                return decided
        if not self.breaks.are_possible or (self.loops.first_values and is_recorded_in_a_loop(node)):
            raise Untraceable(f"the value of an array or scalar is looked at ({why})", user_line())
        self.effects.guard(node)
        self.breaks.look([node], lambda: ValueGuard(self.registers[node], convert), why)
        return convert(self.registers.value(node))

    def want_integers(self, node: Node) -> None:
        """End the trace if the value of `node`, which is wanted, depends on nothing but integers."""
        sources = [n for n in topological_order((node,)) if n.op is INPUT]
        if sources and all(n in self.integers for n in sources):
            raise IntegerWanted(self.integers[n] for n in sources)

    def want_all_integers(self) -> None:
        """End the trace if there are integers that are symbols."""
        if self.integers:
            raise IntegerWanted(self.integers.values())

    def mark(self) -> tuple[int, int, list[Node], dict[Node, None]]:
        """How far the trace is."""
        return self.effects.position, len(self.calls.noted), list(self.calls.results), dict(self.conditions)

    def take_back(self, mark: tuple[int, int, list[Node], dict[Node, None]]) -> None:
        """Forget what has been recorded since a mark, of which nothing is used."""
        position, noted, self.calls.results, self.conditions = mark
        self.effects.take_back(position)
        del self.calls.noted[noted:]

    def live(self) -> list[Node]:
        """What the arrays and scalars that the function still holds are made of."""
        self._tracers = [ref for ref in self._tracers if ref() is not None]
        found = (ref() for ref in self._tracers)
        nodes = [n for t in found if t is not None for n in t._contents()]
        return list(dict.fromkeys(n for n in nodes if not self.is_known(n)))

    def watch(self, read: Callable[[], Any], why: str) -> Any:
        """What `read` gives of something outside: a number, a text or the like, which is asked for in every call."""
        if not self.breaks.are_possible or self.loops.first_values:
            raise Untraceable(f"depends on {why}", user_line())
        watch = Watch(read)
        self.breaks.look([], lambda: watch, why)
        return watch.value


class Failures:
    """A context for what may raise an exception that other values do not raise: the function may catch it."""

    def __init__(self) -> None:
        self.last: tuple[BaseException, str] | None = None
        """The last one, and the user's line."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception):
            self.last = error, user_line()


class TracedLoops:
    """What one trace knows of the loops that it is in.

    Parameters
    ----------
    excepted : set of Place
        Loops about which nothing is assumed.
    """

    def __init__(self, excepted: Set[Place]):
        self.excepted = excepted
        self.first_values: dict[Node, Node] = {}
        """For each parameter of a loop that is being recorded, what it is in the first iteration."""
        self.counters: dict[object, Counter] = {}
        """Of loops whose numbers are symbols, while they run."""
        self.symbolic = True
        """Whether such numbers may stand for integers."""
        self.nonzero: set[Node] = set()
        """Such numbers that are zero in no iteration."""
        self.ranges: dict[tuple[int, int], Any] = {}
        """Ranges of loops that are being traced, by frame and place."""
        self.decide: Callable[[Node], bool | None] = lambda node: None
        """Asked for the truth of a value on which a loop depends."""

    def __bool__(self) -> bool:
        """Whether what is recorded may be part of a loop that becomes one node."""
        return bool(self.first_values or self.counters) or any(r.is_rolling for r in self.ranges.values())

    def changes(self, *nodes: Node) -> bool:
        """Whether one of `nodes` may be another value in each iteration."""
        if self.first_values and any(map(is_recorded_in_a_loop, nodes)):
            return True
        counters = {counter.node for counter in self.counters.values()}
        return bool(counters) and not counters.isdisjoint(topological_order(nodes))
