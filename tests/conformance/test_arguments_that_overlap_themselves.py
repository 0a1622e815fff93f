"""Arguments whose elements lie in the memory of others of their elements: what is written to one is seen in these."""

import itertools

import numpy as np
import pytest
from outcomes import outcome

import jitrt
from jitrt.values.memory import overlaps_itself

windows = np.lib.stride_tricks.sliding_window_view
strided = np.lib.stride_tricks.as_strided

# Views of a vector, by the elements that they take: the first three overlap themselves, the others do not.
VIEWS = {
    "windows": lambda base: windows(base, 5, writeable=True),
    "repeated rows": lambda base: strided(base, (4, base.size), (0, 8)),
    "reversed windows": lambda base: windows(base, 4, writeable=True)[::-1, ::-1],
    "windows of blocks": lambda base: windows(base, 6, writeable=True)[::4],
    "apart": lambda base: windows(base, 5, writeable=True)[::5],
    "columns": lambda base: strided(base[1:], (base.size // 3 - 1, 2), (24, 8)),
}
STATEMENTS = (
    "x *= x",
    "x[..., 1:] -= x[..., :-1]",
    "x[1:] += 2.0 * x[:-1]",
    "x[...] = x[::-1]",
    "x[0] = 7.0",
    "x[:, 1] = x[:, 0] + 1.0",
    "np.add(x, 1.0, out=x)",
    "x[x > 4.0] = 3.0",
    "x.sort(axis=0)",
    "x.fill(2.0)",
    "y = x.T; y[1] = y[0] * 2.0",
    "s = s + x.sum()",
    "s = s + x[1] * x[0]",
    "if x[0, 0] > 1.0: x[1] = x[0] + 1.0",
)


def program(statements, returned="s"):
    lines = [
        "import numpy as np",
        "def f(x):",
        "    s = 0.0",
        *(f"    {s}" for s in statements),
        f"    return {returned}",
    ]
    names = {}
    exec("\n".join(lines), names)
    return names["f"]


def programs():
    """One program for each statement, and for random sequences of them."""
    rng = np.random.default_rng(7)
    chosen = [[STATEMENTS[k] for k in rng.integers(len(STATEMENTS), size=3)] for _ in range(16)]
    return [[s] for s in STATEMENTS] + chosen


@pytest.mark.wide
@pytest.mark.parametrize("statements", programs(), ids=lambda s: " | ".join(s))
@pytest.mark.parametrize("strict", [True, False])
def test_like_numpy(statements, strict, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", str(int(strict)))
    plain = program(statements)
    for name, size in itertools.product(VIEWS, (40, 20_000 if strict else 41)):
        compiled = jitrt.jit(plain)
        for k in range(3):
            seen = []
            for f in (plain, compiled):
                base = np.arange(float(size)) % 6.0 + k
                seen.append(outcome(f, [VIEWS[name](base)], [base]))
            assert seen[0] == seen[1], name


def test_a_loop_over_elements():
    def smoothed(x):
        for i in range(1, x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = x[i, j] * 0.5 + x[i - 1, j]

    compiled = jitrt.jit(smoothed)
    for view in VIEWS.values():
        for _ in range(2):
            seen = []
            for f in (smoothed, compiled):
                base = np.arange(60.0) % 6.0
                seen.append(outcome(f, [view(base)], [base]))
            assert seen[0] == seen[1]


@pytest.mark.parametrize("name", ["apart", "columns"])
def test_what_does_not_overlap_itself_is_compiled(name):
    assert not jitrt.jit(program(STATEMENTS[:3])).explain(VIEWS[name](np.arange(60.0))).plain_reason


def test_what_is_only_read_is_compiled():
    compiled = jitrt.jit(lambda x: (x * 2.0).sum(axis=1))
    for name in VIEWS:
        assert not compiled.explain(VIEWS[name](np.arange(60.0))).plain_reason


def test_found_by_brute_force():
    """Where two elements share a byte this is seen; where none do, mostly."""
    rng = np.random.default_rng(3)
    needless = total = 0
    for _ in range(3000):
        shape = tuple(rng.integers(0, 5, size=rng.integers(1, 4)))
        strides = tuple(
            int(s) for s in rng.choice([-96, -32, -24, -8, -4, 0, 4, 8, 16, 24, 32, 40, 96, 160], len(shape))
        )
        array = strided(np.empty(1), shape, strides)
        first = [sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(*shape)]
        touched = [byte for start in first for byte in range(start, start + 8)]
        apart = len(set(touched)) == len(touched)
        assert overlaps_itself(array) or apart
        needless += apart and overlaps_itself(array)
        total += apart
    assert needless < total / 20
