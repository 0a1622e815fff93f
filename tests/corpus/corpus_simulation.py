"""Simulations and estimators as classes and helpers: state, callbacks, random numbers, error states, options."""

import dataclasses
import functools
import logging
import math
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example

logger = logging.getLogger("corpus")


def vector(r, n):
    return r.normal(size=n)


def generator(r):
    return np.random.default_rng(int(r.integers(1000)))


class Grid:
    """The wave equation with fixed ends."""

    def __init__(self, u, c=0.5):
        self.u = u
        self.before = u.copy()
        self.c = c
        self.t = 0.0
        self.energies = []

    def __eq__(self, other):
        mine, theirs = vars(self), vars(other)
        return all(np.allclose(mine[k], theirs[k]) for k in mine)

    def laplacian(self):
        out = np.zeros_like(self.u)
        out[1:-1] = self.u[2:] - 2 * self.u[1:-1] + self.u[:-2]
        return out

    @property
    def energy(self):
        return 0.5 * ((self.u - self.before) ** 2).sum() + 0.5 * self.c**2 * (np.diff(self.u) ** 2).sum()

    def step(self, dt=0.1):
        after = 2 * self.u - self.before + self.c**2 * self.laplacian()
        after[0] = after[-1] = 0
        self.before, self.u = self.u, after
        self.t += dt


@example(lambda r, n: (Grid(vector(r, n)),))
def wave_step(grid):
    grid.step()
    return grid.energy


@example(lambda r, n: (Grid(vector(r, n)), 12))
def wave_run(grid, steps):
    for _ in range(steps):
        grid.step()
    return grid.u


@example(lambda r, n: (Grid(vector(r, n)), 5))
def wave_with_record(grid, steps):
    for _ in range(steps):
        grid.step()
        grid.energies.append(grid.energy)
    return grid.energies[-1]


class Running:
    """Welford's mean and variance."""

    def __init__(self, n):
        self.count = 0
        self.mean = np.zeros(n)
        self.m2 = np.zeros(n)

    def __eq__(self, other):
        return self.count == other.count and np.allclose(self.mean, other.mean) and np.allclose(self.m2, other.m2)

    def update(self, x):
        self.count += 1
        delta = x - self.mean
        self.mean += delta / self.count
        self.m2 += delta * (x - self.mean)

    @property
    def variance(self):
        return self.m2 / max(self.count - 1, 1)


@example(lambda r, n: (Running(n), vector(r, n), vector(r, n)))
def online_statistics(running, x, y):
    running.update(x)
    running.update(y)
    return running.variance


@dataclass
class Kalman:
    x: np.ndarray
    p: np.ndarray
    q: float = 0.1
    r: float = 0.5

    def predict(self):
        self.p = self.p + self.q

    def correct(self, z):
        gain = self.p / (self.p + self.r)
        self.x = self.x + gain * (z - self.x)
        self.p = (1 - gain) * self.p
        return gain


@example(lambda r, n: (Kalman(vector(r, n), np.ones(n)), vector(r, n)))
def kalman_update(filter_, z):
    filter_.predict()
    return filter_.correct(z)


@example(lambda r, n: (Kalman(vector(r, n), np.ones(n)), r.normal(size=(6, n))))
def kalman_sequence(filter_, measurements):
    return [filter_.correct(z).mean() for z in measurements if filter_.predict() is None]


class Adam:
    def __init__(self, w):
        self.w = w
        self.m = np.zeros_like(w)
        self.v = np.zeros_like(w)
        self.t = 0

    def __eq__(self, other):
        return self.t == other.t and np.allclose(self.w, other.w)

    def step(self, gradient, rate=1e-2, b1=0.9, b2=0.999):
        self.t += 1
        self.m = b1 * self.m + (1 - b1) * gradient
        self.v = b2 * self.v + (1 - b2) * gradient**2
        self.w -= rate * (self.m / (1 - b1**self.t)) / (np.sqrt(self.v / (1 - b2**self.t)) + 1e-8)


