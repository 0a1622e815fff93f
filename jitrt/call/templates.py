"""Templates: programs with variables for extents, from which a call with arrays of a new shape gets its program.

A function that has been called with arrays of several shapes, alike in all but some of their extents, is traced once
more with an `Extent` for each extent that varies. The stages run as ever, and what comes out has formulas for numbers,
and conditions under which they hold. Native code looks whether they do, and evaluates the formulas: calls of any shape
that fulfils them are calls of one program.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import config
from ..base.atwork import is_users_own
from ..base.frozen import frozen, replaced
from ..codegen import cache
from ..errors import ControlException, NotWorthwhile, Untraceable
from ..frontend.trace import Request, trace
from ..ir.content import NotPortable, content
from ..ir.extents import NotNoted, Sizes, formula, is_extent
from ..ir.integers import Poly
from ..ir.node import Graph, Node
from ..ir.ops.contractions import RESULT
from ..ir.ops.optable import Kind
from ..ir.types import contiguous_strides
from ..passes.harmless import left_out
from ..programs import Compiled, code_text
from ..runtime import imagefile
from ..runtime.errstate import UNCOMPUTED, errors
from ..runtime.formulas import Places, evaluate, formulas_of, new_registers, packed, rows_of, taken_out
from ..runtime.hosts import NO_HOSTS
from ..runtime.image import Image
from ..runtime.mayraise import not_computed
from ..runtime.objects import fields
from ..runtime.program import UNLIMITED, Program
from ..runtime.results import is_fortran
from ..values.keys import is_dynamic
from .tracing import Call
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")

_MOST_FAMILIES = 64  # of one function, of which it is remembered how extents vary
_MOST_TEMPLATES = 8  # of one family: guards of each leave sizes out
_MOST_ATTEMPTS = 16
_MOST_ON_DISK = 8  # for one graph, whose guards differ
_MOST_FAILURES = 2  # attempts in a row that gave no template, or one for a single value of a variable
# Shapes after which there is a template: a process that finds its programs in the disk cache has not imported the
# compiler, which takes longer than they do.
_FEW_SHAPES, _SOME_SHAPES = 2, 4

Extents = tuple[int, ...]


class Templates:
    """The templates of one function."""

    def __init__(self, threads: int | None):
        self._limit = UNLIMITED if threads is None else threads
        self._families: dict[Hashable, _Family] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self._families.clear()

    def find(self, call: Call, key: Hashable, keys: Sequence[Any]) -> tuple[tuple, Specialisation | Plain] | None:
        """What serves a call, and calls of other shapes, with what it depends on of each leaf; None if nothing does.

        Parameters
        ----------
        call : Call
        key : hashable
            What tells calls apart beside the leaves, and all of what a trace depends on but these.
        keys : sequence
            What a trace depends on of each leaf, as `leaf_key` gives it.
        """
        if call.donated or call.shared is not None or call.captures.state or config.debug():
            return None
        general = _general(call.leaves, keys)
        if general is None or fields() is None:
            return None
        extents = tuple(n for leaf in call.leaves if type(leaf) is np.ndarray for n in leaf.shape)
        family = self._families.get((key, general))
        if family is None:
            while len(self._families) >= _MOST_FAMILIES:
                self._families.pop(next(iter(self._families)))
            family = self._families[key, general] = _Family(extents, f"varying {code_text(call.function)} {general}")
        template = family.find(call, extents, self._limit)
        if template is None:
            return None
        if isinstance(template.made, Plain):
            return tuple(keys), Plain(template.made.reason, is_passing=True)
        return template.types(keys), template.made

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
            if not (dtype.isnative and leaf.flags.aligned) or strides != _strides(leaf, shape):
                return None
            found.append((dtype, tuple(min(n, 2) for n in shape), _is_fortran(leaf), *others))
        else:
            found.append(key)
    return (*found, *keys[len(leaves) :])


def _is_fortran(array: np.ndarray) -> bool:
    """Whether an array is contiguous in the order of Fortran, and not in that of C."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _strides(array: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous array of that shape, in the order of `array` if that is contiguous."""
    if _is_fortran(array):
        return contiguous_strides(shape[::-1], array.itemsize)[::-1]
    return contiguous_strides(shape, array.itemsize)


