"""What Python functions do beside arithmetic: arguments, control flow, effects, objects."""

import contextlib
import math
from collections import namedtuple
from dataclasses import dataclass

import corpus_helpers
import numpy as np
from catalogue import LOOP, MATRIX, example
from corpus_helpers import scale, window

import jitrt

Fit = namedtuple("Fit", "slope offset residual")
LOG: list = []
GAIN = np.array([1.0, 2.0, 4.0])


def vector(r, n):
    return r.normal(size=n)


@example(lambda r, n: (vector(r, n),))
def helper_modules(x):
    return corpus_helpers.cumulative(np.abs(x)) + scale(window(len(x)), factor=3)


@example(lambda r, n: tuple(vector(r, n) for _ in range(4)))
def star_arguments(first, *rest, power=2):
    total = first**power
    for x in rest:
        total = total + x**power
    return total / (1 + len(rest))


@example(lambda r, n: ([vector(r, n) for _ in range(3)], {"scale": 2.0, "shift": vector(r, n)}))
def nested_containers(parts, options):
    return [p * options["scale"] + options["shift"] for p in parts], {"n": len(parts), "all": np.concatenate(parts)}


@example(lambda r, n: (vector(r, n), vector(r, n)))
def named_result(x, y):
    slope, offset = np.polyfit(x, y, 1)
    return Fit(slope, offset, y - slope * x - offset)


@dataclass
class Model:
    weights: np.ndarray
    bias: float = 0.5
    uses: int = 0

    def predict(self, x):
        return np.tanh(x @ self.weights + self.bias)

    @property
    def norm(self):
        return np.sqrt((self.weights**2).sum())

    @staticmethod
    def loss(p, y):
        return ((p - y) ** 2).mean()

    @classmethod
    def like(cls, x):
        return cls(np.ones(x.shape[1]))

    def __eq__(self, other):
        return np.array_equal(self.weights, other.weights) and (self.bias, self.uses) == (other.bias, other.uses)


@example(lambda r, n: (Model(r.normal(size=3)), r.normal(size=(n, 3)), vector(r, n)))
def objects(model, x, y):
    return model.loss(model.predict(x), y) / model.norm, Model.like(x).predict(x)


@example(lambda r, n: (Model(r.normal(size=3)), r.normal(size=(n, 3)), vector(r, n)))
def training_step(model, x, y):
    p = model.predict(x)
    gradient = x.T @ ((p - y) * (1 - p * p)) / len(y)
    model.weights -= 0.1 * gradient
    model.uses += 1
    return gradient


@example(lambda r, n: (vector(r, n),), log=LOG)
def logs_and_prints(x):
    LOG.append(x.shape)
    print("n =", len(x))
    return x * 2


@example(lambda r, n: (vector(r, n),), log=LOG)
def logs_values(x):
    total = float(x.sum())
    LOG.append(round(total, 6))
    print(f"sum {total:.4f}, max {x.max():.3f}")
    return x / total


@example(lambda r, n: (vector(r, n),))
def early_return(x):
    if x.size > 50:
        return x[:50].sum()
    if x[0] > 0:
        return x.sum()
    return -x


@example(lambda r, n: (vector(r, n), 0.5))
def branches(x, limit):
    mean = x.mean()
    if mean > limit:
        y = x - limit
    elif (mean > 0 and x.max() > 2 * limit) or x.min() < -10:
        y = np.sqrt(np.abs(x))
    else:
        y = x * 2
    return y if not np.isnan(y).any() else np.zeros_like(y)


@example(lambda r, n: (np.abs(vector(r, n)) + 1, 1e-8))
def newton_roots(x, tolerance):
    root = x / 2
    for iteration in range(60):
        new = 0.5 * (root + x / root)
        if np.max(np.abs(new - root)) < tolerance:
            return new, iteration
        root = new
    raise ArithmeticError("no convergence")


@example(lambda r, n: (vector(r, n),))
def raises_on_values(x):
    if x[0] < 0:
        raise ValueError(f"negative start of {len(x)} values")
    return np.sqrt(x[0]) + x


@example(lambda r, n: (vector(r, n), vector(r, 3)))
def wrong_shapes(x, y):
    z = x * 2
    return z + y


@example(lambda r, n: (vector(r, n),))
def assertion(x):
    assert x.std() > 0.9, "too little spread"
    return (x - x.mean()) / x.std()


