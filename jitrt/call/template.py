"""A template: what is traced with variables for extents, and serves calls with numbers that satisfy its guards."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import collection
from ..base.atwork import is_users_own
from ..base.frozen import frozen
from ..base.stages import enters
from ..errors import ControlException, Interrupted, LoopsWanted, NotWorthwhile, Untraceable
from ..frontend.integers import IntegerWanted
from ..frontend.numpy.draws import drawing
from ..frontend.python.purity import scan_call
from ..frontend.segments import MadeCall
from ..frontend.trace import trace
from ..ir.control import is_of_control
from ..ir.extents import LEAST, Sizes, hidden, is_extent
from ..ir.node import forget_dead
from ..ir.ops.optable import Kind
from ..runtime.formulas import (
    OpenSizes,
    evaluate,
    new_registers,
    packed,
    placed,
    rows_of,
)
from ..runtime.program import UNLIMITED
from ..values.keys import is_dynamic, leaf_key
from ..values.trees import classes_in
from .generalprograms import GeneralPrograms, in_fortran_order, strides_of
from .tracing import Call, CallRaises, is_the_functions, raised, specialised
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")

_TOO_LARGE = 1 << 52  # integers from here on are parts of a program, as they are for `rows_of`

Numbers = tuple[int, ...]
"""In which calls may differ that have a template in common: extents, strides of arrays with gaps, integers."""


def sizes_among(call: Call, wanted: Collection[int]) -> list[int]:
    """Those of the `wanted` integers that may be variables."""
    return [k for k in wanted if type(call.leaves[k]) is int and abs(call.leaves[k]) < _TOO_LARGE]


def taken(call: Call, keys: Sequence[Any], wanted: Collection[int]) -> tuple[Hashable, Numbers, frozenset[int]]:
    """What calls have in common that may have a template in common, and the numbers in which they may differ.

    The last part tells which of the numbers are extents.
    """
    general: list[Any] = []
    numbers: list[int] = []
    extents: list[int] = []
    sizes = sizes_among(call, wanted)
    for k, (leaf, key) in enumerate(zip(call.leaves, keys)):
        if _is_ordinary(leaf):
            dtype, shape, strides, *others = key
            own = () if strides == strides_of(leaf, shape) else strides
            steps = tuple(_step_class(n, dtype.itemsize) for n in own) or in_fortran_order(leaf)
            general.append((dtype, tuple(min(n, LEAST) for n in shape), steps, *others))
            extents += range(len(numbers), len(numbers) + len(shape))
            numbers += (*shape, *own)
        elif k in sizes:
            general.append(("size", max(-LEAST, min(leaf, LEAST))))  # unlike the key of an integer
            numbers.append(leaf)
        else:
            general.append(key)
    return (*general, *keys[len(call.leaves) :]), tuple(numbers), frozenset(extents)


def _is_ordinary(leaf: Any) -> bool:
    """Whether a leaf is an array that programs take as it is."""
    return type(leaf) is np.ndarray and leaf.dtype.isnative and leaf.flags.aligned and is_dynamic(leaf)


def _step_class(stride: int, itemsize: int) -> float:
    """What tells strides apart for which other programs are better, or that no variable can stand for."""
    return stride if abs(stride) < LEAST or abs(stride) == itemsize else math.copysign(math.inf, stride)


def is_simple(found: Specialisation) -> bool:
    """Whether programs for any shape can serve all calls, which need none of NumPy's results to learn their types."""
    traced = found.traced
    if any(type(c.guard) is MadeCall for c in traced.breaks):
        return False
    graphs = [traced.graph, *(c.graph for c in traced.breaks if c.graph is not None)]
    nodes = [n for g in graphs for n in g.nodes()]
    hosts = [n for n in nodes if n.op.kind is Kind.HOST and not is_of_control(n)]
    return not (hosts and any(n.op.kind is Kind.CONTROL for n in nodes))


