"""Constructors of nodes: each infers the type of its result and fails as NumPy would."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.dtypes import is_twin
from . import strided
from .extents import is_extent, plain
from .node import Constant, Node, Params, type_of
from .ops.optable import CONSTANT, INPUT, OPS, Kind, NotCovered, ValueWanted
from .ops.ufuncs import CAST, COPY, NUMPY_UFUNCS, WHERE, elementwise_result, where_dtype
from .strided import depends, same_shape
from .types import NATIVE, ArrayType, canonical


def params(**values: Hashable) -> Params:
    """Parameters of a node in the order given."""
    return tuple(values.items())


def constant(value: Any) -> Node:
    """A literal node; `value` is an array, a NumPy scalar or a Python scalar, and must not change afterwards.

    Raises
    ------
    NotCovered
        If its elements are Python objects: nodes could be among them, and what these are is not known yet; or of a twin
        of one of NumPy's usual dtypes.
    """
    type_ = type_of(value)
    if type_.dtype.hasobject:
        raise NotCovered("an array of Python objects")
    if isinstance(value, (np.ndarray, np.generic)) and is_twin(value.dtype):
        raise NotCovered(f"an operand of {value.dtype.type.__name__}")
    return Node(CONSTANT, (), (("value", Constant(value)),), type_)


def literal(n: Node) -> Any:
    """The value of a scalar literal, seen through broadcasts; None for anything else, and for longer integers."""
    while n.op.name == "broadcast_to":
        n = n.args[0]
    return n["value"].number if n.op is CONSTANT else None


def input_node(index: int, type: ArrayType, encoding: str = NATIVE) -> Node:
    """The input number `index` of a graph, whose elements lie in memory in that `encoding`."""
    return Node(INPUT, (), params(index=index, encoding=encoding) if encoding else params(index=index), type)


def encoding_of(node: Node) -> str:
    """How the elements of a stored array lie in memory."""
    return node.kwargs.get("encoding", NATIVE) if node.op is INPUT else NATIVE


def elementwise(ufunc: np.ufunc, *args: Node) -> Node:
    """``ufunc(*args)`` with NumPy's broadcasting and type promotion.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        If the ufunc has no loop for the types.
    """
    if len(args) == 2:  # most have, and with an operand of the type of the result
        x, y = args[0].type, args[1].type
        keys = x.promotion_key if x.weak else x.dtype, y.promotion_key if y.weak else y.dtype
        op, dtype = elementwise_result(ufunc, keys)
        if dtype is x.dtype and not x.weak and (not y.shape or same_shape(x.shape, y.shape)):
            return Node(op, args, (), x)
        if dtype is y.dtype and not y.weak and not x.shape:
            return Node(op, args, (), y)
    types = [a.type for a in args]
    op, dtype = elementwise_result(ufunc, tuple([t.promotion_key for t in types]))
    shape = types[0].shape
    for t in types:
        if t.shape and not same_shape(t.shape, shape):
            shape = broadcast_shape(args)
            break
    for t in types:
        if t.dtype is dtype and not t.weak and same_shape(t.shape, shape):
            return Node(op, args, (), t)
    # A ufunc gives a NumPy scalar for Python numbers; only Python's own operators give a Python number.
    return Node(op, args, (), ArrayType(dtype, shape))


def elementwise_like(like: Node, ufunc: np.ufunc, *args: Node) -> Node:
    """An elementwise node of the type of `like`, whose operands already have the dtypes of the loop."""
    return Node(NUMPY_UFUNCS[ufunc], args, (), like.type)


def given_dtype(dtype: Any) -> np.dtype:
    """The dtype that a caller asks for.

    Raises
    ------
    NotCovered
        If kernels have no such elements.
    """
    given = np.dtype(dtype)
    found = canonical(given)
    has_fields = given.names is not None  # which integers may have, too
    if found.kind not in "biufcmM" or not found.isnative or has_fields or is_twin(given):
        raise NotCovered(f"elements of {given}")
    return found


def cast(x: Node, dtype: np.dtype) -> Node:
    """`x` converted to `dtype`; `x` itself if it has that dtype."""
    dtype = given_dtype(dtype)
    if x.dtype == dtype and not x.type.weak:
        return x
    return Node(CAST, (x,), params(dtype=dtype), ArrayType(dtype, x.shape))


_copy_numbers = itertools.count()


def copy(x: Node, number: int | None = None) -> Node:
    """A node that stores `x` in memory of its own; no two copies are one node unless they have one `number`."""
    number = next(_copy_numbers) if number is None else number
    return Node(COPY, (x,), params(number=number), x.type)


def where(condition: Node, a: Node, b: Node) -> Node:
    """``np.where(condition, a, b)``."""
    shape = broadcast_shape((condition, a, b))
    return Node(WHERE, (condition, a, b), (), ArrayType(where_dtype(a.type, b.type), shape))


def broadcast_shape(args: Sequence[Node]) -> tuple[int, ...]:
    shape = args[0].shape
    for arg in args[1:]:
        if shape == ():
            shape = arg.shape
        elif arg.shape and not same_shape(arg.shape, shape):
            return joint_shape([a.shape for a in args])
    return shape


def joint_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of all of `shapes` together.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    return strided.broadcast(shapes) if depends(*shapes) else np.broadcast_shapes(*shapes)


_FEW_POSITIONS, _MORE_POSITIONS = 256, 16  # elements of the shortest literal, and how much longer the next ones are


def positions(extent: int) -> Node:
    """``arange(extent)``: of a variable, the beginning of a literal, which a guard says is long enough."""
    if not is_extent(extent):
        return constant(np.arange(extent))
    length = _FEW_POSITIONS
    while extent > length:
        length *= _MORE_POSITIONS
    return view("getitem", constant(_first_positions(length)), index=((None, extent, None),))


@lru_cache(maxsize=2)
def _first_positions(length: int) -> np.ndarray:
    found = np.arange(length)
    found.flags.writeable = False
    return found


def phantom(shape: tuple[int, ...], dtype: np.dtype | type = np.int8) -> np.ndarray:
    """An array of any shape that occupies one element: a probe for what NumPy does with shapes."""
    dtype = np.dtype(dtype)
    return np.ndarray(shape, dtype, buffer=bytes(dtype.itemsize), strides=(0,) * len(shape))


def view(name: str, x: Node, **arguments: Hashable) -> Node:
    """The movement operation `name` applied to `x`; NumPy tells the shape."""
    op = OPS[name]
    assert op.kind is Kind.VIEW and op.numpy is not None
    if name == "reshape":
        shape = _reshaped(x.type.size, _plain(arguments["shape"]))
        arguments["shape"] = shape
    elif name == "broadcast_to":
        shape = arguments["shape"] = _plain(arguments["shape"])
        tail = shape[len(shape) - len(x.shape) :]
        if len(tail) != len(x.shape) or any(n not in (m, 1) for n, m in zip(x.shape, tail)):
            raise ValueError(f"operands could not be broadcast together with remapped shapes {x.shape} -> {shape}")
    else:
        shape = _viewed(name, x, arguments)
    return Node(op, (x,), tuple(arguments.items()), ArrayType(x.dtype, shape, x.type.weak and shape == ()))


def _viewed(name: str, x: Node, arguments: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the view `name` of `x`."""
    if name in strided.VIEWS and (depends(x.shape) or not is_plain(arguments)):
        return strided.view(name, strided.Strided(x.shape, (0,) * x.type.ndim), arguments).shape  # type: ignore[union-attr]
    return OPS[name].numpy(phantom(x.shape), **arguments).shape  # type: ignore[misc]


