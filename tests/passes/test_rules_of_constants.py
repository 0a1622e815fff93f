"""The tables of docs/rules.md are true: each rule applies where they say, not where they say, and is switched off."""

import re
from pathlib import Path

import numpy as np
import pytest

import jitrt
from jitrt.passes import fastmath, products, simplify

special = pytest.importorskip("scipy.special")
PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)
ARGUMENTS = {"x": X, "i": np.arange(12).reshape(3, 4) - 5, "b": X > 0}


def _rows(columns):
    """The rows of the table with that many columns, without its head."""
    found = [line[1:-1].replace("\\|", "\0").split("|") for line in PAGE.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\0", "|") for cell in row] for row in found if len(row) == columns][2:]


ROWS = [
    (f"{name or 'own'} {key}", *re.match(r"`(\w+)`(, fastmath)?", key).groups(), yes.strip("`"), no.strip("`"))
    for name, key, yes, no in _rows(4)
]


def write(a, index, value):
    a[index] = value
    return a


def _function(text):
    """A function of what `text` reads of the arguments, and these."""
    names = [name for name in ARGUMENTS if re.search(rf"\b{name}\b", text)]

    def function(*args):
        c, d = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 0.5, 1.0, 3.0])
        k, t = np.array([1, 2, 3, 4]), np.array([True, False, True, False])
        m = np.array([[2, 1, 4, 3], [3, 4, 1, 2], [1, 2, 3, 4], [4, 3, 2, 1]])
        inf, zero = np.array([np.inf] * 4), np.array([0.0] * 4)
        return made(*args, c, d, k, t, m, inf, zero)

    made = eval(f"lambda {', '.join([*names, *'cdktm', 'inf', 'zero'])}: {text}", globals())
    return function, [ARGUMENTS[name] for name in names]


def _fired(text, is_fast):
    """How often rules fire in a call, after checking what it gives."""
    function, args = _function(text)
    compiled = jitrt.jit(function, fastmath=bool(is_fast))
    with np.errstate(all="ignore"):
        expected, found = function(*args), compiled(*args)
        fired = compiled.explain(*args).rules
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
    return fired


@pytest.mark.parametrize(("name", "key", "is_fast", "yes", "no"), ROWS, ids=[row[0] for row in ROWS])
def test_it_applies_where_the_table_says(name, key, is_fast, yes, no, monkeypatch):
    assert _fired(yes, is_fast).get(key), yes
    assert key not in _fired(no, is_fast), no
    monkeypatch.setenv("JITRT_RULES_OFF", key)
    assert key not in _fired(yes, is_fast), yes


def test_all_rules_are_listed_with_their_reasons():
    def plain(text):
        return text.replace("\\*", "*").replace("abs(x)", "|x|")

    listed = [(key.strip("`"), plain(what), plain(why)) for key, what, why in _rows(3)]
    assert listed == [(r.key, r.name, r.exact) for r in simplify.RULES + products.RULES + fastmath.RULES]
    named = {key for _, key, *_ in ROWS}
    assert {r.key for r in fastmath.RULES} <= named
