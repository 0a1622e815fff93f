"""NumPy's functions on lazy arrays: those of the op table are recorded, and NumPy computes the others at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import policy
from ..frontend.numpy.assignment import take_out
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.optable import METADATA, MUTATING, SPECIAL, Kind, NotCovered
from ..ir.ops.reductions import ONE_PASS
from ..ir.ops.rows import NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from ..ir.ops.ufuncs import elementwise_op
from ..values.kinds import mapped
from .memory import Memory
from .pending import KINDS, PENDING, NotLazy
from .views import views_of

if TYPE_CHECKING:
    from .array import ndarray

# What may go wrong with an operation whose node is asked for: NumPy says it at the same line.
FAILURES = (NotLazy, NotCovered, TypeError, ValueError, IndexError, OverflowError)
# Kinds of operations that fail by their values, or that only a trace makes.
_LATE = frozenset({Kind.GATHER, Kind.CHECK, Kind.CONTROL, Kind.HOST})
_MAKE_ORDERED = frozenset(
    {np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.pad}
)  # after their first argument
_INT_POWERS = frozenset({np.power, np.float_power})
_DTYPES = frozenset(map(np.dtype, np.typecodes["All"])) - set(map(np.dtype, "SUVOMm"))
NUMBERS = frozenset({bool, int, float, complex, np.float64, np.int64, np.bool_, np.float32, np.complex128})
# Arguments that have no arrays in them.
_SIMPLE = NUMBERS | {type(None), str, slice, type(Ellipsis), type, type(np.dtype(float)), type(np.dtype(int))}
_array: Any = None  # the class of lazy arrays, which `array` sets: it needs this module
_made_of: Any = None
_plain_of: Any = None


def set_class(lazy: type, made_of: Callable[..., Any], plain_of: Callable[..., Any]) -> None:
    """Say what class lazy arrays are of, and what makes one, of a memory and of a small array."""
    global _array, _made_of, _plain_of
    _array, _made_of, _plain_of = lazy, made_of, plain_of


def is_lazy(value: Any) -> bool:
    """Whether `value` is a lazy array."""
    return type(value) is _array


# -- from lazy arrays to NumPy's, and back


def real(value: Any) -> Any:
    """`value` with NumPy's arrays and scalars in place of lazy ones; nobody must write into them."""
    return mapped(value, lambda leaf: leaf._read() if type(leaf) is _array else leaf)


def plains(args: tuple) -> list[Any] | None:
    """Arguments with NumPy's arrays in place of small ones; None if others have a say in what becomes of them."""
    given: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is _array:
            value = value._plain
            if value is None:
                return None
        elif kind is tuple or kind is list:
            parts = plains(value)
            if parts is None:
                return None
            value = kind(parts)
        elif kind not in _SIMPLE and kind is not np.ndarray:
            return None
        given.append(value)
    return given


def lazy(value: Any, scalars: bool = True, is_shared: bool = False, small: bool = True) -> Any:
    """`value` with lazy arrays in place of NumPy's, and of its scalars; if wanted, only in place of large ones.

    Arrays that share memory with one that something pending may have borrowed are no small ones.
    """
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype not in _DTYPES:
            return value
        if value.size < policy.SMALL_ARRAY and not (is_shared and value.base is not None):
            return _plain_of(value) if small else value
        return _made_of(Memory(value))
    if isinstance(value, np.generic):
        return _made_of(Memory(value), scalar=True) if scalars and value.dtype.kind in KINDS else value
    if kind is list or kind is tuple:
        return kind([lazy(v, scalars, is_shared, small) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[lazy(v, scalars, is_shared, small) for v in value])
    return value


def plain_array(value: np.ndarray) -> ndarray:
    """A small array of NumPy's as a lazy one, in the same memory; nothing pending may have borrowed that."""
    return _plain_of(value)


def unless_small(made: Any) -> Any:
    """A lazy array, or NumPy's in place of a small one, with which NumPy alone is faster; and NumPy's scalars."""
    return made._plain if type(made) is _array and made._plain is not None else exact(made)


def eager(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], targets: Iterable[Any] = ()) -> Any:
    """What NumPy makes of a call at once; it writes into `targets`."""
    with PENDING.lock:
        for target in targets:
            if type(target) is _array:
                PENDING.written(target._read())
            elif isinstance(target, np.ndarray):
                PENDING.written(target)
        is_shared = False

        def read(leaf: Any) -> Any:
            nonlocal is_shared
            if type(leaf) is not _array:
                return leaf
            is_shared |= leaf._plain is None
            return leaf._read()

        args, kwargs = mapped(args, read), mapped(kwargs, read)
    return lazy(function(*args, **kwargs), is_shared=is_shared)


# -- ufuncs


def record(ufunc: np.ufunc, inputs: tuple) -> ndarray:
    """``ufunc(*inputs)``.

    Raises
    ------
    NotLazy
        If NumPy has to compute it at once, perhaps to say what is wrong with it.
    """
    if all(map(is_known_and_small, inputs)):
        raise NotLazy
    with PENDING.lock:
        try:
            PENDING.begin()
            return _recorded(ufunc, inputs)
        except FAILURES:
            raise NotLazy from None


