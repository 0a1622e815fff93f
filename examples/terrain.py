"""Terrain analysis of a real elevation model with plain NumPy functions: slope, aspect, hillshade and smoothing.

Runs each plain and compiled, compares results, prints times and memory, and draws a picture; matplotlib ships the
model.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import math
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jitrt

_log = logging.getLogger("terrain")

TILES = 4  # along each axis: the large model has 16 times as many cells
_RELIEF = 2.5  # exaggeration of heights in the picture
_PALETTE = ("#5f8f6b", "#8fb07c", "#c9cf9c", "#e6d9ae", "#d3b489", "#b48f70", "#a58e80", "#f2efec")
_METRES_PER_DEGREE = 111_195.0  # of latitude, on a sphere of 6371 km
# Mathematical functions differ from NumPy's by units in the last place; everything else is bit-equal.
_TOLERANCE = 1e-12


class MissingMatplotlib(Exception):
    """matplotlib, which ships the elevation model and draws the picture, is not installed."""


# What a geoscientist writes. Results cover the cells that have all neighbours: 2 or 4 fewer along each axis.


def gradient(z: Any, dx: float, dy: float) -> tuple[Any, Any]:
    """Rise per metre towards the east and towards the north (Horn 1981), from the eight neighbours of a cell."""
    northwest, north, northeast = z[:-2, :-2], z[:-2, 1:-1], z[:-2, 2:]
    west, east = z[1:-1, :-2], z[1:-1, 2:]
    southwest, south, southeast = z[2:, :-2], z[2:, 1:-1], z[2:, 2:]
    eastward = ((northeast + 2 * east + southeast) - (northwest + 2 * west + southwest)) / (8 * dx)
    northward = ((northwest + 2 * north + northeast) - (southwest + 2 * south + southeast)) / (8 * dy)
    return eastward, northward


def slope(z: Any, dx: float, dy: float) -> Any:
    """Steepness in degrees."""
    eastward, northward = gradient(z, dx, dy)
    return np.degrees(np.arctan(np.hypot(eastward, northward)))


def aspect(z: Any, dx: float, dy: float) -> Any:
    """Compass bearing of the downhill direction, in degrees clockwise from north."""
    eastward, northward = gradient(z, dx, dy)
    return np.degrees(np.arctan2(-eastward, -northward)) % 360


def hillshade(z: Any, dx: float, dy: float, azimuth: float = 315.0, altitude: float = 45.0) -> Any:
    """Light that a matt surface reflects, 0 to 1, under a sun at compass bearing `azimuth` (degrees)."""
    eastward, northward = gradient(z, dx, dy)
    steepness = np.arctan(np.hypot(eastward, northward))
    downhill = np.arctan2(-eastward, -northward)
    zenith = math.radians(90 - altitude)
    shade = np.cos(steepness) * math.cos(zenith)
    shade = shade + np.sin(steepness) * math.sin(zenith) * np.cos(math.radians(azimuth) - downhill)
    return np.clip(shade, 0, 1)


def smooth(z: Any, dx: float, dy: float) -> Any:
    """Elevation after a binomial filter (1 4 6 4 1) along both axes; the cell size does not matter."""
    rows = (z[:-4] + 4 * z[1:-3] + 6 * z[2:-2] + 4 * z[3:-1] + z[4:]) / 16
    return (rows[:, :-4] + 4 * rows[:, 1:-3] + 6 * rows[:, 2:-2] + 4 * rows[:, 3:-1] + rows[:, 4:]) / 16


FUNCTIONS: tuple[Callable[..., Any], ...] = (slope, aspect, hillshade, smooth)


@dataclass(frozen=True)
class Elevation:
    """An elevation model.

    Parameters
    ----------
    metres : ndarray
        Heights, float64, rows from north to south.
    dx, dy : float
        Metres from a cell to its neighbour in the east and in the north.
    """

    metres: np.ndarray
    dx: float
    dy: float


@dataclass(frozen=True)
class Measurement:
    """One function at one size; times are in seconds, memory in bytes.

    Parameters
    ----------
    name : str
    cells : int
        Of the elevation model.
    numpy, compiled : float
        Best times, measured in alternation.
    first_call : float
        First call of the compiled function for arrays of this shape.
    temporaries : int
        Most memory that plain NumPy holds beside its result.
    frame : int
        Memory that the compiled function works in.
    disagreement : str
        Empty if the results agree.
    """

    name: str
    cells: int
    numpy: float
    compiled: float
    first_call: float
    temporaries: int
    frame: int
    disagreement: str


def load_elevation() -> Elevation:
    """The Jacksboro fault, Tennessee: the elevation model among matplotlib's sample data.

    Raises
    ------
    MissingMatplotlib
        If matplotlib is not installed.
    """
    try:
        cbook = importlib.import_module("matplotlib.cbook")
    except ImportError as error:
        raise MissingMatplotlib(
            "the demo needs matplotlib for its elevation model and its picture: pip install 'jitrt[demo]'"
        ) from error
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as data:
        metres = data["elevation"].astype(np.float64)
        latitude = math.radians(float(data["ymin"] + data["ymax"]) / 2)
        dx = float(data["dx"]) * _METRES_PER_DEGREE * math.cos(latitude)
        dy = float(data["dy"]) * _METRES_PER_DEGREE
    return Elevation(metres, dx, dy)


def tiled(model: Elevation) -> Elevation:
    """The model repeated along both axes, at 16 times the number of cells."""
    return Elevation(np.tile(model.metres, (TILES, TILES)), model.dx, model.dy)


def disagreement(got: Any, want: Any) -> str:
    """How the compiled function's result differs from NumPy's; empty if it does not."""
    if type(got) is not type(want):
        return f"{type(got).__name__} instead of {type(want).__name__}"
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return "nan at other places"
    scale = float(np.nanmax(np.abs(want), initial=0))
    worst = float(np.nanmax(np.abs(got - want), initial=0))
    if worst > _TOLERANCE * scale:
        return f"values differ by {worst:.3g} where the largest is {scale:.3g}"
    return ""


def measure(functions: Sequence[tuple[Callable[..., Any], Any]], model: Elevation, rounds: int) -> list[Measurement]:
    """Run pairs of a plain and a compiled function on `model`.

    Parameters
    ----------
    functions : sequence of (callable, JitFunction)
    model : Elevation
    rounds : int
        How often each is timed; the best time counts.
    """
    args = (model.metres, model.dx, model.dy)
    table = []
    for plain, compiled in functions:
        _log.info("%s of %d x %d cells", plain.__name__, *model.metres.shape)
        want, temporaries = _temporaries(plain, args)
        start = time.perf_counter()
        got = compiled(*args)
        first_call = time.perf_counter() - start
        best = {plain: math.inf, compiled: math.inf}
        for _ in range(rounds):
            for function in best:
                start = time.perf_counter()
                function(*args)
                best[function] = min(best[function], time.perf_counter() - start)
        explanation = compiled.explain(*args)
        if explanation.plain_reason:
            _log.warning("%s runs as plain NumPy: %s", plain.__name__, explanation.plain_reason)
        table.append(
            Measurement(
                plain.__name__,
                model.metres.size,
                best[plain],
                best[compiled],
                first_call,
                temporaries,
                explanation.frame_bytes,
                disagreement(got, want),
            )
        )
    return table


@contextmanager
def _no_disk_cache() -> Iterator[None]:
    """Let every first call compile, so that a second run of the demo measures the same as the first."""
    before = os.environ.get("JITRT_CACHE_DIR")
    os.environ["JITRT_CACHE_DIR"] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ["JITRT_CACHE_DIR"]
        else:
            os.environ["JITRT_CACHE_DIR"] = before


def _temporaries(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, int]:
    """The function's result, and the most bytes that it holds beside it."""
    tracemalloc.start()
    try:
        result = function(*args)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, max(0, peak - result.nbytes)


