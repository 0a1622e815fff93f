"""The loop language of staged functions.

    procedure  =  statement…
    statement  =  t = number | t = op[dtype] t…           a literal; an operation of the op table on scalars
               |  t = {polynomial}                        exact 64-bit integer arithmetic that cannot overflow
               |  t = check op t t                        the same where it may: it ends the procedure then
               |  t = load dtype base{bytes} | store dtype base{bytes} t
               |  t = get variable | variable = t         variables change; names do not
               |  t = memory site{bytes} apart from t…    memory that none of the named pointers begins
               |  move base base{bytes}                    copy bytes of one memory to another
               |  t = call symbol t…                      a function outside, which may read and write any memory
               |  for i in range(t, t, step): …           with folds: accumulators whose order is free
               |  forever: … | if t: … else: … | scope label: … | leave label
               |  stop if t                               the plain function has to serve the call
               |  routine name(t…) -> t: …                statements that do no more here than have a name
               |  t = do name t…                          run them

Routines stand in front of everything else; they use the parameters, variables, and names of their own.

Every value is a scalar. An array is a pointer, extents and strides, all of them names. Names are defined once and used
below their definition in the same block or in a block inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..base.frozen import frozen, replaced
from .integers import Poly
from .ops.optable import OPS
from .types import NATIVE

POINTER = "pointer"
MOST_TRUNCATED = 2.0**62
_ARITHMETIC = frozenset({"add", "subtract", "multiply"})
Type = np.dtype | str  # `POINTER` for addresses


@frozen
class Literal:
    """``target = value``."""

    target: str
    dtype: np.dtype
    value: bool | int | float | complex

    def __str__(self) -> str:
        return f"{self.target} = {self.dtype.str}({self.value!r})"


@frozen
class Compute:
    """``target = op args``: an operation of the op table on one element."""

    target: str
    op: str
    args: tuple[str, ...]
    dtypes: tuple[np.dtype, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        dtypes = ",".join(d.str for d in self.dtypes)
        return f"{self.target} = {self.op}[{dtypes}->{self.dtype.str}] {' '.join(self.args)}"

    @property
    def is_guarded(self) -> bool:
        """Whether a condition may be there for its sake: it can raise an exception, and not just out of range."""
        return self.op not in _ARITHMETIC and bool(OPS[self.op].raises(self.dtypes))


@frozen
class Integer:
    """``target = {polynomial}`` of 64-bit integers, known not to overflow."""

    target: str
    value: Poly

    def __str__(self) -> str:
        return f"{self.target} = {{{self.value}}}"


OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
"""Of each comparison of integers the one that holds where it does not."""


@frozen
class Machine:
    """``target = op args`` on 64-bit integers: ``min max floordiv mod and or xor shl shr``, or a comparison."""

    target: str
    op: str
    args: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.target} = {self.op} {' '.join(self.args)}"


@frozen
class Checked:
    """As `Machine`, for ``add sub mul``; the procedure stops where the result does not fit.

    ``trunc`` makes an integer of a float64; it stops where that is not below `MOST_TRUNCATED` in amount.
    """

    target: str
    op: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.target} = check {self.op} {' '.join(self.args)}"


@frozen
class Address:
    """``target = base{bytes}``."""

    target: str
    base: str
    offset: Poly

    def __str__(self) -> str:
        return f"{self.target} = address {self.base}{{{self.offset}}}"


@frozen
class Load:
    """``target = load base{bytes}``; `scope` names memory that overlaps no other scope, if that is known."""

    target: str
    dtype: np.dtype
    base: str
    offset: Poly
    scope: str
    encoding: str = NATIVE

    def __str__(self) -> str:
        place = f"{self.base}{{{self.offset}}}{_marked(self.encoding)}"
        return f"{self.target} = load {self.dtype.str} {place} of {self.scope or 'any'}"


@frozen
class Store:
    """``store base{bytes} value``."""

    dtype: np.dtype
    base: str
    offset: Poly
    value: str
    scope: str
    encoding: str = NATIVE

    def __str__(self) -> str:
        place = f"{self.base}{{{self.offset}}}{_marked(self.encoding)}"
        return f"store {self.dtype.str} {place} {self.value} of {self.scope or 'any'}"


def _marked(encoding: str) -> str:
    return f" {encoding}" if encoding else ""


@frozen
class Get:
    """``target = variable``."""

    target: str
    variable: str
    type: Type

    def __str__(self) -> str:
        return f"{self.target} = get {self.variable}: {_text(self.type)}"


@frozen
class Put:
    """``variable = value``."""

    variable: str
    value: str
    type: Type

    def __str__(self) -> str:
        return f"{self.variable} = {self.value}: {_text(self.type)}"


@frozen
class Memory:
    """Memory of at least ``nbytes``, different from all memory that `apart` points to; grown where it is too small."""

    target: str
    site: int
    nbytes: Poly
    apart: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.target} = memory {self.site}{{{self.nbytes}}} apart from ({' '.join(self.apart)})"


@frozen
class Move:
    """Copy bytes to where `to` points, from memory that is apart from that."""

    to: str
    source: str
    nbytes: Poly

    def __str__(self) -> str:
        return f"move {self.to} {self.source}{{{self.nbytes}}}"


@frozen
class External:
    """``target = call symbol args``: an external call, of a function of C by the types of its parameters.

    It may read and write all memory. Floating-point exceptions that it raises are not the procedure's.
    """

    target: str
    symbol: str
    args: tuple[str, ...]
    types: tuple[Type, ...]
    type: Type

    def __str__(self) -> str:
        types = ",".join(map(_text, self.types))
        return f"{self.target} = call {self.symbol}[{types}->{_text(self.type)}] {' '.join(self.args)}"


@frozen
class Update:
    """``accumulator = fold(accumulator, value)``."""

    accumulator: str
    value: str

    def __str__(self) -> str:
        return f"fold {self.accumulator} {self.value}"


@frozen
class Fold:
    """An accumulator of a loop, which starts from the neutral value; its name is that of the result behind the loop."""

    name: str
    op: str
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.name} = {self.op}:{self.dtype.str}"


@frozen
class For:
    """``for index in range(start, stop, step)``: the results of `folds` are names behind the loop."""

    index: str
    start: Poly
    stop: Poly
    step: int
    body: tuple[Statement, ...]
    folds: tuple[Fold, ...] = ()

    def __str__(self) -> str:
        folds = f" folding {', '.join(map(str, self.folds))}" if self.folds else ""
        head = f"for {self.index} in range({self.start}, {self.stop}, {self.step}){folds}:"
        return _block(head, self.body)


@frozen
class Forever:
    """A loop that ends by a `Leave`."""

    body: tuple[Statement, ...]

    def __str__(self) -> str:
        return _block("forever:", self.body)


@frozen
class If:
    """A choice of statements."""

    condition: str
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()

    def __str__(self) -> str:
        text = _block(f"if {self.condition}:", self.then)
        return f"{text}\n{_block('else:', self.otherwise)}" if self.otherwise else text


@frozen
class Scope:
    """Statements that `Leave` with the same label ends."""

    label: str
    body: tuple[Statement, ...]

    def __str__(self) -> str:
        return _block(f"scope {self.label}:", self.body)


@frozen
class Leave:
    """Go to the end of a scope."""

    label: str

    def __str__(self) -> str:
        return f"leave {self.label}"


@frozen
class Stop:
    """End the procedure where the condition holds: the plain function has to serve the call."""

    condition: str

    def __str__(self) -> str:
        return f"stop if {self.condition}"


@frozen
class Routine:
    """Statements that several places of a procedure run: one function, which these call.

    Parameters
    ----------
    name : str
    parameters : tuple of (str, Type)
        Names that it is given.
    body : tuple of Statement
    result : (str, Type), optional
        A variable that it puts, whose value it gives.
    is_rare : bool
        Whether it seldom runs.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    body: tuple[Statement, ...]
    result: tuple[str, Type] | None = None
    is_rare: bool = False

    def __str__(self) -> str:
        parameters = ", ".join(f"{n}: {_text(t)}" for n, t in self.parameters)
        result = "" if self.result is None else f" -> {self.result[0]}: {_text(self.result[1])}"
        return _block(f"{'rare ' * self.is_rare}routine {self.name}({parameters}){result}:", self.body)


