"""The loop tree: which loops enclose which expressions, given the positions of the tensors.

Axes left of a tensor's position are one loop with the axes of its consumers. Expressions with a common outermost loop
are nested in it, in an order in which producers come before consumers; if there is no such order, or if a consumer
would read in a loop what is complete only behind it, the positions are illegal.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence

from ..base.frozen import frozen
from .domain import Axis, Domain, Merge, Split
from .fusion import AxisMap, Expression, Fusion, Tensor
from .replay import loop_keys, mapped_prefix, root_map

LOOP_NAMES = "ijklmnopqrstuvwxyz"


class Classes:
    """Disjoint sets of things that are the same."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}

    def find(self, x: Hashable) -> Hashable:
        root = x
        while (above := self._parent.get(root, root)) is not root:
            root = above
        while (above := self._parent.get(x, x)) is not root:
            self._parent[x] = root
            x = above
        return root

    def join(self, x: Hashable, y: Hashable) -> None:
        x, y = self.find(x), self.find(y)
        if x is not y:
            self._parent[x] = y


@frozen(eq=False)
class LoopNode:
    """A loop around expressions and further loops; `extent` is that of its axes that are not broadcast."""

    extent: int
    body: tuple[LoopNode | Expression, ...]


Tree = tuple[LoopNode | Expression, ...]


def loop_tree(fusion: Fusion) -> Tree | None:
    """The loop tree for the present positions; None if they are illegal."""
    classes = _loop_classes(fusion)
    tree = _nest(fusion.expressions, 0, classes)
    return tree if tree is not None and _is_complete(tree) else None


def _loop_classes(fusion: Fusion) -> Classes:
    classes = Classes()
    for e in fusion.expressions:
        for sibling in e.outputs[1:]:
            for a, b in zip(e.outputs[0].axes, sibling.axes):
                classes.join(a, b)
    for tensor in fusion.tensors:
        for use in tensor.uses:
            for consumer in use.outputs:
                _join(classes, tensor, consumer, tensor.position)
        if tensor.first_use is not None:
            position, consumer = tensor.first_use
            _join(classes, tensor, consumer, position)
    return classes


def _join(classes: Classes, producer: Tensor, consumer: Tensor, position: int) -> None:
    for a, b in zip(producer.axes[:position], consumer.axes):
        classes.join(a, b)


def _nest(expressions: Sequence[Expression], level: int, classes: Classes) -> Tree | None:
    """Partition by the loop at `level`, ordered by the dependencies between the parts."""
    parts: dict[Hashable, list[Expression]] = {}
    part_of: dict[Expression, Hashable] = {}
    for e in expressions:
        key = classes.find(e.loops[level]) if level < len(e.loops) else e
        parts.setdefault(key, []).append(e)
        part_of[e] = key
    after: dict[Hashable, set[Hashable]] = {key: set() for key in parts}
    for e in expressions:
        for before in (*(t.definition for t in e.inputs), *e.after):
            if before in part_of and (source := part_of[before]) != part_of[e]:
                after[source].add(part_of[e])
    order = topological(after)
    if order is None:
        return None
    body: list[LoopNode | Expression] = []
    for key in order:
        members = parts[key]
        if level >= len(members[0].loops):
            body.extend(members)
            continue
        inner = _nest(members, level + 1, classes)
        if inner is None:
            return None
        body.append(LoopNode(max(t.axes[level].extent for e in members for t in e.outputs), inner))
    return tuple(body)


def topological(after: dict[Hashable, set[Hashable]]) -> list[Hashable] | None:
    """Keys in an order that puts each before those `after` it, otherwise as given; None if there is a circle."""
    waiting = dict.fromkeys(after, 0)
    for keys in after.values():
        for key in keys:
            waiting[key] += 1
    rank = {key: k for k, key in enumerate(after)}
    ready = [key for key, n in waiting.items() if n == 0]
    order: list[Hashable] = []
    while ready:
        key = min(ready, key=rank.__getitem__)
        ready.remove(key)
        order.append(key)
        for following in after[key]:
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    return order if len(order) == len(after) else None


def _is_complete(tree: Tree) -> bool:
    """Whether no consumer stands in a loop with its producer beyond the loops in which it needs one element of it."""
    loops = dict(_enclosing(tree, ()))
    for consumer, around in loops.items():
        if any(a is b for before in consumer.after for a, b in zip(around, loops[before])):
            return False
        for tensor, axis_map in zip(consumer.inputs, consumer.maps):
            if tensor.definition is None or tensor.definition not in loops:
                continue
            shared = sum(a is b for a, b in zip(around, loops[tensor.definition]))
            if shared and shared > min(mapped_prefix(tensor.domain, c.domain, axis_map) for c in consumer.outputs):
                return False
    return True


def _enclosing(tree: Tree, around: tuple[LoopNode, ...]) -> Iterator[tuple[Expression, tuple[LoopNode, ...]]]:
    for item in tree:
        if isinstance(item, LoopNode):
            yield from _enclosing(item.body, (*around, item))
        else:
            yield item, around


def stored_axes(tensor: Tensor) -> tuple[Axis, ...]:
    """Axes of the memory of a tensor: none for a register, all for an output, which has them in the array's order."""
    whole = tensor.is_output or tensor.definition is None
    axes = tensor.axes if not whole else tensor.domain.logical if not tensor.domain.transforms else tensor.axes
    return tuple(a for a in axes[0 if whole else tensor.position :] if not a.is_reduction and not a.is_broadcast)


