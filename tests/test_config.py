"""Options from the environment: numbers, the folder of the disk cache, and what the log does with texts of users."""

import itertools
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jitrt
from jitrt import config

LARGE = ["4294967296", str(2**63 - 1), str(2**63), str(10**24), "9" * 5000, "0" * 5000 + "7"]


@pytest.mark.parametrize("text", LARGE)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("JITRT_CACHE_SIZE", config.cache_limit),
        ("JITRT_KEEP_BYTES", config.kept_bytes),
        ("JITRT_NUM_THREADS", config.threads_from_environment),
        ("OMP_NUM_THREADS", config.threads_from_environment),
    ],
)
def test_numbers_fit_into_64_bits(monkeypatch, name, read, text):
    monkeypatch.delenv("JITRT_NUM_THREADS", raising=False)
    monkeypatch.setenv(name, text)
    assert read() == min(int(text) if len(text) < 100 else int(text[-100:]), 2**63 - 1)


@pytest.mark.parametrize("text", ["", "many", "-1", "1e3", "²", " 5", "0x10", "1_000"])
def test_what_is_no_number_is_not_heeded(monkeypatch, text):
    for name in ("JITRT_CACHE_SIZE", "JITRT_KEEP_BYTES", "JITRT_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, text)
    assert config.cache_limit() == config.kept_bytes() == 256 << 20
    assert config.threads_from_environment() is None
    assert 1 <= config.processors() <= (os.cpu_count() or 1)


PROGRAM = """
import numpy as np
import jitrt

def function(x):
    return np.sqrt(x * x + 1.0) * 2

def loop(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(1, n):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y

x = np.ones(1_000_000)
f, g = jitrt.jit(function), jitrt.jit(loop)
for _ in range(3):
    np.testing.assert_array_equal(f(x), function(x))
    np.testing.assert_array_equal(g(x[:300]), loop(x[:300]))
jitrt.clear_caches()
print(jitrt.num_threads() <= 65, bool(g._loops.source((x[:300],))))
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"JITRT_NUM_THREADS": "200", "JITRT_CACHE_SIZE": str(10**24), "JITRT_KEEP_BYTES": str(10**24)},
        {"OMP_NUM_THREADS": str(10**24), "JITRT_KEEP_BYTES": "9" * 5000},
        {"NUMBA_DISABLE_JIT": "1", "JITRT_KEEP_BYTES": str(2**63 - 1)},
    ],
    ids=str,
)
def test_programs_with_such_settings_are_right(tmp_path, settings):
    environment = {**os.environ, "JITRT_CACHE_DIR": str(tmp_path), "JITRT_STRICT": "1", **settings}
    program = tmp_path / "program.py"  # loops are translated where there is a file
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.split() == ["True", "True"]


@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="the convention of other platforms")
def test_the_folder_of_the_cache(monkeypatch, tmp_path):
    """What is set to nothing, or to a path that depends on where the process is, says nothing."""
    xdg = {None: None, "": None, "relative": None, str(tmp_path): tmp_path}
    homes = {None: Path("~").expanduser(), "": None, "relative": None, str(tmp_path / "home"): tmp_path / "home"}
    monkeypatch.delenv("JITRT_CACHE_DIR")
    with monkeypatch.context() as patches:
        patches.delenv("HOME", raising=False)
        homes[None] = Path.home()
    for (base, has_base), (home, has_home) in itertools.product(xdg.items(), homes.items()):
        for name, value in (("XDG_CACHE_HOME", base), ("HOME", home)):
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        base = has_base or (has_home and has_home / ".cache")
        assert config.cache_directory() == (base and base / "jitrt")
    monkeypatch.setenv("JITRT_CACHE_DIR", "")
    assert config.cache_directory() is None


BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2K", "\x00", "\ud800"]


@pytest.mark.parametrize("text", BREAKS, ids=ascii)
def test_names_of_functions_make_no_lines_in_the_log(caplog, text):
    """Nor do errors and reasons that have them in their texts."""
    forged = "jitrt.cache: all is well"

    def function(x):
        if x.sum() > 1e9:
            raise RuntimeError(f"{text}{forged}")
        return np.linalg.inv(x) + np.sort(x, axis=0)

    function.__name__ = function.__qualname__ = f"f{text}{forged}"
    caplog.set_level(logging.INFO, "jitrt.trace")
    caplog.set_level(logging.INFO, "jitrt.guards")
    np.testing.assert_array_equal(jitrt.jit(function)(np.eye(3)), function(np.eye(3)))
    lines = [line for record in caplog.records for line in record.getMessage().splitlines()]
    assert any(forged in line for line in lines) and not any(line.startswith(forged) for line in lines)
    assert not any(set(line) & set("\r\v\f\x1c\x85\u2028\u2029\x1b\x00\ud800") for line in lines)


def test_texts_of_several_lines_are_indented(caplog):
    logger = logging.getLogger("jitrt.codegen")
    caplog.set_level(logging.INFO, "jitrt.codegen")
    logger.info("a kernel of %d lines:\n%s", 2, "for i:\n  y[i] = x[i]\tm²")
    logger.info("a failure: %s", ValueError("first\nsecond"))
    assert [record.getMessage() for record in caplog.records] == [
        "a kernel of 2 lines:\nfor i:\n      y[i] = x[i]\\tm²",
        "a failure: first\n    second",
    ]


def test_what_a_user_should_know_comes_once(caplog):
    """And nothing else at that level: what the stages do is for those who look for it."""
    caplog.set_level(logging.INFO, "jitrt")

    def told(x):
        print(end="")
        return 2 * x

    def cubes(x):
        return np.sort(x * x * x + 17)

    for n in (4000, 5000, 6000):
        for function in (told, cubes):
            jitrt.jit(function)(np.ones((n, 3)))
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert len(lines) == len(set(lines)) == 2, lines
    assert lines[0].startswith("told runs as plain NumPy: prints (") and "leaves np.sort to NumPy at" in lines[1]
