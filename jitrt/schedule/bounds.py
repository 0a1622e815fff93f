"""Upper bounds of positions, from the correspondence of axes alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from itertools import combinations

from ..base.frozen import record
from .domain import Axis, Merge, Split
from .fusion import Fusion, Tensor, dependents
from .looptree import Classes
from .replay import edge_maps, mapped_prefix, root_map


@record
class _Reduction:
    """A reduction: the axes that lead to its reduction axes, and what depends on it."""

    tensor: Tensor
    inside: set[Axis]
    downstream: set[Axis]


@record
class Bounds:
    """Upper bounds of positions, from the correspondence of axes alone.

    An axis is *unmappable* if it leads both into a reduction over it and, by another way, to something that needs the
    result: the loop would have to end before the other consumer may start. A tensor is *self-mapped* if two of its axes
    correspond to each other, as in ``x + x.T``.
    """

    fusion: Fusion
    unmappable: dict[Axis, str] = field(default_factory=dict)
    self_mapped: dict[Tensor, tuple[int, int]] = field(default_factory=dict)

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
        for tensor in self.fusion.tensors:
            axes = tensor.domain.array_axes
            for k, n in combinations(range(len(axes)), 2):
                if tensor not in self.self_mapped and classes.find(axes[k]) is classes.find(axes[n]):
                    self.self_mapped[tensor] = k, n

    def _images(self, tensor: Tensor, axis: Axis) -> list[Axis]:
        """Axes of the consumers that correspond to `axis`."""
        images: dict[Axis, None] = {}
        for consumer in tensor.consumers:
            for axis_map in edge_maps(tensor, consumer):
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
                for axis_map in edge_maps(producer, consumer):
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
                for axis_map in edge_maps(t, consumer):
                    mapped = mapped_prefix(t.domain, consumer.domain, axis_map)
                    if mapped < count:
                        count = mapped
                        reason = f"axis {mapped} of {t.name} is not loop {mapped} of its consumer {consumer.name}"
                        if t in self.self_mapped:
                            k, n = self.self_mapped[t]
                            reason += f": axes {k} and {n} of {t.name} are the same axis of what depends on it"
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
