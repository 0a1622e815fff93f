"""What compiles the graphs of a trace with variables for extents: programs with formulas for numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import config, policy
from ..base.frozen import replaced
from ..errors import NotWorthwhile, Untraceable
from ..ir.content import NotPortable, content
from ..ir.extents import Sizes, estimate, formula
from ..ir.interpret import stored
from ..ir.node import Graph
from ..ir.numbered import FirstValues
from ..ir.rounding import Rounding
from ..ir.types import ArrayType, contiguous_strides, fortran_strides
from ..ir.worthwhile import first_numpy_time
from ..passes.harmless import left_out
from ..programs import Compiled, Known, keep, known_program
from ..runtime.errstate import UNCOMPUTED, errors
from ..runtime.formulas import Given, Places, formulas_of, taken_out
from ..runtime.generalhosts import Sized, check
from ..runtime.hostfile import NotPlain, decode_hosts, encode_hosts
from ..runtime.hosts import NO_HOSTS, Hosts
from ..runtime.image import Image
from ..runtime.mayraise import not_computed
from ..runtime.program import UNLIMITED, Program
from .segments import takes_numpy_long

_MOST_KEPT = 8  # for one graph, whose guards differ


def in_fortran_order(array: np.ndarray) -> bool:
    """Whether an array is contiguous in the order of Fortran, and not in that of C."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


