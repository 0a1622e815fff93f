"""Folding of what depends on constant arrays alone: NumPy computes it once, and nothing of it is left in the graph.

    t0:f8[3] = multiply constant:f8[3] 2.0;  t1:f8[3] = add x0 t0  →  t1:f8[3] = add x0 constant:f8[3]

NumPy computes it before operands are cast and broadcast, so the result has NumPy's bits; where the user has asked for
wide constants, it computes in double precision, and what is read is rounded once. Memory is what the rest of
the graph reads, and little more: views share that of their operands, chains of elementwise operations on large arrays
are computed in chunks, and what is between is freed as soon as nothing needs it.
"""

from __future__ import annotations

import _thread
import itertools
import math
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from functools import cache
from typing import Any

import numpy as np

from .. import config
from ..ir import build as b
from ..ir.node import Graph, Node, topological_order
from ..ir.ops.optable import CONSTANT, Kind, Op
from ..ir.ops.ufuncs import CAST
from ..ir.strided import depends
from ..policy import FOLDED_BYTES

_CHUNK = 1 << 16  # elements
_SHARED = 1 << 18  # elements of results that are worth a thread
_PIECES = 8  # that two threads take one after the other
_WIDE = {"e": "d", "f": "d", "F": "D"}  # in which wide constants are computed
_COMPUTED = frozenset({Kind.ELEMENTWISE, Kind.REDUCTION, Kind.SCAN, Kind.COMPOUND})
_WIDENED = _COMPUTED | {Kind.ASSEMBLE, Kind.UPDATE}  # whose results are computed, or lie in new memory
_KINDS = _WIDENED | {Kind.VIEW, Kind.GATHER}


def fold_constants(graph: Graph) -> Graph:
    """`graph` with constants for what depends on constant arrays alone; itself if there is nothing like that.

    What NumPy would warn of, or fail at, stays, since each call has to do so; and so do operations whose folding,
    as in ``fold_exp``, is among the rules that are switched off.
    """
    off = config.rules_off()
    sizes: dict[Node, int] = {}  # of the largest array that what is constant depends on; 0 for scalars
    for node in graph.nodes():
        if node.op is CONSTANT:
            sizes[node] = node.type.nbytes if node.shape else 0
        elif (
            node.args
            and all(a in sizes for a in node.args)
            and _may_be_folded(node)
            and f"fold_{node.op.name}" not in off
        ):
            largest = max(sizes[a] for a in node.args)
            if node.op.kind is Kind.VIEW or node.type.nbytes <= max(FOLDED_BYTES, largest):
                sizes[node] = largest
    read = {a for node in graph.nodes() if node not in sizes for a in node.args}
    read.update(graph.outputs)
    roots = _roots([n for n in graph.nodes() if n in read], sizes)
    if not roots:
        return graph
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        done = _Folder(roots, graph.rounding.wide_constants).constants()
    for node in topological_order(graph.outputs, known=done):
        done[node] = node.with_args(tuple([done[a] for a in node.args]))
    return graph.with_outputs([done[n] for n in graph.outputs])


def _may_be_folded(node: Node) -> bool:
    return _is_known(node.op) and not node.type.weak and not depends(node.shape)


@cache
def _is_known(op: Op) -> bool:
    is_pure = (op.kind in _KINDS and op.name != "guarded") or op.fold is not None
    return is_pure and op.numpy is not None


def _roots(read: Iterable[Node], sizes: dict[Node, int]) -> list[Node]:
    """What is to be folded: of what is read, what depends on arrays, and is not larger than it may be."""
    found: dict[Node, None] = {}
    stack = [n for n in read if sizes.get(n)]
    while stack:
        node = stack.pop()
        if node.op is CONSTANT or node in found:
            continue
        if node.op.kind is Kind.VIEW and node.type.nbytes > max(FOLDED_BYTES, sizes[node]):
            stack += [a for a in node.args if sizes.get(a)]
        else:
            found[node] = None
    return [n for n in topological_order(list(found)) if n in found]


