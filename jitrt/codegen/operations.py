"""Which operations kernels can compute.

That emitters know, most of which are numba's. What they have answered is kept in the disk cache beside the code that
they emit: a process that asks nothing else, and finds its kernels there too, imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..base.once import once
from ..ir.ops.optable import LIBM, OPS, Kind, Op
from ..kernels import libm, numpy_loops
from . import cache

_SUPPORTED = frozenset("?bBhHiIlLqQfdFDmM")  # with twins: what is kept of an answer is found by equal dtypes
_HALF = "e"  # which processors convert, and compute with by way of single precision
_TABLE = "operations that are emitted as instructions"
# 1, by which a product starts, changes the zeros of a complex number that it is multiplied with.
_COMPLEX_FOLDS = {Kind.REDUCTION: (np.add, np.multiply), Kind.SCAN: (np.add,)}

_new: dict[str, bool] = {}  # answers that the disk cache does not have


@lru_cache(maxsize=4096)
def has_kernel(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    """Whether kernels can compute `op`: an elementwise operation, a fold, or an assembly of parts."""
    if op.kind in (Kind.ASSEMBLE, Kind.GATHER):
        return is_supported(result)
    if op.kind in (Kind.REDUCTION, Kind.SCAN):
        assert op.ufunc is not None
        (result,) = operands  # of a search the operand, too, is what is compared
        if result.kind == "c" and op.ufunc not in _COMPLEX_FOLDS[op.kind]:
            return False
        return result.kind in "biufc" and _is_emitted(OPS[op.ufunc.__name__], (result, result), result)
    return _is_emitted(op, operands, result)


def _is_emitted(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    if not is_supported(*operands, result):
        return False
    return _is_inline(op, operands, result) or numpys_loop(op, operands, result) is not None


def is_supported(*dtypes: np.dtype) -> bool:
    """Whether kernels can have values of all of these dtypes."""
    return all(
        (t.char in _SUPPORTED and not _has_multiple_units(t)) or (t.char == _HALF and _converts_half()) for t in dtypes
    )


def _has_multiple_units(dtype: np.dtype) -> bool:
    """Whether a date or a duration counts in several units, as ``m8[7D]`` does."""
    return dtype.kind in "mM" and np.datetime_data(dtype)[1] != 1


@lru_cache(maxsize=4096)
def numpys_loop(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> str | None:
    """The symbol of NumPy's or SciPy's inner loop for these dtypes, if kernels compute `op` by calls of it."""
    if op.ufunc is None or _is_inline(op, operands, result):
        return None
    return numpy_loops.symbol(op.library, op.name, "".join(t.char for t in operands) + "->" + result.char)


@lru_cache(maxsize=4096)
def _is_inline(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    """Whether `op` is emitted as instructions in the kernel, and the C library's functions as calls."""
    if op.library == LIBM:
        return libm.symbol(op.name.removeprefix("libm_")) is not None
    if not op.is_everywhere:  # what else is called so in another process may be something else
        return _has_emitter(op, operands, result)
    text = f"{op.name} {' '.join(t.char + t.str for t in operands)} -> {result.char + result.str}"
    return _answer(text, lambda: _has_emitter(op, operands, result))


@once
def _converts_half() -> bool:
    """Whether the processor converts between half and single precision: LLVM calls functions for it otherwise."""
    return _answer("half precision", _has_conversions)


def _has_conversions() -> bool:
    from .linker import has_feature, machine

    return has_feature("f16c") or machine()[0].startswith(("aarch64", "arm64"))


def _answer(question: str, find: Callable[[], bool]) -> bool:
    """The answer that an earlier process has found, or what `find` finds."""
    answer = _known().get(question)
    if not isinstance(answer, bool):
        answer = _new[question] = find()
    return answer


def _has_emitter(op: Op, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    from .scalar import inline_emitter

    return inline_emitter(op, operands, result) is not None


@once
def _known() -> dict[str, bool]:
    """What earlier processes have asked."""
    return cache.load_table(_TABLE)


def keep_answers() -> None:
    """Let later processes know what this one has asked."""
    if _new:
        answers = dict(_new)
        _known().update(answers)
        cache.extend_table(_TABLE, answers)
        for text in answers:
            _new.pop(text, None)
