"""Profilers see compiled functions by their names."""

import cProfile
import os
import pstats
import re
import shutil
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import jitrt

ROOT = Path(__file__).parents[1]
MODEL = """
import sys, time
import numpy as np
import jitrt

@jitrt.jit
def pressure(x):
    level = 0.0
    for turn in range(2000):
        for k in range(len(x)):
            level = 0.999 * level + x[k]
    return level

def run(seconds):
    x = np.ones(100_000)
    pressure(x[:10])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pressure(x)
"""


@jitrt.jit
def smoothed(x):
    return (x[2:] + x[1:-1] + x[:-2]) / 3


@jitrt.jit
def summed(x):
    total = 0.0
    for k in range(len(x)):
        total = total * 0.5 + x[k]
    return total


@pytest.fixture
def shown():
    jitrt.show_in_profilers()
    yield
    jitrt.show_in_profilers(False)


def python(code, tmp_path, **environment):
    """A process that runs code; its text."""
    file = tmp_path / "model.py"
    file.write_text(MODEL + textwrap.dedent(code), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env=environment).stdout


def calls_by_name(profile):
    return {name: calls for (_, _, name), (calls, *_) in pstats.Stats(profile).stats.items()}


def test_cprofile_names_functions(shown):
    x = np.ones(1000)
    want = smoothed.__wrapped__(x), summed.__wrapped__(x)
    with cProfile.Profile() as profile:
        for _ in range(7):
            np.testing.assert_array_equal(smoothed(x), want[0])
            assert summed(x=x) == want[1]
    assert calls_by_name(profile)["smoothed (jit)"] == calls_by_name(profile)["summed (jit)"] == 7
    (place,) = {key[:2] for key in pstats.Stats(profile).stats if key[2] == "smoothed (jit)"}
    assert place == (__file__, smoothed.__code__.co_firstlineno)


def test_functions_are_native_again_behind_it():
    jitrt.show_in_profilers()
    jitrt.show_in_profilers()
    jitrt.show_in_profilers(False)
    jitrt.show_in_profilers(False)
    with cProfile.Profile() as profile:
        smoothed(np.ones(1000))
    assert "smoothed (jit)" not in calls_by_name(profile)


def test_exceptions_and_methods(shown):
    class Model:
        @jitrt.jit
        def scaled(self, x):
            return 2 * x + 1

    model = Model()
    with cProfile.Profile() as profile:
        for _ in range(3):
            assert model.scaled(np.ones(500))[0] == 3
        with pytest.raises(TypeError, match="scaled"):
            model.scaled()
    assert calls_by_name(profile)["scaled (jit)"] == 4


def test_from_the_beginning_of_a_process(tmp_path):
    shown = python(
        """
        import cProfile, pstats
        with cProfile.Profile() as profile:
            for _ in range(5):
                pressure(np.ones(10))
        print([calls for (_, _, name), (calls, *_) in pstats.Stats(profile).stats.items() if name == "pressure (jit)"])
        """,
        tmp_path,
        JITRT_PROFILERS="1",
    )
    assert shown.strip() == "[5]"


def test_line_profiler_counts_compiled_calls_to_the_callers_line():
    line_profiler = pytest.importorskip("line_profiler")
    x = np.ones(1000)
    smoothed(x)

    def caller():
        for _ in range(30):
            smoothed(x)

    profiler = line_profiler.LineProfiler()
    profiler.add_function(caller)
    profiler.runcall(caller)
    ((_, lines),) = profiler.get_stats().timings.items()
    assert [hits for line, hits, _ in lines if line == caller.__code__.co_firstlineno + 2] == [30]


@pytest.mark.filterwarnings("ignore:Adding a function with a")  # line_profiler's own, which names `__wrapped__`
def test_lprun(tmp_path):
    """A caller's line has the compiled call's time, and the plain function its lines'."""
    pytest.importorskip("line_profiler")
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance(history_length=0)

    def caller():
        for _ in range(30):
            summed(shell.user_ns["x"])

    def hits(name, call):
        """How often each line of a function ran."""
        text = tmp_path / "profile.txt"
        assert shell.run_cell(f"%lprun -T {text} -f {name} {call}").success
        rows = re.findall(r"^ *(\d+) {1,9}(\d+) ", text.read_text(encoding="utf-8"), re.M)
        return {int(line): int(count) for line, count in rows}

    try:
        shell.run_cell("%load_ext line_profiler")
        shell.user_ns |= {"caller": caller, "summed": summed, "x": np.ones(50)}
        assert hits("caller", "caller()")[caller.__code__.co_firstlineno + 2] == 30
        line = summed.__code__.co_firstlineno + 4
        assert hits("summed.__wrapped__", "summed.__wrapped__(x)")[line] == 50
        assert "Function: summed" in (tmp_path / "profile.txt").read_text(encoding="utf-8")
        hits("summed", "summed(x)")
        assert summed(np.ones(50)) == summed.__wrapped__(np.ones(50))
    finally:
        interactive.InteractiveShell.clear_instance()


def test_py_spy_names_functions(tmp_path):
    spy = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if spy is None:
        pytest.skip("py-spy is not installed")
    file = tmp_path / "model.py"
    file.write_text(MODEL + "pressure(np.ones(10))\nprint('ready', flush=True)\nrun(600)", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JITRT_PROFILERS": "1"}
    with subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, env=environment) as model:
        try:
            model.stdout.readline()
            for _ in range(50):  # some of which may come between two calls
                done = subprocess.run([spy, "dump", "--pid", str(model.pid)], capture_output=True, text=True)
                if "pressure (jit) (" in done.stdout:
                    return
                if "ermission" in done.stderr:
                    pytest.skip("py-spy may not look at processes here")
        finally:
            model.kill()
    pytest.fail(done.stdout + done.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux'")
def test_perf_gets_a_map_of_kernels(tmp_path):
    code = """
    import os
    pressure(np.ones(10))
    double = jitrt.jit(lambda x: np.exp(x) * 2)
    double(np.ones(1000)), double(np.ones(1000))
    print(os.getpid())
    """
    for _ in range(2):  # compiled, and then from the disk cache
        pid = int(python(code, tmp_path, JITRT_PERF="1", JITRT_CACHE_DIR=str(tmp_path / "cache")))
        file = Path(f"/tmp/perf-{pid}.map")
        lines = [line.split(" ", 2) for line in file.read_text(encoding="utf-8").splitlines()]
        file.unlink()
        names = {name for *_, name in lines}
        for part in ("jitrt:pressure:", "jitrt:<lambda>:", "jitrt:driver:jitrt_call"):
            assert any(name.startswith(part) for name in names), names
        places = sorted((int(begin, 16), int(size, 16)) for begin, size, _ in lines)
        assert all(begin + size <= following for (begin, size), (following, _) in pairwise(places))


def test_no_map_is_written_unasked(tmp_path):
    pid = int(python("import os\npressure(np.ones(10))\nprint(os.getpid())", tmp_path))
    assert not Path(f"/tmp/perf-{pid}.map").exists()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("perf") is None, reason="there is no perf")
def test_perf_names_kernels(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(MODEL + "run(2)", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JITRT_PERF": "1"}
    data = tmp_path / "perf.data"
    command = ["perf", "record", "-o", data, "--", sys.executable, file]
    if subprocess.run(command, capture_output=True, env=environment).returncode:
        pytest.skip("perf may not count here")
    shown = subprocess.run(["perf", "report", "-i", data, "--stdio"], capture_output=True, text=True).stdout
    if "%" not in shown:
        pytest.skip("perf has counted nothing")
    assert "jitrt:pressure:" in shown
