"""Timing in alternation, and the table of ratios."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .peers import Run, installed, prepared
from .programs import Program

_log = logging.getLogger("bench")

_LEAST_SECONDS = 2e-3  # of one measurement, so that the clock and a loop's iteration do not count
_SEED = 3


def alternate(runs: Sequence[Run], rounds: int) -> list[float]:
    """Best seconds of a call of each, all measured in turn, round by round.

    Parameters
    ----------
    runs : sequence of callable
        Called once already: nothing compiles any more.
    rounds : int
    """
    repeats = []
    for run in runs:
        start = time.perf_counter()
        run()
        repeats.append(max(1, math.ceil(_LEAST_SECONDS / (time.perf_counter() - start + 1e-9))))
    best = [math.inf] * len(runs)
    for _ in range(rounds):
        for k, (run, count) in enumerate(zip(runs, repeats)):
            start = time.perf_counter()
            for _ in range(count):
                run()
            best[k] = min(best[k], (time.perf_counter() - start) / count)
    return best


def ratios(program: Program, n: int, peers: Sequence[str], rounds: int) -> dict[str, float | str]:
    """NumPy's time over each peer's for inputs of `n` elements; a word where a peer does not run."""
    args = program.make(n, np.random.default_rng(_SEED))
    candidates: dict[str, Any] = {peer: prepared(peer, program, args) for peer in ("numpy", *peers)}
    running = {peer: run for peer, run in candidates.items() if callable(run)}
    best = dict(zip(running, alternate(list(running.values()), rounds)))
    return {peer: best["numpy"] / best[peer] if peer in best else candidates[peer] for peer in peers}


def print_table(programs: Sequence[Program], sizes: Sequence[int], rounds: int, title: str) -> None:
    """Measure, and print a row for each program as soon as it is measured."""
    peers = [peer for peer in installed() if peer != "numpy"]
    print(title)
    print(f"{'':20s}" + "".join(f"  {f'n = {n:,}':^{9 * len(peers)}s}" for n in sizes).rstrip())
    print(f"{'':20s}" + "".join("  " + "".join(f"{peer:>9s}" for peer in peers) for _ in sizes))
    gathered: dict[tuple[int, str], list[float]] = {}
    group = ""
    for program in programs:
        if program.group != group:
            group = program.group
            print(f"{group}")
        cells = ""
        for n in sizes:
            _log.info("%s, %d elements", program.name, n)
            found = ratios(program, n, peers, rounds)
            cells += "  " + "".join(f"{_cell(found[peer]):>9s}" for peer in peers)
            for peer, value in found.items():
                if isinstance(value, float):
                    gathered.setdefault((n, peer), []).append(value)
        print(f"  {program.name:18s}{cells}", flush=True)
    for name, summary in (("geometric mean", _geometric_mean), ("worst", min)):
        cells = "".join(
            "  " + "".join(f"{_cell(summary(gathered[n, p])) if (n, p) in gathered else '-':>9s}" for p in peers)
            for n in sizes
        )
        print(f"{name:20s}{cells}", flush=True)


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