def is_known_and_small(value: Any) -> bool:
    """Whether NumPy is done with a value before an operation on it would have been recorded."""
    kind = type(value)
    if kind is _array:
        return value._plain is not None or (value._memory.node is None and value.type.size < policy.SMALL_ARRAY)
    return kind is not np.ndarray or value.size < policy.SMALL_ARRAY


def _recorded(ufunc: np.ufunc, inputs: tuple) -> ndarray:
    given: list[Any] = []
    others = False
    for value in inputs:
        kind = type(value)
        if kind is _array:
            memory = value._memory
            if memory.node is not None and not value._region:
                given.append(memory.node)
            else:
                given.append(PENDING.of_part(memory, value._region))
        elif kind is np.ndarray:
            given.append(PENDING.of_copy(value))
        else:
            given.append(None)
            others = True
    if others:
        dtypes = [n.type.dtype for n in given if n is not None]
        given = [PENDING.number_of(v, ufunc, dtypes) if n is None else n for v, n in zip(inputs, given)]
    key = ufunc, *given
    node = PENDING.memo.get(key)
    if node is None:
        _check(ufunc, inputs, given)
        node = PENDING.memo[key] = b.elementwise(ufunc, *given)
    if not node.type.shape:
        _check_scalars(inputs, given)
        return _made_of(PENDING.hold(Memory(None), node), scalar=True)
    return _made_of(PENDING.hold(Memory(None), node))


def _check(ufunc: np.ufunc, inputs: tuple, nodes: list[Node]) -> None:
    """Leave to NumPy what depends on values, powers of integers that raise, and to SciPy what may have other errors."""
    if elementwise_op(ufunc).library == SPECIAL:
        raise NotLazy
    if ufunc in _INT_POWERS and all(n.type.dtype.kind in "iub" for n in nodes):
        exponent = inputs[-1]
        if type(exponent) is not int or exponent < 0:
            raise NotLazy


def _check_scalars(inputs: tuple, nodes: list[Node]) -> None:
    """Leave to NumPy what it does to scalars alone: integers, and what is there already."""
    if any(n.type.dtype.kind in "biu" for n in nodes) or all(
        type(v) is not _array or (v._memory.node is None and v._memory.type.shape == ()) for v in inputs
    ):
        raise NotLazy


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The ufunc, or a method of it, where a lazy array is among the arguments."""
    if method == "__call__":
        out = kwargs.get("out")
        try:
            if not kwargs and ufunc.nout == 1 and ufunc.signature is None:
                return record(ufunc, inputs)
            if ufunc is np.matmul and not kwargs:
                return _built(NUMPY_FUNCTIONS[ufunc], ufunc, inputs, {})
            if out is not None and len(kwargs) == 1 and type(out[0]) is _array and ufunc.signature is None:
                return into(out[0], record(ufunc, inputs))
        except NotLazy:
            pass
        return _with_out(ufunc, inputs, kwargs, out or ())
    function = getattr(ufunc, method)
    if method == "at":
        return eager(function, inputs, kwargs, inputs[:1])
    if function in NUMPY_FUNCTIONS and "out" not in kwargs:
        try:
            return _built(NUMPY_FUNCTIONS[function], function, inputs, kwargs)
        except NotLazy:
            pass
    return _with_out(function, inputs, kwargs, kwargs.get("out") or ())


def _with_out(function: Callable[..., Any], inputs: tuple, kwargs: dict[str, Any], out: tuple) -> Any:
    made = eager(function, inputs, kwargs, out)
    if type(made) is tuple and len(made) == len(out):
        return tuple([m if o is None else o for m, o in zip(made, out)])
    return out[0] if len(out) == 1 and isinstance(out[0], (_array, np.ndarray)) else made


def into(target: ndarray, result: ndarray) -> ndarray:
    """Let `target` have the value of `result`, as NumPy does with ``out``.

    Raises
    ------
    NotLazy
        If it does not fit.
    """
    with PENDING.lock:
        node, whole = result._node(), target.type
        if target._scalar or node.shape != whole.shape or not np.can_cast(node.dtype, whole.dtype, "same_kind"):
            raise NotLazy
        if node.dtype.kind == "c" and whole.dtype.kind != "c":
            raise NotLazy
        store(target, b.cast(node, whole.dtype))
    return target


def store(target: ndarray, node: Node) -> None:
    """Let `target` have the value of a node of its dtype and shape."""
    memory, region = target._memory, target._region
    if not PENDING.assign(memory, region, node):
        value = PENDING.read(PENDING.hold(Memory(None), PENDING.fresh(node)))
        written = PENDING.read(memory, region)
        PENDING.written(written)
        written[...] = value


# -- functions


def exact(made: Any) -> Any:
    """What NumPy gives where a lazy array stands for a scalar, as for sums over all axes: one that is computed.

    People compare its type, write it to a file, use it as a key: only one of NumPy's own is right everywhere. A program
    that goes on with it is computed in pieces; with ``keepdims=True`` it would be one.
    """
    if type(made) is list or type(made) is tuple:
        return type(made)(map(exact, made))
    return made._read() if type(made) is _array and made._scalar else made


def call_function(func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``func(*args, **kwargs)``, where a lazy array is among the arguments."""
    if _is_short_fold(func, args, kwargs):
        with PENDING.lock:
            return func(PENDING.read(args[0]._memory, args[0]._region))
    return exact(_called(func, args, kwargs))


