"""Shallow water in a square basin: a drop of water spreads, is reflected at the walls, and calms down.

Depth-averaged equations on a staggered grid, forward in time, with bottom friction and a smoothing filter.
"""

import argparse

import numpy as np

GRAVITY = 9.81


class Basin:
    """A square basin with walls."""

    def __init__(self, cells, length, depth, friction):
        self.cells = cells
        self.dx = length / cells
        self.depth = depth
        self.friction = friction
        self.eta = np.zeros((cells, cells))
        self.u = np.zeros((cells, cells + 1))
        self.v = np.zeros((cells + 1, cells))
        self.time = 0.0

    def drop(self, x, y, height, width):
        """Add a Gaussian hump to the surface."""
        centres = (np.arange(self.cells) + 0.5) * self.dx
        gx = np.exp(-(((centres - x) / width) ** 2))
        gy = np.exp(-(((centres - y) / width) ** 2))
        self.eta += height * np.outer(gy, gx)

    def stable_step(self):
        """The longest stable time step, with a margin."""
        return 0.4 * self.dx / np.sqrt(GRAVITY * (self.depth + np.abs(self.eta).max()))


def accelerate(u, v, eta, dx, dt, friction):
    """Velocities after a step: the pressure gradient, then friction that grows with speed."""
    new_u, new_v = u.copy(), v.copy()
    new_u[:, 1:-1] -= dt * GRAVITY * (eta[:, 1:] - eta[:, :-1]) / dx
    new_v[1:-1, :] -= dt * GRAVITY * (eta[1:, :] - eta[:-1, :]) / dx
    speed_u = np.abs(new_u)
    speed_v = np.abs(new_v)
    new_u /= 1 + dt * friction * speed_u
    new_v /= 1 + dt * friction * speed_v
    return new_u, new_v


def continuity(u, v, eta, depth, dx, dt):
    """The surface after a step: what flows in through the faces of each cell."""
    h = depth + eta
    hu = np.zeros_like(u)
    hv = np.zeros_like(v)
    hu[:, 1:-1] = u[:, 1:-1] * 0.5 * (h[:, 1:] + h[:, :-1])
    hv[1:-1, :] = v[1:-1, :] * 0.5 * (h[1:, :] + h[:-1, :])
    divergence = (hu[:, 1:] - hu[:, :-1] + hv[1:, :] - hv[:-1, :]) / dx
    return eta - dt * divergence


def smooth(eta, strength):
    """A weak Laplacian filter against waves of two cells' length."""
    padded = np.pad(eta, 1, mode="edge")
    neighbours = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return eta + strength * (neighbours - 4 * eta)


def energies(u, v, eta, depth, dx):
    """Potential and kinetic energy per unit of density."""
    potential = 0.5 * GRAVITY * np.sum(eta**2) * dx**2
    uc = 0.5 * (u[:, 1:] + u[:, :-1])
    vc = 0.5 * (v[1:, :] + v[:-1, :])
    kinetic = 0.5 * np.sum((depth + eta) * (uc**2 + vc**2)) * dx**2
    return potential, kinetic


def advance(basin, steps, dt):
    """Many steps."""
    u, v, eta = basin.u, basin.v, basin.eta
    for _ in range(steps):
        u, v = accelerate(u, v, eta, basin.dx, dt, basin.friction)
        eta = continuity(u, v, eta, basin.depth, basin.dx, dt)
        eta = smooth(eta, 0.002)
    basin.u, basin.v, basin.eta = u, v, eta
    basin.time += steps * dt


def draw(basin, png):
    """The surface, and how fast the water flows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    speed = np.hypot(basin.u[:, 1:] + basin.u[:, :-1], basin.v[1:] + basin.v[:-1]) / 2
    pictures = ("height of the surface (m)", basin.eta, "RdBu_r"), ("speed (m/s)", speed, "viridis")
    for axes, (title, values, colours) in zip(figure.subplots(1, 2), pictures):
        highest = np.abs(values).max()
        lowest = -highest if colours == "RdBu_r" else 0
        shown = axes.imshow(values, colours, origin="lower", extent=(0, 10, 0, 10), vmin=lowest, vmax=highest)
        axes.set(title=f"{title} after {basin.time:.0f} s", xlabel="km", ylabel="km")
        figure.colorbar(shown, ax=axes, shrink=0.8)
    figure.savefig(png)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--reports", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100, help="between reports")
    parser.add_argument("--png", help="a picture of the surface at the end, by matplotlib")
    options = parser.parse_args()

    basin = Basin(options.cells, 10_000.0, 50.0, 1e-4)
    basin.drop(3_000.0, 4_000.0, 2.0, 600.0)
    basin.drop(7_500.0, 6_500.0, -1.0, 400.0)
    dt = float(basin.stable_step())
    volume = basin.eta.sum()
    print(f"{options.cells} x {options.cells} cells, time step {dt:.3f} s")
    print("   time    highest    lowest   potential    kinetic")
    for _ in range(options.reports):
        advance(basin, options.steps, dt)
        potential, kinetic = energies(basin.u, basin.v, basin.eta, basin.depth, basin.dx)
        print(f"{basin.time:7.1f} {basin.eta.max():10.6f} {basin.eta.min():9.6f} {potential:11.5e} {kinetic:10.5e}")
    print(f"relative change of the volume below 1e-9: {abs(basin.eta.sum() - volume) < 1e-9 * abs(volume)}")
    if options.png:
        draw(basin, options.png)


if __name__ == "__main__":
    main()
