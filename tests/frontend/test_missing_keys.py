"""`try` around a look into a dict, with a handler for the `KeyError` of a key that it has not."""

import numpy as np
import pytest
from test_element_loops import agrees, same
from texts import function_of

import jitrt

X = np.random.default_rng(1).integers(0, 9, 60)


def counted(x):
    counts = {}
    for v in x:
        k = int(v)
        try:
            counts[k] += 1
        except KeyError:
            counts[k] = 1
    return counts


def remembered(x):
    known, calls = {}, 0
    for v in x:
        k = int(v)
        try:
            r = known[k, k + 1]
        except KeyError:
            r = 0
            for j in range(k):
                r += j * j
            known[k, k + 1] = r
        else:
            calls += r
    return known, calls


def with_words(names, x):
    totals = {"a": 0.0, "b": 1.0}
    for name in names:
        try:
            totals[name] += x
        except KeyError:
            totals[name] = -x
    return totals


def test_counts():
    agrees(counted, (X,), (X[:1],), (X[:0],))


def test_results_that_are_remembered():
    agrees(remembered, (X,), (X[:3],))


def test_names():
    agrees(with_words, ("acc", 1.5), ("badd", -0.0))


@pytest.mark.parametrize(
    "made", ["{}", "collections.Counter()", "collections.defaultdict(int)", "{3: 5}", "dict([(2, 1)])"]
)
def test_every_kind_of_dict(made):
    function = function_of(
        f"import collections\ndef f(x):\n    d = {made}\n    for v in x:\n        k = int(v)\n        try:\n"
        "            d[k] += 2\n        except KeyError:\n            d[k] = 100\n    return sorted(d.items())\n"
    )
    agrees(function, (X,), (X[:2],))


class Growing(dict):
    def __missing__(self, key):
        return key * 10


def test_a_dict_of_the_users_that_has_every_key():
    def f(x, d):
        total = 0
        for v in x:
            try:
                total += d[int(v)]
            except KeyError:
                total -= 1000
        return total

    fast = jitrt.jit(f)
    for d in (Growing(), Growing({3: 1}), {3: 1}, {}):
        for _ in range(3):
            same(fast(X, d), f(X, d))


@pytest.mark.parametrize(
    "statement",
    [
        "total += d[k] + int(1 / (v - 4))",  # a ZeroDivisionError, which nobody handles
        "total += d[k] + other[v]",  # another KeyError, which the handler is for, too
        "total += d[int(1 / (v - 4))]",
        "total += (lambda: d[k])()",
        "d[k], total = d[k] + 1, total + 1",
        "d[k] = total",
        "del d[k]",
        "total += d[k][0]",
        "total = 1 // (v - 4) + d[k]",  # which raises before the look, of a key that is missing
        "total = total / (v - 4) * 0 + d[k]",
        "other[k] += d[k]",
        "missing = missing + d[k] if v else 0",
        "missing += d[k]",
        "total = [missing, d[k]][1]",
        "total = (v < 3 < d[k]) + total",
        "total = {1: 1 // (v - 4), d[k]: 1}[1]",
    ],
)
def test_other_exceptions_go_where_they_went(statement):
    function = function_of(
        f"def f(x):\n    d, other, total = {{1: 2, 5: 3}}, {{1: 1}}, 0\n    for v in x.tolist():\n"
        f"        k = v\n        try:\n            {statement}\n        except KeyError:\n"
        "            total -= 1\n            d[k] = 7\n"
        "    return total, sorted(d.items())\n"
    )
    fast = jitrt.jit(function)
    for x in (X, X[X != 4], np.array([1, 5, 1]), np.array([1, 4, 5]), X[:0]):
        for _ in range(2):
            try:
                want = function(x)
            except (ZeroDivisionError, TypeError, NameError) as error:
                with pytest.raises(type(error)):
                    fast(x)
            else:
                same(fast(x), want)
