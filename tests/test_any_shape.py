"""Programs for arrays of any shape: native code serves shapes that it has not seen, with the results of NumPy."""

import json
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.call import templates

pytestmark = pytest.mark.filterwarnings("ignore")

UNARY = [np.abs, np.exp, np.sqrt, np.negative, np.tanh, lambda x: x * 0.5 + 1, lambda x: x[::-1], np.ascontiguousarray]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, lambda x, y: np.where(x > 0.5, x, y), np.hypot]
TO_ANOTHER_SHAPE = [
    lambda x: x[1:],
    lambda x: x[:, :-1],
    lambda x: x[::2],
    lambda x: x[:, 1::3],
    lambda x: x.T,
    lambda x: np.concatenate([x, x[:1]]),
    lambda x: np.cumsum(x, axis=0),
    lambda x: x.reshape(-1)[None, :],
    lambda x: x[: x.shape[0] // 2],
    lambda x: np.zeros((x.shape[1] + 1, 2)) + x.size,
]
FOLDS = [
    lambda x: x.sum(axis=0, keepdims=True),
    lambda x: x.mean(axis=1, keepdims=True),
    lambda x: np.full((1, 1), x.max()) if x.size else np.zeros((1, 1)),
    lambda x: x.var(axis=0)[None, :],
    lambda x: x.sum().reshape(1, 1),
]


def program(seed):
    """A random function of two matrices, whose values have shapes that fit together for all shapes of these."""
    chosen = random.Random(seed)
    steps = [
        (chosen.random(), chosen.choice(UNARY), chosen.choice(BINARY), chosen.choice(TO_ANOTHER_SHAPE),
         chosen.choice(FOLDS), chosen.randrange(1 << 20), chosen.randrange(1 << 20))
        for _ in range(chosen.randint(2, 7))
    ]  # fmt: skip
    writes = chosen.random() < 0.3

    def function(x, y):
        kinds = [[x, x * 2], [y]]  # of equal shapes
        for share, unary, binary, reshape, fold, a, b in steps:
            kind = kinds[a % len(kinds)]
            one, other = kind[b % len(kind)], kind[-1]
            if share < 0.35:
                kind.append(binary(one, other))
            elif share < 0.55:
                kind.append(unary(one))
            elif share < 0.75:
                kinds.append([reshape(one)])
            else:
                kind.append(one - fold(other) if share < 0.9 else fold(other) * other)
        if writes:
            x[1:-1] += 0.25 * x[:-2]
        return tuple(kind[-1] for kind in kinds[:4])

    return function


def outcome(function, args):
    """What a call gives and leaves behind, or the class of what it raises."""
    args = [a.copy(order="K") for a in args]
    try:
        return [np.asarray(r) for r in function(*args)] + args
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return type(error)


def arrays(chosen, generator):
    """Two matrices, of extents that are 0 and 1 now and then, alike, and large."""
    sizes = [0, 1, 2, 3, 5, 16, 17, 33, 64, 100, 130, 257]
    rows, columns, others = (chosen.choice(sizes) for _ in range(3))
    if chosen.random() < 0.6:
        rows, columns, others = chosen.randint(30, 140), chosen.randint(20, 90), chosen.randint(2, 50)
    if chosen.random() < 0.2:
        columns = rows
    x, y = generator.random((rows, columns)), generator.random((others, columns))
    return tuple(np.asfortranarray(a) if chosen.random() < 0.2 else a for a in (x, y))


@pytest.mark.parametrize("seed", few(range(40), 5))
def test_results_are_those_of_numpy_and_of_programs_for_the_shape(seed, monkeypatch):
    function, chosen, generator = program(seed), random.Random(seed), np.random.default_rng(seed)
    many = jitrt.jit(function)
    with np.errstate(all="ignore"):
        for k in range(25):
            args = arrays(chosen, generator)
            want, got = outcome(function, args), outcome(many, args)
            if isinstance(want, type):
                assert got is want
                continue
            assert [a.shape for a in got] == [a.shape for a in want], args[0].shape
            for a, b in zip(got, want, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, 1e-11, 1e-11)
            if k % 5 == 4:
                with monkeypatch.context() as patch:
                    patch.setattr(templates.Templates, "find", lambda *_: None)
                    single = outcome(jitrt.jit(function), args)
                assert all(a.tobytes() == b.tobytes() for a, b in zip(got, single, strict=True)), args[0].shape


def row_norms(x, y):
    z = x - x.mean(axis=1, keepdims=True)
    return z / np.sqrt((z * z).sum(axis=1, keepdims=True) + 1e-9) + y[0]


def blended(x, y):
    x[1:-1] = 0.5 * x[1:-1] + 0.25 * (x[2:] + x[:-2])
    return (x * 0.5).sum(axis=0) - y.sum(axis=0)


def horner(x, y):
    return 1 + x * (0.5 + x * (0.25 + x * y[0, 0]))


def filled_by_rows(x, y):
    rows = np.empty((2, *x.shape))
    rows[0] = x * 2
    rows[1, :] = np.sin(x)
    columns = np.zeros((x.shape[1], 3))
    columns[:, 0] = x[0]
    columns[:, 1:] = y[1, :, None] + 1
    every_other = np.zeros((4, x.shape[1]))
    every_other[::2] = y[0]
    every_other[1::2] = x[1] * 3
    return rows[0] - rows[1] + columns.sum(axis=1) + every_other[3]


@pytest.mark.parametrize("function", [row_norms, blended, horner, filled_by_rows])
def test_native_code_serves_shapes_that_are_new(function):
    many = jitrt.jit(function)
    generator = np.random.default_rng(1)

    def call(n, m):
        x, y = generator.random((n, m)), generator.random((3, m))
        z = x.copy()
        got, want = many(x, y), function(z, y)
        np.testing.assert_allclose(got, want, 1e-12, 1e-12)
        np.testing.assert_allclose(x, z, 1e-12, 1e-12)

    for n in range(40, 52):
        call(n, 2 * n + 1)
    call(130, 200)  # the frame may have to grow
    before = many.cache_info()
    for n in range(52, 120):
        call(n, 240 - n)
    after = many.cache_info()
    assert after.slow_calls - before.slow_calls <= 2
    assert (after.compiled, after.tables) == (before.compiled, before.tables)


def test_arrays_in_the_order_of_fortran_are_served_at_any_shape():
    functions = [lambda x, y: x * 2 + y, lambda x, y: x - x.max(axis=1, keepdims=True), lambda x, y: x.T.copy() + 1]
    for function in functions:
        many = jitrt.jit(function)
        for n in range(20, 60):
            x = np.random.default_rng(n).random((2 * n + 1, n)).T
            y = np.asfortranarray(x) if n % 2 else x * 3
            got, want = many(x, y), function(x, y)
            np.testing.assert_array_equal(got, want)
            assert got.strides == want.strides
        assert many.cache_info().slow_calls < 8


def test_frames_grow_and_work_goes_to_threads():
    def spread(x):
        a = np.cumsum(x)
        return a[1:] * a[:-1] + np.cumsum(x[::-1])[1:]

    many = jitrt.jit(spread)
    generator = np.random.default_rng(0)
    for n in [1000, 2000, 3000, 900_000, 5, 40_000, 1_000_000, 2_500_000, 7000, 2, 1, 0, 3, 333_333]:
        x = generator.random(n)
        if n:
            np.testing.assert_allclose(many(x), spread(x), 1e-9)
        else:
            assert many(x).shape == (0,)


def test_arguments_that_overlap_are_told_from_those_that_do_not():
    many = jitrt.jit(blended)
    for n in range(30, 90):
        base = np.random.default_rng(n).random((2 * n, 7))
        other = base.copy()
        shift = n % 3
        got = many(base[shift : n + shift], base[n:])
        np.testing.assert_allclose(got, blended(other[shift : n + shift], other[n:]), 1e-12)
        np.testing.assert_allclose(base, other, 1e-12)


def test_exceptions_that_are_asked_for_are_raised_at_any_shape():
    many = jitrt.jit(lambda x, y: (x / y).sum())
    for n in range(20, 120):
        x, y = np.ones(n), np.ones(n)
        assert many(x, y) == n
        y[n // 2] = 0
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            many(x, y)
        with np.errstate(divide="ignore"):
            assert many(x, y) == np.inf
        with pytest.raises(ValueError, match="broadcast"):
            many(x, np.ones(n + 1))


def test_threads_have_frames_of_their_own():
    many, wrong = jitrt.jit(row_norms), []

    def work(seed):
        chosen, generator = random.Random(seed), np.random.default_rng(seed)
        for _ in range(150):
            x = generator.random((chosen.randint(20, 160), chosen.randint(20, 160)))
            y = x[:2]
            if not np.allclose(many(x, y), row_norms(x, y), 1e-12, 1e-12):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_shapes_take_no_memory():
    many = jitrt.jit(row_norms)
    for n in range(20, 60):
        many(np.ones((n, n + 5)), np.ones((1, n + 5)))
    before = many.cache_info()
    for n in range(60, 200):
        many(np.ones((n, n + 7)), np.ones((1, n + 7)))
    after = many.cache_info()
    assert after.compiled <= before.compiled + 2 and len(many.signatures()) <= 8


def test_signatures_say_which_extents_may_be_any():
    many = jitrt.jit(lambda x, y: horner(x, y) + 0.125)
    for n in range(40, 46):
        many(np.ones((n, 7)), np.ones((2, 7)))
    assert "f8(s0, 7), f8(2, 7)" in [s.arguments for s in many.signatures()]


def test_integers_that_vary_and_shapes_that_do():
    many = jitrt.jit(lambda x, k: x * k + k / 4)
    for n in range(30, 90):
        k = n * n % 17 - 5
        np.testing.assert_array_equal(many(np.ones(n), k), np.ones(n) * k + k / 4)
    assert many.cache_info().slow_calls < 15


def in_vain(x, y):
    """Much of what this computes is read by nothing."""
    unread = x
    for k in range(30):
        unread = unread * 0.5 + x * (k + 1.0)
    return x * y + 1


def in_vain_without_a_loop(x, y):
    return [x * y + 1, sum([x * (0.5 + k) for k in range(40)])][0]


@pytest.mark.parametrize("function", [in_vain, in_vain_without_a_loop])
def test_what_nothing_reads_is_left_out_for_any_shape(function):
    many = jitrt.jit(function)
    for n in range(40, 80):
        x, y = np.full(n, 0.5), np.full(n, 3.0)
        np.testing.assert_array_equal(many(x, y), x * y + 1)
    assert many.cache_info().slow_calls < 6
    with np.errstate(over="raise"):
        for n in range(40, 80):
            x, y = np.full(n, 1e307), np.full(n, 1e-307)  # for which what nothing reads overflows
            with pytest.raises(FloatingPointError):
                many(x, y)
    for n in range(40, 80):
        x = np.full(n, 1e307)
        np.testing.assert_array_equal(many(x, x / 1e307), x + 1)


@pytest.mark.parametrize("result", [lambda x: (x * 2, x.shape[0], x.size + 1), lambda x: {"n": len(x), "half": x / 2}])
def test_extents_that_are_returned_are_those_of_the_call(result):
    many = jitrt.jit(result)
    for n in range(40, 60):
        got, want = many(np.ones(n)), result(np.ones(n))
        for a, b in zip(*(v.values() if isinstance(v, dict) else v for v in (got, want)), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)


NEXT_PROCESS = """
import json, sys
import numpy as np
import jitrt
{source}
many = jitrt.jit(function)
right = True
for n in {sizes}:
    x = np.random.default_rng(n).random((n, 2 * n))
    right = right and np.allclose(many(x), function(x), 1e-12, 1e-12)
print(json.dumps([bool(right), "jitrt.pipeline" in sys.modules, many.cache_info().compiled]))
"""
SOURCES = {
    "softmax": "def function(x):\n    e = np.exp(x - x.max(axis=1)[:, None])\n    return e / e.sum(axis=1)[:, None]",
    "columns": "def function(x):\n    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)",
    "halves": "def function(x):\n    return x[: x.shape[0] // 2].cumsum(axis=1) * 0.5 + x.shape[1]",
    "stencil": "def function(x):\n    z = np.zeros_like(x)\n    z[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2]\n    return z",
}


@pytest.mark.parametrize("name", few(SOURCES, 2))
def test_the_next_process_has_the_program_at_its_first_call(name, tmp_path):
    def run(sizes):
        script = NEXT_PROCESS.format(source=SOURCES[name], sizes=sizes)
        environment = {**os.environ, "JITRT_CACHE_DIR": str(tmp_path), "JITRT_STRICT": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert run([60, 70, 81, 90])[0]
    assert run([77, 66, 95, 85, 83]) == [True, False, 1]


def test_no_program_for_all_leaves_out_what_an_argument_does():
    """A function among the arguments may do what makes calls run plain, whatever their integers are."""
    done = []

    def applied(x, n, change):
        change(n)
        return x * n + 1.0

    fast = jitrt.jit(applied)
    for n in range(12):

        def change(k):
            nonlocal done
            done = [*done, k]

        np.testing.assert_array_equal(fast(np.arange(float(n % 4 + 3)), n, change), np.arange(float(n % 4 + 3)) * n + 1)
        assert done == list(range(n + 1))
