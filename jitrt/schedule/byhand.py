"""Graphs as fusions that are scheduled by hand, and the functions of loops that these become.

    (np.exp(x) * 2).sum()   →   def loops(x):
                                    t2 = np.float64(0.0)
                                    for i0 in range(8):
                                        t0 = np.exp(x[i0])
                                        t1 = np.multiply(t0, np.float64(2.0))
                                        t2 = np.add(t2, t1)
                                    return t2

A function of loops is plain Python: it runs as it stands, slowly, and `jitrt.jit` compiles it.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.frozen import record
from ..ir.build import literal
from ..ir.node import Graph, Node
from ..ir.ops.folds import FOLD_IDENTITY
from ..ir.ops.movement import decode_index
from ..ir.ops.optable import OPS, Kind
from ..ir.ops.raising import FORCE, LEFT_OUT
from ..ir.rewrite import rewrite
from ..passes import lower
from ..passes.simplify import fold_constants, hoist_broadcast, merge_broadcasts
from .fusion import Expression, Fusion, ScheduleError, Tensor
from .looptree import LoopNode, Tree, bounds_of, index_texts, loop_tree, names_read, stored_axes
from .replay import root_map

_numbers = itertools.count()
_FOLDING = (fold_constants, hoist_broadcast, merge_broadcasts)  # the count of a mean is a literal, say


@record(eq=False)
class ByHand:
    """A fusion made of a graph.

    Parameters
    ----------
    fusion : Fusion
        Its tensors are split, merged, reordered, and computed at each other, by hand.
    tensors : dict of str to Tensor
        By the names of the function's parameters and variables; ``t0``, ``t1`` … where it has none.
    nodes : dict of Tensor to Node
        What each tensor is.
    outputs : list of Tensor
    views : dict of Tensor to str
        For slices and other shapes of inputs, which are tensors without a definition, what makes them.
    """

    fusion: Fusion
    tensors: dict[str, Tensor]
    nodes: dict[Tensor, Node]
    outputs: list[Tensor]
    views: dict[Tensor, str]

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __str__(self) -> str:
        return str(self.fusion)

    @property
    def source(self) -> str:
        """The text of the function of loops.

        Raises
        ------
        ScheduleError
            If the positions are illegal.
        """
        return _Writer(self).text()

    def function(self) -> Callable[..., Any]:
        """A function of the inputs, which runs the loops; `jitrt.jit` compiles it.

        It gives the arrays that are computed, each once, as a tuple if there are several; not tuples and dicts of
        results as the function has them, nor results that are arguments.
        """
        source, name = self.source, f"<schedule {next(_numbers)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        space: dict[str, Any] = {"np": np}
        exec(compile(source, name, "exec"), space)
        return space["loops"]


def by_hand(graph: Graph, inputs: Sequence[str], names: Mapping[Node, str]) -> ByHand:
    """The fusion of a graph, every tensor of which has loops of its own; what no result needs is left out.

    Raises
    ------
    ScheduleError
        If it has other operations than elementwise ones, folds, transposes, broadcasts, and views of inputs.
    """
    graph = graph.with_outputs([n for n in graph.outputs if n.op is not FORCE and n.op is not LEFT_OUT])
    named = [n for n in graph.nodes() if n in names]
    lowered = rewrite(graph.with_outputs((*graph.outputs, *named)), (*lower.RULES, *_FOLDING))
    names = {new: names[old] for old, new in zip(named, lowered.outputs[len(graph.outputs) :])}
    graph = lowered.with_outputs(lowered.outputs[: len(graph.outputs)])
    if any(literal(n) is not None for n in graph.outputs):
        raise ScheduleError("a result that is a constant is not scheduled by hand")
    fusion = Fusion()
    made = ByHand(fusion, {}, {}, [], {})
    of: dict[Node, Tensor] = {}
    fresh = (name for k in itertools.count() if (name := f"t{k}") not in inputs and name not in made.tensors)
    for node, name in zip(graph.inputs, inputs):
        written = name
        while _is_texts_own(written) or (written != name and written in inputs):
            written += "_"
        of[node] = made.tensors[name] = fusion.input(written, *node.shape)
        made.nodes[of[node]] = node
    for node in graph.nodes():
        if node not in of and literal(node) is None:
            own = names.get(node, "")
            is_free = own.isidentifier() and own not in made.tensors and not _is_texts_own(own)
            name = own if is_free else next(fresh)
            view = _view(node, of[node.args[0]]) if node.args and node.args[0] in of else ""
            is_given = view and of[node.args[0]].definition is None
            of[node] = fusion.input(name, *node.shape) if is_given else _tensor(fusion, name, node, of)
            if is_given:
                made.views[of[node]] = view
            made.tensors[name] = of[node]
            made.nodes[of[node]] = node
    made.outputs = [fusion.output(of[n]) for n in graph.outputs]
    return made


def _is_texts_own(name: str) -> bool:
    """Whether a name means something else in the function of loops: a module, a function or a counter."""
    return name in ("np", "range") or re.fullmatch(r"i\d+", name) is not None


def _view(node: Node, x: Tensor) -> str:
    """What makes a view of `x`, if it is a slice or a reshape."""
    if node.op.name == "reshape":
        return f"{x.name}.reshape({node.shape})"
    if node.op.name != "getitem":
        return ""
    return f"{x.name}[{', '.join(map(_index, decode_index(node['index']))) or '()'}]"


def _index(item: Any) -> str:
    if not isinstance(item, slice):
        return "..." if item is Ellipsis else str(item)
    return ":".join("" if bound is None else str(bound) for bound in (item.start, item.stop, item.step))


def _tensor(fusion: Fusion, name: str, node: Node, of: Mapping[Node, Tensor]) -> Tensor:
    if node.dtype.kind in "mM":
        raise ScheduleError(f"{node.dtype} is not scheduled by hand")
    operands = [of[a] for a in node.args if a in of]
    if node.op.kind is Kind.ELEMENTWISE and operands:
        return fusion.elementwise(name, *operands)
    if node.op.kind is Kind.REDUCTION and node.op in FOLD_IDENTITY:
        return fusion.reduce(name, operands[0], node["axes"])
    if node.op.name == "transpose":
        return fusion.transpose(name, operands[0], [int(k) for k in node["axes"]])
    if node.op.name == "expand_dims":
        axes = node["axis"]
        return fusion.broadcast(name, operands[0], (axes,) if isinstance(axes, int) else tuple(axes))
    if node.op.name == "broadcast_to":
        (x,) = node.args
        new = node.type.ndim - x.type.ndim
        ones = [k for k, n in enumerate(x.shape) if n == 1 and node.shape[k + new] != 1]
        narrow = fusion.squeeze(f"{name}_", of[x], ones) if ones else of[x]
        return fusion.broadcast(name, narrow, (*range(new), *(k + new for k in ones)))
    raise ScheduleError(f"{node.op.name} is not scheduled by hand")


class _Writer:
    """The text of a function of loops."""

    def __init__(self, made: ByHand):
        tree = loop_tree(made.fusion)
        if tree is None:
            raise ScheduleError("positions are set where loops cannot be nested")
        self.made, self.tree = made, tree
        self.inputs = [t for t in made.fusion.tensors if t.definition is None and t not in made.views]
        self.lines: list[str] = []
        self.started: set[Tensor] = set()
        self.counters = (f"i{k}" for k in itertools.count())

    def text(self) -> str:
        self.lines = [f"def loops({', '.join(t.name for t in self.inputs)}):"]
        for t, view in self.made.views.items():
            self._line(1, f"{t.name} = {view}")
        for t in self.made.fusion.tensors:
            axes = t.domain.array_axes if t.is_output else stored_axes(t)
            if t.definition is not None and axes:
                shape = tuple(a.extent for a in axes)
                start = self._neutral(t) if t.reduction_axes else "0"
                self._line(1, f"{t.name} = np.full({shape}, {start}, np.{self._dtype(t)})")
        self._walk(self.tree, [], 1)
        results = ", ".join(t.name for t in self.made.outputs)
        self._line(1, f"return {results}")
        return "\n".join(self.lines) + "\n"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _dtype(self, t: Tensor) -> str:
        while t not in self.made.nodes:
            (t,) = t.producers
        return self.made.nodes[t].dtype.name

    def _neutral(self, t: Tensor) -> str:
        node = self.made.nodes[t]
        return _number(FOLD_IDENTITY[node.op](node.dtype))

    def _walk(self, items: Tree, loops: list[str], depth: int) -> None:
        for item in items:
            expressions = list(_expressions(item))
            for t in (t for e in expressions for t in e.outputs):
                folded = [k for k, a in enumerate(t.axes) if a.is_reduction]
                if folded and folded[0] == len(loops) and t not in self.started and not _is_whole(t):
                    self.started.add(t)
                    at = [loops[k] if (k := t.axes.index(a)) < len(loops) else ":" for a in stored_axes(t)]
                    self._line(depth, f"{_subscripted(t.name, at)} = {self._neutral(t)}")
            if isinstance(item, Expression):
                self._statement(item, loops, depth)
            elif all(e.loops[len(loops)].is_broadcast for e in expressions):
                self._walk(item.body, [*loops, "0"], depth)
            else:
                counter = next(self.counters)
                self._line(depth, f"for {counter} in range({item.extent}):")
                self._walk(item.body, [*loops, counter], depth + 1)

    def _statement(self, e: Expression, loops: list[str], depth: int) -> None:
        (t,) = e.outputs
        limits = bounds_of(t.domain, loops)
        if limits:
            self._line(depth, f"if {' and '.join(limits)}:")
        operands = iter([self._read(p, t, axis_map, loops) for p, axis_map in zip(e.inputs, e.maps)])
        node = self.made.nodes.get(t)
        if node is None or node.op.kind is not Kind.ELEMENTWISE:
            value = next(operands)
        else:
            value = _computed(
                node, [_number(n) if (n := literal(a)) is not None else next(operands) for a in node.args]
            )
        if _is_whole(t):
            texts = index_texts(t.domain, loops)
            place = _subscripted(t.name, ["0" if a.is_broadcast else texts[a] for a in t.domain.array_axes])
        else:
            place = _subscripted(t.name, [loops[t.axes.index(a)] for a in stored_axes(t)])
        if t.reduction_axes:
            assert node is not None and node.op.ufunc is not None
            value = f"np.{node.op.ufunc.__name__}({place}, {value})"
        self._line(depth + bool(limits), f"{place} = {value}")

    def _read(self, p: Tensor, t: Tensor, axis_map: Any, loops: list[str]) -> str:
        if p.definition is None or _is_whole(p):
            texts = index_texts(t.domain, loops)
            pairs = {q: texts[c] for c, q in root_map(p.domain, t.domain, axis_map).items()}
            own = ["0" if a.is_broadcast else pairs.get(a, "0") for a in p.domain.array_axes]
            return _subscripted(p.name, own)
        names = names_read(p, t.domain, axis_map, loops)
        return _subscripted(p.name, [names[p.axes.index(a)] for a in stored_axes(p)])


def _is_whole(t: Tensor) -> bool:
    """Whether a tensor is an array that is returned."""
    return t.is_output and bool(t.domain.array_axes)


def _subscripted(name: str, at: Sequence[str]) -> str:
    return f"{name}[{', '.join(at)}]" if at else name


def _computed(node: Node, operands: Sequence[str]) -> str:
    """The value of one element."""
    if node.op.name == "cast":
        return f"np.{node.dtype.name}({operands[0]})"
    if node.op.name == "where":
        return f"({operands[1]} if {operands[0]} else {operands[2]})"
    if OPS.get(node.op.name) is node.op and node.op.ufunc is getattr(np, node.op.name, None):
        return f"np.{node.op.name}({', '.join(operands)})"
    raise ScheduleError(f"{node.op.name} is not scheduled by hand")


def _number(value: Any) -> str:
    value = np.asarray(value)
    text = repr(value.item())
    return f"np.{value.dtype.name}({text.replace('inf', 'np.inf').replace('nan', 'np.nan')})"


def _expressions(item: LoopNode | Expression) -> list[Expression]:
    return [item] if isinstance(item, Expression) else [e for inner in item.body for e in _expressions(inner)]