def _is_simple(found: Specialisation) -> bool:
    """Whether one program serves all calls, which needs nothing of NumPy."""
    traced = found.traced
    if traced.breaks or traced.host_calls or traced.scope or traced.stores or traced.draws or traced.has_state:
        return False
    is_made = all(r.view is None for r in traced.results)
    return is_made and not any(n.op.kind is Kind.HOST and not _is_of_loop(n) for n in traced.graph.nodes())


def _is_of_loop(node: Node) -> bool:
    """Whether a node is a result of a loop or of a choice."""
    return node.op is RESULT and node.args[0].op.kind is Kind.CONTROL


class _Family:
    """Calls that differ in the extents of contiguous arrays."""

    def __init__(self, extents: Extents, name: str):
        self._first = extents
        self._name = name  # of what is known on disk
        # Positions that have varied in other processes, together where they have been equal.
        self._known: list[list[int]] = cache.load_table(name).get("groups", [])
        self._shapes = {extents}
        self._varying: set[int] = set()
        self._templates: list[_Template] = []
        self._attempts = self._failures = 0
        self.is_given_up = False
        self._leaves_out = True

    def _keep_all(self) -> None:
        """Leave nothing out any more of what nothing reads: the values of a call have not let it."""
        self._leaves_out = False
        self._templates.clear()

    def find(self, call: Call, extents: Extents, limit: int) -> _Template | None:
        if self.is_given_up and not self._templates:
            return None
        found = None
        for k, template in enumerate(self._templates):
            if template.fits(call):
                found = template
                if template.is_preferred():
                    if k:
                        self._templates.insert(0, self._templates.pop(k))
                    return template
        if found is None and (self.is_given_up or not self._is_time(extents)):
            return None
        if self.is_given_up:
            return found
        variables = self._variables(extents)
        if not variables:
            return found
        self._attempts += 1
        self.is_given_up = self._attempts >= _MOST_ATTEMPTS
        made = _made(call, extents, variables, limit, self._keep_all if self._leaves_out else None)
        if made is None or made.is_narrow:
            self._failures += 1
            self.is_given_up = self.is_given_up or self._failures >= _MOST_FAILURES
        elif (groups := list(map(list, variables))) != self._known:
            self._known = groups
            cache.extend_table(self._name, {"groups": groups})
        if made is None:
            return found
        self._templates.insert(0, made)
        del self._templates[_MOST_TEMPLATES:]
        return made if made.fits(call) else None

    def _is_time(self, extents: Extents) -> bool:
        """Whether there have been enough shapes for a template."""
        self._varying |= {k for k, (n, m) in enumerate(zip(self._first, extents)) if n != m}
        if self._known:
            return True
        if extents == self._first and not self._templates:
            return False
        if len(self._shapes) < _SOME_SHAPES:
            self._shapes.add(extents)
        return len(self._shapes) >= (_FEW_SHAPES if "jitrt.pipeline" in sys.modules else _SOME_SHAPES)

    def _variables(self, extents: Extents) -> list[tuple[int, ...]]:
        """Positions of extents that vary, together where they have been equal."""
        if self._known and all(
            len({extents[k] for k in group}) == 1 and extents[group[0]] > 1 for group in self._known
        ):
            return list(map(tuple, self._known))
        groups: dict[tuple[int, int], list[int]] = {}
        for k in sorted(self._varying):
            groups.setdefault((self._first[k], extents[k]), []).append(k)
        return [tuple(group) for group in groups.values()]


