"""A shape that no process has used is served by kernels of the disk cache, without what makes kernels."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from jitrt.codegen import cache, operations
from jitrt.ir.ops.optable import OPS, Kind

CALLS = textwrap.dedent(
    """
    import json, sys
    import numpy as np
    import jitrt
    seen = {}
    for name, (text, shapes) in json.loads(sys.argv[1]).items():
        scope = {"np": np}
        exec(text, scope)
        args = [np.random.default_rng(k).random(shape) for k, shape in enumerate(shapes)]
        expected = scope["f"](*[a.copy() for a in args])
        np.testing.assert_allclose(jitrt.jit(scope["f"])(*args), expected, rtol=1e-12, atol=1e-14)
        parts = ("numba", "jitrt.pipeline", "jitrt.codegen.scalar", "jitrt.kernels.vmath")
        seen[name] = [part for part in parts if part in sys.modules]
    print(json.dumps(seen))
    """
)


def chain(count):
    lines = [f"    t = (t {'+-*'[k % 3]} {'abcd'[k % 4]}) * 0.{k + 1}" for k in range(count)]
    return "\n".join(["def f(a, b, c, d):", "    t = a", *lines, "    return t"])


FUNCTIONS = {
    "two hundred operations": (chain(100), [[1000]] * 4, [[1500]] * 4),
    "mathematics": ("f = lambda x: np.exp(-x) * np.cos(x) + np.sqrt(np.abs(x)) ** 3", [[1000]], [[1500]]),
    "softmax": (
        "def f(x):\n    e = np.exp(x - x.max(axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)",
        [[30, 40]],
        [[50, 44]],
    ),
    "standardise": ("f = lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)", [[40, 30]], [[50, 33]]),
    "where": ("f = lambda x, y: np.where(x < y, x - y, y * 2).sum()", [[300], [300]], [[400], [400]]),
    "pairs": (
        "f = lambda a, b: np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))",
        [[20, 3], [30, 3]],
        [[25, 3], [35, 3]],
    ),
    "stencil": (
        "def f(u):\n"
        "    for _ in range(3):\n"
        "        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])\n"
        "    return u",
        [[30, 30]],
        [[35, 36]],
    ),
    "product": ("f = lambda x, w, b: np.maximum(x @ w + b, 0)", [[20, 16], [16, 8], [8]], [[30, 16], [16, 8], [8]]),
    "running sum": ("f = lambda x: np.cumsum(x * 2)[3:] / 4", [[100]], [[150]]),
    "NumPy's loop": ("f = lambda x: x.astype('f4') ** np.float32(2.5) + 1", [[100]], [[150]]),
}


def run(directory, which, names=tuple(FUNCTIONS)):
    """Which parts of the code generator a fresh process has imported after calls of these functions."""
    calls = {name: (FUNCTIONS[name][0], FUNCTIONS[name][which]) for name in names}
    settings = dict(os.environ, JITRT_CACHE_DIR=str(directory), JITRT_STRICT="1")
    command = [sys.executable, "-c", CALLS, json.dumps(calls)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_new_shapes_need_no_code_generator(tmp_path):
    assert all("numba" in seen for seen in run(tmp_path, 1).values())
    assert all(seen in ([], ["jitrt.pipeline"]) for seen in run(tmp_path, 2).values())
    assert run(tmp_path, 2) == {name: [] for name in FUNCTIONS}


@pytest.mark.parametrize("damage", ["deleted", "flipped"])
def test_a_lost_table_of_operations_is_made_anew(tmp_path, damage):
    name = "softmax"  # whose rows are in blocks, and made anew for another shape
    run(tmp_path, 1, [name])
    (table,) = tmp_path.glob("*/*.table")
    data = table.read_bytes()
    if damage == "deleted":
        table.unlink()
    else:
        table.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "numba" in run(tmp_path, 2, [name])[name]
    assert table.read_bytes() == data


def test_what_the_table_says_is_what_emitters_say(tmp_path, monkeypatch):
    """For every row and every loop of it: asked anew, and read back from the disk."""
    from jitrt.codegen.scalar import inline_emitter

    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(operations, "_known", dict)
    asked = [
        question
        for op in OPS.values()
        if op.is_everywhere and op.kind is Kind.ELEMENTWISE
        for question in questions(op)
    ]
    assert len(asked) > 500
    answers = [operations._is_inline.__wrapped__(*question) for question in asked]
    assert answers == [inline_emitter(*question) is not None for question in asked]
    assert 0.2 < np.mean(answers) < 0.9
    operations.keep_answers()
    read = cache.load_table(operations._TABLE)
    monkeypatch.setattr(operations, "_known", lambda: read)
    monkeypatch.setattr(operations, "_has_emitter", None)
    assert [operations._is_inline.__wrapped__(*question) for question in asked] == answers


def questions(op):
    """Every loop of an operation on dtypes that kernels know."""
    types = op.ufunc.types if op.ufunc is not None else ["dd->d", "d->d", "f->d", "?dd->d", "D->D", "l->d"]
    for loop in types:
        operands, _, result = loop.partition("->")
        if not {*operands, *result} & {*"eOgGqQSUVmMT"}:
            yield op, tuple(map(np.dtype, operands)), np.dtype(result)
