"""Pickled jit functions: of modules, of the main module, closures and methods; in this process and in others."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import jitrt

x = np.arange(5.0)


@jitrt.jit
def scaled(a):
    return a * 3 + 1


class Model:
    factor = 4.0

    @jitrt.jit
    def times(self, a):
        return a * self.factor


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_by_name(protocol):
    assert pickle.loads(pickle.dumps(scaled, protocol)) is scaled
    method = pickle.loads(pickle.dumps(Model().times, protocol))
    np.testing.assert_array_equal(method(x), x * 4)


def test_copies():
    assert copy.copy(scaled) is scaled and copy.deepcopy([scaled])[0] is scaled


def run(code, *args):
    """Run a script, whose main module is its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SCRIPT = """
    import copy, pickle, sys
    import numpy as np
    import jitrt

    factor = 2.0

    @jitrt.jit(threads=1, donate=("a",))
    def main(a, b=1.0, *, c=0.5):
        '''Text.'''
        return factor * a + b * c

    @jitrt.jit
    def countdown(n, a):
        return a if n == 0 else countdown(n - 1, a * 2.0)

    class Model:
        factor = 4.0

        @jitrt.jit
        def times(self, a):
            return a * self.factor
"""


def test_functions_of_the_main_module_are_themselves():
    code = """
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for function in (main, countdown, Model.times):
            assert pickle.loads(pickle.dumps(function, protocol)) is function, protocol
    assert copy.deepcopy(main) is main
    assert main.__qualname__ == main.__wrapped__.__qualname__ == "main"
    print("good")
    """
    assert run(SCRIPT + code) == ["good"]


def test_functions_of_the_main_module_in_a_process_with_another(tmp_path):
    pytest.importorskip("cloudpickle")
    write = """
    import cloudpickle
    if len(sys.argv) > 2:
        main(np.ones(3))
    with open(sys.argv[1], "wb") as file:
        cloudpickle.dump((main, countdown, Model().times, [main]), file)
    """
    read = """
    import pickle, sys
    import numpy as np
    with open(sys.argv[1], "rb") as file:
        main, countdown, times, (same,) = pickle.load(file)
    x = np.arange(4.0)
    assert type(main).__name__ == "JitFunction" and same is main
    assert np.array_equal(main(x.copy()), 2 * x + 0.5) and np.array_equal(main(x.copy(), 2.0, c=3.0), 2 * x + 6)
    assert np.array_equal(countdown(3, x), 8 * x) and np.array_equal(times(x), 4 * x)
    assert main.__qualname__ == main.__wrapped__.__qualname__ == "main" and main.__doc__ == "Text."
    assert (main._options.threads, main._options.donate) == (1, ("a",)) and not main.explain(x).plain_reason
    again = pickle.dumps([1]), main
    print("good")
    """
    for called in ((), ("called",)):
        run(SCRIPT + write, tmp_path / "functions", *called)
        assert run(read, tmp_path / "functions") == ["good"]


def test_joblib_runs_functions_of_the_main_module(tmp_path):
    pytest.importorskip("joblib")
    code = """
    import joblib
    if __name__ == "__main__":
        x = np.arange(300_000.0)
        for backend in ("loky", "threading", "multiprocessing"):
            pool = joblib.Parallel(n_jobs=2, backend=backend)
            for got in pool(joblib.delayed(countdown)(2, x) for _ in range(4)):
                assert np.array_equal(got, 4 * x)
        print("good")
    """
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT) + textwrap.dedent(code))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.stdout.split() == ["good"], done.stderr


def test_dask_runs_functions_of_the_main_module(tmp_path):
    pytest.importorskip("dask.array")
    code = """
    import dask.array
    if __name__ == "__main__":
        x = np.arange(3000.0)
        blocks = dask.array.from_array(x, chunks=1000)
        for scheduler in ("threads", "processes", "sync"):
            lazy = blocks.map_blocks(lambda block: countdown(2, block), dtype=x.dtype)
            assert np.array_equal(lazy.compute(scheduler=scheduler), 4 * x)
        print("good")
    """
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT) + textwrap.dedent(code))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.stdout.split() == ["good"], done.stderr


def test_results_kept_by_joblib_are_those_of_the_function_as_it_is(tmp_path):
    joblib = pytest.importorskip("joblib")
    memory, results = joblib.Memory(tmp_path / "results", verbose=0), []
    for factor in (2, 3):
        path = tmp_path / "edited.py"
        path.write_text(f"def times(a):\n    return a * {factor}\n")
        scope = {"__name__": "edited"}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        kept = memory.cache(jitrt.jit(scope["times"]))
        results += [kept(np.ones(1))[0], kept(np.ones(1))[0]]
    assert results == [2, 2, 3, 3]


def test_what_has_no_code_of_its_own_has_none_here():
    assert not hasattr(jitrt.jit(np.sin), "__code__") and jitrt.jit(run).__code__ is run.__code__
