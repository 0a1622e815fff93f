"""`evaluate`: expressions given as strings, compiled as functions are."""

from __future__ import annotations

import functools
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Literal

import numpy as np

from ..decorator import jit
from ..frontend.numpy.operators import Operators
from .grammar import function_of

_Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
_Order = Literal["K", "C", "F", "A"]
_ORDERS = ("K", "C", "F", "A")
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_OPTIMIZATIONS = ("aggressive", "moderate", "none")
_TRUEDIVS = ("auto", True, False)
_MOST_KEPT = 1024
# Numexpr's letters of dtypes, beside that of bytes, of any length.
_LETTERS = {("b", 1): "b", ("i", 4): "i", ("i", 8): "l", ("f", 4): "f", ("f", 8): "d", ("c", 16): "c"}
_OPTIMIZED = 1  # inspect.CO_OPTIMIZED, whose module imports much
# Other arguments are made arrays.
_TAKEN = frozenset({np.ndarray, bool, int, float, complex, *np.sctypeDict.values()})


class _Compiled:
    """An expression, ready to be called: a function of its names, and of what takes the result if that is wanted."""

    __slots__ = ("call", "into", "mixed", "names", "values_in")

    def __init__(self, names: tuple[str, ...], function: Callable[..., Any], into: bool):
        self.names = names
        self.call = jit(function)
        self.into = into
        self.mixed = False  # whether one mapping was seen not to have all names
        # The values that a mapping has for the names; an itemgetter of one name would return no tuple.
        self.values_in: Callable[[Any], tuple[Any, ...]] = (
            operator.itemgetter(*names) if len(names) > 1 else lambda mapping: tuple([mapping[name] for name in names])
        )


class _Last(threading.local):
    """The expression that this thread evaluated or validated last, and a reference to what took its result."""

    compiled: _Compiled | None = None
    out: Callable[[], Any] | None = None


_last = _Last()


@functools.lru_cache(_MOST_KEPT)
def _compiled(ex: str, into: bool, order: str, casting: str) -> _Compiled:
    """The expression as a compiled function; one for each way of handing over the result."""
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {_ORDERS}, not {order!r}")
    if casting not in _CASTINGS:
        raise ValueError(f"casting must be one of {_CASTINGS}, not {casting!r}")
    expression = function_of(ex, into, order, casting)
    return _Compiled(expression.names, expression.function, into)


_usual: dict[str, _Compiled] = {}
"""Expressions that give a new array, and no other way of handing it over was asked for: one look tells them."""


def _usually(ex: str) -> _Compiled:
    found = _compiled(ex, False, "K", "same_kind")
    if len(_usual) >= _MOST_KEPT:
        _usual.clear()
    return _usual.setdefault(ex, found)


def evaluate(
    ex: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: np.ndarray | None = None,
    order: _Order = "K",
    casting: _Casting = "same_kind",
    sanitize: bool | None = None,
    _frame_depth: int = 3,
    disable_cache: bool = False,
    *,
    frame: Any = None,
    optimization: str = "aggressive",
    truediv: bool | str = "auto",
) -> np.ndarray:
    """Evaluate an expression given as a string, as ``numexpr.evaluate`` does, with NumPy's dtypes and results.

    Parameters
    ----------
    ex : str
        The expression: operators, numbers, names of variables, and calls of NumPy's functions by their names.
    local_dict, global_dict : mapping, optional
        Where names are looked up, in this order; by default the caller's variables.
    out : ndarray, optional
        Takes the result, and is returned.
    order : {"K", "C", "F", "A"}
        The order of the result in memory, as for `numpy.array`.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which conversions to the dtype of `out` are allowed.
    sanitize : bool, optional
        Not used: only what is allowed is ever computed.
    disable_cache : bool
        Do not keep the compiled expression.
    frame : DataFrame, mapping or structured array, optional
        Its columns come before all other names.
    optimization, truediv
        Not used, but checked: results are NumPy's under all of them.

    Returns
    -------
    ndarray
        A new array, also where the result is a number, or `out`.

    Raises
    ------
    SyntaxError
        If the string is no expression.
    ValueError
        If it has in it what is not allowed.
    KeyError
        If there is no variable of a name.

    Notes
    -----
    The string is parsed and compared with a list of what is allowed; it is never executed by Python. What it may say
    is in ``docs/evaluate.md``.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> a, b = np.arange(3.0), np.ones(3)
    >>> jitrt.evaluate("2*a + 3*b")
    array([3., 5., 7.])
    >>> jitrt.evaluate("sqrt(sum(a**2)) + max(b)")
    array(3.23606798)
    >>> jitrt.evaluate("clip(speed, 0, limit)", frame={"speed": [4, 7, 12]}, local_dict={"limit": 9})
    array([4, 7, 9])
    """
    if optimization not in _OPTIMIZATIONS or truediv not in _TRUEDIVS:
        _check(optimization, truediv)
    if disable_cache:
        found = _compiled.__wrapped__(ex, out is not None, order, casting)
    elif out is None and order == "K" and casting == "same_kind":
        usual = _usual.get(ex)
        _last.compiled = found = _usually(ex) if usual is None else usual
    else:
        _last.compiled = found = _compiled(ex, out is not None, order, casting)
    arguments = _arguments(found, sys._getframe(_frame_depth - 2), local_dict, global_dict, frame)
    if out is None:
        return found.call(*arguments)
    if not disable_cache:
        _last.out = weakref.ref(out)
    return found.call(*arguments, out)


