"""The disk cache: a second process compiles nothing, and whatever is wrong with the cache, results are right."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from covering import few

from jitrt.codegen import cache, cachefiles, fingerprint

PROGRAM = textwrap.dedent(
    """
    import logging, sys
    import numpy as np
    compiled = []
    class Handler(logging.Handler):
        def emit(self, record):
            compiled.append(record.getMessage())
    logging.getLogger("jitrt.codegen").addHandler(Handler())
    logging.getLogger("jitrt.codegen").setLevel(logging.DEBUG)
    import jitrt
    f = jitrt.jit(lambda a, b: (np.sqrt(a * b + 1.0), (a - b).sum(axis=0), np.exp(a).max()))
    g = jitrt.jit(lambda a, b: np.sqrt(a * b + 1.0) * 2)
    a, b = np.ones((50, 40)), np.arange(2000.0).reshape(50, 40)
    for got, want in zip(f(a, b), (np.sqrt(a * b + 1), (a - b).sum(axis=0), np.exp(1.0))):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    np.testing.assert_array_equal(g(a, b), np.sqrt(a * b + 1) * 2)
    print(len(compiled))
    """
)


ARITHMETIC = "import numpy as np, jitrt; print(jitrt.jit(lambda a, b: a * b + 1.0)(np.ones(3), np.ones(3)))"


def run(directory, program=PROGRAM, **env):
    """Number of modules that a fresh process compiles."""
    settings = dict(os.environ, JITRT_CACHE_DIR=str(directory), JITRT_STRICT="1", **env)
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def modules(directory):
    return sorted(directory.glob("*/*.module"))


def test_second_process_compiles_nothing(tmp_path):
    assert run(tmp_path) > 0
    assert run(tmp_path) == 0


def test_the_cache_is_read_without_numbas_code_generator(tmp_path):
    """Bare arithmetic asks numba for nothing, so nothing but the cache itself tells LLVM which machine this is."""
    for is_first in (True, False):
        settings = dict(os.environ, JITRT_CACHE_DIR=str(tmp_path), JITRT_STRICT="1", JITRT_LOG="codegen,cache")
        done = subprocess.run(
            [sys.executable, "-c", ARITHMETIC], env=settings, capture_output=True, text=True, timeout=120
        )
        assert done.stdout.split() == ["[2.", "2.", "2.]"]
        assert ("compiled" in done.stderr) is is_first and "is not used" not in done.stderr


def test_no_cache(tmp_path):
    assert run("") > 0
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that a process has filled, and how many modules that has compiled."""
    directory = tmp_path_factory.mktemp("filled")
    return directory, run(directory)


@pytest.mark.parametrize("damage", few(["flipped", "entries", "truncated", "empty"], 2))
def test_damaged_files_are_compiled_anew(filled, tmp_path, damage):
    directory, first = filled
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("*/*.program"):  # they would be found without entries
        path.unlink()
    for path in modules(tmp_path) if damage != "entries" else tmp_path.glob("*/*.entry"):
        data = bytearray(path.read_bytes())
        if damage == "truncated":
            del data[len(data) // 2 :]
        elif damage == "flipped":
            data[len(data) // 2] ^= 0x10
        else:
            data.clear()
        path.write_bytes(data)
    assert run(tmp_path) == first
    assert run(tmp_path) == 0


def test_unusable_directory(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    assert run(tmp_path / "file") > 0


def test_foreign_files_do_not_matter(tmp_path):
    run(tmp_path)
    folder = modules(tmp_path)[0].parent
    (folder / "garbage.module").write_bytes(b"?")
    (folder / ".writing-abandoned").write_bytes(b"?")
    assert run(tmp_path) == 0


def test_processes_race_on_an_empty_cache(tmp_path):
    settings = dict(os.environ, JITRT_CACHE_DIR=str(tmp_path), JITRT_STRICT="1")
    racing = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in racing:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    assert run(tmp_path) == 0


def test_cleaning_deletes_the_least_recently_used(tmp_path, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    names = [f"{k:032x}.module" for k in range(5)]
    for k, name in enumerate(names):
        cachefiles.write(name, bytes(68))
        os.utime(tmp_path / cachefiles.fingerprint() / name, (k, k))
    assert cachefiles.clean(250) == 300
    assert [p.name for p in modules(tmp_path)] == names[3:]
    assert cache.summary()["bytes"] == 200


def test_a_module_in_use_is_not_the_least_recently_used(tmp_path):
    run(tmp_path)
    for path in tmp_path.glob("*/*"):
        os.utime(path, (1, 1))
    assert run(tmp_path) == 0
    assert all(path.stat().st_mtime > 1 for path in modules(tmp_path))


def test_a_deleted_module_is_compiled_anew_without_complaint(tmp_path):
    first = run(tmp_path)
    for path in modules(tmp_path):
        path.unlink()
    assert run(tmp_path, JITRT_LOG="cache") == first
    assert run(tmp_path) == 0


def test_a_folder_whose_times_cannot_be_changed_serves(tmp_path):
    refusing = "import os\ndef refused(*args, **kwargs): raise PermissionError(1, 'refused')\nos.utime = refused\n"
    assert run(tmp_path) > 0
    assert run(tmp_path, program=refusing + PROGRAM) == 0


def test_the_fingerprint_does_not_need_numbas_file_of_versions(monkeypatch, tmp_path):
    known = fingerprint._numba()
    monkeypatch.setattr(fingerprint.importlib.util, "find_spec", lambda name: None)
    import numba

    assert fingerprint._numba() == [numba.__version__, *known[1:]]
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".numba_config.yaml").write_text("enable_avx: 0")
    assert fingerprint._numba() != known and "enable_avx" in fingerprint._numba()[-1]
