"""Positions: how many loops a producer shares with its consumers.

``compute_at(fusion, producer, consumer, position)`` computes `producer` in the outermost `position` loops of
`consumer`. The loops of all tensors between the two, and on to their first common consumer, are transformed alike;
then each gets its own position, which depends on its consumers alone and not on the way by which it was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import combinations

from .domain import Axis, Merge, Split
from .fusion import Fusion, ScheduleError, Tensor
from .looptree import Classes, loop_tree
from .replay import (
    consumer_position,
    edge_map,
    mapped_prefix,
    producer_position,
    replay_consumer,
    replay_producer,
    replay_sibling,
    root_map,
)


def compute_at(fusion: Fusion, producer: Tensor, consumer: Tensor, position: int, best_effort: bool = False) -> None:
    """Compute `producer` in the first `position` loops of `consumer`.

    Parameters
    ----------
    fusion : Fusion
    producer, consumer : Tensor
        The consumer need not read the producer directly.
    position : int
        Counted in loops of the consumer; negative positions count from the innermost, -1 being inside of all.
    best_effort : bool
        Take the deepest legal position that is not deeper.

    Raises
    ------
    ScheduleError
        If there is no dependency, or, without `best_effort`, if a tensor cannot be computed that deep.
    """
    if producer is consumer or consumer not in dependents(producer):
        raise ScheduleError(f"{consumer.name} does not depend on {producer.name}")
    position = _normalised(consumer, position)
    selected = _selected(fusion, producer, consumer)
    positions = propagate(fusion, consumer, position, selected)
    before = _snapshot(fusion)
    try:
        for tensor in reversed(fusion.tensors):
            if tensor in selected:
                inline_at(fusion, tensor, positions.get(tensor, 0), best_effort)
    except ScheduleError:
        _restore(before)
        raise


def inline_most(fusion: Fusion, tensors: Iterable[Tensor] | None = None) -> dict[Tensor, str]:
    """Compute each of `tensors`, by default all, as deep in the loops of its consumers as is legal.

    Returns
    -------
    dict of Tensor to str
        What does not allow a deeper position.
    """
    chosen = set(fusion.tensors if tensors is None else tensors)
    bounds = _Bounds(fusion)
    reasons: dict[Tensor, str] = {}
    for tensor in reversed(fusion.tensors):
        if tensor in chosen:
            limit, reasons[tensor] = bounds.limit(tensor)
            if _inline(fusion, tensor, limit, bounds) < limit:
                reasons[tensor] = "further in, loops would need each other"
    return reasons


def inline_at(fusion: Fusion, tensor: Tensor, position: int, best_effort: bool = False) -> None:
    """Compute `tensor` at a `position` of its own loops; a position that it already has only grows.

    Raises
    ------
    ScheduleError
        If it cannot be computed that deep, unless `best_effort`.
    """
    position = _normalised(tensor, position)
    bounds = _Bounds(fusion)
    limit, reason = bounds.limit(tensor)
    while position and position <= len(tensor.axes) and tensor.axes[position - 1].is_broadcast:
        position -= 1
    if position > limit and not best_effort:
        raise ScheduleError(f"{tensor.name} cannot be computed inside of {position} loops of its consumers: {reason}")
    reached = _inline(fusion, tensor, min(position, limit), bounds)
    if reached < min(position, limit) and not best_effort:
        raise ScheduleError(
            f"{tensor.name} cannot be computed inside of {position} loops of its consumers: loops would need each other"
        )


def compute_with(fusion: Fusion, tensors: Iterable[Tensor] | None = None) -> None:
    """Compute tensors that have to be stored in the loops of one of their consumers, which then reads them at once.

    The storage of a tensor stays what its position makes it. The first consumer, that is one which does not depend on
    another consumer, is taken, if the loops can be nested so.
    """
    for tensor in reversed(fusion.tensors if tensors is None else list(tensors)):
        if tensor.definition is None or not tensor.uses:
            continue
        for consumer in tensor.consumers:
            if any(consumer in dependents(other) for other in tensor.consumers if other is not consumer):
                continue
            limit = min(mapped_prefix(tensor.domain, consumer.domain, m) for m in _edges(tensor, consumer))
            if _compute_with(fusion, tensor, consumer, limit):
                break


def limit(fusion: Fusion, tensor: Tensor) -> tuple[int, str]:
    """The deepest position that the axes of a tensor and its consumers allow, and what does not allow a deeper one."""
    return _Bounds(fusion).limit(tensor)


def unmappable_axes(fusion: Fusion) -> list[tuple[Tensor, int]]:
    """Axes, by tensor and number, that cannot be one loop with those of all consumers: the tensor has to be stored."""
    bounds = _Bounds(fusion)
    return [(t, k) for t in fusion.tensors for k, a in enumerate(t.domain.logical) if a in bounds.unmappable]


def common_consumer(producer: Tensor, consumer: Tensor) -> Tensor | None:
    """The first tensor, at or after `consumer`, on all ways from `producer` to results; None if there is none."""

    def always_meets(tensor: Tensor, target: Tensor) -> bool:
        stack, seen = [tensor], {tensor}
        while stack:
            t = stack.pop()
            if t is target:
                continue
            if not t.uses:
                return False
            for c in t.consumers:
                if c not in seen:
                    seen.add(c)
                    stack.append(c)
        return True

    for candidate in [consumer, *_in_order(dependents(consumer), consumer)]:
        if always_meets(producer, candidate):
            return candidate
    return None


def dependents(tensor: Tensor) -> set[Tensor]:
    """All tensors that depend on `tensor`."""
    found: set[Tensor] = set()
    stack = [tensor]
    while stack:
        for c in stack.pop().consumers:
            if c not in found:
                found.add(c)
                stack.append(c)
    return found


def propagate(
    fusion: Fusion, reference: Tensor, position: int, selected: Collection[Tensor] | None = None
) -> dict[Tensor, int]:
    """Replay the transformations of `reference` left of `position` on other tensors.

    Tensors are reached along a maximum spanning tree, by the hop over which most axes of the reference are still known:
    no axis is lost by the way that is taken if there is a way on which it is kept.

    Parameters
    ----------
    selected : collection of Tensor, optional
        A hop towards producers leads into it, one towards consumers begins or ends in it; by default all tensors.

    Returns
    -------
    dict of Tensor to int
        The position in each tensor that is aligned with `position`.
    """
    chosen = set(fusion.tensors if selected is None else selected)
    known: dict[Tensor, frozenset[Axis]] = {reference: frozenset(reference.domain.logical)}
    where: dict[Tensor, dict[Axis, frozenset[Axis]]] = {
        reference: {a: frozenset([a]) for a in reference.domain.logical}
    }
    positions = {reference: position}
    while True:
        best: tuple[int, int, Tensor, Tensor, str] | None = None
        for number, source in enumerate(list(known)):
            for target, way in _hops(source, chosen):
                if target not in known:
                    weight = len(_carried(source, target, way, where[source])[1])
                    if best is None or (weight, -number) > best[:2]:
                        best = (weight, -number, source, target, way)
        if best is None:
            return positions
        _, _, source, target, way = best
        where[target], known[target] = _carried(source, target, way, where[source])
        fixed = max([target.position, *(p.position for p in target.producers)])
        if way == "consumer":
            domain, aligned = replay_consumer(source.domain, target.domain, edge_map(source, target), positions[source])
        elif way == "producer":
            domain, aligned = replay_producer(target.domain, source.domain, edge_map(target, source), positions[source])
        else:
            domain, aligned = replay_sibling(target.domain, source.domain, positions[source])
        if domain.axes[:fixed] != target.axes[:fixed]:
            raise ScheduleError(f"{target.name} shares {fixed} loops already, which would have to change")
        target.domain, positions[target] = domain, aligned


# Propagation.
def _hops(source: Tensor, chosen: set[Tensor]) -> Iterable[tuple[Tensor, str]]:
    for t in source.siblings:
        yield t, "sibling"
    for t in source.producers:
        if t in chosen:
            yield t, "producer"
    for t in source.consumers:
        if t in chosen or source in chosen:
            yield t, "consumer"


def _carried(
    source: Tensor, target: Tensor, way: str, where: dict[Axis, frozenset[Axis]]
) -> tuple[dict[Axis, frozenset[Axis]], frozenset[Axis]]:
    """For each logical axis of the target the axes of the reference in it, and all of these."""
    if way == "sibling":
        carried = {b: where.get(a, frozenset()) for a, b in zip(source.domain.logical, target.domain.logical)}
    elif way == "consumer":
        pairs = root_map(source.domain, target.domain, edge_map(source, target))
        carried = {c: where.get(p, frozenset()) for c, p in pairs.items()}
        for t in target.domain.views:
            if isinstance(t, Split):
                carried[t.outer] = carried[t.inner] = carried.get(t.source, frozenset())
            else:
                carried[t.result] = carried.get(t.outer, frozenset()) | carried.get(t.inner, frozenset())
    else:
        back = dict(where)
        for t in reversed(source.domain.views):
            if isinstance(t, Split):
                back[t.source] = back.get(t.outer, frozenset()) | back.get(t.inner, frozenset())
            else:
                back[t.outer] = back[t.inner] = back.get(t.result, frozenset())
        pairs = root_map(target.domain, source.domain, edge_map(target, source))
        carried = {p: back.get(c, frozenset()) for c, p in pairs.items()}
    return carried, frozenset().union(*carried.values()) if carried else frozenset()


def _selected(fusion: Fusion, producer: Tensor, consumer: Tensor) -> set[Tensor]:
    """Tensors that get a position: those between the producer and the common consumer, or all that depend on it."""
    common = common_consumer(producer, consumer)
    after = dependents(producer)
    if common is None:
        between = {t for t in after if t.uses}
    else:
        between = {t for t in after if common in dependents(t)}
    selected = {producer, *between}
    return selected | {s for t in selected for s in t.siblings}


def _in_order(tensors: set[Tensor], after: Tensor) -> list[Tensor]:
    """`tensors`, all of which depend on `after`, producers first."""
    order: list[Tensor] = []
    seen: set[Tensor] = set()

    def visit(t: Tensor) -> None:
        if t in seen or t not in tensors:
            return
        seen.add(t)
        for p in t.producers:
            visit(p)
        order.append(t)

    stack = list(tensors)
    for t in stack:
        visit(t)
    return order


# Positions.
def _normalised(tensor: Tensor, position: int) -> int:
    n = len(tensor.axes)
    result = position + n + 1 if position < 0 else position
    if not 0 <= result <= n:
        raise ScheduleError(f"{tensor.name} has {n} loops, so {position} is not a position in them")
    return result


def _edges(producer: Tensor, consumer: Tensor) -> list[tuple[int | None, ...]]:
    assert consumer.definition is not None
    return list(consumer.definition.edges(producer))


def _inline(fusion: Fusion, tensor: Tensor, position: int, bounds: _Bounds) -> int:
    """Try positions from `position` down to the present one; the one that is reached."""
    limit = bounds.limit(tensor)[0]
    position = min(position, limit)
    while position > tensor.position:
        if not tensor.axes[position - 1].is_broadcast:
            before = tensor.position
            tensor.position = position
            if loop_tree(fusion) is not None:
                return position
            tensor.position = before
        position -= 1
    return tensor.position


def _compute_with(fusion: Fusion, tensor: Tensor, consumer: Tensor, limit: int) -> bool:
    for position in range(limit, tensor.position, -1):
        if tensor.axes[position - 1].is_broadcast:
            continue
        tensor.first_use = position, consumer
        if loop_tree(fusion) is not None:
            return True
        tensor.first_use = None
    return False


def _snapshot(fusion: Fusion) -> list[tuple[Tensor, int]]:
    return [(t, t.position) for t in fusion.tensors]


def _restore(snapshot: list[tuple[Tensor, int]]) -> None:
    for tensor, position in snapshot:
        tensor.position = position


@dataclass(slots=True)
class _Reduction:
    """A reduction: the axes that lead to its reduction axes, and what depends on it."""

    tensor: Tensor
    inside: set[Axis]
    downstream: set[Axis]


@dataclass(slots=True)
class _Bounds:
    """Upper bounds of positions, from the correspondence of axes alone.

    An axis is *unmappable* if it leads both into a reduction over it and, by another way, to something that needs the
    result: the loop would have to end before the other consumer may start.
    """

    fusion: Fusion
    unmappable: dict[Axis, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reductions = [self._reduction(t) for t in self.fusion.tensors if t.reduction_axes]
        classes = Classes()
        members: dict[object, set[Axis]] = {}
        invalid: list[tuple[Axis, Axis]] = []

        def of(axis: Axis) -> set[Axis]:
            return members.get(classes.find(axis), {axis})

        for tensor in reversed(self.fusion.tensors):
            for axis in tensor.domain.array_axes:
                images = self._images(tensor, axis)
                why = _conflict(images, reductions, of, invalid)
                if why:
                    self.unmappable[axis] = why
                    invalid.extend(combinations(images, 2))
                    continue
                for image in images:
                    joined = of(axis) | of(image)
                    classes.join(axis, image)
                    members[classes.find(axis)] = joined

    def _images(self, tensor: Tensor, axis: Axis) -> list[Axis]:
        """Axes of the consumers that correspond to `axis`."""
        images: dict[Axis, None] = {}
        for consumer in tensor.consumers:
            for axis_map in _edges(tensor, consumer):
                pairs = root_map(tensor.domain, consumer.domain, axis_map)
                images.update(dict.fromkeys(c for c, p in pairs.items() if p is axis))
        return list(images)

    def _reduction(self, tensor: Tensor) -> _Reduction:
        inside: set[Axis] = set(tensor.reduction_axes)
        stack = [tensor]
        seen = {tensor}
        while stack:
            consumer = stack.pop()
            for producer in consumer.producers:
                for axis_map in _edges(producer, consumer):
                    pairs = root_map(producer.domain, consumer.domain, axis_map)
                    found = {p for c, p in pairs.items() if c in inside}
                    for t in consumer.domain.views:
                        made = {t.outer, t.inner} if isinstance(t, Split) else {t.result}
                        if made & inside:
                            parts = (t.source,) if isinstance(t, Split) else (t.outer, t.inner)
                            found |= {pairs[a] for a in parts if a in pairs}
                    if found - inside or producer not in seen:
                        inside |= found
                        seen.add(producer)
                        if found:
                            stack.append(producer)
        return _Reduction(tensor, inside, {a for t in dependents(tensor) for a in t.domain.logical})

    def limit(self, tensor: Tensor) -> tuple[int, str]:
        if tensor.definition is None:
            return 0, "it is an input, which exists before"
        if not tensor.uses:
            return 0, "nothing reads it"
        count, reason = len(tensor.axes), "it has no further axes"
        barred = self._barred(tensor)
        for k, axis in enumerate(tensor.axes):
            if axis.is_reduction:
                count, reason = k, f"axis {k} of {tensor.name} is a reduction axis"
                break
            if any(t.axes[k].is_reduction for t in tensor.siblings):
                count, reason = k, f"axis {k} of {tensor.name} is folded by another result of its expression"
                break
            if axis in barred:
                count, reason = k, barred[axis]
                break
        for t in (tensor, *tensor.siblings):
            for consumer in t.consumers:
                for axis_map in _edges(t, consumer):
                    mapped = mapped_prefix(t.domain, consumer.domain, axis_map)
                    if mapped < count:
                        count = mapped
                        reason = f"axis {mapped} of {t.name} is not loop {mapped} of its consumer {consumer.name}"
        while count and tensor.axes[count - 1].is_broadcast:
            count -= 1
        return count, reason

    def _barred(self, tensor: Tensor) -> dict[Axis, str]:
        """Axes that are unmappable or made of unmappable ones."""
        barred = {a: why for a in tensor.domain.logical if (why := self.unmappable.get(a)) is not None}
        for t in tensor.domain.transforms:
            if isinstance(t, Split) and t.source in barred:
                barred[t.outer] = barred[t.inner] = barred[t.source]
            elif isinstance(t, Merge) and (t.outer in barred or t.inner in barred):
                barred[t.result] = barred.get(t.outer) or barred[t.inner]
        return barred


def _conflict(
    images: list[Axis],
    reductions: list[_Reduction],
    of: Callable[[Axis], set[Axis]],
    invalid: list[tuple[Axis, Axis]],
) -> str:
    """Why `images` cannot be one loop; empty if they can."""
    if len(images) < 2:
        return ""
    if len({a.extent for a in images if not a.is_broadcast}) > 1:
        return "its consumers broadcast it to different extents"
    for r in reductions:
        before = [d for d in images if of(d) & r.inside]
        behind = [d for d in images if of(d) & r.downstream]
        if any(d is not e for d in before for e in behind):
            return f"it is needed by the reduction {r.tensor.name}, and again by what depends on {r.tensor.name}"
    joined = set().union(*(of(d) for d in images))
    if any(a in joined and b in joined for a, b in invalid):
        return "its consumers need different loops"
    return ""


__all__ = [
    "common_consumer",
    "compute_at",
    "compute_with",
    "consumer_position",
    "dependents",
    "inline_at",
    "inline_most",
    "limit",
    "producer_position",
    "propagate",
    "unmappable_axes",
]
