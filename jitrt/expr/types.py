"""What is known of the type of an expression, and what it follows from: the tracer runs the operation on symbols.

What is open is tried out: where all that fits gives one answer, that is the type.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.atwork import at_work
from ..errors import ControlException, control_apart
from ..frontend.context import tracing
from ..frontend.numpy.tracer import Tracer
from ..frontend.python.sources import Sources
from ..frontend.state import Trace
from ..frontend.storage import Cell
from ..ir import build as b
from ..ir.node import type_of
from ..ir.ops.optable import NotCovered
from ..ir.ops.steps import RULES, Rule, small_array
from ..ir.types import PYTHON_SCALARS, ArrayType, canonical, contiguous_strides
from .calls import GETITEM, Operation, Template, filled, static_value
from .known import UNKNOWN, Known, Tuple
from .ufunctypes import of_open_ufunc

_MOST_TYPES = 4096  # that are remembered
_OPEN_EXTENTS = (1, 2, 3, 4, 8, 6, 0, 1_000_000_007)  # the last, so that no slice ends behind it
_OPEN_RANKS = (0, 1, 2, 5)
_MOST_TRIALS = 80
_MOST_PROBED = 1 << 20  # elements of arrays that NumPy is asked about
_LEAST_EXTENT = 8  # below, extents stay as they are where NumPy is asked with small matrices
_NUMPYS = ("np.", ".")  # how the names of its operations begin
# Of the numbers from 0 on: sorted, equal, none, in no order.
_CONTENTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda k: k + 1, np.ones_like, np.zeros_like, lambda k: k * 7 % 5 + 0.5 + 1j * (k % 2)
)  # fmt: skip
_OF_VALUES = re.compile("[Ss]ingular|converge|positive definite")  # errors that others of the same shape do not raise
_OPEN_DTYPES = tuple(map(np.dtype, (np.float64, np.int64, np.bool_, np.float32, np.complex128, np.int8)))


_remembered: dict[Any, Known | Tuple] = {}


def infer(
    operation: Operation, template: Template, types: tuple[Known | Tuple, ...], literals: Sequence[Any]
) -> Known | Tuple:
    """The type of what `operation` gives.

    Parameters
    ----------
    operation, template
        The call.
    types : tuple of Known or Tuple
        Of the operands.
    literals : sequence
        Their values, where they are known.

    Raises
    ------
    Exception
        What NumPy raises, if nothing is open.
    """
    if operation is GETITEM and isinstance(types[0], Tuple):
        return types[0].parts[static_value(template.args[1])]
    known = [t for t in types if isinstance(t, Known)]
    if len(known) < len(types):
        return UNKNOWN
    values = tuple(
        [
            None if v is None else id(v) if isinstance(v, (np.ndarray, np.void)) or np.ndim(v) else (type(v), v)
            for v in literals
        ]
    )
    key = operation, template, types, values
    if key in _remembered and not any(isinstance(v, int) for v in values):
        return _remembered[key]
    if isinstance(operation.apply, np.ufunc) and not template.kwargs and any(t.dtype is None for t in known):
        answer = of_open_ufunc(operation.apply, known)
        if answer is not None:
            return answer
    answers: list[Known | Tuple] = []
    failures: list[Exception] = []
    trials = _trials(tuple(t for t, v in zip(types, literals) if v is None))
    fits = None
    for _ in range(_MOST_TRIALS):
        try:
            trial = trials.send(fits)
        except StopIteration:
            break
        given = iter(trial)
        operands = [next(given) if v is None else v for v in literals]
        try:
            answers.append(_result(operation, template, operands))
            fits = True
        except Exception as error:
            failures.append(error)
            fits = False
    is_complete = all(t.is_complete for t in types)
    if failures and is_complete:
        _raise_as_numpy(operation, template, types, literals, failures[0])
        failures = []  # NumPy has none for other values
    is_ufunc = isinstance(operation.apply, np.ufunc) and all(isinstance(t, Known) and t.has_rank for t in types)
    if failures and not answers and is_ufunc:  # for all extents
        raise failures[0].with_traceback(None) from None
    answers = [a for a in answers if a is not UNKNOWN] or answers  # some sizes alone make an operation depend on values
    found = _agreed(answers)
    is_open = isinstance(found, Known) and (found.dtype is None or found.shape is None)
    is_numpys = operation is GETITEM or operation.name.startswith(_NUMPYS)
    if is_open and is_complete and not failures and is_numpys and not operation.name.startswith("np.linalg."):
        found = _as_numpy_answers(operation, template, types, literals)
    is_open = any(t.shape is None or None in t.shape for t in types if isinstance(t, Known))
    if len(answers) == 1 and is_open and isinstance(found, Known) and found.shape is not None:
        found = Known(found.dtype, (None,) * len(found.shape))  # one that fits by chance says nothing of others
    if len(_remembered) >= _MOST_TYPES:
        _remembered.clear()
    _remembered[key] = found
    return found


def _raise_as_numpy(
    operation: Operation, template: Template, types: Sequence[Any], literals: Sequence[Any], failure: Exception
) -> None:
    """Raise what NumPy raises for operands of these types, if it does; `failure` if it cannot be asked."""
    given = [ArrayType(t.dtype, t.shape, t.weak) if v is None else v for t, v in zip(types, literals)]
    is_large = sum(math.prod(np.shape(v)) for v in given) > _MOST_PROBED
    extents = _small_extents(given) if is_large else None
    args, kwargs = filled(template, [_zeros(v, extents) if isinstance(v, ArrayType) else v for v in given])
    assert operation.apply is not None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operation.compute(args, kwargs)
    except Exception as error:
        raise (failure if is_large else error).with_traceback(None) from None


def _zeros(type_: ArrayType, extents: dict[int, int] | None) -> Any:
    """Zeros of a type, with these extents in place of its own; a number of Python's is one."""
    if type_.weak:
        return type_.dtype.type(1).item()
    return b.phantom(type_.shape if extents is None else tuple([extents[n] for n in type_.shape]), type_.dtype)[()]


