"""Chains of ``and``, ``or`` and comparisons in loops: what they stop at, and what recording them takes."""

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.expressions import Expressions

X = np.random.default_rng(5).random(60)


def loop(condition):
    return function_of(
        "import numpy as np\n"
        "def f(x, y):\n"
        "    found = []\n"
        "    for i in range(len(x)):\n"
        f"        if {condition}:\n"
        "            found.append(i)\n"
        "    return found\n"
    )


CHAINS = {
    "bare": " and ".join(f"x[i] > 0.0{k}" for k in range(9)),
    "elements": " and ".join(f"x[{k}] > 0.00{k}" for k in range(9)),
    "one or the other": " or ".join(f"x[i - {k}] > 0.9{k}" for k in range(9)),
    "beyond the end": "i + 5 < len(x) and x[i + 5] > 0.3 and x[i + 4] > 0.2 and i > 3 and y[i] < 0.9",
    "never": "x[i] > 2 and x[i + 100] > 1 or i > 50",
    "known": "True and x[i] > 0.5 and len(x) > 3 and x[0] > -1",
    "not": "not (x[i] > 0.5 and x[i - 1] > 0.5) and not (x[i] < 0.1 or x[i - 2] < 0.1)",
    "comparisons": "x[i - 1] < x[i] < y[i] + 0.5 < 2 < 3",
    "out of range": "i > 0 and x[i - 1] < x[i] and (i + 1 == len(x) or x[i] > x[i + 1])",
    "nested": "x[i] > 0.1 and (x[i - 1] > 0.5 or y[i - 2] > 0.8 and (x[i - 3] > 0.2 or x[i - 4] > 0.3 and y[i] < 0.9))",
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name):
    function = loop(CHAINS[name])
    compiled = jitrt.jit(function)
    for x, y in ((X, X[::-1].copy()), (X[:7], X[7:14]), (X[:0], X[:0])):
        try:
            wanted = function(x, y)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(x, y)
        else:
            assert compiled(x, y) == wanted


@pytest.mark.parametrize(
    "chain",
    [
        lambda n: " and ".join(f"x[{k}] > 0.00{k}" for k in range(n)),
        lambda n: " < ".join(f"x[i - {k}]" for k in range(n)),
        lambda n: "(".join(f"x[i - {k}] > 0.1 {('or', 'and')[k % 2]} " for k in range(n)) + "y[0] > 3" + ")" * (n - 1),
    ],
    ids=["and", "comparisons", "nested"],
)
def test_operands_are_recorded_a_few_times(chain, monkeypatch):
    """Each was recorded anew for all in front of it, and in chains of chains twice as often for each level."""
    count, found, plain = [], [], Expressions.expression
    monkeypatch.setattr(Expressions, "expression", lambda self, e: count.append(e) or plain(self, e))
    for n in (8, 16):
        count.clear()
        function = loop(chain(n))
        assert jitrt.jit(function)(X, X) == function(X, X)
        found.append(len(count))
    assert 0 < found[1] <= 4.5 * found[0]