@frozen
class Do:
    """``target = do routine args``; the name is empty where the routine gives nothing."""

    target: str
    routine: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.target} = do {self.routine} {' '.join(self.args)}"


Statement = (
    Literal
    | Compute
    | Integer
    | Machine
    | Checked
    | Address
    | Load
    | Store
    | Get
    | Put
    | Memory
    | Move
    | External
    | Update
    | For
    | Forever
    | If
    | Scope
    | Leave
    | Stop
    | Routine
    | Do
)


@frozen
class Parameter:
    """An argument of a procedure: a scalar, or an array as a pointer, extents and strides.

    Parameters
    ----------
    name : str
        Of the scalar; of the pointer.
    dtype : numpy.dtype
    ndim : int
        -1 for a scalar.
    contiguous : bool
        Whether the strides follow from the extents.
    records : tuple of int, optional
        For a field of an array of records a number that its other fields have, too, the bytes of a record, and the axes
        that a record has.
    """

    name: str
    dtype: np.dtype
    ndim: int = -1
    contiguous: bool = False
    records: tuple[int, int, int] | None = None

    def extent(self, axis: int) -> str:
        return f"{self.name}.n{axis}"

    def stride(self, axis: int) -> str:
        return f"{self.name}.s{axis}"

    def __str__(self) -> str:
        layout = "" if self.ndim < 0 else f"[{self.ndim}]{'c' if self.contiguous else 's'}"
        return f"{self.name}:{self.dtype.str}{layout}" + ("" if self.records is None else f" of records {self.records}")


