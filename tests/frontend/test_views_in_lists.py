"""Lists of arrays that are parts of other arrays: who sees what is written, and who shares memory, is as in Python."""

import numpy as np
import pytest
from test_element_loops import function_of

import jitrt

BODIES = {
    "a new one": "made.append(a[k] * 1.0)",
    "a part of each": "m = a[k] * 1.0; made.append(m[1])",
    "two parts of each": "m = a[k] * 1.0; made.append(m[0]); made.append(m[1])",
    "overlapping parts of each": "m = a[k, 0] * 1.0; made.append(m[1:]); made.append(m[:-1])",
    "a part of one from outside": "made.append(first[k % 3])",
    "one that changes afterwards": "m = a[k] * 1.0; v = m[0]; made.append(v); v[0] = k",
    "one whose whole changes afterwards": "m = a[k] * 1.0; made.append(m[0]); m *= 2",
    "one whose whole changed before": "m = a[k] * 1.0; m[1, 0] = 7; made.append(m[1])",
    "the one before": "m = a[k] * 1.0; made.append(first[1]); first = m",
    "sometimes the one before": "m = a[k] * 1.0; made.append(first[1] if k % 2 else m[2]); first = m",
    "the same part twice": "m = a[k] * 1.0; v = m[1]; made.append(v); other.append(v) if k == 3 else None",
    "parts in two lists": "m = a[k] * 1.0; made.append(m[1]); other.append(m[2])",
    "reversed": "m = a[k, 0] * 1.0; made.append(m[::-1])",
    "columns": "m = a[k] * 1.0; made.append(m[:, 1])",
    "a part of a part": "m = a[k] * 1.0; v = m[1:]; w = v[0]; made.append(w[2:])",
}
ENDS = {"the list": "made", "both": "made, other", "the last one": "made, first", "its elements": "made[0], made[-1]"}


def seen(value):
    """What the arrays in a result hold, how they lie in memory, and which of them share it."""
    arrays = []

    def walk(part):
        arrays.append(part) if isinstance(part, np.ndarray) else [walk(p) for p in part]

    walk(value)
    shared = [[np.shares_memory(x, y) for y in arrays] for x in arrays]
    return [(x.tolist(), x.strides, x.flags.writeable) for x in arrays], shared


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_parts_of_arrays(body, end):
    head = "def f(a):\n    made, other, first = [], [], a[0] * 3.0\n    for k in range(len(a)):\n        "
    function = function_of(f"{head}{body}\n    first[0, 0] = 9\n    return {end}\n")
    fast, a = jitrt.jit(function), np.random.default_rng(1).random((9, 3, 4))
    for given in (a, a[:1], a[::2].copy(), a):
        assert seen(fast(given.copy())) == seen(function(given.copy()))
