"""NumPy's functions on lazy arrays: those of the op table are recorded, and NumPy computes the others at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import policy
from ..frontend.numpy.assignment import place_of_out, take_out
from ..frontend.numpy.functions import LIKE_FUNCTIONS
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.optable import METADATA, MUTATING, Kind, NotCovered
from ..ir.ops.reductions import ONE_PASS
from ..ir.ops.rows import NUMPY_FUNCTIONS, VIEW_FUNCTIONS
from ..values.kinds import mapped
from . import direct
from .memory import Memory
from .parts import Itself, Part, known_of_function, of_function
from .pending import KINDS, PENDING, NotLazy

if TYPE_CHECKING:
    from .array import ndarray

# What may go wrong with an operation whose node is asked for: NumPy says it at the same line.
FAILURES = (NotLazy, NotCovered, TypeError, ValueError, IndexError, OverflowError)
# Kinds of operations that fail by their values, or that only a trace makes.
_LATE = frozenset({Kind.GATHER, Kind.CHECK, Kind.CONTROL, Kind.HOST})
_DTYPES = frozenset(map(np.dtype, np.typecodes["All"])) - set(map(np.dtype, "SUVOMm"))
NUMBERS = frozenset({bool, int, float, complex, np.float64, np.int64, np.bool_, np.float32, np.complex128})
# Arguments that have no arrays in them.
_SIMPLE = NUMBERS | {type(None), str, slice, type(Ellipsis), type, type(np.dtype(float)), type(np.dtype(int))}
_OURS = _SIMPLE  # and arrays
_array: Any = None  # the class of lazy arrays, which `array` sets: it needs this module
_made_of: Any = None
_plain_of: Any = None


def set_class(lazy: type, made_of: Callable[..., Any], plain_of: Callable[..., Any]) -> None:
    """Say what class lazy arrays are of, and what makes one, of a memory and of a small array."""
    global _array, _made_of, _plain_of, _OURS
    _array, _made_of, _plain_of = lazy, made_of, plain_of
    _OURS = _SIMPLE | {lazy, np.ndarray}


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


def has_no_others(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call is of a lazy array, or of several in a row, and no other class has a say in what becomes of it."""
    first, *others = args
    if type(first) is list or type(first) is tuple:
        if not first or type(first[0]) is not _array or not _OURS.issuperset(map(type, first)):
            return False
    elif type(first) is not _array:
        return False
    return _OURS.issuperset(map(type, others)) and (not kwargs or _OURS.issuperset(map(type, kwargs.values())))


def lazy(value: Any, scalars: bool = True, is_shared: bool = False, small: bool = True) -> Any:
    """`value` with lazy arrays in place of NumPy's, and of its scalars; if wanted, only in place of large ones.

    Programs for the array API standard get no others: it mixes no namespaces.

    Arrays that share memory with one that something pending may have borrowed are no small ones.
    """
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype not in _DTYPES:
            return value
        if value.size < policy.SMALL_ARRAY and not (is_shared and value.base is not None):
            return _plain_of(value) if small or direct.keeps_small else value
        return _made_of(Memory(value))
    if isinstance(value, np.generic):
        return _made_of(Memory(value), scalar=True) if scalars and value.dtype.kind in KINDS else value
    if kind is list or kind is tuple:
        return kind([lazy(v, scalars, is_shared, small) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[lazy(v, scalars, is_shared, small) for v in value])
    return value


def small_part(found: np.ndarray) -> Any:
    """A small part of a large array, in the same memory: NumPy's, with which a loop goes on without any delay."""
    return _plain_of(found) if direct.keeps_small else found


def unless_small(made: Any) -> Any:
    """A lazy array, or NumPy's in place of a small one, with which NumPy alone is faster; and NumPy's scalars."""
    is_small = type(made) is _array and made._plain is not None and not direct.keeps_small
    return made._plain if is_small else exact(made)


def eager(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], targets: Iterable[Any] = ()) -> Any:
    """What NumPy makes of a call at once; it writes into `targets`."""
    with PENDING.lock:
        for target in targets:
            if type(target) is _array:
                PENDING.written(target._read())
            elif isinstance(target, np.ndarray):
                PENDING.written(target)
        is_shared = False
        is_foreign = any(map(callable, args)) or any(map(callable, kwargs.values()))  # code that may keep what it sees

        def read(leaf: Any) -> Any:
            nonlocal is_shared
            if type(leaf) is not _array:
                return leaf
            is_shared |= leaf._plain is None
            return leaf._handed_out() if is_foreign else leaf._read()

        args = tuple([v if type(v) in _SIMPLE else read(v) if type(v) is _array else mapped(v, read) for v in args])
        kwargs = mapped(kwargs, read) if kwargs else kwargs
    return lazy(function(*args, **kwargs), is_shared=is_shared)


