"""Timing in alternation, and the table of ratios."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitrt

from .memory import peak
from .page import Row
from .peers import OF_STRINGS, PEERS, Run, installed, prepared
from .programs import Program, chain

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


def print_table(programs: Sequence[Program], sizes: Sequence[int], rounds: int, title: str) -> list[Row]:
    """Measure, print a row for each program as soon as it is measured, and return the measurements."""
    rows: list[Row] = []
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
                rows.append({"what": "speed", "program": program.name, "n": n, "peer": peer, "value": value})
                if isinstance(value, float):
                    gathered.setdefault((n, peer), []).append(value)
        print(f"  {program.name:18s}{cells}", flush=True)
    for name, summary in (("geometric mean", _geometric_mean), ("worst", min)):
        cells = "".join(
            "  " + "".join(f"{_cell(summary(gathered[n, p])) if (n, p) in gathered else '-':>9s}" for p in peers)
            for n in sizes
        )
        print(f"{name:20s}{cells}", flush=True)
    return rows


def first_calls(rounds: int = 5) -> list[Row]:
    """Milliseconds of the first call of functions never seen before, without the disk cache; the median."""
    rows: list[Row] = []
    args = tuple(np.linspace(k, k + 1, 1000) for k in range(4))
    for operations in (20, 200):
        for peer in installed():
            if peer in OF_STRINGS or (peer == "numba" and operations > 20):  # which takes seconds
                continue
            seconds = []
            for seed in range(rounds + 1):
                run = PEERS[peer](Program(chain(operations, seed), "compile", lambda n, rng: ()), args)
                assert run is not None
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
            value = 1e3 * float(np.median(seconds[1:]))  # the first one pays for what a process does once
            rows.append({"what": "first call", "program": f"{operations} operations", "peer": peer, "value": value})
    return rows


def memory(programs: Sequence[Program], n: int) -> list[Row]:
    """Megabytes of temporary memory that a call takes, in NumPy and compiled."""
    rows: list[Row] = []
    for program in programs:
        args = program.make(n, np.random.default_rng(_SEED))
        found = {"numpy": peak(program.function, args), "jitrt": jitrt.jit(program.function).explain(*args).frame_bytes}
        rows += [{"what": "memory", "program": program.name, "peer": p, "value": v / 1e6} for p, v in found.items()]
    return rows


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
