"""Random constants that are computed, moved, joined, written into and multiplied have NumPy's bits, or are wide."""

import numpy as np
import pytest
from covering import few

import jitrt

ROW, UNARY = 4, [np.negative, np.sqrt, np.abs, np.square, np.log1p]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.divide]
INDEX = [3, 0, 2, 2]


def _written(v, w, rows):
    made = np.zeros_like(v)
    made[...] = v
    made[rows] = w[rows]
    return made


STEPS = [
    *(lambda v, w, f=f: f(v) for f in UNARY),
    *(lambda v, w, f=f: f(v, w) for f in BINARY),
    lambda v, w: np.concatenate([v, w])[2:6],
    lambda v, w: np.concatenate([v, w], axis=1)[:, ::2],
    lambda v, w: np.pad(v, 1, constant_values=1.5)[:ROW, 1:-1] + w,
    lambda v, w: v[INDEX] * w,
    lambda v, w: np.take(v, INDEX, axis=1),
    lambda v, w: np.where(w > 1.2, v, w),
    lambda v, w: _written(v, w, slice(1, 3)),
    lambda v, w: v @ w,
    lambda v, w: np.einsum("ij,kj->ik", v, w),
    lambda v, w: v - w.sum(axis=0) * 0.25,
    lambda v, w: w.T.reshape(ROW, ROW)[::-1] + v,
    lambda v, w: np.stack([v, w]).max(axis=0),
    lambda v, w: np.roll(v, 1, axis=1) / w,
]
ROUNDED = [  # of which NumPy makes what it gives, in the dtype that it has
    lambda v, w: _written(v, w, INDEX[:2]),
    lambda v, w: np.sort(v, axis=1) + w,
]


def _chain(rng, steps):
    """Ten of these steps that warn of nothing, and the matrices that they begin with."""
    given = [rng.uniform(0.5, 2.0, (ROW, ROW)).astype(np.float32) for _ in range(3)]
    chosen, pool = [], list(given)
    while len(chosen) < 10:
        step, k, n = steps[rng.integers(len(steps))], *rng.integers(len(pool), size=2)
        k = k if rng.random() < 0.3 else len(pool) - 1
        try:
            with np.errstate(all="raise"):
                made = step(pool[k], pool[n])
        except FloatingPointError:
            continue
        if np.abs(made).max() < 1e4:
            chosen.append((step, k, n))
            pool.append(made)
    return chosen, given


def _value(chosen, pool):
    for step, k, n in chosen:
        pool.append(step(pool[k], pool[n]))
    return pool[-1]


@pytest.mark.parametrize("seed", few(range(60), 12))
@pytest.mark.parametrize("is_wide", [False, True])
def test_random_constants_of_all_kinds(seed, is_wide):
    chosen, given = _chain(np.random.default_rng(seed), STEPS if is_wide else STEPS + ROUNDED)
    compiled = jitrt.jit(
        lambda x: x + _value(chosen, [np.array(v.tolist(), np.float32) for v in given]), wide_constants=is_wide
    )
    zeros = np.zeros((ROW, ROW), np.float32)
    reference = [v.astype(np.float64) if is_wide else v for v in given]
    wanted = _value(chosen, reference).astype(np.float32) + zeros
    found = compiled(zeros)
    assert not compiled.explain(zeros).host_calls
    folded = compiled.explain(zeros).compiled.stages[-1][1]
    assert {n.op.name for n in folded.nodes() if n.args} <= {"add", "copy"}
    np.testing.assert_array_max_ulp(found, wanted, 1 if is_wide else 0)


@pytest.mark.parametrize(
    "chosen", [lambda v, i: np.take(v, i, axis=1), lambda v, i: v[:, list(i)], lambda v, i: v.take(i, 0)]
)
@pytest.mark.parametrize("fold", [lambda v, w: np.einsum("ij,kj->ik", -v, w), lambda v, w: (-v).sum(axis=1)])
def test_sums_of_chosen_elements_are_in_numpys_order(chosen, fold):
    rng = np.random.default_rng(0)
    values, index = rng.uniform(0.5, 2, (40, 40)).astype(np.float32), tuple(rng.permutation(40).tolist())
    wanted = fold(chosen(values, index), values)
    zeros = np.zeros(wanted.shape, np.float32)
    compiled = jitrt.jit(lambda x: x + fold(chosen(v := np.array(values.tolist(), np.float32), index), v))
    np.testing.assert_array_equal(compiled(zeros), wanted)
    assert compiled.explain(zeros).rules["fold_take_at"]