class _Folder:
    """Computes constants; `roots` tells for how long values are needed, `is_wide` that they are of double precision."""

    def __init__(self, roots: Sequence[Node], is_wide: bool):
        self._is_wide = is_wide
        self._values: dict[Node, np.ndarray] = {}
        self._order = [n for n in topological_order(roots) if n.op is not CONSTANT]
        self._uses = Counter(arg for node in self._order for arg in node.args)
        self._kept = frozenset(roots)

    def constants(self) -> dict[Node, Node]:
        """The constants that the roots are; where NumPy would warn, constants for what these depend on."""
        done: dict[Node, Node] = {}
        failed: set[Node] = set()
        for node in self._order:
            if failed and not failed.isdisjoint(node.args):
                failed.add(node)
            elif self._is_deferred(node):
                continue
            else:
                try:
                    value = self._computed(node)
                except Exception:
                    failed.add(node)
                else:
                    self._values[node] = value
                    self._release(node)
                    if node in self._kept:
                        done[node] = _as_constant(node, value)
                    continue
            for arg in node.args:
                if arg in self._values and arg not in done and arg.type.nbytes <= self._values[arg].nbytes:
                    done[arg] = _as_constant(arg, self._values[arg])
        return done

    def _is_deferred(self, node: Node) -> bool:
        """Whether the elements are computed where they are read, a chunk at a time."""
        is_large = node.op.kind is Kind.ELEMENTWISE and node.type.size > _CHUNK
        return is_large and self._uses[node] == 1 and node not in self._kept

    def _value(self, node: Node) -> np.ndarray:
        return node["value"].value if node.op is CONSTANT else self._values[node]

    def _computed(self, node: Node) -> np.ndarray:
        args = [self._value(a) for a in node.args if a.op is CONSTANT or a in self._values]
        if len(args) == len(node.args):
            return self._apply(node, args)
        chain = [n for n in topological_order([node], self._values) if n.op is not CONSTANT]
        sources = [n for m in chain for n in m.args if n.op is CONSTANT or n in self._values]
        if node.op.kind is Kind.ELEMENTWISE and self._is_chunked(chain, sources):
            return self._by_chunks(node, chain)
        for inner in chain[:-1]:
            self._values[inner] = self._apply(inner, [self._value(a) for a in inner.args])
        return self._apply(node, [self._value(a) for a in node.args])

    def _is_chunked(self, chain: Sequence[Node], sources: Sequence[Node]) -> bool:
        if chain[-1].shape[0] < 2:
            return False
        # NumPy computes elementary functions of strided arrays by other code, so their rows are not sliced.
        contiguous = all(np.asarray(self._value(n)).flags.c_contiguous for n in sources)
        return contiguous or not any(n.op.is_function for n in chain)

    def _by_chunks(self, node: Node, chain: Sequence[Node]) -> np.ndarray:
        dtype = self._dtype(node) if self._uses[node] else node.dtype
        made, within = np.empty(node.shape, dtype), frozenset(chain)
        rows = max(1, _CHUNK // max(1, node.type.size // node.shape[0]))
        for start in range(0, node.shape[0], rows):
            part: dict[Node, np.ndarray] = {}

            def value(n: Node, start: int = start, part: dict[Node, np.ndarray] = part) -> np.ndarray:
                found = part.get(n)
                if found is None:
                    whole = self._value(n)
                    is_sliced = np.ndim(whole) == len(node.shape) and np.shape(whole)[0] != 1
                    found = part[n] = whole[start : start + rows] if is_sliced else whole
                return found

            for inner in chain:
                part[inner] = self._apply(inner, [value(a) for a in inner.args])
                for arg in inner.args:
                    if arg in within:
                        part.pop(arg, None)
            made[start : start + rows] = part[node]
        return made

    def _release(self, node: Node) -> None:
        """Forget what was needed for `node` alone."""
        stack = list(node.args)
        while stack:
            arg = stack.pop()
            self._uses[arg] -= 1
            if arg.op is not CONSTANT and arg not in self._values:
                stack += arg.args
            elif self._uses[arg] == 0 and arg not in self._kept:
                self._values.pop(arg, None)

    def _apply(self, node: Node, args: Sequence[np.ndarray]) -> np.ndarray:
        function: Callable[..., np.ndarray] | None = node.op.numpy
        assert function is not None
        kwargs = node.numpy_kwargs
        if self._is_wide and (node.op.kind in _WIDENED or node.op.fold is not None):
            args = [_widened(x) for x in args]
            if "dtype" in kwargs and node.op.kind is Kind.ASSEMBLE:
                kwargs = kwargs | {"dtype": self._dtype(node)}
            if node.op is CAST and node.dtype.char in _WIDE:
                return args[0]
        if isinstance(function, np.ufunc) and not node.op.is_function and node.type.size > _SHARED and not node.params:
            return _by_two_threads(function, args)
        return function(*args, **kwargs) if node.params else function(*args)

    def _dtype(self, node: Node) -> np.dtype:
        """That of the values of a node."""
        return np.dtype(_WIDE.get(node.dtype.char, node.dtype)) if self._is_wide else node.dtype


def _by_two_threads(function: np.ufunc, args: Sequence[Any]) -> np.ndarray:
    """A result, of which another thread computes some of the rows if it is large, under the same error state."""
    shape = np.broadcast_shapes(*map(np.shape, args))
    is_large = math.prod(shape) > _SHARED and shape[0] > 1
    has_dtypes = all(isinstance(x, (np.ndarray, np.generic)) for x in args)
    if not (is_large and has_dtypes and (config.threads_from_environment() or config.processors()) > 1):
        return function(*args)
    made = np.empty(shape, function.resolve_dtypes((*(x.dtype for x in args), None))[-1])
    failures: list[Exception] = []
    bounds = np.linspace(0, shape[0], min(_PIECES, shape[0]) + 1).astype(int).tolist()
    pieces = [slice(*rows) for rows in itertools.pairwise(bounds)]
    count, computed = len(pieces), []

    def compute() -> None:
        while pieces:
            try:
                rows = pieces.pop()
            except IndexError:  # the other thread was faster
                return
            parts = [x[rows] if np.ndim(x) == len(shape) and np.shape(x)[0] > 1 else x for x in args]
            try:
                function(*parts, out=made[rows])
            except Exception as error:
                failures.append(error)
            computed.append(rows)

    ended = threading.Event()

    def help_out() -> None:
        compute()
        ended.set()

    # Nobody waits for a thread that the system does not let run: `threading.Thread.start` would.
    _thread.start_new_thread(copy_context().run, (help_out,))
    compute()
    if len(computed) < count:
        ended.wait()
    if failures:
        raise failures[0]
    return made


def _widened(x: np.ndarray) -> np.ndarray:
    wide = _WIDE.get(np.asarray(x).dtype.char)
    return x if wide is None else np.asarray(x, wide)


def _as_constant(node: Node, value: np.ndarray) -> Node:
    array = np.asarray(value)
    if array.dtype.char == _WIDE.get(node.dtype.char):
        try:
            array = array.astype(node.dtype)
        except FloatingPointError:  # which NumPy may be asked to report
            return node
    if (array.dtype, array.shape) != (node.dtype, node.shape):  # an operation whose type NumPy does not give
        return node
    return b.constant(array[()] if array.ndim == 0 else np.ascontiguousarray(array))
