"""From a Python function with loops to a procedure of the loop language: `stage`."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ...base.dtypes import is_twin
from ...base.frozen import frozen, replaced
from ...ir.integers import Poly
from ...ir.loops import Parameter, Procedure, Statement, Type
from ...ir.types import UNALIGNED
from ...ir.worthwhile import BY_CALLS
from ...kernels.procedure import MOST_INTEGER
from ...values.glance import has_loops
from ...values.kinds import TUPLE, Tree
from ...values.memory import nbytes
from ...values.trees import fields_in, leaf_count
from ..forms import encoding_of
from ..python.captures import Capture
from . import arrays as a
from . import complexnumbers, references, strings
from .composites import put_together
from .external import Step, is_worth_it
from .givenlists import given, given_arrays, given_tuples
from .holders import pointers_of
from .kinds import Number
from .makingobjects import check_results
from .outside import DTYPES, ArraysOf, Captures, element_types, is_function, is_source
from .recorder import MOST_EXTENT, Recorder
from .results import WAY, Result, Stored, check_lists_apart, keep_apart, result_of, settled_results, stores_of
from .runtimelists import Appended, RunTimeList
from .source import bind, definition_of
from .statements import Statements
from .values import (
    FIRST,
    INT,
    Array,
    KindsDiffer,
    ListChanges,
    ListsMeet,
    NeedsValue,
    NotNow,
    NotStaged,
    Scalar,
    Source,
    Unread,
    View,
    WholeArrays,
    is_word,
)
from .written import MOST_INLINE

LONG_BYTES = 1 << 13  # of arguments; for fewer, what only long arrays need is not compiled
MOST_BYTES = 1 << 62  # of arguments
MOST_WHOLE_BYTES = 1 << 21  # of arguments of loops over whole arrays: what one thread has in a cache of its own
STATIC = (str, bool, np.bool, type(None), types.ModuleType, enum.Enum)
"""Arguments whose values procedures are always made for."""

_MOST_ROUNDS = 24  # until it is known what lists hold, and which values matter
_SHORT = 32  # iterations of loops with operations on arrays: written out they are fused and computed in one go
_MOST_KNOWN = 4  # integer arguments whose values procedures are made for


@frozen(eq=False)
class Staged:
    """A function as a procedure, for arguments of given types.

    Parameters
    ----------
    procedure : Procedure
    returns : tuple of Result
        For each place at which the function returns; the variable ``way`` says at which it did.
    stores : tuple of (tuple of Stored)
        What is assigned, for each of these places.
    captured : tuple of Capture
        Objects that have to be what they were.
    arrays : tuple of Capture
        Arrays and generators of random numbers from outside, which follow the arguments.
    written : tuple of int
        Numbers of the arguments that may be written, what is from outside among them.
    known : tuple of (int, object)
        Arguments whose values the procedure is made for.
    unread : frozenset of int
        Arguments that are no parameters of the procedure.
    listed : frozenset of int
        Arguments that are lists, if some of them are appended to: they have to be different ones.
    is_whole : bool
        Whether its loops work on whole arrays.
    sizes : (int, int)
        The fewest and the most bytes of arguments that it is made for.
    unrolled : frozenset of int
        Lines of loops whose iterations stand one after the other, counted from the function's first one.
    steps : tuple of Step
        Calls that Python executes; the handler of these is the procedure's last argument.
    """

    procedure: Procedure
    returns: tuple[Result, ...]
    stores: tuple[tuple[Stored, ...], ...]
    captured: tuple[Capture, ...]
    arrays: tuple[Capture, ...]
    written: tuple[int, ...]
    known: tuple[tuple[int, Any], ...]
    unread: frozenset[int]
    listed: frozenset[int]
    is_whole: bool
    sizes: tuple[int, int]
    unrolled: frozenset[int]
    steps: tuple[Step, ...]


def sizes_tell(args: Sequence[Any]) -> tuple[bool, bool]:
    """What sizes of arguments decide: whether there are matrices that are not written out, and whether any are long."""
    is_large = any(isinstance(v, np.ndarray) and min(v.shape[-2:], default=0) > MOST_INLINE for v in args)
    return is_large, nbytes(args) >= LONG_BYTES


def stage(
    function: Callable[..., Any],
    args: Sequence[Any],
    takes_whole: bool = False,
    trees: Sequence[Tree] | None = None,
) -> Staged:
    """The procedure of a function for arguments of the types of `args`.

    Parameters
    ----------
    function : callable
    args : sequence
        Its arguments, or what they hold.
    takes_whole : bool
        Whether loops over whole arrays are welcome.
    trees : sequence, optional
        What holds what, as `take_apart` gives it.

    Raises
    ------
    NotStaged
        If it does something that a procedure cannot do.
    WholeArrays
        If its loops work on whole arrays, and these are not welcome.
    """
    known: dict[int, Any] = {}
    lists: dict[Hashable, Any] = {}
    guesses: dict[Hashable, bool] = {}
    cells: dict[Hashable, dict[Any, Any]] = {}
    changing: set[Hashable] = set()
    first: NotStaged | None = None  # why texts have to be known
    for _ in range(_MOST_ROUNDS):
        round_ = Recorder(lists, guesses, cells, changing)
        try:
            return _stage(function, args, known, round_, takes_whole, trees)
        except ListsMeet as found:
            references.note(found, round_)
        except ListChanges:
            continue
        except NeedsValue as needed:
            if type(args[needed.argument]) is list:
                changing.add(("appended", needed.argument))
                continue
            if needed.argument in known or len(known) == _MOST_KNOWN:
                raise NotStaged(str(needed)) from None
            known[needed.argument] = args[needed.argument]
        except NotStaged as reason:
            if isinstance(reason, KindsDiffer) and FIRST not in changing:
                changing.add(FIRST)
                continue
            if round_.begins_again:
                continue
            texts = [k for k, value in enumerate(args) if type(value) is str and k not in known]
            if texts and len(known) + len(texts) <= _MOST_KNOWN:  # more can be done with what is known of them
                known.update((k, args[k]) for k in texts)
                first = first or reason
                continue
            reason = first or reason
            is_of_text = all(isinstance(value, STATIC) for value in known.values())
            reason.is_lasting = is_of_text and not isinstance(reason, NotNow)
            raise reason
    raise NotStaged("lists whose elements do not settle")


def is_same_value(value: Any, known: Any) -> bool:
    """Whether a procedure that was made for an argument `known` serves calls with this one.

    Functions are the same where they have the same code, and have closed over nothing.
    """
    if type(value) is types.FunctionType and type(known) is types.FunctionType:
        parts = [(f.__code__, f.__globals__, f.__defaults__, f.__kwdefaults__, f.__closure__) for f in (value, known)]
        return all(x is y for x, y in zip(*parts)) and value.__closure__ is None
    return bool(value == known)


def _stage(
    function: Any,
    args: Sequence[Any],
    known: dict[int, Any],
    r: Recorder,
    takes_whole: bool,
    trees: Sequence[Tree] | None,
) -> Staged:
    definition = definition_of(function.__code__)
    r.is_large, r.is_long = sizes_tell(args)
    r.fields = {f"x{k}": of for k, of in fields_in((TUPLE, None, tuple(trees or ()))).items()}
    alone = range(len(args)) if trees is None else _alone(trees)
    values = [
        known[k] if k in known else _parameter(r, k, arg) if k in alone else _part(r, k, arg)
        for k, arg in enumerate(args)
    ]
    unread = frozenset(k for k, value in enumerate(values) if isinstance(value, (Unread, Appended)))
    appended = [k for k, value in enumerate(values) if isinstance(value, Appended)]
    listed = frozenset(k for k, value in enumerate(values) if appended and isinstance(value, RunTimeList))
    if trees is not None:
        leaves = iter(values)
        values = [put_together(r, tree, leaves, (k,)) for k, tree in enumerate(trees)]
    for k, value in enumerate(values):
        if isinstance(value, Appended):
            value.where = (), k

    def outside(capture: Capture) -> Any:
        return _parameter(r, len(args) + len(captures.arrays), capture.value)

    captures = Captures(outside)
    captures.note_function(function)
    variables = bind(definition, function.__defaults__ or (), values, {}, function.__kwdefaults__)
    returns: list[Result] = []
    stores: list[tuple[Stored, ...]] = []
    results: list[tuple[str, Type]] = [(WAY, INT)]

    def returned(value: Any) -> None:
        made: dict[str, Any] = {}
        check_results([value])
        returns.append(result_of(r, value, results, made))
        stores.append(tuple(stores_of(r, results, made)))
        keep_apart(made)
        r.put(WAY, r.literal(len(returns) - 1, INT), INT)
        r.leave("function")

    call = Statements(r, function, variables, captures, (function.__code__,), returned)
    r.live = pointers_of(call)
    with r.block() as body:
        call.body(definition)
        if not call.ends:
            returned(None)
    r.scope("function", body)
    if r.begins_again:
        raise ListChanges("an attribute that changes")
    written = r.written_to
    if captures.has_lists and appended:
        raise NotStaged("a list of outside, beside one that may be appended to")  # the two may be one
    if not (r.has_loops or takes_whole):
        raise NotStaged("it has no loops")
    is_short = r.nests > 0 and r.most_trips <= _SHORT
    is_elementwise = not is_short and (r.is_elementwise or any(not values.depth for values in r.grown))
    if not (is_elementwise or r.looks_at_values or r.has_products or takes_whole):
        raise WholeArrays
    if r.steps:
        if not is_worth_it(r):
            raise NotStaged(f"{BY_CALLS}{', '.join(dict.fromkeys(step.title for step in r.steps))}")
        r.parameters.append(Parameter("host", INT))
    returns = [settled_results(r, result, results) for result in returns]
    stores = [tuple(replaced(s, value=settled_results(r, s.value, results)) for s in its) for its in stores]
    check_lists_apart(returns, stores)
    numbers = [k for k in range(len(args) + len(captures.arrays)) if f"x{k}" in written]
    is_whole = has_loops(function.__code__) and not is_elementwise
    sizes = _sizes(r, is_whole and not takes_whole)
    check = _size_check(r, len(args), *sizes)
    procedure = Procedure(tuple(r.parameters), (*check, *r.finish()), tuple(results), r.sites())
    return Staged(
        procedure,
        tuple(returns),
        tuple(stores),
        captures.of_users(),
        tuple(capture for capture, _ in captures.arrays.values()),
        tuple(numbers),
        tuple(known.items()),
        unread,
        listed,
        is_whole,
        sizes,
        frozenset(r.unrolled),
        tuple(r.steps),
    )


def _sizes(r: Recorder, is_whole: bool) -> tuple[int, int]:
    """The fewest and the most bytes of arguments of a procedure."""
    least = LONG_BYTES if r.asked_for_long and r.is_long else 0
    most = LONG_BYTES - 1 if r.asked_for_long and not r.is_long else MOST_BYTES
    return least, min(most, MOST_WHOLE_BYTES) if is_whole else most


def _size_check(r: Recorder, count: int, least: int, most: int) -> Sequence[Statement]:
    """Stop where the first `count` arguments do not have so many bytes."""
    total = Poly.number(0)
    for p in r.parameters:
        if p.ndim >= 0 and int(p.name[1:]) < count:
            size = Poly.number(p.dtype.itemsize)
            for axis in range(p.ndim):
                size = size * Poly.name(p.extent(axis))
            total = total + size
    with r.beginning() as check:
        if least:
            r.require(total - least)
        if most < MOST_BYTES:
            r.require(most - total)
    return check


def _alone(trees: Sequence[Tree]) -> set[int]:
    """The numbers of the arguments that no other one holds."""
    found, number = set(), 0
    for tree in trees:
        if tree is None:
            found.add(number)
        number += leaf_count(tree)
    return found


def _part(r: Recorder, number: int, value: Any) -> Any:
    """What a part of an argument is while staging: it need not be used."""
    if ("appended", number) in r.changing:
        return Appended(r, number)
    known = (np.ndarray, list, int, float, complex, np.generic, np.random.Generator, np.random.RandomState)
    is_empty = type(value) is list and element_types(value) is None
    if is_empty or not isinstance(value, known) or isinstance(value, (bool, np.bool)):
        return Unread(number, type(value))
    try:
        return _parameter(r, number, value)
    except NotStaged:
        return Unread(number, type(value))


def _parameter(r: Recorder, number: int, value: Any) -> Any:
    """What an argument is while staging."""
    name = f"x{number}"
    if type(value) is np.ndarray:
        return _array(r, name, value)
    types = element_types(value) if type(value) is list else None
    if ("appended", number) in r.changing or (type(value) is list and types is None):
        return Appended(r, number)
    if types is not None:
        if isinstance(types, ArraysOf):
            parameter = Parameter(name, INT, 1, True)
            r.parameters.append(parameter)
            r.facts.bound(parameter.extent(0), [1 + types.ndim], [MOST_EXTENT])
            return given_arrays(r, name, np.dtype(types.dtype), types.ndim, Poly.name(parameter.extent(0)))
        is_of_tuples = isinstance(types, tuple)
        kinds = [Number(np.dtype(t), t in (int, float)) for t in (types if is_of_tuples else (types,))]
        parameter = Parameter(name, INT if is_of_tuples else kinds[0].dtype, 1 + is_of_tuples, True)
        r.parameters.append(parameter)
        count = parameter.extent(int(is_of_tuples))
        r.facts.bound(count, [0], [MOST_EXTENT])
        return (given_tuples(r, name, kinds, Poly.name(count)) if is_of_tuples
                else given(r, name, kinds[0], Poly.name(count)))  # fmt: skip
    if type(value) is str and value.isascii():
        parameter = Parameter(name, INT, 1, True)
        r.parameters.append(parameter)
        r.facts.bound(parameter.extent(0), [0], [MOST_EXTENT])
        return strings.text(r, name, Poly.name(parameter.extent(0)))
    if is_source(value):
        r.parameters.append(Parameter(name, INT))
        r.facts.bound(name, [0], [1 << 62])
        r.written_to |= {name}
        return Source(type(value), name)
    if isinstance(value, STATIC) or is_function(value):
        raise NeedsValue(number)
    if type(value) is int:
        if abs(value) > MOST_INTEGER:
            raise NotStaged("an integer of more than a word")
        r.parameters.append(Parameter(name, INT))
        r.facts.bound(name, [-MOST_INTEGER], [MOST_INTEGER])
        return Scalar(INT, True, "", Poly.name(name), number)
    if type(value) is float:
        r.parameters.append(Parameter(name, np.dtype(float)))
        return Scalar(np.dtype(float), True, name)
    if type(value) in complexnumbers.COMPLEX:
        return complexnumbers.parameter(r, name, type(value))
    if isinstance(value, np.generic) and value.dtype.char in "bhilqBHILQfd" and not is_twin(value.dtype):
        dtype = INT if is_word(value.dtype) else value.dtype
        r.parameters.append(Parameter(name, dtype))
        if dtype == INT:
            return Scalar(value.dtype, False, "", r.of_dtype(name, value.dtype), number)
        return Scalar(dtype, False, name)
    raise NotStaged(f"an argument of type {type(value).__name__}")


def _array(r: Recorder, name: str, value: np.ndarray) -> Array:
    dtype = value.dtype
    if dtype.char not in DTYPES or not value.ndim or is_twin(dtype):
        raise NotStaged(f"an array of {dtype}")
    if encoding := encoding_of(value):
        r.encodings[name], dtype = encoding, np.dtype(dtype.newbyteorder("=").str)
    if name in r.fields:  # which the next array of records may have elsewhere
        r.encodings.setdefault(name, UNALIGNED)
    contiguous = value.flags.c_contiguous and name not in r.fields
    parameter = Parameter(name, dtype, value.ndim, contiguous, r.fields.get(name))
    r.parameters.append(parameter)
    shape = []
    for axis in range(value.ndim):
        r.facts.bound(parameter.extent(axis), [0], [MOST_EXTENT])
        shape.append(Poly.name(parameter.extent(axis)))
    if contiguous:
        strides = a.contiguous_strides(tuple(shape), dtype)
    else:
        strides = tuple(Poly.name(parameter.stride(axis)) for axis in range(value.ndim))
        for axis in range(value.ndim):
            r.facts.bound(parameter.stride(axis), [-MOST_EXTENT], [MOST_EXTENT])
    c_order = contiguous or value.ndim == 1
    view = View(name, a.ZERO, strides, frozenset({name}), contiguous, True)
    return a.in_memory(r, view, dtype, tuple(shape), c_order)
