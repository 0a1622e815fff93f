"""Operations behind a condition that lets them raise nothing: they raise nothing, so that calls stay in native code."""

import numpy as np
import pytest

import jitrt

OPERATIONS = {
    "quotient": ("x[i] != 0", "1 / x[i]"),
    "quotient of two": ("x[i] != y[i]", "y[i] / (x[i] - y[i])"),
    "root": ("x[i] >= 0", "np.sqrt(x[i])"),
    "logarithm": ("x[i] > 0", "np.log(x[i])"),
    "remainder": ("x[i] != 0", "y[i] % x[i]"),
    "power": ("x[i] > 0", "x[i] ** 0.3"),
    "exponential": ("x[i] < 1", "np.exp(x[i] * 700)"),
}
FORMS = {
    "if": "        if {guard}:\n            y[i] = {value}\n",
    "if, else": "        if {guard}:\n            y[i] = {value}\n        else:\n            y[i] = x[i]\n",
    "choice": "        y[i] = {value} if {guard} else x[i]\n",
    "and": "        if {guard} and {value} > 0.5:\n            y[i] = x[i] + 1\n",
    "chain": "        if not ({guard}) or ({value} < 0.5) or y[i] > 7:\n            y[i] = x[i] + 1\n",
    "fold": "        if {guard}:\n            y[0] += {value}\n",
    "continue": "        if not ({guard}):\n            continue\n        y[i] = {value}\n",
}


def function_of(tmp_path, guard, value, form):
    source = "import numpy as np\n\n\ndef f(x, y):\n    for i in range(len(x)):\n"
    path = tmp_path / "guarded.py"
    path.write_text(source + form.format(guard=guard, value=value) + "    return y\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["f"]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("guard", "value"), OPERATIONS.values(), ids=OPERATIONS)
def test_nothing_is_raised_where_the_condition_does_not_hold(tmp_path, guard, value, form):
    function = function_of(tmp_path, guard, value, form)
    fast = jitrt.jit(function)
    x = np.linspace(-2, 2, 401)
    x[7], x[200], x[399] = 0, 0, 0
    y = np.linspace(-1, 1, 401)
    y[5] = x[5]
    with np.errstate(all="raise", under="ignore"):
        for turn in range(5):
            np.testing.assert_allclose(fast(x, y.copy()), function(x, y.copy()), rtol=1e-13)
            if turn == 2:
                slow = fast.cache_info().slow_calls
    assert fast.cache_info().slow_calls == slow
