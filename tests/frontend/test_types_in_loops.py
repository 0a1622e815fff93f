"""What an expression in a loop gives has the type that Python and NumPy give it: by itself, in a list, and in a sum."""

import numpy as np
import pytest
from texts import function_of

import jitrt

EXPRESSIONS = [
    "a[i] < 1.0 <= 3.0", "a[i] < t <= 3.0", "a[i] < t < a[i]", "0 < i < n", "0 <= a[i] < n", "0 <= i < a[i]",
    "c + (a[i] < 1.0 <= 3.0)", "c + (a[i] < t < a[i])", "c + (0 < i < n)", "i < n < a[i]", "1.0 <= t < a[i] <= 5",
    "np.where(a[i] < 1, 2.0, t)", "np.where(a[i] < 1, a[i], t) + 1", "np.where(i < 1, 1, 2)", "i / 2", "2.0 ** i",
    "max(np.where(a[i] > 1, 2.0, t), 0.5)", "np.sqrt(np.where(a[i] > 1, 2.0, t))", "abs(np.where(a[i] > 1, -2.0, t))",
    "np.where(a[i] > 1, 2.0, t) > 1", "-np.where(a[i] > 1, 2.0, t)", "np.where(a[i] > 1, 2.0, t).item()",
    "np.where(a[i] > 1, 2.0, t)[()]", "np.copy(a[i])", "np.asarray(a[i])", "np.array(a[i])", "np.clip(a[i], 0, 1)",
    "np.squeeze(a[i])", "np.real(a[i])", "np.maximum(i, n)", "(a[i] > 1) & True", "(a[i] > 1) + (i > 1)",
    "(a[i] > 1) and (i > 1)", "i or a[i]", "not a[i]", "max(i, a[i])", "a[i] if i else i", "np.where(a[i] > 1, i, n)",
]  # fmt: skip
FORMS = {
    "in a list": "def f(a, n, t):\n    c, r = 0, []\n    for i in range(n):\n        r.append({})\n    return r\n",
    "by itself": "def f(a, n, t):\n    c, made = 0, 0\n    for i in range(n):\n        made = {}\n    return made\n",
    "in a sum": "def f(a, n, t):\n    c = 0\n    for i in range(n):\n        c += {}\n    return c, n\n",
}


def types_of(value):
    return [types_of(v) for v in value] if isinstance(value, (list, tuple)) else (type(value), repr(value))


@pytest.mark.wide
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_types(expression, form):
    function = function_of(form.format(expression), "f")
    for dtype in ("f8", "i8", "f4"):
        fast = jitrt.jit(function)
        for t in (1.5, 0.5, np.float64(1.5), 2.0):
            args = np.arange(4.0).astype(dtype), 4, t
            assert types_of(fast(*args)) == types_of(function(*args))
