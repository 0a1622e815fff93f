"""Replay: which axes of a producer and a consumer are the same, and how one gets the transformations of the other.

Root axes correspond through broadcast, reduction, transpose and reshape as the expression between them says; an axis
that only one side has is *lost* or *new*. Loop axes are the same if they were made of corresponding root axes in
the same way, where merging with a lost or new broadcast axis changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from .domain import Axis, Domain, Merge, Split, Transform, origins
from .fusion import AxisMap, Tensor

Key = Hashable | None


def root_map(producer: Domain, consumer: Domain, axis_map: AxisMap) -> dict[Axis, Axis]:
    """For each root axis of the consumer that is not new the logical axis of the producer."""
    source = producer.array_axes
    return {axis: source[k] for axis, k in zip(consumer.root, axis_map) if k is not None}


def loop_keys(producer: Domain, consumer: Domain, axis_map: AxisMap) -> tuple[list[Key], list[Key]]:
    """Keys of the loop axes of both: equal keys are the same axis, None is one that the other side does not have."""
    pairs = root_map(producer, consumer, axis_map)
    known = set(pairs.values())
    keys_p = _transformed(
        {a: a if a in known or a.is_reduction else None for a in producer.logical}, producer.transforms
    )
    keys_c = _transformed({a: pairs.get(a) for a in consumer.root}, (*consumer.views, *consumer.transforms))
    return [keys_p[a] for a in producer.axes], [keys_c[a] for a in consumer.axes]


def _transformed(start: dict[Axis, Axis | None], transforms: Sequence[Transform]) -> dict[Axis, Key]:
    keys: dict[Axis, Key] = dict(start)
    for t in transforms:
        if isinstance(t, Split):
            source = keys[t.source]
            keys[t.outer] = None if source is None else ("outer", source, t.inner.extent)
            keys[t.inner] = None if source is None else ("inner", source, t.inner.extent)
        else:
            outer, inner = keys[t.outer], keys[t.inner]
            keys[t.result] = inner if outer is None else outer if inner is None else ("merged", outer, inner)
    return keys


def mapped_prefix(producer: Domain, consumer: Domain, axis_map: AxisMap) -> int:
    """Number of outermost loop axes that both have at the same place.

    A new axis of the consumer ends the prefix: inside of its loop the producer would be computed again and again. So
    does a loop that the producer has merged with a broadcast axis, which the consumer runs over.
    """
    keys_p, keys_c = loop_keys(producer, consumer, axis_map)
    count = 0
    for axis, other, key_p, key_c in zip(producer.axes, consumer.axes, keys_p, keys_c):
        if axis.is_reduction or key_p is None or key_p != key_c:
            break
        if axis.extent != other.extent and not axis.is_broadcast:
            break
        count += 1
    return count


def replay_producer(producer: Domain, consumer: Domain, axis_map: AxisMap, position: int) -> tuple[Domain, int]:
    """Replay producer as consumer: the producer's loops left of the position become those of the consumer.

    Returns
    -------
    Domain
        Of the producer; transformations of axes that are not concerned stay.
    int
        The position of the producer that is aligned with `position`.
    """
    keys_p, keys_c = loop_keys(producer, consumer, axis_map)
    wanted = [k for k in keys_c[:position] if k is not None]
    if wanted == keys_p[: len(wanted)]:
        return producer, len(wanted)
    pairs = root_map(producer, consumer, axis_map)
    start = {a: pairs.get(a) for a in consumer.root}
    return _replay(producer, start, consumer, (*consumer.views, *consumer.transforms), position)


def replay_consumer(producer: Domain, consumer: Domain, axis_map: AxisMap, position: int) -> tuple[Domain, int]:
    """Replay consumer as producer: the consumer's loops left of the position become those of the producer.

    Returns
    -------
    Domain
        Of the consumer.
    int
        The position of the consumer that is aligned with `position`.
    """
    keys_p, keys_c = loop_keys(producer, consumer, axis_map)
    wanted = [k for k in keys_p[:position] if k is not None]
    if wanted == keys_c[: len(wanted)]:
        return consumer, len(wanted)
    # A reshape's own transformations are replayed on the logical axes only: they are part of what it computes.
    pairs = root_map(producer, consumer, axis_map)
    logical = _transformed({a: pairs.get(a) for a in consumer.root}, consumer.views)
    back = {key: a for a in consumer.logical if (key := logical[a]) is not None}
    start = {a: back.get(a) for a in producer.logical}
    return _replay(consumer, start, producer, producer.transforms, position)


def replay_sibling(sibling: Domain, reference: Domain, position: int) -> tuple[Domain, int]:
    """Give another result of the same expression the same loops."""
    start: dict[Axis, Axis | None] = dict(zip(reference.logical, sibling.logical))
    return _replay(sibling, start, reference, reference.transforms, position)


def _replay(
    target: Domain,
    image: dict[Axis, Axis | None],
    reference: Domain,
    transforms: Sequence[Transform],
    position: int,
) -> tuple[Domain, int]:
    """`target` with the transformations that made the loops of `reference` left of `position`.

    `image` says which logical axis of the target an axis of the reference is; None where it has no counterpart.
    """
    image = dict(image)
    needed = origins(reference.axes[:position], transforms)
    axes = list(target.logical)
    made: list[Transform] = []
    for t in transforms:
        if isinstance(t, Split) and (t.outer in needed or t.inner in needed):
            source = image.get(t.source)
            if source is None or source not in axes:
                image[t.outer] = image[t.inner] = None
                continue
            count = math.ceil(source.extent / t.inner.extent)  # not that of the reference, if a broadcast was merged in
            outer, inner = Axis(count, source.kind), Axis(t.inner.extent, source.kind)
            image[t.outer], image[t.inner] = outer, inner
            made.append(Split(source, outer, inner))
            at = axes.index(source)
            axes[at : at + 1] = [outer, inner]
        elif isinstance(t, Merge) and t.result in needed:
            first, second = image.get(t.outer), image.get(t.inner)
            if first is None or second is None:
                image[t.result] = second if first is None else first
                continue
            if first.is_reduction != second.is_reduction:
                image[t.result] = None  # one loop cannot fold along one of its axes and keep the other
                continue
            kind = second.kind if first.is_broadcast else first.kind
            result = Axis(first.extent * second.extent, kind)
            image[t.result] = result
            made.append(Merge(first, second, result))
            at = axes.index(first)
            axes[at] = result
            axes.remove(second)
    front = [a for r in reference.axes[:position] if (a := image.get(r)) is not None and a in axes]
    touched = {a for t in made for a in ((t.source,) if isinstance(t, Split) else (t.outer, t.inner))} | set(front)
    # Loops of the target that were made of untouched axes only stay as they are.
    kept: list[Axis] = []
    covered: set[Axis] = set()
    for axis in target.axes:
        own = origins([axis], target.transforms)
        if not own & touched:
            kept.append(axis)
            covered |= own & set(target.logical)
    kept_transforms = [t for t in target.transforms if _parts(t) & origins(kept, target.transforms)]
    everything = (*made, *kept_transforms)
    for axis in (a for a in axes if a not in front and a not in covered):
        place = next((k for k, a in enumerate(kept) if _rank(target, axis, made) < _rank(target, a, everything)), None)
        kept.insert(len(kept) if place is None else place, axis)
    return Domain(target.root, target.logical, (*front, *kept), target.views, everything), len(front)


def _rank(domain: Domain, axis: Axis, transforms: Sequence[Transform]) -> int:
    """Place of the first logical axis that `axis` was made of."""
    made_of = origins([axis], transforms)
    return min(k for k, a in enumerate(domain.logical) if a in made_of)


def _parts(t: Transform) -> set[Axis]:
    return {t.outer, t.inner} if isinstance(t, Split) else {t.result}


def edge_map(producer: Tensor, consumer: Tensor) -> AxisMap:
    """The axis map by which `consumer` reads `producer`; the first one if there are several."""
    return edge_maps(producer, consumer)[0]


def edge_maps(producer: Tensor, consumer: Tensor) -> list[AxisMap]:
    """The axis maps by which `consumer` reads `producer`."""
    assert consumer.definition is not None
    return list(consumer.definition.edges(producer))