def store(memory: Memory, part: Part | None, node: Node) -> None:
    """Let a part of a memory, or all of it, have the value of a node of its dtype and shape."""
    if not PENDING.assign(memory, part, node):
        value = PENDING.read(PENDING.made(PENDING.fresh(node)))
        written = PENDING.read(memory, part)
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
    if func in ONE_PASS and _is_short_fold(args, kwargs):
        with PENDING.lock:
            return func(PENDING.read(args[0]._memory, args[0]._part))
    made = _called(func, args, kwargs)
    return made if type(made) is _array and not made._scalar else exact(made)


def _called(func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    build, most = _row(func)
    if build is not None and len(args) <= most and "out" not in kwargs:
        is_large = (args and type(args[0]) is _array and args[0]._plain is None) or plains(args) is None
        found = built(build, func, args, kwargs) if is_large else None
        if found is not None:
            return found
        return eager(func, args, kwargs, args[:1] if kwargs.get("overwrite_input") else ())
    if func is np.size:  # of whose arguments the axes are values
        return np.size(*_phantoms(args[:1]), *args[1:], **kwargs)
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
    if build is not None and plains(args) is None:  # its `out` is None
        found = built(build, func, args, kwargs)
        if found is not None:
            return found
    return eager(func, args, kwargs, args[:1] if kwargs.get("overwrite_input") else ())


@lru_cache(maxsize=1024)
def _row(func: Callable[..., Any]) -> tuple[Any, int]:
    """What makes nodes of a call, or None, and how many arguments in a row are none for `out`."""
    build = NUMPY_FUNCTIONS.get(func)
    if func in METADATA or func is np.astype or func.__name__ in MUTATING:
        build = None
    place = place_of_out(func)
    return build, sys.maxsize if place is None else place


def _is_short_fold(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call folds all of an array that is known, of a size at which NumPy is faster: nothing fuses."""
    if len(args) != 1 or type(args[0]) is not _array:
        return False
    is_known = args[0]._plain is None and args[0]._held.node is None
    return is_known and args[0].size < policy.KNOWN_FOLD and all(v is None for v in kwargs.values())


def _phantoms(value: Any) -> Any:
    def phantom(leaf: Any) -> Any:
        return b.phantom(leaf.shape, leaf.dtype) if type(leaf) is _array else leaf

    return mapped(value, phantom)


def built(build: Callable[..., Any], func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """What a row of the op table makes of a call; None if NumPy has to compute it at once."""
    is_view = func in VIEW_FUNCTIONS and args and type(args[0]) is _array
    if not is_view and PENDING.vain.left and PENDING.is_vain(largest(args)):
        return None
    with PENDING.lock:
        try:
            if is_view:
                found = _views(build, func, args[0], args[1:], kwargs)
                if found is not None:
                    return found
            PENDING.begin(0 if is_view else None)
            entries: list[Any] = [func]
            operands: list[Node] = []
            _add_keys(args, entries, operands)
            if kwargs:
                entries.extend(kwargs)
                _add_keys(kwargs.values(), entries, operands)
            if func in LIKE_FUNCTIONS and not all(map(PENDING.is_in_c_order, operands)):
                raise NotLazy  # in an order that NumPy knows
            key = tuple(entries)
            recipe = PENDING.memo.get(key)
            if recipe is None:
                nodes = iter(operands)
                made = build(*_nodes(args, nodes), **{k: _nodes((v,), nodes)[0] for k, v in kwargs.items()})
                recipe = PENDING.memo[key] = _recipe(_checked(made, operands), operands)
            return _arrays(recipe)
        except FAILURES:
            return None


def largest(operands: Iterable[Any]) -> int:
    """The number of elements of the largest lazy array."""
    found = 0
    for value in operands:
        if type(value) is _array:
            size = value.size
            found = size if size > found else found
    return found


def _views(build: Callable[..., Any], func: Callable[..., Any], array: ndarray, args: tuple, kwargs: Any) -> Any:
    """Views that a row makes of an array: parts of the same memory; None where NumPy copies."""
    if array._scalar:
        raise NotLazy
    part = array._part or PENDING.root(array._memory)
    entries: list[Any] = [func]
    try:
        _add_keys(args, entries, None)
        _add_keys(kwargs.values(), entries, None)
    except NotLazy:
        return _seen(array, of_function(part, build, func, args, kwargs))
    key = (*entries, *kwargs)
    return _seen(array, known_of_function(part, key, build, func, args, kwargs))


def _seen(array: ndarray, found: Any) -> Any:
    if type(found) is Part:
        return array._view(found)
    if type(found) is list or type(found) is tuple:
        return type(found)([_seen(array, part) for part in found])
    return array if found is Itself else None


def _add_keys(values: Iterable[Any], entries: list[Any], operands: list[Node] | None) -> None:
    """Add what tells arguments from others: 1, 1.0 and True are three, 0.0 and -0.0 two.

    `operands` gain the nodes of arrays, unless it is None.

    Raises
    ------
    NotLazy
        If there are values among them of which the graph has no nodes, or arrays that are not wanted.
    """
    for value in values:
        kind = type(value)
        if kind is _array and operands is not None:
            node = value._node()
            entries.append(node)
            operands.append(node)
        elif kind in _BY_VALUE:
            entries.append(kind)
            entries.append(value)
        elif kind is tuple or kind is list:
            parts: list[Any] = [kind]
            _add_keys(value, parts, operands)
            entries.append(tuple(parts))
        elif kind is np.ndarray and operands is not None:
            node = PENDING.of_copy(value)
            entries.append(node)
            operands.append(node)
        elif kind is float or kind is complex or isinstance(value, np.generic):
            entries.append(kind)
            entries.append(repr(value))
        elif isinstance(value, (np.dtype, _NoValue)):
            entries.append(value)
        else:
            raise NotLazy


_NoValue = type(np._NoValue)
_BY_VALUE = frozenset({int, bool, str, type(None), type})


def _nodes(values: tuple | list, nodes: Iterator[Node]) -> Any:
    """Arguments with these nodes for arrays."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is _array or kind is np.ndarray:
            value = next(nodes)
        elif kind is tuple or kind is list:
            value = _nodes(value, nodes)
        found.append(value)
    return type(values)(found)


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


def _recipe(made: Any, operands: list[Node]) -> Any:
    """What arrays are made of nodes: for each a node of its own, and whether it is one of NumPy's scalars."""
    if isinstance(made, (list, tuple)):
        return [type(made), *[_recipe(m, operands) for m in made]]
    is_copy = made in operands
    return PENDING.fresh(made), made.shape == () and not made.op.view_like and not is_copy


def _arrays(recipe: Any) -> Any:
    """Lazy arrays that hold what nodes give."""
    if type(recipe) is tuple:
        node, scalar = recipe
        return _made_of(PENDING.made(node), None, scalar)
    kind, *parts = recipe
    return kind(map(_arrays, parts))
