"""Machine code of kernels that work in place: vectors without overlap checks, and NumPy's results at every size."""

import numpy as np
import pytest

import jitrt


def chain(x):
    """NumPy sorts what kernels have stored, so that it is in memory when it is needed again, for the last time."""
    t = x * 2
    u = np.sort(t)
    return t * t + 1 - u, u + 3


def rows(x):
    t = np.sort(x, axis=-1) * 2
    s = np.sort(t, axis=-1)  # keeps `t` in memory
    e = t - t.max(axis=-1, keepdims=True)
    return e / (1 + abs(e).sum(axis=-1, keepdims=True)) + s


def shifted(x):
    """Reads its own memory at other positions, so it is not in place."""
    t = np.sort(x, axis=-1) * 2
    s = np.sort(t, axis=-1)
    t[..., 1:-1] = t[..., 2:] - t[..., :-2]
    return t + s


def updated(x):
    t = np.sort(x, axis=-1) * 2
    s = np.sort(t, axis=-1)
    t[..., ::2] += 5
    t[..., 1:3] = 7
    t *= t
    return t, s


def assembled(x):
    t = np.sort(x, axis=-1)
    return np.concatenate([t * 2, np.cumsum(t, axis=-1), t + 1], axis=-1)


FUNCTIONS = {f.__name__: f for f in (chain, rows, shifted, updated, assembled)}


@pytest.mark.wide
@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(name, dtype):
    function = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    for shape in ((3,), (17,), (1000,), (7, 33), (300, 1000), (1, 300_000)):
        x = (rng.random(shape) * 100).astype(dtype)
        compiled = jitrt.jit(function)
        assert not compiled.explain(x).plain_reason
        for _ in range(2):
            got, want = compiled(x), function(x)
            for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want))):
                assert g.dtype == w.dtype
                rtol = 1e-3 if dtype == "f4" else 1e-9
                np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * np.max(np.abs(w)))


def in_place(function, x):
    """Kernels that read what they overwrite."""
    found = jitrt.jit(function).explain(x)
    over = {d.node for d in found.compiled.decisions if d.over}
    return [
        s.kernel
        for s in found.compiled.program.kernel_steps()
        if any(
            layout.base in over and o.name.startswith("y") for o, layout in zip(s.call.nest.operands, s.call.layouts)
        )
    ]


@pytest.mark.parametrize(("name", "shape"), [("chain", (100_000,)), ("updated", (10_000,))])
def test_vectors_without_overlap_checks(name, shape):
    kernels = in_place(FUNCTIONS[name], np.ones(shape))
    assert kernels
    for kernel in kernels:
        if "scan" not in str(kernel.nest):
            assert " x double>" in kernel.llvm, kernel.nest
            assert "memcheck" not in kernel.llvm, kernel.nest


def test_explain_says_what_is_in_place_and_why_not():
    text = dict(jitrt.jit(chain).explain(np.ones(1000)).sections())["in place"]
    lines = text.splitlines()
    assert lines[0] == "step 0: multiply f8[1000] in memory of its own: input 0 belongs to the caller"
    assert lines[1] == "step 2: add f8[1000] in place of multiply f8[1000]"
    assert "multiply f8[1000] shares its memory with add f8[1000], which is a result" in lines[2]
    assert "result f8[1000] is an array that NumPy made" in lines[2]
