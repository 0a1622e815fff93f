"""What became of the functions of a process: the time that they have lost to compiling and to plain calls, and why."""

from __future__ import annotations

import html
from time import perf_counter, sleep
from typing import Any

from ..advice import advice
from ..base.frozen import frozen
from ..base.once import once
from ..config import printable
from ..frontend.context import current
from ..jitfunction import JitFunction
from ..runtime.dispatch import NativeCallable, install
from ..runtime.tally import Tally, tallies
from .choose import left

_CLOCK_SECONDS = 0.01  # for which the processor's clock is compared with Python's
_RAISING = "NumPy tells of a floating-point exception that compiled code has raised"


class Measured(JitFunction):
    """A jit function of which all calls are counted and timed."""

    def __init__(self, function: Any, *options: Any):
        super().__init__(function, *options)
        self._tally.served = self._tally.served or [0, 0.0, 0.0]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:  # part of another function's trace
            return super().__call__(*args, **kwargs)
        start = perf_counter()
        try:
            return super().__call__(*args, **kwargs)
        finally:
            seconds = perf_counter() - start
            served = self._tally.served
            if served is not None and not self.plain_reason:
                served[:] = served[0] + 1, served[1] + seconds, max(served[2], seconds)


@frozen
class PlainCalls:
    """Calls of a function that ran plain for one reason.

    Parameters
    ----------
    reason : str
    calls : int
    seconds : float
    loops : str, optional
        Why the function's loops are no procedure.
    """

    reason: str
    calls: int
    seconds: float
    loops: str = ""

    @property
    def rewrite(self) -> str:
        """What to change in the function; empty if there is nothing to gain."""
        return advice(self.reason, self.loops).rewrite


@frozen
class FunctionReport:
    """What became of a function, or of all functions that are defined at its place.

    Parameters
    ----------
    name, line : str
        With its module, and as ``file:line``.
    compiling : float
        Seconds in which Python looked for what serves a call, and compiled it if there was nothing.
    plain : tuple of PlainCalls
        Those that took longest first.
    served : tuple of int, float and float, or None
        Calls that compiled code served, their seconds with the compilation, and those of the longest; None if they are
        not counted.
    """

    name: str
    line: str
    compiling: float
    plain: tuple[PlainCalls, ...]
    served: tuple[int, float, float] | None = None

    @property
    def plain_calls(self) -> int:
        """How many calls ran plain."""
        return sum(p.calls for p in self.plain)

    @property
    def plain_seconds(self) -> float:
        """What these took."""
        return sum(p.seconds for p in self.plain)

    @property
    def lost(self) -> float:
        """Seconds that might be saved: for compiling, and for plain calls where something can be gained."""
        return self.compiling + sum(p.seconds for p in self.plain if p.rewrite)

    def cells(self) -> list[str]:
        """The row of the table."""
        calls, seconds, longest = self.served or (0, 0.0, 0.0)
        timed = [f"{calls}", f"{seconds:.2f}", f"{longest:.2f}"] if self.served else ["", "", ""]
        return [
            self.name, f"{self.lost:.2f}", f"{self.compiling:.2f}", f"{self.plain_calls}", f"{self.plain_seconds:.2f}",
            *timed,
        ]  # fmt: skip


_COLUMNS = ("function", "lost", "compiling", "plain calls", "plain", "compiled calls", "compiled", "longest")


