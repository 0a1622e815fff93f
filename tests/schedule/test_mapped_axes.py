"""Which axis of a stored array an axis of a view runs over."""

import numpy as np
import pytest

from jitrt.ir import build as b
from jitrt.ir.ops.movement import getitem
from jitrt.ir.types import ArrayType
from jitrt.schedule.layout import Layouts, mapped_axes

X = b.input_node(0, ArrayType(np.dtype(np.float64), (3, 4, 5)))
FLAT = b.input_node(0, ArrayType(np.dtype(np.float64), (12,)))


def reshape(x, *shape):
    return b.view("reshape", x, shape=shape)


CASES = {
    "itself": (X, (0, 1, 2)),
    "transposed": (b.view("transpose", X, axes=(2, 0, 1)), (2, 0, 1)),
    "with a new axis": (b.view("expand_dims", X, axis=(1,)), (0, None, 1, 2)),
    "broadcast": (b.view("broadcast_to", X, shape=(7, 3, 4, 5)), (None, 0, 1, 2)),
    "a part": (getitem(X, (slice(None), slice(1, None))), (0, None, 2)),
    "one element of an axis": (getitem(X, (slice(None), 2)), (0, 2)),
    "backwards": (getitem(X, (slice(None, None, -1),)), (None, 1, 2)),
    "merged": (reshape(X, 12, 5), (None, 2)),
    "split": (reshape(X, 3, 2, 2, 5), (0, None, None, 2)),
    "merged and split": (reshape(X, 4, 3, 5), (None, None, 2)),
    "rows from the second element on": (reshape(getitem(reshape(X, 60), (slice(1, 46),)), 3, 3, 5), (None, None, None)),
    "rows of a flat array": (reshape(FLAT, 3, 4), (None, None)),
    "a diagonal": (b.view("diagonal", getitem(X, (slice(None), slice(3))), offset=0, axis1=0, axis2=1), (2, None)),
}


@pytest.mark.parametrize("case", CASES)
def test_mapped_axes(case):
    view, expected = CASES[case]
    layouts = Layouts({})
    assert mapped_axes(view, layouts) == expected


@pytest.mark.parametrize("case", CASES)
def test_an_axis_that_is_mapped_decides_alone(case):
    """At index i of the view there are elements of index i of the array, and no others."""
    view, expected = CASES[case]
    base = FLAT if case == "rows of a flat array" else X
    places = np.indices(base.shape)
    layout = Layouts({})[view]
    for axis, of in enumerate(expected):
        if of is not None:
            shown = np.lib.stride_tricks.as_strided(
                places[of].astype(np.float64).ravel()[layout.offset // 8 :], view.shape, layout.strides
            )
            wanted = np.arange(view.shape[axis]).reshape([-1 if k == axis else 1 for k in range(shown.ndim)])
            np.testing.assert_array_equal(shown, np.broadcast_to(wanted, shown.shape))
