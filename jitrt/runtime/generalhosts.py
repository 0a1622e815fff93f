"""Programs for any sizes of which NumPy executes some steps: the frame is that of a program for the sizes of a call.

Such a frame takes nothing but numbers: where everything lies, and what NumPy is given. It is kept for further calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..base.frozen import frozen, replaced
from ..ir.extents import extents_in, is_extent
from ..ir.integers import Poly
from ..ir.node import Constant, topological_order
from ..ir.numbered import Numbered
from ..ir.ops.contractions import Call
from ..ir.types import ArrayType
from .formulas import Given, Places, renumbered
from .frames import NewSizes
from .hostframes import HostFrame
from .hosts import Hosts, HostStep, Room
from .image import Image


class Unknown(Exception):
    """A node has a parameter of which it is not known whether it depends on sizes."""


@frozen(eq=False)
class Sized:
    """How a program depends on sizes.

    Parameters
    ----------
    given : Given
        What the inputs have.
    quotients : mapping of str to (Poly, Poly)
    places : Places
        What of the image is a formula.
    waits : bool
        Whether sizes have to come twice before there is a frame for them.
    """

    given: Given
    quotients: Mapping[str, tuple[Poly, Poly]]
    places: Places
    waits: bool = False

    def at_first(self) -> tuple[int, ...]:
        """The values that the variables had when the program was made."""
        parts = [n for known in self.given.values() for n in extents_in(known)]
        return tuple({n.poly.terms[0][0]: abs(n.value) for n in parts}.values())

    def read(self, inputs: Sequence[Any]) -> dict[str, int]:
        """The variables in a call."""
        found: dict[str, int] = {}

        def note(known: Any, value: int) -> None:
            if is_extent(known):
                ((names, sign),) = known.poly.terms
                found[names[0]] = sign * value

        for k, known in self.given.items():
            if type(known) is not tuple:
                note(known, inputs[k])
                continue
            shape, strides = known
            for extent, value in zip(shape, inputs[k].shape):
                note(extent, value)
            for stride, value in zip(strides or (), inputs[k].strides):
                note(stride, value)
        return found


class SizedFrame:
    """The frames of a program for the sizes of the last calls.

    Parameters
    ----------
    hosts, image, kernels, limit
        As for `HostFrame`, with formulas.
    sized : Sized
    """

    def __init__(self, hosts: Hosts, image: Image, kernels: Sequence[int], limit: int, sized: Sized):
        self._hosts, self._image, self._kernels, self._limit, self._sized = hosts, image, kernels, limit, sized
        # None for sizes that have come once: those that it was made for, at first
        self._frames: dict[tuple[int, ...], HostFrame | None] = {sized.at_first(): None}
        self._nbytes = 0
        self.image = image
        """That of the call before."""

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        """Outputs for these inputs, as for `Frame`.

        Raises
        ------
        NewSizes
            If a frame for their sizes does not pay yet.
        """
        variables = self._sized.read(inputs)
        sizes = tuple(variables.values())
        waits = self._sized.waits and sizes not in self._frames
        frame = self._frames.pop(sizes, None)
        is_known = frame is not None
        if frame is None and not waits:
            frame = self._made(variables)
        self._frames[sizes] = frame  # behind those that have been used before
        if not is_known:
            self._forget_oldest()
        if frame is None:
            raise NewSizes
        return frame.run(inputs, watched)

    def _made(self, variables: Mapping[str, int]) -> HostFrame:
        numbers = _Numbers(variables, self._sized.quotients)
        self.image = numbers.image(self._image, self._sized.places)
        self._nbytes += self.image.nbytes
        return HostFrame(numbers.hosts(self._hosts), self.image, self._kernels, self._limit)

    def _forget_oldest(self) -> None:
        """Forget the sizes that have not been used for longest, where frames are too many or too large."""
        while len(self._frames) > 1 and (
            len(self._frames) > policy.SIZED_FRAMES or self._nbytes > policy.SIZED_FRAME_BYTES
        ):
            frame = self._frames.pop(next(iter(self._frames)))
            self._nbytes -= 0 if frame is None else frame.image.nbytes


class _Numbers:
    """What formulas are for values of the variables."""

    def __init__(self, variables: Mapping[str, int], quotients: Mapping[str, tuple[Poly, Poly]]):
        self._known = dict(variables)
        self._quotients = quotients
        numbered = Numbered(lambda extent: self.poly(extent.poly))
        self.value, self.node = numbered.value, numbered.node

    def poly(self, poly: Poly) -> int:
        total = 0
        for names, factor in poly.terms:
            for name in names:
                factor *= self._name(name)
            total += factor
        return total

    def _name(self, name: str) -> int:
        if name not in self._known:
            x, y = self._quotients[name]
            self._known[name] = self.poly(x) // self.poly(y)
        return self._known[name]

    def hosts(self, hosts: Hosts) -> Hosts:
        def room(known: Room) -> Room:
            return Room(self.value(known.offset), known.dtype, self.value(known.shape))

        return Hosts(
            tuple(HostStep(self.node(s.node), tuple(map(self.node, s.results))) for s in hosts.steps),
            {self.node(n): place for n, place in hosts.places.items()},
            {self.node(n): room(known) for n, known in hosts.slots.items()},
            {self.node(n): (place, room(known)) for n, (place, known) in hosts.hosted.items()},
            tuple(None if n is None else self.node(n) for n in hosts.outputs),
            self.value(hosts.orders),
        )

    def image(self, image: Image, places: Places) -> Image:
        found = {(kind, k, j): self.poly(poly) for kind, k, j, poly in places}

        def now(value: int, kind: int, k: int = 0, j: int = 0) -> int:
            return found.get((kind, k, j), value)

        return replaced(renumbered(image, now), formulas=None)


def check(hosts: Hosts) -> None:
    """Raise `Unknown` where a node may hold sizes that are not seen."""
    nodes = [s.node for s in hosts.steps] + [*hosts.places, *hosts.slots, *hosts.hosted]
    for node in topological_order(nodes):
        if not all(_is_seen(value) for _, value in node.params):
            raise Unknown(node.op.name)


def _is_seen(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_seen, value))
    if type(value) is slice:
        return _is_seen((value.start, value.stop, value.step))
    if type(value) is Call:
        return all(map(_is_seen, value.fixed()))
    known = (bool, int, float, complex, str, type(None), type(...), ArrayType, frozenset)
    return (
        is_extent(value)
        or type(value) in known
        or isinstance(value, (np.dtype, np.generic, np.ufunc, type))
        or (type(value) is Constant)
    )
