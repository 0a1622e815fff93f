"""Elementwise operations of the user's own: rows of the op table with a reference in NumPy, and an emitter.

Calls of them are nodes, as those of NumPy's ufuncs are, and their types are found in the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.optable import OPS, Kind, Op
from ...ir.ops.ufuncs import OTHER_UFUNCS
from ...ir.rewrite import USERS_RULES, Rule

Rewrite = Callable[[Node], Node | None]

_numbers = itertools.count()
_compilers: dict[type, Callable[[Any], Operation | None]] = {}
_compiled: dict[int, tuple[Any, Operation | None]] = {}


class Operation:
    """An elementwise operation, which `operation` makes. It is called as a function of arrays and numbers."""

    nout, signature = 1, None  # as a ufunc has them

    def __init__(self, name: str, types: Sequence[str], reference: Callable[..., Any], emit: Any, cost: int):
        parts = [t.partition("->") for t in types]
        try:
            loops = [tuple(map(np.dtype, (*operands, result))) for operands, _, result in parts]
        except TypeError:
            loops = []
        if not loops or len({len(loop) for loop in loops}) > 1 or any(len(loop) < 2 for loop in loops):
            raise ValueError(f"types of an operation are such as 'dd->d', all of them with as many operands: {types}")
        self._made_of = name, types, reference, emit, cost
        self.__name__ = f"{name}.{next(_numbers)}"
        self.__doc__ = reference.__doc__
        self.types, self.nin, self.reference = list(types), len(loops[0]) - 1, reference
        self._loops = loops
        self.row = OPS[self.__name__] = OTHER_UFUNCS[self] = Op(  # type: ignore[index]
            self.__name__,
            Kind.ELEMENTWISE,
            numpy=self,
            ufunc=self,  # type: ignore[arg-type]
            library="own",
            cost=cost,
            flags=frozenset({"divide", "over", "under", "invalid"}),
            jumps=True,
            emit=lambda operands, result: _emitter(emit, (*operands, result)) if emit is not None else None,
        )

    def __repr__(self) -> str:
        return f"<operation {self.__name__.rpartition('.')[0]}>"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:  # rules stay with the process that has registered them
        return Operation, self._made_of

    def resolve_dtypes(self, operands: Sequence[Any]) -> tuple[np.dtype, ...]:
        """The dtypes of the first loop that takes these operands without loss, as `numpy.ufunc.resolve_dtypes`.

        Raises
        ------
        TypeError
            If there is none.
        """
        given = operands[: self.nin]
        strong = [np.dtype(t) for t in given if not isinstance(t, type)]
        for loop in self._loops:
            if all(_takes(d, t, strong) for d, t in zip(loop, given)):
                return loop
        raise TypeError(f"{self!r} has no loop for operands of types {', '.join(map(str, given))}")

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise TypeError(f"{self!r} takes {self.nin} operands, not {len(args)}")
        if any(isinstance(a, Node) for a in args):  # in rules
            return b.elementwise(self, *args)  # type: ignore[arg-type]
        kinds = [type(a) if type(a) in (int, float, complex) else np.asarray(a).dtype for a in args]
        *dtypes, dtype = self.resolve_dtypes(kinds)
        made = np.asarray(self.reference(*[np.asarray(a, t) for a, t in zip(args, dtypes)])).astype(dtype)
        return made if made.ndim else made[()]


def _takes(dtype: np.dtype, given: Any, strong: Sequence[np.dtype]) -> bool:
    """Whether a loop takes an operand; numbers of Python's take types like those of arrays beside them."""
    if not isinstance(given, type):
        return np.can_cast(given, dtype)
    return np.can_cast(np.dtype(given), dtype, "same_kind" if strong else "safe")


def _emitter(emit: Callable[..., Any], dtypes: tuple[np.dtype, ...]) -> Callable[..., Any]:
    return lambda builder, values: emit(builder, values, dtypes)


