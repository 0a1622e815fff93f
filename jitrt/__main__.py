"""``python -m jitrt``: the command line."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import demo
from .codegen import cache, cachefiles


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Returns
    -------
    int
        The exit code: 0, 1 if results do not agree with NumPy's, or 2 if the command cannot run.
    """
    parser = argparse.ArgumentParser(prog="python -m jitrt", description="Run NumPy functions as fused kernels.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo_parser = commands.add_parser(
        "demo",
        help="terrain analysis of a real elevation model, plain and compiled",
        description="Slope, aspect, hillshade and smoothing of an elevation model with plain NumPy functions: runs "
        "each plain and compiled, compares results, and prints times and memory. Needs matplotlib: "
        "pip install 'jitrt[demo]'.",
    )
    demo_parser.add_argument(
        "--png", type=Path, default=Path("jitrt-demo.png"), metavar="PATH", help="the picture (default: %(default)s)"
    )
    demo_parser.add_argument("--quick", action="store_true", help="measure briefly, without the 16 times larger model")
    cache_parser = commands.add_parser(
        "cache",
        help="show or clear the disk cache of programs and compiled kernels",
        description="Shows where the disk cache of programs and compiled kernels is, and how much is in it. It may be "
        "deleted at any time. JITRT_CACHE_DIR and JITRT_CACHE_SIZE say where it is, and how many bytes it may have.",
    )
    cache_parser.add_argument("--clear", action="store_true", help="delete all of it first")
    options = parser.parse_args(arguments)
    if options.command == "cache":
        return _cache(options.clear)
    if not options.png.parent.is_dir():
        demo_parser.error(f"{options.png.parent} is not a folder, so the picture cannot be written there")

    progress = logging.getLogger("jitrt.demo")
    progress.setLevel(logging.INFO)
    if not progress.handlers:
        progress.addHandler(logging.StreamHandler(sys.stderr))
    try:
        return demo.run(options.png, options.quick)
    except demo.MissingMatplotlib as error:
        print(error, file=sys.stderr)
        return 2


def _cache(clear: bool) -> int:
    """Print what is in the disk cache, after clearing it if wanted."""
    if clear:
        print(f"deleted {cachefiles.clean(0):,} bytes")
    for name, value in cache.summary().items():
        print(f"{name:10} {value if isinstance(value, str) else format(value, ',')}")
    return 0


def _run() -> int:
    """`main` for a process; what reads its output may stop to, as ``head`` does."""
    try:
        code = main()
        print(end="", flush=True)
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes what is left when the process ends
        return 128 + 13  # as shells say it of programs that the signal has ended


if __name__ == "__main__":
    sys.exit(_run())
