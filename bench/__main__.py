"""``python -m bench``: speed over NumPy of jitrt and its peers, under both settings of malloc, as tables and a page."""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from .page import Row, page
from .programs import PROGRAMS
from .report import first_calls, memory, print_table

# Freed memory stays with the process. 32 MB is the largest mapping threshold that every glibc accepts.
_KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
_TITLES = {
    "default": "NumPy's time / time, malloc with its defaults",
    "keep": "NumPy's time / time, malloc without trimming (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ huge)",
}


def main() -> int:
    """Print the table twice, and write a page with plots.

    NumPy's speed depends on whether malloc gives freed memory back to the system.
    """
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("--sizes", default="100,10000,1000000", help="elements, separated by commas (%(default)s)")
    parser.add_argument("--match", default="", help="a regular expression that chooses programs by name or group")
    parser.add_argument("--rounds", type=int, default=9, help="times that each is measured; the best counts")
    parser.add_argument("--malloc", choices=("both", *_TITLES), default="both", help="settings (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="say on stderr what is being measured")
    parser.add_argument("--html", type=Path, default="bench-report.html", help="the report's file (%(default)s)")
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)  # where the measurements go
    options = parser.parse_args()

    if options.malloc == "both":
        with tempfile.TemporaryDirectory() as folder:
            files = {setting: Path(folder, setting) for setting in _TITLES}
            failed = max(_in_subprocess(setting, file) for setting, file in files.items())
            rows = [row for file in files.values() if file.exists() for row in json.loads(file.read_text("utf-8"))]
        _write(options.html, rows)
        return failed
    logging.basicConfig(format="%(message)s")
    logging.getLogger("bench").setLevel(logging.INFO if options.verbose else logging.WARNING)
    chosen = [p for p in PROGRAMS if re.search(options.match, p.name) or re.search(options.match, p.group)]
    sizes = [int(n) for n in options.sizes.split(",")]
    rows = print_table(chosen, sizes, options.rounds, _TITLES[options.malloc])
    print()
    rows = [row | {"malloc": _TITLES[options.malloc].partition(", ")[2]} for row in rows]
    if options.rows is None or options.malloc == "default":  # what does not depend on it
        with mock.patch.dict(os.environ, JITRT_CACHE_DIR=""):
            rows += first_calls()
        rows += memory(chosen, max(sizes))
    if options.rows is not None:
        options.rows.write_text(json.dumps(rows), "utf-8")
    else:
        _write(options.html, rows)
    return 0


def _write(path: Path, rows: list[Row]) -> None:
    path.write_text(page(rows), "utf-8")
    print(f"the report is in {path}")


def _in_subprocess(setting: str, rows: Path) -> int:
    """The same command under one setting of malloc, which reads its environment when a process starts."""
    environment = {name: value for name, value in os.environ.items() if name not in _KEEPING}
    if setting == "keep":
        environment |= _KEEPING
    command = [sys.executable, "-m", "bench", *sys.argv[1:], "--malloc", setting, "--rows", str(rows)]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