def _plain(shape: Any) -> tuple[int, ...]:
    """A shape as nodes have it."""
    return tuple(map(plain, shape)) if depends(shape) else shape


def is_plain(arguments: Any) -> bool:
    """Whether none of the integers in `arguments` depends on variables."""
    if isinstance(arguments, dict):
        return all(map(is_plain, arguments.values()))
    return all(map(is_plain, arguments)) if isinstance(arguments, tuple) else not is_extent(arguments)


def _reshaped(size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that ``reshape(shape)`` gives an array of `size` elements, its negative extent replaced."""
    known, unknown = 1, 0
    for extent in shape:
        if extent < 0:
            unknown += 1
        else:
            known *= extent
    if unknown == 1 and known > 0 and size % known == 0:
        shape = tuple(size // known if extent < 0 else extent for extent in shape)
    elif unknown or known != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def broadcast_to(x: Node, shape: tuple[int, ...]) -> Node:
    """`x` seen through the wider `shape`; `x` itself if it has that shape."""
    if same_shape(x.type.shape, shape):
        return x
    shape = _plain(shape)
    if x.type.shape:
        return view("broadcast_to", x, shape=shape)
    return Node(OPS["broadcast_to"], (x,), (("shape", shape),), ArrayType(x.type.dtype, shape))  # most are numbers


def count(number: int) -> Node:
    """An ``intp`` that counts elements: a literal, or an input of the program where it depends on its extents."""
    number = plain(number)
    if is_extent(number):
        return input_node(number, ArrayType(np.dtype(np.intp), ()))
    return constant(np.intp(number))


def extent(number: Any) -> Node:
    """A Python integer that depends on the extents of a program: an input of it."""
    return input_node(plain(number), ArrayType(np.dtype(np.int64), (), weak=True))


def compound(name: str, args: tuple[Node, ...], type: ArrayType, **arguments: Hashable) -> Node:
    """A node of the row `name` whose type the caller has inferred."""
    return Node(OPS[name], args, tuple(arguments.items()), type)


def probe_dtype(function: Callable[..., Any], *args: ArrayType, **arguments: Hashable) -> np.dtype:
    """Result dtype of a NumPy function, found by running it on one-element arrays of the operands' ranks."""
    return _probed(function, tuple([(a.dtype, a.ndim) for a in args]), tuple(arguments.items()))


@lru_cache(maxsize=1024)
def _probed(
    function: Callable[..., Any], operands: tuple[tuple[np.dtype, int], ...], arguments: tuple[tuple[str, Any], ...]
) -> np.dtype:
    wanted = dict(arguments).get("dtype")
    if wanted is not None and np.dtype(wanted).kind != "c":  # NumPy warns where it discards imaginary parts
        operands = tuple([(dtype.type().real.dtype if dtype.kind == "c" else dtype, ndim) for dtype, ndim in operands])
    ones = [np.ones((1,) * ndim, dtype) for dtype, ndim in operands]
    return canonical(np.asarray(function(*ones, **dict(arguments))).dtype)


def integer(value: Any) -> int:
    """An axis, an extent or a count.

    Raises
    ------
    NotCovered
        If it is something else, of which NumPy says what is wrong with it: most of its functions refuse truth values,
        and some objects with an ``__index__``.
    ValueWanted
        If it is not known before it is looked at.
    """
    if type(value) is int or is_extent(value):
        return plain(value)
    if isinstance(value, Node):
        if value.shape or value.dtype.kind not in "iu":
            raise NotCovered(f"{value.type} in place of an integer")
        value = known_value(value)
    is_array = isinstance(value, np.ndarray) and not value.shape and value.dtype.kind in "iu"
    if not is_array and (not isinstance(value, (int, np.integer)) or isinstance(value, bool)):
        raise NotCovered(f"a {type(value).__name__} in place of an integer")
    return operator.index(value)


def known_value(x: Node) -> np.ndarray:
    """The value of a literal, seen through views.

    Raises
    ------
    ValueWanted
        If it is none.
    """
    if x.op is CONSTANT:
        return np.asarray(x["value"].value)
    if x.op.kind is not Kind.VIEW or x.op.numpy is None:
        raise ValueWanted(x)
    try:
        return np.asarray(x.op.numpy(known_value(x.args[0]), **x.kwargs))
    except ValueWanted:
        raise ValueWanted(x) from None


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` of a reduction, one or a tuple of them, as a sorted tuple of non-negative axes.

    Raises
    ------
    numpy.exceptions.AxisError
        If an axis is out of range.
    ValueError
        If an axis is given twice.
    NotCovered
        If an axis is no integer.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for a in axis if isinstance(axis, tuple) else (axis,):
        a = integer(a)
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
        axes.append(a % ndim)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def normalize_axis(axis: Any, ndim: int) -> int:
    """The only `axis` of a function that takes no tuples, not negative; it raises what `normalize_axes` does."""
    return normalize_axes(integer(axis), ndim)[0]


def real(x: Node) -> Node:
    """The real part; `x` itself if it is real."""
    return _part("real", x)


def imag(x: Node) -> Node:
    """The imaginary part of a complex array."""
    return _part("imag", x)


def _part(name: str, x: Node) -> Node:
    if x.dtype.kind != "c":
        return x
    return Node(OPS[name], (x,), (), ArrayType(canonical(np.empty(0, x.dtype).real.dtype), x.shape))