def re_evaluate(
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    _frame_depth: int = 2,
    *,
    frame: Any = None,
) -> np.ndarray:
    """Evaluate the expression again that this thread evaluated, or validated, last.

    Parameters
    ----------
    local_dict, global_dict, frame
        As for `evaluate`.

    Returns
    -------
    ndarray
        What `evaluate` returns.

    Raises
    ------
    RuntimeError
        If there was none, or the array that took its result does not exist any more.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> x = np.arange(3)
    >>> jitrt.evaluate("x * x")
    array([0, 1, 4])
    >>> x = x + 1
    >>> jitrt.re_evaluate()
    array([1, 4, 9])
    """
    found = _last.compiled
    if found is None:
        raise RuntimeError("nothing was evaluated before: call evaluate or validate first")
    arguments = _arguments(found, sys._getframe(_frame_depth - 1), local_dict, global_dict, frame)
    if not found.into:
        return found.call(*arguments)
    out = _last.out and _last.out()
    if out is None:
        raise RuntimeError("the array that took the last result does not exist any more: call evaluate again")
    return found.call(*arguments, out)


def validate(
    ex: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: np.ndarray | None = None,
    order: _Order = "K",
    casting: _Casting = "safe",
    _frame_depth: int = 2,
    sanitize: bool | None = None,
    *,
    frame: Any = None,
    optimization: str = "aggressive",
    truediv: bool | str = "auto",
) -> Exception | None:
    """Check an expression, and compile it for the variables that it would be evaluated with.

    Parameters
    ----------
    ex, local_dict, global_dict, out, order, casting, sanitize, frame, optimization, truediv
        As for `evaluate`.

    Returns
    -------
    Exception or None
        What `evaluate` would raise, or None. Then `re_evaluate` evaluates it.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> a = np.arange(3)
    >>> jitrt.validate("a + 1")
    >>> jitrt.re_evaluate()
    array([1, 2, 3])
    >>> print(jitrt.validate("a.tolist()"))
    the expression 'a.tolist()': functions are called by their names
    """
    try:
        _check(optimization, truediv)
        found = _compiled(ex, out is not None, order, casting)
        arguments = _arguments(found, sys._getframe(_frame_depth - 1), local_dict, global_dict, frame)
        found.call.explain(*arguments, *(() if out is None else (out,)))
    except Exception as error:
        return error
    _last.compiled = found
    _last.out = None if out is None else weakref.ref(out)
    return None


