"""Loops with independent iterations give NumPy's bits, errors and arrays on any number of threads."""

import itertools
import threading
import warnings

import numpy as np
import pytest
from jitrt.kernels.pool import PROCESS
from texts import function_of

import jitrt
from jitrt.runtime import threads
from jitrt.runtime.objects import fields
from jitrt.runtime.stagedloops import LoopEngine

pytestmark = pytest.mark.skipif(fields() is None, reason="objects of this build of Python lie elsewhere")
LEAST = PROCESS.index("least")


@pytest.fixture(autouse=True)
def any_work_is_worth_it(monkeypatch):
    """Loops are shared however little they do, and threads are as many as before in the end."""
    monkeypatch.setattr("jitrt.policy.SHARED_WORK", 0)
    before, least = jitrt.num_threads(), threads._process[LEAST]
    threads.start_pool()
    threads._process[LEAST] = 0
    yield
    threads._process[LEAST] = least
    jitrt.set_num_threads(before)


def with_body(body, parameters):
    return function_of("\n".join([f"def f({parameters}):", *(f"    {line}" for line in body.splitlines())]) + "\n")


def outcome(function, args):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(*copies)
        except Exception as error:
            result = type(error), str(error)
    told = sorted({(w.category, str(w.message)) for w in seen}, key=str)
    return result, copies, told


