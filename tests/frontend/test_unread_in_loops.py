"""Loops warn of what nothing reads, of what is read on some ways only, and of what is overwritten, as NumPy does."""

import itertools
import re
import warnings

import numpy as np
import pytest

import jitrt

# What raises an exception for one element in five, and for no other.
VALUES = {
    "quotient": ("1 / x[i]", 0.0),
    "quotient of integers": ("7 / k[i]", 0.0),
    "floored quotient of integers": ("1.25 // k[i]", 0.0),
    "root": ("np.sqrt(x[i])", -4.0),
    "logarithm": ("np.log(x[i])", -4.0),
    "product": ("x[i] * 1e200", 1e200),
    "sum": ("x[i] + 1.5e308", 1.5e308),
    "chain": ("abs(x[i] * x[i] - 3) * 2 + 1", 1e200),
    "power": ("x[i] ** 200", 1e200),
    "cast": ("np.float32(x[i])", 1e200),
    "remainder": ("5 % x[i]", 0.0),
    "sum of a row": ("(x[i:] / x[i]).sum()", 0.0),
    "largest of a row": ("(y / x[i]).max()", 0.0),
    "row": ("(y / x[i])[0]", 0.0),
    "number of a row": ("np.count_nonzero(1 / x[:i + 1] > 3)", 0.0),
}
FORMS = {
    "unread": "        t = {value}\n        s += 1",
    "overwritten by the next iteration": "        s = {value}",
    "overwritten in the iteration": "        s = {value}\n        s = 2.0",
    "read behind the loop by some": "        t = {value}\n        if y[i] > 5: s = t",
    "read by one branch": "        t = {value}\n        if y[i] > 5: y[i] = t\n        else: y[i] = s",
    "read by an operation that chooses": "        s += np.where(y[i] > 5, {value}, 0.5)",
    "read by a choice": "        t = {value}\n        s = t if y[i] > 5 else 1.0",
    "stored and overwritten": "        z[i] = {value}\n        z[i] = 3",
    "stored in one place": "        z[0] = {value}",
    "stored and overwritten under a name": "        j = i\n        z[j] = {value}\n        j = 1 + j\n        z[i] = 1",
    "compared in vain": "        if {value} > 2: pass\n        s += 1",
    "compared, with one outcome": "        if {value} > 2: s = 2\n        else: s = 2",
    "compared, and known": "        s += ({value} < -np.inf) + 0.5",
    "in front of continue": "        t = {value}\n        if y[i] < 5: continue\n        s += t",
    "in front of break": "        t = {value}\n        if y[i] > 0.5 and i > 2: break\n        s = t",
    "in a truth value": "        s += 1.5 if {value} > 2 or y[i] > -1 else 1.5",
    "in an inner loop": "        for j in range(3):\n            s = {value}\n        y[i] = j",
    "chosen beside what the iteration before stored": "        if i: z[i] = np.where(y[i] > 5, {value}, z[i - 1])",
    "the smaller of it and what the iteration before stored": "        if i: z[i] = min(z[i - 1] - 1, {value})",
    "in a loop of unknown length": "        j = 0\n        while j < i:\n            j, s = j + 1, {value} + j",
    "of which one is appended": "        found.append({value})\n        if i > 2: found.pop()",
    "in a called function": "        s += first(1.5, {value})",
    "read by the next iteration": "        s += {value}",
    "without any effect": "        if {value} > 1e3: break",
}


def function_of(tmp_path, value, form):
    path = tmp_path / "unread.py"
    path.write_text(
        "import numpy as np\n\n\ndef first(x, y):\n    return x\n\n\n"
        "def f(x, y, z, k):\n    s, found = 0.0, []\n    for i in range(len(x)):\n"
        f"{form.format(value=value)}\n    return s, y.sum(), len(found)\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["f"]


def outcome(function, args):
    args = [a.copy() for a in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    return [(w.category, str(w.message), w.lineno) for w in caught], result, args


def shown(values):
    """A text that tells values apart, but for the last places, in which logarithms of some processors differ."""
    return re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda number: f"{float(number[0]):.13g}", repr(values))


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("value", "raising"), VALUES.values(), ids=VALUES)
def test_each_value_is_computed(tmp_path, value, raising, form):
    function = function_of(tmp_path, value, form)
    fast = jitrt.jit(function)
    for place in (None, 0, 2, 4, None):
        x, y = np.array([1.0, 2.0, 1.25, 3.0, 0.5]), np.array([0.25, 0.5, 7.0, 0.75, 0.0])
        if place is not None:
            x[place] = raising
        args = x, y, np.ones(5), (x != 0).astype(np.int64)
        want, got = (outcome(f, args) for f in (function, fast))
        assert got[0] == want[0]
        assert shown(got[1:]) == shown(want[1:])


@pytest.mark.parametrize("form", FORMS, ids=FORMS)
def test_they_are_compiled_loops(tmp_path, form):
    function = function_of(tmp_path, "1 / x[i]", FORMS[form])
    fast = jitrt.jit(function)
    args = np.linspace(1, 2, 5), np.linspace(0, 1, 5), np.ones(5), np.arange(1, 6)
    fast(*args)
    assert "compiled as one function" in str(fast.explain(*args))


NUMBERS = ["np.float64(1.5) / np.float64(0)", "np.float64(1e200) * np.float64(1e200)", "np.sqrt(np.float64(-1))"]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_are_known(tmp_path, number):
    path = tmp_path / "known.py"
    path.write_text(
        "import numpy as np\n\n\n"
        f"def f(x):\n    t, u = np.float64(1e100), 0.0\n    for i in range(len(x)):\n"
        f"        if x[i] > 1:\n            u = {number}\n        t = t * t\n        x[i] = i\n    return u, t\n"
    )
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    fast = jitrt.jit(scope["f"])
    for x in itertools.product((0.0, 2.0), repeat=3):
        want, got = (outcome(f, [np.array(x)]) for f in (scope["f"], fast))
        assert repr(got) == repr(want)
