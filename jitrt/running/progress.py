"""`progress`: what is being compiled, shown while it lasts."""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import Any

from ..base.stages import STAGES, Compilation, unwatch, watch

_DELAY = 0.3  # seconds after which a compilation is shown


def progress(shows: bool = True) -> None:
    """Show a bar for compilations that take longer than a moment, in a terminal or in a notebook, or no more.

    Parameters
    ----------
    shows : bool

    Notes
    -----
    The bar is tqdm's if that is installed, else a line on the standard error stream.

    Examples
    --------
    >>> import jitrt
    >>> jitrt.progress(True)
    >>> jitrt.progress(False)
    """
    unwatch(_show)
    if shows:
        watch(_show)


class _Bars(threading.local):
    bar: Any = None
    compilation: Compilation | None = None


_bars = _Bars()


def _show(compilation: Compilation) -> None:
    """Show the stage that begins, or end the bar."""
    bar = _bars.bar
    if bar is not None and (not compilation.stage or compilation is not _bars.compilation):
        bar.close()
        bar = _bars.bar = _bars.compilation = None
    if not compilation.stage:
        return
    if bar is None:
        _bars.compilation = compilation
        bar = _bars.bar = _new_bar(f"compiling {compilation.name}")
    bar.set_postfix_str(STAGES[compilation.stage])
    done = sum(stage in compilation.seconds for stage in STAGES)
    bar.update(max(done - bar.n, 0))


def _new_bar(text: str) -> Any:
    if importlib.util.find_spec("tqdm") is None:
        return _Line(text)
    from tqdm.auto import tqdm

    return tqdm(desc=text, total=len(STAGES) - 1, leave=False, delay=_DELAY, bar_format="{desc}: {bar:20} {postfix}")


class _Line:
    """The part of a bar of tqdm's that is used here, as a line that the next one replaces."""

    n = 0

    def __init__(self, text: str):
        self._text = text

    def set_postfix_str(self, stage: str) -> None:
        sys.stderr.write(f"\r\x1b[K{self._text}: {stage}")
        sys.stderr.flush()

    def update(self, count: int) -> None:
        self.n += count

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
