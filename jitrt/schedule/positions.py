"""Positions: how many loops a producer shares with its consumers.

``compute_at(fusion, producer, consumer, position)`` computes `producer` in the outermost `position` loops of
`consumer`. The loops of all tensors between the two, and on to their first common consumer, are transformed alike;
then each gets its own position, which depends on its consumers alone and not on the way by which it was reached.
"""

from __future__ import annotations

from collections.abc import Iterable

from .bounds import Bounds
from .domain import Domain
from .fusion import Fusion, ScheduleError, Tensor, dependents
from .looptree import loop_tree
from .propagation import propagate
from .replay import edge_maps, mapped_prefix


def compute_at(fusion: Fusion, producer: Tensor, consumer: Tensor, position: int, best_effort: bool = False) -> None:
    """Compute `producer` in the first `position` loops of `consumer`.

    Parameters
    ----------
    fusion : Fusion
    producer, consumer : Tensor
        The consumer need not read the producer directly. An input, which exists before, is computed nowhere: what is
        between it and the consumer is.
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
    selected = _selected(producer, consumer)
    before = [(t, t.domain, t.position) for t in fusion.tensors]
    try:
        positions = propagate(fusion, consumer, position, selected)
        for tensor in reversed(fusion.tensors):
            if tensor in selected and tensor.definition is not None:
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
    bounds = Bounds(fusion)
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
    bounds = Bounds(fusion)
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


def compute_with(fusion: Fusion, tensors: Iterable[Tensor] | None = None, position: int = -1) -> None:
    """Compute tensors that have to be stored in the loops of one of their consumers, which then reads them at once.

    The storage of a tensor stays what its position makes it. The first consumer, that is one which does not depend on
    another consumer, is taken, if the loops can be nested so, at most to `position`.
    """
    for tensor in reversed(fusion.tensors if tensors is None else list(tensors)):
        if tensor.definition is None or not tensor.uses:
            continue
        for consumer in tensor.consumers:
            if any(consumer in dependents(other) for other in tensor.consumers if other is not consumer):
                continue
            limit = min(mapped_prefix(tensor.domain, consumer.domain, m) for m in edge_maps(tensor, consumer))
            limit = min(limit, _normalised(tensor, position))
            if _compute_with(fusion, tensor, consumer, limit):
                break


def limit(fusion: Fusion, tensor: Tensor) -> tuple[int, str]:
    """The deepest position that the axes of a tensor and its consumers allow, and what does not allow a deeper one."""
    return Bounds(fusion).limit(tensor)


def unmappable_axes(fusion: Fusion) -> list[tuple[Tensor, int]]:
    """Axes, by tensor and number, that cannot be one loop with those of all consumers: the tensor has to be stored."""
    bounds = Bounds(fusion)
    return [(t, k) for t in fusion.tensors for k, a in enumerate(t.domain.logical) if a in bounds.unmappable]


def self_mapped_axes(fusion: Fusion) -> list[tuple[Tensor, int, int]]:
    """Tensors of which two axes are the same axis of what depends on them, as in ``x + x.T``, and these axes.

    No loop is both at once: one of the two ways to read such a tensor needs it to be stored.
    """
    return [(t, *pair) for t, pair in Bounds(fusion).self_mapped.items()]


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


def _selected(producer: Tensor, consumer: Tensor) -> set[Tensor]:
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


def _normalised(tensor: Tensor, position: int) -> int:
    n = len(tensor.axes)
    result = position + n + 1 if position < 0 else position
    if not 0 <= result <= n:
        raise ScheduleError(f"{tensor.name} has {n} loops, so {position} is not a position in them")
    return result


def _inline(fusion: Fusion, tensor: Tensor, position: int, bounds: Bounds) -> int:
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


def _restore(snapshot: list[tuple[Tensor, Domain, int]]) -> None:
    for tensor, domain, position in snapshot:
        tensor.domain, tensor.position = domain, position
