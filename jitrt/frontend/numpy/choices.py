"""Elements of an array that a boolean array chooses, before NumPy gathers them.

What is computed of them element by element is computed of the whole array, and folds take the mask along: only where
more than that is asked for, a call of NumPy's gathers them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen
from ...ir import build as b
from ...ir.node import Node
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
FOLDS = frozenset({np.sum, np.prod, np.any, np.all})
"""Those that a choice of elements takes part in where it is."""


def common_choice(inputs: tuple) -> Choice | None:
    """The mask by which all of `inputs` that are no numbers are chosen from arrays of one shape."""
    choices = [i._choice for i in inputs if is_choice(i)]
    if not choices:
        return None
    same = all(c.mask is choices[0].mask and c.array.shape == choices[0].array.shape for c in choices)
    others = (i for i in inputs if not is_choice(i))
    return choices[0] if same and all(isinstance(i, _NUMBERS) or _is_scalar(i) for i in others) else None


def is_choice(value: Any) -> bool:
    return is_tracer(value) and value._choice is not None


def _is_scalar(value: Any) -> bool:
    return is_tracer(value) and value._choice is None and not value.shape


def chosen(array: Tracer, choice: Choice) -> Tracer:
    """The elements of `array` that the mask of `choice` chooses."""
    array._choice = Choice(array._node, choice.condition, choice.mask)
    return array


def harmless(dtype: np.dtype) -> Node:
    """What stands in the places of elements that are not chosen: few functions have no value there."""
    return b.constant(dtype.type(1) if dtype.kind in "biufc" else np.zeros((), dtype)[()])
