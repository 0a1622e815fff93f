"""Arrays of staged functions that get no memory: computed where they are used, from what was there when they were made.

The functions are random texts, or made of every form in which an expression evaluates several others.
"""

import textwrap

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt


def _function(name, body):
    """A function of a text that `inspect` finds."""
    return function_of(textwrap.dedent(body), name)


def _agrees(function, *args):
    """Whether the compiled function gives and writes what the plain one does; it is staged."""
    f = jitrt.jit(function)
    for _ in range(2):
        given, its = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        want, made = function(*given), f(*its)
        for x, y in zip([*want, *given], [*made, *its]):
            np.testing.assert_array_equal(x, y)
            assert np.asarray(x).dtype == np.asarray(y).dtype
    return bool(f._loops.serving)


FORMS = [
    "x * 2 + g(x)", "(x * 2 > g(x)) * 1.0", "np.maximum(x * 2, g(x))", "np.clip(x * 2, g(x), 90.0)",
    "np.where(x > 3, x * 2, g(x))", "(x * 2).clip(g(x), 90.0)", "(x * 2)[int(g(x)):]", "pair(x * 2, g(x))",
    "pair(x * 2, b=g(x))", "(x * 2, g(x))[0] + 0", "[x * 2, g(x)][0] + 0", "x[1:] * 2 + g(x)", "-(x * 2) - g(x) * x",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_operands_are_what_they_were_before_the_next_one_is_evaluated(form):
    f = _function(
        "f",
        f"""
        def g(x):
            x[0] += 5.0
            return 1.0
        def pair(a, b):
            return a + b
        def f(x, n):
            total = 0.0
            for i in range(n):
                w = {form}
                x[i] += i
                total += w[0] + w[i]
            return total, w
        """,
    )
    assert _agrees(f, np.arange(6.0), 4)


@pytest.mark.parametrize("first", ["p[1:]", "p[::2]", "p[0]"])
def test_several_targets_get_one_value(first):
    f = _function(
        "f",
        f"""
        def f(p, n):
            total = 0.0
            for i in range(n):
                {first} = q = {"p[:-1] * 2" if first == "p[1:]" else "p[::2] + 1" if first == "p[::2]" else "p[1] + i"}
                total += {"q[i]" if ":" in first else "q"} + p[i]
            return total, p
        """,
    )
    _agrees(f, np.arange(6.0), 3)


def _statement(rng, names, k):
    """A random statement of whole arrays, which may read, write or name any of `names`."""
    a, b, c = (names[i] for i in rng.integers(0, len(names), 3))
    new, shift, axis = f"t{k}", rng.integers(-3, 4), rng.integers(0, 2)
    forms = [
        (f"{new} = {a} * 0.5 + {b}", new), (f"{new} = {a} - {b} * {c}", new),
        (f"{new} = np.roll({a}, {shift}, {axis}) + {b}", new),
        (f"{new} = np.sqrt(np.abs({a})) + 1", new), (f"{a}[1:, :] = {b}[:-1, :] * 0.5", None), (f"{a} *= 0.75", None),
        (f"{new} = {a}[::-1] + {b}", new), (f"{a}[...] = {b} * 0.25 + {c}", None), (f"{new} = {a}", new),
        (f"{new} = {a}.T.copy().T * 0.5 if k % 2 else {b} + 0", new), (f"{new} = smooth({a}, {b})", new),
        (f"{new} = ({a} * 0.5 + {b}).sum(axis=0) * 0.1 + {c}", new), (f"{new} = {a}.mean(axis=1)[:, None] + {b}", new),
        (f"{new} = np.where({a} > {b}, {a}, {c} - 0.5)", new), (f"{a}, {b} = {b} + 1, {a} * 0.5", None),
    ]  # fmt: skip
    return forms[rng.integers(0, len(forms))]


def _program(seed):
    rng = np.random.default_rng(seed)
    names, lines = ["x", "y", "z"], []
    for k in range(int(rng.integers(3, 9))):
        text, new = _statement(rng, names, k)
        lines.append(text)
        if new is not None:
            names.append(new)
    last = " + ".join(rng.choice(names, 2))
    update = f"z = {names[-1]} * 0.5 + x * 0.25"
    return "\n".join(
        [
            "def smooth(a, b):", "    b[0] = a[1] * 0.5", "    return a * 0.25 + b",
            "def f(x, y, z, n):", "    k, change = 0, 1.0", "    while change > 1e-6 and k < n:",
            *(f"        {line}" for line in lines),
            f"        {update}", f"        change = np.abs({last}).mean()", "        k += 1",
            "    return x, y, z, change, k",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_random_statements_of_whole_arrays(seed):
    f = _function("f", _program(seed))
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-8, 9, (5, 7)) / 4 for _ in range(3)]
    with np.errstate(all="ignore"):
        compiled = jitrt.jit(f)
        for n in (3, 3, 4):
            given, its = ([a.copy() for a in arrays] for _ in range(2))
            for x, y in zip([*f(*given, n), *given], [*compiled(*its, n), *its]):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)


@pytest.mark.wide
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -12, "k", "-k", "n"])
def test_rolls(shift, axis):
    """Loops along the axis become two; the first and the last element, and shifts by more than there are, are right."""
    f = _function(
        "f",
        f"""
        def f(x, n):
            k, change, total = 0, 1.0, 0.0
            while change > 1e-6 and k < n:
                y = x * 0.5 + np.roll(x, {shift}{"" if axis is None else f", {axis}"})
                z = np.roll(x, {shift}, {-1 if axis is None else axis})[{"1:, ::-1" if axis is not None else "2:-1"}]
                y = y + np.roll(np.roll(y, 1, 0), {shift}, {-1 if axis is None else axis})
                total += z.sum() + (np.roll(y, 2, 0) > 0.25).sum() + np.roll(y, 1, 0).max()
                x = y * 0.25
                change = np.abs(x).sum()
                k += 1
            return x, total, k
        """,
    )
    for shape in ((5,), (1,), (9,)) if axis is None else ((4, 6), (1, 5), (5, 1), (2, 3)):
        x = np.random.default_rng(0).integers(-8, 9, shape) / 4
        assert _agrees(f, x, 3)


def test_arrays_whose_sizes_vary_make_a_procedure_where_they_get_no_memory():
    def tree(x, up, n):
        value = np.maximum(1.0 - x * up ** np.arange(n + 1.0), 0)
        for k in range(n - 1, -1, -1):
            price = x * up ** np.arange(k + 1.0)
            value = np.maximum(0.5 * (value[1:] + value[:-1]), 1.0 - price)
        return value[0]

    fast = jitrt.jit(tree)
    for n in (20, 25, 3, 40):
        np.testing.assert_allclose(fast(0.9, 1.01, n), tree(0.9, 1.01, n), rtol=1e-14)
    assert "procedure(" in fast.explain(0.9, 1.01, 33).loop
