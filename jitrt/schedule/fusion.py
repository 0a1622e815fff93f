"""A fusion: tensors, the expressions that compute them, and how the axes of producers and consumers correspond.

This is the form on which positions are decided. The automatic policy builds fusions of what it wants to nest; experts
and tests build them by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field

from ..base.frozen import record
from .domain import Axis, AxisKind, Domain, domain_of, iteration_domain

AxisMap = tuple[int | None, ...]


class ScheduleError(ValueError):
    """A transformation or a position that the data dependencies do not allow."""


@record(eq=False)
class Tensor:
    """A value over a domain, and where it is computed.

    Parameters
    ----------
    name : str
    domain : Domain
    definition : Expression, optional
        What computes it; None for an input.
    uses : list of Expression
    position : int
        Number of loops, from the outside, that it shares with all its consumers; what is stored of it are the axes from
        there on.
    first_use : (int, Tensor), optional
        A deeper position that it shares with this one consumer only (computeWith).
    is_output : bool
    """

    name: str
    domain: Domain
    definition: Expression | None = None
    uses: list[Expression] = field(default_factory=list)
    position: int = 0
    first_use: tuple[int, Tensor] | None = None
    is_output: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Loop axes."""
        return self.domain.axes

    @property
    def consumers(self) -> list[Tensor]:
        return [t for use in self.uses for t in use.outputs]

    @property
    def producers(self) -> list[Tensor]:
        return [] if self.definition is None else list(dict.fromkeys(self.definition.inputs))

    @property
    def siblings(self) -> list[Tensor]:
        """Other results of the expression that computes it."""
        return [] if self.definition is None else [t for t in self.definition.outputs if t is not self]

    @property
    def reduction_axes(self) -> list[Axis]:
        """Root axes over which it is folded."""
        return [a for a in self.domain.root if a.is_reduction]

    @property
    def shared_loops(self) -> int:
        """Number of loops that it shares with other tensors, which therefore have to stay as they are."""
        firsts = [p.first_use[0] for p in self.producers if p.first_use and p.first_use[1] in (self, *self.siblings)]
        own = self.first_use[0] if self.first_use else 0
        return max(self.position, own, *firsts, *(p.position for p in self.producers), 0)

    def __repr__(self) -> str:
        return f"{self.name}{self.domain}"

    # Transformations of the loops.
    def split(self, position: int, factor: int) -> Tensor:
        self._check_free(position)
        self.domain = self.domain.split(position, factor)
        return self

    def merge(self, position: int) -> Tensor:
        self._check_free(position)
        self.domain = self.domain.merge(position)
        return self

    def reorder(self, order: Sequence[int]) -> Tensor:
        moved = [k for k, place in enumerate(order) if k != place]
        if moved:
            self._check_free(moved[0])
        self.domain = self.domain.reorder(order)
        return self

    def _check_free(self, position: int) -> None:
        if position < self.shared_loops:
            raise ScheduleError(f"axis {position} of {self.name} is a loop that it shares with another tensor")


@record(eq=False)
class Expression:
    """One computation.

    Parameters
    ----------
    op : str
        Printed name.
    inputs, outputs : tuple of Tensor
        The outputs are computed in the same loops.
    maps : tuple of AxisMap
        For each input, and each root axis of the outputs, the axis of the input's array that it runs over; None for
        a new axis.
    after : list of Expression
        Further expressions that have to be complete before, for whatever reason.
    """

    op: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    maps: tuple[AxisMap, ...]
    after: list[Expression] = field(default_factory=list)

    def edges(self, producer: Tensor) -> Iterator[AxisMap]:
        """The axis maps by which it reads `producer`."""
        for tensor, axis_map in zip(self.inputs, self.maps):
            if tensor is producer:
                yield axis_map

    @property
    def loops(self) -> tuple[Axis, ...]:
        return self.outputs[0].axes