def same(got, want):
    assert type(got) is type(want), (got, want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            same(x, y)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
    else:
        assert repr(got) == repr(want)


def agrees(body, parameters, *calls, staged=True, shares=True):
    """All calls give what plain ones give with 1, 2 and 5 threads, in Python's and in native calls."""
    function = with_body(body, parameters)
    fast = jitrt.jit(function)
    wanted = [outcome(function, args) for args in calls]
    for count in (1, 2, 5):
        jitrt.set_num_threads(count)
        for _ in range(4):
            for args, want in zip(calls, wanted):
                same(outcome(fast, args), want)
    engine = LoopEngine(function)
    assert bool(engine.source(calls[-1])) == staged, engine.reason(calls[-1])
    if staged and shares:
        assert jobs_of(lambda: fast(*[a.copy() if isinstance(a, np.ndarray) else a for a in calls[-1]]))
    return fast


def jobs_of(run):
    """How many jobs the pool gets while something runs."""
    pool = threads._pools[-1]
    before = int(pool[0]) >> 40
    run()
    return (int(pool[0]) >> 40) - before


def rows(n, m=None, dtype=np.float64):
    """Whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(n)
    return np.floor(100 * rng.random(n if m is None else (n, m))).astype(dtype)


SIZES = (0, 1, 2, 7, 33, 200)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool, np.complex128])
def test_elements(dtype):
    body = "out = np.empty_like(x)\nfor i in range(len(x)):\n  out[i] = x[len(x) - 1 - i] + x[i]\nreturn out"
    agrees(body, "x", *[(rows(n, dtype=dtype),) for n in SIZES])


def test_variables_of_a_loop_without_iterations_stay():
    body = "v, i = 0.5, -7\nfor i in range(len(x)):\n  v = np.sqrt(x[i])\n  out[i] = v\nreturn v, i"
    agrees(body, "x, out", *[(rows(n), rows(n)) for n in SIZES])


def test_rows_and_columns():
    body = "for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] = b[i, j] * 2 - a[i, j]"
    agrees(body, "a, b", *[(rows(n, m), rows(n, m)) for n, m in itertools.product((0, 1, 5, 40), (0, 1, 3, 31))])


def test_strided_arrays():
    function = with_body("for i in range(a.shape[0]):\n  a[i] = b[i, ::-1] + 1", "a, b")
    fast = jitrt.jit(function)
    for count in (1, 2, 5):
        jitrt.set_num_threads(count)
        for n, m in ((40, 6), (3, 50)):
            for _ in range(4):
                mine, its = rows(2 * n, m), rows(2 * n, m)
                fast(mine[::-2], mine.T.copy().T[::2])
                function(its[::-2], its.T.copy().T[::2])
                same(mine, its)


def test_triangles():
    body = (
        "n = len(x)\nout = np.zeros((n, n))\nfor i in range(n):\n  for j in range(i, n):\n"
        "    d = math.sqrt(abs(x[i] - x[j]))\n    out[i, j] = d\n    out[j, i] = -d\nreturn out"
    )
    agrees(body, "x", *[(rows(n),) for n in SIZES])


def test_memory_of_its_own():
    body = (
        "for i in range(a.shape[0]):\n  t = a[i] * 2\n  u = np.zeros(i + 1)\n  for j in range(i + 1):\n"
        "    u[j] = t[j % 3] + j\n  a[i, 0] = u.sum() + t[1]\n  a[i, 1:] = t[1:] - u[0]"
    )
    agrees(body, "a", *[(rows(n, 3),) for n in SIZES])


def test_a_loop_inside_of_one_that_waits_for_it():
    body = (
        "b = a * 1.0\nfor step in range(5):\n  c = np.empty_like(b)\n  for i in range(len(b)):\n"
        "    left = b[i - 1] if i > 0 else 0.0\n    c[i] = 0.5 * (left + b[i])\n  b = c\nreturn b"
    )
    agrees(body, "a", *[(rows(n),) for n in SIZES])


def test_values_behind_the_loop():
    body = (
        "i = -1\nfor i in range(0, len(x), 3):\n  t = x[i] * 2\n  s = 0\n  for j in range(i):\n    s += j\n"
        "  y[i] = t + s\nif i < 0:\n  return i\nreturn i, t, s"
    )
    agrees(body, "x, y", *[(rows(n), rows(n)) for n in (0, 1, 2, 3, 4, 100)])


def test_loops_that_end_by_a_condition():
    body = (
        "n, m = c.shape\nout = np.zeros((n, m), np.int64)\nfor i in range(n):\n  for j in range(m):\n"
        "    v = int(c[i, j]) + 1\n    k = 0\n    while v != 1:\n      if v % 2 == 0:\n        v = v // 2\n"
        "      else:\n        v = 3 * v + 1\n      k += 1\n    out[i, j] = k\nreturn out"
    )
    agrees(body, "c", *[(rows(n, 9),) for n in SIZES])


STOPS = {
    "an index": "for i in range(len(x)):\n  y[i] = x[int(x[i]) + k]",
    "a division": "for i in range(len(x)):\n  y[i] = 1 / (float(i) - k)",
    "a square root": "for i in range(len(x)):\n  y[i] = math.sqrt(i - float(k) - 3.0)",
    "an integer": "for i in range(len(x)):\n  v = i + 1\n  for j in range(k):\n    v = v * 3\n  y[i] = v % 7",
    "an exception": "for i in range(len(x)):\n  y[i] = 1.0\n  if i == k:\n    raise ValueError(i)\n  x[i] = 2.0",
}


@pytest.mark.parametrize("name", STOPS)
def test_what_has_been_written_is_taken_back(name):
    calls = [(np.arange(50.0) % 7, rows(50), k) for k in (0, 3, 49, 60, 1000)]
    agrees(STOPS[name], "x, y, k", *calls, calls[0], shares=False)


@pytest.mark.parametrize("what", ["1 / x[i]", "np.log(x[i])", "np.sqrt(x[i])", "x[i] * 1e-320", "np.inf - x[i]"])
def test_warnings(what):
    quiet, loud = rows(200) * 0 + 1e-5, rows(200) * 0 + 1e-5
    loud[[3, 140]] = 0.0, np.inf
    body = f"for i in range(len(x)):\n  y[i] = np.float64(1.0) * {what}"
    agrees(body, "x, y", *((x, rows(200)) for x in (quiet, loud, quiet, quiet, -loud, quiet, quiet, quiet)))


def test_an_error_state_that_raises():
    function = with_body("for i in range(len(x)):\n  y[i] = np.float64(1.0) / x[i]", "x, y")
    fast = jitrt.jit(function)
    x = np.arange(40.0)[::-1].copy()
    for count in (1, 2, 5):
        jitrt.set_num_threads(count)
        for _ in range(3):
            y = np.zeros(40)
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                fast(x, y)
            assert y[38] == 1.0 and y[39] == 0.0  # as in plain Python
            with np.errstate(divide="ignore"):
                fast(x, y)
            assert y[39] == np.inf


def test_the_first_error_comes_first_though_a_later_iteration_never_ends():
    body = (
        "for i in range(len(x)):\n  v = x[i]\n  if v == 3:\n    y[i] = x[int(v) + 1000]\n"
        "  while v > 5:\n    v = v + 0.0\n  y[i] = v"
    )
    x = np.arange(40.0) % 4
    x[20:] = 6.0
    agrees(body, "x, y", (x, rows(40)), shares=False)


def test_arguments_that_share_memory():
    body = "for i in range(len(x)):\n  y[i] = x[i] + 1"
    function = with_body(body, "x, y")
    fast = jitrt.jit(function)
    jitrt.set_num_threads(5)
    for shift in (0, 1, 2, 30):
        for _ in range(4):
            mine, its = rows(100), rows(100)
            fast(mine[: 100 - shift], mine[shift:])
            function(its[: 100 - shift], its[shift:])
            same(mine, its)


def test_no_more_threads_than_a_function_may_use():
    function = with_body("for i in range(len(x)):\n  x[i] = x[i] * 3", "x")
    alone, free = jitrt.jit(function, threads=1), jitrt.jit(function)
    jitrt.set_num_threads(3)
    for _ in range(3):
        alone(rows(500))
        free(rows(500))
    assert not jobs_of(lambda: alone(rows(500)))
    assert jobs_of(lambda: free(rows(500)))


def test_little_work_is_left_to_one_thread():
    function = with_body("for i in range(len(x)):\n  x[i] = x[i] * 5", "x")
    fast = jitrt.jit(function)
    jitrt.set_num_threads(3)
    threads._process[LEAST] = 10_000
    for _ in range(3):
        fast(rows(500))
    assert not jobs_of(lambda: fast(rows(500)))
    assert jobs_of(lambda: fast(rows(50_000)))


def test_threads_of_python_at_the_same_time():
    function = with_body("for i in range(a.shape[0]):\n  t = a[i] * 2\n  b[i] = t.sum() + len(t)", "a, b")
    fast = jitrt.jit(function)
    jitrt.set_num_threads(3)
    inputs = [rows(100 + k, 7) for k in range(6)]
    wrong = []

    def work(a):
        want = np.zeros(len(a))
        function(a, want)
        for _ in range(40):
            got = np.zeros(len(a))
            fast(a, got)
            if got.tobytes() != want.tobytes():
                wrong.append(len(a))

    several = [threading.Thread(target=work, args=(a,)) for a in inputs]
    for t in several:
        t.start()
    for t in several:
        t.join()
    assert not wrong


def test_a_pool_is_started_when_a_loop_could_use_one(monkeypatch):
    function = with_body("for i in range(len(x)):\n  x[i] = x[i] * 7", "x")
    jitrt.set_num_threads(2)
    process, pool = threads._process, int(threads._process[PROCESS.index("pool")])
    fast = jitrt.jit(function)
    process[PROCESS.index("pool")] = 0
    started = []

    def start_pool():
        started.append(1)
        process[PROCESS.index("pool")] = pool

    monkeypatch.setattr(threads, "start_pool", start_pool)
    try:
        process[LEAST] = 1 << 40
        for _ in range(4):
            fast(rows(500))
        assert not started
        process[LEAST] = 0
        for _ in range(2):
            fast(rows(500))  # native code, which cannot start any
        assert started and not process[PROCESS.index("wanted")]
    finally:
        process[PROCESS.index("pool")] = pool
        process[PROCESS.index("wanted")] = 0
