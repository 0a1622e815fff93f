"""Lists that loops append to, and comprehensions: values, types of the elements, identity, and what is refused."""

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged, WholeArrays

X = np.random.default_rng(0).normal(size=9)
LONG = np.random.default_rng(1).normal(size=70)

# Bodies of functions of an array `x` and an integer `n`.
BODIES = {
    "some values": """
        out = []
        for v in x:
            if v > 0:
                out.append(v * 2)
        return np.array(out), out""",
    "floats of Python's": """
        out = []
        for v in x:
            out.append(float(v))
        return out""",
    "tuples": """
        out = []
        for k, v in enumerate(x):
            out.append((k, v, "a"))
        return out""",
    "arrays": """
        rows, last = [x.copy()], x
        for k in range(n):
            last = last * 0.5 + x[k]
            if k % 3 != 1:
                rows.append(last)
        return np.array(rows), np.stack(rows), np.concatenate(rows), np.vstack(rows), np.hstack(rows), rows""",
    "a row that is filled": """
        rows = []
        for i in range(n):
            row = np.zeros(3)
            for j in range(3):
                row[j] = x[i] * j
            rows.append(row)
        return rows""",
    "comprehensions": """
        squares = np.array([v * v + 1 for v in x if v > 0.1])
        steps = np.array([x[i] - x[i - 1] for i in range(1, len(x))])
        return squares, steps, [v > 0 for v in x], [bool(v > 0) for v in x], [int(v) for v in x]""",
    "generators": """
        return (sum(v * v for v in x), max(abs(v) for v in x), min(v for v in x if v < 9), any(v > 1 for v in x),
                all(v > -100 for v in x), sum(x), max(x), min(x), any(v > w for v in x for w in x))""",
    "a table of integers": """
        ways = [0] * (n + 1)
        ways[0] = 1
        for coin in (1, 2, 5):
            for k in range(coin, n + 1):
                ways[k] += ways[k - coin]
        return ways[n], ways""",
    "a stack": """
        stack, total = [0], 0.0
        while stack:
            k = stack.pop()
            if k < len(x):
                total += x[k]
                stack.append(2 * k + 1)
                stack.append(2 * k + 2)
        return total""",
    "a queue": """
        queue, seen, order = [0], np.zeros(len(x), int), []
        while len(queue) > 0:
            k = queue.pop(0)
            if seen[k]:
                continue
            seen[k] = 1
            order.append(k)
            for step in (1, 3):
                if k + step < len(x):
                    queue.append(k + step)
        return order, seen""",
    "lists in a dict": """
        history = {"value": [], "square": []}
        for v in x:
            history["value"].append(v)
            history["square"].append(v * v)
        return history""",
    "the last element": """
        out = [x[0]]
        for v in x[1:]:
            out.append(out[-1] * 0.5 + v)
        return np.array(out), len(out), sum(out), out[1:4], out[-2:]""",
    "lists of lists": """
        table = [[a * b for a in x] for b in x]
        for i in range(1, len(x)):
            row, before = table[i], table[i - 1]
            for j in range(len(x)):
                row[j] = row[j] + before[j]
        return table, np.array(table), sum(table[0]), max(table[1]), len(table[0])""",
    "a table that becomes one of floats": """
        best = [[0] * (n + 1) for _ in range(n + 1)]
        for i in range(n):
            for j in range(n):
                best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], best[i][j] + x[i] * x[j])
        return best[n][n], best""",
    "numbers of two kinds": """
        out, other = [0], [0.0]
        for v in x:
            out.append(out[-1] + v)
            other.append(other[-1] + v if v > 0 else 0.5)
        return out, np.array(out), other""",
    "a window": """
        window, total = [], 0
        for v in x:
            window.append(v)
            if len(window) > 3:
                window.pop(0)
            total += sum(window) / len(window)
        return total""",
    "a return from the loop": """
        out = []
        for v in x:
            if v > 1:
                return out
            out.append(v)
        return np.array(out)""",
    "sorting": """
        p = [float(v) for v in x]
        for i in range(len(p)):
            for j in range(len(p) - 1 - i):
                if p[j] > p[j + 1]:
                    p[j], p[j + 1] = p[j + 1], p[j]
        return p""",
    "a list that is read before it is appended to": """
        found = []
        for k in range(2, 2 * n):
            if all(k % p for p in found):
                found.append(k)
        return found""",
    "pairs": """
        return [(i, j) for i in range(len(x)) for j in range(i) if x[i] > x[j]]""",
    "runs": """
        starts, lengths = [0], []
        for k in range(1, len(x)):
            if x[k] > x[k - 1]:
                lengths.append(k - starts[-1])
                starts.append(k)
        lengths.append(len(x) - starts[-1])
        return np.array(starts), np.array(lengths), list(range(n)), list(starts), tuple(zip((1, 2), (3, 4)))""",
}  # fmt: skip


def function_with(body):
    return function_of("def f(x, n):" + body.replace("\n    ", "\n"))


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_agrees_with_python(name, dtype):
    f = function_with(BODIES[name])
    first, second = ((x * (1 if np.dtype(dtype).kind == "f" else 10)).astype(dtype) for x in (X, LONG))
    compiled = (name, np.dtype(dtype).str[1:]) not in SEVERAL_KINDS
    agrees(f, (first, 6), (second, 30), (first[::2], 4), (first, 6), compiled=compiled)


