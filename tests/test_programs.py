"""Programs in the disk cache: a process that asks for the same again gets them whole, and the same results."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt import programs
from jitrt.ir import build as b
from jitrt.ir.content import NotPortable, content
from jitrt.ir.node import Graph, Node
from jitrt.ir.ops.contractions import Call, call, call_result
from jitrt.ir.ops.optable import OPS
from jitrt.ir.types import ArrayType
from jitrt.runtime.image import Table
from jitrt.runtime.portable import dumps, loads

FEWEST = 23  # programs that are expected: since Python 3.13 the source of a command is known, and its loops are staged
# Functions of all kinds of steps, with their arguments; each file of arguments is made anew for every call.
FUNCTIONS = """
import numpy as np

RAMP = np.arange(7.0)
RAMP.flags.writeable = False

def chain(x, y):
    return (x * y + 1.5) / (y - 7.0)

def rows(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def folds(x):
    return x.sum(), x.mean(axis=0), x.min(), np.argmax(x)

def views(x):
    y = x * 2
    return y, y[1:], y.T, x[::-1]

def changes(x, y):
    x += y
    y[2:] = x[:-2] * 3
    return x - y

def scalars(x, s, t):
    return x * s + t

def loop(x, n):
    for _ in range(n):
        x = np.concatenate((x[:1], (x[2:] + x[:-2]) * 0.5, x[-1:]))
    return x

def until(x):
    y = x
    while y.max() > 0.1:
        y = y * 0.5
    return y

def segments(x):
    if x.sum() > 0:
        return np.sqrt(np.abs(x))
    return x * x

def constants(x):
    return x + np.arange(7.0) * RAMP

def strided(x):
    return x + x[:, ::-1]

def integers(x):
    return x // 3, x % 5, x << 2, x == 4

def scan(x):
    return np.cumsum(x, axis=1)

def large(x, y):
    return np.tanh(x) * y + x.sum(axis=1, keepdims=True)

def by_numpy(x):
    return np.sort(x * 2) + 1, np.median(x)

def calls(x, y):
    q, r = np.linalg.qr(x)
    return np.percentile(y, [10.0, 90.0], axis=0), q @ r * 2, np.interp(y[0] * 2, [-1.0, 1.0], [3.0, 4.0])

def own(array, scale=1):
    return np.asarray(sorted(array.tolist())) * scale

def opaque(x):
    return np.apply_along_axis(own, 1, x * 2, scale=3) + x, np.unique(x > 0)

def product(a, b, bias):
    return np.maximum(a @ b + bias, 0.0)

def python_numbers(x, s):
    return x * (s ** 3.0) + (s + 2.0) / 7.0

def rng():
    return np.random.default_rng(7)

CASES = [
    (chain, lambda: (rng().normal(size=50), rng().normal(size=50))),
    (rows, lambda: (rng().normal(size=(20, 30)),)),
    (rows, lambda: (rng().normal(size=(20, 30)).astype("f4"),)),
    (folds, lambda: (rng().normal(size=(20, 30)),)),
    (views, lambda: (rng().normal(size=(4, 5)),)),
    (changes, lambda: (rng().normal(size=40), rng().normal(size=40))),
    (changes, lambda: (rng().normal(size=40000), rng().normal(size=40000))),
    (scalars, lambda: (rng().normal(size=9), 2.5, np.float32(3))),
    (scalars, lambda: (rng().normal(size=9), 2.5, 1j)),
    (loop, lambda: (rng().normal(size=500), 60)),
    (until, lambda: (np.abs(rng().normal(size=500)),)),
    (segments, lambda: (np.abs(rng().normal(size=500)),)),
    (segments, lambda: (-np.abs(rng().normal(size=500)),)),
    (constants, lambda: (rng().normal(size=7),)),
    (strided, lambda: (np.asfortranarray(rng().normal(size=(6, 8))),)),
    (integers, lambda: (rng().integers(-9, 9, 30),)),
    (scan, lambda: (rng().normal(size=(6, 8)),)),
    (large, lambda: (rng().normal(size=(600, 700)), rng().normal(size=(600, 700)))),
    (by_numpy, lambda: (rng().normal(size=3000),)),
    (calls, lambda: (rng().normal(size=(30, 9)), rng().normal(size=(80, 20)))),
    (opaque, lambda: (rng().normal(size=(50, 40)),)),
    (product, lambda: (rng().normal(size=(70, 30)), rng().normal(size=(30, 80)), rng().normal(size=80))),
    (python_numbers, lambda: (rng().normal(size=9), 1.7)),
]
"""
RUN = (
    FUNCTIONS
    + """
import json, logging, sys, jitrt
from_disk = []

class Handler(logging.Handler):
    def emit(self, record):
        from_disk.append(record.getMessage().startswith("a program of") and "comes from" in record.getMessage())

logging.getLogger("jitrt.cache").addHandler(Handler())
logging.getLogger("jitrt.cache").setLevel(logging.DEBUG)

def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]