def print_loops(fusion: Fusion, tree: Tree) -> str:
    """The loops and statements of `tree`; loops over broadcast axes, which run once, are left out."""
    printer = _Printer()
    printer.walk(tree, [])
    return "\n".join(printer.lines)


class _Printer:
    """Lines of a loop tree."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = ""
        self.names = itertools.chain(LOOP_NAMES, (f"i{k}" for k in itertools.count()))
        self.started: set[Tensor] = set()

    def walk(self, items: Tree, loops: list[str]) -> None:
        for item in items:
            expressions = [item] if isinstance(item, Expression) else [e for e, _ in _enclosing((item,), ())]
            self._start_reductions([t for e in expressions for t in e.outputs], len(loops))
            if isinstance(item, Expression):
                self._statement(item, loops)
            elif all(e.loops[len(loops)].is_broadcast for e in expressions):
                self.walk(item.body, [*loops, "0"])
            else:
                name = next(self.names)
                self._line(f"for {name} in {item.extent}:")
                self.indent += "  "
                self.walk(item.body, [*loops, name])
                self.indent = self.indent[2:]

    def _start_reductions(self, tensors: list[Tensor], depth: int) -> None:
        """The neutral element is stored before the outermost reduction loop."""
        for t in tensors:
            folded = [k for k, a in enumerate(t.axes) if a.is_reduction]
            if folded and folded[0] == depth and t not in self.started:
                self.started.add(t)
                inner = [":" for a in stored_axes(t) if a in t.axes[depth:]]
                self._line(f"{t.name}{'[' + ','.join(inner) + ']' if inner else ''} = neutral")

    def _statement(self, e: Expression, loops: list[str]) -> None:
        operands = []
        for tensor, axis_map in zip(e.inputs, e.maps):
            operands.append(_element(tensor, names_read(tensor, e.outputs[0].domain, axis_map, loops)))
        limits = bounds_of(e.outputs[0].domain, loops)
        if limits:
            self._line(f"if {' and '.join(limits)}:")
        for t in e.outputs:
            equals = "(+)=" if t.reduction_axes else "="
            self._line(f"{'  ' if limits else ''}{_element(t, loops)} {equals} {e.op}({','.join(operands)})")

    def _line(self, text: str) -> None:
        self.lines.append(self.indent + text)


def names_read(tensor: Tensor, consumer: Domain, axis_map: AxisMap, loops: Sequence[str]) -> list[str]:
    """Where along its loop axes a producer is read, in the names of the loops of the consumer."""
    producer = tensor.domain
    keys_p, keys_c = loop_keys(producer, consumer, axis_map)
    texts = index_texts(consumer, loops)
    made = dict.fromkeys(producer.array_axes, "0")
    made |= {p: texts[c] for c, p in root_map(producer, consumer, axis_map).items() if not p.is_broadcast}
    for t in producer.transforms:
        if isinstance(t, Split) and t.source in made:
            source = _factor(made[t.source])
            made |= {t.outer: f"{source}//{t.inner.extent}", t.inner: f"{source}%{t.inner.extent}"}
        elif isinstance(t, Merge) and {t.outer, t.inner} <= made.keys():
            made[t.result] = f"{_factor(made[t.outer])}*{t.inner.extent}+{made[t.inner]}"
    # What is merged with a broadcast axis has its key, and more loops.
    if any(a.is_broadcast for a in (*producer.logical, *consumer.root)):
        return [loops[k] if k < tensor.position else made.get(a, "0") for k, a in enumerate(producer.axes)]
    same = {key: name for key, name in zip(keys_c, loops) if key is not None}
    return [same.get(key, made.get(a, "0")) for a, key in zip(producer.axes, keys_p)]


def index_texts(domain: Domain, loops: Sequence[str]) -> dict[Axis, str]:
    """The index along each axis, of what its loops are made of too, as text in the names of the loops.

    Examples
    --------
    >>> from .domain import iteration_domain
    >>> domain = iteration_domain(8).split(0, 3)
    >>> index_texts(domain, ["i", "j"])[domain.root[0]]
    'i*3+j'
    """
    texts = dict(zip(domain.axes, loops))
    for t in reversed((*domain.views, *domain.transforms)):
        if isinstance(t, Split):
            texts[t.source] = f"{_factor(texts[t.outer])}*{t.inner.extent}+{texts[t.inner]}"
        else:
            texts[t.outer] = f"{_factor(texts[t.result])}//{t.inner.extent}"
            texts[t.inner] = f"{_factor(texts[t.result])}%{t.inner.extent}"
    return texts


def bounds_of(domain: Domain, loops: Sequence[str]) -> list[str]:
    """What holds inside of the array where an axis is split by a factor that does not divide it.

    Examples
    --------
    >>> from .domain import iteration_domain
    >>> bounds_of(iteration_domain(8).split(0, 3), ["i", "j"]), bounds_of(iteration_domain(8).split(0, 4), ["i", "j"])
    (['i*3+j < 8'], [])
    """
    texts = index_texts(domain, loops)
    splits = [t for t in (*domain.views, *domain.transforms) if isinstance(t, Split)]
    found = [(texts[t.source], t.source.extent) for t in splits if t.source.extent % t.inner.extent]
    return [f"{text} < {extent}" for text, extent in found if any(c.isalpha() for c in text)]


def _factor(text: str) -> str:
    """A text as a factor."""
    return text if text.isalnum() else f"({text})"


def _element(tensor: Tensor, names: Sequence[str]) -> str:
    """The element of a tensor where its loops have these names."""
    indices = [names[tensor.axes.index(a)] for a in stored_axes(tensor)]
    return f"{tensor.name}[{','.join(indices)}]" if indices else tensor.name
