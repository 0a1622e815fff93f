"""Formulas of an image: numbers that depend on extents, as rows that native code evaluates (`kernels.formulas`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen, replaced
from ..ir.extents import LEAST, Sizes, is_extent
from ..ir.integers import Poly
from ..ir.types import ArrayType, fortran_strides
from ..kernels import formulas as native
from . import threads
from .image import FIRST_KERNEL, Image, Table
from .objects import address, tuple_and_array_offsets
from .results import LARGE

Row = tuple[int, int, int, int]

_MOST = 1 << 52

# What of an image a formula is for, with up to two numbers: an input or result and an axis, or an action and a word, a
# row or a patch. `CHUNKED` is whether threads share a row, `MANY` whether a result is large, `OUTSIDE` whether sizes
# are others than are preferred.
NBYTES, WORK, SCALAR_AT, COUNT_AT, COUNT, EXTENT, MANY, SAVED_FROM, SAVED_TO = range(9)
WORD, VALUE, JUMP, CHUNKED, OFFSET, OUTSIDE = range(9, 15)


@frozen(eq=False)
class Formulas:
    """What of an image depends on the extents of the arrays of a call.

    Parameters
    ----------
    rows : numpy.ndarray
        Rows as in `kernels.formulas`, guards among them.
    places : numpy.ndarray
        What is computed: the kind, two numbers, and the register.
    """

    rows: np.ndarray
    places: np.ndarray

    def registers(self) -> dict[tuple[int, int, int], int]:
        """The registers, by what they are for."""
        return {(kind, k, j): register for kind, k, j, register in self.places.tolist()}


class Rows:
    """Rows that compute polynomials, each of them once.

    Parameters
    ----------
    quotients : mapping of str to (Poly, Poly)
        Names that stand for quotients.
    """

    def __init__(self, quotients: Mapping[str, tuple[Poly, Poly]]):
        self.rows: list[Row] = []
        self.names: dict[str, int] = {}
        self.outside: int | None = None
        self._quotients = quotients
        self._known: dict[Row, int] = {}

    def add(self, op: int, x: int = 0, y: int = 0, z: int = 0) -> int:
        """The register of a row."""
        row = op, x, y, z
        if row not in self._known:
            self._known[row] = len(self.rows)
            self.rows.append(row)
        return self._known[row]

    def poly(self, poly: Poly) -> int:
        """The register of a polynomial."""
        found = None
        for names, factor in poly.terms:
            if not names:
                found = self.add(native.NUMBER, factor)
                continue
            product = self._name(names[0])
            for name in names[1:]:
                product = self.add(native.PRODUCT, product, self._name(name))
            if found is None and factor == 1:
                found = product
            else:
                found = self.add(native.SUM, self.add(native.NUMBER) if found is None else found, factor, product)
        return self.add(native.NUMBER) if found is None else found

    def _name(self, name: str) -> int:
        if name not in self.names:
            x, y = self._quotients[name]
            self.names[name] = self.add(native.QUOTIENT, self.poly(x), self.poly(y))
        return self.names[name]

    def require(self, register: int, low: int, high: int) -> None:
        self.add(native.WITHIN, register, low, high)


# What a program reads of a call: of an array, by the number of the input, its shape, and its strides if it is not
# contiguous; of an integer what it is.
Given = Mapping[int, Any]


def rows_of(sizes: Sizes, given: Given) -> Rows:
    """Rows that read what depends on variables, and find out whether the guards hold.

    Integers are read from the words with their numbers, which `placed` replaces by addresses.

    Parameters
    ----------
    sizes : Sizes
        No further decision can be noted.
    given : Given
        Variables with a factor of 1 or -1, and numbers.
    """
    sizes.close()
    rows = Rows(sizes.quotients)
    arrays = {k: value for k, value in given.items() if type(value) is tuple}
    read = [(rows.add(native.EXTENT, k, j), n) for k, (shape, _) in arrays.items() for j, n in enumerate(shape)]
    if not read:
        rows.add(native.BEGIN)
    for k, (_, strides) in arrays.items():
        read += [(rows.add(native.STRIDE, k, j), n) for j, n in enumerate(strides or ())]
    read += [(rows.add(native.INTEGER, k), n) for k, n in given.items() if k not in arrays]
    rows.add(native.UNLESS_CHANGED)
    for register, n in read:
        if not is_extent(n):
            rows.require(register, n, n)
            continue
        ((names, sign),) = n.poly.terms
        if sign < 0:
            register = rows.add(native.SUM, rows.add(native.NUMBER), -1, register)
        if names[0] not in rows.names:
            rows.names[names[0]] = register
            rows.require(register, LEAST, _MOST)
        else:
            rows.require(rows.add(native.SUM, register, -1, rows.names[names[0]]), 0, 0)
    for guard in sizes.guards:
        register = rows.poly(guard.poly)
        rows.require(register, guard.low, guard.high)
        for number in guard.others:
            rows.add(native.DIFFERS, register, number)
    for guard in sizes.preferences:
        outside = rows.add(native.OUTSIDE, rows.poly(guard.poly), guard.low, guard.high)
        rows.outside = outside if rows.outside is None else rows.add(native.SUM, rows.outside, 1, outside)
    return rows


@frozen(eq=False)
class OpenSizes:
    """Which sizes of calls may be any: what the inputs are given, and the rows that read that and guard it."""

    given: Given
    rows: Sequence[Row]


def packed(rows: Sequence[Row], end: int | None = None) -> np.ndarray:
    """Rows as an array; the first `end` of them, by default all, are left out where no extent has changed."""
    made = np.array(rows, np.int64).reshape(-1, len(native.ROW))
    made[made[:, 0] == native.UNLESS_CHANGED, 1] = len(rows) if end is None else end
    return made


def placed(rows: Iterable[Row], words: Mapping[int, np.ndarray]) -> list[Row]:
    """Rows that read integers from the words at the addresses of these arrays."""
    return [(op, address(words[x]), y, z) if op == native.INTEGER else (op, x, y, z) for op, x, y, z in rows]


def evaluate(rows: np.ndarray, arrays: tuple[Any, ...], registers: np.ndarray) -> bool:
    """Whether the guards hold for these arrays; `registers` get what the rows compute."""
    items = id(arrays) + tuple_and_array_offsets()[0]
    return threads.formulas()(address(rows), len(rows), items, address(registers))


def new_registers(rows: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Registers for as many rows, which hold nothing that extents could be."""
    return np.full(len(rows), -1, np.int64)


