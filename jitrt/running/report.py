"""What became of the functions of a program: calls, seconds, and why some ran plain."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

from ..frontend.context import current
from ..jitfunction import JitFunction
from .choose import Left


class Tally:
    """Calls of a function, and the seconds that they took, with what they called."""

    __slots__ = ("compiled", "compiling", "name", "plain", "reasons")

    def __init__(self, name: str):
        self.name = name
        self.compiled = [0, 0.0]
        """Calls that native code served."""
        self.compiling = [0, 0.0]
        """Calls that had to be compiled, or looked up, first."""
        self.plain = [0, 0.0]
        """Calls of the plain function."""
        self.reasons: dict[str, int] = {}

    def note(self, seconds: float, reason: str, is_slow: bool) -> None:
        """Count a call."""
        kind = self.plain if reason else self.compiling if is_slow else self.compiled
        kind[0] += 1
        kind[1] += seconds
        if reason:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


tallies: list[Tally] = []


class Measured(JitFunction):
    """A jit function whose calls are counted and timed."""

    def __init__(self, function: Any, *options: Any):
        super().__init__(function, *options)
        self._tally = Tally(f"{function.__module__}.{function.__qualname__}".removeprefix("__main__."))
        tallies.append(self._tally)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:  # part of another function's trace
            return super().__call__(*args, **kwargs)
        slow, start = self._slow_calls, perf_counter()
        try:
            return super().__call__(*args, **kwargs)
        finally:
            seconds = perf_counter() - start
            self._tally.note(seconds, self.plain_reason, self._slow_calls > slow)


def text(every: Iterable[Tally], left: Iterable[tuple[str, Left]]) -> str:
    """The report.

    Parameters
    ----------
    every : iterable of Tally
        Of the functions that are decorated.
    left : iterable of (str, Left)
        The functions that are not, with their files.

    Examples
    --------
    >>> tally = Tally("step")
    >>> tally.note(0.25, "", True), tally.note(0.5, "", False), tally.note(1.0, "it prints", True)
    (None, None, None)
    >>> print(text([tally], [("main.py", Left("main", 7, "it calls print"))]))
    function    compiled     s    first     s    plain     s
    step               1  0.50        1  0.25        1  1.00
      plain: it prints (1 call)
    left as it is: main (main.py:7), it calls print
    """
    merged: dict[str, Tally] = {}
    for tally in every:
        into = merged.setdefault(tally.name, Tally(tally.name))
        for kind in ("compiled", "compiling", "plain"):
            sums, more = getattr(into, kind), getattr(tally, kind)
            sums[:] = [sums[0] + more[0], sums[1] + more[1]]
        for reason, calls in tally.reasons.items():
            into.reasons[reason] = into.reasons.get(reason, 0) + calls
    called = [t for t in merged.values() if t.compiled[0] or t.compiling[0] or t.plain[0]]
    called.sort(key=lambda t: -(t.compiled[1] + t.compiling[1] + t.plain[1]))
    width = max([10, *(len(t.name) for t in called)])
    lines = [f"{'function':{width}}  compiled     s    first     s    plain     s"]
    for t in called:
        counts = "".join(f"{calls:9}{seconds:6.2f}" for calls, seconds in (t.compiled, t.compiling, t.plain))
        lines.append(f"{t.name:{width}} {counts}")
        for reason, calls in t.reasons.items():
            lines.append(f"  plain: {reason} ({calls} call{'s' * (calls != 1)})")
    lines += [f"left as it is: {x.name} ({path}:{x.line}), {x.why}" for path, x in left]
    never = sorted(merged.keys() - {t.name for t in called})
    if never:
        lines.append(f"never called from Python: {', '.join(never)}")
    return "\n".join(lines)
