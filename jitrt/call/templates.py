"""Templates: programs with variables for extents, from which a call with arrays of a new shape gets its program.

A function that has been called with arrays of several shapes, alike in all but some of their extents, is traced once
more with an `Extent` for each extent that varies. The stages run as ever, and what comes out has formulas for numbers,
and conditions under which they hold. Calls that fulfil these cost an evaluation of the formulas: nothing is traced,
prepared, scheduled, planned or compiled.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.atwork import is_users_own
from ..base.frozen import frozen, replaced
from ..config import debug
from ..errors import ControlException, NotWorthwhile, Untraceable
from ..frontend.arguments import is_dynamic
from ..frontend.trace import Request, trace
from ..ir.extents import Extent, NotNoted, Sizes, is_extent
from ..ir.node import Graph
from ..ir.ops.optable import Kind
from ..ir.types import ArrayType, contiguous_strides
from ..passes.harmless import left_out
from ..programs import Compiled
from ..runtime.image import Image, Table
from ..runtime.program import UNLIMITED, Program
from .tracing import Call
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")

_MOST_FAMILIES = 64  # of one function, of which it is remembered how extents vary
_MOST_TEMPLATES = 8  # of one family: guards of each leave sizes out
_MOST_ATTEMPTS = 16
_MOST_FAILURES = 2  # attempts in a row that gave no template, or one for a single value of a variable
# Shapes after which there is a template: a process that finds its programs in the disk cache has not imported the
# compiler, which takes longer than they do.
_FEW_SHAPES, _SOME_SHAPES = 2, 4
# Shapes of one family after which one more is expected to come once: native code serves it from its third call on, and
# not from its second.
_MANY_SHAPES = 16

Extents = tuple[int, ...]


class Templates:
    """The templates of one function."""

    def __init__(self, threads: int | None):
        self._limit = UNLIMITED if threads is None else threads
        self._families: dict[Hashable, _Family] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self._families.clear()

    def find(self, call: Call, key: Hashable, keys: Sequence[Any]) -> Specialisation | Plain | None:
        """What serves a call, made from a template; None if there is none for it.

        Parameters
        ----------
        call : Call
        key : hashable
            What tells calls apart beside the leaves, and all of what a trace depends on but these.
        keys : sequence
            What a trace depends on of each leaf, as `leaf_key` gives it.
        """
        if call.donated or call.shared is not None or call.integers or call.captures.state or debug():
            return None
        general = _general(call.leaves, keys)
        if general is None:
            return None
        extents = tuple(n for leaf in call.leaves if type(leaf) is np.ndarray for n in leaf.shape)
        family = self._families.get((key, general))
        if family is None:
            while len(self._families) >= _MOST_FAMILIES:
                self._families.pop(next(iter(self._families)))
            family = self._families[key, general] = _Family(extents)
        return family.find(call, extents, self._limit)

    def note(self, call: Call, key: Hashable, keys: Sequence[Any], found: Specialisation | Plain) -> None:
        """A call was traced, which gave `found`: there are templates for what ends with one program."""
        family = self._families.get((key, _general(call.leaves, keys)))
        if family is not None and isinstance(found, Specialisation) and not _is_simple(found):
            family.is_given_up = True


def _general(leaves: Sequence[Any], keys: Sequence[Any]) -> Hashable | None:
    """What calls have in common that may have a template in common; None if no extent of theirs may vary."""
    found: list[Any] = []
    for leaf, key in zip(leaves, keys):
        if type(leaf) is np.ndarray:
            dtype, shape, strides, *others = key
            if not (dtype.isnative and leaf.flags.aligned) or strides != contiguous_strides(shape, dtype.itemsize):
                return None
            found.append((dtype, tuple(min(n, 2) for n in shape), *others))
        else:
            found.append(key)
    return (*found, *keys[len(leaves) :])


def _is_simple(found: Specialisation) -> bool:
    """Whether one program serves all calls, which needs nothing of NumPy."""
    traced = found.traced
    if traced.breaks or traced.host_calls or traced.scope or traced.stores or traced.draws or traced.has_state:
        return False
    if found.compiled.whole is not None:  # it leaves out what nothing reads, which depends on values
        return False
    is_made = all(r.view is None for r in traced.results)
    return is_made and not any(n.op.kind is Kind.HOST for n in traced.graph.nodes())


class _Family:
    """Calls that differ in the extents of contiguous arrays."""

    def __init__(self, extents: Extents):
        self._first = extents
        self._shapes = {extents}
        self._varying: set[int] = set()
        self._templates: list[_Template] = []
        self._attempts = self._failures = self._served = 0
        self.is_given_up = False

    def find(self, call: Call, extents: Extents, limit: int) -> Specialisation | Plain | None:
        if self.is_given_up and not self._templates:
            return None
        for k, template in enumerate(self._templates):
            found = self._filled(template, extents)
            if found is not None:
                if k:
                    self._templates.insert(0, self._templates.pop(k))
                return found
        if self.is_given_up or not self._is_time(extents):
            return None
        self._attempts += 1
        self.is_given_up = self._attempts >= _MOST_ATTEMPTS
        made = _made(call, extents, self._variables(extents), limit)
        if made is None or made.is_narrow:
            self._failures += 1
            self.is_given_up = self.is_given_up or self._failures >= _MOST_FAILURES
        if made is None:
            return None
        self._templates.insert(0, made)
        del self._templates[_MOST_TEMPLATES:]
        return self._filled(made, extents)

    def _filled(self, template: _Template, extents: Extents) -> Specialisation | Plain | None:
        found = template.find(extents)
        if isinstance(found, Specialisation):
            self._served += 1
            found.may_be_called_once = self._served > _MANY_SHAPES
        return found

    def _is_time(self, extents: Extents) -> bool:
        """Whether there have been enough shapes for a template."""
        if extents == self._first and not self._templates:
            return False
        self._varying |= {k for k, (n, m) in enumerate(zip(self._first, extents)) if n != m}
        if len(self._shapes) < _SOME_SHAPES:
            self._shapes.add(extents)
        return len(self._shapes) >= (_FEW_SHAPES if "jitrt.pipeline" in sys.modules else _SOME_SHAPES)

    def _variables(self, extents: Extents) -> list[tuple[int, ...]]:
        """Positions of extents that vary, together where they have been equal."""
        groups: dict[tuple[int, int], list[int]] = {}
        for k in sorted(self._varying):
            groups.setdefault((self._first[k], extents[k]), []).append(k)
        return [tuple(group) for group in groups.values()]


@frozen(eq=False)
class _Template:
    """A program with formulas.

    Parameters
    ----------
    made : Specialisation or Plain
        What a call gets, with formulas for its numbers.
    constants : tuple of (int, int)
        Positions among the extents of all arrays, and what is there.
    variables : tuple of tuple of int
        Positions that have to be equal, for each variable.
    numbers : callable
        Values of the formulas for values of the variables; None where guards fail.
    fill : callable
        The image with these values.
    limit : int
        Most threads that the program may use.
    is_narrow : bool
        Whether a variable has one value only.
    """

    made: Specialisation | Plain
    constants: tuple[tuple[int, int], ...]
    variables: tuple[tuple[int, ...], ...]
    numbers: Callable[..., tuple[int, ...] | None]
    fill: Callable[[tuple[int, ...]], Image] | None
    limit: int
    is_narrow: bool

    def find(self, extents: Extents) -> Specialisation | Plain | None:
        """What serves a call with arrays of these extents; None if this template does not."""
        if any(extents[k] != n for k, n in self.constants):
            return None
        values = []
        for first, *others in self.variables:
            values.append(extents[first])
            if any(extents[k] != extents[first] for k in others):
                return None
        numbers = self.numbers(*values)
        if numbers is None:
            return None
        if self.fill is None:
            assert isinstance(self.made, Plain)
            return Plain(self.made.reason, is_passing=self.made.is_passing)
        assert isinstance(self.made, Specialisation)
        program = self.made.compiled.program
        filled = Program(self.fill(numbers), program.kernels, self.limit, program.hosts, _no_details)
        return self.made.like(Compiled(filled, _no_details))


def _no_details() -> Any:
    raise NotNoted("only programs that are made for one shape say what they were made of")


class _Programs:
    """What compiles the graphs of a trace with extents that are variables."""

    def __init__(self, inputs: Sequence[Any], strides: Mapping[int, tuple[int, ...]]):
        self._inputs, self._strides = inputs, strides
        self.count = 0

    def compile(
        self,
        graph: Graph,
        values: Sequence[Any],
        donated: tuple[int, ...] = (),
        written: tuple[tuple[int, int], ...] = (),
        typical: bool = True,
    ) -> Compiled:
        from ..pipeline import generate, lower

        if left_out(graph, self._inputs) is not graph:
            raise Untraceable("leaves out what nothing reads, which depends on values")
        made = generate(lower(graph, values, donated, dict(written), self._strides))
        if not made.program.image.is_native:
            raise Untraceable("leaves a part of the program to NumPy")
        return Compiled(made.program, lambda: made)


def _made(call: Call, extents: Extents, variables: Sequence[tuple[int, ...]], limit: int) -> _Template | None:
    """The template for calls like this one; None if there can be none."""
    sizes = Sizes([extents[group[0]] for group in variables])
    by_place = {k: n for group, n in zip(variables, sizes.variables) for k in group}
    given: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    place = number = 0
    for leaf in call.leaves:
        if type(leaf) is np.ndarray:
            shape = tuple(by_place.get(k, n) for k, n in enumerate(leaf.shape, place))
            given[number] = shape, contiguous_strides(shape, leaf.itemsize)
            place += leaf.ndim
        number += is_dynamic(leaf)
    failures: list[BaseException] = []
    made: Specialisation | Plain | None = None
    try:
        made = _specialised(call, given)
    except NotWorthwhile as reason:
        made = Plain(str(reason), is_passing=True)
    except (Exception, ControlException) as error:
        failures.append(error)
    if failures:
        if is_users_own(failures[0]):
            raise failures[0]
        _log.info("%s: no program for all shapes: %s", call.name, failures.pop())
        return None
    if isinstance(made, Specialisation):
        numbers, fill = _open(made.compiled.program.image)
    else:
        numbers, fill = [], None
    constants = tuple((k, n) for k, n in enumerate(extents) if k not in by_place)
    formulas = sizes.compiled(numbers)
    _log.info("%s: a program for all shapes that satisfy %d conditions", call.name, len(sizes.guards))
    assert made is not None
    return _Template(made, constants, tuple(variables), formulas, fill, limit, sizes.is_narrow)


def _specialised(call: Call, given: Mapping[int, Any]) -> Specialisation:
    """A specialisation with formulas for numbers.

    Raises
    ------
    Untraceable
        If calls need more than a program.
    """
    traced = trace(Request(call.function, call.leaves, call.structure, call.captures, execute=_refuse, extents=given))
    strides = {k: own for k, (_, own) in given.items()}
    inputs = [call.leaves[k] for k in traced.arguments] + [c.read() for c in traced.captured]
    found = Specialisation(traced, _Programs(inputs, strides), None, (), False)  # type: ignore[arg-type]
    inputs.clear()
    if not _is_simple(found):
        raise Untraceable("needs more than a program")
    found.settle()
    return found


def _refuse(graph: Graph, values: list[Any]) -> Any:
    raise Untraceable("looks at a value")


# From an image with formulas to one with numbers.
Fill = Callable[[tuple[int, ...]], Any]


def _open(image: Image) -> tuple[list[Extent], Fill]:
    """The formulas in an image, and what puts numbers in their places."""
    numbers: dict[Any, int] = {}  # by polynomial
    formulas: list[Extent] = []

    def place(extent: Extent) -> int:
        if extent.poly not in numbers:
            numbers[extent.poly] = len(formulas)
            formulas.append(extent)
        return numbers[extent.poly]

    fields = [(name, _filler(getattr(image, name), place)) for name in Image.__match_args__]
    varying = [(name, fill) for name, fill in fields if fill is not None]
    return formulas, lambda values: replaced(image, **{name: fill(values) for name, fill in varying})


def _filler(value: Any, place: Callable[[Extent], int]) -> Fill | None:
    """What makes `value` with numbers in place of its formulas; None if it has none."""
    if is_extent(value):
        k = place(value)
        return lambda values: values[k]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return _array_filler(value, place)
    if isinstance(value, tuple):
        parts = [_filler(part, place) for part in value]
        if not any(parts):
            return None
        pairs = list(zip(value, parts))
        return lambda values: tuple([part if fill is None else fill(values) for part, fill in pairs])
    if type(value) is ArrayType:
        shape = _filler(value.shape, place)
        if shape is None:
            return None
        return lambda values: ArrayType(value.dtype, shape(values), value.weak)
    if type(value) is Table:
        params, relocations, patches, rows = parts = [_filler(getattr(value, n), place) for n in Table.__match_args__]
        if not any(parts):
            return None
        return lambda values: Table(
            value.params if params is None else params(values),
            value.relocations if relocations is None else relocations(values),
            value.patches if patches is None else patches(values),
            value.rows if rows is None else rows(values),
        )
    return None


def _array_filler(value: np.ndarray, place: Callable[[Extent], int]) -> Fill:
    flat = list(value.flat)
    places = [k for k, n in enumerate(flat) if is_extent(n)]
    which = [place(flat[k]) for k in places]
    known = np.array([0 if is_extent(n) else n for n in flat], np.int64)

    def fill(values: tuple[int, ...]) -> np.ndarray:
        filled = known.copy()
        filled[places] = [values[k] for k in which]
        return filled.reshape(value.shape)

    return fill
