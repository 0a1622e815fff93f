"""Each function is copied once for a trace, however many others name it."""

import types

import numpy as np
import pytest

import jitrt
from jitrt.frontend.python.clones import Clones


@pytest.fixture
def module():
    """Sixteen functions, each of which names all others."""
    count = 16
    text = "import math\nimport struct\n"
    for k in range(count):
        others = " + ".join(f"f{j}(x, n - 1)" for j in range(count) if j != k)
        text += f"def f{k}(x, n):\n    return x * math.pi + struct.calcsize('d') if n == 0 else {others}\n"
    made = types.ModuleType("mutual")
    exec(text, vars(made))
    return made


def test_functions_that_name_each_other(module, monkeypatch):
    copied = []
    fill = Clones._fill_function

    def counted(self, made, f):
        copied.append(f)
        return fill(self, made, f)

    monkeypatch.setattr(Clones, "_fill_function", counted)
    fast, x = jitrt.jit(module.f0), np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(fast(x, 1), module.f0(x, 1), rtol=1e-15)
    assert not any("mutual" in f.__module__ and f.__globals__ is not vars(module) for f in copied)
    assert len({f.__name__ for f in copied}) == 16 and len(copied) <= 32  # the trace may be made twice
