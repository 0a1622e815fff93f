"""The state of a trace: what has been recorded, looked at, and left to NumPy."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..expr import build as b
from ..expr.contractions import RESULT, Call, call_result
from ..expr.interpret import evaluate
from ..expr.node import Graph, Node, topological_order, type_of
from ..expr.optable import INPUT, MUTATING, VALUE_SHAPED, Kind
from ..expr.pythonnumbers import python_operation
from ..expr.types import ArrayType, contiguous_strides
from ..expr.ufuncs import COPY
from .aliases import Aliases, arrays_of
from .arguments import flatten
from .assignment import list_node
from .calls import call_node
from .context import tracing
from .draws import MOST_DRAWS
from .integers import IntegerWanted
from .loopnumber import Counter, Place
from .order import Orders, by_stride
from .scopes import Phases, Scope, entered
from .segments import (
    Cut,
    Execute,
    Fence,
    Look,
    MadeCall,
    Operand,
    Watch,
    cut,
    is_recorded_in_a_loop,
    register_value,
    sample,
)
from .storage import Cell
from .tracer import Tracer
from .userline import user_line

# A graph, what computes it, what it reads, and samples of that; the first two are None where nothing is computed.
_Computed = tuple[Graph | None, Any, tuple[int, ...], tuple[Any, ...]]
_MOVING = frozenset({Kind.SOURCE, Kind.VIEW, Kind.GATHER, Kind.UPDATE, Kind.ASSEMBLE})  # values as they are
_TOKEN = np.zeros((), np.int8)
_TOKEN.flags.writeable = False
_MOST_LOOKS = 1000  # at values in one call
_MOST_SEGMENTS = 24  # of different structure in one call: each takes a compile
_MOST_INTEGER_LOOKS = 4  # at conditions of numbers: a function with more of them goes another way for each integer
_MOST_NODES = 500  # of these, the largest left out: a loop whose every turn is another graph


class Trace:
    """The state of one trace: the values of the inputs, and what had to be left to NumPy.

    Parameters
    ----------
    inputs : sequence of Node
        The inputs of the graph.
    given : sequence
        Their values in this call. Calls that only NumPy can make are evaluated on them, to learn their types.
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
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        given: Sequence[Any],
        execute: Execute | None = None,
        unsteady: bool = False,
        fixed: Set[float] | None = None,
        integers: Mapping[Node, int] = MappingProxyType({}),
        memory: dict[Hashable, Any] | None = None,
        answers: dict[Call, Any] | None = None,
    ):
        self.inputs = len(inputs)
        self.given = list(given)
        self.registers = {node: k for k, node in enumerate(inputs)}
        self.values = {node: _read_only(value) for node, value in zip(inputs, given)}
        self.cuts: list[Cut] = []
        self.unsteady = unsteady
        self.integers = integers
        self.memory: dict[Hashable, Any] = {} if memory is None else memory
        self._fixed = fixed
        self._execute = execute
        self._made: dict[Graph, int] = {}
        self._tracers: list[weakref.ref[Tracer]] = []
        self.first_values: dict[Node, Node] = {}
        """For each parameter of a loop that is being recorded, what it is in the first iteration."""
        self.host_calls: list[tuple[str, str]] = []
        self.call_results: list[Node] = []
        """What calls give that NumPy makes: they are made, since they may raise, or give another shape next time."""
        self.orders = Orders({n: v.strides for n, v in zip(inputs, given) if isinstance(v, np.ndarray)})
        self.copies = 0
        self.writes: list[tuple[Cell, Node]] = []
        """Assignments to memory, with what it was before."""
        self.looks: list[Node | None] = []
        """Values that the function has looked at; None for those of which it does not matter any more."""
        self.decide: Callable[[Node], bool | None] | None = None
        """Asked for the truth of a value on which a loop depends."""
        self.excepted: set[Place] = set()
        """Loops about which nothing is assumed."""
        self.counters: dict[object, Counter] = {}
        """Of loops whose numbers are symbols, while they run."""
        self.symbolic = True
        """Whether such numbers may stand for integers."""
        self.ranges: dict[tuple[int, int], Any] = {}
        """Ranges of loops that are being traced, by frame and place."""
        self.failures = Failures()
        self.conditions: dict[Node, None] = {}
        """What is assumed of values: where it does not hold, the plain function runs."""
        self.phases = Phases(self)
        self.catching = 0
        """How many ``with warnings.catch_warnings()`` are open."""
        self._errors = np.geterr()
        self.draws = 0
        """How often random numbers have been drawn."""
        self.generators = 0
        """How many random generators the function has made."""
        self._token: Node | None = None
        self.named: tuple[Any, ...] = ()
        """Copies of the lists, dicts and objects that the function names."""
        self.aliases = Aliases()
        self._known: dict[Node, bool] = {}
        self.nonzero: set[Node] = set()
        """Numbers of iterations that are zero in none of them."""
        self._laid_out: dict[tuple[Node, tuple[int, ...]], Node] = {}
        self._integer_looks = 0
        self._numbers: dict[int, tuple[Any, Node]] = {}
        self.answers: dict[Call, Any] = {} if answers is None else answers

    def forget_values(self) -> None:
        """Let go of the user's arrays, since what the trace was made of leads to itself and may live on for long."""
        self.values, self.given = {}, []

    def copy(self, node: Node) -> Node:
        """A copy of `node`, numbered within the trace so that the same function traced again gives the same nodes."""
        return b.copy(node, self.next_copy())

    def next_copy(self) -> int:
        """A number that no other copy in the trace has."""
        self.copies += 1
        return -self.copies

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype) -> Tracer:
        """A new array of zeros."""
        return Tracer(b.view("broadcast_to", b.constant(dtype.type(0)), shape=shape), self)

    def fresh(self, node: Node) -> Node:
        """A node with the value of `node` that is no view of anything but a literal."""
        base = node
        while base.op.kind is Kind.VIEW:
            base = base.args[0]
        is_own = base is node and node.op.kind is not Kind.SOURCE
        return node if is_own or base.op.name == "constant" else self.copy(node)

    def like(self, node: Node, array: Tracer, order: str) -> Tracer:
        """A new array with the value of `node` whose memory is in NumPy's `order`, after that of `array`."""
        strides = self.orders.of_copy(node, array._node.type, array._strides(), order)
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
        if node.type.ndim < 2 or not array._is_array() or _base(node) in self.registers:
            return node
        axes = tuple(by_stride(array._strides() or contiguous_strides(node.shape, 1)))
        if axes == tuple(range(node.type.ndim)) or _base(node).op is RESULT:
            return node
        if (node, axes) not in self._laid_out:
            stored = self.copy(b.view("transpose", node, axes=axes))
            back = tuple(axes.index(k) for k in range(len(axes)))
            self._laid_out[node, axes] = b.view("transpose", stored, axes=back)
        return self._laid_out[node, axes]

    def lift(self, value: Any) -> Node:
        """The node of a value that is not a tracer.

        Raises
        ------
        Untraceable
            If it is nothing that a graph can hold.
        """
        if isinstance(value, Node):
            return value
        if type(value) in (int, float) and value and value == value:  # zeros of both signs are equal, nan is not
            node = self.memory.get((type(value), value))
            if node is None:
                node = self._lift_scalar(value)
                if node.op is not INPUT:
                    self.memory[type(value), value] = node
            return node
        if type(value) is np.ndarray and value.dtype.kind in "biufcmM" and value.dtype.isnative:
            # A snapshot: the function may write into its own array later.
            return b.constant(value.copy())
        if type(value) in (bool, int, float, complex) or isinstance(value, np.generic):
            return self._lift_scalar(value)
        if type(value) in (list, tuple):
            return list_node(self, value)
        raise Untraceable(f"an operand of type {type(value).__name__}", user_line())

    def _lift_scalar(self, value: Any) -> Node:
        if isinstance(value, float) and self._fixed is not None and value not in self._fixed:
            return self._new_register(value)
        try:
            return b.constant(value)
        except OverflowError:
            raise Untraceable(f"the integer {value}", user_line()) from None

    def _new_register(self, value: Any) -> Node:
        """The node of a number that is a value in this trace, and no part of what is computed; one for each object."""
        known = self._numbers.get(id(value))
        if known is not None and known[0] is value and known[1] in self.registers:
            return known[1]
        node = Node(INPUT, (), b.params(index=("register", len(self.given))), type_of(value))
        self.registers[node] = len(self.given)
        self.given.append(value)
        self.values[node] = value
        self._numbers[id(value)] = value, node
        return node

    def value_of(self, node: Node) -> Any:
        """What `node` is for the inputs of this call."""
        for source in topological_order((node,)) if self.first_values else ():
            if source in self.first_values and source not in self.values:
                self.values[source] = self.value_of(self.first_values[source])
        with self.failures, np.errstate(all="ignore"), tracing(None):
            return evaluate((node,), self.values)[0]

    def can_assume(self, *nodes: Node) -> bool:
        """Whether conditions of these values can be looked at behind everything else: not of what a loop computes."""
        if self.first_values and any(map(is_recorded_in_a_loop, nodes)):
            return False
        counters = {counter.node for counter in self.counters.values()}
        return not counters or counters.isdisjoint(topological_order(nodes))

    def assume(self, condition: Node) -> bool:
        """Let the trace hold for calls in which `condition` is true; False if it is not now."""
        if condition not in self.conditions:
            # Where it held in an earlier trace, the program will look: the value may take computing on whole arrays.
            if ("assumed", condition) not in self.memory and not self.value_of(condition):
                return False
            self.memory["assumed", condition] = True
            self.looks.append(condition)  # a loop that computes it anew does not become one node
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
            self.looks.append(node)
            return convert(register_value(node, self.value_of(node)))
        if node.type.weak:
            if why != "bool" or self._integer_looks >= _MOST_INTEGER_LOOKS:
                self.want_integers(node)
            self._integer_looks += node.dtype != np.float64
        if why == "bool" and self.decide is not None:
            decided = self.decide(node)
            if decided is not None:
                return decided
        if self._execute is None or (self.first_values and is_recorded_in_a_loop(node)):
            raise Untraceable(f"the value of an array or scalar is looked at ({why})", user_line())
        self.looks.append(node)
        self._cut([node], lambda: Look(self.registers[node], convert), why)
        return convert(self.given[self.registers[node]])

    def want_integers(self, node: Node) -> None:
        """End the trace if the value of `node`, which is wanted, depends on nothing but integers."""
        sources = [n for n in topological_order((node,)) if n.op is INPUT]
        if sources and all(n in self.integers for n in sources):
            raise IntegerWanted(self.integers[n] for n in sources)

    def want_all_integers(self) -> None:
        """End the trace if there are integers that are symbols."""
        if self.integers:
            raise IntegerWanted(self.integers.values())

    def _cut(self, wanted: list[Node], make_look: Callable[[], Look | MadeCall | Watch], why: str) -> None:
        """Compute `wanted`, and let the further way depend on what is seen of it."""
        made: _Computed = (None, None, (), ())
        scope = None
        if any(n not in self.registers for n in wanted):
            scope = self.phases.settle(wanted)
        missing = [n for n in wanted if n not in self.registers]
        first = len(self.given)
        if missing:
            later = [*self.live(), *self.pending_calls(), *self.conditions]
            self.call_results = []
            if self.first_values:
                later = [n for n in later if not is_recorded_in_a_loop(n)]
            missing = list(dict.fromkeys([*missing, *(n for n in later if n not in self.registers)]))
            made = self._compute(missing, scope)
        look = make_look()
        with self.failures:
            key = look.see(self.given)
        freed = self._free(wanted) if missing else ()
        look_scope = self.phases.scope or None
        self.cuts.append(Cut(*made, first, tuple(missing), look, key, freed, why, user_line(), scope, look_scope))

    def cut_off(self, nodes: list[Node], why: str, line: str, scope: Scope) -> None:
        """Compute `nodes` under an error state of their own."""
        first = len(self.given)
        made = self._compute(nodes, scope)
        self.call_results = [n for n in self.call_results if n not in self.registers]
        self.values |= {n: _read_only(self.given[self.registers[n]]) for n in nodes}
        self.cuts.append(Cut(*made, first, tuple(nodes), Fence(), None, (), why, line, scope))

    def _compute(self, nodes: list[Node], scope: Scope | None) -> _Computed:
        """Put the values of `nodes` into registers; the graph, what computes it, what it reads, and samples of that."""
        if self._execute is None:
            raise Untraceable("looks at values, or computes under several error states", user_line())
        graph, inputs = self.graph_of(nodes, [self.orders.of_result(n) for n in nodes])
        self._check_effort(graph)
        values = [self.given[k] for k in inputs]
        samples = tuple(map(sample, values))
        with self.failures, np.errstate(**self._errors), entered(scope):
            compiled, outputs = self._execute(graph, values)
        for n, output in zip(nodes, outputs):
            self.registers[n] = len(self.given)
            self.given.append(register_value(n, output))
        if self._token in self.registers:  # segments follow each other anyway
            self._token = None
        return graph, compiled, inputs, samples

    def graph_of(
        self, roots: Sequence[Node], strides: Sequence[tuple[int, ...] | None]
    ) -> tuple[Graph, tuple[int, ...]]:
        """The graph that computes `roots`, with these strides, from registers, and the registers that it reads."""
        key = ("graph", tuple(roots), tuple(strides))
        known = self.memory.get(key)
        if known is None or known[0] != self.registers:
            known = self.memory[key] = dict(self.registers), cut(roots, self.registers, strides)
        return known[1]

    def call_and_look(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call that NumPy makes, and whose shape the function sees."""
        node = call_node(self, function, name, args, kwargs)
        if self._execute is None or (self.first_values and is_recorded_in_a_loop(node)):
            raise Untraceable(f"{name} gives arrays whose shapes depend on values", user_line())
        bases = [n for n in dict.fromkeys(map(_base, node.args)) if not self.is_known(n)]
        self.looks += bases
        made: list[MadeCall] = []

        def make() -> MadeCall:
            operands = [
                Operand(-1, n, n, self.value_of(n))
                if self.is_known(n)
                else Operand(self.registers[_base(n)], _base(n), n)
                for n in node.args
            ]
            made.append(MadeCall(node["call"], tuple(operands), len(self.given)))
            return made[0]

        with tracing(None):
            self._cut(bases, make, name)
        self.host_calls.append((name, node["call"].line))
        result = self._wrap_registers(node, made[0].structure, iter(range(made[0].first, len(self.given))), ())
        if made[0].shares:
            for array in arrays_of(result):
                for operand in arrays_of((args, kwargs)):
                    self.aliases.pair(array, operand, copied=True)
        return result

    def _wrap_registers(self, node: Node, structure: Any, registers: Any, path: tuple) -> Any:
        """Tracers for the parts of a result that are in registers."""
        if structure is not None:
            kind, parts = structure
            return kind(self._wrap_registers(node, s, registers, (*path, k)) for k, s in enumerate(parts))
        k = next(registers)
        value = self.given[k]
        if (
            not isinstance(value, (np.ndarray, np.generic, float, complex))
            or type_of(value).dtype.kind not in "biufcmM"
        ):
            raise Untraceable(f"{node['call'].name} gives {type(value).__name__}", node["call"].line)
        result = call_result(node, path, type_of(value))
        self.registers[result] = k
        self.values[result] = _read_only(value)
        if isinstance(value, np.ndarray):
            self.orders.note(result, value.strides)
        return Tracer(result, self, scalar=isinstance(value, np.generic))

    def _check_effort(self, graph: Graph) -> None:
        """Stop where looks at values are so many, or so different, that compiling what is between them does not pay."""
        if graph not in self._made:
            if ("size", graph) not in self.memory:
                self.memory["size", graph] = len(graph.nodes())
            self._made[graph] = self.memory["size", graph]
        nodes = sum(self._made.values()) - max(self._made.values())
        if len(self.cuts) >= _MOST_LOOKS or len(self._made) > _MOST_SEGMENTS or nodes > _MOST_NODES:
            raise Untraceable(f"looks at values more than {len(self.cuts)} times", user_line())

    def live(self) -> list[Node]:
        """What the arrays and scalars that the function still holds are made of."""
        self._tracers = [ref for ref in self._tracers if ref() is not None]
        found = (ref() for ref in self._tracers)
        nodes = [n for t in found if t is not None for n in t._contents()]
        return list(dict.fromkeys(n for n in nodes if not self.is_known(n)))

    def pending_calls(self) -> list[Node]:
        """Results of calls that no segment has made yet, and which depend on no loop that is being recorded."""
        return [n for n in self.call_results if not is_recorded_in_a_loop(n)]

    def _free(self, wanted: Sequence[Node]) -> tuple[int, ...]:
        """Forget the registers that nothing needs any more."""
        live = {*self.live(), *wanted, *self.conditions}
        freed = [(n, k) for n, k in self.registers.items() if k >= self.inputs and n not in live]
        for n, k in freed:
            del self.registers[n]
            self.given[k] = None
        self.values = {n: _read_only(self.given[k]) for n, k in self.registers.items()}
        return tuple(k for _, k in freed)

    def host_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record that NumPy makes a call, and return its result as tracers.

        Raises
        ------
        Untraceable
            If the call writes into an argument or gives something else than arrays and numbers.
        """
        if name.rpartition(".")[2] in MUTATING or kwargs.get("out") is not None:
            raise Untraceable(f"{name} writes into an array", user_line())
        if self._execute is not None and (self.unsteady or function in VALUE_SHAPED):
            return self.call_and_look(function, name, args, kwargs)
        node = call_node(self, function, name, args, kwargs)
        try:
            result = self._result_of(node)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise Untraceable(f"{name} writes into an array", user_line()) from None
        self.host_calls.append((name, node["call"].line))
        made = self._wrap_result(node, result, ())
        self.aliases.note(node["call"], (args, kwargs), made, lambda t: self.values.get(self.laid_out(t)))
        return made

    def _result_of(self, node: Node) -> Any:
        """What a call gives that NumPy makes, which is kept for the run behind the trace.

        It is if kernels compute nothing of its operands, and if no floating-point exception is raised, which that run
        would report. The run may hand the arrays out, so they are the call's own.
        """
        operands = [self.value_of(n) for n in node.args]
        raised: list[str] = []
        with self.failures, tracing(None), np.errstate(all="call", call=lambda kind, _: raised.append(kind)):
            result = self.values[node] = evaluate((node,), self.values)[0]
        parts: list[Any] = []
        flatten(result, parts)
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        own = all(a.flags.writeable and not any(np.may_share_memory(a, o) for o in operands) for a in arrays)
        if own and not (raised or self.first_values) and all(map(self._is_at_hand, node.args)):
            self.answers[node["call"]] = result
        return result

    def _is_at_hand(self, node: Node) -> bool:
        """Whether the run behind the trace will have the value of `node` bit by bit as the trace has it."""
        stack = [node]
        while stack:
            n = stack.pop()
            if n in self.registers or (n.op is RESULT and n.args[0].numpy_kwargs.get("call") in self.answers):
                continue
            if n.op.kind not in _MOVING and n.op is not COPY:
                return False
            stack.extend(n.args)
        return True

    def borrowed(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call that NumPy makes, arrays of others which the function must not write into."""
        result = self.host_call(function, name, args, kwargs)
        for array in arrays_of(result):
            self.aliases.lend(array)
        return result

    def watch(self, condition: Callable[[], bool], why: str) -> bool:
        """The truth of something outside, which is asked for in every call."""
        if self._execute is None or self.first_values:
            raise Untraceable(f"depends on {why}", user_line())
        self.looks.append(None)
        self._cut([], lambda: Watch(condition), why)
        return bool(self.cuts[-1].key)

    def python_call(self, function: Callable[..., Any], *args: Node) -> Any:
        """``function(*args)`` of Python numbers."""
        with self.failures:
            value = function(*map(self.value_of, args))
        node = python_operation(function, args, value)
        if node is None:
            return self.host_call(function, function.__name__, tuple(Tracer(a, self) for a in args), {})
        self.values.setdefault(node, value)
        return Tracer(node, self)

    def mutating_call(
        self, function: Callable[..., Any], name: str, target: Node, args: tuple, kwargs: dict[str, Any]
    ) -> Node:
        """Record a call whose first argument is `target`, into which it writes; return what that is afterwards."""

        def on_copy(array: Any, *args: Any, **kwargs: Any) -> Any:
            copied = np.array(array, order="C")
            function(copied, *args, **kwargs)
            return copied

        node = call_node(self, on_copy, name, args, kwargs)
        value = self._result_of(node)  # raises what NumPy raises, also if nothing depends on what is written
        self.host_calls.append((name, node["call"].line))
        result = call_result(node, (), target.type)
        self.call_results.append(result)
        self.values[result] = value
        return result

    def draw(
        self,
        function: Callable[..., Any],
        shadow: Callable[..., Any],
        name: str,
        args: tuple,
        kwargs: dict[str, Any],
    ) -> Any:
        """Record that random numbers are drawn, after those that were drawn before.

        Parameters
        ----------
        function : callable
            What draws them.
        shadow : callable
            What gives numbers of the same type, and leaves the generator as it is.
        name : str
        args, kwargs
            Of the call.
        """
        self.draws += 1
        if self.first_values or self.draws > MOST_DRAWS or kwargs.get("out") is not None:
            raise Untraceable(f"draws random numbers ({name}) in a loop, or into an array", user_line())
        # Each draw takes a token from the one before, so that no step is moved across another.
        tokens = () if self._token is None else (Tracer(self._token, self),)

        def call(tokens: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
            return function(*args, **kwargs), _TOKEN

        node = call_node(self, call, name, (tokens, args, kwargs), {}, is_effect=True)
        operands = [_read_only(self.value_of(n)) for n in node.args]
        _, given, named = node["call"].arrange(operands)[0]
        with np.errstate(all="ignore"), tracing(None):
            value = shadow(*given, **named)
        self.values[node] = (value, _TOKEN)
        self.host_calls.append((name, node["call"].line))
        self._token = call_result(node, (1,), type_of(_TOKEN))
        self.call_results.append(self._token)
        self.values[self._token] = _TOKEN
        return self._wrap_result(node, value, (0,))

    def _wrap_result(self, node: Node, value: Any, path: tuple) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [self._wrap_result(node, v, (*path, k)) for k, v in enumerate(value)]
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return type(value)(parts)
        if type(value) in (bool, int):  # what the function does next may depend on it
            number = call_result(node, path, ArrayType(type_of(value).dtype, (), weak=True))
            return self.look(number, node["call"].name, type(value))
        if type(value) in (float, complex):
            return Tracer(call_result(node, path, type_of(value)), self)
        if value is None or isinstance(value, (bool, int, str, np.dtype)):
            raise Untraceable(f"{node['call'].name} gives a Python value", node["call"].line)
        try:
            type_ = type_of(value)
        except TypeError:
            type_ = None
        if type_ is None or type_.dtype.kind not in "biufcmM" or isinstance(value, np.ma.MaskedArray):
            raise Untraceable(f"{node['call'].name} gives {type(value).__name__}", node["call"].line)
        result = call_result(node, path, type_)
        self.call_results.append(result)
        self.values[result] = value
        if isinstance(value, np.ndarray):
            self.orders.note(result, value.strides)
        return Tracer(result, self, scalar=isinstance(value, np.generic))


def _read_only(value: Any) -> Any:
    """What a call that NumPy makes during the trace gets: it must not change an array a first time."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


class Failures:
    """A context for what may raise an exception that other values do not raise: the function may catch it."""

    def __init__(self) -> None:
        self.last: tuple[BaseException, str] | None = None
        """The last one, and the user's line."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, Exception):
            self.last = error, user_line()


def _base(node: Node) -> Node:
    """What `node` is a view of."""
    while node.op.kind is Kind.VIEW:
        node = node.args[0]
    return node
