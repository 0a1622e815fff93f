"""The command line."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jitrt
from jitrt.__main__ import main


def test_cache_is_shown_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    jitrt.jit(lambda a: a * 3 - 7 / (a + 11))(np.ones(3))
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path) in shown and f"modules    {len(list(tmp_path.glob('*/*.module')))}" in shown
    assert list(tmp_path.glob("*/*.module"))
    assert main(["cache", "--clear"]) == 0
    assert "modules    0" in capsys.readouterr().out
    assert not list(tmp_path.glob("*/*.module"))


def test_functions_with_loops_are_counted(tmp_path, monkeypatch, capsys):
    def recursion(x):
        total = 0.0
        for k in range(len(x)):
            total = 0.5 * total + x[k]
        return total

    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    jitrt.jit(recursion)(np.ones(1000))
    assert main(["cache"]) == 0
    kept = len(list(tmp_path.glob("*/*.staged")))
    assert kept and f"procedures {kept}\n" in capsys.readouterr().out


def test_help_and_unknown_commands(capsys):
    with pytest.raises(SystemExit) as outcome:
        main(["--help"])
    assert outcome.value.code == 0 and "explain" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["unknown"])


@pytest.mark.skipif(os.name != "posix", reason="pipes of Unix")
@pytest.mark.parametrize("options", [["cache"], ["cache", "--clear"]], ids=str)
def test_output_that_nobody_reads(tmp_path, options):
    """What reads it may be gone before anything is written, as ``head`` after its last line."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "jitrt", *options]
    environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(write)
    assert not done.stderr and done.returncode == 141


def test_why_a_cache_is_not_used_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    assert main(["cache", "--clear"]) == 0
    assert "not used" in capsys.readouterr().out


def test_versions_and_settings_are_shown(capsys, monkeypatch):
    monkeypatch.setenv("JITRT_LOG", "trace")
    assert main(["info"]) == 0
    shown = capsys.readouterr().out
    for name in ("jitrt", "Python", "numba", "processor", "threads", "cache directory", "JITRT_LOG"):
        assert any(line.startswith(name) for line in shown.splitlines())
    with pytest.raises(SystemExit) as outcome:
        main(["--version"])
    assert outcome.value.code == 0 and capsys.readouterr().out == f"jitrt {jitrt.__version__}\n"


def test_a_function_is_explained_by_its_name(tmp_path, monkeypatch, capsys):
    (tmp_path / "curves.py").write_text(
        "import numpy as np\nclass Curve:\n    @staticmethod\n    def length(p, scale=1.0):\n"
        "        return scale * np.sqrt((np.diff(p, axis=0) ** 2).sum(axis=1)).sum()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "curves:Curve.length", "f8[100, 3]", "2.5"]) == 0
    assert capsys.readouterr().out.startswith("length is compiled: ")
    assert main(["explain", "--full", "curves:Curve.length", "f4[8,2]"]) == 0
    assert "graph after trace" in capsys.readouterr().out
    assert main(["explain", "curves:Curve.length", "f8[3]"]) == 2
    assert "length raises AxisError" in capsys.readouterr().err
    for wrong in (["none_there:f"], ["curves:f"], ["curves:Curve.length", "f8[a]"], ["curves:Curve.length", "q9[3]"]):
        with pytest.raises(SystemExit):
            main(["explain", *wrong])