def bits(value):
    return [(type(v).__name__, np.asarray(v).dtype.str, np.asarray(v).tobytes().hex()) for v in flat(value)]

np.seterr(all="ignore")
results = []
for function, make in CASES:
    fast = jitrt.jit(function)
    for _ in range(2):
        mine, plain = make(), make()
        got, want = [fast(*mine), mine], [function(*plain), plain]
        for one, other in zip(flat(got), flat(want), strict=True):
            assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
            tolerance = 1e-5 if np.asarray(other).dtype == "f4" else 1e-12
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        results.append(bits(got))
print(json.dumps([sum(from_disk), results]))
"""
)


def run(directory, script=RUN, **settings):
    """What a new process prints, as JSON."""
    environment = {**os.environ, "JITRT_CACHE_DIR": str(directory), "JITRT_STRICT": "1", **settings}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files(directory):
    return sorted(Path(directory).glob("*/*.program"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that a process has filled, and the results of that process."""
    directory = tmp_path_factory.mktemp("programs")
    found, results = run(directory)
    assert found == 0 and len(files(directory)) >= FEWEST
    return directory, results


@pytest.mark.parametrize("settings", [{}, {"PYTHONHASHSEED": "77", "JITRT_NUM_THREADS": "1"}], ids=str)
def test_another_process_gets_all_programs_whole(filled, settings):
    directory, results = filled
    before = files(directory)
    found, again = run(directory, **settings)
    assert found >= FEWEST and again == results
    assert files(directory) == before  # nothing had another key


