"""Frames at run time: the memory of one call, and the tables by which native code finds its way in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.types import ArrayType
from ..kernels import driver as native
from . import results, threads
from .errstate import FloatingPointRaised, OutOfBounds
from .image import Image, bind
from .objects import address

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector


class Retrace(Exception):
    """A call that NumPy made gave another type than when traced: the program does not fit this call."""


class NewSizes(Exception):
    """A frame for arrays of these sizes does not pay before they come again."""


class Frame:
    """Memory for one call at a time: slots, kernel parameters, and the tables of the native driver.

    Parameters
    ----------
    image : Image
    kernels : sequence of int
        Addresses of the kernels of the image.
    limit : int
        Most threads to use.
    """

    def __init__(self, image: Image, kernels: Sequence[int], limit: int):
        self.memory = self._allocate(image.nbytes)
        self.image = image
        self.constants = image.constants
        self.scalars = [(k, np.ndarray((), dtype, self.memory, offset)) for k, offset, dtype in image.scalars]
        for offset, number in image.counts:
            self.memory[offset : offset + 8].view(np.int64)[0] = number
        self.outputs = image.outputs
        self.rest: list[Any] = [None] * image.places
        """What there is in the places of a call, but for the inputs, when it begins."""
        self.made = [(place, self._maker(place, kind, strides)) for place, kind, strides in image.fresh]
        self.run_native = threads.driver()
        self.bases = [address(self.memory), *map(address, self.constants)]
        tables = [None if action is None else bind(action, self.bases, kernels, limit) for action in image.actions]
        self.blocks = [table for table in tables if table is not None]
        self.actions: list[Any] = [None if table is None else address(table) for table in tables]

    def shift(self, offsets: Mapping[int, int]) -> None:
        """Let places begin so many bytes behind the first elements of what they get."""
        header, width = len(native.HEADER), len(native.PATCH)
        for block in self.blocks:
            patches = block[header : header + width * block[native.HEADER.index("patches")]].reshape(-1, width)
            for place, offset in offsets.items():
                patches[patches[:, native.PATCH.index("item")] == place, native.PATCH.index("offset")] += offset

    def _allocate(self, nbytes: int) -> np.ndarray:
        """Memory that begins at a cache line."""
        memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
        return memory[-address(memory) % _ALIGNMENT :][:nbytes]

    def run(self, inputs: Sequence[Any], watched: int) -> list[Any]:
        """Outputs for these inputs, if none of the floating-point exceptions `watched` is raised."""
        objects = self.begin(inputs)
        saved = self._save(objects) if watched and self.image.saved else ()
        try:
            for action in self.actions:
                self.perform(action, objects, watched)
        except BaseException:
            for memory, before in saved:  # the plain function starts from what the arguments were
                memory[...] = before
            raise
        return [objects[k] for k in self.outputs]

    def _save(self, objects: list[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The bytes of arguments that are going to be overwritten, and copies of them."""
        found = []
        for place, start, stop in self.saved():
            memory = objects[place].reshape(-1).view(np.uint8)[start:stop]
            found.append((memory, memory.copy()))
        return found

    def saved(self) -> Sequence[tuple[int, int, int]]:
        """Bytes of arguments that are overwritten."""
        return self.image.saved

    def begin(self, inputs: Sequence[Any]) -> list[Any]:
        """Arrays of a call by their places, with fresh ones for its outputs."""
        objects: list[Any] = [*inputs, *self.rest[len(inputs) :]]
        for place, view in self.scalars:
            view[()] = inputs[place]
        for place, make in self.made:
            objects[place] = make()
        for place, argument in self.image.given:
            objects[place] = objects[argument]
        return objects

    def _maker(self, place: int, kind: ArrayType, strides: tuple[int, ...] | None) -> Callable[[], np.ndarray]:
        """What makes the memory of a result."""
        if kind.nbytes < results.LARGE and strides is None:
            return functools.partial(np.empty, kind.shape, kind.dtype)
        return functools.partial(results.empty, kind.shape, kind.dtype, kind.nbytes, strides)

    def perform(self, action: Any, objects: list[Any], watched: int) -> None:
        """Run consecutive kernels, given by the address of their table, or a step that NumPy executes."""
        if type(action) is not int:
            action.run(objects)
            return
        places = self.image.places
        # Without what only NumPy sees, of which there may be much more.
        arrays = tuple(objects if len(objects) == places else objects[:places])
        position = 0
        while True:  # Python runs signal handlers between the calls
            state = self.run_native(action, id(arrays), watched, position)
            if state & native.OUT_OF_BOUNDS:
                raise OutOfBounds("an index is out of bounds")
            if state & watched:
                raise FloatingPointRaised
            position = state >> native.POSITION_BIT
            if not position:
                break