@frozen(eq=False)
class _Template:
    """What serves calls with arrays of all extents that satisfy guards.

    Parameters
    ----------
    made : Specialisation or Plain
    guards : numpy.ndarray
        Rows that tell whether the guards hold.
    registers : numpy.ndarray
        Their registers.
    outside : int, optional
        The one that tells whether sizes are other ones than are preferred.
    shapes : tuple of (int, tuple)
        Numbers of the leaves that are arrays, and their shapes, with names for variables.
    is_narrow : bool
        Whether a variable has one value only.
    """

    made: Specialisation | Plain
    guards: np.ndarray
    registers: np.ndarray
    outside: int | None
    shapes: tuple[tuple[int, tuple[Any, ...]], ...]
    is_narrow: bool

    def fits(self, call: Call) -> bool:
        """Whether the guards hold for a call."""
        return evaluate(self.guards, tuple([call.leaves[k] for k in _inputs(call)]), self.registers)

    def is_preferred(self) -> bool:
        """Whether the sizes seen last are like those that it was made for, or there has been little work for others."""
        return self.outside is None or not self.registers[self.outside] or self._has_patience()

    def _has_patience(self) -> bool:
        return isinstance(self.made, Plain) or self.made.compiled.program.patience[0] > 0

    def types(self, keys: Sequence[Any]) -> tuple:
        """What calls with these keys, and others, depend on."""
        found = list(keys)
        for k, shape in self.shapes:
            dtype, _, _, *others = keys[k]
            found[k] = dtype, shape, None, *others
        return tuple(found)


class _Name:
    """An extent that may be any in a signature; equal to itself alone."""

    __slots__ = ("_text",)

    def __init__(self, text: str):
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _inputs(call: Call) -> list[int]:
    """Numbers of the leaves that are inputs of its program."""
    return [k for k, leaf in enumerate(call.leaves) if is_dynamic(leaf) or k in call.integers]


def _no_details() -> Any:
    raise NotNoted("only programs that are made for one shape say what they were made of")


