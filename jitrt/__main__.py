"""``python -m jitrt``: the command line."""

from __future__ import annotations

import argparse
import ast
import importlib
import operator
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__
from .running import script

# What one command needs is imported by it, since programs that are run should not wait for it.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Returns
    -------
    int
        The exit code: 0, or 2 if the command cannot run.
    """
    parser = argparse.ArgumentParser(prog="python -m jitrt", description="Run NumPy functions as fused kernels.")
    parser.add_argument("--version", action="version", version=f"jitrt {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", prog=parser.prog)
    cache_parser = commands.add_parser(
        "cache",
        help="show or clear the disk cache of programs and compiled kernels",
        description="Shows where the disk cache of programs and compiled kernels is, and how much is in it. It may be "
        "deleted at any time. JITRT_CACHE_DIR and JITRT_CACHE_SIZE say where it is, and how many bytes it may have.",
    )
    cache_parser.add_argument("--clear", action="store_true", help="delete all of it first")
    commands.add_parser(
        "info",
        help="show versions, processor, threads, cache and settings",
        description="Shows what a report of a problem should say: versions, processor, threads, cache and settings.",
    )
    explain_parser = commands.add_parser(
        "explain",
        help="show what a function compiles to",
        description="Compiles a function for arguments of given types, without running it, and shows what a call runs.",
    )
    explain_parser.add_argument("function", metavar="MODULE:FUNCTION")
    explain_parser.add_argument(
        "arguments", nargs="*", metavar="ARGUMENT", help="'f8[100,3]' for an array, or a number, string, … as in Python"
    )
    explain_parser.add_argument("--full", action="store_true", help="with graphs, loop nests, memory and kernels")
    run_parser = commands.add_parser(
        "run",
        help="run a script or module with its own functions compiled",
        description="Runs a program as Python does. Every function of its own files that works on arrays is compiled, "
        "as if it were decorated with jitrt.jit.",
    )
    run_parser.add_argument(
        "--report", action="store_true", help="print calls, seconds, and what ran plain, at the end"
    )
    run_parser.add_argument("-m", action="store_true", dest="is_module", help="run a module, by its name")
    run_parser.add_argument("program", help="the file of the script, or the name of the module")
    run_parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the program")
    options = parser.parse_args(arguments)
    if options.command == "run":
        try:
            return script.run(options.program, options.arguments, options.is_module, options.report)
        except script.NoProgram as error:
            run_parser.error(str(error))
    if options.command == "info":
        return _info()
    if options.command == "explain":
        return _explain(explain_parser, options)
    return _cache(options.clear)


def _info() -> int:
    """Print what a report of a problem should say."""
    import platform
    from importlib import metadata

    from .codegen import cache, linker
    from .runtime import threads

    rows = {
        "jitrt": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        **{name: metadata.version(name) for name in ("numpy", "numba", "llvmlite")},
        "processor": linker.machine()[1],
        "threads": threads.num_threads(),
        **{f"cache {name}": value for name, value in cache.summary().items()},
        **{name: value for name, value in sorted(os.environ.items()) if name.startswith("JITRT_")},
    }
    for name, value in rows.items():
        print(f"{name:16} {value}")
    return 0


def _explain(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Print what a call of a function with such arguments runs."""
    from .decorator import jit
    from .jitfunction import JitFunction

    module, _, path = options.function.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        function = operator.attrgetter(path)(importlib.import_module(module))
        given = [_argument(text) for text in options.arguments]
    except (ImportError, AttributeError, ValueError, SyntaxError, TypeError) as error:
        parser.error(f"{type(error).__name__}: {error}")
    made = function if isinstance(function, JitFunction) else jit(function)
    try:
        found = made.compile(*given)
    except Exception as error:  # the function's own, for these arguments
        print(f"{path} raises {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(found.text() if options.full else found)
    return 0


def _argument(text: str) -> Any:
    """An array by its dtype and shape, or a Python literal.

    >>> _argument("f8[3,2]").shape, _argument("2.5"), _argument("'low'")
    ((3, 2), 2.5, 'low')
    """
    from .inspect.ahead_of_time import spec

    found = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text)
    if found is None:
        return ast.literal_eval(text)
    return spec(found[1], tuple(int(n) for n in found[2].split(",") if n.strip()))


def _cache(clear: bool) -> int:
    """Print what is in the disk cache, after clearing it if wanted."""
    from .codegen import cache, cachefiles

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
