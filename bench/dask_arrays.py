"""dask with and without `jitrt.dask.optimize()`: pipelines of arrays four times as large as the cluster's memory.

`python -m bench.dask_arrays` prints the table; it takes some minutes. What is kept of results, a store discards.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import psutil

import jitrt
import jitrt.dask

_WORKERS = 2
_SAMPLED = 0.02  # seconds between two looks at the workers' memory


class _Discarding:
    """What results are written to, block by block."""

    def __setitem__(self, index: Any, block: Any) -> None:
        pass


_NOWHERE: Any = _Discarding()


def elementwise(x: Any) -> None:
    """Twenty operations on each element."""
    t, rest = 40 * x - 10, 1 - x
    felt = 13.12 + 0.6215 * t - 11.37 * rest**0.16 + 0.3965 * t * rest**0.16
    da.store(da.where(felt < t, felt, t) / (1 + np.exp(-abs(felt - t))) + np.sqrt(rest * x), _NOWHERE, lock=False)


def standardised(x: Any) -> None:
    """Mean and deviation of each column, and then what is left of outliers, row by row."""
    mean, deviation = dask.compute(x.mean(axis=0), x.std(axis=0))
    z = (x - mean) / deviation
    da.where(abs(z) > 1.5, np.sign(z) * 1.5, z).var(axis=1).compute()


def _diffused(u: np.ndarray) -> np.ndarray:
    inside = u[1:-1, 1:-1]
    flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inside
    corners = u[2:, 2:] + u[:-2, :-2] + u[2:, :-2] + u[:-2, 2:] - 4 * inside
    return np.pad(inside + 0.15 * flow + 0.03 * corners, 1, mode="edge")


def stencil(x: Any) -> None:
    """A stencil of nine points over blocks that overlap."""
    da.store(x.map_overlap(_diffused, depth=1, boundary="reflect", dtype=x.dtype), _NOWHERE, lock=False)


PIPELINES: tuple[Callable[[Any], None], ...] = (elementwise, standardised, stencil)


@contextlib.contextmanager
def _peak(pids: list[int]) -> Iterator[list[int]]:
    """The most memory that processes have together while the block runs, in the list's only element."""
    peak, ends = [0], threading.Event()
    processes = [psutil.Process(pid) for pid in pids]

    def watch() -> None:
        while not ends.wait(_SAMPLED):
            peak[0] = max(peak[0], sum(p.memory_info().rss for p in processes))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ends.set()
        watcher.join()


def measured(pipeline: Callable[[Any], None], compiles: bool, megabytes: int) -> tuple[float, float]:
    """Seconds of a run, and the most megabytes that the workers had, on a new cluster that has run a small array."""
    side = int((megabytes * 1e6 / 8) ** 0.5) // 1000 * 1000
    limit = f"{megabytes // 4 // _WORKERS}MB"
    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set({"temporary-directory": folder}),
        distributed.LocalCluster(_WORKERS, threads_per_worker=1, memory_limit=limit, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        jitrt.dask.optimize() if compiles else dask.config.set(),
    ):

        def draws(n: int) -> Any:
            return da.random.default_rng(1).random((n, n), chunks=1000)

        pipeline(draws(3000))
        pids = list(client.run(os.getpid).values())
        with _peak(pids) as peak:
            start = time.perf_counter()
            pipeline(draws(side))
            seconds = time.perf_counter() - start
        return seconds, peak[0] / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.dask_arrays", description=main.__doc__)
    parser.add_argument("--megabytes", type=int, default=4000, help="of an array (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    options = parser.parse_args()
    print("| pipeline | dask | with jitrt | speed-up | dask's memory | with jitrt |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for pipeline in PIPELINES:
        runs = {c: [measured(pipeline, c, options.megabytes) for _ in range(options.rounds)] for c in (False, True)}
        (plain, before), (fast, after) = (map(min, zip(*runs[c])) for c in (False, True))
        cells = f"{plain:.1f} s | {fast:.1f} s | {plain / fast:.1f} | {before:.0f} MB | {after:.0f} MB |"
        print(f"| {pipeline.__name__} | {cells}", flush=True)


if __name__ == "__main__":
    main()