class _Programs:
    """What compiles the graphs of a trace with extents that are variables.

    Parameters
    ----------
    inputs : sequence
        Values of the inputs.
    strides : mapping of int to tuple
        Strides of arrays among them, by their numbers.
    sizes : Sizes
    keep : callable, optional
        Called where nothing may be left out any more of what nothing reads; None if nothing may be.

    Attributes
    ----------
    places : list
        The formulas of the program, as `taken_out` gives them.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        strides: Mapping[int, tuple[int, ...]],
        sizes: Sizes,
        keep: Callable[[], None] | None,
    ):
        self._inputs, self._strides, self._sizes, self._keep = inputs, strides, sizes, keep
        self.count = 0
        self.places: Places = ()

    def compile(
        self,
        graph: Graph,
        values: Sequence[Any],
        donated: tuple[int, ...] = (),
        written: tuple[tuple[int, int], ...] = (),
        typical: bool = True,
    ) -> Compiled:
        smaller = graph if self._keep is None else left_out(graph, self._inputs)
        whole = None if smaller is graph or not_computed(smaller) & errors() << UNCOMPUTED else self._keep
        graph = graph if whole is None else smaller
        key = self._key(graph, values, written)
        found = None if key is None else self._from_disk(key)
        if found is None:
            found = self._generated(graph, values, written, key)
        image, kernels = found
        return Compiled(Program(image, kernels, UNLIMITED, NO_HOSTS, _no_details), _no_details, whole=whole)

    def _generated(
        self, graph: Graph, values: Sequence[Any], written: tuple[tuple[int, int], ...], key: str | None
    ) -> tuple[Image, Sequence[int]]:
        from ..pipeline import generate, lower

        program = generate(lower(graph, values, (), dict(written), self._strides)).program
        if not program.image.is_native:
            raise Untraceable("leaves a part of the program to NumPy")
        for _, kind, order in program.image.fresh:
            if order is not None and not is_fortran(kind.shape, order, kind.dtype.itemsize):
                raise Untraceable("gives an array whose axes are in another order than C's or Fortran's")
        image, self.places = taken_out(program.image)
        places = [(*place, poly.terms) for *place, poly in self.places]
        data = None if key is None else imagefile.encode(image, [self._sizes.noted(), places])
        if data is not None:
            free = next((n for n in range(_MOST_ON_DISK) if not cache.has_program(f"{key} {n}")), 0)
            cache.store_program(f"{key} {free}", image.kernels, data)
        return image, program.kernels

    def _key(self, graph: Graph, values: Sequence[Any], written: tuple[tuple[int, int], ...]) -> str | None:
        """What a program is made from, as text; None if that makes sense in this process alone."""
        try:
            text = content(graph)
        except NotPortable:
            return None
        strides = [value.strides if isinstance(value, np.ndarray) else None for value in values]
        own: list[Any] = [self._strides.get(k, given) for k, given in enumerate(strides)]
        shown = [given and tuple(map(formula, given)) for given in own]
        quotients = [f"({x})//({y})" for x, y in self._sizes.quotients.values()]
        return f"template {text} {shown} {quotients} {written} {config.strict()}"

    def _from_disk(self, key: str) -> tuple[Image, Sequence[int]] | None:
        for n in range(_MOST_ON_DISK):
            found = cache.load_program(f"{key} {n}")
            if found is None:
                return None
            addresses, data = found
            image, (noted, places) = imagefile.decode(data)
            if self._sizes.accepts(noted):
                self.places = [(*place, Poly.from_lists(terms)) for *place, terms in places]
                return image, [addresses[name] for name in image.kernels]
        return None


def _made(
    call: Call,
    extents: Extents,
    variables: Sequence[tuple[int, ...]],
    limit: int,
    keep: Callable[[], None] | None = None,
) -> _Template | None:
    """The template for calls like this one; None if there can be none."""
    sizes = Sizes([extents[group[0]] for group in variables])
    by_place = {k: n for group, n in zip(variables, sizes.variables) for k in group}
    names = {n.poly: _Name(str(n.poly)) for n in sizes.variables}
    given: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    shown: list[tuple[int, tuple[Any, ...]]] = []
    place = 0
    for number, leaf in enumerate(_inputs(call)):
        value = call.leaves[leaf]
        if type(value) is np.ndarray:
            shape = tuple(by_place.get(k, n) for k, n in enumerate(value.shape, place))
            given[number] = shape, _strides(value, shape)
            shown.append((leaf, tuple(names[n.poly] if is_extent(n) else n for n in shape)))
            place += value.ndim
    failures: list[BaseException] = []
    made: Specialisation | Plain | None = None
    shapes = {k: shape for k, (shape, _) in given.items()}
    try:
        try:
            made, programs = _specialised(call, given, sizes, keep)
        except NotWorthwhile as reason:
            made = Plain(str(reason), is_passing=True)
        rows = rows_of(sizes, shapes)
        guards = packed(rows.rows)
        if isinstance(made, Specialisation):
            program = made.compiled.program
            program.image = replaced(program.image, formulas=formulas_of(sizes, shapes, programs.places))
            program.limit = limit
    except (Exception, ControlException) as error:
        failures.append(error)
    if failures:
        if is_users_own(failures[0]):
            raise failures[0]
        _log.info("%s: no program for all shapes: %s", call.name, failures.pop())
        return None
    assert made is not None
    _log.info("%s: a program for all shapes with %s", call.name, ", ".join(map(str, sizes.guards)))
    return _Template(made, guards, new_registers(guards), rows.outside, tuple(shown), sizes.is_narrow)


def _specialised(
    call: Call, given: Mapping[int, Any], sizes: Sizes, keep: Callable[[], None] | None
) -> tuple[Specialisation, _Programs]:
    """A specialisation with formulas for numbers.

    Raises
    ------
    Untraceable
        If calls need more than a program.
    """
    request = Request(
        call.function,
        call.leaves,
        call.structure,
        call.captures,
        execute=_refuse,
        integers=call.integers,
        extents=given,
    )
    traced = trace(request)
    strides = {k: own for k, (_, own) in given.items()}
    inputs = [call.leaves[k] for k in traced.arguments] + [c.read() for c in traced.captured]
    programs = _Programs(inputs, strides, sizes, keep)
    found = Specialisation(traced, programs, None, (), False)  # type: ignore[arg-type]
    inputs.clear()
    if not _is_simple(found):
        raise Untraceable("needs more than a program")
    return found, programs


def _refuse(graph: Graph, values: list[Any]) -> Any:
    raise Untraceable("looks at a value")
