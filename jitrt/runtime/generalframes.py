"""Frames of programs whose numbers depend on extents: native code writes them before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.frozen import replaced
from ..ir.types import ArrayType, fortran_strides
from ..kernels import driver
from ..kernels import formulas as native
from . import formulas, threads
from .frames import Frame
from .image import PIECES_PER_THREAD, Image
from .objects import address

_ROOM = 2  # times what a call needs, so that few sizes ask for another frame
_READ = (native.EXTENT, native.STRIDE, native.INTEGER)
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
        """Make a frame with so many bytes, and the rows that write what the driver reads of it.

        Where an interrupt or a lack of memory ends that, `begin` does it again: native code must not follow half of it.
        """
        assert image.formulas is not None
        self._is_laid_out = False
        super().__init__(replaced(image, nbytes=room), self._kernels, self._limit)
        self._registers_of = image.formulas.registers()
        rows = image.formulas.rows.tolist()
        self._read = {(op, k, j): register for register, (op, k, j, _) in enumerate(rows) if op in _READ}
        # Where a scalar lies in the frame is not known when it is read: it is copied there from a place that stays.
        kinds = {k: np.dtype(np.int64) for op, k, _ in self._read if op == native.INTEGER}
        kinds |= {k: dtype for k, _, dtype in image.scalars}
        self._words = {k: np.zeros(-(-dtype.itemsize // 8), np.int64) for k, dtype in kinds.items()}
        self.scalars = [(k, np.ndarray((), kinds[k], words.data)) for k, words in self._words.items()]
        self._rows = formulas.placed(rows, self._words)
        self._copies: list[formulas.Row] = []
        self._code: np.ndarray | None = None
        self._registers = np.empty(0, np.int64)
        self.shapes = [np.array(kind.shape, np.int64) for _, kind, _ in image.fresh]
        self._require_room(room)
        self._link()
        self._is_laid_out = True

    def _require_room(self, room: int) -> None:
        """Guards that have a call served by another frame, or wait for the pool of threads."""
        if (needed := self._register(formulas.NBYTES)) is not None:
            self._rows.append((native.WITHIN, needed, 0, room))
        for (kind, _, _), register in self._registers_of.items():
            if kind == formulas.CHUNKED and self._limit > 1:
                self._rows.append((native.POOLED, register, *threads.pool_words()))

    def _register(self, kind: int, k: int = 0, j: int = 0) -> int | None:
        return self._registers_of.get((kind, k, j))

    @property
    def arrays(self) -> set[int]:
        """Numbers of the inputs of which formulas read shapes."""
        return {k for op, k, _ in self._read if op == native.EXTENT}

    def _row(self, op: int, x: int = 0, y: int = 0, z: int = 0) -> int:
        """The register of a further row."""
        self._rows.append((op, x, y, z))
        return len(self._rows) - 1

    def _number(self, value: int) -> int:
        """The register of a number."""
        return self._row(native.NUMBER, value)

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
        for k, (source, at, _) in enumerate(image.scalars):
            words, place = self._words[source], self._at(formulas.SCALAR_AT, k, at)
            self._copies += [(native.COPY, address(words) + 8 * w, memory + 8 * w, place) for w in range(len(words))]

    def _link_word(self, kind: int, action: int, k: int, register: int) -> None:
        table = self.image.actions[action]
        assert table is not None
        first_row = len(driver.HEADER) + len(driver.PATCH) * len(table.patches)
        row = first_row + len(driver.ROW) * k
        if kind == formulas.WORD:
            place = first_row + len(driver.ROW) * len(table.rows) + k
            region = dict(table.relocations.tolist()).get(k)
            if region is not None:
                register = self._row(native.SUM, register, 1, self._number(self.bases[region]))
        elif kind == formulas.OFFSET:
            place = len(driver.HEADER) + len(driver.PATCH) * k + driver.PATCH.index("offset")
        elif kind == formulas.VALUE:
            place = row + driver.ROW.index("span")
        else:
            place = row + driver.ROW.index("chunk")
            if kind == formulas.CHUNKED:
                span = self._register(formulas.VALUE, action, k)
                span = self._number(int(table.rows[k, 3])) if span is None else span
                register = self._row(native.CHUNK, span, PIECES_PER_THREAD * threads.num_threads(), register)
        self.store(register, self.actions[action] + 8 * place)

    def store(self, register: int, place: int) -> None:
        """Let a register be written to the word at an address."""
        self._rows.append((native.STORE, register, place, self._zero))
        self._code = None

    def bounds_of(self, place: int, array: np.ndarray) -> tuple[int, int]:
        """The registers with where the elements of an array at a place begin and end, in bytes from its first one."""
        low, high = self._zero, self._number(array.itemsize)
        if (native.STRIDE, place, 0) not in self._read:
            for axis in range(array.ndim):
                high = self._row(native.PRODUCT, high, self._read[native.EXTENT, place, axis])
            return low, high
        for axis in range(array.ndim):
            last = self._row(native.SUM, self._number(-1), 1, self._read[native.EXTENT, place, axis])
            reach = self._row(native.PRODUCT, last, self._read[native.STRIDE, place, axis])
            if array.strides[axis] < 0:
                low = self._row(native.SUM, low, 1, reach)
            else:
                high = self._row(native.SUM, high, 1, reach)
        return low, high

    def is_large(self, k: int) -> int | None:
        """The register that tells whether result `k` is large; None if that does not depend on extents."""
        return self._register(formulas.MANY, k)

    def work(self, unit: int) -> int | None:
        """The register with how often the work contains `unit`; None if that does not depend on extents."""
        work = self._register(formulas.WORK)
        if work is None:
            return None
        return self._row(native.QUOTIENT, work, self._number(unit))

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
            code = formulas.packed([*self._rows, *self._copies], len(self._rows))
            self._registers = formulas.new_registers(code)
            self._code = code  # at last: an interrupt in between leaves no code without registers
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
        if not self._is_laid_out:
            self._lay_out(self.image, self.image.nbytes)
        for place, view in self.scalars:
            view[()] = arrays[place]
        code, registers = self.code()
        if not formulas.evaluate(code, arrays, registers):
            # The guards hold, as was seen before: what there is not enough of is memory, or threads.
            needed = self.image.nbytes if (k := self._register(formulas.NBYTES)) is None else int(registers[k])
            if needed > self.image.nbytes:
                self._lay_out(self.image, _ROOM * needed)
            else:
                threads.start_pool()
            return self.begin(inputs)
        objects: list[Any] = [*arrays, *[None] * (self.image.places - len(arrays))]
        for (place, kind, strides), words in zip(self.image.fresh, self.shapes):
            shape = tuple(words.tolist())
            made = ArrayType(kind.dtype, shape, kind.weak)
            order = None if strides is None else fortran_strides(shape, kind.dtype.itemsize)
            objects[place] = self._maker(place, made, order)()
        for place, argument in self.image.given:
            objects[place] = objects[argument]
        return objects
