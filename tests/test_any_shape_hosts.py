"""Functions of which NumPy executes some steps, at many shapes: programs for any shape take numbers for each."""

import random

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.call import lookup, templates

pytestmark = pytest.mark.filterwarnings("ignore")

# What keeps the shape of `x`, which is (n, m); `w` is (m, k), and `y` is (n, m).
STEPS = """x = x @ (w @ w.T); x = (y.T @ x).T[: 1] + x; x = x * 0.5 + y.mean(axis=0); x = np.abs(x[::-1]) + 1;
x = x - (x @ w).sum(axis=1)[:, None]; x = np.dot(x, w) @ w.T; x = x / (1 + np.abs(x).max()); w = w * 0.5 + w.shape[0];
x = x + np.einsum("ij,jk->i", x, w)[:, None]; x = x + np.inner(x, x[:1]); x = np.vstack([x[1:], (w @ w.T)[:1] * x[:1]]);
x = x + np.outer(x[:, 0], y[0]); y = np.matmul(x, np.ones((x.shape[1], 1))) * y; x = np.where(x > 0.3, x, x @ w @ w.T);
w = (x.T @ y) @ w / x.size; x = np.cumsum(x @ w, axis=0) @ w.T; x = x + np.tensordot(x, w, 1).mean();
x = x @ np.eye(x.shape[1]) * 0.5""".replace("\n", " ").split("; ")


def program(seed):
    chosen = random.Random(seed)
    lines = ["    x = x * 1.5", *(f"    {step.strip()}" for step in chosen.choices(STEPS, k=chosen.randint(1, 5)))]
    if chosen.random() < 0.3:
        step = chosen.choice(STEPS).strip()
        lines.append(f"    if y.mean() > 0.6:\n        {step}" if chosen.random() < 0.5 else "    y[1:] += x[:-1]")
    result = chosen.choice(["x", "x, w", "{'x': x, 'w': w}", "x.sum(axis=1), y * 2", "x[1:], w.T"])
    text = "\n".join(["def function(x, y, w):", *lines, f"    return {result}"])
    scope = {"np": np}
    exec(text, scope)
    return scope["function"], text


def outcome(function, args):
    args = [a.copy() for a in args]
    try:
        got = function(*args)
    except (ValueError, IndexError) as error:
        return type(error)
    return [*(got.values() if isinstance(got, dict) else got if isinstance(got, tuple) else [got]), *args]


def order(value):
    """The strides that matter."""
    value = np.asarray(value)
    return [step for n, step in zip(value.shape, value.strides) if n > 1 and value.size]


def compare(seed, calls=20):
    function, text = program(seed)
    chosen, generator, many = random.Random(seed), np.random.default_rng(seed), jitrt.jit(function)
    for _ in range(calls):
        small = chosen.random() < 0.1
        n, m, k = (chosen.choice([0, 1, 2, 3]) if small else chosen.randint(5, 60) for _ in "nmk")
        m = n if chosen.random() < 0.1 else m
        args = [generator.random(shape) / 8 for shape in ((n, m), (n if chosen.random() < 0.9 else 1, m), (m, k))]
        args[1] *= 8 + n % 2 * 3
        with np.errstate(all="ignore"):
            want, got = outcome(function, args), outcome(many, args)
        case = f"{text}\n{[a.shape for a in args]}"
        if isinstance(want, type):
            assert got is want, case
            continue
        assert not isinstance(got, type), f"{got} {case}"
        for a, b in zip(got, want, strict=True):
            assert (type(a), np.shape(a), order(a)) == (type(b), np.shape(b), order(b)), case
            np.testing.assert_allclose(a, b, 1e-8, 1e-8 * np.abs(b).max(initial=1), err_msg=case)


@pytest.mark.parametrize("block", few(range(6), 1))
def test_random_programs(block):
    for seed in range(10):
        compare(10 * block + seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_more_random_programs(block):
    for seed in range(20):
        compare(1000 + 20 * block + seed)


def test_new_shapes_are_not_traced(monkeypatch):
    found = []

    def counted(what):
        return lambda *args: found.append(what) or what(*args)

    monkeypatch.setattr(lookup, "specialise", counted(lookup.specialise))
    monkeypatch.setattr(templates, "new_template", counted(templates.new_template))
    many = jitrt.jit(lambda x, w: np.maximum(x @ w * 0.5 + 1, 0) @ w.T)
    generator = np.random.default_rng(0)
    for n in range(20, 220):
        x, w = generator.random((n, 40)), generator.random((40, 3 * n % 50 + 20))
        np.testing.assert_allclose(many(x, w), np.maximum(x @ w * 0.5 + 1, 0) @ w.T)
    assert len(found) < 20
    assert many.cache_info().slow_calls < 20