def _as_numpy_answers(
    operation: Operation, template: Template, types: Sequence[Any], literals: Sequence[Any]
) -> Known | Tuple:
    """The dtype and the rank on which NumPy's answers for small operands of several contents agree.

    Raises
    ------
    Exception
        What NumPy raises, if it does so whatever the operands hold.
    """
    given = [ArrayType(canonical(t.dtype), t.shape, t.weak) if v is None else v for t, v in zip(types, literals)]
    extents = _small_extents(given)
    answers: list[Known | Tuple] = []
    failures: list[Exception] = []
    for content in _CONTENTS:
        operands = [
            _holding(content, [extents[n] for n in v.shape], v) if isinstance(v, ArrayType) else v for v in given
        ]
        args, kwargs = filled(template, operands)
        try:
            with at_work(), control_apart(), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers.append(_with_open_extents(_type_of_result(operation.compute(args, kwargs))))
        except Exception as error:
            failures.append(error)
    if not answers and len({*map(type, failures)}) == 1:
        _raise_as_numpy(operation, template, types, literals, failures[0])
    return _agreed(answers)


def _holding(content: Callable[[np.ndarray], np.ndarray], shape: Sequence[int], type_: ArrayType) -> Any:
    """A value of that type that holds `content`."""
    values = content(np.arange(math.prod(shape)).reshape(shape))
    made = np.asarray(values if type_.dtype.kind == "c" else values.real).astype(type_.dtype)[()]
    return made.item() if type_.weak else made


def _with_open_extents(found: Known | Tuple) -> Known | Tuple:
    if isinstance(found, Tuple):
        return Tuple(tuple([p for p in map(_with_open_extents, found.parts) if isinstance(p, Known)]))
    return Known(found.dtype, None if found.shape is None else (None,) * len(found.shape))


def _trials(types: Sequence[Any]) -> Generator[tuple[ArrayType, ...], bool | None, None]:
    """Types without anything open that agree with `types`: first what is likely to fit, then one thing varied.

    They are sent whether those before do fit.
    """
    if not (yield from _trials_of(types, _OPEN_DTYPES)) and any(t.dtype is None for t in types):
        yield from _trials_of(types, _OPEN_DTYPES[1:])


