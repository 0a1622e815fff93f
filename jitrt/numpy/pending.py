"""What lazy arrays have recorded and nobody has looked at yet: one graph, computed in pieces.

The nodes are those of a trace. Arrays that exist, and Python's numbers, are inputs of the graph, numbered in the order
in which they are first used since the last piece was computed. A loop that does the same in every turn therefore
records the same nodes, and one look into a table gives their program.

An array that nobody else can see is an input as it is. Of others, into which the user may write, the graph takes a
copy, which serves as long as the elements are the same.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..frontend.forms import ordinary
from ..frontend.numpy.numbers import EXPONENTS
from ..frontend.numpy.order import Orders
from ..frontend.segments import graph_from_registers
from ..frontend.storage import fit
from ..ir import build as b
from ..ir.interpret import stored
from ..ir.node import Graph, Node, topological_order, type_of
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from ..ir.ops.ufuncs import COPY
from ..ir.ops.updates import update
from ..ir.types import ArrayType, contiguous_strides
from ..programs import Compiled
from .memory import Memory, part_of
from .parts import Part, root
from .pieces import Pieces
from .reporting import Reporting
from .vain import InVain

ENOUGH, MOST = 64, 512  # operations of a piece: it ends where it began in the user's code, or anywhere
_REMEMBERED = 1 << 14  # nodes and graphs by what they were made of
_MOST_ORDERS = 1 << 10  # of inputs in which strides of nodes are remembered
_SMALL_UPDATES = 8  # of an array that nobody has looked at, as of the edges of a grid
_FLOATS, _INTEGERS = frozenset("fdFD"), frozenset("bhilqBHILQ")  # dtypes, by their letters: their hash takes long
_EXPONENTS = frozenset({bool, int, float})  # those of a zero are the same for both zeros
_EXACT = 1 << 24  # integers that every float but half precision holds
_LOOKS = 64  # at elements, while something is pending
_FEW_BYTES = 1 << 12  # of an array, whose elements are hashed
KINDS = frozenset("biufc")  # of dtypes


class NotLazy(Exception):
    """The graph has no node for an operation, so NumPy does it at once."""


class Pending:
    """The graph of what has been recorded; all threads share one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.memo: dict[Any, Any] = {}
        """Nodes by what they are made of, for operations that come again."""
        self._orders = Orders({})
        """Strides of nodes of pieces all of whose inputs are in C's order."""
        self._further: dict[Any, Orders] = {}
        """The same where there is one more input that is not, by what they were before and that input."""
        self.pieces = Pieces()
        self.vain = InVain()
        self._reporting: Reporting | None = None
        self.values: dict[Node, Any] = {}
        """What inputs are; native code looks whether there are any, so that it is the same dict for good."""
        self.number = 0
        """How often the graph has been empty."""
        self.computed = 0
        """How many pieces have been computed."""
        self._reset()

    def _reset(self) -> None:
        self.number += 1
        if len(self.memo) > _REMEMBERED:
            self.memo.clear()
            self._further.clear()
            self._orders = Orders({})
        self.operations = self._looked_at = self._looks = 0
        self._inputs = 0
        self._place: Any = None
        self.values.clear()
        self._memories: list[weakref.ref[Memory]] = []
        self._copies: dict[Any, tuple[np.ndarray, Node]] = {}
        self.orders = self._orders
        self._strided: dict[Node, tuple[int, ...]] = {}

    # -- recording

    def begin(self, size: int | None = 0) -> None:
        """Get ready to record an operation on so many elements; None if it is known that recording it gains something.

        Raises
        ------
        NotLazy
            If the error state asks for reports at the line of the operation, or if nothing is gained by recording it.
        """
        if size is not None and self.vain.left and self.is_vain(size):
            raise NotLazy
        if self._reporting is None or not self._reporting.is_current():
            self.compute()
            self._reporting = Reporting()
        if not self._reporting.is_lazy:
            raise NotLazy
        self.operations += 1
        if self.operations == 1:
            self._place = _users_place()
        elif self.operations > ENOUGH and (self.operations > MOST or _users_place() == self._place):
            self.compute()
            self.operations, self._place = 1, _users_place()

    def look(self) -> None:
        """Note a look at an element that exists while something is pending.

        Many in a row, with nothing recorded between them, are those of a loop, which native code serves as soon as
        nothing is pending: what somebody still holds is computed, the rest forgotten.
        """
        if self._looked_at != self.operations:
            self._looked_at, self._looks = self.operations, 0
        self._looks += 1
        if self._looks > _LOOKS:
            self.compute()

    def is_vain(self, size: int = 0) -> bool:
        """Whether the user's code gains nothing by recording an operation on so many elements."""
        if not self.vain.left:
            return False
        place = _users_place()
        return place is not None and self.vain.holds(place[0], size)

    def input(self, value: Any) -> Node:
        """Another input of the graph."""
        type_ = type_of(value)
        key = self._inputs, type_.dtype, type_.shape, type_.weak
        node = self.memo.get(key)
        if node is None:
            node = self.memo[key] = b.input_node(self._inputs, type_)
        self._inputs += 1
        self.values[node] = value
        if type_.ndim > 1 and not value.flags.c_contiguous:
            self._note_strides(node, value.strides)
        return node

    def _note_strides(self, node: Node, strides: tuple[int, ...]) -> None:
        """Go on with what is known of nodes where an input has these strides."""
        self._strided[node] = strides
        key = self.orders, node, strides
        found = self._further.get(key)
        if found is None:
            if len(self._further) >= _MOST_ORDERS:
                self._further.clear()
            found = self._further[key] = Orders(self._strided)
        self.orders = found

    def scalar(self, value: Any, char: str, weak: bool = True) -> Node:
        """Another input, a number: one of Python's, or one of NumPy's of the dtype with this letter."""
        key = self._inputs, char
        node = self.memo.get(key)
        if node is None:
            node = self.memo[key] = b.input_node(self._inputs, ArrayType(np.dtype(char), (), weak))
        self._inputs += 1
        self.values[node] = value
        return node

    def of_part(self, memory: Memory, part: Part | None) -> Node:
        """The node of an array: of a part of its memory, or of all of it."""
        whole = memory.node
        if whole is not None:
            if part is None:
                return whole
            node = self.memo.get((whole, part))
            if node is None:
                node = self.memo[whole, part] = part.seen(whole)
            return node
        if memory.piece == self.number:
            # Nobody can have seen it since it was borrowed: what is pending and reads it is computed before.
            node = memory.inputs.get(part)
            if node is not None:
                return node
        if not self.is_private(memory):
            return self.of_copy(self.read(memory, part))
        node = memory.inputs[part] = self.input(self.read(memory, part))
        return node

    def root(self, memory: Memory) -> Part:
        """All of a memory as a part."""
        found = memory.root
        if found is None:
            node = memory.node
            if node is None:
                value = memory.value
                strides = value.strides
                if strides == contiguous_strides(value.shape, value.itemsize):
                    strides = None
            else:
                strides = self.orders.strides(node) if node.type.ndim > 1 else None
            found = memory.root = root(memory.type, strides)
        return found

    def is_private(self, memory: Memory) -> bool:
        """Whether nobody can see the elements of a memory but lazy arrays."""
        if memory.piece != self.number:
            memory.piece = self.number
            memory.inputs = {}
        return memory.is_private()

    def of_copy(self, array: np.ndarray) -> Node:
        """The node of an array into which others may write: a copy of its elements as they are now."""
        if array.dtype.kind not in KINDS:
            raise NotLazy
        key: tuple[Any, ...]
        if array.nbytes <= _FEW_BYTES:  # are compared as the key that they are part of
            dtype = array.dtype
            key = array.tobytes(), dtype.char, dtype.byteorder, array.shape, array.strides
            known = self._copies.get(key)
            if known is not None:
                return known[1]
        else:
            key = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
            known = self._copies.get(key)
            if known is not None and _are_same(known[0], array):
                return known[1]
        copied = _copied(ordinary(array))
        node = self.input(copied)
        self._copies[key] = copied, node
        return node

    def number_of(self, value: Any, ufunc: np.ufunc, chars: str) -> Node:
        """The node of a number, an operand of `ufunc` beside arrays of dtypes with these letters.

        It is an input, since the next turn of a loop may have another one, but for exponents, bools and what decides
        about the dtype of the result.
        """
        kind = type(value)
        if ufunc not in EXPONENTS:
            if kind is float or kind is complex:
                return self.scalar(value, "d" if kind is float else "D")
            if kind is int:
                if _FLOATS.issuperset(chars) and -_EXACT <= value <= _EXACT:
                    return self.scalar(float(value), "d")
                if _INTEGERS.issuperset(chars) and len(set(chars)) == 1:
                    return self.scalar(np.dtype(chars[0]).type(value), chars[0], weak=False)
        if kind in _EXPONENTS:
            node = self.memo.get((kind, value))
            if node is None:
                node = self.memo[kind, value] = b.constant(value)
            return node
        if kind is complex:
            return b.constant(value)
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return self.input(value)
        raise NotLazy

    def made(self, node: Node) -> Memory:
        """Memory that will hold what `node` gives, as soon as somebody looks at it."""
        memory = Memory(None, node)
        self._memories.append(weakref.ref(memory))
        return memory

    def assign(self, memory: Memory, part: Part | None, value: Node) -> bool:
        """Let a part of the memory have this value; False if its elements have to be written now.

        They have to where others see them, and where the part is so small that a new value of the whole array would
        take longer.
        """
        if (memory.node is None and not self.is_private(memory)) or not memory.is_writable(part):
            return False
        if part is not None and part.is_little:
            memory.small_updates += 1
            if memory.node is None or memory.small_updates > _SMALL_UPDATES or _is_filled(memory.node):
                return False
        old = self.of_part(memory, None)
        key = "assign", old, part, value, self.orders
        node = self.memo.get(key)
        if node is None:
            if part is not None:
                node = update(old, value, part.region)
            else:
                node = self.in_order(self.fresh(value), self.orders.of_result(old))
            self.memo[key] = node
        if memory.node is None:  # one that has a node is in the list: an array may be updated many times
            self._memories.append(weakref.ref(memory))
        memory.pending(node)
        return True

    def copied(self, node: Node) -> Node:
        """A copy of what a node gives, in C's order."""
        key = "copied", node
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = b.copy(node, 0)
        return found

    def fitted(self, node: Node, part: Part) -> Node:
        """What a part of a memory becomes if the value of a node is assigned to it.

        Raises
        ------
        ValueError
            If it does not broadcast.
        """
        key = "fitted", node, part
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = fit(node, part.type.dtype, part.type.shape)
        return found

    def fresh(self, node: Node) -> Node:
        """A node with the value of `node` that is no view, no input and no literal."""
        is_own = base_of(node) is node and node.op.kind is not Kind.SOURCE
        return node if is_own else b.copy(node, 0)

    def is_in_c_order(self, node: Node) -> bool:
        """Whether an array is certain to be C-contiguous."""
        if node in self.values:
            return np.asarray(self.values[node]).flags.c_contiguous
        return node.type.ndim < 2 or (node.op.kind is not Kind.VIEW and self.orders.strides(node) is None)

    def in_order(self, node: Node, strides: tuple[int, ...] | None) -> Node:
        """A node with the value of `node` in memory that has these strides; None for a C-contiguous array."""
        if node.type.ndim > 1 and self.orders.of_result(node) != strides:
            node = Node(COPY, (node,), b.params(number=("order", strides)), node.type)
        return node

    # -- computing

    def read(self, memory: Memory, part: Part | None = None) -> Any:
        """The elements of an array, which are computed if they are not known; nobody must write into them."""
        if memory.node is not None:
            self.compute([memory])
        if part is None:
            return memory.value
        found = part_of(memory.value, part.region)
        assert found is not None
        return found

    def written(self, target: np.ndarray) -> None:
        """Get ready for a write to `target`: what reads its memory, and is older, is computed before."""
        if self.reads(target):
            self.compute()

    def reads(self, array: np.ndarray) -> bool:
        """Whether something that is pending reads the memory of `array`."""
        return any(isinstance(v, np.ndarray) and np.may_share_memory(v, array) for v in self.values.values())

    def compute(self, wanted: Sequence[Memory] | None = None) -> None:
        """Compute the elements of `wanted` and of what leads to them, or else of all arrays that somebody holds."""
        with self.lock:
            live = [m for ref in self._memories if (m := ref()) is not None and m.node is not None]
            chosen = live if wanted is None else self._needed(wanted, live)
            for memory, value in zip(chosen, self._compute([m.node for m in chosen if m.node is not None])):
                memory.known(value)
            if len(chosen) == len(live):
                self._reset()
            else:
                self._keep([m for m in live if m.node is not None])

    def _needed(self, wanted: Sequence[Memory], live: list[Memory]) -> list[Memory]:
        """Those of `live` that are wanted, or lead to what is."""
        roots = tuple([m.node for m in wanted if m.node is not None])
        key = "needed", roots, tuple([m.node for m in live]), tuple(self.values)
        numbers = self.memo.get(key)
        if numbers is None:
            needed = set(topological_order(roots, self.values)).union(roots)
            numbers = self.memo[key] = [k for k, m in enumerate(live) if m.node in needed]
        return [live[k] for k in numbers]

    def _compute(self, nodes: list[Node]) -> list[Any]:
        """The values of nodes, each in memory of its own."""
        seen = {n for n in nodes if n in self.values}  # which others hold
        missing = [n for n in dict.fromkeys(nodes) if n not in seen]
        if missing:
            graph, sources = self._graph(tuple(missing))
            assert self._reporting is not None
            with self._reporting.entered():
                outputs, is_vain = self.pieces.run(graph, [self.values[n] for n in sources])
            place = _users_place()
            if place is not None:
                self.vain.note(place[0], is_vain)
            self.computed += 1
            for node, output, own in zip(missing, outputs, graph.strides):
                self.values[node] = stored(output, own)
        found = []
        for node in nodes:
            value = self.values[node]
            found.append(value.copy(order="K") if node in seen else value)
            seen.add(node)
        return found

    def _graph(self, roots: tuple[Node, ...]) -> tuple[Graph, list[Node]]:
        """The graph that gives these, and the inputs of all that has been recorded that it reads."""
        key = "graph", roots, self.orders, tuple(self.values)
        found = self.memo.get(key)
        if found is None:
            strides = [self.orders.of_result(n) if n.type.ndim > 1 else None for n in roots]
            sources = list(self.values)
            graph, read = graph_from_registers(roots, {node: k for k, node in enumerate(sources)}, strides)
            found = self.memo[key] = graph, [sources[k] for k in read]
        return found

    def _keep(self, pending: list[Memory]) -> None:
        """Forget what neither these nor arrays that exist need any more: a part of the graph has been computed."""
        self._memories = [weakref.ref(m) for m in pending]
        roots = [m.node for m in pending if m.node is not None]
        needed = {a for n in topological_order(roots, self.values) for a in (n, *n.args)} | set(roots)
        # Arrays that exist become inputs anew, under other numbers.
        for node in [n for n in self.values if n not in needed]:
            del self.values[node]
        self._copies = {}
        self.number += 1

    def explained(self, memory: Memory) -> Compiled | None:
        """What computes the elements of an array that nobody has looked at."""
        with self.lock:
            if memory.node is None:
                return None
            graph, sources = self._graph((memory.node,))
            return self.pieces.programs.compile(graph, [self.values[n] for n in sources])


