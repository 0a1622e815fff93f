"""What staged functions ask about classes is answered while staging, as Python answers it for the values."""

import collections.abc
import numbers

import numpy as np
import pytest
from test_asking import Registry
from test_element_loops import agrees
from texts import function_of

import jitrt

QUESTIONS = [
    "isinstance({}, np.ndarray)", "isinstance({}, (list, tuple))", "isinstance({}, float)", "isinstance({}, int)",
    "isinstance({}, bool)", "isinstance({}, np.floating)", "isinstance({}, np.generic)", "isinstance({}, dict)",
    "isinstance({}, numbers.Real)", "isinstance({}, collections.abc.Sized)", "isinstance({}, int | float)",
    "isinstance({}, Registry)", "issubclass(type({}), np.integer)", "type({}) is float", "type({}) is np.float64",
    "hasattr({}, 'shape')", "hasattr({}, 'append')", "callable({})",
]  # fmt: skip
VALUES = [
    "x",
    "x[0]",
    "x[0] * 2.0",
    "1.5 * n",
    "n",
    "n + 1",
    "n / 2",
    "total",
    "x[1:]",
    "len(x)",
    "made",
    "(n, x)",
    "'a'",
    "None",
]
X = np.linspace(1, 2, 30)
NAMES = {"numbers": numbers, "collections": collections, "Registry": Registry}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question):
    asked = ", ".join(question.format(v) for v in VALUES)
    function = function_of(
        "def f(x, n):\n    total = x[0] * n\n    made = []\n    for k in range(len(x)):\n        total += x[k] * n\n"
        f"        made.append(total)\n    return total, {asked}\n"
    )
    function.__globals__.update(NAMES)
    agrees(function, (X, 3), (K, 4), (X.astype(np.float32), 5))


K = np.arange(30)


def test_branches_of_other_classes_are_not_staged():
    function = function_of(
        "def f(x, y):\n    if isinstance(x, Registry) or not isinstance(y, (int, float)):\n"
        "        raise TypeError(f'not {type(x)}')\n"
        "    best = 0.0\n    for v in x:\n        if isinstance(v, list):\n            v = sorted(v)[0]\n"
        "        best = max(best, v * y)\n    return best\n"
    )
    function.__globals__.update(NAMES)
    agrees(function, (X, 2.0), (X, 3))


@pytest.mark.parametrize(
    "refused",
    [
        "x.sum(axis=True)", "np.roll(x, 1, 3)", "np.concatenate((x, x), axis=2)", "np.diff(x, True)",
        "x.reshape(True, -1)", "np.clip(x, 2)", "np.expand_dims(x, 5)", "x.argmax(True)",
    ],
)  # fmt: skip
def test_what_numpy_refuses_is_not_staged(refused):
    function = function_of(f"def f(x):\n    s = 0.0\n    for v in x:\n        s += v\n    return s, {refused}\n")
    agrees(function, (X,), compiled=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_small_matrices_that_are_not_finite(name, bad):
    """What LAPACK makes of them depends on the order of its operations: NumPy answers."""
    function = function_of(
        "def f(a):\n    out = []\n    for k in range(len(a)):\n"
        f"        out.append(np.linalg.{name}(a[k]) * 2)\n    return out\n"
    )
    good = np.array([np.eye(3) + 0.1, np.eye(3) * 2 + 0.2])
    fast = jitrt.jit(function)
    for place in np.ndindex(3, 3):
        a = good.copy()
        a[1][place] = bad
        try:
            want = function(a)
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                fast(a)
            continue
        for got, value in zip(fast(a), want):
            np.testing.assert_allclose(got, value, rtol=1e-12)
