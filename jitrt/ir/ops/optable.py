"""The op table: the one place that knows an operation.

A row (`Op`) says what an operation is called, of which kind it is, how NumPy computes it, what it lowers to, and
the facts that passes ask for. `NUMPY_FUNCTIONS` says which row, or composition of rows, a NumPy callable stands for.
Adding an operation is adding a row.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen

if TYPE_CHECKING:
    from ..node import Node

Emitter = Callable[[Any, Sequence[Any]], Any]
"""From a builder of LLVM IR, and values, to a value."""


class Kind(enum.Enum):
    """What a compiler stage may do with an operation."""

    SOURCE = "source"  # an input or a literal
    ELEMENTWISE = "elementwise"  # one output element from one element of each operand
    REDUCTION = "reduction"  # a fold over axes
    SCAN = "scan"  # a fold along an axis that keeps what it is after every element
    GATHER = "gather"  # elements of a stored array at computed places
    VIEW = "view"  # another way to index the same memory
    ASSEMBLE = "assemble"  # parts written into one array
    UPDATE = "update"  # an array of which a region has another value
    COMPOUND = "compound"  # defined by its lowering to other operations
    CHECK = "check"  # a condition without which nothing that depends on it may run
    HOST = "host"  # NumPy executes it
    CONTROL = "control"  # a loop or a choice: its bodies are graphs of their own


@frozen(eq=False)
class Op:
    """A row of the op table.

    Parameters
    ----------
    name : str
        The name that NumPy uses, where it has one.
    kind : Kind
        What compiler stages may do with it.
    numpy : callable, optional
        ``numpy(*arrays, **params)`` computes it with NumPy; the definition that everything is tested against.
    ufunc : numpy.ufunc, optional
        The ufunc, for elementwise operations; its loops give the types.
    lower : callable, optional
        For compound operations: from a node to an equal node made of other operations.
    fold : callable, optional
        For contractions: from a node to the fold of products that it is, equal but for the order of additions; None
        where BLAS is better at it.
    warns : callable, optional
        For compound operations: from a node to a boolean array that is true where NumPy's Python code warns; None if it
        never does.
    library : str
        Whose operation it is: names of operations mean something only together with it.
    cost : int
        Cost of one element in units of an addition; the fusion policy weighs recomputation by it.
    numpy_cost : int
        Cost of one element of eight bytes or more in NumPy's loop, in the same units, if that loop works on one
        element after the other; otherwise 0.
    simple_numbers : frozenset of float
        Last operands for which NumPy runs a simpler loop.
    flags : frozenset of str
        Floating-point exceptions, in the words of `numpy.errstate`, that it can raise where an operand is floating
        point or complex: ``divide``, ``over``, ``under``, ``invalid``. None where NumPy raises none, and no kernel.
    complex_flags : frozenset of str
        Further ones where an operand is complex.
    flags_beside_a_number : frozenset of str
        Those of `flags` that are left where one operand is known to be a finite real number other than zero.
    integer_flags : frozenset of str
        Those that NumPy reports where all operands are integers, by a test of its own: kernels raise none for them.
    refuses_negative : bool
        Whether NumPy raises an error where all operands are integers and the last one is negative.
    numpys_bits : str
        Characters of the dtypes for which kernels call NumPy's own loop, whose results no kernel of ours would have.
    jumps : bool
        For ufuncs: whether operands that differ in the last place can give results that differ in more.
    range : callable, optional
        For elementwise operations: from ranges of the operands to that of the results (`ranges`).
    view_like : bool
        Whether 0-d operands give a 0-d array, as NumPy's array functions do, and not a NumPy scalar, as ufuncs do.
    read_only : bool
        Whether NumPy lets nobody write through this view.
    order : str or callable
        Memory order of the result: ``"K"`` where NumPy's iterator chooses it after the operands; ``"C"`` where it is
        C-contiguous always; ``"A"`` where it is so but for an operand that is contiguous in Fortran's order; or what
        makes, from a node and small arrays in the orders of its operands, one in the order of its result.
    takes_out : bool
        Whether `numpy`, which allocates its result, writes the same bits into an array that it is given as ``out``.
    emit : callable, optional
        For elementwise operations that are not of this package: from the dtypes of operands and of the result to what
        emits one element, ``emit(builder, values)``; None where kernels cannot compute it.
    """

    name: str
    kind: Kind
    numpy: Callable[..., Any] | None = None
    ufunc: np.ufunc | None = None
    lower: Callable[[Node], Node] | None = None
    fold: Callable[[Node], Node | None] | None = None
    warns: Callable[[Node], Node | None] | None = None
    library: str = "numpy"
    cost: int = 1
    numpy_cost: int = 0
    simple_numbers: frozenset[float] = frozenset()
    flags: frozenset[str] = frozenset()
    complex_flags: frozenset[str] = frozenset()
    flags_beside_a_number: frozenset[str] | None = None
    integer_flags: frozenset[str] = frozenset()
    refuses_negative: bool = False
    numpys_bits: str = ""
    jumps: bool = False
    range: Callable[..., tuple[float, float] | None] | None = None
    view_like: bool = False
    read_only: bool = False
    order: str | Callable[..., Any] = "K"
    takes_out: bool = False
    emit: Callable[[tuple[np.dtype, ...], np.dtype], Emitter | None] | None = None

    def __repr__(self) -> str:
        return f"Op({self.name})"

    @property
    def is_function(self) -> bool:
        """Whether it is an elementary function, the last bits of whose results depend on who computes it."""
        return self.cost >= _FUNCTION_COST

    @property
    def is_everywhere(self) -> bool:
        """Whether it is the same operation in every process."""
        return self.emit is None and OPS.get(self.name) is self

    def raises(self, operands: tuple[np.dtype, ...], beside_a_number: bool = False) -> frozenset[str]:
        """The floating-point exceptions that the loop on operands of these dtypes can raise.

        `beside_a_number` says that one of the operands is a finite real number other than zero.

        Examples
        --------
        >>> sorted(OPS["floor_divide"].raises((np.dtype(np.int64),) * 2))
        ['divide', 'over']
        >>> OPS["add"].raises((np.dtype(np.int64),) * 2)
        frozenset()
        """
        kinds = {t.kind for t in operands}
        if "c" in kinds:
            return self.flags | self.complex_flags
        if beside_a_number and "f" in kinds and self.flags_beside_a_number is not None:
            return self.flags_beside_a_number
        if kinds == {"m"}:  # durations are divided as numbers
            return self.flags & {"divide"} and self.flags & {"divide", "invalid"}
        return self.flags if "f" in kinds else self.integer_flags

    def tells(self, operands: tuple[np.dtype, ...]) -> bool:
        """Whether the loop on operands of these dtypes can raise anything: floating-point exceptions, or an error.

        Examples
        --------
        >>> OPS["power"].tells((np.dtype(np.int64),) * 2), OPS["add"].tells((np.dtype(np.int64),) * 2)
        (True, False)
        """
        refuses = self.refuses_negative and operands[-1].kind == "i" and all(t.kind in "iu" for t in operands)
        return refuses or bool(self.raises(operands))


_FUNCTION_COST = 16  # of one element; what costs less is rounded as the standard says
SPECIAL = "scipy.special"  # the library of SciPy's special functions
LIBM = "libm"  # the library of the C functions of that name behind ``libm_``

OPS: dict[str, Op] = {}
NUMPY_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
VIEW_FUNCTIONS: set[Callable[..., Any]] = set()
CONTIGUOUS_FUNCTIONS: set[Callable[..., Any]] = set()
BY_VALUE_FUNCTIONS: set[Callable[..., Any]] = set()

# NumPy's functions of nothing but the types and shapes of their arguments.
METADATA = frozenset(
    (np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type)
)
# NumPy's functions whose results have shapes that depend on the values of their arguments.
VALUE_SHAPED = frozenset(
    getattr(np, name)
    for name in """unique nonzero flatnonzero argwhere union1d intersect1d setdiff1d setxor1d trim_zeros compress
    extract unique_all unique_counts unique_inverse unique_values where""".split()
    if hasattr(np, name)
) | {np.ndarray.nonzero, np.ndarray.compress}
# NumPy's functions that warn, of tolerances, if the error state says that invalid values are warned of.
ASKS_OF_INVALID = frozenset({np.isclose, np.allclose})
# NumPy's functions that write into their first argument.
MUTATING = frozenset("copyto put place putmask fill_diagonal put_along_axis shuffle at".split())
# Of those that are handed over to the class of their arguments, what writes into arrays or files, or gives text.
WITH_EFFECTS = MUTATING | frozenset(
    "save savez savez_compressed savetxt array2string array_repr array_str shares_memory may_share_memory".split()
)
# Those that raise where ``out`` is not C-contiguous.
CONTIGUOUS_OUT = frozenset({"dot"})
# Ufuncs of which NumPy 2.4 and later warns if ``out`` is given by its position.
OUT_BY_NAME = frozenset({np.maximum, np.minimum})
# Methods of arrays that write into them, or change what they are.
MUTATING_METHODS = frozenset("sort fill partition put itemset resize setflags setfield byteswap".split())


class NotCovered(Exception):
    """The call is outside of what a row describes, so NumPy has to execute it.

    Raised by the functions in `NUMPY_FUNCTIONS`; the tracer then records an opaque call.
    """


class ValueWanted(NotCovered):
    """A shape, an axis or the like depends on values, which have to be looked at.

    Parameters
    ----------
    node : Node
        What has to be known.
    """

    def __init__(self, node: Node):
        super().__init__("a parameter that depends on values")
        self.node = node


class ContiguousWanted(NotCovered):
    """The row describes the call only if its first operand is C-contiguous, which nodes do not say.

    Parameters
    ----------
    node : Node
        What the call gives then.
    """

    def __init__(self, node: Node):
        super().__init__("an operand that is not known as C-contiguous")
        self.node = node


def row(op: Op) -> Op:
    """Add `op` to the table."""
    assert op.name not in OPS, op.name
    OPS[op.name] = op
    return op


def numpy_function(
    *callables: Callable[..., Any],
    method: str | None = None,
    view: bool = False,
    contiguous: bool = False,
    by_value: bool = False,
) -> Callable[[Callable], Callable]:
    """Declare what NumPy's `callables` mean on nodes.

    `method` is the ndarray method with the same arguments; `view` says that a result may share the operand's memory,
    which those of other functions never do; `contiguous`, that it does so only if it is C-contiguous. `by_value` says
    that integers among the arguments are elements, and none of them an axis, an extent or a position.
    """

    def declare(build: Callable[..., Any]) -> Callable[..., Any]:
        for function in callables:
            NUMPY_FUNCTIONS[function] = build
            if view:
                VIEW_FUNCTIONS.add(function)
            if contiguous:
                CONTIGUOUS_FUNCTIONS.add(function)
            if by_value:
                BY_VALUE_FUNCTIONS.add(function)
        if method is not None:
            METHODS[method] = callables[0]
        return build

    return declare


INPUT = row(Op("input", Kind.SOURCE))
CONSTANT = row(Op("constant", Kind.SOURCE))