def strides_of(array: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous array of that shape, in the order of `array` if that is contiguous."""
    return (fortran_strides if in_fortran_order(array) else contiguous_strides)(shape, array.itemsize)


def _no_details() -> Any:
    raise RuntimeError("only programs that are made for one shape say what they were made of")


# An image, the addresses of its kernels, its formulas, and what NumPy executes.
_Made = tuple[Image, Sequence[int], Places, Hosts]


class GeneralPrograms:
    """What compiles the graphs of a trace with extents that are variables.

    Parameters
    ----------
    inputs : sequence
        Values of the inputs.
    strides : mapping of int to tuple
        Strides of arrays among them, by their numbers.
    given : Given
        What formulas read of them.
    sizes : Sizes
    keep : callable, optional
        Called where nothing may be left out any more of what nothing reads; None if nothing may be.
    rounding : Rounding

    Attributes
    ----------
    made : list of (Program, Places, bool)
        Programs with the numbers of this call, their formulas, as `taken_out` gives them, and whether sizes have to
        come twice before there is a frame for them, if NumPy executes some of their steps.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        strides: Mapping[int, tuple[int, ...]],
        given: Given,
        sizes: Sizes,
        keep: Callable[[], None] | None,
        rounding: Rounding,
    ):
        self._inputs, self._strides, self._sizes, self._keep = inputs, strides, sizes, keep
        self._given, self._rounding = given, rounding
        self._compiled: dict[Hashable, Compiled] = {}
        self.count = 0
        self.made: list[tuple[Program, Places, bool]] = []

    def compile(
        self,
        graph: Graph,
        values: Sequence[Any],
        donated: tuple[int, ...] = (),
        written: tuple[tuple[int, int], ...] = (),
        typical: bool = True,
    ) -> Compiled:
        values = [*self._inputs, *values[len(self._inputs) :]]  # the first inputs of all graphs
        # What has gaps is not written where it is.
        written = tuple((k, output) for k, output in written if self._is_contiguous(graph.inputs[k].type, k))
        graph = replaced(graph, rounding=self._rounding)
        smaller = graph if self._keep is None or not typical else left_out(graph, values)
        whole = None if smaller is graph or not_computed(smaller) & errors() << UNCOMPUTED else self._keep
        graph = graph if whole is None else smaller
        strides = dict(self._strides)
        for k in range(len(self._inputs), len(values)):
            if isinstance(values[k], np.ndarray):
                strides[k] = strides_of(values[k], graph.inputs[k].type.shape)
        known = (
            graph,
            written,
            tuple(in_fortran_order(v) for v in values[len(self._inputs) :] if isinstance(v, np.ndarray)),
        )
        compiled = self._compiled.get(known)
        if compiled is None:
            image, kernels, places, hosts = self._found(graph, values, written, strides)
            program = Program(image, kernels, UNLIMITED, hosts, _no_details)
            waits = False
            if not image.is_native:
                program.sized = Sized(self._given, self._sizes.quotients, places)
                waits = not config.strict() and first_numpy_time([graph]) < 1000 * policy.SIZED_FRAME
            self.made.append((program, places, waits))
            compiled = self._compiled[known] = Compiled(program, _no_details, whole=whole)
        return compiled

    def execute(self, graph: Graph, values: list[Any]) -> tuple[Compiled | Callable[[], Compiled], list[Any]]:
        """Compute `graph` for this call, as a trace asks for it; like `Programs.execute_quietly`."""
        values = [*self._inputs, *values[len(self._inputs) :]]
        if not takes_numpy_long(graph):
            with np.errstate(all="ignore"):
                found = FirstValues(dict(zip(graph.inputs, values))).values(graph.outputs)
            strides = graph.strides or [None] * len(found)
            outputs = [stored(v, own and tuple(map(estimate, own))) for v, own in zip(found, strides)]
            return partial(self.compile, graph, values, typical=False), outputs
        compiled = self.compile(graph, values, typical=False)
        return compiled, compiled.run(values, reports=False)

    def close(self, limit: int) -> None:
        """Let all programs serve calls of any sizes that fulfil the guards, with at most `limit` threads."""
        for program, places, waits in self.made:
            program.release()  # frames of this call alone
            if program.sized is None:
                program.image = replaced(program.image, formulas=formulas_of(self._sizes, self._given, places))
            else:
                program.sized = replaced(program.sized, waits=waits)
            program.limit = limit

    def _is_contiguous(self, kind: ArrayType, k: int) -> bool:
        own = self._strides.get(k)
        return own is None or own == contiguous_strides(kind.shape, kind.dtype.itemsize)

    def _found(
        self,
        graph: Graph,
        values: Sequence[Any],
        written: tuple[tuple[int, int], ...],
        strides: Mapping[int, tuple[int, ...]],
    ) -> _Made:
        """A program that is known, in this process or on disk, if its guards hold; otherwise a new one."""
        key = self._key(graph, values, written, strides)
        free = None if key is None else f"{key} 0"
        for n in range(_MOST_KEPT if key is not None else 0):
            known = known_program(f"{key} {n}")
            if known is None:
                free = f"{key} {n}"
                break
            noted, *more = known.more
            if not self._sizes.accepts(noted):
                continue
            if known.image is None:
                raise NotWorthwhile(known.reason)
            places, hosts = more
            steps = NO_HOSTS if hosts is None else decode_hosts(hosts, graph, self._sizes)
            return known.image, known.kernels, places, steps
        return self._generated(graph, values, written, strides, free)

    def _generated(
        self,
        graph: Graph,
        values: Sequence[Any],
        written: tuple[tuple[int, int], ...],
        strides: Mapping[int, tuple[int, ...]],
        key: str | None,
    ) -> _Made:
        from ..pipeline import generate, lower

        try:
            program = generate(lower(graph, values, (), dict(written), strides)).program
        except NotWorthwhile as reason:
            keep(key, Known(None, (), [self._sizes.noted()], str(reason)))
            raise
        check(program.hosts)
        for _, kind, order in program.image.fresh:
            if order is not None and order != fortran_strides(kind.shape, kind.dtype.itemsize):
                raise Untraceable("gives an array whose axes are in another order than C's or Fortran's")
        image, places = taken_out(program.image)
        with contextlib.suppress(NotPlain):
            hosts = None if image.is_native else encode_hosts(program.hosts, graph)
            keep(key, Known(image, program.kernels, [self._sizes.noted(), places, hosts]))
        return image, program.kernels, places, program.hosts

    def _key(
        self,
        graph: Graph,
        values: Sequence[Any],
        written: tuple[tuple[int, int], ...],
        strides: Mapping[int, tuple[int, ...]],
    ) -> str | None:
        """What a program is made from, as text; None if that makes sense in this process alone."""
        try:
            text = content(graph)
        except NotPortable:
            return None
        given = [value.strides if isinstance(value, np.ndarray) else None for value in values]
        own: list[Any] = [strides.get(k, known) for k, known in enumerate(given)]
        shown = [known and tuple(map(formula, known)) for known in own]
        quotients = [f"({x})//({y})" for x, y in self._sizes.quotients.values()]
        return f"template {text} {shown} {quotients} {written} {config.strict()}"