SEVERAL_KINDS = {  # in which a variable or a list holds numbers of dtypes that no register holds
    ("arrays", "i4"), ("a stack", "f4"), ("the last element", "i4"), ("a table that becomes one of floats", "f4"),
    ("numbers of two kinds", "f4"), ("numbers of two kinds", "i4"),
}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        "out = []\n    for k in range(n):\n        x[0] += 1\n        out.append(x)\n    return out",
        "out = []\n    for v in x:\n        a = np.zeros(2)\n        out.append(a)\n        a[0] = v\n    return out",
        "out = []\n    for k in range(n):\n        out.append(x[k:k + 2])\n    return out",
        "out = [1]\n    for v in out:\n        if v < n:\n            out.append(v + 1)\n    return out",
        "out = []\n    for k in range(n):\n        row = x * x[k]\n        out.append(row)\n    return out, row",
        "out = []\n    for v in x:\n        r = [v]\n        out.append(r)\n        out.append(r)\n    return out",
        "out = []\n    for v in x:\n        row = [v]\n        out.append([row, row])\n    return out",
        "a, b = [], []\n    for v in x:\n        s = [v]\n        a.append(s)\n        b.append(s)\n    return a, b",
        "out = []\n    for v in x:\n        row = [v]\n        out.append([row])\n    return out, row",
        "out = []\n    for v in x:\n        out.append([v])\n    return out, out[0]",
        "out = []\n    for v in x:\n        out.append([v])\n    return out, out[:2]",
        "out = []\n    for v in x:\n        row = [v]\n        out.extend([row, row])\n    return out",
        "out = [[v] for v in x]\n    for v in x:\n        r = [v]\n        out[0] = out[1] = r\n    return out",
    ],
    ids="""aliases later views growing shared twice within two_lists last first part extended
    assigned""".split(),
)
def test_what_would_be_seen_of_copies_is_refused(body):
    f = function_of("def f(x, n):\n    " + body)
    with pytest.raises(NotStaged):
        stage(f, (X, 4))
    agrees(f, (X, 4), compiled=False)


def test_lists_of_earlier_iterations_are_not_used():
    f = function_of("""
def f(x, n):
    kept = -1.0
    for i in range(n):
        if i > 2:
            kept = row[-1]
        row = []
        for j in range(i + 1):
            row.append(x[i] * j)
    return kept
""")
    agrees(f, (X, 2), (X, 6), compiled=False)


def test_ragged_lists_and_indices_out_of_range_are_left_to_python():
    rows = function_of("""
def f(x, n):
    rows = []
    for i in range(n):
        rows.append([x[i]] * (i + 1))
    return rows
""")
    agrees(rows, (X, 1), (X, 4))
    last = function_of("""
def f(x, n):
    out = []
    for i in range(n):
        out.append(x[i] * 2)
    return out[4]
""")
    agrees(last, (X, 3), (X, 6))


def test_what_helpers_make_is_kept_apart():
    g = function_of(
        """
def filled(v, n):
    out = np.zeros(3)
    for i in range(3):
        out[i] = v * i + n
    return out

def multiples(v, n):
    out = []
    for i in range(n):
        out.append(v * i)
    return out

def g(x, n):
    total = 0.0
    rows = [filled(v, n) for v in (1.0, 2.0, 3.0)]
    lists = [multiples(v, n) for v in (1.0, 2.0)]
    for i in range(n):
        total += rows[0][i % 3] * rows[1][i % 3] - rows[2][i % 3]
        lists[0].append(lists[1][i])
        lists[1].append(x[i])
    return rows[1], total, lists[0], lists[1]

def h(x, n):
    sums = []
    for i in range(n):
        p = multiples(x[i], i + 1)
        p.extend(multiples(x[i] + 1, i + 2))
        sums.append(sum(p))
    return sums
""",
        "g",
    )
    for name in "gh":
        agrees(g.__globals__[name], (X, 4), (X, 7))


def test_lists_are_kept_apart_over_calls():
    f = function_with(BODIES["arrays"])
    fast = agrees(f, (X, 6))
    first = fast(X, 6)[-1]
    second = fast(LONG, 6)[-1]
    assert first[0] is not second[0] and first[0].flags.owndata and len(first[0]) == len(X)


@pytest.mark.parametrize("shifts", [(-1, 1), (-1, 0, 1), (0, 2, 3, 5)])
def test_lists_of_whole_arrays_within_an_iteration_are_left_to_the_tracer(shifts):
    """The list does not outlive the iteration, so that nothing but loops over whole arrays is left."""

    def step(g, n):
        for _ in range(n):
            total = sum(np.roll(np.roll(g, i, 0), j, 1) for i in shifts for j in (-1, 1))
            g = (total > 2).astype(np.uint8)
        return g

    def recorded(g, n):
        frames = []
        for _ in range(n):
            g = g * 2
            frames.append(g)
        return frames

    g = (np.random.default_rng(0).random((20, 30)) > 0.6).astype(np.uint8)
    with pytest.raises(WholeArrays):
        stage(step, (g, 50))
    f = jitrt.jit(step)
    for n in (50, 50, 40):
        np.testing.assert_array_equal(f(g, n), step(g, n))
    assert stage(recorded, (g, 50))


def test_a_view_of_an_argument_out_of_a_list(monkeypatch):
    """Also where the first calls were plain, for which small arrays are not worth a trace."""
    monkeypatch.delenv("JITRT_STRICT")

    def function(x):
        made = []
        for _turn in range(2):
            made.append(np.flipud(x))
        return made[0], made[1]

    x, compiled = np.arange(5.0), jitrt.jit(function)
    for _ in range(6):
        for view in compiled(x):
            assert view.strides == (-8,)
            assert np.shares_memory(view, x)
