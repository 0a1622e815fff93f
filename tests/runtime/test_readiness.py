"""What a function needs at its calls is made when it is decorated, if the disk cache has it or will, not by import."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from jitrt.runtime import readiness

STEPS = """
import json, os, sys, threading
import numpy as np
import jitrt

def made():
    return [bool(value._values) for value in (linker._engine, threads._native)] if LINKED else [False, False]

LINKED = False
x = np.linspace(0.0, 1.0, 50)

def function(x):
    return x * 3 + 1

seen = [["jitrt.codegen.linker" in sys.modules, "jitrt.runtime.threads" in sys.modules]]
jitrt.jit
from jitrt.codegen import linker
from jitrt.runtime import threads
LINKED = True
seen.append(made())
fast = jitrt.jit(function)
seen.append(made())
"""
CALL = """
np.testing.assert_array_equal(fast(x), function(x))
seen.append(made())
print(json.dumps([seen, "numba" in sys.modules]))
"""
FORK = """
for _ in range(3):
    child = os.fork()
    if not child:
        try:
            np.testing.assert_array_equal(fast(x), function(x))
            np.testing.assert_array_equal(jitrt.jit(lambda x: x * 3 - 1)(x), x * 3 - 1)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
"""
FORK_DURING_LLVM = """
import signal
import llvmlite.binding as llvm

def use_llvm():
    while not done.is_set():
        llvm.get_host_cpu_features()

done = threading.Event()
thread = threading.Thread(target=use_llvm, daemon=True)
thread.start()
for _ in range(8):
    child = os.fork()
    if not child:
        signal.alarm(30)
        try:
            np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
done.set()
thread.join()
"""
THREADS = """
def decorate_and_call():
    start.wait()
    results.append(jitrt.jit(function)(x))

for value in (threads._native, linker._engine):
    assert not value._values
start, results = threading.Barrier(8), []
workers = [threading.Thread(target=decorate_and_call) for _ in range(8)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert len(results) == 8 and all((r == function(x)).all() for r in results)
"""


def run(directory, script=STEPS + CALL):
    """What a new process prints, as JSON."""
    environment = {**os.environ, "JITRT_CACHE_DIR": str(directory), "JITRT_STRICT": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_decoration_links_the_driver(tmp_path):
    """It is compiled at that moment where the cache will keep it; without a cache the first call makes it."""
    nothing, all_of_it = [False, False], [True, True]
    assert run(tmp_path) == [[nothing, nothing, all_of_it, all_of_it], True]
    assert run(tmp_path) == [[nothing, nothing, all_of_it, all_of_it], False]
    other = (STEPS + CALL).replace("3 + 1", "7 + 1")  # no process has called it
    assert run(tmp_path, other) == [[nothing, nothing, all_of_it, all_of_it], True]
    assert run("") == [[nothing, nothing, nothing, all_of_it], True]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that a process has filled."""
    directory = tmp_path_factory.mktemp("readiness")
    run(directory)
    return directory


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["module", "entry"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "deleted", "a folder"])
def test_decoration_survives_a_damaged_cache(filled, tmp_path, kind, damage):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob(f"*/*.{kind}"):
        data = path.read_bytes()
        path.unlink()
        if damage == "flipped":
            path.write_bytes(data[:-9] + bytes([data[-9] ^ 4]) + data[-8:])
        elif damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "a folder":
            path.mkdir()
    assert run(tmp_path)[0][-1] == [True, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_children_forked_after_decoration(tmp_path):
    for directory in ("", tmp_path, tmp_path):
        linked, _ = run(directory, STEPS + FORK + CALL)
        assert linked[2] == [directory != ""] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_children_forked_while_a_thread_is_in_llvm(filled):
    assert run(filled, STEPS + FORK_DURING_LLVM + CALL)[1] is False


def test_threads_decorate_at_once(filled):
    assert run(filled, STEPS.replace("fast = jitrt.jit(function)", THREADS + "\nfast = jitrt.jit(function)") + CALL)


def test_getting_ready_never_raises(monkeypatch, caplog):
    def failing():
        raise RuntimeError("the layout of Python objects is not known here")

    monkeypatch.setattr(readiness.threads, "driver_is_cached", failing)
    caplog.set_level("DEBUG", "jitrt.cache")
    readiness.once(readiness.get_ready._function)()
    assert "the layout of Python objects" in caplog.text


DECORATED = """
import sys
import numpy as np
import jitrt
from decorated import function

fast = jitrt.jit(function)
print("jitrt.pipeline" in sys.modules)
if "call" in sys.argv:
    x = np.linspace(0.0, 1.0, 5000)
    np.testing.assert_array_equal(fast(x), function(x))
"""


def test_the_compiler_is_not_imported_again_for_what_is_never_called(tmp_path):
    (tmp_path / "decorated.py").write_text("def function(x):\n    return x * 3 + 1\n")
    environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def imports(*arguments):
        command = [sys.executable, "-c", DECORATED, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert [imports(), imports(), imports("call"), imports()] == ["True", "False", "False", "False"]
