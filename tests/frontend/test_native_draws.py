"""Draws that native code makes: the numbers, the state afterwards, the lock, and what becomes of both on a failure."""

import itertools
import linecache
import threading
import warnings

import numpy as np
import pytest

import jitrt

X = np.linspace(0.1, 3, 37)
M = np.arange(1.0, 7).reshape(2, 3)
BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]

SIZES = ["", "n", "(n, 2)", "()", "0", "x.shape"]
STANDARD = ["random", "standard_normal", "standard_exponential"]
CALLS = [f"rng.{name}({size})" for name, size in itertools.product(STANDARD, SIZES)]
CALLS += [f"rng.{name}({size or 'None'}, dtype=np.float32)" for name, size in itertools.product(STANDARD, SIZES)]
NUMBERS = ["2.0", "n", "x", "m", "x[:1]", "-1.0", "0.0", "np.float32(3)"]
CALLS += [f"rng.{name}({p})" for name, p in itertools.product(("exponential", "poisson", "standard_gamma"), NUMBERS)]
CALLS += [f"rng.normal({p}, {q})" for p, q in itertools.product(NUMBERS, NUMBERS)]
CALLS += [f"rng.uniform({p}, {q})" for p, q in itertools.product(NUMBERS, NUMBERS)]
CALLS += [f"rng.{name}(1.5, 0.5, {s})" for name, s in itertools.product(("normal", "gamma", "uniform"), SIZES[1:])]
CALLS += [f"rng.integers({p}{s})" for p, s in itertools.product(("n, size=", "-3, n, ", "n, n + 1, "), SIZES[1:])]
CALLS += [
    "rng.integers(n)",
    "rng.integers(n, n)",
    "rng.integers(0, n, 5, np.int32)",
    "rng.integers(0, 9, n, endpoint=True)",
]
CALLS += ["rng.integers(-(1 << 62), 1 << 62, n)", "x[rng.integers(0, len(x), n)]", "rng.integers(1 << 40, size=n)"]
CALLS += [f"rng.choice({p}, {s})" for p, s in itertools.product(("x", "n", "x[:0]", "m"), ("None", *SIZES[1:]))]
CALLS += [
    "rng.choice([-1, 1])",
    "rng.choice((0.5, 2.0, -1.0), 5)",
    "rng.choice([1, 2.5])",
    "rng.choice([])",
    "rng.choice(x, 5, False)",
    "rng.choice(x, 5, p=x / x.sum())",
    "rng.choice(x, n, replace=True, shuffle=False)",
    "rng.choice(m, 2, axis=1)",
    "rng.normal(x, m)",
    "rng.random(-1)",
    "rng.random(2.5)",
]
WEIGHTS = ["x / x.sum()", "x", "-x", "x * np.nan", "x[:3]", "m", "None", "(x / x.sum()).astype(np.float32)"]
CALLS += [f"rng.choice(len(x), {s or 'None'}, p={p})" for p, s in itertools.product(WEIGHTS, ("", "n", "(n, 2)", "()"))]
CALLS += [
    f"rng.choice({v}, p=[0.25, 0.0, 0.75])" for v in ("3", "[1.5, 2, 7]", "(1, 2, 3)", "x[:3]", "4", "m", "'abc'")
]
CALLS += ["rng.choice(3, 2, replace=False, p=[0.25, 0.5, 0.25])", "rng.choice(0, p=x[:0])"]
CALLS += [
    f"rng.{d}, {s})"
    for d, s in itertools.product(("power(2.0", "f(x, 2.0", "wald(1.0, 2.0", "pareto(m"), ("n", "None"))
]
CALLS += [
    "rng.noncentral_chisquare(x, 0.5)",
    "rng.noncentral_f(2.0, 3.0, 1.0, n)",
    "rng.wald(x, -1.0)",
    "rng.f(2.0, 0.0, 3)",
]
CALLS += ["rng.permutation(n)", "rng.permutation(x)", "rng.permutation(m)", "rng.permutation(-n)", "rng.shuffle(x)"]
CALLS += [
    "rng.normal(np.nan, 1.0, n)",
    "rng.normal(0.0, np.inf, n)",
    "rng.uniform(-1e308, 1e308, n)",
    "rng.normal(1e308, 1e308, n)",
]

WHOLE = "def f(rng, x, m, n):\n    return {}\n"
LOOP = """def f(rng, x, m, n):
    total = 0.0
    for k in range(n):
        total += rng.random() * k
    drawn = {}
    return drawn, total
"""


