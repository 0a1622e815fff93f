"""Physics and partial differential equations."""

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example


@example(lambda r, n: (r.normal(size=n), 0.1, 5))
def heat(u, k, steps):
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])


@example(lambda r, n: (r.normal(size=(n, n)), 1e-2), MATRIX)
def jacobi(u, tolerance):
    for sweep in range(30):  # noqa: B007
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        if np.abs(u - old).max() < tolerance:
            break
    return sweep, u


@example(lambda r, n: (r.normal(size=(6, n, n)), 3), MATRIX)
def heat_3d(a, steps):
    b = a.copy()
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a, b = b, a
    return a


@example(lambda r, n: (r.normal(size=n), r.normal(size=n), 0.3, 6))
def wave_equation(u, previous, c, steps):
    for _ in range(steps):
        following = np.zeros_like(u)
        following[1:-1] = 2 * u[1:-1] - previous[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        previous, u = u, following
    return u


@example(lambda r, n: (r.uniform(0.5, 1.5, n), 0.05, 4))
def burgers(u, dt, steps):
    for _ in range(steps):
        u[1:] -= dt * u[1:] * (u[1:] - u[:-1])
        u[0] = u[-1]
    return u


@example(lambda r, n: (r.normal(size=(n, 3)), r.uniform(1, 2, n)), MATRIX)
def gravity(position, mass):
    difference = position[None, :, :] - position[:, None, :]
    distance = np.sqrt((difference**2).sum(axis=-1)) + 0.01
    return (mass[None, :, None] * difference / distance[..., None] ** 3).sum(axis=1)


@example(lambda r, n: (r.normal(size=(n, 2)), r.normal(size=(n, 2)), 0.01, 4), MATRIX)
def leapfrog(x, v, dt, steps):
    energy = np.zeros(steps)
    for k in range(steps):
        v -= 0.5 * dt * x
        x += dt * v
        v -= 0.5 * dt * x
        energy[k] = 0.5 * (v * v).sum() + 0.5 * (x * x).sum()
    return energy


def _lorenz(state, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


@example(lambda r, n: (r.normal(size=3), 0.01, n), LOOP)
def runge_kutta(state, dt, steps):
    path = np.empty((steps + 1, 3))
    path[0] = state
    for k in range(steps):
        a = _lorenz(state)
        b = _lorenz(state + dt / 2 * a)
        c = _lorenz(state + dt / 2 * b)
        d = _lorenz(state + dt * c)
        state = state + dt / 6 * (a + 2 * b + 2 * c + d)
        path[k + 1] = state
    return path


@example(lambda r, n: (r.choice([-1, 1], (n, n)), r.random((n, n)), 0.4), LOOP)
def ising(spins, draws, beta):
    n, m = spins.shape
    for i in range(n):
        for j in range(m):
            around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % m] + spins[i, j - 1]
            if draws[i, j] < np.exp(-2 * beta * spins[i, j] * around):
                spins[i, j] = -spins[i, j]
    return spins.sum()


@example(lambda r, n: (n, 12), MATRIX)
def mandelbrot(n, steps):
    x, y = np.meshgrid(np.linspace(-2, 0.5, n), np.linspace(-1.2, 1.2, n))
    c = x + 1j * y
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(steps):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def divergence_free(u):
    v = np.zeros_like(u)
    v[:, 1:] = -np.cumsum(u[:, 1:] - u[:, :-1], axis=0)
    return v, np.gradient(u, axis=0) + np.gradient(v, axis=1)


@example(lambda r, n: (r.uniform(1, 2, (n + 4, n + 4)),), MATRIX)
def horizontal_diffusion(field):
    lap = 4 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux = np.where(flux * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, flux)
    return field[2:-2, 2:-2] - 0.1 * (flux[1:] - flux[:-1])


@example(lambda r, n: (r.uniform(1, 2, n), r.normal(size=n) / 10, 0.01))
def shallow_water(h, u, dt):
    flux = h * u
    momentum = flux * u + 4.905 * h**2
    new = h.copy()
    new[1:-1] = (h[2:] + h[:-2]) / 2 - dt * (flux[2:] - flux[:-2])
    hu = flux.copy()
    hu[1:-1] = (flux[2:] + flux[:-2]) / 2 - dt * (momentum[2:] - momentum[:-2])
    h[...] = new
    u[:] = hu / new


@example(lambda r, n: (10.0, 0.3, 1e-4), LOOP)
def falling(height, drag, dt):
    speed = 0.0
    time = 0.0
    while height > 0 and time < 0.2:
        speed += dt * (9.81 - drag * speed * speed)
        height -= speed * dt
        time += dt
    return time, speed


@example(lambda r, n: (r.normal(size=(n, 3)), r.normal(size=(n, 3)), 2.0), VECTOR)
def lorentz_force(velocity, field, charge):
    force = charge * np.cross(velocity, field)
    return force, np.einsum("ij,ij->i", force, force)  # with the velocity it is zero, but for noise


@example(lambda r, n: (r.uniform(200, 300, n), r.uniform(0, 1, n)))
def dew_point(kelvin, humidity):
    celsius = kelvin - 273.15
    gamma = np.log(np.maximum(humidity, 1e-3)) + 17.62 * celsius / (243.12 + celsius)
    return np.where(celsius > 0, 243.12 * gamma / (17.62 - gamma), np.nan)


@example(lambda r, n: (r.random(n), np.zeros(10), 3), VECTOR)
def deposit(position, density, rounds):
    cells = (position * len(density)).astype(int)
    for _ in range(rounds):
        np.add.at(density, cells, 1.0)
        cells = (cells + 1) % len(density)
