"""`Expression`: immutable trees of operations on leaves, interned, so that equal ones are one object."""

from __future__ import annotations

import hashlib
import keyword
import math
import operator
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.arrays import is_writeable
from ..base.operators import BINARY, COMPARISONS, UNARY
from ..ir.node import Constant
from ..ir.ops.optable import MUTATING_METHODS
from ..values.frozen import frozen
from . import calls
from .calls import GETITEM, LEAF, LITERAL, NAMED, PLACEHOLDER, Operation, operation_of, take_apart
from .known import Known, Tuple, known_type
from .types import infer

_interned: weakref.WeakValueDictionary[Hashable, Expression] = weakref.WeakValueDictionary()
_EQUALITIES = frozenset({"np.equal", "np.not_equal"})
_NUMBERS = (bool, int, float, complex, np.generic)
# Ufuncs and functions whose arguments are elements: numbers among these are literals, and no axes or extents.
_OF_ELEMENTS = frozenset(f"np.{name}" for name in "where clip isclose allclose maximum minimum".split())


class Tree:
    """What consists of expressions."""

    __slots__ = ()

    @property
    def nodes(self) -> tuple[Expression, ...]:
        """All expressions that it consists of, operands before what uses them."""
        raise NotImplementedError

    @property
    def leaves(self) -> tuple[Expression, ...]:
        """The leaves, in the order in which they are met."""
        return tuple(n for n in self.nodes if n.operation is LEAF)

    @property
    def placeholders(self) -> tuple[Expression, ...]:
        """The placeholders, in the order in which they are met."""
        return tuple(n for n in self.nodes if n.operation is PLACEHOLDER)