def _called(func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    if func in METADATA:
        return func(*_phantoms(args), **_phantoms(kwargs))
    if func is np.astype and args:
        return args[0].astype(args[1], copy=kwargs.get("copy", True))
    if func.__name__ in MUTATING and args:
        return eager(func, args, kwargs, args[:1])
    out, _, _ = take_out(func, args, kwargs)
    if out is not None:
        outs = out if type(out) is tuple else (out,)
        made = eager(func, args, kwargs, outs)
        return out if type(out) is not tuple else made
    build = NUMPY_FUNCTIONS.get(func)
    if build is not None and plains(args) is None:
        try:
            return _built(build, func, args, kwargs)
        except NotLazy:
            pass
    targets = args[:1] if kwargs.get("overwrite_input") else ()
    return eager(func, args, kwargs, targets)


def _is_short_fold(func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call folds all of an array that is known, of a size at which NumPy is faster: nothing fuses."""
    if (
        func not in ONE_PASS
        or len(args) != 1
        or type(args[0]) is not _array
        or any(v is not None for v in kwargs.values())
    ):
        return False
    is_known = args[0]._plain is None and args[0]._memory.node is None
    return is_known and args[0].type.size < policy.KNOWN_FOLD


def _phantoms(value: Any) -> Any:
    def phantom(leaf: Any) -> Any:
        return b.phantom(leaf.shape, leaf.dtype) if type(leaf) is _array else leaf

    return mapped(value, phantom)


def _built(build: Callable[..., Any], func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """What a row of the op table makes of a call.

    Raises
    ------
    NotLazy
        If NumPy has to compute it at once.
    """
    with PENDING.lock:
        try:
            if func in VIEW_FUNCTIONS and args and type(args[0]) is _array:
                if args[0]._scalar:
                    raise NotLazy
                found = views_of(build, func, args[0], args[1:], kwargs)
                if found is not None:
                    return found
            PENDING.begin()
            operands: list[Node] = []
            args, kwargs, key = _taken(args, kwargs, operands)
            if func in _MAKE_ORDERED and not all(map(PENDING.is_in_c_order, operands)):
                raise NotLazy  # in an order that NumPy knows
            made = PENDING.memo.get((func, key))
            if made is None:
                made = PENDING.memo[func, key] = _checked(build(*args, **kwargs), operands)
            if made in operands:  # a copy of an array
                return _made_of(PENDING.hold(Memory(None), PENDING.fresh(made)))
            return _held(made)
        except FAILURES:
            raise NotLazy from None


def _taken(args: tuple, kwargs: dict[str, Any], operands: list[Node]) -> tuple[tuple, dict[str, Any], Any]:
    """The arguments of a call with nodes for arrays, which `operands` gain, and what tells the call from others."""
    pairs = [_node_and_key(value, operands) for value in args]
    named = {name: _node_and_key(value, operands) for name, value in kwargs.items()}
    key = (*[k for _, k in pairs], *[(name, k) for name, (_, k) in named.items()])
    return tuple([v for v, _ in pairs]), {name: v for name, (v, _) in named.items()}, key


def _node_and_key(value: Any, operands: list[Node]) -> tuple[Any, Any]:
    """An argument with nodes for arrays, and what tells it from others: 1, 1.0 and True are three, 0.0 and -0.0 two."""
    kind = type(value)
    if kind is _array or kind is np.ndarray:
        node = value._node() if kind is _array else PENDING.of_copy(value)
        operands.append(node)
        return node, node
    if kind is tuple or kind is list:
        pairs = [_node_and_key(part, operands) for part in value]
        return kind([v for v, _ in pairs]), (kind, *[k for _, k in pairs])
    if kind in (bool, int, float, complex, str, type(None)) or isinstance(value, np.generic):
        return value, (kind, repr(value))
    if kind is type or isinstance(value, (np.dtype, type(np._NoValue))):
        return value, value
    raise NotLazy


def _checked(made: Any, operands: list[Node]) -> Any:
    """Nodes that a row has made, none of which may fail, or let NumPy's Python code warn, once it is computed."""
    stack = list(made) if isinstance(made, (list, tuple)) else [made]
    seen = set(operands)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.kind in _LATE and node.op.fold is None:
            raise NotLazy
        warns = node.op.warns(node) if node.op.warns is not None else None
        if warns is not None and not (warns.op.name == "constant" and not warns["value"].value):
            raise NotLazy
        stack.extend(node.args)
    return made


def _held(made: Any) -> Any:
    """Lazy arrays that hold what nodes give."""
    if isinstance(made, (list, tuple)):
        return type(made)(map(_held, made))
    scalar = made.shape == () and not made.op.view_like
    return _made_of(PENDING.hold(Memory(None), PENDING.fresh(made)), scalar=scalar)
