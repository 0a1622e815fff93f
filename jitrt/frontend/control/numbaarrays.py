"""Calls of functions that numba compiles for whole arrays, in staged functions: native code calls them by address.

    y = filtered(x, rate)  →  store what describes x and rate into words
                              status = call numba.filtered0 words; stop if status
                              copy what the words say of the result into y; call numba.release …

    inner(x, y, out)       →  for each index of the axes in front: the same, with parts of x, y and out

An array that the function writes into is given as a copy, which is assigned to it when the function has returned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.integers import Poly
from ...ir.loops import POINTER
from ..python.numbas import may_return_arguments, parameters_written, source_of, written_by
from . import arrays as a
from .arrays import ONE, ZERO
from .external import MOST_WORDS, Slot, received
from .recorder import Recorder, place
from .scalars import dtypes_of, from_register, poly_of, register_of, settled
from .values import FLOAT, INT, Array, NotStaged, View, dtype_of, is_number, is_python_number

if TYPE_CHECKING:
    from ...kernels.numbaarrays import Native


def call(r: Recorder, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call with arrays."""
    args = settled(r, tuple(args))
    if kwargs or not all(_is_taken(v) for v in args):
        raise NotStaged(f"arguments of {function.__name__}")
    if hasattr(function, "gufunc_builder"):
        return _generalised(r, function, args)
    python = source_of(function)
    if python is None or len(args) != python.__code__.co_argcount:
        raise NotStaged(f"arguments of {function.__name__}")
    return _of_arrays(r, function, args, may_return_arguments(python))


def _is_taken(value: Any) -> bool:
    if isinstance(value, Array):
        return value.ndim > 0
    return is_number(value) and is_python_number(value) is not None and dtype_of(value).char in "?bhilqBHIfd"


def _of_arrays(r: Recorder, function: Any, args: Sequence[Any], may_return: bool) -> Any:
    from ...kernels import numbaarrays

    targets = [v for v in written_by(function, args, {}) if isinstance(v, Array)]
    for target in targets:
        _check_alone(function, target, [v for v in args if isinstance(v, Array)])
    lying = [a.materialise(r, v) if isinstance(v, Array) else v for v in args]
    for value in lying:
        if isinstance(value, Array) and not _is_contiguous(value):
            raise NotStaged(f"an array that {function.__name__} may get in another layout")
    is_new = all(_is_own(v.memory) for v in lying if isinstance(v, Array))
    given = [(v.dtype, v.ndim) if isinstance(v, Array) else (dtype_of(v), -1) for v in lying]
    native = numbaarrays.of_arrays(function, tuple(given), is_new)
    if native is None or (may_return and _arrays_in(native.result)):
        raise NotStaged(f"what numba compiles of {function.__name__}")
    copies = {id(v): a.materialise(r, v, always=True) for v in targets}
    words = _Words(r)
    for before, value in zip(args, lying):
        words.give(copies.get(id(before), value))
    places = itertools.count(words.count)
    result = _kinds(native.result, places)
    records = [next(places) for _ in range(_arrays_in(native.result))]
    if next(places) > MOST_WORDS:
        raise NotStaged("too much of an external call")
    words.call(native)
    made = received(r, result, words.memory)
    for record in records:
        r.external(numbaarrays.RELEASE, (r.load(words.memory, INT, (Poly.number(record),)),), (INT,), INT)
    for target in targets:
        a.assign(r, target, copies[id(target)])
    return made


def _check_alone(function: Any, target: Array, arrays: Sequence[Array]) -> None:
    """Refuse what the function may see written through another argument."""
    others = [v for v in arrays if v is not target]
    if target.view is None or len(others) < len(arrays) - 1:
        raise NotStaged(f"what {function.__name__} writes into")
    for other in others:
        is_apart = _is_own(target.view) or (other.view is not None and _is_own(other.view))
        if not is_apart or other.reads & target.view.origins:
            raise NotStaged(f"{function.__name__} writes into memory that another argument may share")


def _is_own(view: View) -> bool:
    """Whether memory is that of an array which the procedure makes, and in no list."""
    return all(origin.startswith("m") for origin in view.origins)


def _is_contiguous(array: Array) -> bool:
    """Whether NumPy has the array in C order, and without gaps."""
    strides = a.contiguous_strides(array.shape, array.dtype)
    is_plain = array.c_order and not (array.is_part or array.order or array.turned)
    return is_plain and array.memory.strides == strides


def _kinds(result: Any, places: Iterator[int]) -> Any:
    """What the words hold of a result, as `external.received` reads it."""
    if result is None:
        return None
    if type(result) is tuple:
        return tuple, tuple(_kinds(part, places) for part in result)
    at = next(places)
    for _ in range(result.ndim):
        next(places)
    return Slot("number" if result.ndim < 0 else "array", at, result.dtype, None, max(result.ndim, 0), True)


def _arrays_in(result: Any) -> int:
    """How many arrays a result holds."""
    return sum(map(_arrays_in, result)) if type(result) is tuple else int(result is not None and result.ndim >= 0)


