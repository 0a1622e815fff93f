"""Threads, concurrency and processes."""

import os
import platform
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from covering import few
from jitrt.kernels.pool import ALONE

import jitrt
from jitrt.runtime import threads
from jitrt.runtime.objects import fields


def work(a, b):
    t = np.exp(-a * a) * b
    return t.sum(axis=0), t.sum(), (t - t.mean()).max(axis=1), np.sqrt(t * t)


rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 400, 300))


@pytest.mark.parametrize("shape", [(400, 300), (1, 120000), (120000, 1), (120000,), (3, 40000), (40000, 3)])
def test_results_do_not_depend_on_the_number_of_threads(shape):
    def folds(a, b):
        t = a * b
        return t.sum(), t.sum(axis=0), t.mean(), t.max(), np.prod(1 + t * 1e-6), (t > 0).any()

    x, y = a.reshape(shape), b.reshape(shape)
    one, several = jitrt.jit(folds, threads=1)(x, y), jitrt.jit(folds)(x, y)
    for p, q in zip(one, several):
        np.testing.assert_array_equal(p, q)


@pytest.mark.wide
@pytest.mark.parametrize(
    "shape", [(3000, 70), (70, 3000), (3, 70001), (2, 400, 300), (60000, 3), (50, 60, 70), (1, 5, 40001)]
)
@pytest.mark.parametrize("order", "CF")
def test_folds_in_blocks(shape, order):
    """The blocks follow from the shape, whichever axes are folded, in whatever order the array lies."""
    x = np.asarray(np.random.default_rng(1).standard_normal(shape), order=order)
    axes = [None, *range(len(shape)), *([(0, 1), (0, 2), (1, 2)] if len(shape) == 3 else [])]

    def folds(x):
        return [(x.sum(axis=k), x[..., ::-2].max(axis=k), (x > 3).any(axis=k)) for k in axes]

    one, several = jitrt.jit(folds, threads=1)(x), jitrt.jit(folds)(x)
    for got, again, want in zip(one, several, folds(x)):
        for p, q, r in zip(got, again, want):
            np.testing.assert_array_equal(p, q)
            np.testing.assert_allclose(p, r, rtol=1e-11, atol=1e-9)


def test_many_python_threads_call_one_function():
    fast = jitrt.jit(work)
    inputs = [(a + k, b * k) for k in range(8)]
    wanted = [work(*i) for i in inputs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for got, want in zip(pool.map(lambda i: fast(*i), inputs), wanted):
                for g, w in zip(got, want):
                    np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_many_python_threads_compile_different_functions():
    def make(k):
        scope = {"np": np}
        exec(f"def f(x):\n    return np.sqrt(x * {k}.5) + {k}", scope)
        return scope["f"]

    functions = [make(k) for k in range(12)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda f: jitrt.jit(f)(a * a), functions))
    for f, got in zip(functions, results):
        np.testing.assert_array_equal(got, f(a * a))


def test_set_num_threads():
    before = jitrt.num_threads()
    fast = jitrt.jit(work)
    want = fast(a, b)
    try:
        for n in (1, 2, 5):
            jitrt.set_num_threads(n)
            assert jitrt.num_threads() == n
            for g, w in zip(fast(a, b), want):
                np.testing.assert_array_equal(g, w)
        with pytest.raises(ValueError):
            jitrt.set_num_threads(0)
    finally:
        jitrt.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_computes():
    code = textwrap.dedent(
        """
        import os, sys
        import numpy as np
        import jitrt
        f = jitrt.jit(lambda a: (np.sqrt(a) + 1).sum(axis=0))
        g = jitrt.jit(lambda a: a * 2 - 1)
        x = np.ones((2000, 300))
        want = f(x)
        child = os.fork()
        if child == 0:
            ok = np.array_equal(f(x), want) and np.array_equal(g(x), x * 2 - 1)
            os._exit(0 if ok else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert np.array_equal(f(x), want)
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.skipif(fields() is None, reason="Python serves all calls of this build")
def test_the_first_large_call_starts_the_threads_and_native_code_serves_it():
    code = textwrap.dedent(
        """
        import os
        import numpy as np
        import jitrt
        from jitrt.runtime import threads

        f = jitrt.jit(lambda x: np.exp(-x * x) * np.cos(x) + 0.01 * np.sqrt(x))
        for n in (2000, 2100, 2200, 1999):
            f(np.ones(n))
        looked, call = [], type(f)._call
        type(f)._call = lambda self, args, kwargs: (looked.append(1), call(self, args, kwargs))[1]

        def first_large_call():
            assert not threads.has_pool()
            x = np.linspace(0, 1, 50_000)
            assert np.allclose(f(x), np.exp(-x * x) * np.cos(x) + 0.01 * np.sqrt(x))
            assert threads.has_pool() and not looked
            os._exit(7)

        children = [os.fork()] if hasattr(os, "fork") else []
        if children == [0]:
            first_large_call()
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        first_large_call()
        """
    )
    environment = os.environ | {"JITRT_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 7, done.stderr


_COMPILED = "import numpy; jitrt.jit(lambda x: x + 1)(numpy.ones(1000))"


@pytest.mark.parametrize(
    "order",
    few(
        [
            "import threadpoolctl, jitrt",
            f"import jitrt; {_COMPILED}; import threadpoolctl",
            "import jitrt, threadpoolctl",
        ],
        2,
    ),
)
def test_threadpoolctl_limits_threads(order):
    pytest.importorskip("threadpoolctl")
    code = textwrap.dedent(
        f"""
        {order}
        import numpy as np
        jitrt.set_num_threads(2)
        with threadpoolctl.threadpool_limits(1):
            assert jitrt.num_threads() == 1
            np.testing.assert_array_equal(jitrt.jit(lambda a: a * 2)(np.ones(10**6)), 2)
        assert jitrt.num_threads() == 2
        with threadpoolctl.threadpool_limits({{"jitrt": 1}}):
            assert jitrt.num_threads() == 1
        with threadpoolctl.threadpool_limits({{"blas": 1}}):
            assert jitrt.num_threads() == 2
        assert any(pool["user_api"] == "jitrt" for pool in threadpoolctl.threadpool_info())
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("settings", "threads"),
    [({"JITRT_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5"}, 5), ({"OMP_NUM_THREADS": "4,2"}, 4),
     ({"JITRT_NUM_THREADS": "1", "OMP_NUM_THREADS": "7"}, 1), ({"JITRT_NUM_THREADS": "many"}, None)],
)  # fmt: skip
def test_threads_from_the_environment(settings, threads):
    environment = {k: v for k, v in os.environ.items() if k not in ("JITRT_NUM_THREADS", "OMP_NUM_THREADS")}
    code = "import jitrt; print(jitrt.num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | settings, check=True, capture_output=True, text=True, timeout=60
    )
    assert int(done.stdout) == (threads or len(os.sched_getaffinity(0)))