@frozen
class Procedure:
    """A function of the loop language.

    Parameters
    ----------
    parameters : tuple of Parameter
    body : tuple of Statement
    results : tuple of (str, Type)
        Variables whose last values the caller gets.
    sites : tuple of int
        For each site of memory how many pieces of memory it needs at once.
    """

    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    results: tuple[tuple[str, Type], ...]
    sites: tuple[int, ...]

    def __str__(self) -> str:
        results = ", ".join(f"{n}: {_text(t)}" for n, t in self.results)
        head = f"procedure({', '.join(map(str, self.parameters))}) -> ({results}) sites {self.sites}"
        return _block(head, self.body)


def statements_within(body: Sequence[Statement]) -> Iterator[Statement]:
    """All statements of a block and of the blocks inside of it."""
    for s in body:
        yield s
        for inner in blocks_of(s):
            yield from statements_within(inner)


def statement_count(body: Sequence[Statement]) -> int:
    """How many statements there are in a block and in the blocks inside of it."""
    return sum(1 for _ in statements_within(body))


def blocks_of(s: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks of a statement."""
    if isinstance(s, If):
        return s.then, s.otherwise
    return (s.body,) if isinstance(s, (For, Forever, Scope, Routine)) else ()


def with_blocks(s: Statement, changed: Callable[[tuple[Statement, ...]], tuple[Statement, ...]]) -> Statement:
    """The statement with each of its blocks changed."""
    if isinstance(s, If):
        return If(s.condition, changed(s.then), changed(s.otherwise))
    return replaced(s, body=changed(s.body)) if isinstance(s, (For, Forever, Scope, Routine)) else s


def variables_put(procedure: Procedure) -> dict[str, set[str]]:
    """The variables that each routine puts, and those that it runs; a routine stands behind those."""
    found: dict[str, set[str]] = {}
    for routine in procedure.body:
        if isinstance(routine, Routine):
            inside = list(statements_within(routine.body))
            own = {s.variable for s in inside if isinstance(s, Put)}
            found[routine.name] = own.union(*(found[s.routine] for s in inside if isinstance(s, Do)))
    return found


_NUMPYS_OWN = ("host.", "order.", "numba.")  # external functions by which the plain function, too, computes a result


def is_exact(procedure: Procedure) -> bool:
    """Whether all results are those of correctly rounded operations in Python's order."""
    for s in statements_within(procedure.body):
        if isinstance(s, External) and not s.symbol.startswith(_NUMPYS_OWN):
            return False
        if isinstance(s, Compute) and OPS[s.op].is_function:
            return False
        if isinstance(s, For) and any(f.op in ("add", "multiply") and f.dtype.kind in "fc" for f in s.folds):
            return False
    return True


def _text(type_: Type) -> str:
    return type_ if isinstance(type_, str) else type_.str


def _block(head: str, body: Sequence[Statement]) -> str:
    inner = "\n".join(map(str, body)) or "pass"
    return head + "\n  " + inner.replace("\n", "\n  ")