def damaged(data, how):
    if how == "cut":
        return data[: len(data) // 2]
    if how == "empty":
        return b""
    place = {"checksum": 3, "image": len(data) - 60}[how]
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


@pytest.mark.parametrize("how", few(["cut", "image", "empty", "checksum"], 2))
def test_damaged_programs_are_made_anew(filled, tmp_path, how):
    directory, results = filled
    (folder,) = {path.parent for path in files(directory)}
    copy = tmp_path / folder.name
    copy.mkdir()
    for path in folder.iterdir():
        data = path.read_bytes()
        (copy / path.name).write_bytes(damaged(data, how) if path.suffix == ".program" else data)
    found, again = run(tmp_path)
    assert found == 0 and again == results
    assert all(path.read_bytes() == (directory / folder.name / path.name).read_bytes() for path in files(tmp_path))


def test_programs_whose_code_was_deleted_are_made_anew(filled, tmp_path):
    directory, results = filled
    for path in files(directory):
        (tmp_path / path.parent.name).mkdir(exist_ok=True)
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    found, again = run(tmp_path)
    assert found < 5 and again == results  # some have no kernels


def test_a_half_written_program_is_no_program(filled, tmp_path):
    """What a process leaves that is killed while it writes has another name."""
    directory, results = filled
    folder = tmp_path / files(directory)[0].parent.name
    folder.mkdir()
    for path in files(directory):
        (folder / f".writing-{path.stem}").write_bytes(path.read_bytes()[:100])
    found, again = run(tmp_path)
    assert found == 0 and again == results


EXPLAIN = """
import json, sys, numpy as np, jitrt
fast = jitrt.jit(lambda x: np.sqrt(x * 2 + 1))
fast(np.ones(9))
found = fast.explain(np.ones(9))
nests = [str(nest) for nest in found.loop_nests]
print(json.dumps([found.frame_bytes, str(found.graph), nests, list(dict(found.sections()))]))
"""


def test_a_program_from_the_disk_explains_itself(tmp_path):
    first = run(tmp_path, EXPLAIN)
    assert len(files(tmp_path)) == 1
    assert run(tmp_path, EXPLAIN) == first


def graph(literal=1.5, shape=(3,), op=np.add, dtype="f8"):
    x = b.input_node(0, ArrayType(np.dtype(dtype), shape))
    return Graph((x,), (b.elementwise(op, x, b.constant(literal)),))


def test_graphs_that_differ_have_other_contents():
    ones = np.ones(3)
    graphs = [graph(), graph(0.0), graph(-0.0), graph(np.float64(0)), graph(0), graph(False), graph(np.nan)]
    graphs += [graph(shape=(4,)), graph(op=np.subtract), graph(dtype="f4"), graph(ones), graph(ones.astype("f4"))]
    graphs += [graph(np.arange(100.0), (100,)), graph(np.arange(100.0)[::-1], (100,))]
    graphs += [graph(0j), graph(complex(0.0, -0.0))]
    assert len({content(g) for g in graphs}) == len(graphs)
    long = [graph(np.arange(1000.0), (1000,)) for _ in range(2)]
    assert content(long[0]) == content(long[1])  # other objects, the same elements


def test_what_means_nothing_elsewhere_has_no_content():
    with pytest.raises(NotPortable):
        content(graph(np.ones(200_000), (200_000,)))
    x = b.input_node(0, ArrayType(np.dtype("f8"), (3,)))
    with pytest.raises(NotPortable):
        content(Graph((x,), (Node(OPS["negative"], (x,), b.params(how=test_images_survive_as_bytes), x.type),)))


def called(function, is_effect=False):
    x = b.input_node(0, ArrayType(np.dtype("f8"), (3,)))
    node = call(Call(function, lambda values: (tuple(values), {}), "a function", "a line", is_effect), (x,))
    return Graph((x,), (call_result(node, (), x.type),))


def test_calls_are_told_apart_by_what_programs_depend_on():
    """Which function is called is not among it: a program calls what the trace has recorded."""

    def fresh(x):
        return x + 1

    declared = content(called(jitrt.non_aliasing(fresh)))
    assert declared == content(called(np.sort)) != content(called(lambda x: x[:]))
    assert content(called(lambda x: x)) == content(called(lambda x: x[:]))
    assert content(called(fresh)) != content(called(fresh, is_effect=True))


def test_a_program_calls_the_function_of_its_own_trace():
    def negated(x):
        return -x

    def doubled(x):
        return x + x

    x = np.arange(6.0).reshape(2, 3)
    for inner in (negated, doubled, negated):
        fast = jitrt.jit(lambda x, inner=inner: np.apply_along_axis(inner, 0, x * 3) + 1)
        np.testing.assert_array_equal(fast(x), np.apply_along_axis(inner, 0, x * 3) + 1)
    first, second = (jitrt.jit(lambda x, f=f: f(x * 3)).explain(x).compiled for f in (np.sort, np.linalg.pinv))
    assert first.program.hosts is not second.program.hosts


PLAIN = """
import json, sys, numpy as np, jitrt
fast = jitrt.jit(lambda x: np.sort(x))
fast(np.ones(3))
compiler = "numba" in sys.modules
print(json.dumps([fast.explain(np.ones(3)).plain_reason, compiler]))
"""


def test_that_a_function_runs_plain_is_known_too(tmp_path):
    first, compiler = run(tmp_path, PLAIN, JITRT_STRICT="0")
    assert "NumPy does most of it" in first and compiler
    assert run(tmp_path, PLAIN, JITRT_STRICT="0") == [first, False]


def test_keys_differ_where_programs_do(monkeypatch):
    x, y = np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))
    made = graph(shape=(3, 4))
    keys = [
        programs._key(made, [x], (), {}),
        programs._key(made, [y], (), {}),
        programs._key(made, [x], (0,), {}),
        programs._key(made, [x], (), {0: 0}),
    ]
    monkeypatch.setenv("JITRT_STRICT", "0")
    keys.append(programs._key(made, [x], (), {}))
    assert None not in keys and len({*keys}) == len(keys)
    monkeypatch.setenv("JITRT_DEBUG", "1")
    assert programs._key(made, [x], (), {}) is None


