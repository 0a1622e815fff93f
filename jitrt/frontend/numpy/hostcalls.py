"""Calls that are left to NumPy: what a trace records of them, and the tracers that stand for what they give."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import config
from ...base.arrays import is_writeable
from ...base.dtypes import is_twin
from ...errors import LoopsWanted, Untraceable
from ...ir.aliasing import is_lent
from ...ir.extents import is_extent
from ...ir.interpret import evaluate, stored
from ...ir.node import Node, type_of
from ...ir.ops.contractions import RESULT, Call, call_result
from ...ir.ops.movement import base_of
from ...ir.ops.optable import ASKS_OF_INVALID, MUTATING, VALUE_SHAPED, WITH_EFFECTS, Kind, NotCovered
from ...ir.ops.pythonnumbers import python_operation
from ...ir.ops.steps import RULES, SMALL, Shape, drawn, small_array
from ...ir.ops.ufuncs import COPY
from ...ir.types import ArrayType, contiguous_strides, fortran_strides
from ...policy import FOLDED_BYTES
from ...values.kinds import DICT, flatten, kind_of, rebuild
from ..context import tracing, wants_loops
from ..forms import check
from ..python.userline import user_line
from ..registers import read_only
from ..segments import MadeCall, Operand, is_recorded_in_a_loop, outside_of_loops
from .aliases import arrays_of
from .calls import call_node
from .draws import MOST_DRAWS
from .functions import form_in
from .operators import is_tracer
from .silence import watched
from .tracer import Tracer

if TYPE_CHECKING:
    from ..state import Trace

_log = logging.getLogger("jitrt.trace")

_MOVING = frozenset({Kind.SOURCE, Kind.VIEW, Kind.GATHER, Kind.UPDATE, Kind.ASSEMBLE})  # values as they are
_TOKEN = np.zeros((), np.int8)
_TOKEN.flags.writeable = False


class HostCalls:
    """The calls of one trace that NumPy makes.

    Parameters
    ----------
    trace : Trace
    unsteady : bool
        Whether they give other types in other calls of the function.
    answers : dict
        What they gave, if it is what they will give again in the run behind the trace.
    """

    def __init__(self, trace: Trace, unsteady: bool, answers: dict[Call, Any]):
        self._trace = trace
        self._unsteady = unsteady
        self.answers = answers
        self.noted: list[tuple[str, str]] = []
        """Their names and the user's lines."""
        self.results: list[Node] = []
        """What they give: they are made, since they may raise, or give another shape next time."""
        self.draws = 0
        """How often random numbers have been drawn."""
        self._token: Node | None = None

    def host_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record that NumPy makes a call, and return its result as tracers.

        Raises
        ------
        Untraceable
            If the call writes into an argument or gives something else than arrays and numbers.
        """
        trace = self._trace
        if trace.has_forms:
            check(form_in((args, kwargs)), name)
        if name.rpartition(".")[2] in MUTATING or kwargs.get("out") is not None:
            raise Untraceable(f"{name} writes into an array", user_line())
        node = call_node(trace, function, name, args, kwargs)
        known = self._of_constants(node) if _is_pure(function, (args, kwargs)) else None
        if known is not None:
            return known
        _offer(function, name)
        if trace.breaks.are_possible and (self._unsteady or function in VALUE_SHAPED):
            return self.call_and_look(function, name, args, kwargs)
        if function in RULES:
            self._want_extents(
                node["call"].arguments([n.type for n in node.args]), RULES[function].shapes, args, kwargs
            )
        shapes = None
        try:
            if trace.is_general:
                result, shapes = self._inferred(node, function)
            else:
                result = self._result_of(node)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise Untraceable(f"{name} writes into an array", user_line()) from None
        self._note(node)
        made = self._wrap_result(node, result, (), shapes)
        trace.aliases.note(node["call"], (args, kwargs), made, lambda t: trace.registers.values.get(trace.laid_out(t)))
        return made

    def _note(self, node: Node) -> None:
        self.noted.append((node["call"].title, node["call"].line))
        self._trace.effects.step(node)

    def external_call(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record a call of a function that is not NumPy's, and return its result as tracers; raises as `host_call`."""
        trace = self._trace
        if trace.has_forms:
            check(form_in((args, kwargs)), name)
        if trace.breaks.are_possible and self._unsteady:
            return self.call_and_look(function, name, args, kwargs)
        if trace.is_general:
            raise Untraceable(f"what {name} gives is not known before it is called", user_line())
        node = call_node(trace, function, name, args, kwargs)
        copies = [np.array(v, order="K") if isinstance(v, np.ndarray) else v for v in map(trace.value_of, node.args)]
        result = self._result_of(node, copies)
        if any(
            isinstance(v, np.ndarray) and trace.value_of(n).tobytes() != v.tobytes() for n, v in zip(node.args, copies)
        ):
            raise Untraceable(f"{name} writes into an array", user_line())
        self._note(node)
        made = self._wrap_result(node, result, (), is_external=True)
        arrays = list(arrays_of(made))
        values = [trace.registers.values.get(a._node) for a in arrays]
        for k, (array, value) in enumerate(zip(arrays, values)):
            if any(isinstance(v, np.ndarray) and np.may_share_memory(value, v) for v in copies):
                for operand in arrays_of((args, kwargs)):
                    trace.aliases.pair(array, operand, copied=False)
            for other, seen in zip(arrays[:k], values):
                if np.may_share_memory(value, seen):
                    trace.aliases.pair(array, other, copied=True)
        return made

    def call_and_look(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call that NumPy makes, and whose shape the function sees."""
        trace = self._trace
        if trace.has_forms:
            check(form_in((args, kwargs)), name)
        _offer(function, name)
        node = call_node(trace, function, name, args, kwargs)
        if not trace.breaks.are_possible or (trace.loops.first_values and is_recorded_in_a_loop(node)):
            raise Untraceable(f"{name} gives arrays whose shapes depend on values", user_line())
        bases = [n for n in dict.fromkeys(map(base_of, node.args)) if not trace.is_known(n)]
        for base in bases:
            trace.effects.guard(base)
        made: list[MadeCall] = []

        def make() -> MadeCall:
            operands = [
                Operand(-1, n, n, trace.value_of(n))
                if trace.is_known(n)
                else Operand(trace.registers[base_of(n)], base_of(n), n)
                for n in node.args
            ]
            made.append(MadeCall(node["call"], tuple(operands), len(trace.registers.given)))
            return made[0]

        with tracing(None):
            trace.breaks.look(bases, make, name)
        self._note(node)
        result = self._wrap_registers(
            node, made[0].structure, iter(range(made[0].first, len(trace.registers.given))), ()
        )
        if made[0].shares:
            for array in arrays_of(result):
                for operand in arrays_of((args, kwargs)):
                    trace.aliases.pair(array, operand, copied=True)
        return result

    def borrowed(self, function: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a call that NumPy makes, arrays of others which the function must not write into."""
        result = self.host_call(function, name, args, kwargs)
        for array in arrays_of(result):
            self._trace.aliases.lend(array)
        return result

    def python_call(self, function: Callable[..., Any], *args: Node) -> Any:
        """``function(*args)`` of Python numbers."""
        trace = self._trace
        with trace.failures:
            value = function(*map(trace.value_of, args))
        node = python_operation(function, args, value)
        if node is None:
            return self.host_call(function, function.__name__, tuple(Tracer(a, trace) for a in args), {})
        trace.registers.values.setdefault(node, value)
        return Tracer(node, trace)

    def mutating_call(
        self, function: Callable[..., Any], name: str, target: Node, args: tuple, kwargs: dict[str, Any]
    ) -> Node:
        """Record a call whose first argument is `target`, into which it writes; return what that is afterwards."""
        trace = self._trace
        leaves: list[Any] = []
        flatten((args, kwargs), leaves)
        if target.dtype.kind in "iuf" and any(map(_is_complex, leaves)):  # NumPy warns where it discards parts
            raise Untraceable(f"{name} writes complex numbers into an array of real ones", user_line())

        def on_copy(array: Any, *args: Any, **kwargs: Any) -> Any:
            copied = np.array(array, order="C")
            function(copied, *args, **kwargs)
            return copied

        node = call_node(trace, on_copy, name, args, kwargs)
        known = self._of_constants(node)
        if known is not None:
            return trace.node_of(known)
        _offer(function, name)
        if not trace.is_general:
            self._result_of(node)  # raises what NumPy raises, also if nothing depends on what is written
        self._note(node)
        result = call_result(node, (), target.type)
        self.results.append(result)
        return result

    def _of_constants(self, node: Node) -> Any:
        """What a call gives whose operands depend on no input, made now, as literals.

        None where each call has to make it: it may warn, or fail, or be in the memory of an operand, or be large.
        """
        from .creation import literal

        trace = self._trace
        if trace.is_general or not node.args or not all(map(trace.is_known, node.args)):
            return None  # for calls of any shape, what depends on no input may depend on extents
        if "fold_steps" in config.rules_off():
            return None
        operands = [np.array(stored(trace.value_of(n), trace.orders.strides(n)), order="K") for n in node.args]
        parts: list[Any] = []
        try:
            with np.errstate(all="raise"), warnings.catch_warnings(), tracing(None):
                warnings.simplefilter("error")
                tree = flatten(node["call"](*(x if x.ndim else x[()] for x in operands)), parts)
        except Exception:
            return None
        most = max(FOLDED_BYTES, *(x.nbytes for x in operands))
        for value in parts:
            is_array = type(value) is np.ndarray and _has_kernels(value.dtype) and value.nbytes <= most
            is_array = is_array and _is_in_order(value)
            is_number = type(value) in (bool, int, float, complex) or isinstance(value, (np.number, np.bool_))
            if not (is_array or is_number) or any(np.may_share_memory(value, x) for x in operands):
                return None
        return rebuild(tree, iter([literal(trace, value) for value in parts])) if parts else None

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
        trace = self._trace
        if trace.has_forms:
            check(form_in((args, kwargs)), name)
        self.draws += 1
        trace.effects.phase()
        if trace.loops.first_values or self.draws > MOST_DRAWS or kwargs.get("out") is not None:
            raise Untraceable(f"draws random numbers ({name}) in a loop, or into an array", user_line())
        # Each draw takes a token from the one before, so that no step is moved across another.
        tokens = () if self._token is None else (Tracer(self._token, trace),)

        def call(tokens: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
            return function(*args, **kwargs), _TOKEN

        node = call_node(trace, call, name, (tokens, args, kwargs), {}, is_effect=True)
        shapes, types = None, node["call"].arguments([n.type for n in node.args])[0][1:]
        self._want_extents(types, lambda *a, **k: drawn(shadow, a, k), args, kwargs)
        with np.errstate(all="ignore"), tracing(None), watched(trace, name):
            if trace.is_general:
                shapes = iter(drawn(shadow, *types))
                _, given, named = self._small(node)[0]
            else:
                _, given, named = node["call"].arguments([read_only(trace.value_of(n)) for n in node.args])[0]
            value = shadow(*given, **named)
        if not trace.is_general:
            trace.registers.values[node] = (value, _TOKEN)
        self._note(node)
        self._token = call_result(node, (1,), type_of(_TOKEN))
        self.results.append(self._token)
        if not trace.is_general:
            trace.registers.values[self._token] = _TOKEN
        return self._wrap_result(node, value, (0,), shapes)

    def pending(self) -> list[Node]:
        """Results of calls that no segment has made yet, and which depend on no loop that is being recorded."""
        return outside_of_loops(self.results)

    def computed(self) -> None:
        """Note that a segment has been computed: segments follow each other anyway."""
        if self._token in self._trace.registers.places:
            self._token = None

    def _result_of(self, node: Node, given: list[Any] | None = None) -> Any:
        """What a call gives that NumPy makes, which is kept for the run behind the trace.

        It gets the values of its operands, or what is `given` in place of these.

        It is if kernels compute nothing of its operands, and if no floating-point exception is raised, which that run
        would report. The run may hand the arrays out, so they are the call's own.
        """
        trace = self._trace
        operands = [trace.value_of(n) for n in node.args] if given is None else given
        raised: list[str] = []
        kinds: dict[str, Any] = dict.fromkeys(["divide", "over", "under", "invalid"], "call")
        if node["call"].function in ASKS_OF_INVALID:
            kinds["invalid"] = trace.breaks.errors["invalid"]
        noted = np.errstate(**kinds, call=lambda kind, _: raised.append(kind))
        with trace.failures, tracing(None), noted, watched(trace, node["call"].name):
            if given is None:
                result = evaluate((node,), trace.registers.values)[0]
            else:
                result = trace.registers.values[node] = node["call"](*given)
        parts: list[Any] = []
        flatten(result, parts)
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        own = all(not any(np.may_share_memory(a, o) for o in operands) and is_writeable(a) for a in arrays)
        if own and not (raised or trace.loops.first_values) and all(map(self._is_at_hand, node.args)):
            self.answers[node["call"]] = result
        return result

    def _want_extents(
        self, types: tuple[tuple, dict], shapes: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
    ) -> None:
        """End the trace if the shapes of results depend on integers that are symbols.

        Parameters
        ----------
        types : tuple
            The arguments of a call, with types in place of arrays.
        shapes : callable
            The rule for the shapes of its results.
        args, kwargs
            The arguments with tracers.
        """
        try:
            shapes(*types[0], **types[1])
        except NotCovered:  # a type in place of an integer
            leaves: list[Any] = []
            flatten((args, kwargs), leaves)
            for leaf in leaves:
                if is_tracer(leaf) and leaf._is_weak():
                    self._trace.want_integers(leaf._node)
        except Exception as error:  # which NumPy is about to raise
            _log.debug("a rule for shapes: %s", error)

    def _inferred(self, node: Node, function: Callable[..., Any]) -> tuple[Any, Iterator[Shape]]:
        """What is like that which a call gives, but small, and the shapes that its arrays have."""
        rule = RULES.get(function)
        if rule is None:
            raise Untraceable(f"what {node['call'].name} gives is not known before it is called", user_line())
        args, kwargs = node["call"].arguments([n.type for n in node.args])
        shapes = iter(rule.shapes(*args, **kwargs))
        with tracing(None):
            return rule.ask(function, *self._small(node)), shapes

    def _small(self, node: Node) -> tuple[tuple, dict]:
        """The arguments of a call with small arrays in place of its operands."""
        small = node["call"].changed(lambda leaf: SMALL if is_extent(leaf) else leaf)
        return small.arguments([small_array(n.type, self._trace.orders.strides(n)) for n in node.args])

    def _is_at_hand(self, node: Node) -> bool:
        """Whether the run behind the trace will have the value of `node` bit by bit as the trace has it."""
        stack, seen = [node], {node}
        while stack:
            n = stack.pop()
            if n in self._trace.registers or (n.op is RESULT and n.args[0].numpy_kwargs.get("call") in self.answers):
                continue
            if n.op.kind not in _MOVING and n.op is not COPY:
                return False
            stack += (a for a in n.args if a not in seen)
            seen.update(n.args)
        return True

    def _wrap_result(
        self,
        node: Node,
        value: Any,
        path: tuple,
        shapes: Iterator[Shape] | None = None,
        is_external: bool = False,
    ) -> Any:
        """Tracers for the parts of a result; with `shapes`, `value` is but like it, and its arrays have these."""
        trace = self._trace
        kind = kind_of(value, objects=False)
        if kind is not None and kind is not DICT:
            what, parts = kind.take(value)
            made = [self._wrap_result(node, v, (*path, k), shapes, is_external) for k, v in enumerate(parts)]
            return kind.made(what, made)
        if is_external and value is None:  # the result of functions that only write
            return None
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise Untraceable(f"{node['call'].name} gives an integer of more than 64 bits", node["call"].line)
        if is_external and type(value) is int:  # a status mostly, which nothing reads
            number = call_result(node, path, type_of(value))
            trace.registers.values[number] = value
            return Tracer(number, trace)
        if type(value) in (bool, int):  # what the function does next may depend on it
            number = call_result(node, path, ArrayType(type_of(value).dtype, (), weak=True))
            return trace.look(number, node["call"].name, type(value))
        if type(value) in (float, complex):
            number = call_result(node, path, type_of(value))
            self.results.append(number)
            return Tracer(number, trace)
        if value is None or isinstance(value, (bool, int, str, np.dtype)):
            raise Untraceable(f"{node['call'].name} gives a Python value", node["call"].line)
        try:
            type_ = type_of(value) if value.dtype.names is None else None  # integers may have fields, too
        except (AttributeError, TypeError):
            type_ = None
        if type_ is None or not _has_kernels(value.dtype) or isinstance(value, np.ma.MaskedArray):
            raise Untraceable(f"{node['call'].name} gives {_kind(value)}", node["call"].line)
        if shapes is not None:
            shape = next(shapes)
            if len(shape) != type_.ndim:
                raise Untraceable(f"what {node['call'].name} gives is not known before it is called", user_line())
            type_ = ArrayType(type_.dtype, shape)
        result = call_result(node, path, type_)
        self.results.append(result)
        if shapes is None:
            trace.registers.values[result] = value
        if isinstance(value, np.ndarray):
            trace.orders.note_like(result, value)
        if shapes is not None:  # such calls lend nothing
            return Tracer(result, trace, scalar=isinstance(value, np.generic))
        return self._stored_as(value, result)

    def _wrap_registers(self, node: Node, structure: Any, registers: Any, path: tuple) -> Any:
        """Tracers for the parts of a result that are in registers."""
        trace = self._trace
        if structure is not None:
            kind, what, parts = structure
            steps = zip(kind.steps(what, parts), parts)
            return kind.made(what, [self._wrap_registers(node, s, registers, (*path, *step)) for step, s in steps])
        k = next(registers)
        value = trace.registers.given[k]
        if not isinstance(value, (np.ndarray, np.generic, float, complex)) or not _has_kernels(np.asarray(value).dtype):
            raise Untraceable(f"{node['call'].name} gives {_kind(value)}", node["call"].line)
        result = call_result(node, path, type_of(value))
        trace.registers.places[result] = k
        trace.registers.values[result] = read_only(value)
        if isinstance(value, np.ndarray):
            trace.orders.note(result, value.strides)
        return self._stored_as(value, result)

    def _stored_as(self, value: Any, result: Node) -> Tracer:
        """A tracer for what a call gives: a view that it lends is left as it is, though its elements overlap."""
        made = Tracer(result, self._trace, scalar=isinstance(value, np.generic))
        if isinstance(value, np.ndarray) and is_lent(result):
            made._own(value.strides)
        return made


def _offer(function: Callable[..., Any], name: str) -> None:
    """Let loops over elements serve the call of the whole function, if they can do what `function` does.

    Raises
    ------
    LoopsWanted
        If they can.
    """
    if wants_loops():
        from ..control.library import has_loops_for

        if has_loops_for(function):
            raise LoopsWanted(f"{name} is a loop", user_line())


def _is_in_order(array: np.ndarray) -> bool:
    """Whether an array lies in memory as one that NumPy makes in C's or in Fortran's order."""
    strides = contiguous_strides if array.flags.c_contiguous else fortran_strides
    return array.strides == strides(array.shape, array.itemsize)


def _is_pure(function: Callable[..., Any], given: Any) -> bool:
    """Whether a function of NumPy's does nothing but to compute, and calls nothing of what it is given."""
    if not isinstance(function, (np.ufunc, type(np.sum))) or function.__name__ in WITH_EFFECTS:
        return False
    leaves: list[Any] = []
    flatten(given, leaves)
    return not any(callable(v) and not isinstance(v, type) for v in leaves)


def _is_complex(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return isinstance(value, complex) if dtype is None else getattr(dtype, "kind", "") == "c"


def _has_kernels(dtype: np.dtype) -> bool:
    return dtype.kind in "biufcmM" and dtype.isnative and not is_twin(dtype)


def _kind(value: Any) -> str:
    """What people are told that a value is."""
    return f"an array of {value.dtype}" if type(value) is np.ndarray else f"a value of type {type(value).__name__}"
