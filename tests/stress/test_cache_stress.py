"""The disk cache under attack: many processes at once, killed writers, flipped bits, a full disk."""

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import jitrt
from jitrt.codegen import cache, cachefiles

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


@pytest.mark.slow  # four of them: tests/codegen/test_cache.py
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

    shutil.rmtree(own_cache)
    monkeypatch.setattr(os, "mkdir", refused)
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
    cachefiles.clean(8000)
    summary = cache.summary()
    assert 0 < summary["bytes"] <= 8000 == summary["limit"]
    assert summary["modules"] < 12


def compile_and_check(numbers):
    x = np.ones(30)
    for number in numbers:
        function = fresh(number)
        np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))


@pytest.mark.parametrize("how", ["deleted", "a file", "folders are files"])
def test_the_folder_goes_while_the_process_runs(own_cache, how, caplog):
    compile_and_check([9201])
    if how == "folders are files":
        for folder in [f for f in own_cache.iterdir() if f.is_dir()]:
            shutil.rmtree(folder)
            folder.touch()
    else:
        shutil.rmtree(own_cache)
        if how == "a file":
            own_cache.touch()
    compile_and_check([9202, 9201, 9203])
    assert caplog.text.count("the disk cache is not used") == (how != "deleted")
    if how == "deleted":
        assert cache.summary()["modules"] > 0


def test_times_in_the_future(own_cache):
    """After the clock was set back: files are read, and deleted as others are."""
    compile_and_check([9211, 9212])
    for path in own_cache.glob("*/*"):
        os.utime(path, (2**33, 2**33))
    finish(start(own_cache, 0, 1))
    compile_and_check([9211, 9213])
    assert cachefiles.clean(0) > 0 and cache.summary()["modules"] == 0
    compile_and_check([9214])


def test_two_versions_side_by_side(own_cache, monkeypatch):
    """Code of another version is found by none but that version, and deleted with the rest."""
    own = cachefiles.fingerprint()
    compile_and_check([9221])
    monkeypatch.setattr(cachefiles, "fingerprint", lambda: "0" * 32)
    text = "a text that one version has compiled"
    cache.store("1" * 32, b"not this machine's code", [(text, ["symbol"])], [])
    assert {folder.name for folder in own_cache.iterdir() if folder.is_dir()} == {own, "0" * 32}
    monkeypatch.setattr(cachefiles, "fingerprint", lambda: own)
    assert cache.load(text) is None
    compile_and_check([9222])
    cachefiles.clean(0)
    assert not list(own_cache.glob("*/*.module"))


LIMITED = textwrap.dedent(
    """
    import logging, resource, sys
    logging.basicConfig(level=logging.WARNING)
    import numpy as np
    import numpy.testing
    import jitrt
    f = jitrt.jit(lambda a, b: np.sqrt(a * a + b) * 2 - a)
    g = jitrt.jit(lambda a, b: (np.sqrt(a * b + b) - a).sum())
    held = []
    kind, value = sys.argv[1:]
    if kind == "files":  # handles are gone before anything is compiled
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(value), limit[1]))
        try:
            while True:
                held.append(open("/dev/null"))
        except OSError:
            pass
    elif kind == "file size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(value), resource.RLIM_INFINITY))
    elif kind == "recursion":
        sys.setrecursionlimit(int(value))
    x, y = np.linspace(1, 2, 50), np.ones(50)
    for k in range(3):
        np.testing.assert_array_equal(f(x, y), np.sqrt(x * x + y) * 2 - x)
    if held:
        held.clear()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    for k in range(3):
        np.testing.assert_allclose(g(x, y), (np.sqrt(x * y + y) - x).sum())
    assert kind == "files" or f.cache_info().compiled == g.cache_info().compiled == 1
    print("done")
    """
)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are others")
@pytest.mark.parametrize(
    ("kind", "value", "options"),
    [
        ("files", "40", []),
        ("file size", "500", []),
        ("recursion", "400", ["-O"]),
        pytest.param("file size", "0", ["-I", "-B", "-OO"], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_processes_with_little_of_something(tmp_path, kind, value, options):
    """Where files end early, no part of one is left, and another process reads what is whole."""
    settings = dict(os.environ, JITRT_CACHE_DIR=str(tmp_path), JITRT_STRICT="0")
    done = subprocess.run(
        [sys.executable, *options, "-c", LIMITED, kind, value],
        env=settings,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert ("File too large" in done.stderr) == (kind == "file size")
    assert not list(tmp_path.glob("*/.writing*"))
    finish(start(tmp_path, 0, 1))


def test_a_user_without_a_home(monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("JITRT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cachefiles.Path, "home", nobody)
    compile_and_check([9231])
    assert cache.summary()["bytes"] == 0 and cachefiles.clean(0) == 0


@pytest.mark.slow  # those of whole programs: tests/test_programs.py
def test_keys_do_not_depend_on_the_hash_of_strings(tmp_path):
    """What a second process with another seed asks for is there already."""
    for seed in ("1", "2", "random"):
        settings = dict(os.environ, JITRT_CACHE_DIR=str(tmp_path), JITRT_STRICT="1", PYTHONHASHSEED=seed)
        subprocess.run([sys.executable, "-c", WORK, "300", "304"], env=settings, check=True, stdout=subprocess.DEVNULL)
        files = {path.name for path in tmp_path.glob("*/*")}
        if seed == "1":
            known = files
        assert files == known
