"""Functions inside of a function with loops that assign its variables."""

import math

import numpy as np
import pytest
from test_element_loops import agrees, outcome, same
from texts import function_of

import jitrt

X = np.random.default_rng(1).random(50)


def seen_so_far(x, n):
    count = 0
    best = -math.inf

    def see(v):
        nonlocal count, best
        count += 1
        if v > best:
            best = v
            return True
        return False

    hits = 0
    for v in x:
        if see(v * n):
            hits += 1
    return count, best, hits


def estimated(n, seed):
    def uniform():
        nonlocal seed
        seed = (seed * 16807) % 2147483647
        return seed / 2147483647

    inside = 0
    for _ in range(n):
        x, y = uniform(), uniform()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / max(n, 1), seed


def in_two_levels(x):
    total, rest = 0.0, 1.0

    def outer(v):
        nonlocal total
        part = 0.0

        def inner(w):
            nonlocal part, total
            part += w
            total -= w / 2

        for k in range(3):
            inner(v * k)
        total += part

    for v in x:
        outer(v)
        rest *= 0.5 + total
    return total, rest


def test_functions():
    agrees(seen_so_far, (X, 2.0), (X[:1], -1.0), (X[:0], 1.0))
    agrees(estimated, (500, 7), (3, 12345), (0, 1))


def test_a_level_in_between_is_left_to_others():
    fast = jitrt.jit(in_two_levels)
    for x in (X, X[:2], X[:0]):
        same(fast(x), in_two_levels(x))


total = -1000.0  # which no function below may see

BODIES = {
    "its own of the same name": "def add(v):\n    total = v * 2\n    return total\ndef put(v):\n    nonlocal total\n"
    "    total += add(v)",
    "a parameter of the same name": "def add(total):\n    return total * 3\ndef put(v):\n    nonlocal total\n"
    "    total += add(v)",
    "a default": "def add(v, total=total + 1):\n    return v + total\ndef put(v):\n    nonlocal total\n"
    "    total += add(v)",
    "a comprehension": "def put(v):\n    nonlocal total\n    total += sum([total for total in (v, total)])",
    "a lambda": "read = lambda: total * 0.5\ndef put(v):\n    nonlocal total\n    total = read() + v",
    "an integer that becomes a float": "total = 0\ndef put(v):\n    nonlocal total\n    total += v",
    "a list": "total = []\ndef put(v):\n    nonlocal total\n    total = total + [v] if v > 0.5 else total",
    "an array": "total = np.zeros(3)\ndef put(v):\n    nonlocal total\n    total = total + v",
    "a loop's target": "for total in range(3):\n    pass\ndef put(v):\n    nonlocal total\n    total += v",
    "an assignment in an expression": "if (total := 2.0) > 1:\n    pass\ndef put(v):\n    nonlocal total\n"
    "    total += v",
    "a call that changes it behind a look": "def more(v):\n    nonlocal total\n    total *= 0.5\n    return v\n"
    "def put(v):\n    nonlocal total\n    total += more(v)\n    total = total + more(v) - total\n"
    "    total = (total, more(v), total)[int(v > 0.5) * 2] + more(v) * total",
    "a deletion": "def put(v):\n    nonlocal total\n    w = total\n    del total\n    total = w + v",
    "no value": "def put(v):\n    nonlocal total\n    total += v\ndel total",
    "an import": "import math as total\ndef put(v):\n    nonlocal total\n    total = total.sqrt(v) if v > 2 else total",
    "annotations": "total: float = 1.5\ndef put(v):\n    nonlocal total\n    total = total * 0.5 + v",
}


@pytest.mark.parametrize("name", BODIES)
def test_names(name):
    body = "".join(f"    {line}\n" for line in BODIES[name].split("\n"))
    function = function_of(
        f"import numpy as np\ntotal = -1000.0\ndef f(x):\n    total = 0.0\n{body}    for v in x:\n        put(v)\n"
        "    return total\n"
    )
    fast = jitrt.jit(function)
    for x in (X, X[:3], X[:0]):
        for _ in range(2):
            want, got = outcome(function, (x,)), outcome(fast, (x,))
            same(got[:2], want[:2])


def test_a_function_that_is_returned():
    def f(x):
        count = 0

        def more():
            nonlocal count
            count += 1
            return count

        for v in x:
            if v > 0.5:
                more()
        return more

    assert jitrt.jit(f)(X)() == f(X)() == (X > 0.5).sum() + 1
