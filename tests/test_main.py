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


def test_help_and_unknown_commands(capsys):
    with pytest.raises(SystemExit) as outcome:
        main(["--help"])
    assert outcome.value.code == 0 and "demo" in capsys.readouterr().out
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
