"""Many threads, forks in the middle of their work, and every way of starting processes: results are right."""

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import jitrt

LENGTHS = [pytest.param(300, id="short"), pytest.param(10**5, id="long", marks=pytest.mark.slow)]


def functions():
    """Twenty functions of two arrays: elementwise, reductions, views, changed arguments, calls left to NumPy."""
    made = []
    for k in range(5):
        c = k + 0.5
        made += [
            lambda a, b, c=c: a * c + b,
            lambda a, b, c=c: (np.sqrt(a * a + c), (a - b / 4).sum()),  # of one sign: sums do not cancel
            lambda a, b, c=c: np.where(a > b, a * c, b).max(axis=0),
            lambda a, b, c=c: np.add(a, b * c, out=a)[1:],
        ]
    return made


def check(got, want):
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def hammer(pairs, seed, calls, failures):
    """Call functions at random with arrays of random lengths, and check every result."""
    rng = np.random.default_rng(seed)
    try:
        for _ in range(calls):
            plain, compiled = pairs[rng.integers(len(pairs))]
            n = int(rng.choice([2, 3, 10, 100, 1000, 60_000], p=[0.2, 0.2, 0.2, 0.2, 0.15, 0.05]))
            a, b = rng.uniform(1, 2, (2, n))
            check(compiled(a.copy(), b), plain(a, b))
    except BaseException as error:
        failures.append(error)
        raise


@pytest.mark.parametrize("calls", LENGTHS)
def test_sixteen_threads_call_twenty_functions(calls):
    pairs = [(f, jitrt.jit(f)) for f in functions()]
    failures: list[BaseException] = []
    threads = [threading.Thread(target=hammer, args=(pairs, k, calls, failures)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("forks", [pytest.param(5, id="short"), pytest.param(60, id="long", marks=pytest.mark.slow)])
def test_forks_while_threads_work(forks):
    code = textwrap.dedent(
        f"""
        import os, sys, threading, time
        import numpy as np
        import jitrt
        f = jitrt.jit(lambda a: (np.sqrt(a) + np.exp(-a)).sum(axis=0))
        g = jitrt.jit(lambda a: a * 2 - 1)
        big = np.ones((3000, 200))
        want = f(big)
        stop = False
        def work():
            while not stop:
                assert np.array_equal(f(big), want)
                g(big)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        failed = 0
        for k in range({forks}):
            time.sleep(0.003 * (k % 4))
            child = os.fork()
            if child == 0:
                fresh = jitrt.jit(lambda a: a * 3.0 + 1)
                good = np.array_equal(f(big), want) and np.array_equal(g(big), big * 2 - 1)
                good = good and np.array_equal(fresh(big), big * 3 + 1)
                os._exit(0 if good else 3)
            deadline = time.time() + 60
            while True:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    failed += os.waitstatus_to_exitcode(status) != 0
                    break
                if time.time() > deadline:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    failed += 1
                    break
                time.sleep(0.01)
        stop = True
        for thread in threads: thread.join()
        sys.exit(failed)
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120 + 60 * forks
    )
    assert done.returncode == 0, done.stderr


@jitrt.jit
def scaled(a):
    return np.sqrt(a) * 2 + 1


def in_a_process(n):
    a = np.arange(float(n))
    return np.array_equal(scaled(a), np.sqrt(a) * 2 + 1)


METHODS = [m for m in ("fork", "forkserver", "spawn") if m in multiprocessing.get_all_start_methods()]


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", METHODS)
def test_process_pools(method):
    assert in_a_process(10) and in_a_process(300_000)
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert all(pool.map(in_a_process, [10, 1000, 300_000]))
        assert np.array_equal(pool.submit(scaled, np.ones(5)).result(), np.full(5, 3.0))


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    offset = np.arange(3.0)
    compiled = jitrt.jit(lambda a: a * 2 + offset)
    copy = pickle.loads(cloudpickle.dumps(compiled))
    np.testing.assert_array_equal(copy(np.ones(3)), 2 + offset)


def test_joblib():
    joblib = pytest.importorskip("joblib")
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(scaled)(np.full(4, float(k))) for k in range(6))
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result, np.sqrt(float(k)) * 2 + 1)


def test_dask():
    array = pytest.importorskip("dask.array")
    blocks = array.from_array(np.arange(100.0), chunks=30)
    np.testing.assert_array_equal(blocks.map_blocks(scaled).compute(), np.sqrt(np.arange(100.0)) * 2 + 1)


def test_programs_are_pickled_by_their_functions():
    compiled = jitrt.jit(in_a_process.__globals__["scaled"].__wrapped__)
    compiled(np.ones(3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scaled))(np.ones(3)), compiled(np.ones(3)))


def test_ctrl_c_is_seen_between_kernels():
    code = textwrap.dedent(
        """
        import os, signal, threading, time
        import numpy as np
        import jitrt
        f = jitrt.jit(lambda a: jitrt.while_loop(lambda v: v.max() < 2, lambda v: np.minimum(v * 1.0, 1.5), a))
        f(np.full(100, 3.0))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            f(np.ones(100))
        except KeyboardInterrupt:
            print("interrupted")
        assert f(np.full(100, 3.0))[0] == 3.0
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "interrupted", done.stderr
