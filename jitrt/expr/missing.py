"""Missing values: expressions with a presence bit for each element, which operations pass on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..base.frozen import frozen
from .known import Known, Tuple
from .missingfolds import FOLDS, count, filled, kept
from .tree import Expression, Tree, leaf, literal, nodes_of
from .tree import name as named

SUFFIX = "_present"
# NumPy's functions of optional values beside ufuncs and folds: of elements, of what moves them, of several joined,
# and sums of products, to which what is missing adds nothing.
_ELEMENTWISE = frozenset("clip round around real imag nan_to_num isclose angle sinc isreal iscomplex".split())
_MOVING = frozenset(
    """reshape transpose ravel flatten squeeze swapaxes moveaxis expand_dims broadcast_to flip roll tile repeat take
    diagonal atleast_1d atleast_2d""".split()
)
_JOINING = frozenset("concatenate concat stack vstack hstack dstack column_stack".split())
_PRODUCTS = frozenset("dot inner outer matmul vecdot matvec vecmat tensordot".split())
FILLING = 1  # what stands for missing elements: few operations warn of it


@frozen
class OptionalType:
    """The type of a leaf that may be missing; made by `optional`."""

    dtype: np.dtype

    def leaf(self, name: str, ndim: int | None, shape: Any) -> Optional:
        """The leaf of that type."""
        return optional_leaf(name, self.dtype, ndim, shape)


class Optional(Tree, NDArrayOperatorsMixin):
    """A value of which elements may be missing; made by `optional`, `optional_leaf` and `where_present`.

    Operators and ufuncs give an optional value, whose elements are there where those of all operands are. Folds
    (``x.sum(axis=0)``, ``np.mean(x)``) are those of what is there, and missing where nothing is; ``x.count()`` says how
    much is there. Indices, and what moves or joins elements, take presence along; `numpy.where` chooses it. Evaluated
    by `evaluate` or `Program.run` it is a `numpy.ma.MaskedArray`, or a number, which is None if it is missing. Calls of
    a program give the pair of the value and its presence.

    Attributes
    ----------
    value, present : Expression
    """

    __slots__ = ("present", "value")

    def __init__(self, value: Any, present: Any):
        self.value, self.present = literal(value), literal(present)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or (ufunc.signature is not None and ufunc.__name__ not in _PRODUCTS):
            raise TypeError(f"{ufunc.__name__}.{method} of an optional value: coalesce it first")
        if ufunc.signature is not None:
            return _product(ufunc, inputs, kwargs)
        return _elementwise(ufunc, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        name = func.__name__
        args, kwargs = _by_position(func, args, kwargs)
        if func is np.where and len(args) == 3:
            return _where(*args)
        if name in FOLDS and isinstance(args[0], Optional):
            return getattr(args[0], name)(*args[1:], **kwargs)
        if name in _PRODUCTS:
            return _product(func, args, kwargs)
        if name in _ELEMENTWISE:
            return _elementwise(func, args, kwargs)
        if name in _MOVING:
            moved, *rest = args
            return Optional(func(moved.value, *rest, **kwargs), func(kept(moved), *rest, **kwargs))
        if name in _JOINING:
            joined, *rest = args
            parts = list(map(_optional, joined))
            values, there = [v.value for v in parts], [kept(v) for v in parts]
            return Optional(func(values, *rest, **kwargs), func(there, *rest, **kwargs))
        raise TypeError(f"{name} of an optional value: coalesce it first")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("an optional value is no array before it is evaluated: expr.evaluate does that")

    def __bool__(self) -> bool:
        raise TypeError("an optional value has no truth value before it is evaluated")

    def __getitem__(self, index: Any) -> Optional:
        return Optional(self.value[index], kept(self)[index])

    def __iter__(self) -> Iterator[Optional]:
        return (self[k] for k in range(len(self.value)))

    @property
    def type(self) -> Known | Tuple:
        """What is known of the type of the value."""
        return self.value.type

    @property
    def dtype(self) -> np.dtype | None:
        """The dtype of the value; None if it is open."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The extents of the value, None for those that are open; None if the rank is."""
        return self.value.shape

    @property
    def ndim(self) -> int | None:
        """The rank of the value; None if it is open."""
        return self.value.ndim

    @property
    def nodes(self) -> tuple[Expression, ...]:
        """All expressions that the value and its presence consist of, operands before what uses them."""
        return tuple(nodes_of([self.value, self.present]))

    def equals(self, other: object) -> bool:
        """Whether `other` is the same value where the same is there."""
        return isinstance(other, Optional) and self.value is other.value and self.present is other.present

    def named(self, name: str) -> Optional:
        """This value under a name, and its presence under ``name_present``."""
        return Optional(named(self.value, name), named(self.present, f"{name}{SUFFIX}"))

    def astype(self, *args: Any, **kwargs: Any) -> Optional:
        """This value in another dtype; parameters are those of `numpy.ndarray.astype`."""
        return Optional(self.value.astype(*args, **kwargs), self.present)

    def count(self, axis: Any = None, keepdims: bool = False) -> Any:
        """How many elements are there.

        Parameters
        ----------
        axis, keepdims
            As for `numpy.sum`.

        Returns
        -------
        Expression
        """
        return count(self, axis, keepdims=keepdims)

    def __getattr__(self, name: str) -> Any:
        fold = FOLDS.get(name)
        if fold is not None:
            return partial(_folded, fold, self)
        if name == "T":
            return np.transpose(self)
        if name in _ELEMENTWISE and hasattr(np.ndarray, name):
            return partial(getattr(np, name), self)
        if name in _MOVING and hasattr(np.ndarray, name):
            return lambda *args, **kwargs: Optional(
                getattr(self.value, name)(*args, **kwargs), getattr(kept(self), name)(*args, **kwargs)
            )
        raise AttributeError(f"an optional value has no {name!r}: coalesce it first")

    def __repr__(self) -> str:
        return f"<optional {self.value!r} where {self.present!r}>"


