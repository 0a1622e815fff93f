"""Folds of columns and what uses them: turns of columns where rows are few and long, whole rows elsewhere."""

import numpy as np
import pytest
from covering import few

import jitrt


def centred(x):
    return x - x.mean(axis=0)


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def scaled(x):
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / (high - low + 1), high


def shares(x):
    y = np.exp(x)
    return y / y.sum(axis=0)


def weighted(x, w):
    return x * w - (x * w).mean(axis=0)


def softmax_of_centred(x):
    y = x - x.mean(axis=0)
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def values(*shape, dtype="f8"):
    return (np.random.default_rng(1).random(shape) * 9).astype(dtype)


def explained(function, *args):
    """The explanation, once results are NumPy's and do not depend on threads."""
    compiled = [jitrt.jit(function, threads=n) for n in (1, 2, 3)]
    want, got = function(*args), [f(*args) for f in compiled]
    for result in got:
        for w, g, first in zip(*(v if isinstance(v, tuple) else (v,) for v in (want, result, got[0])), strict=True):
            assert w.dtype == g.dtype and w.shape == g.shape
            tolerance = 2e-5 if w.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
            assert g.tobytes() == first.tobytes()
    return compiled[0].explain(*args)


@pytest.mark.wide
@pytest.mark.parametrize("function", [centred, standardised, scaled])
@pytest.mark.parametrize(
    "x",
    [
        values(100, 30_000),
        values(20, 30_000),
        values(3, 200_000),
        values(60, 90, 360),
        values(2, 9, 40_000)[1],
        values(100, 30_000, dtype="f4"),
        values(100, 30_000, dtype="i4"),
        values(40, 60_000)[::-1],
        values(40, 60_001)[:, 1:],
    ],
    ids=["wide", "few", "3 rows", "three axes", "part", "f4", "i4", "reversed", "unaligned"],
)
def test_few_long_rows_are_read_once(function, x):
    explanation = explained(function, x)
    assert len(explanation.kernels) == 1
    (nest,) = explanation.loop_nests
    assert sum("of block" in line for line in str(nest).splitlines()) >= 3


def test_columns_of_a_turn(golden):
    explanation = explained(standardised, values(100, 30_000))
    golden("schedule/standardised_in_turns", str(explanation.loop_nests[0]))
    assert explanation.frame_bytes == 0


@pytest.mark.parametrize("shape", [(1000, 1000), (5000, 300), (300, 3000), (100, 500)])
def test_many_rows_stay_whole(shape):
    """Short pieces of many rows take longer to fetch than all of them once more."""
    explanation = explained(standardised, values(*shape))
    assert len(explanation.kernels) > 1
    assert "is stored on its own" in explanation.text()


def test_rows_that_are_written_and_read_again_stay_whole():
    explanation = explained(shares, values(100, 30_000))
    assert len(explanation.kernels) > 1
    assert "MB written" in explanation.text() and "additions" in explanation.text()


def test_what_is_read_once_stays_whole():
    assert len(explained(lambda x, y: y - x.mean(axis=0), values(100, 30_000), values(100, 30_000)).kernels) > 1


def test_several_arrays():
    assert len(explained(weighted, values(50, 40_000), values(50, 40_000)).kernels) == 1
    assert len(explained(weighted, values(50, 40_000), values(40_000)).kernels) == 1


def test_rows_that_are_folded_as_well_keep_their_loop():
    explanation = explained(softmax_of_centred, values(50, 20_000))
    assert "exp" in str(explanation.loop_nests[-1]) and "divide" in str(explanation.loop_nests[-1])


def test_extremes_of_few_rows_are_numpys_to_the_bit():
    x = values(100, 30_000)
    x[3, 7], x[5, 9] = np.nan, -0.0
    for got, want in zip(jitrt.jit(scaled)(x), scaled(x), strict=True):
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("seed", few(range(16), 5))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    shape = [(3, 70_000), (40, 20_000), (100, 9000), (250, 8200), (260, 8200), (8, 5, 9000), (6, 30, 500)][
        rng.integers(7)
    ]
    x = (rng.normal(size=shape) * 3).astype(rng.choice(["f8", "f8", "f4"]))
    if rng.random() < 0.2:
        x = np.asfortranarray(x)
    names, lines = ["x"], []
    folds = (
        "{a}.mean(axis=0)",
        "{a}.max(axis=0)",
        "({a} * {b}).sum(axis=0)",
        "{a}.std(axis=0)",
        "abs({a}).min(axis=0)",
    )
    uses = (
        "{a} - {b}",
        "{a} * 0.5 + {b}",
        "np.maximum({a}, {b})",
        "np.where({a} > {b}, {a}, 1.0)",
        "np.sqrt(abs({a}))",
    )
    for k in range(rng.integers(2, 8)):
        form = str(rng.choice(folds if rng.random() < 0.4 else uses))
        whole = [n for n in names if n[0] == "x"]
        a = str(rng.choice(whole)) if form in folds else str(rng.choice(names))
        same = [n for n in names if form not in folds or n[0] == "x"]
        expression = form.format(a=a, b=str(rng.choice(same)))
        is_whole = form not in folds and "x" in expression.replace("max", "")
        names.append(("x" if is_whole else "c") + str(k))
        lines.append(f"    {names[-1]} = {expression}\n")
    source = f"def f(x):\n{''.join(lines)}    return ({names[-1]}, {rng.choice(names[1:])})\n"
    namespace = {"np": np}
    exec(source, namespace)
    explained(namespace["f"], x)
