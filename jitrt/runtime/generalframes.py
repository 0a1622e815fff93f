"""Frames of programs whose numbers depend on extents: native code writes them before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.frozen import replaced
from ..ir.types import ArrayType, contiguous_strides
from ..kernels import driver
from ..kernels import formulas as native
from . import formulas, threads
from .frames import Frame
from .image import PIECES_PER_THREAD, Image
from .objects import address

_ROOM = 2  # times what a call needs, so that few sizes ask for another frame
LEAST_ROOM = 1 << 18  # bytes, which are no memory before something is written there


class GeneralFrame(Frame):
    """Memory for one call at a time of arrays of any extents that satisfy the guards, as long as it has room.

    Parameters
    ----------
    image : Image
        With formulas.
    kernels, limit
        As for `Frame`.
    room : int
        Bytes of the frame.
    """

    def __init__(self, image: Image, kernels: Sequence[int], limit: int, room: int):
        self._kernels, self._limit = kernels, limit
        self._lay_out(image, room)

    def _lay_out(self, image: Image, room: int) -> None:
        """Make a frame with so many bytes, and the rows that write what the driver reads of it."""
        assert image.formulas is not None
        super().__init__(replaced(image, nbytes=room), self._kernels, self._limit)
        self._registers_of = image.formulas.registers()
        self._rows: list[tuple[int, int, int, int]] = list(map(tuple, image.formulas.rows.tolist()))
        self._copies: list[tuple[int, int, int, int]] = []
        self._code: np.ndarray | None = None
        self._registers = np.empty(0, np.int64)
        self.shapes = [np.array(kind.shape, np.int64) for _, kind, _ in image.fresh]
        self._is_parallel = threads.has_pool() or self._limit == 1
        self._require_room(room)
        self._link()

    def _require_room(self, room: int) -> None:
        """Guards that have a call served by another frame, or wait for the pool of threads."""
        if (needed := self._register(formulas.NBYTES)) is not None:
            self._rows.append((native.WITHIN, needed, 0, room))
        for (kind, _, _), register in self._registers_of.items():
            if kind == formulas.CHUNKED and not self._is_parallel:
                self._rows.append((native.WITHIN, register, 0, 0))

    def _register(self, kind: int, k: int = 0, j: int = 0) -> int | None:
        return self._registers_of.get((kind, k, j))

    def _number(self, value: int) -> int:
        """The register of a number."""
        self._rows.append((native.NUMBER, value, 0, 0))
        return len(self._rows) - 1

    def _at(self, kind: int, k: int, value: int) -> int:
        """The register of what may be a formula or the number `value`."""
        found = self._register(kind, k)
        return self._number(value) if found is None else found

    def _link(self) -> None:
        """Rows that write what depends on extents to where the driver reads it."""
        image, memory = self.image, self.bases[0]
        self._zero = self._number(0)
        for (kind, k, j), register in self._registers_of.items():
            if kind == formulas.EXTENT:
                self.store(register, address(self.shapes[k]) + 8 * j)
            elif kind in (formulas.WORD, formulas.VALUE, formulas.JUMP, formulas.CHUNKED, formulas.OFFSET):
                self._link_word(kind, k, j, register)
        for k, (at, count) in enumerate(image.counts):
            self._rows.append(
                (native.STORE, self._at(formulas.COUNT, k, count), memory, self._at(formulas.COUNT_AT, k, at))
            )
        # Where a scalar lies in the frame is not known when it is read: it is copied there from a place that stays.
        staged = [np.zeros(-(-dtype.itemsize // 8), np.int64) for _, _, dtype in image.scalars]
        for k, ((_, at, _), words) in enumerate(zip(image.scalars, staged)):
            place = self._at(formulas.SCALAR_AT, k, at)
            self._copies += [(native.COPY, address(words) + 8 * w, memory + 8 * w, place) for w in range(len(words))]
        self.scalars = [(k, np.ndarray((), dtype, words.data)) for (k, _, dtype), words in zip(image.scalars, staged)]

    def _link_word(self, kind: int, action: int, k: int, register: int) -> None:
        table = self.image.actions[action]
        assert table is not None
        first_row = len(driver.HEADER) + len(driver.PATCH) * len(table.patches)
        row = first_row + len(driver.ROW) * k
        if kind == formulas.WORD:
            place = first_row + len(driver.ROW) * len(table.rows) + k
            region = dict(table.relocations.tolist()).get(k)
            if region is not None:
                self._rows.append((native.SUM, register, 1, self._number(self.bases[region])))
                register = len(self._rows) - 1
        elif kind == formulas.OFFSET:
            place = len(driver.HEADER) + len(driver.PATCH) * k + driver.PATCH.index("offset")
        elif kind == formulas.VALUE:
            place = row + driver.ROW.index("span")
        else:
            place = row + driver.ROW.index("chunk")
            if kind == formulas.CHUNKED:
                span = self._register(formulas.VALUE, action, k)
                span = self._number(int(table.rows[k, 3])) if span is None else span
                self._rows.append((native.CHUNK, span, PIECES_PER_THREAD * threads.num_threads(), register))
                register = len(self._rows) - 1
        self.store(register, self.actions[action] + 8 * place)

    def store(self, register: int, place: int) -> None:
        """Let a register be written to the word at an address."""
        self._rows.append((native.STORE, register, place, self._zero))
        self._code = None

    def bytes_of(self, place: int, array: np.ndarray) -> int:
        """The register with the bytes of the array at a place."""
        found = self._number(array.itemsize)
        for k, (op, x, _, _) in enumerate(self._rows):
            if op == native.EXTENT and x == place:
                self._rows.append((native.PRODUCT, found, k, 0))
                found = len(self._rows) - 1
        return found

    def is_large(self, k: int) -> int | None:
        """The register that tells whether result `k` is large; None if that does not depend on extents."""
        return self._register(formulas.MANY, k)

    def work(self, unit: int) -> int | None:
        """The register with how often the work contains `unit`; None if that does not depend on extents."""
        work = self._register(formulas.WORK)
        if work is None:
            return None
        self._rows.append((native.QUOTIENT, work, self._number(unit), 0))
        return len(self._rows) - 1

    def spend(self, patience: int) -> None:
        """Let calls of sizes for which another program would be better take their work from the word at an address."""
        outside = self._register(formulas.OUTSIDE)
        if outside is not None:
            work = self._at(formulas.WORK, 0, self.image.work)
            self._copies.append((native.SPEND, outside, patience, work))
            self._code = None

    def code(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows, and their registers."""
        if self._code is None:
            self._code = formulas.packed([*self._rows, *self._copies], len(self._rows))
            self._registers = formulas.new_registers(self._code)
        return self._code, self._registers

    def saved(self) -> list[tuple[int, int, int]]:
        def now(kind: int, k: int, value: int) -> int:
            found = self._register(kind, k)
            return value if found is None else int(self._registers[found])

        return [
            (place, now(formulas.SAVED_FROM, k, start), now(formulas.SAVED_TO, k, stop))
            for k, (place, start, stop) in enumerate(self.image.saved)
        ]

    def begin(self, inputs: Sequence[Any]) -> list[Any]:
        arrays = tuple(inputs)
        for place, view in self.scalars:
            view[()] = arrays[place]
        code, registers = self.code()
        if not formulas.evaluate(code, arrays, registers):
            # The guards hold, as was seen before: what there is not enough of is memory, or threads.
            needed = self.image.nbytes if (k := self._register(formulas.NBYTES)) is None else int(registers[k])
            threads.start_pool()
            has_room = needed <= self.image.nbytes
            self._lay_out(self.image, self.image.nbytes if has_room else _ROOM * needed)
            return self.begin(inputs)
        objects: list[Any] = [*arrays, *[None] * (self.image.places - len(arrays))]
        for (place, kind, strides), words in zip(self.image.fresh, self.shapes):
            shape = tuple(words.tolist())
            made = ArrayType(kind.dtype, shape, kind.weak)
            order = None if strides is None else contiguous_strides(shape[::-1], kind.dtype.itemsize)[::-1]
            objects[place] = self._maker(place, made, order)()
        for place, argument in self.image.given:
            objects[place] = objects[argument]
        return objects
