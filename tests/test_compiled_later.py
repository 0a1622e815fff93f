"""First calls whose kernels a thread compiles meanwhile: NumPy answers them, and as many of them in every process."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import jitrt
from jitrt import policy, programs
from jitrt.codegen import compile as compiling
from jitrt.codegen import kernels, later

x = np.linspace(0.1, 3.0, 2000)


@pytest.fixture(autouse=True)
def as_a_new_user_runs_it(monkeypatch, tmp_path):
    monkeypatch.setenv("JITRT_STRICT", "0")
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "_known", {})
    monkeypatch.setattr(kernels, "_kernels", {})


def curve(x, y):
    return np.exp(-x * 1.25) * np.sin(y) + np.sqrt(x * x + y)


def step(x, v):
    v *= 0.75
    x += v * 0.1
    return x.sum()


def serves(fast, count=5):
    """What has served each of some calls: NumPy (True) or kernels."""
    plain = []
    for k in range(count):
        np.testing.assert_allclose(fast(x + k, x), fast.__wrapped__(x + k, x), rtol=1e-13)
        plain.append("while a thread compiles" in fast.plain_reason)
    assert not fast.plain_reason
    return plain


FIRST_PLAIN = [k < policy.PUT_OFF_CALLS for k in range(5)]


def test_the_first_calls_have_numpys_bits():
    fast = jitrt.jit(curve)
    for _ in range(policy.PUT_OFF_CALLS):
        assert fast(x, x).tobytes() == fast.__wrapped__(x, x).tobytes()
    assert fast.cache_info().compiled == 1


@pytest.mark.parametrize("size", [3, 2000])
def test_calls_with_wide_constants_have_one_value(size):
    weights = jitrt.frozen(np.arange(1, size + 1, dtype=np.float32))
    fast = jitrt.jit(lambda x: x + (((weights / 3) * 7) / 11 - 0.1), wide_constants=True)
    wanted = (np.arange(1.0, size + 1) / 3 * 7 / 11 - 0.1).astype(np.float32)
    for _ in range(5):
        np.testing.assert_array_equal(fast(np.zeros(size, np.float32)), wanted)


@pytest.mark.parametrize("is_done", [True, False])
def test_the_clock_does_not_say_which_calls_run_compiled(is_done):
    fast = jitrt.jit(curve)
    if is_done:
        fast(x, x)
        with later.compiling:
            pass
        while later._has_thread:
            threading.Event().wait(0.01)
        assert serves(fast) == [*FIRST_PLAIN[1:], False]
    else:
        with later.compiling:  # the thread does not get to it
            assert serves(fast) == FIRST_PLAIN


def test_what_takes_numpy_long_is_compiled_at_once(monkeypatch):
    monkeypatch.setattr(policy, "COMPILED_KERNEL", -(1 << 60))
    assert serves(jitrt.jit(curve)) == [False] * 5


def test_large_arrays_are_not_left_to_numpys_temporaries():
    fast = jitrt.jit(curve)
    large = np.ones(policy.PUT_OFF_BYTES // 8 + 1)
    fast(large, large)
    assert not fast.plain_reason


def test_kernels_of_another_function_are_waited_for():
    first, second = jitrt.jit(curve), jitrt.jit(lambda x, y: curve(x, y))
    with later.compiling:
        first(x, x)
        assert serves(second) == [False] * 5
    assert serves(first) == [*FIRST_PLAIN[1:], False]


def test_what_people_ask_is_answered_at_once():
    fast = jitrt.jit(curve)
    fast(x, x)
    explanation = fast.explain(x, x)
    assert not explanation.plain_reason and explanation.kernels[0].address


def test_arguments_are_written_once():
    fast = jitrt.jit(step)
    (a, b), (c, d) = (x.copy(), x.copy()), (x.copy(), x.copy())
    for _ in range(6):
        np.testing.assert_allclose(fast(a, b), step(c, d), rtol=1e-13)
        np.testing.assert_allclose((a, b), (c, d), rtol=1e-13)
    assert not fast.plain_reason


def test_looks_at_values_are_as_they_were():
    def looking(x, y):
        found = curve(x, y)
        return found if found.max() > 1 else found * 2

    fast = jitrt.jit(looking)
    for k in range(4):
        np.testing.assert_allclose(fast(x * k, x), looking(x * k, x), rtol=1e-13)
        assert not fast.plain_reason


@pytest.mark.parametrize("is_mutual", [False, True])
def test_recursive_functions_are_not_traced_at_each_level(is_mutual):
    traced = []

    @jitrt.jit
    def power(x, n):
        traced.append(n)
        return x if n == 0 else (another if is_mutual else power)(x, n - 1) * x

    @jitrt.jit
    def another(x, n):
        return x if n == 0 else power(x, n - 1) * x

    np.testing.assert_allclose(power(x, 20), x**21, rtol=1e-13)
    assert len(traced) <= 50


def test_what_fails_is_tried_by_who_needs_it(monkeypatch, caplog):
    compile_nests, threads = compiling.compile_nests, []

    def failing(*args):
        threads.append(threading.current_thread())
        if len(threads) == 1:
            raise MemoryError
        return compile_nests(*args)

    monkeypatch.setattr(compiling, "compile_nests", failing)
    fast = jitrt.jit(curve)
    fast(x, x)
    while later._has_thread:
        threading.Event().wait(0.01)
    assert len(threads) == 1 and threads[0] is not threading.main_thread()
    assert serves(fast) == [*FIRST_PLAIN[1:], False]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_who_waits_can_be_interrupted(monkeypatch):
    compile_nests, begun, interrupted = compiling.compile_nests, threading.Event(), threading.Event()

    def slow(*args):
        begun.set()
        interrupted.wait(60)
        return compile_nests(*args)

    monkeypatch.setattr(compiling, "compile_nests", slow)
    fast = jitrt.jit(curve)
    for _ in range(policy.PUT_OFF_CALLS):
        fast(x, x)
    assert begun.wait(60)  # in the thread: who compiles itself is not interrupted meanwhile
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            fast(x, x)
    finally:
        signal.signal(signal.SIGALRM, before)
        interrupted.set()
    assert serves(fast) == [False] * 5


def test_there_may_be_no_more_threads(monkeypatch):
    def failing(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(later._thread, "start_new_thread", failing)
    assert serves(jitrt.jit(curve)) == FIRST_PLAIN


def test_what_cannot_be_compiled_runs_plain(monkeypatch, caplog):
    def failing(*args):
        raise ValueError("no such instruction")

    monkeypatch.setattr(compiling, "compile_nests", failing)
    fast = jitrt.jit(curve)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            np.testing.assert_array_equal(fast(x, x), fast.__wrapped__(x, x))
    assert "no such instruction" in caplog.text
    assert fast.plain_reason


def test_many_functions_in_many_threads():
    functions = [jitrt.jit(lambda x, y, k=k: curve(x, y) ** k) for k in range(2, 8)]
    failures = []

    def run(seed):
        try:
            for k in np.random.default_rng(seed).permutation(30):
                fast = functions[k % len(functions)]
                np.testing.assert_allclose(fast(x, x), fast.__wrapped__(x, x), rtol=1e-13)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not any(fast(x, x) is None or fast.plain_reason for fast in functions)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_child_compiles_what_it_needs():
    fast = jitrt.jit(curve)
    fast(x, x)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if serves(fast) == [*FIRST_PLAIN[1:], False] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert serves(fast) == [*FIRST_PLAIN[1:], False]


PROGRAM = """
    import numpy as np
    import jitrt

    @jitrt.jit
    def f(x):
        return np.exp(-x) * np.sqrt(x * x + 1)

    x = np.linspace(0.1, 3.0, 2000)
    assert np.allclose(f(x), f.__wrapped__(x))
    print(f.plain_reason)
"""


def test_later_processes_find_what_the_first_has_called_once(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    environment = {**os.environ, "JITRT_CACHE_DIR": str(tmp_path / "cache"), "JITRT_STRICT": "0"}
    said = [
        subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "while a thread compiles" in said[0]
    assert said[1] == "\n"