def as_table(measurements: Sequence[Measurement]) -> str:
    """The measurements as lines of text."""
    head = ("function", "cells", "NumPy ms", "jitrt ms", "speed-up", "first call ms", "NumPy temporaries", "frame")
    rows = [
        (
            m.name,
            f"{m.cells:,}",
            f"{1e3 * m.numpy:.2f}",
            f"{1e3 * m.compiled:.2f}",
            f"{m.numpy / m.compiled:.1f}x",
            f"{1e3 * m.first_call:.1f}",
            _bytes(m.temporaries),
            _bytes(m.frame),
        )
        for m in measurements
    ]
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    lines = [head, tuple("-" * w for w in widths), *rows]
    return "\n".join(
        "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths))).rstrip()
        for line in lines
    )


def _bytes(n: int) -> str:
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} B"


def draw(model: Elevation, shade: np.ndarray, path: Path) -> None:
    """Write a picture of the model: elevation in colours, lit by the hillshade.

    Parameters
    ----------
    model : Elevation
    shade : ndarray
        Hillshade of the model's inner cells.
    path : Path
        Of a PNG file.
    """
    figures = importlib.import_module("matplotlib.figure")
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    colors = importlib.import_module("matplotlib.colors")
    cm = importlib.import_module("matplotlib.cm")

    heights = model.metres[1:-1, 1:-1]
    norm = colors.Normalize(*np.percentile(heights, [1, 99.7]))
    palette = colors.LinearSegmentedColormap.from_list("valley to summit", _PALETTE)
    # Soft light (Pegtop's formula): level ground keeps its colour, darker and lighter slopes pull it along.
    level = math.cos(math.radians(45))
    light = np.interp(shade, [0, level, 1], [0.04, 0.54, 1])[..., np.newaxis]
    tint = palette(norm(heights))[..., :3]
    lit = np.clip((1 - 2 * light) * tint**2 + 2 * light * tint, 0, 1) * (0.45 + 0.55 * np.minimum(1, 1.7 * light))

    rows, columns = heights.shape
    extent = (0, columns * model.dx / 1e3, 0, rows * model.dy / 1e3)
    figure = figures.Figure(figsize=(9, 8.2), dpi=160, layout="constrained")
    agg.FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.imshow(lit, extent=extent, interpolation="lanczos")
    axes.set_title(f"Jacksboro fault, Tennessee\nhillshade (heights {_RELIEF:g} times) over elevation", fontsize=12)
    axes.set_xlabel("east (km)")
    axes.set_ylabel("north (km)")
    axes.tick_params(direction="out", length=3)
    bar = figure.colorbar(cm.ScalarMappable(norm, palette), ax=axes, shrink=0.6, aspect=30, pad=0.015, extend="both")
    bar.set_label("elevation (m)")
    bar.outline.set_linewidth(0.5)
    figure.savefig(path)