NUMBERS_OF_FILES = itertools.count()


def function_of(text):
    file = f"<draws {next(NUMBERS_OF_FILES)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def outcome(function, rng, n):
    """What a call gives or raises, and the state of the generator and the arrays afterwards."""
    x, m = X.copy(), M.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jitrt.JitrtPerformanceWarning)
        try:
            made = function(rng, x, m, n)
        except Exception as error:
            made = type(error), str(error)
    return made, x, rng.bit_generator.state


def assert_same(got, want):
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            assert_same(g, w)
    elif isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, (np.ndarray, np.generic, float)):
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want, strict=True)
    else:
        assert type(got) is type(want) and got == want


@pytest.mark.parametrize("around, step", [(WHOLE, 4), (LOOP, 14)], ids=["whole", "loop"])
@pytest.mark.parametrize("part", range(4))
def test_numbers_and_states_are_numpys(around, step, part):
    """Some of the calls; the marker `slow` is for all of them."""
    compare(around, CALLS[part :: 4 * step])


@pytest.mark.slow
@pytest.mark.parametrize("around", [WHOLE, LOOP], ids=["whole", "loop"])
def test_all_calls(around):
    compare(around, CALLS)


def compare(around, calls):
    for call in calls:
        plain = function_of(around.format(call))
        compiled = jitrt.jit(plain)
        kind = BITS[len(call) % len(BITS)]
        rngs = [np.random.Generator(kind(7)) for _ in range(2)]
        for n in (5, 5, 5, 12, 0):
            assert_same(outcome(compiled, rngs[0], n), outcome(plain, rngs[1], n))


def noisy(rng, x):
    return x + rng.normal(0.0, 0.1, x.shape) / x


@pytest.mark.parametrize("bits", BITS)
def test_native_code_draws(bits):
    compiled = jitrt.jit(noisy)
    rngs = [np.random.Generator(bits(7)) for _ in range(2)]
    for _ in range(5):
        assert_same(compiled(rngs[0], X), noisy(rngs[1], X))
    assert_same(rngs[0].bit_generator.state, rngs[1].bit_generator.state)
    slow = compiled.cache_info().slow_calls
    for _ in range(5):
        compiled(rngs[0], X)
    assert compiled.cache_info().slow_calls == slow


@pytest.mark.parametrize("bits", BITS)
def test_a_call_that_stops_half_way_draws_once(bits):
    compiled = jitrt.jit(noisy)
    rngs = [np.random.Generator(bits(7)) for _ in range(2)]
    zeros = np.where(X > 1, X, 0.0)
    for x in (X, X, zeros, X, zeros):
        got = []
        for function, rng in ((compiled, rngs[0]), (noisy, rngs[1])):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                got.append((function(rng, x), [str(w.message) for w in caught]))
        assert_same(*got)
        assert_same(rngs[0].bit_generator.state, rngs[1].bit_generator.state)


def test_other_generators_and_those_that_the_code_names():
    compiled = jitrt.jit(noisy)
    first, second, third, fourth = (np.random.default_rng(s) for s in (1, 2, 1, 2))
    for rng, other in ((first, third), (second, fourth), (first, third), (second, fourth)) * 2:
        assert_same(compiled(rng, X), noisy(other, X))
    compiled = jitrt.jit(lambda x: x * first.random(x.shape))
    for _ in range(4):
        assert_same(compiled(X), X * third.random(X.shape))


def test_calls_wait_while_another_thread_draws():
    compiled, rng, other = jitrt.jit(noisy), np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        assert_same(compiled(rng, X), noisy(other, X))
    made = []
    thread = threading.Thread(target=lambda: made.append(compiled(rng, X)))
    with rng.bit_generator.lock:
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and not made
    thread.join()
    assert_same(made[0], noisy(other, X))
    assert_same(compiled(rng, X), noisy(other, X))


def test_threads_that_share_a_generator_draw_different_numbers():
    compiled, rng = jitrt.jit(lambda rng, x: rng.random(len(x))), np.random.default_rng(1)
    compiled(rng, X)
    found = []

    def work():
        for _ in range(200):
            found.append(compiled(rng, X))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = np.sort(np.concatenate(found))
    assert len(np.unique(every)) == len(every)
    again = np.random.default_rng(1)
    expected = again.random(len(X) * 801)[len(X) :]
    assert_same(np.sort(expected), every)
    assert_same(rng.bit_generator.state, again.bit_generator.state)
