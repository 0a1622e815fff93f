"""Tables of the native entry: what the arguments of a call have to be, and what it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..config import debug
from ..frontend.python.stores import Store
from ..ir.types import fortran_strides
from ..kernels import entry as native
from ..kernels import results as made
from ..values.kinds import DICT, Tree
from ..values.trees import is_flat, maker_of
from .dispatch import Words
from .errstate import NUMBERS, UNCOMPUTED
from .formulas import OpenSizes, new_registers, packed, placed
from .generalframes import GeneralFrame
from .guards import Captured, GuardRows, TakenApart
from .objects import Unguarded, address, address_of, fields
from .program import Program
from .results import LARGE, handler

# Work of this many additions, some microseconds, is worth letting other Python threads run meanwhile.
_RELEASING_WORK = 100_000


@frozen
class Returned:
    """A result: output number `index` as an array or a number, input number `index`, or a Python object.

    Parameters
    ----------
    source : str
        ``"array"``, ``"input"``, ``"value"``, or ``"given"``: what is at the path `value` of the arguments.
    scalar, weak : bool
        Whether it is a NumPy scalar or a Python number, not an array.
    view : callable, optional
        What makes a view of the array, which is returned in its place.
    reads : tuple of int
        Numbers of further results that it takes.
    """

    source: str
    index: int
    scalar: bool
    value: Any
    weak: bool = False
    view: Callable[..., np.ndarray] | None = None
    reads: tuple[int, ...] = ()


_PYTHON_NUMBERS = {
    np.dtype(np.float64): made.FLOAT,
    np.dtype(np.int64): made.INTEGER,
    np.dtype(np.bool_): made.BOOLEAN,
}


def make_table(
    function: Callable[..., Any],
    program: Program,
    call: TakenApart,
    arguments: Sequence[int],
    captured: Sequence[Captured],
    watched: Sequence[Captured],
    written: Sequence[tuple[int, int]],
    results: Sequence[Returned],
    structure: Tree,
    stores: Sequence[Store] = (),
    ignored: Iterable[str] = (),
    compares: bool = False,
) -> Words | None:
    """The table by which native code runs `program` for calls like this one; None if such calls need Python.

    Parameters
    ----------
    function : callable
        The plain function, which serves calls that raise floating-point exceptions.
    program : Program
    call : TakenApart
        A call like those that the table will serve.
    arguments : sequence of int
        For each input of the program that is an argument the number of its leaf.
    captured : sequence of Captured
        The inputs after those: arrays that the function reads from outside.
    watched : sequence of Captured
        Further values from outside, which have to be the same objects.
    written : sequence of (int, int)
        Inputs that are written, and the number of the output that each of them has to hold afterwards.
    results : sequence of Returned
    structure : Tree
        How they are nested.
    stores : sequence of Store
        What is stored; the last ones of `results` are the values.
    ignored : iterable of str
        Floating-point exceptions that the function lets pass, whatever its caller does with them.
    compares : bool
        Whether the function asks which of the arrays are one: calls have none that have memory in common.
    """
    stored = sum(len(store.structure[2]) for store in stores)
    returned = len(results) - stored
    views = [None if result.view is None else (result.view, result.reads) for result in results[:returned]]
    is_plain = structure is None or is_flat(structure)
    is_dict = structure is not None and structure[0] is DICT and not any(structure[2])
    keys = tuple(structure[1]) if is_dict and not any(views) else ()
    make = None if (is_plain or keys) and not any(views) else maker_of(structure, views)
    several = structure is not None or make is not None
    if fields() is None or debug():
        return None
    image = program.image
    passing = sum(NUMBERS[name] for name in ignored)
    fresh = {place for place, _, _ in image.fresh}
    dtypes = {place: kind.dtype for place, kind, _ in image.fresh}
    outputs = image.outputs
    computed = {outputs[r.index] for r in results if r.source == "array"} | {outputs[o] for _, o in written}
    if not image.is_native or not computed <= fresh:
        return None
    numbers = computed - {outputs[r.index] for r in results if r.source == "array" and not (r.scalar or r.weak)}
    frame = program.take_frame()
    try:
        guarded = GuardRows(
            {leaf: place for place, leaf in enumerate(arguments)},
            {place: address(view) for place, view in frame.scalars},
            image.places,
            any_shape=frame.arrays if isinstance(frame, GeneralFrame) else (),
            arguments=(call.args, call.kwargs),
        )
        guarded.add_call(call)
        guarded.add_outside([*enumerate(captured, len(arguments)), *((None, w) for w in watched)])
        told_apart = [*guarded.arrays] if compares else [number for number, _ in written]
        apart = np.array(guarded.apart(told_apart), np.int64).reshape(-1, len(native.APART))
        kept = guarded.kept
        kept += [frame, program, function]
        general = frame if isinstance(frame, GeneralFrame) else None
        new = {place: k for k, (place, _, _) in enumerate(image.fresh)}
        outputs_made = np.zeros((len(new), len(made.OUTPUT)), np.int64)
        for row, k in zip(outputs_made, new.values()):
            place, kind, strides = image.fresh[k]
            kept.append(kind.dtype)
            if strides is not None and strides != fortran_strides(kind.shape, kind.dtype.itemsize):
                raise Unguarded
            shape = address_of(kind.shape, kept) if general is None else address(general.shapes[k])
            is_number = not kind.ndim and place in numbers and kind.dtype.kind in "biufcmM"
            kept.append(np.zeros((), kind.dtype) if is_number else None)
            number = id(kept[-1]) if is_number else 0
            row[:] = id(kind.dtype), kind.ndim, shape, place, kind.nbytes >= LARGE, strides is not None, number
        result_rows: list[int] = []
        for result in results:
            if result.source == "array":
                dtype = dtypes[outputs[result.index]]
                if result.weak and dtype not in _PYTHON_NUMBERS:
                    raise Unguarded
                kind = _PYTHON_NUMBERS[dtype] if result.weak else made.SCALAR if result.scalar else made.ARRAY
                result_rows += (kind, outputs[result.index])
            elif result.source == "input":
                result_rows += (made.ARRAY, result.index)
            elif result.source == "given":
                result_rows += (made.GIVEN, guarded.row_at(result.value))
            else:
                kept.append(result.value)
                result_rows += (made.OBJECT, id(result.value))
        kept += [make, keys]
        place = guarded.add_places(stored)
        store_rows = [word for row in _store_rows(stores, place, guarded) for word in row]
        can_change = stores or several or general or image.work >= _RELEASING_WORK or len(frame.blocks) > 1
        kept += [outputs_made, apart]
        table = guarded.table(
            len(call.positional),
            call.keywords,
            {
                "apart": len(apart),
                "apart_rows": address(apart),
                "outputs": len(fresh),
                "output_rows": address(outputs_made),
                "written": len(written),
                "written_rows": address_of([place for i, o in written for place in (i, outputs[o])], kept),
                "results": returned,
                "result_rows": address_of(result_rows[: returned * len(made.RESULT)], kept),
                "stored": stored,
                "stored_rows": address_of(result_rows[returned * len(made.RESULT) :], kept),
                "stored_place": place,
                "stores": len(store_rows) // len(made.STORE),
                "store_rows": address_of(store_rows, kept),
                "blocks": len(frame.blocks),
                "block_table": address_of([address(block) for block in frame.blocks], kept),
                "release": image.work >= _RELEASING_WORK,
                "held": len(guarded.rows) if can_change else 0,
                "tuple": several,
                "maker": 0 if make is None else id(make),
                "keys": id(keys) if keys else 0,
                "handler": id(handler()),
                "watched": image.may_raise & ~(passing | passing << UNCOMPUTED),
                "function": id(function),
            },
        )
    except Unguarded:
        program.give_back(frame)
        return None
    frame.shift(guarded.offsets)
    if general is not None:
        general.spend(address(program.patience))
        _add_formulas(table, general, outputs_made, list(new.values()), apart, guarded.arrays, len(arguments))
    return table


def _add_formulas(
    table: Words,
    frame: GeneralFrame,
    outputs: np.ndarray,
    results: Sequence[int],
    apart: np.ndarray,
    arrays: Mapping[int, np.ndarray],
    arguments: int,
) -> None:
    """Let a table compute what depends on the extents of arguments.

    Parameters
    ----------
    table : Words
    frame : GeneralFrame
        Its frame.
    outputs : numpy.ndarray
        Rows of arrays to allocate.
    results : sequence of int
        Which of the new arrays of the image they are.
    apart : numpy.ndarray
        Rows of arrays that must not overlap.
    arrays : mapping of int to numpy.ndarray
        What is at the places of inputs.
    arguments : int
        The first so many places are those of arguments.
    """
    for row, k in zip(outputs, results):
        if (large := frame.is_large(k)) is not None:
            frame.store(large, address(row) + 8 * made.OUTPUT.index("large"))
    for row in apart:
        for which in ("first", "second"):
            place = int(row[native.APART.index(which)])
            for end, register in zip(
                ("low", "high"), frame.bounds_of(place, arrays[place]) if place < arguments else ()
            ):
                frame.store(register, address(row) + 8 * native.APART.index(f"{which}_{end}"))
    if (releases := frame.work(_RELEASING_WORK)) is not None:
        frame.store(releases, table.address + 8 * native.TABLE.index("release"))
    code, registers = frame.code()
    for name, value in (("formulas", len(code)), ("formula_rows", address(code)), ("registers", address(registers))):
        table[native.TABLE.index(name)] = value


def _store_rows(stores: Sequence[Store], place: int, guarded: GuardRows) -> Iterator[tuple[int, ...]]:
    """Rows of what is stored, whose values are noted under `place` and the places after it."""
    for store in stores:
        count, row = len(store.structure[2]), guarded.row_at(store.path)
        if store.keys is None:
            yield made.APPEND if store.appends else made.REPLACE, row, 0, place, count
        else:
            guarded.kept += store.keys
            how = guarded.how_stored(row)
            yield from ((how, row, id(key), k, 1) for k, key in enumerate(store.keys, place))
        place += count


def make_plain_table(
    function: Callable[..., Any],
    call: TakenApart,
    watched: Sequence[Captured],
    captured: Sequence[Captured],
    integers: Iterable[int] = (),
    arguments: Sequence[int] = (),
    sizes: OpenSizes | None = None,
    compiled: bool = False,
) -> Words | None:
    """The table by which native code calls `function` with arguments like these; None if Python has to look at them.

    Parameters
    ----------
    function : callable
        The plain function, or another one in Python that serves such calls.
    call : TakenApart
        A call for which it was found that `function` should run.
    watched : sequence of Captured
        Values from outside, which have to be the same objects.
    captured : sequence of Captured
        Arrays from outside, which have to have the same types, shapes and strides.
    integers : iterable of int
        Numbers of the leaves that are Python integers of any value of 64 bits.
    arguments : sequence of int
        For each input that is an argument the number of its leaf.
    sizes : OpenSizes, optional
        Of these inputs, where they may be others.
    compiled : bool
        Whether `function` runs what is compiled: such calls are not counted as plain ones.
    """
    if fields() is None:
        return None
    unread = len(arguments)
    given = {} if sizes is None else sizes.given
    read = {k: np.zeros(1, np.int64) for k in (unread, *given) if type(given.get(k)) is not tuple}
    guarded = GuardRows(
        {arguments[k]: k for k in given} | dict.fromkeys(integers, unread),
        {k: address(word) for k, word in read.items()},
        unread + 1,
        any_shape=given.keys() - read.keys(),
        arguments=(call.args, call.kwargs),
    )
    try:
        guarded.add_call(call)
        guarded.add_outside([*((None, w) for w in watched), *((guarded.unused, c) for c in captured)])
    except Unguarded:
        return None
    guarded.kept += [function, read]
    own: dict[str, int] = {"plain": id(function), "function": id(function) if compiled else 0}
    if sizes is not None:
        rows = packed(placed(sizes.rows, read))
        registers = new_registers(rows)
        guarded.kept += [rows, registers]
        own |= {"formulas": len(rows), "formula_rows": address(rows), "registers": address(registers)}
    return guarded.table(len(call.positional), call.keywords, own)


def make_fallback_table(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Words | None:
    """The table by which native code calls `function` with arguments of the same classes and dtypes."""
    if fields() is None:
        return None
    guarded = GuardRows({}, {}, 0)
    guarded.add_kinds((*args, *kwargs.values()))
    guarded.kept.append(function)
    return guarded.table(len(args), tuple(kwargs), {"plain": id(function)})
