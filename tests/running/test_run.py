"""``python -m jitrt run``: what Python does with the program, and its functions compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from covering import few

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "JITRT_STRICT"}


def execute(command, folder, **variables):
    environment = ENVIRONMENT | variables
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def both(folder, *program):
    """What a program does as it is, and compiled."""
    return execute(program, folder), execute(["-m", "jitrt", "run", *program], folder)


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


SMALL = {
    "simulation": ["--cells", "40", "--steps", "20", "--reports", "3"],
    "image_processing": ["128"],
    "trial_statistics": [],
    "finance": [],
    "signals": ["3"],
}


@pytest.mark.parametrize("name", few(SMALL, 2))
def test_examples_print_the_same(name, tmp_path):
    path = EXAMPLES / f"{name}.py"
    assert len(path.read_text().splitlines()) >= 100
    plain, compiled = both(tmp_path, str(path), *SMALL[name])
    assert plain.returncode == compiled.returncode == 0, compiled.stderr
    assert plain.stdout == compiled.stdout


ABOUT = """
import sys
import numpy as np

def show(x):
    y = x * 2
    return y.sum()

class Model:
    '''A class.'''
    __slots__ = ("k",)
    def __init__(self, k):
        self.k = np.float64(k)
    def scaled(self, x):
        return x * self.k
    @property
    def twice(self):
        return np.add(self.k, self.k)
    @staticmethod
    def half(x):
        return np.divide(x, 2)
    @classmethod
    def of(cls, x):
        return cls(np.max(x))

print(__name__, __file__, sys.argv, __package__, __spec__ is None, __doc__)
print(sys.path[0], sorted(k for k in globals() if not k.startswith("__")))
print(show(np.ones(3)), Model(3).scaled(np.ones(2)), Model(4).twice, Model.half(3.0), Model.of([1, 2]).k)
print(show.__name__, show.__module__, show.__doc__, Model.scaled.__qualname__)
print(sys.modules["__main__"].show is show)
"""


def test_the_main_module_is_as_it_is(tmp_path):
    write(tmp_path, about=ABOUT)
    plain, compiled = both(tmp_path, "about.py", "--flag", "-m", "value")
    assert plain.stdout == compiled.stdout and "--flag" in plain.stdout and not compiled.stderr


def test_modules_packages_and_programs_beside_them(tmp_path):
    write(
        tmp_path,
        package__in____init__="",
        package__in__helper="import numpy as np\ndef h(x):\n    return np.sqrt(x) + 1\n",
        package__in____main__="import sys, numpy as np\nfrom .helper import h\nfrom beside import g\n"
        "print(__name__, __package__, __spec__.name, sys.argv, h(np.ones(2)), g(np.ones(2)), type(h).__name__)",
        beside="import numpy as np\ndef g(x):\n    return np.exp(x - 1)\n",
    )
    plain, compiled = both(tmp_path, "-m", "package", "1", "--two")
    assert compiled.stdout == plain.stdout.replace("function", "Deferred"), compiled.stderr
    plain, compiled = both(tmp_path, "-m", "package.helper")
    assert plain.returncode == compiled.returncode == 0 and not compiled.stderr
    pycache = tmp_path / "package" / "__pycache__"
    plain = execute(["-m", "package"], tmp_path)
    assert "function" in plain.stdout, pycache


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(3)", "sys.exit('a message')", "raise SystemExit", "1 / 0", "f(np.ones(2), np.ones(3))",
        "raise KeyboardInterrupt", "raise ValueError('multi\\nline')", "import nowhere", "print(undefined)",
    ],
)  # fmt: skip
def test_endings(tmp_path, ending):
    write(
        tmp_path,
        main="import sys\nimport numpy as np\n\ndef f(x, y):\n    z = x + 1\n    return z * y\n\n"
        f"print('begun')\n{ending}\n",
    )
    plain, compiled = both(tmp_path, "main.py")
    assert plain.returncode == compiled.returncode and plain.stdout == compiled.stdout
    shown = [line for line in compiled.stderr.splitlines() if line.strip()]
    expected = [line for line in plain.stderr.splitlines() if line.strip()]
    if "f(np" in ending:  # frames of jitrt's stand between the user's
        places = [line for line in expected if "main.py" in line]
        assert (
            [line for line in shown if "main.py" in line] == places and shown[-1] == expected[-1] and len(places) == 2
        )
    else:
        assert shown == expected


def test_syntax_errors_and_missing_programs(tmp_path):
    write(tmp_path, wrong="def f(:\n    pass\n")
    plain, compiled = both(tmp_path, "wrong.py")
    assert plain.returncode == compiled.returncode == 1
    assert "SyntaxError" in compiled.stderr and 'wrong.py", line 1' in compiled.stderr
    for program in (["nowhere.py"], ["-m", "nowhere"], ["-m", "no.where"]):
        done = execute(["-m", "jitrt", "run", *program], tmp_path)
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert "No such file" in done.stderr or "o module" in done.stderr


CHOICE = """
from __future__ import annotations
import functools, numpy as np

