"""Arrays and lists that a loop makes longer by new ones, lists sorted by a key, and values that are None at first."""

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

X = np.random.default_rng(0).normal(size=9)
LONG = np.random.default_rng(1).normal(size=70)

# Bodies of functions of an array `x` and an integer `n`.
BODIES = {
    "np.append": """
    out, sums = np.array([]), np.append(x[:2], [1.0, n])
    for v in x:
        if v > 0:
            out = np.append(out, v * 2)
        sums = np.append(sums, sums[-1] + v)
    return out, sums, np.append(x, 1), np.append(x.reshape(1, -1), x[0])""",
    "np.append of rows": """
    rows, total = np.empty((0, 2)), 0.0
    for k in range(n):
        rows = np.append(rows, [[x[k % len(x)], k]], axis=0)
        total += rows[k, 0] * rows[-1, 1]
    return rows, total""",
    "np.vstack and np.hstack": """
    path, wide = np.empty((0, 2)), x.reshape(-1, 1)
    for k in range(n):
        path = np.vstack((path, [x[k % len(x)] * 2, 1.5]))
        wide = np.hstack([wide, wide[:, k:k + 1] * x[0]])
    return path, wide, np.vstack([x, x.reshape(1, -1) * 2])""",
    "sums of lists": """
    path, back, steps = [x[0]], [], [1] + [2, 3]
    for k in range(n):
        path = path + [path[-1] + x[k % len(x)]]
        back = [k] + back + back[:1]
        steps += steps[:2] + [k]
    return path + path, back, steps, path[:2] + list(x), (path + [x[1]])[-1]""",
    "sums of lists of lists": """
    paths, row = [[0]], [1]
    for k in range(n):
        paths = paths + [paths[-1] + [k]]
        row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]
    row.append(7)
    return paths, row""",
    "a list sorted by a key": """
    values, pairs = [float(v) for v in x], [(k % 4, v) for k, v in enumerate(x)]
    values.sort(key=lambda v: abs(v - 0.1), reverse=True)
    pairs.sort(key=lambda p: -p[0])
    first = pairs[0]
    pairs.sort(reverse=True)
    return values, pairs, first""",
    "None until it is assigned": """
    entry, gain, log, last = None, 0.0, [], None
    for k, v in enumerate(x):
        if entry is None and v < 0:
            entry = v
        elif entry is not None and v > 0 and (k > 10 or v > entry * 0.5):
            gain += v - entry
            log.append(k)
            entry = None
        step = v - last if k > 0 else 0.0
        if k > 1 and last < step:
            gain += step
        last = v
    return gain, log, entry""",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agrees_with_python(name, dtype):
    f = function_of(f"def f(x, n):{BODIES[name]}\n")
    first, second = (x.astype(dtype) for x in (X, LONG))
    agrees(f, (first, 6), (second, 30), (first[::2], 4), (np.abs(first), 5), (first, 0), (first, 6))


def test_none_is_an_operand_where_python_comes_to_it():
    def drop(x, limit):
        peak, worst = None, 0.0
        for k in range(len(x)):
            if x[k] > limit:
                peak = x[k]
            if k > 3:
                worst = min(worst, x[k] - peak)
        return worst

    agrees(drop, (X, -9.0), (LONG, 9.0), (X, 0.5), (X[:3], 9.0), (X, -9.0))