@pytest.mark.parametrize("function", [lambda x: x * np.arange(5.0), lambda x: (np.exp(x), x.sum(), x[1:] * 2)])
def test_images_survive_as_bytes(function):
    image = jitrt.jit(function).explain(np.ones(5)).compiled.program.image
    data = dumps(image)
    again = loads(data)
    for name in type(image).__match_args__:
        if name not in ("actions", "constants"):
            assert getattr(again, name) == getattr(image, name)
    pairs = [*zip(image.constants, again.constants, strict=True)]
    for table, other in zip(image.actions, again.actions, strict=True):
        pairs += [(getattr(table, name), getattr(other, name)) for name in Table.__match_args__]
    for array, other in pairs:
        assert array.dtype == other.dtype and array.shape == other.shape and array.tobytes() == other.tobytes()
        assert other.flags.aligned and other.flags.c_contiguous
    for wrong in (data[:-8], data + bytes(8), data[8:], b""):
        with pytest.raises(Exception):  # noqa: B017  (whatever the bytes lead to)
            loads(wrong)


@pytest.mark.parametrize("other", [os.system, subprocess.Popen, print, np.load, eval])
def test_bytes_name_nothing_that_does_something(other):
    with pytest.raises(pickle.UnpicklingError):
        loads(dumps(other))


def test_programs_with_large_constants_are_not_kept_in_memory():
    before = len(programs._known)
    made = jitrt.jit(lambda x: x * np.arange(5000.0)).explain(np.ones(5000)).compiled
    assert sum(c.nbytes for c in made.program.image.constants) >= 40_000 and len(programs._known) <= before


def test_what_is_kept_in_memory_is_bounded(without_templates, monkeypatch):
    monkeypatch.setattr(programs, "_MOST_KNOWN", 3)
    monkeypatch.setattr(programs, "_known", {})
    fast = jitrt.jit(lambda x: x * 1.25 + 7)
    for n in range(2, 8):
        np.testing.assert_array_equal(fast(np.ones(n)), 8.25)
    assert len(programs._known) == 3


def test_equal_functions_share_a_program():
    first, second = (jitrt.jit(lambda x: x * 31.0 - 2).explain(np.ones(6)).compiled for _ in range(2))
    assert first.program.image is second.program.image


IMPORTS = """
import json, sys, numpy as np

def imported():
    return [name in sys.modules for name in ("jitrt.frontend.trace", "jitrt.pipeline", "jitrt.codegen.emit", "numba")]

import jitrt
seen = [imported()]
fast = jitrt.jit(lambda x: np.tanh(x) * 2 + 1)
seen.append(imported())
assert np.allclose(fast(np.ones(9)), np.tanh(1) * 2 + 1)
seen.append(imported())
print(json.dumps(seen))
"""


def test_the_compiler_is_imported_where_something_has_to_be_compiled(tmp_path):
    """No call of a function that no process has called waits for it; otherwise only a miss needs it."""
    assert run(tmp_path, IMPORTS) == [[False] * 4, [True] * 4, [True] * 4]
    assert run(tmp_path, IMPORTS) == [[False] * 4, [True, False, False, False], [True, False, False, False]]
    assert run("", IMPORTS) == [[False] * 4, [True] * 4, [True] * 4]
    other = IMPORTS.replace("* 2 + 1", "* 3 + 1")
    assert run(tmp_path, other)[1] == [True] * 4
    assert run(tmp_path, other)[1] == [True, False, False, False]


MISS = """
import json, sys, numpy as np, jitrt
fast = jitrt.jit(lambda x: np.tanh(x) * 3 + 1)
seen = ["numba" in sys.modules]
for n in (N, 5):
    fast(np.ones(n, DTYPE))
    seen.append("numba" in sys.modules)
print(json.dumps(seen))
"""


def test_a_known_function_with_arguments_of_another_dtype_is_compiled(tmp_path):
    miss = MISS.replace("DTYPE", "np.float64")
    assert run(tmp_path, miss.replace("N", "9")) == [True, True, True]
    assert run(tmp_path, miss.replace("N", "8")) == [False, False, False]
    other = MISS.replace("DTYPE", "np.float32")
    assert run(tmp_path, other.replace("N", "9")) == [False, True, True]
    assert run(tmp_path, other.replace("N", "9")) == [False, False, False]


def test_numbas_options_are_in_the_fingerprint(tmp_path):
    """They change the code that is made, and are read without numba."""
    run(tmp_path, IMPORTS)
    run(tmp_path, IMPORTS, NUMBA_ENABLE_AVX="0")
    assert len({path.parent for path in files(tmp_path)}) == 2