class NumExpr:
    """An expression as a function of arrays.

    Parameters
    ----------
    ex : str
        The expression.
    signature : sequence of (str, dtype), optional
        Names and dtypes of the inputs, in the order in which they are given. By default the order is that of the
        alphabet, and dtypes are those of the arguments.
    sanitize, optimization, truediv
        As for `evaluate`.

    Attributes
    ----------
    input_names : tuple of str
        The names of the inputs, in the order in which they are given.

    Raises
    ------
    SyntaxError, ValueError
        As `evaluate` does; and if `signature` has other names than the expression.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> scaled = jitrt.NumExpr("a * x + b", signature=[("x", np.float64), ("a", np.float64), ("b", np.float64)])
    >>> scaled(np.arange(3), 2, 1)
    array([1., 3., 5.])
    """

    def __init__(
        self,
        ex: str,
        signature: Sequence[tuple[str, Any]] = (),
        sanitize: bool = True,
        *,
        optimization: str = "aggressive",
        truediv: bool | str = "auto",
    ):
        _check(optimization, truediv)
        self._new = _compiled(ex, False, "K", "safe")  # what gives a new array
        names = self._new.names
        self._ex = ex
        self._signature = tuple((name, np.dtype(type_)) for name, type_ in signature)
        self.input_names = tuple(name for name, _ in self._signature) or names
        if set(self.input_names) != set(names):
            raise ValueError(f"the signature names {self.input_names}, but the inputs of the expression are {names}")

    def __call__(
        self,
        *arguments: Any,
        out: np.ndarray | None = None,
        order: _Order = "K",
        casting: _Casting = "safe",
        ex_uses_vml: bool = False,
    ) -> np.ndarray:
        """Evaluate the expression.

        Parameters
        ----------
        *arguments : array_like
            The inputs, in the order of `input_names`.
        out, order, casting
            As for `evaluate`. `casting` also says which conversions to the dtypes of the signature are allowed.
        ex_uses_vml : bool
            Not used.

        Returns
        -------
        ndarray
            What `evaluate` returns.

        Raises
        ------
        TypeError
            If there are more or fewer arguments than inputs, or an argument cannot be converted.
        """
        if len(arguments) != len(self.input_names):
            raise TypeError(f"{self!r} takes {len(self.input_names)} inputs: {', '.join(self.input_names)}")
        if self._signature:
            arguments = tuple(
                [np.asarray(x).astype(t, casting=casting, copy=False) for x, (_, t) in zip(arguments, self._signature)]
            )
        if self.input_names != self._new.names:
            arguments = self._new.values_in(dict(zip(self.input_names, arguments)))
        if not _TAKEN.issuperset(map(type, arguments)):
            arguments = _as_taken(arguments)
        if out is None and order == "K" and casting == "safe":
            return self._new.call(*arguments)
        found = _compiled(self._ex, out is not None, order, casting)
        return found.call(*arguments) if out is None else found.call(*arguments, out)

    run = __call__

    @property
    def signature(self) -> bytes:
        """The dtypes of the inputs, a letter each; empty where none were given, and those of the arguments hold.

        The letters are numexpr's, and NumPy's (`numpy.dtype.char`) for dtypes that numexpr has not.

        Examples
        --------
        >>> import numpy as np
        >>> import jitrt
        >>> jitrt.NumExpr("a * x", signature=[("x", np.int32), ("a", np.float64)]).signature
        b'id'
        """
        return "".join(
            [_LETTERS.get((t.kind, t.itemsize), "s" if t.kind == "S" else t.char) for _, t in self._signature]
        ).encode()

    def __repr__(self) -> str:
        return f"NumExpr({self._ex!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return NumExpr, (self._ex, self._signature)


def _check(optimization: str, truediv: bool | str) -> None:
    if optimization not in _OPTIMIZATIONS:
        raise ValueError(f"optimization must be one of {_OPTIMIZATIONS}, not {optimization!r}")
    if truediv not in _TRUEDIVS:
        raise ValueError(f"truediv must be one of {_TRUEDIVS}, not {truediv!r}")


def _arguments(
    found: _Compiled,
    caller: FrameType,
    local_dict: Mapping[str, Any] | None,
    global_dict: Mapping[str, Any] | None,
    table: Any,
) -> tuple[Any, ...]:
    """The values of the names: columns of the table, then local ones, then global ones."""
    if local_dict is not None:
        return _values(found, local_dict, caller.f_globals if global_dict is None else global_dict, table)
    local = caller.f_locals
    try:
        return _values(found, local, caller.f_globals if global_dict is None else global_dict, table)
    finally:
        # Before Python 3.13, a function's frame keeps this dict, and with it what its variables were. Where the user
        # has it, too (`locals()` returns it), it is left alone.
        if caller.f_code.co_flags & _OPTIMIZED and type(local) is dict and sys.getrefcount(local) <= 3:
            local.clear()


def _values(found: _Compiled, local: Mapping[str, Any], other: Mapping[str, Any], table: Any) -> tuple[Any, ...]:
    """The values of the names, as they are given to the compiled function."""
    if table is not None:
        local = _with_columns(found.names, table, local)
    if not found.mixed:
        try:
            values = found.values_in(local)
        except KeyError:
            found.mixed = True
    if found.mixed:
        values = _also_global(found.names, local, other)
    return values if _TAKEN.issuperset(map(type, values)) else _as_taken(values)


def _also_global(names: tuple[str, ...], local: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Any, ...]:
    values = []
    for name in names:
        if name not in local and name not in other:
            raise KeyError(f"there is no variable {name!r} where the expression is evaluated")
        values.append(local[name] if name in local else other[name])
    return tuple(values)


def _with_columns(names: tuple[str, ...], table: Any, local: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of the names that are columns of the table or local variables."""
    columns = table.dtype.names or () if isinstance(table, np.ndarray) else table
    found = {name: local[name] for name in names if name in local}
    return found | {name: np.asarray(table[name]) for name in names if name in columns}


def _as_taken(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values, with lists, columns and the like as arrays."""
    return tuple([x if type(x) in _TAKEN or isinstance(x, Operators) else np.asarray(x) for x in values])
