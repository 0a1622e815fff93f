"""NumPy's ufuncs on lazy arrays: their nodes are recorded, or NumPy computes them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..ir import build as b
from ..ir.node import Node
from ..ir.ops.optable import SPECIAL
from ..ir.ops.rows import NUMPY_FUNCTIONS
from ..ir.ops.ufuncs import elementwise_op
from .array import made_of, ndarray
from .calls import FAILURES, NUMBERS, built, eager, exact, largest, lazy, plains, store
from .pending import PENDING, NotLazy

_INT_POWERS = frozenset({np.power, np.float_power})


def record(ufunc: np.ufunc, inputs: tuple) -> ndarray | None:
    """``ufunc(*inputs)``; None if NumPy has to compute it at once, perhaps to say what is wrong with it."""
    with PENDING.lock:
        node = recorded(ufunc, inputs)
        return None if node is None else made_of(PENDING.made(node), None, not node.type.shape)


def is_worthwhile(operands: tuple) -> bool:
    """Whether recording an operation gains anything: NumPy is done with small arrays that are known before it is."""
    for value in operands:
        kind = type(value)
        if kind is ndarray:
            if value._plain is None:
                held, part = value._held, value._part
                if held.node is not None or (held.value if part is None else part).size >= policy.SMALL_ARRAY:
                    return True
        elif kind is np.ndarray and value.size >= policy.SMALL_ARRAY:
            return True
    return False


def recorded(ufunc: np.ufunc, inputs: tuple) -> Node | None:
    """The node of what `record` gives, or None; who calls it holds the lock."""
    if not is_worthwhile(inputs) or (PENDING.vain.left and PENDING.is_vain(largest(inputs))):
        return None
    try:
        PENDING.begin(None)
        given: list[Any] = []
        chars = ""
        for value in inputs:
            kind = type(value)
            if kind is ndarray:
                node = value._node()
            elif kind is np.ndarray:
                node = PENDING.of_copy(value)
            else:
                given.append(None)
                continue
            given.append(node)
            chars += node.type.dtype.char
        if len(chars) < len(given):
            given = [PENDING.number_of(v, ufunc, chars) if n is None else n for v, n in zip(inputs, given)]
        key = ufunc, *given
        found = PENDING.memo.get(key)
        if found is None:
            _check(ufunc, inputs, given)
            found = PENDING.memo[key] = b.elementwise(ufunc, *given)
        if not found.type.shape:
            _check_scalars(inputs, given)
        return found
    except FAILURES:
        return None


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
        type(v) is not ndarray or (v._memory.node is None and v._memory.type.shape == ()) for v in inputs
    ):
        raise NotLazy


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The ufunc, or a method of it, where a lazy array is among the arguments."""
    found, out = None, kwargs.get("out") or ()
    if method == "__call__":
        if not kwargs and ufunc.nout == 1 and ufunc.signature is None:
            found = record(ufunc, inputs)
        elif ufunc is np.matmul and not kwargs:
            found = built(NUMPY_FUNCTIONS[ufunc], ufunc, inputs, {})
        elif out and len(kwargs) == 1 and type(out[0]) is ndarray and ufunc.signature is None:
            with PENDING.lock:
                found = into(out[0], recorded(ufunc, inputs))
        return _with_out(ufunc, inputs, kwargs, out) if found is None else found
    function = getattr(ufunc, method)
    if method == "at":
        return eager(function, inputs, kwargs, inputs[:1])
    if function in NUMPY_FUNCTIONS and "out" not in kwargs:
        found = built(NUMPY_FUNCTIONS[function], function, inputs, kwargs)
    return _with_out(function, inputs, kwargs, out) if found is None else found


def _with_out(function: Callable[..., Any], inputs: tuple, kwargs: dict[str, Any], out: tuple) -> Any:
    made = eager(function, inputs, kwargs, out)
    if type(made) is tuple and len(made) == len(out):
        return tuple([m if o is None else o for m, o in zip(made, out)])
    return out[0] if len(out) == 1 and isinstance(out[0], (ndarray, np.ndarray)) else made


def into(target: ndarray, node: Node | None) -> ndarray | None:
    """Let `target` have the value of a node, as NumPy does with ``out``; who calls it holds the lock.

    None if there is no node, its value does not fit, or NumPy refuses to write.
    """
    whole, memory, part = target.type, target._memory, target._part
    if node is None or target._scalar or node.type.shape != whole.shape or not memory.is_writable(part):
        return None
    if node.type.dtype is not whole.dtype:
        if not np.can_cast(node.type.dtype, whole.dtype, "same_kind"):
            return None
        node = b.cast(node, whole.dtype)
    store(memory, part, node)
    return target


def array_ufunc(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's protocol for ufuncs (NEP 13)."""
    if method == "__call__" and not kwargs:
        if self._plain is not None:
            given = [self._plain] if len(inputs) == 1 else plains(inputs)
            if given is not None:
                return lazy(ufunc(*given), scalars=ufunc.signature is None)
        if ufunc.nout == 1 and ufunc.signature is None and _OURS.issuperset(map(type, inputs)):
            made = record(ufunc, inputs)
            return _with_out(ufunc, inputs, kwargs, ()) if made is None else made
    if not all(map(_is_ours, inputs)) or not all(map(_is_ours, kwargs.get("out", ()))):
        return NotImplemented
    made = call_ufunc(ufunc, method, inputs, kwargs)
    return made if method == "__call__" and ufunc.signature is None else exact(made)


_OURS = NUMBERS | {ndarray, np.ndarray}


def _is_ours(value: Any) -> bool:
    """Whether no other class has a say in what becomes of `value`."""
    return (
        type(value) is ndarray
        or isinstance(value, np.generic)
        or getattr(type(value), "__array_ufunc__", _NUMPYS) is _NUMPYS
    )


_NUMPYS = np.ndarray.__array_ufunc__