def kept(x): return x
def twice(x: np.ndarray): return x * 2
def loop(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s
def calls(x):
    for _ in range(3):
        x = twice(x)
    return x
def generator(x):
    yield x.sum()
async def later(x): return x.sum()
def prints(x):
    print(x.sum())
def sometimes(x, verbose=False):
    if verbose:
        print(x.sum())
    return x.mean()
def traced(f):
    @functools.wraps(f)
    def wrapped(*args):
        return f(*args)
    return wrapped
@traced
def decorated(x): return np.sqrt(x)
@functools.lru_cache
def cached(n): return np.arange(n).sum()
def driver():
    def inner(x): return np.cos(x)
    print(type(inner).__name__)
    return [inner(np.zeros(2)) for _ in range(3)]
class C:
    def __init__(self, x): self.x = np.asarray(x)
    def total(self): return self.x.sum()

kinds = {f.__name__: type(f).__name__ for f in (kept, twice, loop, calls, generator, later, prints, sometimes)}
others = decorated.__wrapped__, cached.__wrapped__, C.total, C.__init__
print(kinds, *[type(f).__name__ for f in others])
print(twice(np.ones(2)), loop(np.arange(3.0)), calls(np.ones(2)), sometimes(np.ones(2)))
print(decorated(4.0), cached(4), C([1]).total())
driver()
"""


def test_which_functions_are_decorated(tmp_path):
    write(tmp_path, main=CHOICE)
    plain, compiled = both(tmp_path, "main.py")
    assert compiled.returncode == 0, compiled.stderr
    kinds = eval(compiled.stdout.splitlines()[0].partition("}")[0] + "}")
    jit = {name for name, kind in kinds.items() if kind == "Deferred"}
    assert jit == {"twice", "loop", "calls", "sometimes"}
    assert compiled.stdout.splitlines()[0].split("}")[1].split() == [
        "Deferred",
        "Deferred",
        "Deferred",
        "function",
    ]
    assert compiled.stdout.splitlines()[-1] == "Deferred"
    assert plain.stdout.splitlines()[1:3] == compiled.stdout.splitlines()[1:3]


def test_the_report(tmp_path):
    write(
        tmp_path,
        main="import numpy as np\nimport helper\ndef f(x):\n    return np.sqrt(x) + 1\n"
        "def g(x):\n    global seen\n    seen = np.sum(x)\n    return seen\n"
        "def main():\n    print(np.sum(f(np.ones(3))))\n"
        "for _ in range(5):\n    f(np.ones(4))\nhelper.h(np.ones(3)), g(np.ones(3)), main()\n",
        helper="import numpy as np\ndef h(x):\n    return np.exp(x)\ndef unused(x):\n    return np.exp(x)\n",
    )
    done = execute(["-m", "jitrt", "run", "--report", "main.py"], tmp_path, JITRT_STRICT="1")  # compiles at once
    assert done.returncode == 0 and done.stdout == "6.0\n", done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stderr.splitlines() if line and not line.startswith(" ")}
    calls = {name: (cells[4], cells[2]) for name, cells in rows.items() if name in ("f", "helper.h", "g")}
    assert calls == {"f": ("6", "0"), "helper.h": ("1", "0"), "g": ("0", "1")}
    assert "assigns the global" in done.stderr or "global" in done.stderr
    assert "main.py:9), it calls print" in done.stderr and "never called from Python: helper.unused" in done.stderr


WORKERS = """
import multiprocessing, sys
import numpy as np

def work(n):
    return float(np.sum(np.arange(n) * 2.0))

def told(n):
    sys.stdout.flush()
    return work(n), type(work).__name__, __name__

def main():
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, [10]), pool.map(told, [10, 20, 30]))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", few(["spawn", "fork", "forkserver"], 2))
def test_processes(tmp_path, method):
    write(tmp_path, main=WORKERS)
    plain, compiled = both(tmp_path, "main.py", method)
    expected = plain.stdout.replace("function", "Deferred")  # pickling makes jit functions of some
    assert compiled.stdout.replace("JitFunction", "Deferred") == expected, compiled.stderr
    done = execute(["-m", "jitrt", "run", "--report", "main.py", method], tmp_path)
    assert done.returncode == 0 and done.stdout.count("380.0") == 1, done.stderr
    _, compiled = both(tmp_path, "-m", "main", method)
    assert compiled.stdout.replace("JitFunction", "Deferred") == expected, compiled.stderr


def test_functions_are_pickled_by_name(tmp_path):
    write(
        tmp_path,
        main="import pickle, numpy as np\ndef f(x):\n    return np.sqrt(x)\n"
        "print(pickle.loads(pickle.dumps(f)) is f)\n",
    )
    for result in both(tmp_path, "main.py"):
        assert result.stdout == "True\n", result.stderr


def test_environment_variables_are_respected(tmp_path):
    write(tmp_path, main="import numpy as np\ndef f(x):\n    return np.sqrt(x)\nf(np.ones(3))\n")
    done = execute(["-m", "jitrt", "run", "--report", "main.py"], tmp_path, JITRT_DISABLE="1")
    assert "JITRT_DISABLE is set (1 call, " in done.stderr


def test_recursion_is_as_deep_as_it_was(tmp_path):
    write(
        tmp_path,
        main="import numpy as np\ndef f(n, x):\n    return np.sum(x) if n == 0 else f(n - 1, x) + n\n"
        "print(f(800, np.ones(3)))\n",
    )
    plain, compiled = both(tmp_path, "main.py")
    assert plain.stdout == compiled.stdout != "", compiled.stderr
