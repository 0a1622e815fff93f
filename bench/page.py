"""The benchmark's report: tables and plots as one page of HTML."""

from __future__ import annotations

import functools
import html
import io
import math
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import jitrt

Row = dict[str, Any]
"""One measurement: `what` ("speed", "first call" or "memory"), `program`, `n`, `peer`, `malloc`, and its `value`."""

_STYLE = (
    ":root{color-scheme:light dark}body{font-family:sans-serif;max-width:64em;margin:2em auto;padding:0 1em}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}tr{border-bottom:1px solid #8884}"
)
_COLOURS = {
    "jitrt": "#4c78a8",
    "numexpr": "#f58518",
    "blosc2": "#e45756",
    "numba": "#54a24b",
    "jax": "#b279a2",
    "numpy": "#888888",
}


def page(rows: Sequence[Row]) -> str:
    """All measurements as a page, with a plot above each table."""
    speeds, calls, memory = ([r for r in rows if r["what"] == what] for what in ("speed", "first call", "memory"))
    parts = [
        f"<p>jitrt {jitrt.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, "
        f"{jitrt.num_threads()} threads, {html.escape(platform.platform())}</p>"
    ]
    for malloc in dict.fromkeys(r["malloc"] for r in speeds):
        found = [r for r in speeds if r["malloc"] == malloc]
        parts += [
            f"<h2>Speed over NumPy, {html.escape(malloc)}</h2>",
            "<p>NumPy's time over that of others. Lines are geometric means, dots the programs.</p>",
            _plot(functools.partial(_speed, rows=found)),
            _table(found, "program", lambda r: f"{r['peer']}, n = {r['n']:,}", "{:.1f}"),
        ]
    if calls:
        parts += ["<h2>First calls</h2>", "<p>Milliseconds until a function never seen before has its result.</p>"]
        parts += [_plot(lambda axes: _bars(axes, calls, "ms", log=True)), _table(calls, "program", _peer, "{:.1f}")]
    if memory:
        parts += ["<h2>Memory</h2>", "<p>Temporary memory of a call in MB, beside its result.</p>"]
        parts += [_plot(lambda axes: _bars(axes, memory, "MB")), _table(memory, "program", _peer, "{:.3f}")]
    return (
        f"<!doctype html><meta charset='utf-8'><title>jitrt's benchmarks</title><style>{_STYLE}</style>"
        f"<h1>Benchmarks</h1>{''.join(parts)}"
    )


def _peer(row: Row) -> str:
    return row["peer"]


def _table(rows: Sequence[Row], line: str, column: Callable[[Row], str], form: str) -> str:
    """A table of values by what stands at the beginning of a line, and above a column."""
    columns = list(dict.fromkeys(map(column, rows)))
    lines = [["", *columns]]
    for name in dict.fromkeys(r[line] for r in rows):
        found = {column(r): r["value"] for r in rows if r[line] == name}
        cells = [found.get(c, "") for c in columns]
        lines.append([name, *(form.format(v) if isinstance(v, float) else str(v) for v in cells)])
    return f"<table>{''.join(f'<tr>{_cells(cells, k)}</tr>' for k, cells in enumerate(lines))}</table>"


def _cells(cells: Iterable[str], number: int) -> str:
    tag = "td" if number else "th"
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def _plot(draw: Callable[[Any], None]) -> str:
    """A plot as SVG, in the colours of the page; nothing where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "<p>(matplotlib is not installed, so that there is no plot)</p>"
    figure = Figure(figsize=(9, 4), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    draw(axes)
    legend = axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    legend.set_in_layout(True)
    text = io.StringIO()
    figure.savefig(text, format="svg")
    picture = text.getvalue()
    picture = picture[picture.index("<svg") :].replace("#000000", "currentColor")
    # Glyphs have no colour of their own.
    return re.sub("<svg ", '<svg fill="currentColor" ', picture, count=1)


def _speed(axes: Any, rows: Sequence[Row]) -> None:
    rows = [r for r in rows if isinstance(r["value"], float)]
    for peer in dict.fromkeys(r["peer"] for r in rows):
        found = [r for r in rows if r["peer"] == peer]
        colour = _COLOURS.get(peer, "gray")
        axes.plot([r["n"] for r in found], [r["value"] for r in found], ".", color=colour, alpha=0.35)
        sizes = sorted({r["n"] for r in found})
        means = [math.exp(float(np.mean([math.log(r["value"]) for r in found if r["n"] == n]))) for n in sizes]
        axes.plot(sizes, means, "o-", color=colour, label=peer)
    axes.axhline(1, color="gray", linewidth=1, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="elements", ylabel="times NumPy's speed")
    axes.yaxis.set_major_formatter("{x:g}")


def _bars(axes: Any, rows: Sequence[Row], unit: str, log: bool = False) -> None:
    names, peers = list(dict.fromkeys(r["program"] for r in rows)), list(dict.fromkeys(r["peer"] for r in rows))
    width = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        found = {r["program"]: r["value"] for r in rows if r["peer"] == peer}
        places = [names.index(name) + (k - (len(peers) - 1) / 2) * width for name in found]
        axes.bar(places, list(found.values()), width, label=peer, color=_COLOURS.get(peer, "gray"))
    turned: Any = {"rotation": 45, "ha": "right"} if len(names) > 6 else {}
    axes.set_xticks(range(len(names)), names, **turned)
    axes.set(ylabel=unit, yscale="log" if log else "linear")