def _trials_of(
    types: Sequence[Any], open_dtypes: Sequence[np.dtype]
) -> Generator[tuple[ArrayType, ...], bool | None, bool]:
    """The same with these for dtypes that are open: shapes are varied with the first. Returns whether that fits."""
    dtypes = [[t.dtype] if t.dtype is not None else list(open_dtypes) for t in types]
    ranks = [[len(t.shape)] if t.shape is not None else list(_OPEN_RANKS) for t in types]
    extents = sorted({n for t in types for n in t.shape or () if n is not None} - {*_OPEN_EXTENTS})
    most = max(map(len, (*dtypes, ())), default=1)

    def made(dtype: int, rank: int, sizes: Iterator[int]) -> tuple[ArrayType, ...]:
        found = []
        for t, own, ndims in zip(types, dtypes, ranks):
            shape = t.shape if t.shape is not None else (None,) * ndims[min(rank, len(ndims) - 1)]
            chosen = canonical(own[min(dtype, len(own) - 1)])
            found.append(ArrayType(chosen, tuple([next(sizes) if n is None else n for n in shape]), t.weak))
        return tuple(found)

    number_open = sum(n is None for t in types for n in t.shape or ())
    has_fitted = False
    for rank in range(max(map(len, ranks), default=1)):
        fitting: list[int] = []
        tried: tuple[ArrayType, ...] | None = None
        for size in (*_OPEN_EXTENTS, *extents):
            before, tried = tried, made(0, rank, itertools.repeat(size))
            if tried == before:  # no extent is open
                break
            if (yield tried):
                fitting.append(size)
        has_fitted |= bool(fitting)
        likely = 2 if 2 in fitting else next(iter(fitting), 2)
        for dtype in range(1, most if fitting or len(open_dtypes) < len(_OPEN_DTYPES) else 1):
            yield made(dtype, rank, itertools.repeat(likely))
    for base in (*extents, *_OPEN_EXTENTS) if has_fitted and (number_open > 1 or extents) else ():
        for varied in range(number_open):
            yield made(0, 0, itertools.chain([base] * varied, [5], itertools.repeat(base)))
    return has_fitted


def _result(operation: Operation, template: Template, operands: Sequence[Any]) -> Known | Tuple:
    """The type of the result for operands that are types or values."""
    nodes = [b.input_node(k, v) for k, v in enumerate(v for v in operands if isinstance(v, ArrayType))]
    strides = {k: contiguous_strides(n.shape, n.dtype.itemsize) for k, n in enumerate(nodes) if n.shape}
    state = Trace(nodes, [None] * len(nodes), strides)
    state.through = Sources().call
    symbols = iter([Tracer(n, state, False, Cell(n, strides[k], True) if k in strides else None)
                    for k, n in enumerate(nodes)])  # fmt: skip
    args, kwargs = filled(template, [next(symbols) if isinstance(v, ArrayType) else v for v in operands])
    assert operation.apply is not None
    try:
        with at_work(), control_apart(), tracing(state), np.errstate(all="ignore"):
            return _type_of_result(operation.compute(args, kwargs))
    except (ControlException, NotCovered):  # values are asked for, and not known
        if isinstance(operation.apply, np.ufunc):
            return _of_ufunc(operation.apply, operands)
        rule = RULES.get(operation.apply)
        if rule is not None or getattr(operation.apply, "__module__", None) == "numpy.linalg":
            _check_extents(operation, template, operands, is_exact=rule is not None and bool(rule.small))
        return UNKNOWN if rule is None else _of_step(rule, operation.apply, template, operands)


def _check_extents(operation: Operation, template: Template, operands: Sequence[Any], is_exact: bool) -> None:
    """Raise what NumPy does if arrays of these shapes do not fit; it is asked with small ones, mostly identities.

    `is_exact` says that numbers among the arguments belong to extents, so that these cannot be smaller.
    """
    extents = {n: n for v in operands if isinstance(v, ArrayType) for n in v.shape} if is_exact else None
    if extents is not None and sum(math.prod(v.shape) for v in operands if isinstance(v, ArrayType)) > _MOST_PROBED:
        return
    extents = extents or _small_extents(operands)
    small = [
        small_array(ArrayType(v.dtype, tuple(extents[n] for n in v.shape), v.weak), None, max(extents.values()))
        if isinstance(v, ArrayType)
        else v
        for v in operands
    ]
    if operation.name.startswith("np.linalg.tensor") and any(k != n for n, k in extents.items()):
        return  # their products tell
    args, kwargs = filled(template, small)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operation.compute(args, kwargs)
    except np.linalg.LinAlgError as error:
        if _OF_VALUES.search(str(error)) is None:
            raise