class Expression(Tree):
    """An operation applied to expressions; a leaf, a literal or a placeholder.

    Made by `leaf`, `literal`, `placeholder`, by Python's operators, by NumPy's functions, ufuncs and methods, by
    indexing, and by operations by name (`op`). Operators are NumPy's ufuncs, also between scalars. Equal expressions
    are one object: ``a is b`` tells whether they are equal, and so does ``bool(a == b)``, where ``a == b`` is an
    expression as in NumPy.

    Attributes
    ----------
    operation : Operation
    operands : tuple of Expression
    """

    __slots__ = ("__weakref__", "_type", "operands", "operation", "template")

    operation: Operation
    operands: tuple[Expression, ...]
    template: Any

    def __new__(cls, operation: Operation, operands: tuple[Expression, ...], template: Hashable) -> Expression:
        key = operation, operands, template
        found = _interned.get(key)
        if found is not None:
            return found
        made = object.__new__(cls)
        for name, value in zip(("operation", "operands", "template", "_type"), (*key, None)):
            object.__setattr__(made, name, value)
        # Where Python itself compares, as in ``e in a_list``, nothing may fail.
        if operands and operation.name not in _EQUALITIES and _tells_of_errors(operation, operands):
            made.type  # noqa: B018 (raises here what NumPy raises)
        return _interned.setdefault(key, made)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an expression is immutable")

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: Any) -> Expression:
        return self

    def __reduce__(self) -> Any:
        from .serial import from_rows, rows

        return from_rows, (rows(self),)

    def __hash__(self) -> int:
        return id(self) >> 4

    @property
    def type(self) -> Known | Tuple:
        """What is known of the type of the value."""
        if self._type is None:
            object.__setattr__(self, "_type", _type_of(self))
        return self._type

    @property
    def dtype(self) -> np.dtype | None:
        """The dtype of the value; None if it is open."""
        return self.type.dtype if isinstance(self.type, Known) else None

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The extents of the value, None for those that are open; None if the rank is."""
        return self.type.shape if isinstance(self.type, Known) else None

    @property
    def ndim(self) -> int | None:
        """The rank of the value; None if it is open."""
        return None if self.shape is None else len(self.shape)

    @property
    def nodes(self) -> tuple[Expression, ...]:
        """All expressions that this one consists of, operands before what uses them, itself at the end."""
        return tuple(nodes_of([self]))

    @property
    def name(self) -> str | None:
        """The name of a leaf, of a placeholder, or given by `name`; None for others."""
        if self.operation in (LEAF, PLACEHOLDER):
            return self.template[0]
        return calls.static_value(self.template.args[1]) if self.operation is NAMED else None

    @property
    def value(self) -> Any:
        """The value of a literal.

        Raises
        ------
        AttributeError
            If it is none.
        """
        if self.operation is not LITERAL:
            raise AttributeError("only literals have a value")
        return self.template.value

    def equals(self, other: object) -> bool:
        """Whether `other` is the same expression."""
        return self is other

    def __bool__(self) -> bool:
        if self.operation.name in _EQUALITIES:
            return (len(self.operands) == 1) == (self.operation.name == "np.equal")
        raise TypeError("an expression has no truth value before it is evaluated; np.where chooses between values")

    def __iter__(self) -> Iterator[Expression]:
        known = self.type
        length = len(known.parts) if isinstance(known, Tuple) else known.shape[0] if known.shape else None
        if length is None:
            raise TypeError("an expression of an open shape cannot be iterated over")
        return (self[k] for k in range(length))

    def __contains__(self, value: object) -> bool:
        raise TypeError("which elements an expression has is known when it is evaluated: np.isin looks for some")

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __str__(self) -> str:
        from .text import to_text

        return to_text(self)

    def __repr__(self) -> str:
        what = self.name if self.name is not None else self.operation.name
        return f"<expression {what}: {self.type}>"

    def _repr_svg_(self) -> str:
        from .picture import svg

        return svg(self)

    def to_svg(self) -> str:
        """A picture of the graph, as the text of an SVG file."""
        return self._repr_svg_()

    # What NumPy hands over.
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(getattr(type(v), "__array_ufunc__", None) not in _KNOWN for v in inputs):
            return NotImplemented
        if any(_is_masked(v) for v in inputs):
            return getattr(ufunc, method)(*_lifted(inputs), **kwargs)
        operation = operation_of(ufunc)
        if method == "at":
            raise TypeError(f"expressions write into nothing, as {operation.name}.at does")
        if method != "__call__":
            operation = calls.operation_named(f"{operation.name}.{method}")
        return applied(operation, inputs, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not all(issubclass(t, (Expression, np.ndarray)) for t in types):
            return NotImplemented
        if any(issubclass(t, np.ndarray) and t is not np.ndarray and issubclass(t, np.ma.MaskedArray) for t in types):
            return func(*_lifted(args), **kwargs)
        return applied(operation_of(func), args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("an expression is no array before it is evaluated: expr.evaluate does that")

    def __getitem__(self, index: Any) -> Expression:
        return applied(GETITEM, (self, index), {})

    def __getattr__(self, name: str) -> Any:
        if name == "type":
            return _type_of(self)  # it has raised this error before
        if name in (fields := calls.fields_of(self.operation)):
            return self[fields.index(name)]
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"an expression has no attribute {name!r}")
        if name in _PROPERTIES:
            return _PROPERTIES[name](self)
        if name in _OF_ARRAYS or not callable(getattr(np.ndarray, name)):
            raise AttributeError(f"an expression has no {name!r}: it is of arrays")
        return lambda *args, **kwargs: applied(calls.method(name), (self, *args), kwargs)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(n for n in dir(np.ndarray) if not n.startswith("_"))} - _OF_ARRAYS)


_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "T": np.transpose,
    "mT": np.matrix_transpose,
    "real": np.real,
    "imag": np.imag,
    "size": lambda e: math.prod(e.shape) if e.type.is_complete else np.size(e),
    "itemsize": lambda e: _known_dtype(e).itemsize,
    "nbytes": lambda e: e.size * _known_dtype(e).itemsize,
}


def _known_dtype(e: Expression) -> np.dtype:
    if e.dtype is None:
        raise AttributeError("the dtype of the expression is open")
    return e.dtype


_OF_ARRAYS = MUTATING_METHODS | {"dump", "tofile"}


def _is_masked(value: Any) -> bool:
    # NumPy imports `numpy.ma` when it is first asked for.
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray)


def _lifted(values: tuple) -> Any:
    from .missing import lifted

    return lifted(values)


def _operator(ufunc: Callable[..., Any], reflected: bool) -> Callable[[Expression, Any], Any]:
    if reflected:
        return lambda self, other: ufunc(other, self)
    return lambda self, *other: ufunc(self, *other)


def _power(x: Any, y: Any) -> Any:
    # NumPy's arrays are squared, which are booleans as integers of eight bits, and as long ones by the ufunc.
    is_square = type(y) is int and y == 2 and isinstance(x, Expression) and x.dtype == np.bool_ and x.ndim != 0
    return np.square(x) if is_square else np.power(x, y)


def _define_operators() -> None:
    binary: dict[str, Callable[..., Any]] = {name: ufunc for name, (ufunc, _) in BINARY.items()}
    binary |= {"divmod": np.divmod, "pow": _power}
    others = {name: ufunc for name, (ufunc, _) in (UNARY | COMPARISONS).items()}
    for name, ufunc in (binary | others).items():
        setattr(Expression, f"__{name}__", _operator(ufunc, reflected=False))
    for name, ufunc in binary.items():
        setattr(Expression, f"__r{name}__", _operator(ufunc, reflected=True))


_define_operators()
_KNOWN = (None, Expression.__array_ufunc__, np.ndarray.__array_ufunc__)


def leaf(
    name: str, dtype: Any = None, ndim: int | None = None, shape: Sequence[int | None] | None = None
) -> Expression:
    """An input of an expression, which is bound by its name.

    Parameters
    ----------
    name : str
        A Python identifier.
    dtype : dtype-like, optional
        What it is given is converted to it, as far as NumPy's ``same_kind`` rule lets it. By default any is taken, and
        Python numbers are weak as in NumPy. ``expr.optional(dtype)`` makes a leaf that may be missing.
    ndim : int, optional
        The rank; by default open.
    shape : int, or sequence of int or None, optional
        The extents, with None for those that are open.

    Returns
    -------
    Expression

    Raises
    ------
    TypeError
        If there is no such dtype, or extents are no integers.
    ValueError
        If the name is not an identifier, extents are negative, or `ndim` and `shape` contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x, w = expr.leaf("x", "f4", shape=(8, 3)), expr.leaf("w", "f8", shape=(3,))
    >>> y = np.tanh(x @ w)
    >>> y.dtype, y.shape
    (dtype('float64'), (8,))
    >>> x + expr.leaf("v", "f8", shape=(5,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: operands could not be broadcast together with shapes (8,3) (5,)...
    """
    own = getattr(dtype, "leaf", None)
    return _source(LEAF, name, dtype, ndim, shape) if own is None else own(name, ndim, shape)


def placeholder(
    name: str, dtype: Any = None, ndim: int | None = None, shape: Sequence[int | None] | None = None
) -> Expression:
    """What stands for an expression that `substitute` will put in its place; parameters and errors as for `leaf`.

    Examples
    --------
    >>> from jitrt import expr
    >>> x, half = expr.leaf("x"), expr.placeholder("value") / 2
    >>> expr.substitute(half, {"value": x + 1}).equals((x + 1) / 2)
    True
    """
    return _source(PLACEHOLDER, name, dtype, ndim, shape)


def _extents(shape: Any) -> tuple[int | None, ...]:
    given = (shape,) if hasattr(shape, "__index__") else shape
    extents = tuple(None if n is None else operator.index(n) for n in given)
    if any(n is not None and n < 0 for n in extents):
        raise ValueError("negative dimensions are not allowed")
    return extents


def _source(operation: Operation, name: str, dtype: Any, ndim: int | None, shape: Any) -> Expression:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in ("np", "op"):
        raise ValueError(f"{name!r} is no name for a {operation.name}: it has to be an identifier")
    extents = None if shape is None else _extents(shape)
    if ndim is not None:
        if operator.index(ndim) < 0:
            raise ValueError(f"a rank of {ndim} is negative")
        if extents is not None and len(extents) != ndim:
            raise ValueError(f"a shape of {len(extents)} extents has not the rank {ndim}")
        extents = (None,) * ndim if extents is None else extents
    return Expression(operation, (), (name, None if dtype is None else np.dtype(dtype), extents))


class Literal(Constant):
    """The value of a literal: arrays are compared by their bytes, large ones by a hash of these if `is_own` says so.

    What is not its own may be a file in memory, which nobody has to read.
    """

    __slots__ = ()
    _COMPARED_BY_BYTES = 1 << 16

    def __init__(self, value: Any, is_own: bool = False):
        super().__init__(value)
        if type(value) is int:  # of any length
            self.key = "int", value
        elif is_own and value.nbytes > self._COMPARED_BY_BYTES and not value.dtype.hasobject:
            digest = hashlib.sha256(np.ascontiguousarray(value).view(np.uint8).data).digest()
            self.key = type(value).__name__, value.dtype.str, value.shape, value.strides, digest
        self._hash = hash(self.key)


def literal(value: Any) -> Expression:
    """An expression whose value is known.

    Parameters
    ----------
    value : array-like or number
        Arrays are copied unless they are read-only, as those that `numpy.load` maps into memory with ``mmap_mode="r"``.

    Returns
    -------
    Expression

    Raises
    ------
    TypeError
        If it is another object.

    Examples
    --------
    >>> from jitrt import expr
    >>> expr.literal([1.0, 2.0]).value
    array([1., 2.])
    """
    if isinstance(value, Expression):
        return value
    if _is_masked(value):
        raise TypeError("a masked array is no literal, as elements are missing: expr.optional takes it")
    is_own = False
    if not isinstance(value, _NUMBERS):
        array = np.asarray(value)
        is_own = is_writeable(array) or not isinstance(value, np.ndarray) or not array.dtype.isnative
        if is_own:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype.hasobject and array is not value and not array.ndim:
            raise TypeError(f"a {type(value).__name__} is no value of an expression")
        value = array if array.dtype.hasobject else frozen(array)
    return Expression(LITERAL, (), Literal(value, is_own))


def name(e: Any, name: str) -> Expression:
    """`e` under a name, by which it is printed, substituted, and asked for as a side output.

    Parameters
    ----------
    e : Expression or Optional
    name : str

    Returns
    -------
    Expression

    Examples
    --------
    >>> from jitrt import expr
    >>> x = expr.leaf("x")
    >>> print(expr.name(x * x, "square") + 1)
    def expression(x):
        square = np.multiply(x, x)
        return np.add(square, 1)
    """
    own = None if isinstance(e, Expression) else getattr(e, "named", None)
    return applied(NAMED, (literal(e), str(name)), {}) if own is None else own(str(name))


def applied(operation: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Expression:
    """The expression that applies `operation` to these arguments.

    Raises
    ------
    TypeError
        If it writes into one of them, or none of them is an expression.
    """
    place = calls.place_of_out(operation)
    if kwargs.get("out") is not None or (place is not None and any(v is not None for v in args[place : place + 1])):
        raise TypeError("expressions write into nothing: leave `out` away")
    kwargs = {key: value for key, value in kwargs.items() if key != "out"}

    def given(value: Any) -> Expression | None:
        if isinstance(value, Expression):
            return value
        return literal(value) if isinstance(value, np.ndarray) else None

    def element(value: Any) -> Expression | None:
        return literal(value) if isinstance(value, _NUMBERS) else given(value)

    template, operands = take_apart(args, kwargs, element if takes_elements(operation) else given, given)
    if not operands:
        raise TypeError(f"{operation.name} is given no expression")
    return Expression(operation, tuple(operands), template)


def takes_elements(operation: Operation) -> bool:
    """Whether numbers among its arguments by position are operands, and no axes or extents."""
    return isinstance(operation.apply, np.ufunc) or operation.name in _OF_ELEMENTS or bool(operation.parameters)


def nodes_of(roots: Sequence[Expression]) -> list[Expression]:
    """Expressions that `roots` consist of, operands before what uses them."""
    order: list[Expression] = []
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((o, False) for o in reversed(node.operands))
    return order


def _type_of(e: Expression) -> Known | Tuple:
    if e.operation is LITERAL:
        return known_type(e.value)
    if e.operation in (LEAF, PLACEHOLDER):
        return Known(*e.template[1:])
    if e.operation is NAMED:
        return e.operands[0].type
    if e.operation.body is not None:
        from .transform import expanded

        return expanded(e).type
    literals = [o.value if o.operation is LITERAL else None for o in e.operands]
    return infer(e.operation, e.template, tuple([o.type for o in e.operands]), literals)


def _tells_of_errors(operation: Operation, operands: tuple[Expression, ...]) -> bool:
    """Whether the types of operands say enough for an error of NumPy's; of ufuncs dtypes and ranks do."""
    is_ufunc = isinstance(operation.apply, np.ufunc)
    types = [o.type for o in operands]
    return all(t.is_complete or (is_ufunc and isinstance(t, Known) and t.has_rank) for t in types)