@frozen(eq=False)
class Template:
    """What serves calls with all numbers that satisfy guards.

    Parameters
    ----------
    made : Specialisation or Plain
    guards : numpy.ndarray
        Rows that tell whether the guards hold.
    registers : numpy.ndarray
        Their registers.
    words : dict of int to numpy.ndarray
        From where they read integers, by the numbers of the inputs.
    outside : int, optional
        The one that tells whether sizes are other ones than are preferred.
    names : dict of int to object
        By the numbers of leaves the shapes of arrays and integers, with names for variables.
    pinned : frozenset of int
        Numbers of the variables that have one value only.
    variables, wanted
        What it was made for, as `new_template` was given it.
    noted : list
        What has been decided by sizes, as `Sizes.noted` gives it.
    """

    made: Specialisation | Plain
    guards: np.ndarray
    registers: np.ndarray
    words: dict[int, np.ndarray]
    outside: int | None
    names: dict[int, Any]
    pinned: frozenset[int]
    variables: Sequence[tuple[int, ...]]
    wanted: Collection[int]
    noted: list[Any]

    def numbers_of(self, call: Call) -> Numbers:
        """The numbers of a call that it serves."""
        return taken(call, [leaf_key(leaf) for leaf in call.leaves], self.wanted)[1]

    def fits(self, call: Call) -> bool:
        """Whether the guards hold for a call."""
        inputs = tuple([call.leaves[k] for k in _inputs(call)])
        for k, word in self.words.items():
            word[0] = inputs[k]
        return evaluate(self.guards, inputs, self.registers)

    def is_preferred(self) -> bool:
        """Whether the sizes seen last are like those that it was made for, or there has been little work for others."""
        return self.outside is None or not self.registers[self.outside] or self._has_patience()

    def _has_patience(self) -> bool:
        return isinstance(self.made, Plain) or self.made.compiled.program.patience[0] > 0

    def types(self, keys: Sequence[Any]) -> tuple:
        """What calls with these keys, and others, depend on."""
        found = list(keys)
        for k, name in self.names.items():
            if type(name) is tuple:
                dtype, _, _, *others = keys[k]
                found[k] = dtype, name, None, *others
            else:
                found[k] = int, name
        return tuple(found)


class OneShape(Exception):
    """A function needs the values of all variables: a program for one shape is as good, and faster."""


class NoPath(Exception):
    """A path of a tree cannot be traced; the tree is as it was."""


class _Name:
    """A number that may be any in a signature; equal to itself alone."""

    __slots__ = ("_text",)

    def __init__(self, text: str):
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _inputs(call: Call) -> list[int]:
    """Numbers of the leaves that are inputs of its program."""
    return [k for k, leaf in enumerate(call.leaves) if is_dynamic(leaf) or k in call.integers]


