"""Processes that are killed while they write programs to the disk cache, at random moments and at every step of it."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from covering import few

from jitrt.codegen.cachefiles import content

pytestmark = pytest.mark.skipif(
    not (hasattr(signal, "SIGKILL") and hasattr(os, "fork")), reason="no such signal, or no fork, on this platform"
)

# A new size is a new program of known kernels: nothing but the program is written. Its constants make it some 50 KB.
FUNCTION = """
import json, logging, os, random, signal, sys, time
import numpy as np
import jitrt

said = []

class Handler(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())

logging.getLogger("jitrt.cache").addHandler(Handler())
logging.getLogger("jitrt.cache").setLevel(logging.DEBUG)

def check(n):
    values = jitrt.frozen(np.arange(float(n)))

    def function(x):
        return np.sqrt(x * x + values) - 1.25

    x = np.linspace(-3.0, 7.0, n)
    np.testing.assert_array_equal(jitrt.jit(function)(x), function(x))

check(6000)
"""
KILLED_AT_RANDOM = """
check(5999)  # children have no time to import the compiler
began = time.perf_counter()
check(5998)
took = time.perf_counter() - began
chance = random.Random(SEED)
for number in range(ROUNDS):
    child = os.fork()
    if not child:
        try:
            for n in SIZES[3 * number % len(SIZES) :]:
                check(n)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    time.sleep(chance.uniform(0.0, 5 * took))  # for two or three programs of a child, on average
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
assert not any("not used" in text for text in said)
print("[]")
"""
KILLED_AT = """
from jitrt.codegen import cache

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

class Half:
    def __init__(self, handle, mode):
        self.file = fdopen(handle, mode)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        assert len(data) > 40_000
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        die()

def when_writing(act):
    return lambda handle, mode: (act if mode == "wb" else fdopen)(handle, mode)

def replace_and_die(name, path):
    replace(name, path)
    die()

fdopen, replace = os.fdopen, os.replace
steps = {
    "opened": ("fdopen", when_writing(die)),
    "half": ("fdopen", when_writing(Half)),
    "written": ("replace", die),
    "renamed": ("replace", replace_and_die),
}
setattr(os, *steps[STEP])
check(6001)
"""
READ = """
before = len(said)
for n in SIZES:
    check(n)
found = sum(text.startswith("a program of") and "comes from" in text for text in said[before:])
print(json.dumps([found, [text for text in said if "not used" in text], "jitrt.pipeline" in sys.modules]))
"""


def start(directory, script, **values):
    """Run a script in a new process; its exit code, and what it prints as JSON."""
    for name, value in values.items():
        script = script.replace(name, repr(value))
    settings = {"JITRT_CACHE_DIR": str(directory), "JITRT_STRICT": "1", "JITRT_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FUNCTION + script]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=240)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, json.loads(done.stdout or "[]")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A cache that has the kernels of the function, and one program."""
    directory = tmp_path_factory.mktemp("known")
    assert start(directory, "print('[]')") == (0, []) and whole_programs(directory) == 1
    return directory


def whole_programs(directory):
    """How many programs there are; each of them has to be whole."""
    return len([content(str(path)) for path in directory.glob("*/*.program")])


@pytest.mark.parametrize(
    "rounds", [pytest.param(40, id="short"), pytest.param(1000, id="long", marks=pytest.mark.slow)]
)
def test_killed_at_random(known, tmp_path, rounds):
    """Later children use what earlier ones had written when they were killed, and so does a new process."""
    shutil.copytree(known, tmp_path, dirs_exist_ok=True)
    sizes = list(range(6001, 6001 + 3 * min(rounds, 300)))
    assert start(tmp_path, KILLED_AT_RANDOM, SEED=rounds, ROUNDS=rounds, SIZES=sizes) == (0, [])
    kept = whole_programs(tmp_path) - 3
    assert kept > 0
    assert start(tmp_path, READ, SIZES=sizes) == (0, [kept, [], True])
    assert start(tmp_path, READ, SIZES=sizes) == (0, [len(sizes), [], False])


@pytest.mark.parametrize("step", few(["half", "renamed", "opened", "written"], 2))
def test_killed_at_every_step(known, tmp_path, step):
    shutil.copytree(known, tmp_path, dirs_exist_ok=True)
    assert start(tmp_path, KILLED_AT, STEP=step) == (-signal.SIGKILL, [])
    is_there = step == "renamed"
    assert len(list(tmp_path.glob("*/.writing-*"))) == (not is_there)
    assert whole_programs(tmp_path) == 1 + is_there
    assert start(tmp_path, READ, SIZES=[6001]) == (0, [int(is_there), [], not is_there])
    assert start(tmp_path, READ, SIZES=[6001]) == (0, [1, [], False])
    assert whole_programs(tmp_path) == 2
