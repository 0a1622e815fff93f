"""Calls for which an allocation fails: MemoryError or the right result, and the next call is right."""

import subprocess
import sys

import pytest

pytest.importorskip("_testcapi")

PROGRAM = """
import gc
from typing import NamedTuple
import _testcapi
import numpy as np
import jitrt

class Moments(NamedTuple):
    total: object
    mean: object
    largest: object

class Box:
    pass

def several(x, o):
    return x * 2, x.sum(), float(x.sum()), x + 1, x.max(), (x > 0).any()

def named(x, o):
    return Moments(x * 2, float(x.sum()), x.sum())

def keyed(x, o):
    return {"twice": x * 2, "sum": float(x.sum()), "largest": x.max()}

def listed(x, o):
    return [x * 2, float(x.sum()), x.sum()]

def stored(x, o):
    o.v, o.w = x * 2, float(x.sum())
    return x.sum()

def written(x, o):
    x *= 1.0
    return float(x.sum()), x.sum(), x * 2

def in_a_loop(x, o):
    y, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        y[i] = x[i] * 2
        total += x[i]
    return y, total, np.float64(total)

x = np.arange(3000.0) + 0.5
gc.disable()
for function in (several, named, keyed, listed, stored, written, in_a_loop):
    want, compiled = repr(function(x, Box())), jitrt.jit(function)
    for _ in range(12):
        compiled(x, Box())
    for first in range(9):
        box, raised = Box(), None
        compiled(x, box)
        numbers = [float(k) for k in range(300)]  # no memory of earlier ones is left
        _testcapi.set_nomemory(first, first + 1)
        try:
            found = compiled(x, box)
        except MemoryError as error:
            raised = error
        finally:
            _testcapi.remove_mem_hooks()
        assert raised is not None or repr(found) == want, (function, first, found)
        assert repr(compiled(x, box)) == want, (function, first)
"""


def test_an_allocation_that_fails():
    """Wherever it is: of outputs, of parts of a tuple, of what a class makes of them, of what is stored."""
    run = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
