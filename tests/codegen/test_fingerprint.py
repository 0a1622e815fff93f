"""What separates entries of the disk cache: processors, versions and options, and the dtypes of kernels."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import jitrt
from jitrt.codegen import fingerprint
from jitrt.codegen.kernels import structural_key


def fresh():
    """The fingerprint that a new process would have."""
    return fingerprint.fingerprint._function()


def with_features(monkeypatch, **chosen):
    """Another processor, which has some features more or less."""
    features = fingerprint.llvm.get_host_cpu_features()
    monkeypatch.setattr(fingerprint.llvm, "get_host_cpu_features", lambda: type(features)({**features, **chosen}))


@pytest.mark.parametrize("number", [0, 7, -1])
def test_a_feature_of_the_processor(monkeypatch, number):
    features = fingerprint.llvm.get_host_cpu_features()
    if not features:
        pytest.skip("LLVM does not tell the features of this processor")
    name = sorted(features)[number]
    known = fresh()
    with_features(monkeypatch, **{name: not features[name]})
    assert fresh() != known
    with_features(monkeypatch, **{name: features[name]})
    assert fresh() == known == fingerprint.fingerprint()


@pytest.mark.parametrize("what", ["get_process_triple", "get_host_cpu_name"])
def test_another_processor(monkeypatch, what):
    known = fresh()
    monkeypatch.setattr(fingerprint.llvm, what, lambda: "another")
    assert fresh() != known


def test_versions_and_options(monkeypatch, tmp_path):
    """Each of them is told from all others."""
    found = {fresh()}
    for owner, name, value in [
        (fingerprint.llvmlite, "__version__", "0.1"),
        (sys.implementation, "cache_tag", "cpython-399"),
        (sys, "byteorder", "middle"),
    ]:
        with monkeypatch.context() as patches:
            patches.setattr(owner, name, value)
            found.add(fresh())
    for option in fingerprint._NUMBA_OPTIONS:
        with monkeypatch.context() as patches:
            patches.setenv(option, "another")
            found.add(fresh())
    with monkeypatch.context() as patches:
        patches.chdir(tmp_path)
        (tmp_path / ".numba_config.yaml").write_text("enable_avx: 0")
        found.add(fresh())
    assert len(found) == 5 + len(fingerprint._NUMBA_OPTIONS)


@pytest.mark.parametrize("option", ["CPU_NAME", "CPU_FEATURES"])
def test_what_a_program_tells_numba(monkeypatch, option):
    import numba

    known = fresh()
    monkeypatch.setattr(numba.config, option, "another")
    assert fresh() != known


def test_the_text_of_a_module(monkeypatch):
    known, modules = fresh(), fingerprint._modules()
    for name in ("codegen/emit.py", "kernels/vmath_exp.py", "schedule/loopnest.py"):
        assert name in modules
        monkeypatch.setattr(fingerprint, "_modules", lambda name=name: {**modules, name: "another"})
        assert fresh() != known


def test_numpys_version_is_that_of_programs(monkeypatch):
    known = fingerprint.sources()
    monkeypatch.setattr(fingerprint.np, "__version__", "9.9")
    assert fingerprint.sources._function() != known


TYPES = "".join(np.dtype(t).char for t in ("?", "b", "B", "h", "H", "i", "I", "i8", "u8", "f", "d", "F", "D"))
PROGRAM = """
import sys
import numpy as np
import jitrt
from jitrt.codegen import cache

def function(x, y):
    return x + y * y

jitted = jitrt.jit(function)
for char in sys.argv[1]:
    x, y = (np.arange(k, k + 40).astype(char) for k in (3, 200))
    got, want = jitted(x, y), function(x, y)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), char
print(len(cache._loaded))
"""


def run(directory, types, **options):
    """Run the function on arrays of these dtypes in a new process, and see how many modules come from the cache."""
    settings = dict(os.environ, JITRT_CACHE_DIR=str(directory), JITRT_STRICT="1", **options)
    command = [sys.executable, "-c", PROGRAM, types]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_processor_with_fewer_features_has_code_of_its_own(tmp_path):
    run(tmp_path, "df")
    assert run(tmp_path, "df", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == 0
    assert run(tmp_path, "df", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") > 0
    assert run(tmp_path, "df") > 0
    assert len(list(tmp_path.glob("*/CACHEDIR.TAG"))) == 2


def nests(function, *args):
    return [structural_key(kernel.nest) for kernel in jitrt.jit(function).explain(*args).kernels]


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x, y: x + y * y, id="arithmetic"),
        pytest.param(lambda x, y: x > y, id="comparison"),
        pytest.param(lambda x, y: x.max(), id="maximum"),
        pytest.param(lambda x, y: np.where(x > y, x, y), id="choice"),
    ],
)
def test_kernels_that_differ_in_a_dtype_are_two(function):
    """Also where dtypes have the same size; of two operands, either may be the first one of a kernel."""
    known = {}
    for left, right in itertools.combinations_with_replacement(TYPES[1:11], 2):
        x, y = np.ones(40, left), np.ones(40, right)
        for text in nests(function, x, y):
            used = {np.dtype(left), np.dtype(right)} if function(x, y).ndim else {np.dtype(left)}
            assert known.setdefault(text, used) == used


def test_kernels_of_other_dtypes_come_from_the_disk_cache(tmp_path):
    """One function, each dtype; and then once more, in another order, from the cache."""
    assert run(tmp_path, TYPES) == 0
    assert run(tmp_path, TYPES[::-1]) > len(TYPES)
