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

    __slots__ = ("compiled", "longest", "name", "plain", "reasons")

    def __init__(self, name: str):
        self.name = name
        self.compiled = [0, 0.0]
        """Calls that compiled code served, with the compilation."""
        self.longest = 0.0
        """The seconds of the longest of these: most often the first one, which was compiled."""
        self.plain = [0, 0.0]
        """Calls of the plain function."""
        self.reasons: dict[str, int] = {}

    def note(self, seconds: float, reason: str) -> None:
        """Count a call; it was plain if there is a reason for that."""
        kind = self.plain if reason else self.compiled
        kind[0] += 1
        kind[1] += seconds
        if reason:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
        else:
            self.longest = max(self.longest, seconds)

    def add(self, other: Tally) -> None:
        """Count the calls of another function of that name, too."""
        for sums, more in ((self.compiled, other.compiled), (self.plain, other.plain)):
            sums[:] = [sums[0] + more[0], sums[1] + more[1]]
        self.longest = max(self.longest, other.longest)
        for reason, calls in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + calls


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
        start = perf_counter()
        try:
            return super().__call__(*args, **kwargs)
        finally:
            seconds = perf_counter() - start
            self._tally.note(seconds, self.plain_reason)


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
    >>> tally.note(0.25, ""), tally.note(0.5, ""), tally.note(1.0, "it prints")
    (None, None, None)
    >>> print(text([tally], [("main.py", Left("main", 7, "it calls print"))]))
    function    compiled seconds longest    plain seconds
    step               2    0.75    0.50        1    1.00
      plain: it prints (1 call)
    left as it is: main (main.py:7), it calls print
    """
    merged: dict[str, Tally] = {}
    for tally in every:
        merged.setdefault(tally.name, Tally(tally.name)).add(tally)
    called = [t for t in merged.values() if t.compiled[0] or t.plain[0]]
    called.sort(key=lambda t: -(t.compiled[1] + t.plain[1]))
    width = max([10, *(len(t.name) for t in called)])
    lines = [f"{'function':{width}}  compiled seconds longest    plain seconds"]
    for t in called:
        (calls, seconds), (plain, plain_seconds) = t.compiled, t.plain
        lines.append(f"{t.name:{width}} {calls:9}{seconds:8.2f}{t.longest:8.2f}{plain:9}{plain_seconds:8.2f}")
        for reason, count in t.reasons.items():
            lines.append(f"  plain: {reason} ({count} call{'s' * (count != 1)})")
    lines += [f"left as it is: {x.name} ({path}:{x.line}), {x.why}" for path, x in left]
    never = sorted(merged.keys() - {t.name for t in called})
    if never:
        lines.append(f"never called from Python: {', '.join(never)}")
    return "\n".join(lines)