def run(png: Path, quick: bool = False) -> int:
    """Run the demo.

    Parameters
    ----------
    png : Path
        Where the picture goes.
    quick : bool
        Measure a few times only, and leave the large model out.

    Returns
    -------
    int
        0 if all results agree with NumPy's, otherwise 1.
    """
    model = load_elevation()
    functions = [(f, jitrt.jit(f)) for f in FUNCTIONS]
    with _no_disk_cache():
        measurements = measure(functions, model, rounds=3 if quick else 30)
        if not quick:
            measurements += measure(functions, tiled(model), rounds=8)
    shade = functions[2][1](_RELIEF * model.metres, model.dx, model.dy)
    draw(model, shade, png)
    _log.info("the hillshade is in %s", png)
    print(f"{jitrt.num_threads()} threads; best times, plain and compiled in alternation; malloc's settings as found;")
    print("first calls without the disk cache, so a structure that is new to the process compiles")
    print(as_table(measurements))
    wrong = [m for m in measurements if m.disagreement]
    for m in wrong:
        print(f"{m.name} of {m.cells:,} cells does not agree with NumPy: {m.disagreement}")
    if not wrong:
        print(f"all results agree with NumPy's: dtype, shape, and values to {_TOLERANCE:g} of the largest")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--png", type=Path, default=Path("jitrt-demo.png"), help="the picture (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="measure briefly, without the 16 times larger model")
    options = parser.parse_args()
    if not options.png.parent.is_dir():
        parser.error(f"{options.png.parent} is not a folder, so the picture cannot be written there")
    logging.basicConfig(format="%(message)s")
    _log.setLevel(logging.INFO)
    try:
        return run(options.png, options.quick)
    except MissingMatplotlib as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
