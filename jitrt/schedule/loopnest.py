"""Loop nests: what code generation turns into machine code.

    nest      := operands statement*
    statement := for AXIS [parallel]: statement*
               | VALUE = OPERAND[AXES]                  load
               | VALUE = OPERAND[AXES] at VALUE*        load from a computed place
               | VALUE = literal LITERAL                parameter of the kernel
               | VALUE = OP VALUE*                      one element
               | OPERAND[AXES] = VALUE                  store
               | OPERAND[AXES] (FOLD)= VALUE            fold into memory
               | ACC = neutral FOLD                     start of an accumulator
               | ACC (FOLD)= VALUE                      update
               | VALUE = result ACC
               | VALUE = OPERAND[AXES] before in AXIS (FOLD) VALUE    step of a scan in memory
               | for AXIS, AXIS in tiles [of block AXIS] [parallel AXIS] [turning OPERAND*]: statement*
               | for AXIS in strips: (part: statement*)*

An operand ``t…`` is *local*: rows that one turn of the outer loops needs, on the stack of the thread. Operands whose
names differ in primes only are one memory seen along other axes.

A loop ``of block b +0..+2`` runs over one block and two elements behind it. A loop ``behind t +0..+2`` runs in the turn
`t` of another loop over the one index `t` + 2; in the first turn of a thread over `t` to `t` + 2. An operand
``t0[i+1 mod 3,j]`` has memory for three rows, which later ones use again.

A nest names no sizes and no addresses: extents, strides and pointers are parameters of the kernel. What it does say of
a stride is its class: ``0`` (the operand does not depend on the axis), ``1`` (neighbouring elements) or ``s`` (any).
Two computations with one text are one kernel, so the text is the structural key.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..base.frozen import Remembering, frozen, remembered
from ..ir.ops.optable import Op
from ..ir.types import NATIVE, dtype_name

_AXIS_NAMES = "ijklmnpqrstuvwxyzabcdefgh"


def axis_name(axis: int) -> str:
    """Printed name of an axis: a letter, with a number from the second round of letters on."""
    turn, letter = divmod(axis, len(_AXIS_NAMES))
    return _AXIS_NAMES[letter] + (str(turn) if turn else "")


@frozen
class Operand:
    """Memory that a nest reads or writes: `strides` holds a class for each axis of the nest.

    Memory with a `ring` holds so many rows along an axis, which follow each other in a circle: the axis, what is added
    to its index, and their number. Elements of arguments may be in another `encoding` than that of kernels.
    """

    name: str
    dtype: np.dtype
    strides: tuple[str, ...]
    ring: tuple[int, int, int] | None = None
    encoding: str = NATIVE

    @property
    def memory(self) -> str:
        """Name of the memory; different ones do not overlap."""
        return self.name.rstrip("'")

    @property
    def is_input(self) -> bool:
        """Whether it is memory that the kernel only reads."""
        return self.name.startswith("x")

    @property
    def is_local(self) -> bool:
        """Whether it is memory of the kernel's own, which lasts for one turn of its outer loops."""
        return self.name.startswith("t")


@frozen
class Load:
    target: int
    operand: Operand


@frozen
class Gather:
    """A load from a computed place: the operand has a stride for each of `indices` behind those of the axes."""

    target: int
    operand: Operand
    indices: tuple[int, ...]


@frozen
class Literal:
    """A number: the parameter `index` of the kernel, or, if `value` is given, part of the code."""

    target: int
    dtype: np.dtype
    index: int
    value: int | None = None


@frozen
class Compute:
    """``target = op(args)`` on values of the given dtypes."""

    target: int
    op: Op
    args: tuple[int, ...]
    dtypes: tuple[np.dtype, ...]
    dtype: np.dtype


@frozen
class Store:
    operand: Operand
    value: int


@frozen
class StoreNeutral:
    """Start of a fold in memory."""

    operand: Operand
    fold: Op


@frozen
class FoldInto:
    """``operand = fold(operand, value)``: a step of a fold in memory."""

    operand: Operand
    fold: Op
    value: int