class _Words:
    """What an entry reads and writes.

    Attributes
    ----------
    memory : View
    count : int
        How many words are given.
    """

    def __init__(self, r: Recorder):
        self.r, self.count = r, 0
        memory = a.fresh(r, INT, (Poly.number(MOST_WORDS),)).view
        assert memory is not None
        self.memory = memory

    def put(self, name: str, dtype: np.dtype = INT) -> None:
        if self.count == MOST_WORDS:
            raise NotStaged("too much of an external call")
        self.r.store(self.memory, dtype, (Poly.number(self.count),), name)
        self.count += 1

    def give(self, value: Any) -> None:
        """An array in memory, or a number."""
        r = self.r
        if isinstance(value, Array):
            self.part(value.memory, value.shape)
        elif dtype_of(value).kind == "f":
            self.put(register_of(r, value, FLOAT), FLOAT)
        else:
            self.put(r.integer(poly_of(r, value)))

    def part(self, view: View, shape: Sequence[Poly]) -> None:
        self.put(self.r.address(view))
        for number in (*shape, *view.strides):
            self.put(self.r.integer(number))

    def call(self, native: Native) -> None:
        """Call it; the procedure stops where it raises."""
        status = self.r.external(native.symbol, (self.r.address(self.memory),), (POINTER,), INT)
        self.r.stop(self.r.machine("!=", Poly.name(status), ZERO))


# -- generalised ufuncs


def _generalised(r: Recorder, function: Any, args: Sequence[Any]) -> Any:
    """What a function by `numba.guvectorize` gives."""
    from ...kernels import numbaarrays

    builder = function.gufunc_builder
    cores = [*builder.sin, *builder.sout]
    args, given = args[: len(builder.sin)], args[len(builder.sin) :]
    if (
        len(args) < len(builder.sin)
        or len(given) not in (0, len(builder.sout))
        or not all(name.isidentifier() for core in cores for name in core)
    ):
        raise NotStaged(f"arguments of {function.__name__}")
    python = source_of(function)
    if python is None or not parameters_written(python) <= set(range(len(args), len(cores))):
        raise NotStaged(f"{function.__name__} writes into its operands")
    dtypes = dtypes_of(function.ufunc, args)
    if function.is_dynamic and any(t != dtype_of(v) for v, t in zip(args, dtypes)):
        raise NotStaged(f"types for which {function.__name__} is compiled when it is called")
    native = numbaarrays.of_gufunc(function, dtypes)
    operands = [v if isinstance(v, Array) else a.filled(r, t, (), v) for v, t in zip(args, dtypes)]
    if native is None or not all(v.c_order and not v.is_part and v.ndim >= len(c) for v, c in zip(operands, cores)):
        raise NotStaged(f"what numba compiles of {function.__name__}")
    operands = [a.materialise(r, a.cast(r, v, t)) for v, t in zip(operands, dtypes)]
    extents: dict[str, Poly] = {}
    for operand, core in zip(operands, cores):
        for name, extent in zip(core, operand.shape[operand.ndim - len(core) :]):
            r.require_equal(extents.setdefault(name, extent), extent)
    if not all(name in extents for core in builder.sout for name in core):
        raise NotStaged(f"extents of what {function.__name__} gives")
    outer = a.broadcast(r, [v.shape[: v.ndim - len(core)] for v, core in zip(operands, cores)])
    results = [
        a.fresh(r, t, (*outer, *(extents[name] for name in core)))
        for t, core in zip(dtypes[len(operands) :], builder.sout)
    ]
    words = _Words(r)
    arrays = [*operands, *results]
    if any(len(core) and layout != "A" for layout, core in zip(native.given, cores)):
        raise NotStaged(f"layouts of what {function.__name__} gets")
    _each(r, outer, lambda indices: _kernel(words, native, arrays, cores, indices))
    if given:
        for target, result in zip(given, results):
            if not isinstance(target, Array) or target.dtype != result.dtype or target.ndim != result.ndim:
                raise NotStaged(f"where {function.__name__} writes to")
            r.require_alike(target.shape, result.shape)
            a.assign(r, target, result)
        return given if len(given) > 1 else given[0]
    made = [v if v.ndim else from_register(r, v.element(()), v.dtype) for v in results]
    return tuple(made) if len(made) > 1 else made[0]


def _each(r: Recorder, shape: Sequence[Poly], body: Any, indices: tuple[Poly, ...] = ()) -> None:
    """Loops over all indices of a shape, one after the other."""
    if not shape:
        body(indices)
        return
    with r.loop(ZERO, shape[0], varying=True) as index:
        _each(r, shape[1:], body, (*indices, index))


def _kernel(
    words: _Words, native: Native, arrays: Sequence[Array], cores: Sequence[Any], indices: tuple[Poly, ...]
) -> None:
    """Call a kernel for one index of the axes in front."""
    words.count = 0
    for array, core, layout in zip(arrays, cores, native.given):
        ndim = array.ndim - len(core)
        own = indices[len(indices) - ndim :]
        own = tuple(ZERO if extent == ONE else index for extent, index in zip(array.shape, own))
        view = array.memory
        part = View(view.base, place(view, own), view.strides[ndim:], view.origins)
        if core:
            words.part(part, array.shape[ndim:])
        elif layout is None:
            words.give(from_register(words.r, array.element(own), array.dtype))
        else:  # an array of one element
            item = Poly.number(array.dtype.itemsize)
            words.part(View(part.base, part.offset, (item,), part.origins), (ONE,))
    words.call(native)
