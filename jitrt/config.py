"""Options of the process, from the environment."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

LOGGED_STAGES = ("trace", "prepare", "schedule", "memory", "codegen", "cache", "guards")
ON_PLAIN = ("ignore", "warn", "raise")
_LARGEST = 2**63 - 1
_NONE: frozenset[str] = frozenset()


def _flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def _number(text: str) -> int | None:
    """The number that `text` is, or the largest one that native code has; None if it is none."""
    if not text.isdecimal():
        return None
    digits = text.lstrip("0")
    return min(int(digits or "0"), _LARGEST) if len(digits) < 20 else _LARGEST


def _bytes(name: str) -> int:
    number = _number(os.environ.get(name, ""))
    return 256 << 20 if number is None else number


def disabled() -> bool:
    """``JITRT_DISABLE=1``: decorated functions run as plain NumPy."""
    return _flag("JITRT_DISABLE")


def strict() -> bool:
    """``JITRT_STRICT=1``, for tests: an internal error raises `JitrtError` and does not fall back to plain NumPy.

    Whatever can be compiled is compiled then, also where the plain function is expected to be faster.
    """
    return _flag("JITRT_STRICT") or debug()


def debug() -> bool:
    """``JITRT_DEBUG=1``: frames are poisoned, and every kernel is checked for what it reads and writes.

    Calls are some hundred times slower. What is found is an internal error, as under ``JITRT_STRICT=1``.
    """
    return _flag("JITRT_DEBUG")


def tells_perf() -> bool:
    """``JITRT_PERF=1``: Linux' ``perf`` is told the names of compiled functions, in ``/tmp/perf-<pid>.map``."""
    return _flag("JITRT_PERF")


def shows_calls() -> bool:
    """``JITRT_PROFILERS=1``: as `jitrt.show_in_profilers`, from the beginning of the process."""
    return _flag("JITRT_PROFILERS")


def on_plain() -> str:
    """``JITRT_ON_PLAIN``: what happens when a call is about to run the plain function; see `jitrt.jit`."""
    wanted = os.environ.get("JITRT_ON_PLAIN", "")
    return wanted if wanted in ON_PLAIN else "ignore"


def rules_off() -> frozenset[str]:
    """``JITRT_RULES_OFF=add_zero,fold_constants``: rules that `Explanation.rules` names, and that are not applied."""
    text = os.environ.get("JITRT_RULES_OFF", "")
    return frozenset(name.strip() for name in text.split(",")) if text else _NONE


def threads_from_environment() -> int | None:
    """``JITRT_NUM_THREADS``, else ``OMP_NUM_THREADS``; None if neither is a number."""
    numbers = (_number(os.environ.get(name, "").split(",")[0]) for name in ("JITRT_NUM_THREADS", "OMP_NUM_THREADS"))
    return next(filter(None, numbers), None)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_directory() -> Path | None:
    """``JITRT_CACHE_DIR``, or a folder under the platform's cache directory; None if it is set to nothing.

    None, too, if there is no home to have such a directory: for a user without an entry in the list of users, or where
    ``HOME`` is set to nothing.
    """
    chosen = os.environ.get("JITRT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    variable = {"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME")
    base = os.environ.get(variable, "")
    if os.path.isabs(base):
        return Path(base) / "jitrt"
    folder = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    has_home = home.is_absolute() and os.environ.get("HOME") != ""
    return home / folder / "jitrt" if has_home else None


def cache_limit() -> int:
    """``JITRT_CACHE_SIZE``: bytes that the disk cache may have; 256 MiB by default."""
    return _bytes("JITRT_CACHE_SIZE")


def kept_bytes() -> int:
    """``JITRT_KEEP_BYTES``: memory of freed results that is kept for further ones; 256 MiB by default, 0 for none."""
    return _bytes("JITRT_KEEP_BYTES")


def _on_own_lines(record: logging.LogRecord) -> bool:
    """Let no text of the user, such as the name of a function, look like a line of the log, or reach the terminal raw.

    Further lines of a text are indented; other characters that are not printed are written as in Python's strings.
    """
    if isinstance(record.args, tuple):
        record.args = tuple(printable(a) if isinstance(a, str | BaseException) else a for a in record.args)
    return True


def printable(value: object) -> str:
    """A text of the user's with nothing in it that would not be printed; further lines are indented."""
    lines = str(value).split("\n")
    return "\n    ".join("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in lines)


_MOST_TOLD = 10_000
_told: set[str] = set()


def _once(record: logging.LogRecord) -> bool:
    """Whether a message is shown: what a user should know, of the level INFO, comes once for all calls."""
    if record.levelno != logging.INFO:
        return True
    text = record.getMessage()
    if text in _told:
        return False
    if len(_told) < _MOST_TOLD:
        _told.add(text)
    return True


def configure_logging() -> None:
    """``JITRT_LOG=trace,codegen``: print what these stages log; ``JITRT_LOG=all`` for every stage."""
    for name in ("jitrt", *(f"jitrt.{stage}" for stage in LOGGED_STAGES)):
        logging.getLogger(name).addFilter(_on_own_lines)
        logging.getLogger(name).addFilter(_once)
    wanted = {name.strip() for name in os.environ.get("JITRT_LOG", "").split(",")} - {""}
    if not wanted:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    if unknown := sorted(wanted - {"all", *LOGGED_STAGES}):
        text = "JITRT_LOG: nothing is called %s; there are %s, and all"
        logging.getLogger("jitrt").warning(text, ", ".join(unknown), ", ".join(LOGGED_STAGES))
    for stage in LOGGED_STAGES if "all" in wanted else wanted:
        logger = logging.getLogger(f"jitrt.{stage}")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