@frozen
class Neutral:
    """Start of the accumulator `acc`."""

    acc: int
    fold: Op
    dtype: np.dtype


@frozen
class Update:
    acc: int
    value: int


@frozen
class Result:
    target: int
    acc: int


@frozen
class Loop:
    """A loop over an axis, given by its position in the nest's list of extents.

    `parallel` loops run over the range that the kernel is called with. `block_of`, if not None, is the axis of blocks:
    the loop then runs over one block of its extent. The length of a block is a parameter of the kernel. Code is emitted
    for each turn of an `unrolled` loop, which says how many there are. With `follows`, the axis of another loop, it
    runs over the indices that are new in the `window` of a turn of that loop; a block with a `window` is longer by it.
    """

    axis: int
    body: tuple[Statement, ...]
    parallel: bool = False
    block_of: int | None = None
    unrolled: int = 0
    follows: int | None = None
    window: tuple[int, int] | None = None


@frozen
class ScanStep:
    """``target = fold(operand one element before along axis, value)``: a step of a scan that is kept in memory."""

    target: int
    operand: Operand
    axis: int
    fold: Op
    value: int


@frozen
class Strips:
    """A loop over an axis in strips: `parts` run one after the other over each strip.

    What a part computes and a later part uses is kept for the length of a strip.
    """

    axis: int
    parts: tuple[tuple[Statement, ...], ...]


@frozen
class Tiles:
    """Loops over two axes in square tiles; that over `parallel`, one of them, runs over the range of the kernel.

    The operands `turned`, which run along the outer axis, are transposed tile by tile, before the body reads them, and
    after it has written them. `block_of` is that of a `Loop` over the inner axis.
    """

    outer: int
    inner: int
    body: tuple[Statement, ...]
    turned: tuple[Operand, ...] = ()
    parallel: int | None = None
    block_of: int | None = None


Statement = (
    Load
    | Gather
    | Literal
    | Compute
    | Store
    | StoreNeutral
    | FoldInto
    | Neutral
    | Update
    | Result
    | Loop
    | ScanStep
    | Strips
    | Tiles
)


@frozen
class LoopNest(Remembering):
    """One kernel.

    Parameters
    ----------
    axes : int
        Number of axes; the kernel takes as many extents.
    operands : tuple of Operand
        In the order in which the kernel takes their pointers and strides.
    literals : tuple of numpy.dtype
        dtypes of the numbers that the kernel takes.
    body : tuple of Statement
    ignored : tuple of str
        Floating-point exceptions that it raises and nobody asks for.
    """

    axes: int
    operands: tuple[Operand, ...]
    literals: tuple[np.dtype, ...]
    body: tuple[Statement, ...]
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = ", ".join(f"{o.name}: {_element_type(o)}({','.join(o.strides)})" for o in self.operands)
        literals = "".join(f", c{k}: {dtype_name(t)}" for k, t in enumerate(self.literals))
        ignored = f" ignores {', '.join(self.ignored)}" if self.ignored else ""
        return "\n".join([f"nest({head}{literals}){ignored}", *_lines(self.body, "  ")])

    def __repr__(self) -> str:
        return f"<nest of {', '.join(self.operations()) or 'copies'}: {self.axes} axes, {len(self.operands)} operands>"

    def blocked_axes(self) -> list[int]:
        """Axes that loops run over in blocks."""
        blocked = (s for s in self.statements() if isinstance(s, (Loop, Tiles)) and s.block_of is not None)
        return sorted({s.inner if isinstance(s, Tiles) else s.axis for s in blocked})

    def operations(self) -> list[str]:
        """The names of what it computes, each once."""
        names = [s.op.name for s in self.statements() if isinstance(s, Compute)]
        names += [s.fold.name for s in self.statements() if isinstance(s, (Neutral, FoldInto, ScanStep))]
        return list(dict.fromkeys(n for n in names if n not in ("copy", "cast")))

    @remembered
    def statements(self) -> tuple[Statement, ...]:
        """All statements, outer before inner."""
        found: list[Statement] = []
        stack = list(reversed(self.body))
        while stack:
            statement = stack.pop()
            found.append(statement)
            if isinstance(statement, (Loop, Tiles)):
                stack.extend(reversed(statement.body))
            elif isinstance(statement, Strips):
                stack.extend(t for part in reversed(statement.parts) for t in reversed(part))
        return tuple(found)


