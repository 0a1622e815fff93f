"""What type checkers make of a user's code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).parents[1]
USER = """
from typing import assert_type

import numpy as np
import numpy.typing as npt

import jitrt

Array = npt.NDArray[np.float64]


@jitrt.jit
def scaled(a: Array, by: float = 2.0) -> Array:
    return a * by


@jitrt.jit(threads=1, donate=("a",))
def total(a: Array) -> float:
    return float(a.sum())


class Model:
    u: Array

    @jitrt.jit
    def step(self, dt: float) -> Array:
        return self.u * dt


x: Array = np.ones(3)
assert_type(scaled(x, by=3.0), Array)
assert_type(scaled.__wrapped__(x), Array)
assert_type(total(x), float)
assert_type(Model().step(0.5), Array)
assert_type(Model.step(Model(), 0.5), Array)
assert_type(scaled.explain(x), jitrt.Explanation)
assert_type(jitrt.fori_loop(0, 3, lambda i, s: s + i, 0.0), float)
"""
MISTAKES = """
scaled("x")
scaled(x, to=3.0)
Model().step()
jitrt.jti(total)
"""


def _mypy(folder, text):
    """What mypy prints about the file of that text, line by line, without its summary."""
    (folder / "user.py").write_text(text, encoding="utf-8")
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(folder.parent / "known")]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, "user.py"]
    shown = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert not shown.stderr, shown.stderr
    return [line for line in shown.stdout.splitlines() if ": error:" in line]


def test_compiled_functions_have_the_types_of_the_plain_ones(tmp_path):
    assert _mypy(tmp_path, USER) == []


def test_wrong_arguments_and_names_are_found(tmp_path):
    found = _mypy(tmp_path, USER + MISTAKES)
    codes = [line.rpartition("[")[2].rstrip("]") for line in found]
    assert codes == ["arg-type", "call-arg", "call-arg", "attr-defined"], found
