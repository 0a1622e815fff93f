"""The disk cache under attack: many processes at once, killed writers, flipped bits, a full disk."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import jitrt
from jitrt.codegen import cache

WORK = textwrap.dedent(
    """
    import sys
    import numpy as np
    import jitrt
    first, last = map(int, sys.argv[1:])
    x = np.linspace(0.5, 1.5, 40)
    print("ready", flush=True)
    for k in range(first, last):
        scope = {"np": np}
        steps = "".join(f"    x = x {'*+'[k >> bit & 1]} 1.25\\n" for bit in range(14))
        exec(f"def f(x):\\n{steps}    return np.sqrt(x)", scope)
        np.testing.assert_array_equal(jitrt.jit(scope["f"])(x), scope["f"](x))
    print("done", flush=True)
    """
)


def start(directory, first, last):
    settings = dict(os.environ, JITRT_CACHE_DIR=str(directory), JITRT_STRICT="1", PYTHONUNBUFFERED="1")
    return subprocess.Popen(
        [sys.executable, "-c", WORK, str(first), str(last)],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0 and "done" in out, err


def scale(short, long):
    return [pytest.param(short, id="short"), pytest.param(long, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kernels", scale(3, 40))
def test_eight_processes_race_on_one_empty_cache(tmp_path, kernels):
    for process in [start(tmp_path, 0, kernels) for _ in range(8)]:
        finish(process)
    finish(start(tmp_path, 0, kernels))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this platform")
@pytest.mark.parametrize("rounds", scale(2, 30))
def test_writers_are_killed(tmp_path, rounds):
    chance = random.Random(0)
    for number in range(rounds):
        process = start(tmp_path, 100 * number, 100 * number + 60)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.05, 0.6))
        process.kill()
        process.communicate()
    finish(start(tmp_path, 0, 5))
    finish(start(tmp_path, 0, 5))


def flipped(path, chance):
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


@pytest.mark.parametrize("rounds", scale(3, 60))
def test_bits_are_flipped_anywhere(tmp_path, rounds):
    chance = random.Random(1)
    finish(start(tmp_path, 0, 3))
    for _ in range(rounds):
        for path in chance.sample(sorted(f for f in tmp_path.glob("*/*") if f.stat().st_size), 3):
            flipped(path, chance)
        finish(start(tmp_path, 0, 3))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_complained", False)
    return tmp_path


def fresh(number):
    """A function that no other test compiles."""
    scope = {"np": np}
    steps = "".join(f"    x = x {'*-'[number >> bit & 1]} 1.25\n" for bit in range(14))
    exec(f"def f(x):\n{steps}    return np.sqrt(x * x)", scope)
    return scope["f"]


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_a_full_disk(own_cache, monkeypatch, caplog, broken):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken if broken == "replace" else "fdopen", full)
    x = np.ones(30)
    for number in (9001 if broken == "replace" else 9003, 9002 if broken == "replace" else 9004):
        function = fresh(number)
        np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))
    assert caplog.text.count("the disk cache is not used") == 1
    assert not list(own_cache.glob("*/.writing*"))


def test_an_unwritable_folder(own_cache, monkeypatch, caplog):
    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(own_cache), "mkdir", refused)
    function, x = fresh(9005), np.ones(30)
    np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))
    assert caplog.text.count("the disk cache is not used") == 1


def test_the_cache_stays_within_its_limit(own_cache, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_SIZE", "8000")
    x = np.ones(30)
    for number in range(9100, 9112):
        function = fresh(number)
        np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))
    for thread in threading.enumerate():
        if thread.name == "jitrt cache":
            thread.join()
    assert 0 < cache.summary()["modules"] < 12  # cleaned on the way
    cache.clean(8000)
    summary = cache.summary()
    assert 0 < summary["bytes"] <= 8000 == summary["limit"]
    assert summary["modules"] < 12