@record(eq=False)
class Fusion:
    """Tensors and expressions, in an order in which they can be computed.

    Examples
    --------
    The two reductions of issue 110, with their common producer in the loop of both:

    >>> from jitrt.schedule import Fusion, compute_at
    >>> f = Fusion()
    >>> x = f.input("x", 3, 4)
    >>> t1 = f.elementwise("T1", x)
    >>> t2, t3 = f.reduce("T2", t1, axes=(1,)), f.reduce("T3", t1, axes=(1,))
    >>> t4 = f.output(f.elementwise("T4", t2, t3))
    >>> compute_at(f, t1, t2, 2, best_effort=True)
    >>> compute_at(f, t2, t4, 1)
    >>> print(f)
    for i in 3:
      T2 = neutral
      T3 = neutral
      for j in 4:
        T1 = ew(x[i,j])
        T2 (+)= red(T1)
        T3 (+)= red(T1)
      T4[i] = ew(T2,T3)

    Blocks that do not divide an axis have a bound:

    >>> f = Fusion()
    >>> y = f.output(f.elementwise("y", f.input("x", 8))).split(0, 3)
    >>> print(f)
    for i in 3:
      for j in 3:
        if i*3+j < 8:
          y[i,j] = ew(x[i*3+j])
    """

    tensors: list[Tensor] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)

    def input(self, name: str, *extents: int) -> Tensor:
        """A tensor that exists before."""
        return self._add(Tensor(name, iteration_domain(*extents)))

    def output(self, tensor: Tensor) -> Tensor:
        """Say that the whole of `tensor` is wanted."""
        tensor.is_output = True
        return tensor

    def elementwise(self, name: str, *operands: Tensor) -> Tensor:
        """One element from one of each operand; where one operand has extent 1, another may be longer."""
        shapes = [t.domain.array_axes for t in operands]
        if len({len(s) for s in shapes}) != 1:
            raise ScheduleError(f"the operands of {name} have different numbers of axes: broadcast them first")
        axes = []
        for parallel in zip(*shapes):
            longest = next((a for a in parallel if not a.is_broadcast), parallel[0])
            if any(a.extent != longest.extent for a in parallel if not a.is_broadcast):
                raise ScheduleError(f"the operands of {name} have axes of extents {[a.extent for a in parallel]}")
            axes.append(Axis(longest.extent, longest.kind))
        return self._expression("ew", name, operands, domain_of(axes), [tuple(range(len(axes)))] * len(operands))

    def reduce(self, name: str, operand: Tensor, axes: Sequence[int]) -> Tensor:
        """A fold over `axes`."""
        root = [
            Axis(a.extent, AxisKind.REDUCTION if k in axes else a.kind) for k, a in enumerate(operand.domain.array_axes)
        ]
        return self._expression("red", name, (operand,), domain_of(root), [tuple(range(len(root)))])

    def broadcast(self, name: str, operand: Tensor, new: Sequence[int]) -> Tensor:
        """`operand` with new axes of extent 1 at the positions `new` of the result."""
        old = iter(enumerate(operand.domain.array_axes))
        root: list[Axis] = []
        axis_map: list[int | None] = []
        for k in range(len(operand.domain.shape) + len(new)):
            if k in new:
                root.append(Axis(1, AxisKind.BROADCAST))
                axis_map.append(None)
            else:
                j, axis = next(old)
                root.append(Axis(axis.extent, axis.kind))
                axis_map.append(j)
        return self._expression("bc", name, (operand,), domain_of(root), [tuple(axis_map)])

    def squeeze(self, name: str, operand: Tensor, axes: Sequence[int]) -> Tensor:
        """`operand` without its broadcast axes at `axes`."""
        kept = [k for k in range(len(operand.domain.shape)) if k not in axes]
        source = operand.domain.array_axes
        if any(source[k].extent != 1 for k in axes):
            raise ScheduleError(f"only axes of extent 1 can be squeezed out of {operand.name}")
        root = [Axis(source[k].extent, source[k].kind) for k in kept]
        return self._expression("sq", name, (operand,), domain_of(root), [tuple(kept)])

    def transpose(self, name: str, operand: Tensor, order: Sequence[int]) -> Tensor:
        """`operand` with its axes in another order."""
        source = operand.domain.array_axes
        if sorted(order) != list(range(len(source))):
            raise ScheduleError(f"{tuple(order)} is not an order of the axes of {operand.name}")
        root = [Axis(source[k].extent, source[k].kind) for k in order]
        return self._expression("tr", name, (operand,), domain_of(root), [tuple(order)])

    def reshape(self, name: str, operand: Tensor, shape: Sequence[int]) -> Tensor:
        """`operand` in another shape: its axes merged and split; axes of extent 1 are lost and new ones."""
        source = operand.domain.array_axes
        if math.prod(shape) != math.prod(a.extent for a in source):
            raise ScheduleError(f"{operand.name} of shape {operand.domain.shape} cannot have the shape {tuple(shape)}")
        kept = [k for k, a in enumerate(source) if a.extent != 1]
        new = [Axis(1, AxisKind.BROADCAST) for n in shape if n == 1]
        domain = _reshaped(domain_of([Axis(source[k].extent) for k in kept]), [n for n in shape if n != 1])
        ones, others = iter(new), iter(domain.logical)
        logical = tuple(next(ones) if n == 1 else next(others) for n in shape)
        domain = Domain((*domain.root, *new), logical, logical, domain.views)
        return self._expression("view", name, (operand,), domain, [(*kept, *[None] * len(new))])

    def group(self, op: str, *tensors: Tensor) -> None:
        """Compute `tensors`, which have the same producers and loops, by one expression with several results."""
        first = tensors[0].definition
        assert first is not None
        for tensor in tensors[1:]:
            definition = tensor.definition
            if definition is None or definition.inputs != first.inputs or definition.maps != first.maps:
                raise ScheduleError(f"{tensor.name} and {tensors[0].name} are not computed from the same operands")
            self.expressions.remove(definition)
            for producer in definition.inputs:
                producer.uses.remove(definition)
            tensor.definition = first
        first.op, first.outputs = op, tuple(tensors)

    def expression(
        self,
        op: str,
        names: Sequence[str],
        operands: Sequence[Tensor],
        domains: Sequence[Domain],
        maps: Sequence[AxisMap],
    ) -> tuple[Tensor, ...]:
        """An expression with several results, whose domains have corresponding axes."""
        outputs = tuple(Tensor(name, domain) for name, domain in zip(names, domains))
        expression = Expression(op, tuple(operands), outputs, tuple(maps))
        for tensor in outputs:
            tensor.definition = expression
            self._add(tensor)
        for producer in dict.fromkeys(operands):
            producer.uses.append(expression)
        self.expressions.append(expression)
        return outputs

    def _expression(
        self, op: str, name: str, operands: Sequence[Tensor], domain: Domain, maps: Sequence[AxisMap]
    ) -> Tensor:
        return self.expression(op, (name,), operands, (domain,), maps)[0]

    def _add(self, tensor: Tensor) -> Tensor:
        self.tensors.append(tensor)
        return tensor

    def __str__(self) -> str:
        from .looptree import loop_tree, print_loops  # the tree is made of fusions

        tree = loop_tree(self)
        assert tree is not None, "positions are set only where loops can be nested"
        return print_loops(self, tree)


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


def _reshaped(domain: Domain, shape: Sequence[int]) -> Domain:
    """`domain` with its axes merged and split so that they have the extents `shape`, none of which is 1.

    Axes are taken from both sides until their products agree; those of a group are merged into one and split anew.
    """
    source = [a.extent for a in domain.axes]
    if 0 in source:
        for _ in source[1:]:
            domain = domain.merge(0)
        source = source[:1]
    old = 0
    position = 0
    wanted: list[int] = []
    for n in shape:
        wanted.append(n)
        count = 0
        while old + count < len(source) and math.prod(source[old : old + count]) < math.prod(wanted):
            count += 1
        if math.prod(source[old : old + count]) != math.prod(wanted):
            continue
        for _ in range(count - 1):
            domain = domain.merge(position)
        for k in range(len(wanted) - 1):
            domain = domain.split(position + k, math.prod(wanted[k + 1 :]))
        old, position, wanted = old + count, position + len(wanted), []
    return domain.as_array()
