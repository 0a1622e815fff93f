"""Machine learning."""

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example


@example(lambda r, n: (r.normal(size=(n, n + 1)) * 5,), MATRIX)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@example(
    lambda r, n: (r.normal(size=(n, n)).astype(np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)), MATRIX
)
def layer_norm(x, scale, shift, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * scale + shift


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def relu_in_place(x):
    x[x < 0] = 0
    return x


@example(lambda r, n: (r.normal(size=n),))
def log_sum_exp(x):
    top = x.max()
    return top + np.log(np.exp(x - top).sum())


class BatchNorm:
    def __init__(self, features):
        self.mean = np.zeros(features)
        self.variance = np.ones(features)
        self.momentum = 0.1
        self.calls = 0

    def __eq__(self, other):
        same = np.allclose(self.mean, other.mean) and np.allclose(self.variance, other.variance)
        return same and self.calls == other.calls

    __hash__ = None


@example(lambda r, n: (BatchNorm(4), r.normal(size=(n, 4)), bool(n % 2)), MATRIX)
def batch_norm(self, x, training):
    self.calls += 1
    if training:
        self.mean = (1 - self.momentum) * self.mean + self.momentum * x.mean(axis=0)
        self.variance = (1 - self.momentum) * self.variance + self.momentum * x.var(axis=0)
    return (x - self.mean) / np.sqrt(self.variance + 1e-5)


@example(lambda r, n: (r.normal(size=(n, 2)), r.normal(size=(3, 2))), MATRIX)
def kmeans_step(points, centres):
    distance = ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
    nearest = distance.argmin(axis=1)
    for k in range(len(centres)):
        chosen = points[nearest == k]
        if len(chosen):
            centres[k] = chosen.mean(axis=0)
    return nearest


@example(lambda r, n: (r.normal(size=(n, 3)), r.normal(size=(n + 2, 3)), 2), MATRIX)
def nearest_neighbours(queries, points, k):
    squares = (queries**2).sum(1)[:, None] + (points**2).sum(1) - 2 * queries @ points.T
    return np.argsort(squares, axis=1)[:, :k]


@example(lambda r, n: (r.normal(size=(n, 3)), r.integers(0, 2, n), 0.1, 6), MATRIX)
def logistic_regression(x, y, rate, epochs):
    w = np.zeros(x.shape[1])
    b = 0.0
    losses = []
    for _ in range(epochs):
        p = 1 / (1 + np.exp(-(x @ w + b)))
        losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
        w -= rate * x.T @ (p - y) / len(y)
        b -= rate * np.mean(p - y)
    return w, b, losses


@example(lambda r, n: ({"w": r.normal(size=n), "b": r.normal(size=3)}, {"w": r.normal(size=n), "b": np.ones(3)}, {}, 1))
def adam(parameters, gradients, state, step):
    for name, gradient in gradients.items():
        m, v = state.get(name, (np.zeros_like(gradient), np.zeros_like(gradient)))
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        state[name] = (m, v)
        parameters[name] -= 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


@example(lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n), 4))
def confusion(truth, guess, classes):
    table = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(table, (truth, guess), 1)
    return table, np.trace(table) / table.sum()


@example(lambda r, n: (r.integers(0, 5, n), 5))
def one_hot(labels, classes):
    out = np.zeros((labels.size, classes), dtype=np.float32)
    out[np.arange(labels.size), labels] = 1
    return out


@example(lambda r, n: (r.normal(size=(n, 5)), r.integers(0, 5, n)), MATRIX)
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


@example(lambda r, n: (r.normal(size=(n, 4)), r.normal(size=(n, 4)), r.normal(size=(n, 4))), MATRIX)
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    mask = np.tril(np.ones(scores.shape, dtype=bool))
    scores = np.where(mask, scores, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


@example(lambda r, n: (r.normal(size=(2, n)), r.normal(size=(3, 2, 3)), r.normal(size=3)), VECTOR)
def convolution_layer(x, weights, bias):
    length = x.shape[1] - weights.shape[2] + 1
    out = np.zeros((weights.shape[0], length))
    for o in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            for k in range(weights.shape[2]):
                out[o] += weights[o, i, k] * x[i, k : k + length]
        out[o] += bias[o]
    return np.maximum(out, 0)


@example(lambda r, n: (r.normal(size=(n + 3, 3)),), MATRIX, tolerance=1e6)
def principal_components(x):
    centred = x - x.mean(axis=0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])
    return s**2 / (len(x) - 1), vt * signs[:, None]


@example(lambda r, n: (r.normal(size=(n, 2)), r.choice([-1.0, 1.0], n)), LOOP)
def perceptron(x, y):
    w = np.zeros(x.shape[1])
    errors = 0
    for row, label in zip(x, y):
        if label * (w @ row) <= 0:
            w += label * row
            errors += 1
    return w, errors


@example(lambda r, n: (r.normal(size=n), r.random(n), 0.3))
def dropout(x, draws, rate):
    keep = draws >= rate
    return np.where(keep, x / (1 - rate), 0.0), keep


@example(lambda r, n: (r.random((n, n)), 0.85), MATRIX)
def page_rank(links, damping):
    n = links.shape[0]
    p = links / links.sum(axis=0)
    rank = np.ones(n) / n
    for _ in range(100):
        new = (1 - damping) / n + damping * (p @ rank)
        if np.linalg.norm(new - rank) < 1e-3:
            return new
        rank = new
    return rank


@example(lambda r, n: (r.normal(size=n), r.normal(size=n)))
def huber(x, y):
    e = np.abs(x - y)
    return np.where(e < 1, 0.5 * e**2, e - 0.5).mean()
