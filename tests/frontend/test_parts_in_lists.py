"""Dicts, tuples, lists and complex numbers that loops append to a list are what Python makes of them."""

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import function_of, same

PARTS = {
    "dicts of numbers": "{'i': i, 'price': v}",
    "dicts with names": "{'i': i, 'side': 'buy' if v < 1 else 'sell'}",
    "dicts with a name that stays": "{'price': v, 'side': 'buy'}",
    "dicts in tuples": "(i, {'price': v, 'sign': v > 1})",
    "dicts in dicts": "{'at': {'i': i}, 'price': v}",
    "tuples with names": "(i, 'up' if v > 1 else 'down')",
    "lists of names": "['up' if v > 1 else 'down', v]",
    "complex numbers": "complex(v, i)",
    "tuples of complex numbers": "(i, complex(v, 1.0))",
    "numbers and names of different kinds": "(v, 2 * v, v > 1, i, 'a')",
    "empty tuples": "()",
    "what is None": "(None, v)",
    "names alone": "'up' if v > 1 else 'down'",
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_appended(part):
    loop = f"for i, v in enumerate(x):\n        if v >= 0:\n            made.append({part})"
    function = function_of(f"def f(x):\n    made = []\n    {loop}\n    return made, x\n")
    fast = jitrt.jit(function)
    for x in (np.arange(5.0), np.arange(3.0) - 1, np.zeros(0), -np.ones(2), np.arange(300.0)):
        for _ in range(2):
            got, want = fast(x), function(x)
            assert type(got[0]) is list and len(got[0]) == len(want[0])
            for mine, its in zip(got[0], want[0]):
                same(mine, its)


ALIASES = {
    "a dict that is in it twice": "d = {'v': v}\n        made.append(d)\n        made.append(d)",
    "a dict that changes afterwards": "d = {'v': v}\n        made.append(d)\n        d['v'] = v + 1",
    "a dict from outside of the loop": "made.append(shared)",
    "a dict in two tuples": "d = {'v': v}\n        made.append((d, 1))\n        made.append((d, 2))",
    "a dict of all iterations": "shared['v'] = v\n        made.append(shared)",
    "a list that is in it twice": "d = [v, 1]\n        made.append(d)\n        made.append(d)",
    "a list that changes afterwards": "d = [v, 1]\n        made.append(d)\n        d[0] = v + 1",
}


@pytest.mark.parametrize("step", ALIASES.values(), ids=ALIASES.keys())
def test_what_has_other_names(step):
    loop = f"for i, v in enumerate(x):\n        {step}"
    function = function_of(f"def f(x):\n    made, shared = [], {{'v': 0.0}}\n    {loop}\n    return made, shared\n")
    fast = jitrt.jit(function)
    for x in (np.arange(5.0), np.zeros(0), np.arange(100.0)):
        for _ in range(2):
            (got, mine), (want, its) = fast(x), function(x)
            assert (got, mine) == (want, its)
            assert [[a is b for b in got] for a in got] == [[a is b for b in want] for a in want]
            assert [a is mine for a in got] == [a is its for a in want]


def test_an_array_in_a_list_under_a_name_of_the_loops_own():
    def f(x, y):
        total, rows = 0.0, []
        for _ in range(len(y)):
            for _ in range(2):
                rows.append(x)
            for p, q in np.ndenumerate(x):
                total += p[0] * q
        return total, len(rows)

    fast, x = jitrt.jit(f), np.arange(3.0)
    for y in (x, x[:1], x[:0]):
        for _ in range(2):
            assert fast(x, y) == f(x, y)
