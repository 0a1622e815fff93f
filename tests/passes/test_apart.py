"""Loops are said to have independent iterations only where no iteration sees what another one does."""

import itertools
import random

import numpy as np
import pytest
from covering import few
from texts import function_of

from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged
from jitrt.ir.loops import For, Scope, statements_within
from jitrt.passes.apart import loops_apart


def with_body(body, parameters="x, y, z, k"):
    return function_of("\n".join([f"def f({parameters}):", *(f"    {line}" for line in body.splitlines())]) + "\n")


ROWS = np.arange(42.0).reshape(6, 7)
VECTOR = np.arange(6.0)
PLACES = np.array([0, 0, 1, 5, 2, 2])
ARGUMENTS = (VECTOR.copy(), ROWS.copy(), ROWS.copy(), PLACES)


def apart(body, *args, parameters="x, y, z, k"):
    """Whether the first loop of a function has independent iterations."""
    procedure = stage(with_body(body, parameters), args or ARGUMENTS).procedure
    # Loops over whole arrays are none of the user's; in his there is a scope, which `continue` leaves.
    written = (s for s in statements_within(procedure.body) if isinstance(s, For) and isinstance(s.body[0], Scope))
    return next(written).index in loops_apart(procedure)


INDEPENDENT = {
    "each element": "for i in range(len(x)):\n  x[i] = x[i] * 2 + y[i, 0]",
    "backwards": "for i in range(len(x) - 1, -1, -1):\n  x[i] = y[i, 1] * 2",
    "every third": "for i in range(0, len(x), 3):\n  x[i] = y[i, 0] + 1.0",
    "even and odd": "for i in range(len(x) // 2):\n  x[2 * i] = 1.0\n  x[2 * i + 1] = x[2 * i] + 1",
    "rows": "for i in range(y.shape[0]):\n  for j in range(y.shape[1]):\n    y[i, j] = z[i, j] + x[i]",
    "columns": "for j in range(y.shape[1]):\n  for i in range(y.shape[0]):\n    y[i, j] = z[i, j] + x[i]",
    "rows of another length": "for i in range(y.shape[0]):\n  for j in range(z.shape[1]):\n    y[i, j] = z[i, j] / 2",
    "whole rows": "for i in range(len(x)):\n  y[i] = z[i] * 2\n  y[i, 1:] += 1",
    "neighbours of another array": "for i in range(1, len(x) - 1):\n  x[i] = y[i - 1, 0] + y[i + 1, 0]",
    "the upper triangle": "for i in range(len(x)):\n  for j in range(i, len(x)):\n    y[i, j] = x[i] - x[j]",
    "both triangles": (
        "out = np.zeros((len(x), len(x)))\nfor i in range(len(x)):\n  for j in range(i):\n"
        "    d = x[i] - x[j]\n    out[i, j] = d\n    out[j, i] = d\nreturn out"
    ),
    "an array of its own": "for i in range(len(x)):\n  t = y[i] * 2\n  t[0] += 1\n  x[i] = t.sum()",
    "a sum of its own": (
        "for i in range(len(x)):\n  s = 0.0\n  for j in range(y.shape[1]):\n    s += y[i, j]\n  x[i] = s"
    ),
    "continue": "for i in range(len(x)):\n  if x[i] > 2:\n    continue\n  x[i] = -x[i]",
    "break of an inner loop": (
        "for i in range(len(x)):\n  for j in range(7):\n    if y[i, j] > 3:\n      break\n  x[i] = j"
    ),
    "while": "for i in range(len(x)):\n  v = x[i]\n  while v > 1:\n    v = v / 2\n  x[i] = v",
    "its last number": "for i in range(len(x)):\n  x[i] = y[i, 0] + 1.0\nreturn i",
    "blocks": ("n = len(x)\nfor b in range(0, n, 4):\n  for i in range(b, min(b + 4, n)):\n    x[i] = x[i] + 1"),
    "read by places": "for i in range(len(k)):\n  x[i] = y[k[i], 0] * 2",
}

