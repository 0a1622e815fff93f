"""Propagation: giving the loops of one tensor to others, by the way on which most of its axes are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .domain import Axis, Split
from .fusion import Fusion, ScheduleError, Tensor
from .replay import edge_map, replay_consumer, replay_producer, replay_sibling, root_map


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
    where: dict[Tensor, dict[Axis, frozenset[Axis]]] = {
        reference: {a: frozenset([a]) for a in reference.domain.logical}
    }
    positions = {reference: position}
    while True:
        best: tuple[int, int, Tensor, Tensor, str] | None = None
        for number, source in enumerate(where):
            for target, way in _hops(source, chosen):
                if target not in where:
                    weight = len(_carried(source, target, way, where[source])[1])
                    if best is None or (weight, -number) > best[:2]:
                        best = (weight, -number, source, target, way)
        if best is None:
            return positions
        _, _, source, target, way = best
        where[target], _ = _carried(source, target, way, where[source])
        fixed = target.shared_loops
        if way == "consumer":
            domain, aligned = replay_consumer(source.domain, target.domain, edge_map(source, target), positions[source])
        elif way == "producer":
            domain, aligned = replay_producer(target.domain, source.domain, edge_map(target, source), positions[source])
        else:
            domain, aligned = replay_sibling(target.domain, source.domain, positions[source])
        if domain.axes[:fixed] != target.axes[:fixed]:
            raise ScheduleError(f"{target.name} shares {fixed} loops already, which would have to change")
        target.domain, positions[target] = domain, aligned


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