def operation(
    name: str,
    types: Sequence[str],
    reference: Callable[..., Any],
    emit: Callable[..., Any] | None = None,
    cost: int = 8,
) -> Operation:
    """An elementwise operation of one's own, which kernels compute by instructions that a function emits.

    Parameters
    ----------
    name : str
        What texts call it.
    types : sequence of str
        The types of its loops, as `numpy.ufunc.types` has them: ``["ff->f", "dd->d"]``. The first one counts that takes
        the operands without loss.
    reference : callable
        What it computes, with NumPy, from arrays of these types. It is called wherever no kernel computes it.
    emit : callable, optional
        ``emit(builder, values, dtypes)`` appends instructions for one element to an `llvmlite.ir.IRBuilder`, and gives
        the result; ``dtypes`` are those of the operands and, last, of the result. Without it, operations are steps of
        a program that call `reference`.
    cost : int
        What an element costs, in additions.

    Returns
    -------
    Operation
        A function of arrays and numbers, also in jit functions.

    Raises
    ------
    ValueError
        If `types` are no such texts.

    Notes
    -----
    The emitter is vouched for: nobody checks that it computes what `reference` does. Values are floats, integers,
    single bits for truth values, and pairs for complex numbers. Where instructions raise floating-point exceptions that
    NumPy's error state does not ignore, the plain function runs, and `reference` warns or does not. Kernels with such
    operations are not kept on disk.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> def emit(builder, values, dtypes):
    ...     x, y, z = values
    ...     return builder.fadd(builder.fmul(x, y), z)
    >>> axpy = jitrt.operation("axpy", ["ddd->d"], lambda x, y, z: x * y + z, emit)
    >>> @jitrt.jit
    ... def f(x):
    ...     return np.sqrt(axpy(x, 2.0, x + 1.0))
    >>> f(np.array([1.0, 5.0]))
    array([2., 4.])
    """
    return Operation(name, types, reference, emit, cost)


def register_rule(of: Operation, exact: str) -> Callable[[Rewrite], Rewrite]:
    """Let a function rewrite nodes of an operation of one's own, as a decorator.

    Parameters
    ----------
    of : Operation
        Whose nodes the function gets: ``node.args`` are its operands, ``node.args[0].op is node.op`` if the first one
        is of the same operation. The function gives the node that replaces it, or None. Operations make nodes of nodes.
    exact : str
        Why the result is the same, bit for bit.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    TypeError
        If it is another function.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> clamped = jitrt.operation("clamped", ["d->d"], np.abs)
    >>> @jitrt.register_rule(clamped, exact="what is clamped is not negative")
    ... def clamped_once(node):
    ...     (x,) = node.args
    ...     return x if x.op is node.op else None
    >>> f = jitrt.jit(lambda x: clamped(clamped(x)))
    >>> f(np.array([-1.0, 2.0]))
    array([1., 2.])
    """

    if not isinstance(of, Operation):
        raise TypeError(f"{of!r} is no operation that jitrt.operation has made")

    def register(function: Rewrite) -> Rewrite:
        name = function.__name__
        USERS_RULES.append(Rule(f"{of!r}: {name}", lambda op: op is of.row, function, exact, name))
        return function

    return register


def register_compiler(kind: type, compiler: Callable[[Any], Operation | None]) -> None:
    """Let jit functions compile calls of callables of a class of one's own.

    Parameters
    ----------
    kind : type
        The class; callables of it do nothing but compute, and do not change.
    compiler : callable
        From such a callable to the operation (`jitrt.operation`) that stands for it; None where there is none. It is
        asked once for each. Calls with arrays of other types than those of the operation's loops, and with numbers of
        Python's alone, stay calls of the callable.

    Raises
    ------
    TypeError
        If `kind` is no class, or `compiler` no function.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> class Scaled:
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...     def __call__(self, x):
    ...         return x * self.factor
    >>> def compiled(scaled):
    ...     def emit(builder, values, dtypes):
    ...         return builder.fmul(values[0], values[0].type(scaled.factor))
    ...     return jitrt.operation("scaled", ["d->d"], scaled, emit)
    >>> jitrt.register_compiler(Scaled, compiled)
    >>> double = Scaled(2.0)
    >>> f = jitrt.jit(lambda x: np.sqrt(double(x)))
    >>> f(np.array([2.0, 8.0]))
    array([2., 4.])
    """
    if not isinstance(kind, type) or not callable(compiler):
        raise TypeError("a compiler is a function, for objects of a class")
    _compilers[kind] = compiler


def stands_for(operation: Operation, value: Any, operands: Sequence[Any]) -> bool:
    """Whether a call of a value is its operation, for operands of types as `numpy.ufunc.resolve_dtypes` takes them.

    What a callable of a compiler's class gives for other types than those of the loops is known to itself alone.
    """
    if value is operation:
        return True
    strong = [not isinstance(t, type) for t in operands]
    if len(operands) != operation.nin or not any(strong) or any(t is None for t in operands):
        return False
    try:
        loop = operation.resolve_dtypes(operands)
    except TypeError:
        return False
    return all(d == t for d, t, is_strong in zip(loop, operands, strong) if is_strong)


def operation_of(value: Any) -> Operation | None:
    """The operation that calls of a value are, if they are one."""
    if isinstance(value, Operation):
        return value
    if type(value) not in _compilers:
        return None
    known = _compiled.get(id(value))
    if known is None:
        known = _compiled[id(value)] = value, _compilers[type(value)](value)
    return known[1]