def _folded(fold: Any, x: Optional, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Optional:
    if out is not None:
        raise TypeError("a fold of an optional value is an expression, and takes no out")
    typed = {} if dtype is None else {"dtype": dtype}
    return Optional(*fold(x, axis, **typed, **options))


def _by_position(function: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The same arguments, the first one by position."""
    if args or not kwargs:
        return args, kwargs
    first = next(iter(inspect.signature(function).parameters))
    return (kwargs[first],), {key: value for key, value in kwargs.items() if key != first}


def lifted(value: Any) -> Any:
    """`value` with optional literals in place of masked arrays, also in tuples and lists."""
    if isinstance(value, (tuple, list)):
        return type(value)([lifted(v) for v in value])
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        return Optional(value.filled(FILLING), ~np.ma.getmaskarray(value))
    return value


def _optional(value: Any) -> Optional:
    value = lifted(value)
    return value if isinstance(value, Optional) else Optional(value, True)


def _elementwise(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """An operation on elements: there is one of the result where there are those of all operands."""
    args = lifted(args)
    found = function(*[v.value if isinstance(v, Optional) else v for v in args], **kwargs)
    there = _all([v.present for v in args if isinstance(v, Optional)])
    several = getattr(function, "nout", 1) > 1
    return tuple([Optional(part, there) for part in found]) if several else Optional(found, there)


def _product(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Optional:
    """A sum of products as in `numpy.ma.dot`: it is there where one of them is, and those that are not add nothing."""
    x, y = map(_optional, args[:2])
    there = function(kept(x), kept(y), *args[2:], **kwargs)
    # False is nothing of any dtype.
    return Optional(function(filled(x, False), filled(y, False), *args[2:], **kwargs), there)


def _where(condition: Any, x: Any, y: Any) -> Optional:
    """``np.where`` of which something is optional."""
    parts = list(map(_optional, (condition, x, y)))
    chosen = parts[0].value
    there = np.where(chosen, parts[1].present, parts[2].present)
    return Optional(np.where(chosen, parts[1].value, parts[2].value), _both(literal(there), parts[0].present))


def _all(conditions: Sequence[Expression]) -> Expression:
    found = conditions[0]
    for condition in conditions[1:]:
        found = found if condition is found else _both(found, condition)
    return found


def _both(x: Expression, y: Expression) -> Any:
    return np.bitwise_and(x, y)


def _chosen(condition: Expression, x: Any, y: Any) -> Any:
    """``np.where``, which gives an array for scalars, too, with a scalar for these."""
    return np.where(condition, x, y)[()]


def optional(value: Any, present: Any = True) -> Any:
    """`value`, as far as it is `present`.

    Parameters
    ----------
    value : Expression, array, masked array, number, or dtype
    present : Expression, array of bool or bool, optional
        By default all of it is there.

    Returns
    -------
    Optional
        For a dtype, what `leaf` takes in its place: ``leaf("x", optional("f8"))`` is ``optional_leaf("x", "f8")``.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x = expr.leaf("x")
    >>> half = expr.optional(x, x > 0) / 2
    >>> expr.evaluate(half, x=np.array([4.0, -1.0]))
    masked_array(data=[2.0, --],
                 mask=[False,  True],
           fill_value=1e+20)
    """
    if isinstance(value, (type, str, np.dtype)):
        return OptionalType(np.dtype(value))
    value = lifted(value)
    return value if isinstance(value, Optional) and present is True else where_present(present, value)


def optional_leaf(name: str, dtype: Any = None, ndim: int | None = None, shape: Any = None) -> Optional:
    """An input that may be missing: a masked array, a column of pandas with missing values, a number, or None.

    Parameters are those of `leaf`. A program has two inputs for it, the second one called ``name_present``, which
    `evaluate` and `Program.run` find in what the first one is given.

    Returns
    -------
    Optional

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> total = expr.coalesce(expr.optional_leaf("x") * 2, 0.0)
    >>> expr.evaluate(total, x=np.ma.masked_array([1.0, 2.0], [False, True]))
    array([2., 0.])
    >>> expr.evaluate(total, x=None)
    np.float64(0.0)
    """
    value = leaf(name, dtype, ndim, shape)
    return Optional(value, leaf(f"{name}{SUFFIX}", bool, ndim=0 if value.ndim == 0 else None))


def present(x: Any) -> Expression:
    """Which elements of `x` are there.

    Parameters
    ----------
    x : Optional, Expression or value

    Returns
    -------
    Expression
        True for what is not optional.
    """
    return _optional(x).present


def where_present(condition: Any, x: Any) -> Optional:
    """`x` where `condition` holds, and missing elsewhere.

    What is missing is not computed with: where `condition` does not hold, the value is a number of which few
    operations warn.

    Parameters
    ----------
    condition : Expression, Optional, array or bool
    x : Optional, Expression, array, masked array or number

    Returns
    -------
    Optional

    Examples
    --------
    >>> from jitrt import expr
    >>> a, b, c = expr.leaf("a"), expr.leaf("b"), expr.leaf("c")
    >>> d = b * b - 4.0 * a * c
    >>> root = (-b + expr.where_present(d >= 0, d) ** 0.5) / 2.0 / a
    >>> expr.evaluate(root, a=1.0, b=-3.0, c=2.0)
    np.float64(2.0)
    >>> print(expr.evaluate(root, a=1.0, b=1.0, c=2.0))
    None
    """
    condition, x = lifted(condition), lifted(x)
    conditions = [condition.value, condition.present] if isinstance(condition, Optional) else [literal(condition)]
    value = x.value if isinstance(x, Optional) else literal(x)
    there = _all([*conditions, *([x.present] if isinstance(x, Optional) else [])])
    return Optional(_chosen(there, value, FILLING) if condition is not True else value, there)


def coalesce(first: Any, *others: Any) -> Any:
    """The first of these values that is there, element by element.

    Parameters
    ----------
    first, *others : Optional, Expression or value

    Returns
    -------
    Expression or Optional
        Optional if all of them are.

    Examples
    --------
    >>> from jitrt import expr
    >>> x = expr.leaf("x")
    >>> expr.evaluate(expr.coalesce(expr.optional(x, x > 0), -1.0), x=-5.0)
    np.float64(-1.0)
    """
    first = lifted(first)
    if not others or not isinstance(first, Optional):
        return first if isinstance(first, Optional) else literal(first)
    rest = coalesce(*others)
    if not isinstance(rest, Optional):
        return _chosen(first.present, first.value, rest)
    either = np.bitwise_or(first.present, rest.present)
    return Optional(_chosen(first.present, first.value, rest.value), either)