# What formulas are for, as above, and the formulas.
Places = Sequence[tuple[int, int, int, Poly]]


def taken_out(image: Image) -> tuple[Image, list[tuple[int, int, int, Poly]]]:
    """An image with numbers in the place of formulas, those that there were at first; and the formulas."""
    places: list[tuple[int, int, int, Poly]] = []

    def at_first(value: Any, kind: int, k: int = 0, j: int = 0) -> int:
        if not is_extent(value):
            return value
        places.append((kind, k, j, value.poly))
        return value.value

    return renumbered(image, at_first), places


def renumbered(image: Image, number: Callable[..., int]) -> Image:
    """An image with ``number(value, kind, k, j)`` in the place of what may be a formula, see above."""

    def result(k: int, place: int, kind: ArrayType, strides: tuple[Any, ...] | None) -> tuple:
        number(kind.nbytes, MANY, k)
        made = ArrayType(kind.dtype, tuple(number(n, EXTENT, k, j) for j, n in enumerate(kind.shape)), kind.weak)
        return place, made, None if strides is None else fortran_strides(made.shape, made.dtype.itemsize)

    def table(action: int, before: Table | None) -> Table | None:
        if before is None:
            return None
        params = [number(n, WORD, action, k) for k, n in enumerate(before.params.tolist())]
        patches = before.patches.copy()
        patches[:, 2] = [number(n, OFFSET, action, k) for k, n in enumerate(before.patches[:, 2].tolist())]
        rows = before.rows.copy()
        for k, (_, kernel, _, value, jump) in enumerate(before.rows.tolist()):
            rows[k, 3] = number(value, VALUE, action, k)
            rows[k, 4] = number(jump, CHUNKED if kernel >= FIRST_KERNEL else JUMP, action, k)
        return Table(np.array(params, np.int64), before.relocations, patches.astype(np.int64), rows.astype(np.int64))

    return replaced(
        image,
        nbytes=number(image.nbytes, NBYTES),
        work=number(image.work, WORK),
        scalars=tuple((k, number(at, SCALAR_AT, j), dtype) for j, (k, at, dtype) in enumerate(image.scalars)),
        counts=tuple((number(at, COUNT_AT, j), number(n, COUNT, j)) for j, (at, n) in enumerate(image.counts)),
        fresh=tuple(result(k, *made) for k, made in enumerate(image.fresh)),
        saved=tuple(
            (place, number(a, SAVED_FROM, k), number(b, SAVED_TO, k)) for k, (place, a, b) in enumerate(image.saved)
        ),
        actions=tuple(table(k, action) for k, action in enumerate(image.actions)),
    )


def formulas_of(sizes: Sizes, given: Given, places: Places) -> Formulas:
    """Rows that compute what an image needs for calls with what is `given`."""
    rows = rows_of(sizes, given)
    found = []
    for kind, k, j, poly in places:
        register = rows.poly(poly)
        if kind == MANY:
            register = rows.add(native.QUOTIENT, register, rows.add(native.NUMBER, LARGE))
        found.append((kind, k, j, register))
    if rows.outside is not None:
        found.append((OUTSIDE, 0, 0, rows.outside))
    return Formulas(packed(rows.rows), np.array(found, np.int64).reshape(-1, 4))