@example(lambda r, n: (vector(r, n),))
def handled_errors(x):
    try:
        y = np.linalg.inv(np.outer(x[:2], x[:2]) * 0)
    except np.linalg.LinAlgError:
        y = np.eye(2)
    finally:
        z = x + 1
    return y, z


@contextlib.contextmanager
def shifted(x, by):
    x += by
    try:
        yield x
    finally:
        x -= by


@example(lambda r, n: (vector(r, n),))
def context_managers(x):
    with np.errstate(all="ignore"), shifted(x, 1.0) as y:
        total = np.log(y).sum()
    return total, x


@example(lambda r, n: (vector(r, n),), LOOP)
def recursion(x):
    if len(x) == 1:
        return x[0]
    half = len(x) // 2
    return recursion(x[:half]) + 2 * recursion(x[half:])


def _chunks(x, size):
    for start in range(0, len(x), size):
        yield x[start : start + size]


@example(lambda r, n: (vector(r, n), 4), LOOP)
def generators(x, size):
    return [c.sum() for c in _chunks(x, size)], list(map(len, _chunks(x, size)))


@example(lambda r, n: (vector(r, n),))
def global_arrays(x):
    return x[:3] * GAIN, x * GAIN[1]


@example(lambda r, n: (vector(r, n), 2, True, "edge"))
def static_arguments(x, width, normal, mode):
    padded = np.pad(x, width, mode=mode)
    y = sum(padded[k : k + len(x)] for k in range(2 * width + 1))
    return y / (2 * width + 1) if normal else y


@example(lambda r, n: (vector(r, n), np.float32(1.5), np.int64(3), 7, 2.5))
def scalars_of_all_kinds(x, single, long, count, number):
    return x * single, single * number, long * count, count / long, x.astype(np.float32) * number, single**2


@example(lambda r, n: (list(map(float, vector(r, n))), [1, 2, 3]))
def lists_as_arrays(x, y):
    return np.mean(x), np.asarray(x) * 2, np.dot(y, y), np.sort(x)[::-1]


@example(lambda r, n: (vector(r, n),))
def python_numbers(x):
    total = x.sum()
    return (
        math.sqrt(abs(total)),
        int(total),
        round(float(total), 3),
        max(total, 0.0),
        sorted(x)[:2],
        len(x),
        bool(x[0] > 0),
    )


@jitrt.jit
def compiled_helper(x):
    return np.exp(-(x**2))


@example(lambda r, n: (vector(r, n),))
def calls_compiled(x):
    return compiled_helper(x) + compiled_helper(x / 2).sum()


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def rows_in_a_loop(m):
    longest, index = -1.0, -1
    for k, row in enumerate(m):
        length = np.sqrt(row @ row)
        if length > longest:
            longest, index = length, k
    return index, longest


@example(lambda r, n: (vector(r, n), n // 2))
def sizes_from_arguments(x, n):
    return np.zeros(n), np.arange(n) * x[0], np.eye(n), x[:n].reshape(1, -1), np.full((n, 2), x.max())


@example(lambda r, n: (vector(r, n), int(r.integers(1, 5))))
def sizes_from_values(x, k):
    m = int(np.abs(x).max()) + k
    return np.arange(m) * x.sum(), sum(x[0] for _ in range(m))


@example(lambda r, n: (vector(r, n), None))
def optional_argument(x, weights=None):
    if weights is None:
        weights = np.ones_like(x)
    weights[0] = 0.5
    return np.average(x, weights=weights)


@example(lambda r, n: (vector(r, n),))
def closures(x):
    offset = x.min()

    def shifted_by(y, factor):
        return (y - offset) * factor

    terms = [lambda y, k=k: shifted_by(y, k) for k in range(3)]
    return sum(t(x) for t in terms)


@example(lambda r, n: (vector(r, n),))
def string_results(x):
    return f"{x.mean():.5f}", str(x.dtype), x.shape, "positive" if x.sum() > 0 else "negative"


def _apply(function, x):
    return np.array([function(v) for v in x[:20]])


@example(lambda r, n: (vector(r, n),))
def functions_as_values(x):
    return np.vectorize(lambda v: v * 2 if v > 0 else -v)(x), _apply(math.floor, x), np.apply_along_axis(np.ptp, 0, x)