@example(lambda r, n: (Adam(r.normal(size=4)), r.normal(size=(n, 4)), vector(r, n)))
def logistic_training(optimizer, x, y):
    for _ in range(10):
        p = 1 / (1 + np.exp(-(x @ optimizer.w)))
        optimizer.step(x.T @ (p - (y > 0)) / len(y))
    return optimizer.w


@dataclass(frozen=True)
class Body:
    position: np.ndarray
    velocity: np.ndarray
    mass: float = 1.0


def kicked(body, force, dt):
    velocity = body.velocity + force / body.mass * dt
    return dataclasses.replace(body, position=body.position + velocity * dt, velocity=velocity)


@example(lambda r, n: (Body(vector(r, n), vector(r, n), 2.0), 0.01))
def symplectic(body, dt):
    for _ in range(4):
        body = kicked(body, -body.position, dt)
    return body


class Params(NamedTuple):
    alpha: float
    beta: float = 2.0


@example(lambda r, n: (Params(0.3), vector(r, n)))
def named_parameters(params, x):
    return params._replace(beta=3.0).beta * x + params.alpha, Params(*params).beta


def rk4(f, y, t, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def pendulum(t, y, damping=0.1):
    return np.stack([y[1], -np.sin(y[0]) - damping * y[1] + 0.1 * np.cos(t)])


@example(lambda r, n: (r.normal(size=(2, n)), 20, 0.05))
def ode_with_callback(y, steps, dt):
    seen = []
    for k in range(steps):
        y = rk4(pendulum, y, k * dt, dt)
        if k % 5 == 0:
            seen.append(y[0].max())
    return y, np.array(seen)


def relaxation(t, y):
    return -y + t


@example(lambda r, n: (vector(r, n), relaxation))
def ode_of_an_argument(y, f):
    return rk4(f, y, 0.0, 0.1)


@example(lambda r, n: (vector(r, n), 0.1))
def adaptive_euler(y, dt):
    t = 0.0
    while t < 1.0:
        full = y + dt * -y
        half = y + dt / 2 * -y
        half = half + dt / 2 * -half
        error = np.abs(full - half).max()
        if error > 0.01:
            dt /= 2
            continue
        y, t = half, t + dt
        if error < 0.001:
            dt *= 2
    return y, t


@example(lambda r, n: (generator(r), vector(r, n), 8))
def metropolis(rng, x, steps):
    accepted = 0
    for _ in range(steps):
        proposal = x + 0.5 * rng.normal(size=x.shape)
        ratio = np.exp(np.minimum(0, (x**2 - proposal**2) / 2))
        take = rng.random(x.shape) < ratio
        x = np.where(take, proposal, x)
        accepted = accepted + take.sum()
    return x, accepted / (steps * x.size)


@example(lambda r, n: (generator(r), n, 0.05, 0.2))
def geometric_brownian(rng, n, mu, sigma):
    increments = (mu - sigma**2 / 2) / n + sigma / math.sqrt(n) * rng.standard_normal(n)
    return 100 * np.exp(np.cumsum(increments))


@example(lambda r, n: (vector(r, n), int(r.integers(100))))
def seeded_noise(x, seed):
    rng = np.random.default_rng(seed)
    return np.clip(x + rng.normal(scale=0.1, size=x.shape), -1, 1)


@example(lambda r, n: (generator(r), r.normal(size=(n, 3)), 4, 5))
def k_means(rng, points, k, rounds):
    centres = points[rng.choice(len(points), k)]
    for _ in range(rounds):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
        labels = distances.argmin(axis=1)
        for j in range(k):
            if np.any(labels == j):
                centres[j] = points[labels == j].mean(axis=0)
    return centres, labels


@example(lambda r, n: ((r.random((n, n)) < 0.4).astype(float), 0.85), MATRIX)
def page_rank(links, damping):
    n = len(links)
    out = links.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        transition = np.where(out > 0, links / out, 1 / n)
    rank = np.full(n, 1 / n)
    for _ in range(100):
        new = damping * transition @ rank + (1 - damping) / n
        if np.abs(new - rank).sum() < 1e-8:
            break
        rank = new
    return new


@example(lambda r, n: (r.integers(0, 2, (n, n)).astype(np.uint8), 4), MATRIX)
def game_of_life(board, generations):
    for _ in range(generations):
        neighbours = sum(
            np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.uint8)
    return board


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def poisson_by_fft(f):
    k = np.fft.fftfreq(len(f)) * 2 * np.pi
    k2 = k[:, None] ** 2 + k[None, :] ** 2
    k2[0, 0] = 1.0
    spectrum = np.fft.fft2(f) / -k2
    spectrum[0, 0] = 0
    return np.fft.ifft2(spectrum).real


@example(lambda r, n: (vector(r, n) + 0j, vector(r, n) ** 2, 6))
def split_step(psi, potential, steps):
    k = 2 * np.pi * np.fft.fftfreq(psi.size)
    half = np.exp(-0.5j * 0.01 * potential)
    kinetic = np.exp(-0.5j * 0.01 * k**2)
    for _ in range(steps):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
    return psi, np.abs(psi) ** 2


@example(lambda r, n: (vector(r, n), vector(r, n)))
def safe_correlation(x, y):
    with np.errstate(invalid="ignore", divide="ignore"):
        r = ((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std())
    return np.nan_to_num(r)


@example(lambda r, n: (np.where(r.random((n, 6)) < 0.3, np.nan, 1.0) * r.normal(size=(n, 6)),))
def fill_by_column_means(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=RuntimeWarning)
        means = np.nanmean(table, axis=0)
    return np.where(np.isnan(table), means, table)


@example(lambda r, n: (vector(r, n),))
def optional_output(x, verbose=False):
    if verbose:
        print("mean", x.mean())
    y = x - x.mean()
    logger.debug("centred %d values", x.size)
    return y / y.std()


@example(lambda r, n: (vector(r, n),))
def timed(x, timings=None):
    if timings is not None:
        import time

        start = time.perf_counter()
    y = np.tanh(x) * 2
    if timings is not None:
        timings.append(time.perf_counter() - start)
    return y


@example(lambda r, n: (vector(r, n),))
def warns_if_short(x):
    if x.size < 3:
        warnings.warn("too short", stacklevel=2)
    return np.gradient(x) + 1


@functools.cache
def taps(n):
    return np.hanning(n + 2)[1:-1]


@example(lambda r, n: (vector(r, n),))
def cached_window(x):
    return x * taps(x.size)


@functools.lru_cache
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


@example(lambda r, n: (vector(r, n),))
def cached_coefficients(x):
    return sum(binomial(5, k) * x**k for k in range(6))


@example(lambda r, n: (vector(r, n), "relu"))
def by_pattern(x, activation):
    match activation:
        case "relu":
            return np.maximum(x, 0)
        case "tanh":
            return np.tanh(x)
        case _:
            raise ValueError(activation)


@example(lambda r, n: (r.normal(size=(n, 3)),))
def unpacked_rows(points):
    x, y, z = points.T
    first, *rest = points
    if (total := x.sum() + y.sum()) > 1e6:
        return total, z
    return np.hypot(x, y) + z, first, len(rest)


@example(lambda r, n: (r.normal(size=(n, 4)),), LOOP)
def rows_in_comprehensions(table):
    norms = np.array([np.sqrt((row**2).sum()) for row in table])
    by_row = {k: row.max() for k, row in enumerate(table)}
    return norms, by_row, [float(v) for v in norms if v > 1]


@np.vectorize
def collatz_steps(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@example(lambda r, n: (r.integers(1, 50, n),), (5, 60, 200))
def vectorized_function(n):
    return collatz_steps(n) * 2 + n


@example(lambda r, n: (r.normal(size=(n, 5)),))
def along_axis(table):
    spread = np.apply_along_axis(lambda row: np.sort(row)[-2:], 1, table)
    return spread.sum(axis=1) * 0.5


@example(lambda r, n: (vector(r, n),))
def pieces(x):
    a = np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2])
    return a + np.select([x < -1, x > 1], [x * 2, x * 3], default=0.5)


@example(lambda r, n: (r.normal(size=(n, 3, 3)), r.normal(size=(n, 3))))
def batched_linear(a, b):
    a = a + 4 * np.eye(3)
    solved = np.linalg.solve(a, b[..., None])[..., 0]
    product = np.einsum("nij,nj->ni", a, solved)  # which is b, but for noise
    return product, np.linalg.det(a) * 2, np.tensordot(b, b, axes=([0], [0]))


@dataclass
class Layer:
    weights: np.ndarray
    bias: np.ndarray
    cache: dict = field(default_factory=dict)

    @classmethod
    def zeros_like(cls, other):
        return cls(np.zeros_like(other.weights), np.zeros_like(other.bias))

    def forward(self, x):
        self.cache["x"] = x
        self.cache["y"] = y = np.tanh(x @ self.weights + self.bias)
        return y

    def backward(self, gradient):
        through = gradient * (1 - self.cache["y"] ** 2)
        update = Layer.zeros_like(self)
        update.weights += self.cache["x"].T @ through
        update.bias += through.sum(axis=0)
        return update, through @ self.weights.T


@example(lambda r, n: ([Layer(r.normal(size=(4, 4)), np.zeros(4)) for _ in range(2)], r.normal(size=(n, 4))))
def back_propagation(layers, x):
    y = x
    for layer in layers:
        y = layer.forward(y)
    gradient = y - x
    for layer in reversed(layers):
        update, gradient = layer.backward(gradient)
        layer.weights -= 0.1 * update.weights
        layer.bias -= 0.1 * update.bias
    return (y**2).mean()


class Ring:
    def __init__(self, size):
        self.data = np.zeros(size)
        self.next = 0

    def __eq__(self, other):
        return self.next == other.next and np.allclose(self.data, other.data)

    def push(self, x):
        self.data[self.next] = x
        self.next = (self.next + 1) % len(self.data)

    def __len__(self):
        return len(self.data)


@example(lambda r, n: (Ring(n), vector(r, n)))
def ring_buffer(ring, x):
    ring.push(x.mean())
    ring.push(x.max())
    return ring.data.sum() / len(ring)


TOTALS = {"calls": 0, "sum": 0.0}
SCALE = {"gain": 2.0, "offset": np.array([0.5])}
CONFIG = Params(0.5)


@example(lambda r, n: (vector(r, n),))
def reads_settings(x):
    return x * SCALE["gain"] + SCALE["offset"] + CONFIG.alpha


@example(lambda r, n: (vector(r, n),), VECTOR)
def counts_in_a_global(x):
    TOTALS["calls"] += 1
    return x * 2


@example(lambda r, n: (r.random((n, n)), 0.2), MATRIX)
def bilateral(image, sigma):
    padded = np.pad(image, 1, mode="reflect")
    total, weights = np.zeros_like(image), np.zeros_like(image)
    for i in range(3):
        for j in range(3):
            window = padded[i : i + image.shape[0], j : j + image.shape[1]]
            w = np.exp(-((window - image) ** 2) / (2 * sigma**2))
            total += w * window
            weights += w
    return total / weights


@example(lambda r, n: (vector(r, n), 100.0, 0.2))
def option_greeks(log_spot, strike, sigma):
    spot = strike * np.exp(0.1 * log_spot)
    d1 = (np.log(spot / strike) + sigma**2 / 2) / sigma
    density = np.exp(-(d1**2) / 2) / math.sqrt(2 * math.pi)
    result = {"gamma": density / (spot * sigma), "vega": spot * density}
    return {name: value * 100 for name, value in result.items()}