DEPENDENT = {
    "the element before": "for i in range(1, len(x)):\n  x[i] = x[i - 1] + 1",
    "the element behind": "for i in range(len(x) - 1):\n  x[i] = x[i + 1] + 1",
    "through a view": "v = x[1:]\nfor i in range(len(v)):\n  v[i] = x[i] + 1",
    "through a view of rows": "v = y[:, 1:]\nfor j in range(v.shape[1]):\n  v[0, j] = y[0, j]",
    "reversed": "v = x[::-1]\nfor i in range(len(v)):\n  v[i] = x[i]",
    "by places": "for i in range(len(k)):\n  x[k[i]] = i",
    "counted by places": "for i in range(len(k)):\n  x[k[i]] += 1",
    "a sum": "s = 0.0\nfor i in range(len(x)):\n  s += x[i]\n  y[i, 0] = s",
    "one element": "for i in range(len(x)):\n  x[0] = x[i]",
    "a row for all": "for i in range(len(x)):\n  y[0] += z[i]",
    "overlapping rows": "v = y.reshape(-1)\nfor i in range(5):\n  for j in range(8):\n    v[i * 7 + j] = j",
    "a number of the iteration before": "t = 0.0\nfor i in range(len(x)):\n  x[i] = t\n  t = y[i, 0]",
    "a number that is put sometimes": (
        "t = 0.0\nfor i in range(len(x)):\n  if y[i, 0] > 20:\n    t = y[i, 0]\n  x[i] = t"
    ),
    "break": "for i in range(len(x)):\n  if x[i] > 2:\n    break\n  x[i] = 0.0",
    "return": "for i in range(len(x)):\n  if x[i] > 2:\n    return i\n  x[i] = 0.0\nreturn -1",
    "half of the places": "for i in range(len(x)):\n  x[i // 2] = i",
    "modulo": "for i in range(len(x)):\n  x[i % 3] = i",
    "the other triangle": "for i in range(6):\n  for j in range(6):\n    y[i, j] = y[j, i] + 1",
    "an array that is handed on": "t = z[0] * 1\nfor i in range(len(x)):\n  x[i] = t[0]\n  t = z[i] * 2",
    "the last of some": "s = 1.0\nfor i in range(len(x)):\n  x[i] = 0.0\n  if y[i, 0] < 9:\n    s = y[i, 0]\nreturn s",
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_iterations(name):
    assert apart(INDEPENDENT[name])


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_iterations(name):
    assert not apart(DEPENDENT[name])


def test_strided_arrays_are_apart_by_their_indices():
    body = "for i in range(y.shape[0]):\n  for j in range(y.shape[1]):\n    y[i, j] = z[i, j] * 2"
    assert apart(body, VECTOR, ROWS[::2, ::-1], ROWS[::2], PLACES)
    assert not apart("for i in range(1, y.shape[0]):\n  y[i, 0] = y[i - 1, 0]", VECTOR, ROWS[::2], ROWS, PLACES)
    both = "for i in range(y.shape[0]):\n  y[i, 1] = 1.0\n  y[2, i] = 2.0"
    assert not apart(both, VECTOR, np.zeros((9, 9))[:, ::2][:4, :4], ROWS, PLACES)


def test_loops_that_only_move_elements_are_left_to_one_thread():
    def found(body):
        return loops_apart(stage(with_body(body), ARGUMENTS, True).procedure)

    assert not found("y[:] = z\nfor i in range(len(x)):\n  x[i] = y[i, 0]")
    assert not found("for i in range(3):\n  y = z * 2 + y\nreturn y")
    assert found("for i in range(3):\n  y = np.sin(z) + y\nreturn y")
    assert found("for i in range(3):\n  x = (y * z).sum(axis=1) + x\nreturn x")


def test_little_work_is_no_reason():
    procedure = stage(with_body("for i in range(3):\n  x[i] = -x[i]"), ARGUMENTS).procedure
    assert loops_apart(procedure) and not loops_apart(procedure, 1000)


class Watched:
    """An array that knows which elements an iteration has read and written."""

    def __init__(self, array, log):
        self.array, self.log = array, log
        self.shape = array.shape

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        self.log.setdefault(id(self), (set(), set()))[0].add(self._place(index))
        return self.array[index]

    def __setitem__(self, index, value):
        self.log.setdefault(id(self), (set(), set()))[1].add(self._place(index))
        self.array[index] = value

    def _place(self, index):
        index = index if isinstance(index, tuple) else (index,)
        assert len(index) == len(self.shape)
        return tuple(k % n for k, n in zip(index, self.shape))


def subscript(rng, names):
    parts = [f"{rng.choice([1, 1, 1, 2, 3, -1])} * {name}" for name in rng.sample(names, rng.randint(1, len(names)))]
    return " + ".join([*parts, str(rng.choice([0, 0, 0, 1, -1, 2, 7]))])


def generated(rng):
    """A function of three arrays whose outermost loop is run one iteration at a time by ``f.one``."""
    first = rng.choice(["range(n)", "range(n - 1, -1, -1)", "range(0, n, 2)", "range(1, n)", "range(2, n, 3)"])
    inner = rng.choice([None, "range(3)", "range(i)", "range(i, n)", "range(n)", "range(i + 1, n)", "range(1, n - 1)"])
    names = ["i"] if inner is None else ["i", "j"]

    def element():
        if rng.random() < 0.5:
            return f"u[{subscript(rng, names)}]"
        return f"v[{subscript(rng, names)}, {subscript(rng, names)}]"

    def statement():
        target = element()
        return rng.choice([f"{target} = {element()} + 1", f"{target} = w[i]", f"{target} += 1.0"])

    body = [statement() for _ in range(rng.randint(1, 2))]
    if inner is not None:
        body = [f"for j in {inner}:", *(f"  {line}" for line in body)]
    return first, body


@pytest.mark.parametrize("seed", few(range(30), 10))
def test_generated_iterations_touch_what_no_other_one_stores(seed):
    rng = random.Random(seed)
    proved = 0
    for _ in range(25):
        first, body = generated(rng)
        n = rng.randint(2, 5)
        text = "\n".join([f"for i in {first}:", *(f"  {line}" for line in body)])
        u, v, w = np.zeros(60), np.zeros((30, 31)), np.zeros(40)
        try:
            if not apart(text, u, v, w, n, parameters="u, v, w, n"):
                continue
        except NotStaged:
            continue
        one = with_body("\n".join(body), "u, v, w, n, i")
        touched = []
        for i in eval(first, {"n": n}):
            log = {}
            arrays = [Watched(a, log) for a in (u, v, w)]
            try:
                one(*arrays, n, i)
            except IndexError:
                break  # which takes everything back
            touched.append([log.get(id(a), (set(), set())) for a in arrays])
        proved += 1
        for before, behind in itertools.combinations(touched, 2):
            for (reads, writes), (others, stored) in zip(before, behind):
                assert not writes & (others | stored), text
                assert not stored & reads, text
    assert proved