def _small_extents(operands: Sequence[Any]) -> dict[int, int]:
    """For the extents of types among `operands` small ones, which are equal where they are; literals keep theirs."""
    known = {*range(_LEAST_EXTENT), *(n for v in operands if not isinstance(v, ArrayType) for n in np.shape(v))}
    others = {n for v in operands if isinstance(v, ArrayType) for n in v.shape} - known
    free = (n for n in itertools.count(_LEAST_EXTENT) if n not in known)
    return {n: n for n in known} | dict(zip(sorted(others), free))


def _of_step(rule: Rule, function: Any, template: Template, operands: Sequence[Any]) -> Known | Tuple:
    """The type of what a function gives that NumPy executes: its rule knows the shapes, and NumPy the dtypes."""
    args, kwargs = filled(template, operands)
    small = filled(template, [small_array(v, None) if isinstance(v, ArrayType) else v for v in operands])
    shapes: Sequence[Any]
    try:
        made = rule.ask(function, *small)
    except np.linalg.LinAlgError:
        return UNKNOWN
    results = made if isinstance(made, tuple) else (made,)
    try:
        shapes = rule.shapes(*args, **kwargs)
    except NotCovered:  # of operands of other ranks, with which those must not agree that are covered
        shapes = [None] * len(results)
    parts = [Known(np.asarray(v).dtype, s) for v, s in zip(results, shapes)]
    return Tuple(tuple(parts)) if isinstance(made, tuple) else parts[0]


def _of_ufunc(ufunc: np.ufunc, operands: Sequence[Any]) -> Known | Tuple:
    """The type of what a ufunc gives that NumPy executes: it depends on no values."""
    if ufunc.signature is not None:
        return UNKNOWN
    shape = np.broadcast_shapes(*(np.shape(v) if not isinstance(v, ArrayType) else v.shape for v in operands))
    ones = [np.ones(1, v.dtype)[0] if isinstance(v, ArrayType) else np.ravel(v)[0] for v in operands]
    are_weak = [v.weak if isinstance(v, ArrayType) else type(v) in PYTHON_SCALARS for v in operands]
    made = ufunc(*(v.item() if is_weak else v for v, is_weak in zip(ones, are_weak)))
    if isinstance(made, tuple):
        return Tuple(tuple([Known(v.dtype, shape) for v in made]))
    return Known(made.dtype, shape)


def _type_of_result(value: Any) -> Known | Tuple:
    if isinstance(value, (tuple, list)):
        parts = [_type_of_result(v) for v in value]
        known = tuple([p for p in parts if isinstance(p, Known)])
        return Tuple(known) if known and len(known) == len(parts) else UNKNOWN
    if type(value) is Tracer:
        if value._choice is not None:
            return Known(value._choice.array.dtype, None)
        type_ = value._node.type
        return Known(type_.dtype, type_.shape, type_.weak)
    try:
        type_ = type_of(value)
    except TypeError:
        return UNKNOWN
    return Known(type_.dtype, type_.shape, type_.weak)


def _agreed(answers: Sequence[Known | Tuple]) -> Known | Tuple:
    """What all `answers` have in common."""
    if not answers:
        return UNKNOWN
    first = answers[0]
    if isinstance(first, Tuple):
        if any(not isinstance(a, Tuple) or len(a.parts) != len(first.parts) for a in answers):
            return UNKNOWN
        columns = zip(*(a.parts for a in answers if isinstance(a, Tuple)))
        return Tuple(tuple([p for c in columns if isinstance(p := _agreed(c), Known)]))
    known = [a for a in answers if isinstance(a, Known)]
    if len(known) < len(answers):
        return UNKNOWN
    dtype = first.dtype if all(a.dtype == first.dtype for a in known) else None
    shape: tuple[int | None, ...] | None = None
    shapes = {a.shape for a in known}
    if None not in shapes and len({len(s) for s in shapes if s is not None}) == 1:
        shape = tuple([n[0] if len(set(n)) == 1 else None for n in zip(*(s for s in shapes if s is not None))])
    return Known(dtype, shape, first.weak and all(a.weak for a in known))