def new_template(
    call: Call,
    numbers: Numbers,
    variables: Sequence[tuple[int, ...]],
    wanted: Collection[int] = (),
    limit: int = UNLIMITED,
    keep: Callable[[], None] | None = None,
    before: Template | None = None,
) -> Template | None:
    """The template for calls like this one, whose numbers are `variables`; None if there can be none.

    It takes the place of the one `before`, to whose tree it adds the path of the call.
    """
    sizes = Sizes([abs(numbers[group[0]]) for group in variables])
    if before is not None and not sizes.accepts(before.noted):
        return None
    by_place = {k: n for group, n in zip(variables, sizes.variables) for k in group}
    signed = iter([n if (v := by_place.get(k)) is None else v if n > 0 else -v for k, n in enumerate(numbers)])
    names = {n.poly: _Name(str(n.poly)) for n in sizes.variables}
    given: dict[int, Any] = {}
    shown: dict[int, Any] = {}
    integers = sizes_among(call, wanted)

    def name(number: Any) -> Any:
        return names.get(number.poly, number.value) if is_extent(number) else number

    for number, leaf in enumerate(_inputs(call)):
        value = call.leaves[leaf]
        if _is_ordinary(value):
            shape = tuple(next(signed) for _ in value.shape)
            is_dense = value.strides == strides_of(value, value.shape)
            given[number] = shape, None if is_dense else tuple(next(signed) for _ in value.strides)
            shown[leaf] = tuple(map(name, shape))
        elif leaf in integers:
            given[number] = next(signed)
            shown[leaf] = name(given[number])
    failures: list[BaseException] = []
    made: Specialisation | Plain | None = None
    try:
        try:
            with collection.paused():
                made, programs = _specialised(call, given, sizes, keep, None if before is None else before.made)
                forget_dead()
        except NotWorthwhile as reason:
            made = Plain(str(reason), is_passing=True)
        rows = rows_of(sizes, given)
        words = {k: np.zeros(1, np.int64) for k, n in given.items() if type(n) is not tuple}
        guards = packed(placed(rows.rows, words))
        made.open_sizes = OpenSizes(given, rows.rows)
        if isinstance(made, Specialisation):
            programs.close(limit)
        else:
            made.arguments, made.integers = tuple(_inputs(call)), frozenset(call.integers).difference(integers)
    except (CallRaises, Interrupted, IntegerWanted, LoopsWanted, OneShape, NoPath):
        raise
    except (Exception, ControlException) as error:
        failures.append(error)
    if failures:
        if is_users_own(failures[0]):
            raise failures[0]
        _log.debug("%s: no program for all shapes: %s", call.name, failures.pop())
        return None
    assert made is not None
    _log.debug("%s: a program for all shapes with %s", call.name, ", ".join(map(str, sizes.guards)))
    noted, registers = sizes.noted(), new_registers(guards)
    return Template(made, guards, registers, words, rows.outside, shown, sizes.pinned(), variables, wanted, noted)


def _specialised(
    call: Call,
    given: Mapping[int, Any],
    sizes: Sizes,
    keep: Callable[[], None] | None,
    before: Specialisation | Plain | None = None,
) -> tuple[Specialisation, GeneralPrograms]:
    """A specialisation with formulas for numbers; it is the one `before` with a further path, if there is one.

    Raises
    ------
    Untraceable
        If calls need more than a program.
    CallRaises
        If the function raises an exception.
    """
    inputs = _inputs(call)
    arrays = {k: value for k, value in given.items() if type(value) is tuple}
    extents = {k: (s, strides_of(call.leaves[inputs[k]], s) if own is None else own) for k, (s, own) in arrays.items()}
    numbers = {inputs[k]: hidden(value) for k, value in given.items() if k not in arrays}
    scan_call(call.function, call.structure, call.leaves, call.captures)  # which tells what may not be left out
    values = [call.leaves[k] for k in inputs] + [c.read() for c in call.captures.arrays]
    programs = GeneralPrograms(values, {k: own for k, (_, own) in extents.items()}, given, sizes, keep, call.rounding)
    try:
        with drawing(call.leaves, restores=True):
            enters("trace")
            try:
                traced = trace(call.request(execute=programs.execute, extents=extents, numbers=numbers))
            except Untraceable as reason:
                if before is None:
                    raise
                raise NoPath(str(reason)) from None
            except Exception as failure:
                if before is None and is_the_functions(failure):
                    raise CallRaises(raised(failure)) from None
                raise
        if before is None and len(sizes.pinned()) == len(sizes.variables):
            raise OneShape
        if traced.breaks and classes_in(call.structure):
            raise Untraceable("looks at values of objects")
        if isinstance(before, Specialisation):
            before.add(traced, programs)  # type: ignore[arg-type]
            found = before
        else:
            found = specialised(call, traced, programs)  # type: ignore[arg-type]
            found.sizes = frozenset(numbers)
    finally:
        values.clear()
    if not is_simple(found):
        raise Untraceable("needs more than a program")
    return found, programs
