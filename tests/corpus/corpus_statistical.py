"""Statistics."""

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example


def sample(r, n):
    return r.normal(size=n) * 2 + 1


@example(lambda r, n: (sample(r, n),))
def summary(x):
    return {
        "mean": x.mean(), "deviation": x.std(ddof=1), "low": x.min(), "high": x.max(), "median": np.median(x),
        "quartiles": np.percentile(x, [25, 75]), "n": x.size,
    }  # fmt: skip


@example(lambda r, n: (sample(r, n), sample(r, n)))
def correlation(x, y):
    x = x - x.mean()
    y = y - y.mean()
    return (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())


@example(lambda r, n: (r.normal(size=(n, 5)),), MATRIX)
def standardise(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


@example(lambda r, n: (sample(r, n), 3.0))
def without_outliers(x, limit):
    score = np.abs(x - np.median(x))
    return x[score < limit * np.median(score)]


@example(lambda r, n: (sample(r, n), 2.0))
def winsorise(x, limit):
    x[x > limit] = limit
    x[x < -limit] = -limit


@example(lambda r, n: (np.where(r.random(n) < 0.2, np.nan, sample(r, n)),))
def fill_missing(x):
    bad = np.isnan(x)
    x[bad] = np.interp(np.flatnonzero(bad), np.flatnonzero(~bad), x[~bad])
    return x, bad.sum()


@example(lambda r, n: (sample(r, n), 7))
def histogram(x, bins):
    counts, edges = np.histogram(x, bins=bins)
    return counts / counts.sum(), (edges[1:] + edges[:-1]) / 2


@example(lambda r, n: (sample(r, n), 30))
def kernel_density(x, points):
    grid = np.linspace(x.min(), x.max(), points)
    width = 1.06 * x.std() * len(x) ** (-1 / 5)
    return np.exp(-0.5 * ((grid[:, None] - x[None, :]) / width) ** 2).sum(axis=1) / (
        len(x) * width * np.sqrt(2 * np.pi)
    )


@example(lambda r, n: (r.normal(size=(n + 5, 4)), sample(r, n + 5)), MATRIX, tolerance=1e6)
def least_squares(design, y):
    beta = np.linalg.solve(design.T @ design, design.T @ y)
    residual = y - design @ beta
    return beta, (residual**2).sum() / (len(y) - design.shape[1])


@example(lambda r, n: (sample(r, n), np.random.default_rng(int(r.integers(99))), 20))
def bootstrap(x, generator, rounds):
    means = np.array([generator.choice(x, size=x.size).mean() for _ in range(rounds)])
    return means.mean(), np.sort(means)[[1, -2]]


@example(lambda r, n: (sample(r, n),))
def ranks(x):
    order = x.argsort()
    out = np.empty(len(x), dtype=int)
    out[order] = np.arange(len(x))
    return out


@example(lambda r, n: (r.integers(0, 5, n), sample(r, n)))
def group_means(group, value):
    keys = np.unique(group)
    return keys, np.array([value[group == k].mean() for k in keys])


@example(lambda r, n: (r.integers(0, 9, n),))
def entropy(labels):
    _, counts = np.unique(labels, return_counts=True)
    p = counts / counts.sum()
    return -(p * np.log2(p)).sum()


@example(lambda r, n: (sample(r, n),))
def welford(x):
    mean = 0.0
    square = 0.0
    count = 0
    for value in x[:200]:
        count += 1
        delta = value - mean
        mean += delta / count
        square += delta * (value - mean)
    return mean, square / count


@example(lambda r, n: (sample(r, n), sample(r, n)))
def kolmogorov_smirnov(x, y):
    both = np.sort(np.concatenate([x, y]))
    fx = np.searchsorted(np.sort(x), both, side="right") / len(x)
    fy = np.searchsorted(np.sort(y), both, side="right") / len(y)
    return np.abs(fx - fy).max()


@example(lambda r, n: (r.integers(1, 6, (n, n)),), MATRIX)
def chi_square(table):
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return ((table - expected) ** 2 / expected).sum()


@example(lambda r, n: (r.dirichlet(np.ones(3), 3), r.integers(0, 3, n)), VECTOR)
def transition_counts(matrix, states):
    counts = np.zeros_like(matrix)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    total = counts.sum(axis=1, keepdims=True)
    np.divide(counts, total, out=counts, where=total > 0)
    return counts


@example(lambda r, n: (r.random((n, 2)),), LOOP)
def star_discrepancy(points):
    worst = 0.0
    n = len(points)
    for i in range(n):
        for j in range(n):
            inside = 0
            for k in range(n):
                if points[k, 0] < points[i, 0] and points[k, 1] < points[j, 1]:
                    inside += 1
            worst = max(worst, abs(inside / n - points[i, 0] * points[j, 1]))
    return worst


@example(lambda r, n: (r.poisson(3, n), 1e-9), VECTOR)
def poisson_rate(counts, tolerance):
    rate = 1.0
    steps = 0
    while True:
        update = rate + 0.5 * (counts.mean() / rate - 1)
        steps += 1
        if abs(update - rate) < tolerance or steps > 40:
            return update, steps
        rate = update
