"""Compiling ahead of time: for arguments that are only described, and stages that can be looked at."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..codegen.compile import get_compiler_ready
from ..frontend.trace import Traced
from ..ir.node import Graph, Node
from ..memory.plan import BlockMemory
from ..pipeline import Lowered
from ..runtime import threads
from ..runtime.readiness import get_driver_ready
from ..schedule.byhand import ByHand, by_hand
from ..schedule.control import CheckCall
from ..schedule.loopnest import LoopNest
from ..schedule.nest import KernelCall, describe
from ..schedule.reasons import host_name
from ..values.kinds import flatten, kind_of, rebuild
from .explain import Explanation, graph_sections, titles, to_html, to_text

_MOST_EXAMPLE_ELEMENTS = 1 << 20


@frozen
class ArraySpec:
    """An array argument of which only the type is known; made by `spec`."""

    dtype: np.dtype
    shape: tuple[int, ...]


def spec(dtype: Any, shape: int | Sequence[int]) -> ArraySpec:
    """Describe an array argument for `JitFunction.compile` and `JitFunction.lower`.

    Parameters
    ----------
    dtype : dtype-like
        As `numpy.dtype` takes it.
    shape : int or sequence of int
        The array is taken to be contiguous, in C order.

    Returns
    -------
    ArraySpec
        Stands for an array where the methods take arguments.

    Raises
    ------
    TypeError
        If `dtype` is not a dtype, or `shape` is not made of integers.
    ValueError
        If an extent is negative.

    Examples
    --------
    >>> import jitrt
    >>> @jitrt.jit
    ... def triple(x):
    ...     return 3 * x
    >>> triple.compile(jitrt.spec("f4", (100, 20))).frame_bytes
    0
    """
    extents = tuple(map(operator.index, shape if isinstance(shape, Iterable) else (shape,)))
    if any(n < 0 for n in extents):
        raise ValueError(f"negative dimensions are not allowed: {extents}")
    return ArraySpec(np.dtype(dtype), extents)


def with_examples(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments with an array for each `ArraySpec`, and for each pair of a dtype and a shape."""
    pairs_replaced = _specs_of_pairs((args, kwargs))
    leaves: list[Any] = []
    structure = flatten(pairs_replaced, leaves)
    return rebuild(structure, iter([_example(v) if isinstance(v, ArraySpec) else v for v in leaves]))


def _specs_of_pairs(value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (np.dtype, type)):
        dtype, shape = value
        if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
            return spec(dtype, shape)
    kind = kind_of(value, objects=False)
    if kind is None:
        return value
    what, parts = kind.take(value)
    return kind.made(what, list(map(_specs_of_pairs, parts)))


def _example(wanted: ArraySpec) -> np.ndarray:
    """An array of that type. Its values matter only where NumPy makes calls whose result types depend on them."""
    array = np.zeros(wanted.shape, wanted.dtype)
    if wanted.dtype.kind in "fc" and array.size <= _MOST_EXAMPLE_ELEMENTS:
        array[...] = np.random.default_rng(0).uniform(0.5, 1.5, wanted.shape)
    return array


