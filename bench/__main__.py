"""``python -m bench``: speed over NumPy of jitrt and its peers, under both settings of malloc."""

from __future__ import annotations

import argparse
import logging
import os
import re
import subprocess
import sys

from .programs import PROGRAMS
from .report import print_table

# Freed memory stays with the process. 32 MB is the largest mapping threshold that every glibc accepts.
_KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
_TITLES = {
    "default": "NumPy's time / time, malloc with its defaults",
    "keep": "NumPy's time / time, malloc without trimming (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ huge)",
}


def main() -> int:
    """Print the table twice: NumPy's speed depends on whether malloc gives freed memory back to the system."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("--sizes", default="100,10000,1000000", help="elements, separated by commas (%(default)s)")
    parser.add_argument("--match", default="", help="a regular expression that chooses programs by name or group")
    parser.add_argument("--rounds", type=int, default=9, help="times that each is measured; the best counts")
    parser.add_argument("--malloc", choices=("both", *_TITLES), default="both", help="settings (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="say on stderr what is being measured")
    options = parser.parse_args()

    if options.malloc == "both":
        return max(_in_subprocess(setting) for setting in _TITLES)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("bench").setLevel(logging.INFO if options.verbose else logging.WARNING)
    chosen = [p for p in PROGRAMS if re.search(options.match, p.name) or re.search(options.match, p.group)]
    print_table(chosen, [int(n) for n in options.sizes.split(",")], options.rounds, _TITLES[options.malloc])
    print()
    return 0


def _in_subprocess(setting: str) -> int:
    """The same command under one setting of malloc, which reads its environment when a process starts."""
    environment = {name: value for name, value in os.environ.items() if name not in _KEEPING}
    if setting == "keep":
        environment |= _KEEPING
    command = [sys.executable, "-m", "bench", *sys.argv[1:], "--malloc", setting]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