def parallel_axis(s: Statement) -> int | None:
    """The axis along which `s` is a loop over the range that the kernel is called with, or None."""
    if isinstance(s, Tiles):
        return s.parallel
    return s.axis if isinstance(s, Loop) and s.parallel else None


def _lines(body: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for s in body:
        if isinstance(s, Loop):
            block = f" of block {axis_name(s.block_of)}" if s.block_of is not None else ""
            turns = f" of {s.unrolled} unrolled" if s.unrolled else ""
            behind = f" behind {axis_name(s.follows)}" if s.follows is not None else ""
            window = f" +{s.window[0]}..+{s.window[1]}" if s.window is not None else ""
            yield f"{indent}for {axis_name(s.axis)}{turns}{block}{behind}{window}{' parallel' if s.parallel else ''}:"
            yield from _lines(s.body, indent + "  ")
        elif isinstance(s, Tiles):
            mark = f" parallel {axis_name(s.parallel)}" if s.parallel is not None else ""
            turned = f", turning {' '.join(o.name for o in s.turned)}" if s.turned else ""
            block = f" of block {axis_name(s.block_of)}" if s.block_of is not None else ""
            yield f"{indent}for {axis_name(s.outer)}, {axis_name(s.inner)} in tiles{block}{mark}{turned}:"
            yield from _lines(s.body, indent + "  ")
        elif isinstance(s, Strips):
            yield f"{indent}for {axis_name(s.axis)} in strips:"
            for part in s.parts:
                yield f"{indent}  part:"
                yield from _lines(part, indent + "    ")
        else:
            yield indent + _line(s)


def _line(s: Statement) -> str:
    match s:
        case Load(target, operand):
            return f"v{target} = {_element(operand)}"
        case Gather(target, operand, indices):
            return f"v{target} = {_element(operand, len(indices))} at {' '.join(f'v{v}' for v in indices)}"
        case Literal(target, dtype, index, value):
            return f"v{target} = literal " + (f"c{index}" if value is None else f"{value}:{dtype_name(dtype)}")
        case Compute(target, op, args, _, dtype):
            return f"v{target}:{dtype_name(dtype)} = {op.name} {' '.join(f'v{a}' for a in args)}"
        case Store(operand, value):
            return f"{_element(operand)} = v{value}"
        case StoreNeutral(operand, fold):
            return f"{_element(operand)} = neutral {fold.name}"
        case FoldInto(operand, fold, value):
            return f"{_element(operand)} ({fold.name})= v{value}"
        case Neutral(acc, fold, dtype):
            return f"a{acc}:{dtype_name(dtype)} = neutral {fold.name}"
        case Update(acc, value):
            return f"a{acc} (+)= v{value}"
        case Result(target, acc):
            return f"v{target} = result a{acc}"
        case ScanStep(target, operand, axis, fold, value):
            return f"v{target} = {_element(operand)} before in {axis_name(axis)} ({fold.name}) v{value}"
    raise TypeError(s)


def _element_type(operand: Operand) -> str:
    return f"{operand.encoding} {dtype_name(operand.dtype)}" if operand.encoding else dtype_name(operand.dtype)


def _element(operand: Operand, indices: int = 0) -> str:
    strides = operand.strides[: len(operand.strides) - indices]
    axes = ",".join(_index(operand, k) for k, stride in enumerate(strides) if stride != "0")
    return f"{operand.name}[{axes}]"


def _index(operand: Operand, axis: int) -> str:
    if operand.ring is None or operand.ring[0] != axis:
        return axis_name(axis)
    _, shift, rows = operand.ring
    return f"{axis_name(axis)}{f'+{shift}' if shift else ''} mod {rows}"