def input_names(
    function: Callable[..., Any], args: tuple, kwargs: Mapping[str, Any], traced: Traced
) -> tuple[str, ...]:
    """Names of the inputs of a graph: of parameters, with numbers for parts of what they hold, and of captures."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {}
    leaves: list[str] = []
    for name, value in given.items():
        parts: list[Any] = []
        flatten(value, parts)
        leaves += [name] if len(parts) == 1 else [f"{name}{k}" for k in range(len(parts))]
    wanted = [leaves[k] if k < len(leaves) else f"x{k}" for k in traced.arguments]
    wanted += [c.name for c in traced.captured]
    found: dict[str, None] = {}
    for name in wanted:
        while name in found or not name.isidentifier():
            name = f"{name}_" if name.isidentifier() else f"x{len(found)}"
        found[name] = None
    return tuple(found)


@frozen
class Stages:
    """What a function is for given arguments before code is generated; made by `JitFunction.lower`.

    Parameters
    ----------
    name : str
        Of the function.
    lowered : Lowered
    compiler : callable
        Compiles the function for these arguments.
    traced : Traced
    names : tuple of str
        Of the inputs: the function's parameters.
    values : mapping of Node to str
        The function's variables.
    """

    name: str
    lowered: Lowered
    compiler: Callable[[], Explanation]
    traced: Traced
    names: tuple[str, ...]
    values: Mapping[Node, str]

    @property
    def expression(self) -> Any:
        """What the function returns as expressions (`jitrt.expr`) of its parameters, nested as the result is.

        Raises
        ------
        ValueError
            If the function returns what is neither computed nor given to it.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> @jitrt.jit
        ... def energy(mass, speed):
        ...     square = speed**2
        ...     return mass * square / 2
        >>> print(energy.lower(jitrt.spec("f8", 3), jitrt.spec("f8", 3)).expression)
        def expression(mass: "f8[3]", speed: "f8[3]"):
            square = np.power(speed, 2)
            t0 = np.multiply(mass, square)
            return np.divide(t0, 2)
        """
        from ..expr.graphs import result_of

        return result_of(self.traced, self.names, self.values)

    @property
    def graph(self) -> Graph:
        """The graph as it was traced."""
        return self.lowered.stages[0][1]

    def by_hand(self) -> ByHand:
        """The function as a fusion to be scheduled by hand (`jitrt.schedule`), every operation with loops of its own.

        Raises
        ------
        ScheduleError
            If the function does something else than elementwise operations, folds, transposes and broadcasts, and
            slices and reshapes of its arguments.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> from jitrt.schedule import compute_at
        >>> @jitrt.jit
        ... def total(x):
        ...     y = np.exp(x)
        ...     return y.sum()
        >>> made = total.lower(jitrt.spec("f8", 8)).by_hand()
        >>> for tensor in (made["y"], made.outputs[0]):
        ...     _ = tensor.split(0, 3)
        >>> compute_at(made.fusion, made["y"], made.outputs[0], 2, best_effort=True)
        >>> print(made)
        t0 = neutral
        for i in 3:
          for j in 3:
            if i*3+j < 8:
              y = ew(x[i*3+j])
            if i*3+j < 8:
              t0 (+)= red(y)
        >>> f = jitrt.jit(made.function())
        >>> round(f(np.arange(8.0)), 3) == round(total(np.arange(8.0)), 3)
        np.True_
        """
        return by_hand(self.graph, self.names, self.values)

    @property
    def loop_nests(self) -> list[LoopNest]:
        """Loop nests of the kernels, in the order in which they run."""
        return [call.nest for call in self.lowered.memory.kernel_calls()]

    @property
    def frame_bytes(self) -> int:
        """Bytes of temporary memory that a call will work in."""
        return self.lowered.memory.layout.nbytes

    def compile(self) -> Explanation:
        """Generate code, so that calls with such arguments need not wait for it."""
        return self.compiler()

    def sections(self) -> list[tuple[str, str]]:
        """Titles and texts of the stages."""
        named = {**dict(zip(self.graph.inputs, self.names)), **self.values}
        parts = graph_sections(self.lowered.stages, named)
        steps = "\n".join(_described(self.lowered.memory))
        return [*parts, ("steps and loop nests", steps), ("frame", str(self.lowered.memory.layout))]

    def __str__(self) -> str:
        return to_text(self.sections())

    def __repr__(self) -> str:
        return f"<{self.name} before code generation: {self.graph!r}, loop nests={len(self.loop_nests)}>"

    def _repr_html_(self) -> str:
        return to_html(self.sections())


def _described(memory: BlockMemory) -> list[str]:
    lines = []
    for k, step in enumerate(memory.steps):
        if isinstance(step, KernelCall):
            lines.append(f"{k}: {describe(step)}")
        elif isinstance(step, Node):
            lines.append(f"{k}: NumPy executes {host_name(step)}")
        elif isinstance(step, CheckCall):
            lines.append(f"{k}: {step}")
        else:
            for title, body in zip(titles(step), step.blocks()):
                lines.append(f"{k}: {title}")
                inner = _described(memory.inner[body][1])
                lines += [f"    {line}" for text in inner for line in text.split("\n")]
    return lines


def warm_up() -> None:
    """Do now what the first compiled call of a process does once: load or compile the native driver, start threads.

    Examples
    --------
    >>> import jitrt
    >>> jitrt.warm_up()
    """
    get_driver_ready()
    threads.start_pool()
    get_compiler_ready()
