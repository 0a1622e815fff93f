"""Elements of an array that a boolean array chooses, before NumPy gathers them.

What is computed of them element by element is computed of the whole array, and folds take the mask along: only where
more than that is asked for, a call of NumPy's gathers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen
from ...ir import build as b
from ...ir.node import Node
from ...ir.ops.folds import FOLD_IDENTITY, REDUCE_MAXIMUM, REDUCE_MINIMUM, REDUCE_OR, reduce
from .operators import is_tracer

if TYPE_CHECKING:
    from .tracer import Tracer


@frozen(eq=False)
class Choice:
    """Elements of `array` chosen by the boolean array `mask`, not yet gathered.

    `condition` is the mask in a shape that broadcasts with the array.
    """

    array: Node
    condition: Node
    mask: Node

    @property
    def ndim(self) -> int:
        return self.array.type.ndim - self.mask.type.ndim + 1


_NUMBERS = (bool, int, float, complex, np.generic)
FOLDS = {
    np.sum: None, np.prod: None, np.any: None, np.all: None, np.mean: None, np.var: None, np.std: None,
    np.max: REDUCE_MAXIMUM, np.min: REDUCE_MINIMUM,
}  # fmt: skip
"""Those that a choice of elements takes part in where it is; of extremes the folds, which need one element at least."""


def common_choice(inputs: tuple) -> Choice | None:
    """The mask by which all of `inputs` that are no numbers are chosen from arrays of one shape."""
    choices = [i._choice for i in inputs if is_choice(i)]
    if not choices:
        return None
    same = all(c.mask is choices[0].mask and c.array.shape == choices[0].array.shape for c in choices)
    others = (i for i in inputs if not is_choice(i))
    same = same and all(isinstance(i, _NUMBERS) or (is_tracer(i) and not i.shape) for i in others)
    return choices[0] if same else None


def fold(function: Callable[..., Any], array: Tracer, choice: Choice, axis: Any = None, ddof: int = 0) -> Tracer | None:
    """``function(array[mask])`` as a fold of the whole array; None where that is not the same.

    sum x[m]  →  sum (where m x 0), and so on: what is not chosen is the neutral element, in a fold of any order.
    """
    x, trace = choice.array, array._trace
    every = tuple(range(x.type.ndim))
    if type(axis) is int and axis in (0, -choice.ndim):
        axes = every[: choice.mask.type.ndim]
    elif axis is None:
        axes = every
    else:
        return None
    given: dict[str, Any] = {}
    if function in (np.mean, np.var, np.std) and (x.dtype.kind not in "iufc" or x.dtype.char == "g"):
        return None
    if x.dtype.char == "e" and function in (np.sum, np.prod, np.mean, np.var, np.std):
        return None  # with ``where`` NumPy rounds to half precision wherever elements are left out
    if function in (np.var, np.std):
        given["ddof"] = ddof
    if (extreme := FOLDS[function]) is not None:
        some = reduce(REDUCE_OR, choice.mask, every[: choice.mask.type.ndim])
        if x.dtype.kind not in "biuf" or trace.loops or not trace.assume(some):
            return None
        given["initial"] = FOLD_IDENTITY[extreme](x.dtype)
    return function(array._new(x), axis=axes, where=array._new(choice.condition), **given)


def is_choice(value: Any) -> bool:
    return is_tracer(value) and value._choice is not None


def chosen(array: Tracer, choice: Choice) -> Tracer:
    """The elements of `array` that the mask of `choice` chooses."""
    array._choice = Choice(array._node, choice.condition, choice.mask)
    return array


def harmless(dtype: np.dtype) -> Node:
    """What stands in the places of elements that are not chosen: few functions have no value there."""
    return b.constant(dtype.type(1) if dtype.kind in "biufc" else np.zeros((), dtype)[()])