def test_without_a_global_interpreter_lock_calls_are_checked_in_python():
    code = textwrap.dedent(
        """
        import sys
        sys._is_gil_enabled = lambda: False
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        import jitrt
        from jitrt.runtime.dispatch import NativeCallable
        f = jitrt.jit(lambda a, b: (a * b + 1, a.sum()))
        big = np.ones(200_000)
        with ThreadPoolExecutor(4) as pool:
            for first, second in pool.map(lambda _: f(big, big), range(20)):
                np.testing.assert_array_equal(first, 2.0)
                assert second == 200_000
        assert f.cache_info().tables == 0 and type(NativeCallable.__call__).__name__ == "function"
        with np.errstate(all="raise"):
            try:
                jitrt.jit(lambda a: 1 / a)(np.zeros(5))
            except FloatingPointError as error:
                assert "divide by zero" in str(error)
            else:
                raise AssertionError
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_jobs_that_are_run_alone():
    """On a busy machine workers are not woken for some time, by the processor's clock."""
    before = jitrt.num_threads()
    jitrt.set_num_threads(2)
    try:
        fast, big = jitrt.jit(lambda a: np.exp(-a * a) + 1), np.linspace(0, 1, 400_000)
        want = fast(big)
        pool = threads._pools[-1]

        def wait_for_a_change(k):
            """Of a word, by jobs of which the caller has taken a piece: of others nothing is learnt."""
            before = pool[ALONE + k]
            for _ in range(1000):
                np.testing.assert_array_equal(fast(big), want)
                if pool[ALONE + k] != before:
                    return
            raise AssertionError

        if platform.machine().lower() not in ("x86_64", "amd64"):
            pytest.skip("the processor's clock is not read")
        pool[ALONE : ALONE + 3] = 0
        wait_for_a_change(0)
        now, span, factor = (int(word) for word in pool[ALONE : ALONE + 3])
        assert (span, factor) == (0, 0) or (factor == 2 and 0 < span <= 1 << 31)  # the second if help came late
        waits = [now + (1 << 61), 1 << 62, 16]  # for a year
        pool[ALONE : ALONE + 3] = waits
        np.testing.assert_array_equal(fast(big), want)
        assert pool[ALONE : ALONE + 3].tolist() == waits
        pool[ALONE : ALONE + 3] = 1 << 61, 1, 16  # by a clock that has been set back since
        wait_for_a_change(2)
        assert pool[ALONE + 2] in (8, 32)  # twice as much if help came late, half if not
    finally:
        pool[ALONE : ALONE + 3] = 0
        jitrt.set_num_threads(before)


_POOL = """
import concurrent.futures, multiprocessing, os
import numpy as np
import jitrt

@jitrt.jit
def doubled(x):
    return x * 2 + 1

def threads(_):
    assert (doubled(np.ones(1_000_000)) == 3).all()
    return jitrt.num_threads(), len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0

if __name__ == "__main__":
    before = threads(0)[0]
    for method in multiprocessing.get_all_start_methods():
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            print(method, *(n for n, _ in pool.map(threads, range(4))))
    assert threads(0)[0] == before
"""


@pytest.mark.parametrize(("told", "want"), [("", 1), ("3", 3)])
def test_processes_of_a_pool_use_one_thread_each(told, want, tmp_path):
    file = tmp_path / "pool.py"
    file.write_text(_POOL, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k not in ("JITRT_NUM_THREADS", "OMP_NUM_THREADS")}
    environment |= {"JITRT_NUM_THREADS": told, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-W", "ignore", file]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=120).stdout
    for line in shown.splitlines():
        assert line.split()[1:] == [str(want)] * 4, shown
    assert len(shown.splitlines()) >= 1


def test_joblib_and_dask_limit_inner_threads(tmp_path):
    pytest.importorskip("joblib")
    code = """
        import joblib, jitrt
        def threads(_):
            import jitrt
            return jitrt.num_threads()
        with joblib.parallel_config("loky", inner_max_num_threads=3):
            assert joblib.Parallel(2)(joblib.delayed(threads)(k) for k in range(3)) == [3, 3, 3]
        """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], check=True, timeout=120)
