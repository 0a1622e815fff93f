"""Loop nests of typical expressions, as golden files."""

import numpy as np
import pytest

import jitrt

f8 = np.arange(1.0, 13.0)
m = np.arange(1.0, 1 + 40 * 30).reshape(40, 30)[:, :29]
square = np.ones((20, 20))
big = np.ones(1 << 16)
tall = np.ones((6000, 40))


def horner(x):
    return 1.0 + x * (0.5 + x * (0.25 - x))


def mixed_types(i, x):
    return i * x + np.float32(2)


def outer_sum(a, b):
    return a[:, None] + b[None, :]


def row_sum(x):
    return (x * x).sum(axis=1)


def column_max(x):
    return np.abs(x).max(axis=0)


def total(x):
    return (x * 2.0).sum()


def tall_columns(x):
    return np.abs(x).max(axis=0)


def few_rows(x):
    return x.sum(axis=1)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def standardise(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def siblings(x):
    t = np.exp(x)
    return t + 1.0, t * 2.0


def transposed(x):
    return x.T + x


def stencil(u):
    return 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


def joined(a, b):
    return np.concatenate([a + 1.0, b * 2.0])


def reversed_where(x):
    return np.where(x > 3.0, x[::-1], -x)


def short_fold(a, b):
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)


def running(x):
    return np.cumsum(np.tanh(x), axis=1) / 3.0, np.cumsum(x, axis=0)


def chosen(x, i):
    return x[i, ::2] * x[0, 1]


def mean_and_max(x):
    y = x * x
    return y.mean(axis=1), y.max(axis=1)


def layer_normalisation(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def logsumexp(x):
    highest = np.max(x, axis=1)
    return highest + np.log(np.sum(np.exp(x - highest[:, None]), axis=1))


def pair_distance(a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1))


def attention_weights(q):
    e = np.exp(q - q.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def long_rows(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalised_vector(x):
    return x / np.sqrt((x * x).sum())


CASES = {
    horner: (f8,),
    mixed_types: (np.arange(12, dtype=np.int32), f8),
    outer_sum: (f8, f8[:5]),
    row_sum: (m,),
    column_max: (m,),
    total: (big,),
    tall_columns: (tall,),
    few_rows: (tall.reshape(3, -1),),
    softmax: (m,),
    standardise: (m,),
    siblings: (f8,),
    transposed: (square,),
    stencil: (m,),
    joined: (f8, f8[:5]),
    reversed_where: (f8,),
    short_fold: (np.ones((20, 3)), np.ones((20, 3))),
    running: (m,),
    chosen: (m, np.array([3, -1, 0])),
    mean_and_max: (m,),
    layer_normalisation: (np.arange(30.0 * 600).reshape(30, 600) % 17,),
    logsumexp: (m,),
    pair_distance: (np.arange(120.0).reshape(40, 3), np.arange(90.0).reshape(30, 3)),
    attention_weights: ((np.arange(2.0 * 3 * 5 * 600) % 7).reshape(2, 3, 5, 600)[:, :, ::2],),
    long_rows: (np.arange(10.0 * 5000).reshape(10, 5000) % 11,),
    normalised_vector: (f8,),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_loop_nests(function, golden):
    explanation = jitrt.jit(function).explain(*CASES[function])
    assert not explanation.plain_reason
    golden(f"schedule/{function.__name__}", "\n\n".join(map(str, explanation.loop_nests)))


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results(function):
    args = CASES[function]
    want, got = function(*args), jitrt.jit(function)(*args)
    for w, g in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
        np.testing.assert_allclose(g, w, rtol=1e-13)
        assert g.dtype == w.dtype