@frozen
class Report:
    """What became of the functions of a process; made by `report`. Seconds but for the calls.

    Parameters
    ----------
    functions : tuple of FunctionReport
        Those that were called; the one that has lost most time first.
    left : tuple of str
        Functions that are not compiled, and why.
    never : tuple of str
        Names of those that nothing has called from Python.
    """

    functions: tuple[FunctionReport, ...]
    left: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def _table(self) -> list[list[str]]:
        """Head and rows, without columns that are empty."""
        rows = [list(_COLUMNS), *(f.cells() for f in self.functions)]
        shown = [k for k in range(len(_COLUMNS)) if k < 5 or any(row[k] for row in rows[1:])]
        return [[row[k] for k in shown] for row in rows]

    def __str__(self) -> str:
        table = self._table()
        widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
        lines = []
        for number, (name, *cells) in enumerate(table):
            lines.append("  ".join([f"{name:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(cells, widths[1:]))]).rstrip())
            lines += [f"  {text}" for text in _reasons(self.functions[number - 1])] if number else []
        lines += [f"left as it is: {text}" for text in self.left]
        return "\n".join([*lines, f"never called from Python: {', '.join(self.never)}"] if self.never else lines)

    def __repr__(self) -> str:
        seconds = sum(f.lost for f in self.functions)
        return f"<report of {len(self.functions)} functions, which have lost {seconds:.2f} s; print it>"

    def _repr_html_(self) -> str:
        head, *rows = ([html.escape(cell) for cell in row] for row in self._table())
        lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
        for function, (name, *cells) in zip(self.functions, rows):
            why = "".join(f"<br><small>{html.escape(text)}</small>" for text in _reasons(function))
            first = f'<td style="text-align:left" title="{html.escape(function.line)}"><code>{name}</code>{why}</td>'
            lines.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        return f"<table>{''.join(lines)}</table>"


def _reasons(function: FunctionReport) -> list[str]:
    texts = []
    for p in function.plain:
        share = f"{p.calls} call{'s' * (p.calls != 1)}, {p.seconds:.2f} s"
        texts.append(f"plain: {p.reason} ({share})" + (f"; what helps: {p.rewrite}" if p.rewrite else ""))
    return texts


def report() -> Report:
    """What the jit functions of this process have lost so far: the time to compile them, and plain calls, with reasons.

    Returns
    -------
    Report
        Printed, a table, the function that has lost most time first; in a notebook HTML.

    Notes
    -----
    Calls that compiled code serves are not timed, but by ``python -m jitrt run --report`` and ``%%jitrt``. A call
    inside of another one of the same function is part of that. On processors other than those of x86, plain calls that
    need no look at them any more are counted, but not timed.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def shown(x):
    ...     print(end="")
    ...     return 2 * x
    >>> for _ in range(50):
    ...     _ = shown(np.ones(400))
    >>> [found] = [f for f in jitrt.report().functions if f.name.endswith("report.shown")]
    >>> found.plain_calls, found.plain[0].rewrite
    (50, 'do this in front of the call or behind it, or in a function without decorator that calls this one')
    """
    found = [_of(tally) for tally in tallies()]
    called = [f for f in found if f.compiling or f.plain or (f.served or (0,))[0]]
    called.sort(key=lambda f: (-f.lost, -f.plain_seconds, f.name))
    never = sorted({f.name for f in found} - {f.name for f in called})
    return Report(tuple(called), tuple(f"{x.name} ({path}:{x.line}), {x.why}" for path, x in left), tuple(never))


def _of(tally: Tally) -> FunctionReport:
    reasons = {reason: tuple(sums) for reason, sums in tally.plain.items()}
    seconds_run = tally.compiled[1] + sum(seconds for _, seconds in reasons.values())
    tally.settle()
    for given, (calls, ticks) in tally.handed_back.items():  # by native code
        reason = given or _RAISING
        before, seconds = reasons.get(reason, (0, 0.0))
        reasons[reason] = before + calls, seconds + ticks * _seconds_a_tick()
    plain = sorted(
        (PlainCalls(printable(reason), calls, seconds, tally.loops) for reason, (calls, seconds) in reasons.items()),
        key=lambda p: -p.seconds,
    )
    served = None if tally.served is None else (tally.served[0], tally.served[1], tally.served[2])
    return FunctionReport(
        printable(tally.name), tally.line, max(tally.looked[1] - seconds_run, 0.0), tuple(plain), served
    )


@once
def _seconds_a_tick() -> float:
    """What a tick of the processor's clock is; 0 where that cannot be read."""
    install()
    tally = Tally("sleep", "")
    sleeping = NativeCallable(tally)
    sleeping._dispatch.serve_plain(sleep)
    start = perf_counter()
    sleeping(_CLOCK_SECONDS)
    seconds = perf_counter() - start
    ticks = tally.words.tolist()[2]
    return seconds / ticks if ticks else 0.0
