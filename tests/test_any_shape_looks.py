"""Functions that look at values, at many shapes: programs for any shape serve each path that there is."""

import random

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.call import lookup, templates

pytestmark = pytest.mark.filterwarnings("ignore")

STEPS = """{a} = {a} * 0.5 + {b}.mean(); {a} = {a} - {a}.max(axis=0); {a} = np.abs({a}[::-1]) + {b}.sum();
{a} = np.where({a} > 0.3, {a}, -{a}); {a} = {a} / (1.5 + np.abs({b}).max()); {a} = np.cumsum({a}, axis=0);
{a}[1:-1] += 0.25 * {a}[:-2]; {a} = np.concatenate([{a}, {b}[:1]]); {a} = {a}[: {a}.shape[0] // 2 + 1].copy();
{a} = {a}.T.copy().T; {a}[{a} < 0] = 0.25; {a} = {a} * {a}.shape[0] / {b}.size""".replace("\n", " ").split("; ")
LOOKS = """if {a}.mean() > {c}:; if ({a} > {c}).any():; if {a}.sum() > {b}.sum():; if {a}.size and {a}.flat[0] > {c}:;
for _ in range(2 + int(abs({a}.mean()) > {c})):; if np.isfinite({a}).all() and {a}.max() > {c}:;
if {a}.shape[0] > 40 and {b}.mean() > {c}:""".replace("\n", " ").split("; ")


def program(seed):
    """A function of two matrices that looks at what it computes, with its text."""
    chosen, lines = random.Random(seed), ["    x = x * 1.5", "    y = y + 0.25"]
    for _ in range(chosen.randint(1, 3)):
        for _ in range(chosen.randint(0, 2)):
            lines.append("    " + chosen.choice(STEPS).strip().format(**names(chosen)))
        look = chosen.choice(LOOKS).strip().format(c=f"{chosen.uniform(0.2, 1.2):.2f}", **names(chosen))
        lines.append("    " + look)
        for _ in range(chosen.randint(1, 2)):
            lines.append("        " + chosen.choice(STEPS).strip().format(**names(chosen)))
        if look.startswith("if") and chosen.random() < 0.5:
            lines += ["    else:", f"        {chosen.choice(STEPS).strip().format(**names(chosen))}"]
    if chosen.random() < 0.3:
        lines.append("    z[1:] = 0.5 * z[:-1]")
    result = chosen.choice(["x, y", "{'x': x, 'y': y.sum()}", "[x, y, x.shape[0]]", "x * 0.5", "{'x': (x, y)}"])
    text = "\n".join(["def function(x, y, z):", *lines, f"    return {result}"])
    scope = {"np": np}
    exec(text, scope)
    return scope["function"], text


def names(chosen):
    return dict(zip("ab", chosen.sample("xy", 2) if chosen.random() < 0.7 else chosen.choice(["xx", "yy"])))


def parts(value):
    if isinstance(value, dict):
        value = [item for pair in value.items() for item in pair]
    if isinstance(value, (list, tuple)):
        return [type(value), *(part for item in value for part in parts(item))]
    return [value]


def arguments(values, shares):
    """Arguments in memory of their own, some of which lie in that of others."""
    x, y, z = (value.copy() for value in values)
    if shares == "one":
        y = x
    elif shares == "rows":
        y, z = x[::-1], x[:, :1].reshape(-1) if x.size else z
    elif shares == "parts" and len(x) > 3:
        x, y = x[1:], x[:-1]
    return x, y, z


def outcome(function, args):
    try:
        return [*parts(function(*args)), *args]
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return type(error)


@pytest.fixture
def traces(monkeypatch):
    """Grows with every trace."""
    found = []

    def counted(what):
        return lambda *args: found.append(what) or what(*args)

    monkeypatch.setattr(lookup, "specialise", counted(lookup.specialise))
    monkeypatch.setattr(templates, "new_template", counted(templates.new_template))
    return found


def compare(seed, calls=25):
    function, text = program(seed)
    chosen, generator, many = random.Random(seed), np.random.default_rng(seed), jitrt.jit(function)
    with np.errstate(all="ignore"):
        for _ in range(calls):
            small = chosen.random() < 0.1
            n, m, k = (chosen.choice([0, 1, 2, 3]) if small else chosen.randint(20, 60) for _ in "nmk")
            m = n if chosen.random() < 0.1 else m
            args = [generator.random((n, m)), generator.random((n if chosen.random() < 0.8 else k, m)), np.ones(k)]
            args[0] *= chosen.choice([0.5, 1, 2])
            shares = chosen.choice(["one", "rows", "parts"]) if chosen.random() < 0.2 else ""
            want, got = (outcome(f, arguments(args, shares)) for f in (function, many))
            case = f"{text}\n{[a.shape for a in args]} {shares}"
            if isinstance(want, type):
                assert got is want, case
                continue
            assert not isinstance(got, type), f"{got} {case}"
            for a, b in zip(got, want, strict=True):
                if isinstance(b, (np.ndarray, float)):
                    assert type(a) is type(b) and np.shape(a) == np.shape(b), case
                    np.testing.assert_allclose(a, b, 1e-9, 1e-9, err_msg=case)
                else:
                    assert a == b, case


@pytest.mark.parametrize("block", few(range(8), 1))
def test_random_programs(block):
    for seed in range(6):
        compare(6 * block + seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_more_random_programs(block):
    for seed in range(20):
        compare(1000 + 20 * block + seed)


def clipped(x):
    y = x * 2 - x.mean()
    if y.max() > 1.5:
        y = y / y.max()
    return {"y": y, "n": len(y), "mean": float(y.mean())}


def bounded(x):
    low, high = x.min(), x.max()
    if low < 0.01 and high > 1.5:
        return [x - low, high]
    return np.clip(x, 0.25, 0.75) if high > 0.99 else None


@pytest.mark.parametrize("function", [clipped, bounded])
def test_new_shapes_are_neither_traced_nor_seen_by_python(function, traces):
    many, generator = jitrt.jit(function), np.random.default_rng(0)
    for n in generator.permutation(np.arange(100, 500)):
        x = generator.random(n) * (n % 3)
        for a, b in zip(parts(many(x)), parts(function(x)), strict=True):
            is_number = isinstance(b, (np.ndarray, float))
            assert type(a) is type(b) and (np.allclose(a, b, 1e-11, 1e-12) if is_number else a == b)
    assert len(traces) < 12
    assert many.cache_info().slow_calls < 20


def test_a_path_that_comes_later_is_added_with_its_conditions(traces):
    """The new path goes by a size of which the first one knew nothing."""

    def function(x):
        if x.max() > 1:
            return {"x": x * 2 if len(x) < 250 else x - 1}
        return {"x": x + 1}

    many = jitrt.jit(function)
    for n in range(200, 240):
        np.testing.assert_array_equal(many(np.full(n, 0.5))["x"], np.full(n, 1.5))
    for n in [*range(200, 300), *range(220, 280)]:
        for value in (2.0, 0.5):
            x = np.full(n, value)
            np.testing.assert_array_equal(many(x)["x"], function(x)["x"])
    assert len(traces) < 12
