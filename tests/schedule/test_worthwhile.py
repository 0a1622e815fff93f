"""Programs that leave nearly everything to NumPy run as plain NumPy on small arrays."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jitrt


def ranked(x):
    return np.sort(x)[::-1] * 2.0


@pytest.fixture(autouse=True)
def not_strict(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")


def test_small_arrays_run_plain():
    fast = jitrt.jit(ranked)
    small = np.arange(10.0)
    assert "too small" in fast.explain(small).plain_reason
    for _ in range(3):
        np.testing.assert_array_equal(fast(small), ranked(small))


def test_large_arrays_are_compiled():
    assert not jitrt.jit(ranked).explain(np.arange(1e6)).plain_reason


def test_kernels_alone_are_always_worthwhile():
    assert not jitrt.jit(lambda x: x * 2 + 1).explain(np.arange(2.0)).plain_reason


def test_a_plain_entry_lets_other_arguments_be_compiled():
    fast = jitrt.jit(ranked)
    for n in (10, 10, 1_000_000, 10, 1_000_000):
        x = np.arange(float(n))
        np.testing.assert_array_equal(fast(x), ranked(x))
    assert not fast.explain(np.arange(1e6)).plain_reason


def add_to(x, y):
    x += y


def relax(x, y):
    x[1:-1] += 0.25 * (x[2:] - 2 * x[1:-1] + x[:-2]) * y[1:-1]


def test_what_is_copied_to_an_argument_has_to_pay():
    x, y = np.arange(1e5), np.ones(100_000)
    assert "without a copy" in jitrt.jit(add_to).explain(x, y).plain_reason
    assert not jitrt.jit(relax).explain(x, y).plain_reason
    fast, wanted = jitrt.jit(add_to), x.copy()
    for _ in range(3):
        fast(x, y)
        add_to(wanted, y)
    np.testing.assert_array_equal(x, wanted)


def test_what_a_mask_chooses_is_worth_a_copy():
    def fade(x, y):
        m = x > 0
        x[m] = x[m] * y[m] + 1
        return x

    fast = jitrt.jit(fade)
    for n in (100, 40_000, 400_000):
        assert not fast.explain(np.ones(n), np.ones(n)).plain_reason


def test_copying_a_few_elements_is_cheaper_than_calls():
    assert not jitrt.jit(relax).explain(np.arange(9.0), np.ones(9)).plain_reason


def test_loops_over_time_write_once():
    def steps(x, y):
        for _ in range(10):
            x += y

    assert not jitrt.jit(steps).explain(np.arange(1e5), np.ones(100_000)).plain_reason


def test_loops_count_as_often_as_they_run():
    def relaxed(x):
        for _ in range(40):
            x = np.sin(x) * 0.5 + 1.0
        return np.sort(x)

    x = np.linspace(0.0, 1.0, 10_000)
    fast = jitrt.jit(relaxed)
    assert not fast.explain(x).plain_reason
    np.testing.assert_allclose(fast(x), relaxed(x), rtol=1e-14)


def views(x):
    first = x[1:]
    return first, first, x[:-1] * 2.0


def extremes(x):
    if x[0, 0] < 0:  # a look at a value
        return None
    return {"lowest": x.min(axis=0), "highest": x.max(axis=0)}


def doubled(x, y):
    x += y
    return x * 2


def checked(x):
    if x.max() > 0:
        x = x / 2
    return x + 1


@pytest.mark.parametrize("function", [views, extremes, checked], ids=lambda f: f.__name__)
def test_calls_that_only_python_can_serve_have_to_pay(function):
    fast = jitrt.jit(function)
    small, large = np.arange(8.0).reshape(4, 2), np.arange(2e6).reshape(-1, 2)
    for _ in range(3):
        for x in (small, large):
            np.testing.assert_equal(fast(x), function(x))
    reason = fast.explain(small).plain_reason
    assert "too small" in reason or "of this size" in reason
    assert not fast.explain(large).plain_reason


def test_the_same_array_twice_is_left_to_numpy_where_it_is_small():
    fast = jitrt.jit(doubled)
    for n in (5, 5, 5, 400_000, 400_000):
        x, y = np.arange(float(n)), np.arange(float(n))
        np.testing.assert_array_equal(fast(x, x), doubled(y, y))
        np.testing.assert_array_equal(x, y)
    assert "too small" in fast.explain(*[np.arange(5.0)] * 2).plain_reason


def test_numpy_needs_long_for_reductions_of_short_rows():
    assert "too little" in jitrt.jit(extremes).explain(np.ones((2, 3000))).plain_reason
    assert not jitrt.jit(extremes).explain(np.ones((3000, 2))).plain_reason


def test_what_is_left_to_numpy_is_weighed_before_anything_is_scheduled(monkeypatch, without_procedures):
    def products(a):
        total = 0.0
        for k in range(1, len(a)):
            total = total + a[k, :k] @ a[0, :k]
        return total

    monkeypatch.setattr("jitrt.pipeline.schedule", None)
    assert "NumPy does most of it" in jitrt.jit(products).explain(np.ones((9, 9), np.longdouble)).plain_reason


def test_a_process_whose_first_call_is_plain(tmp_path):
    """What native code serves then is the first that LLVM is asked for."""
    program = (
        "import numpy, jitrt; f = jitrt.jit(lambda x: numpy.sort(x)); print(*[f(numpy.ones(3)) for _ in range(2)])"
    )
    settings = {**os.environ, "JITRT_STRICT": "0", "JITRT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[1. 1. 1.] [1. 1. 1.]", done.stderr


def test_what_numpy_computes_one_by_one_counts_for_more():
    def angles(x):
        return np.sin(x) * np.cos(x), np.sort(x)

    def sums(x):
        return (x + 1) * (x - 1), np.sort(x)

    x = np.arange(3000.0)
    assert "NumPy does most of it" in jitrt.jit(sums).explain(x).plain_reason
    assert not jitrt.jit(angles).explain(x).plain_reason


def test_what_is_copied_into_fields_of_records_has_to_pay(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")

    def moved(p):
        p["x"] += 0.1 * p["y"]
        p["y"] *= 0.99

    def waves(p):
        for _ in range(3):
            p["x"] = np.sin(p["x"]) * np.exp(-p["y"])
            p["y"] = np.cos(p["y"]) * np.sqrt(np.abs(p["x"]))

    records = np.ones(100_000, [("x", "f8"), ("y", "f8"), ("m", "f4")])
    for function, is_plain in ((moved, True), (waves, False)):
        compiled, found, expected = jitrt.jit(function), records.copy(), records.copy()
        for _ in range(3):
            compiled(found)
            function(expected)
        for name in ("x", "y", "m"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-13)
        assert bool(compiled.explain(found).plain_reason) == is_plain