def _is_filled(node: Node) -> bool:
    """Whether a node gives an array of one number, as of `zeros_like`, which NumPy has at once."""
    while len(node.args) == 1:
        node = node.args[0]
    return not node.args and node.op.name == "constant"


def _copied(array: np.ndarray) -> np.ndarray:
    """A copy of an array with its axes in the same order of memory, and broadcast ones as they are."""
    is_repeated = [s == 0 and n > 1 for s, n in zip(array.strides, array.shape)]
    if not any(is_repeated):
        return np.array(array, order="K")
    once = array[tuple([slice(0, 1) if repeated else slice(None) for repeated in is_repeated])]
    return np.broadcast_to(np.array(once, order="K"), array.shape)


def _are_same(copied: np.ndarray, array: np.ndarray) -> bool:
    """Whether the elements are the same, bit by bit; False if that would take longer to say than another copy."""
    size = array.dtype.itemsize
    if size > 8 or not array.dtype.isnative or not array.flags.aligned:
        return False
    return bool((copied.view(f"u{size}") == array.view(f"u{size}")).all())


_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPYS = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def _users_place() -> tuple[Any, int] | None:
    """Where the user's code is: the innermost frame outside of this package and NumPy."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_FOLDER, _NUMPYS)):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else (frame.f_code, frame.f_lasti)


PENDING = Pending()


def _after_fork() -> None:
    PENDING.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
