"""Iteration domains: the axes that a tensor is computed over, and how they came from its root axes.

A domain starts with its *root* axes. A reshape makes the *logical* axes of them, which are those of the array;
`split`, `merge` and `reorder` make the *loop* axes, which code generation turns into loops, of the logical ones.
Domains are values: each transformation gives a new one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from ..base.frozen import frozen, replaced


class AxisKind(enum.Enum):
    """What running over an axis means."""

    ITERATION = "i"  # one element after the other
    REDUCTION = "r"  # folded: not an axis of the result
    BROADCAST = "b"  # a single element, which stands for all


@frozen(eq=False)
class Axis:
    """An axis of one domain; two axes are equal only if they are one object."""

    extent: int
    kind: AxisKind = AxisKind.ITERATION

    @property
    def is_reduction(self) -> bool:
        return self.kind is AxisKind.REDUCTION

    @property
    def is_broadcast(self) -> bool:
        return self.kind is AxisKind.BROADCAST

    def __repr__(self) -> str:
        return f"{self.kind.value}{self.extent}"


@frozen
class Split:
    """``source`` runs in blocks of ``inner.extent``; `outer` counts the blocks."""

    source: Axis
    outer: Axis
    inner: Axis


@frozen
class Merge:
    """`result` runs over all pairs of `outer` and `inner`."""

    outer: Axis
    inner: Axis
    result: Axis


Transform = Split | Merge


@frozen
class Domain:
    """The axes of a tensor.

    Parameters
    ----------
    root : tuple of Axis
        As the axes of the producers give them.
    logical : tuple of Axis
        Axes of the array, and the reduction axes among them.
    axes : tuple of Axis
        Loop axes, outermost first.
    views : tuple of Transform
        From the root axes to the logical ones.
    transforms : tuple of Transform
        From the logical axes to the loop axes.

    Examples
    --------
    >>> d = iteration_domain(6, 8)
    >>> d.split(1, 4).axes
    (i6, i2, i4)
    >>> d.split(1, 4).reorder((1, 0, 2)).axes
    (i2, i6, i4)
    >>> d.merge(0).axes
    (i48,)
    """

    root: tuple[Axis, ...]
    logical: tuple[Axis, ...]
    axes: tuple[Axis, ...]
    views: tuple[Transform, ...] = ()
    transforms: tuple[Transform, ...] = ()

    @property
    def array_axes(self) -> tuple[Axis, ...]:
        """Logical axes that are axes of the array: all but the reduction axes."""
        return tuple(a for a in self.logical if not a.is_reduction)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(a.extent for a in self.array_axes)

    def _axis(self, position: int) -> Axis:
        if not 0 <= position < len(self.axes):
            raise ValueError(f"there is no loop axis {position}: there are {len(self.axes)}")
        return self.axes[position]

    def split(self, position: int, factor: int) -> Domain:
        """Run over the loop axis at `position` in blocks of `factor`."""
        source = self._axis(position)
        if factor < 1:
            raise ValueError(f"an axis is split by a factor of at least 1, not {factor}")
        outer, inner = Axis(math.ceil(source.extent / factor), source.kind), Axis(factor, source.kind)
        axes = (*self.axes[:position], outer, inner, *self.axes[position:][1:])
        return replaced(self, axes=axes, transforms=(*self.transforms, Split(source, outer, inner)))

    def merge(self, position: int) -> Domain:
        """Run over the loop axes at `position` and behind it as one."""
        outer, inner = self._axis(position), self._axis(position + 1)
        if outer.is_reduction != inner.is_reduction:
            raise ValueError("a reduction axis and an iteration axis cannot be merged")
        kind = inner.kind if outer.is_broadcast else outer.kind
        result = Axis(outer.extent * inner.extent, kind)
        axes = (*self.axes[:position], result, *self.axes[position + 2 :])
        return replaced(self, axes=axes, transforms=(*self.transforms, Merge(outer, inner, result)))

    def reorder(self, order: Sequence[int]) -> Domain:
        """Loop axes in the `order` of their positions."""
        if sorted(order) != list(range(len(self.axes))):
            raise ValueError(f"{tuple(order)} is not an order of {len(self.axes)} axes")
        return replaced(self, axes=tuple(self.axes[k] for k in order))

    def as_array(self) -> Domain:
        """The loop axes so far become the axes of the array."""
        return replaced(self, logical=self.axes, views=(*self.views, *self.transforms), transforms=())

    def __str__(self) -> str:
        return "[" + ", ".join(map(repr, self.axes)) + "]"


def domain_of(axes: Sequence[Axis]) -> Domain:
    """The domain with these axes and no transformations."""
    axes = tuple(axes)
    return Domain(axes, axes, axes)


def iteration_domain(*extents: int) -> Domain:
    """A domain of iteration axes."""
    return domain_of([Axis(n) for n in extents])


def origins(axes: Sequence[Axis], transforms: Sequence[Transform]) -> frozenset[Axis]:
    """`axes`, and all axes that they were made of by `transforms`."""
    found = set(axes)
    for t in reversed(transforms):
        if isinstance(t, Split) and (t.outer in found or t.inner in found):
            found.add(t.source)
        elif isinstance(t, Merge) and t.result in found:
            found.update((t.outer, t.inner))
    return frozenset(found)
