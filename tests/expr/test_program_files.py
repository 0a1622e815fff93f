"""Programs that are written to files, and loaded by processes without a compiler."""

import os
import subprocess
import sys
import zipfile

import numba
import numpy as np
import pytest

from jitrt import expr


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def _model():
    x, w = expr.leaf("x", "f8", shape=(None, 3)), expr.literal(np.array([1.0, 2.0, 3.0]))
    score = expr.name(np.tanh(x @ w) * 3.25, "score")
    return expr.compile({"mean": score.mean(), "scaled": expr.where_present(score > 0, score)}, ["score"])


def test_another_process_runs_it_without_the_compiler(cached):
    x = np.random.default_rng(0).normal(size=(50, 3))
    expr.save(_model(), cached / "model.zip", (x,))
    np.save(cached / "x.npy", x)
    code = (
        "import sys, numpy as np\nfrom jitrt import expr\n"
        f"program = expr.load({str(cached / 'model.zip')!r})\n"
        f"found = program(np.load({str(cached / 'x.npy')!r}))\n"
        "print(repr(float(found['mean'])), program.plain_reason, 'numba' in sys.modules, program.inputs)"
    )
    environment = os.environ | {"JITRT_CACHE_DIR": str(cached / "another")}
    ready = "import jitrt; jitrt.warm_up(); jitrt.jit(lambda x: x + 1)(2.0)"  # the driver
    subprocess.run([sys.executable, "-c", ready], env=environment, check=True)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert shown.returncode == 0, shown.stderr
    mean = _model()(x)["mean"]
    assert shown.stdout.strip() == f"{float(mean)!r}  False ('x',)"


def test_a_program_is_restored_with_its_outputs(cached):
    x = np.random.default_rng(0).normal(size=(5, 3))
    program = _model()
    expr.save(program, cached / "model.zip", (x,))
    again = expr.load(cached / "model.zip")
    assert again.outputs["mean"] is program.outputs["mean"] and again.side_outputs == program.side_outputs
    np.testing.assert_array_equal(again.run(x=x)["scaled"].mask, program.run(x=x)["scaled"].mask)
    np.testing.assert_array_equal(again.with_side_outputs(x)[1]["score"], program.with_side_outputs(x)[1]["score"])


def test_what_is_not_compiled_is_not_written(cached, monkeypatch):
    open_ = expr.compile(expr.leaf("x") + 1)
    expr.save(open_, cached / "open.zip")  # without examples there is no machine code
    assert expr.load(cached / "open.zip")(1.0) == 2.0
    with pytest.raises(ValueError, match="plain NumPy"):
        expr.save(open_, cached / "plain.zip", (np.array([1, "a"], object)[:1],))
    monkeypatch.setenv("JITRT_CACHE_DIR", "")
    with pytest.raises(ValueError, match="disk cache"):
        expr.save(open_, cached / "none.zip", (1.0,))


@pytest.mark.parametrize("data", [b"", b"junk" * 100, b"PK\x05\x06" + bytes(18)], ids=["empty", "junk", "archive"])
def test_other_files_are_no_programs(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match="is no program"):
        expr.load(tmp_path / "file")


def _in_another_process(path, code):
    ready = f"import numpy as np\nfrom jitrt import expr\nprogram = expr.load({str(path)!r})\n"
    shown = subprocess.run([sys.executable, "-c", ready + code], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or shown.stderr.strip().splitlines()[-1]


@expr.operator
def squared(v):
    return v * v


def test_operators_are_written_as_what_they_are_made_of(cached):
    x = expr.leaf("x", "f8", shape=(3,))
    expr.save(expr.compile({"y": squared(x) + squared(squared(x))}), cached / "model.zip")
    assert (
        _in_another_process(cached / "model.zip", "print(program(np.arange(3.0))['y'].tolist())") == "[0.0, 2.0, 20.0]"
    )

    @expr.operator
    @numba.vectorize
    def clamped(x, limit):
        return limit if x > limit else x

    expr.save(expr.compile(clamped(x, 1.0)), cached / "other.zip")
    assert "needs an operation of yours" in _in_another_process(cached / "other.zip", "")


def test_outputs_keep_their_names(cached):
    x = expr.leaf("x", "f8", ndim=0)
    names = [1, "1", (2, "a"), 1.5, None, True, "{o0}"]
    program = expr.compile({name: x + k for k, name in enumerate(names[:-2])} | {"{o0}": x})
    expr.save(program, cached / "model.zip")
    assert expr.load(cached / "model.zip")(1.0) == program(1.0)
    with pytest.raises(TypeError, match="is no name"):
        expr.save(expr.compile({frozenset({1}): x}), cached / "model.zip")


@pytest.mark.parametrize("size", [9_000, 40_000])
def test_programs_have_many_weights(cached, size):
    x = expr.leaf("x", "f8", shape=(size,))
    expr.save(expr.compile(x * np.arange(float(size))), cached / "model.zip")
    with zipfile.ZipFile(cached / "model.zip") as archive:
        assert any(name.endswith(".program") for name in archive.namelist())
    code = f"print(program(np.ones({size})).sum(), repr(program.plain_reason))"
    assert _in_another_process(cached / "model.zip", code) == f"{np.arange(float(size)).sum()} ''"


def test_what_has_no_machine_code_is_written_without(cached):
    v, given = expr.leaf("v", "f8", shape=(150_000,)), np.ones(150_000)
    program = expr.compile(v * np.arange(150_000.0))
    expr.save(program, cached / "model.zip")
    np.testing.assert_array_equal(expr.load(cached / "model.zip")(given), program(given))
    with pytest.raises(ValueError, match="constants are too large"):
        expr.save(program, cached / "model.zip", (given,))
