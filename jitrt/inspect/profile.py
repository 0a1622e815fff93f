"""Where the time of a call goes: kernels, calls that NumPy makes, and Python."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.frozen import frozen
from ..base.once import once
from ..ir.build import elementwise, input_node
from ..ir.node import Graph, type_of
from ..programs import compile_graph
from ..runtime.assemble import assemble, hosts_of
from ..runtime.frames import Frame
from ..runtime.hostframes import HostFrame
from ..runtime.program import Program
from ..runtime.steps import CheckStep, ControlStep, HostStep, KernelStep, Step, addresses, kernel_steps, touched_bytes
from ..schedule.loopnest import LoopNest

_BANDWIDTH_ELEMENTS = 8 << 20  # 64 MiB of float64: more than the caches of most machines
_SECONDS = 0.2  # to spend on repeats
_BY_NUMPY = "NumPy executes "
_SHOWN = 6  # operations of a kernel that are named


@frozen
class StepTime:
    """Time of one step of a program.

    Parameters
    ----------
    what : str
    seconds : float
        Best of several runs.
    nbytes : int
        Bytes that it reads and writes, each once; 0 if unknown.
    by_numpy : bool
        Whether NumPy executes it.
    """

    what: str
    seconds: float
    nbytes: int
    by_numpy: bool


@frozen
class Profile:
    """Times of a call; printing it gives a table.

    Parameters
    ----------
    name : str
        Of the function.
    seconds, plain_seconds : float
        Best times of a call, compiled and plain.
    steps : tuple of StepTime
    bandwidth : float
        Bytes per second that this machine reads and writes in a loop that does little else.
    plain_reason : str
        Why the plain function runs; empty if it is compiled.
    """

    name: str
    seconds: float
    plain_seconds: float
    steps: tuple[StepTime, ...]
    bandwidth: float
    plain_reason: str = ""

    @property
    def kernel_seconds(self) -> float:
        """Time in kernels."""
        return sum(s.seconds for s in self.steps if not s.by_numpy)

    @property
    def numpy_seconds(self) -> float:
        """Time in calls that NumPy makes inside of the program."""
        return sum(s.seconds for s in self.steps if s.by_numpy)

    @property
    def python_seconds(self) -> float:
        """The rest of a call: arguments, results, and the way between steps."""
        return max(0.0, self.seconds - self.kernel_seconds - self.numpy_seconds)

    def __str__(self) -> str:
        lines = [f"{self.name}: {1e6 * self.seconds:.2f} µs a call, plain {1e6 * self.plain_seconds:.2f} µs"]
        if self.plain_reason:
            return f"{lines[0]}\nruns as plain NumPy: {self.plain_reason}"
        for k, step in enumerate(self.steps):
            text = f"{k:4}  {1e6 * step.seconds:10.2f} µs  {_share(step.seconds, self.seconds):>5}  "
            traffic = ""
            if step.nbytes:
                speed = step.nbytes / step.seconds
                traffic = f"{step.nbytes / 1e6:9.3f} MB  {speed / 1e9:6.1f} GB/s ({_share(speed, self.bandwidth):>4})"
            lines.append(f"{text}{traffic:31}  {step.what}")
        parts = {"kernels": self.kernel_seconds, "NumPy": self.numpy_seconds, "Python": self.python_seconds}
        lines.append(", ".join(f"{name} {_share(seconds, self.seconds)}" for name, seconds in parts.items()))
        if self.kernel_seconds + self.numpy_seconds > self.seconds:
            lines.append("(steps are timed one at a time from Python, which takes up to a microsecond more for each)")
        lines.append(f"this machine: {self.bandwidth / 1e9:.1f} GB/s")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .pictures import bars_picture

        if not self.steps:
            return f"<pre>{html.escape(str(self))}</pre>"
        bars = [(_short(s.what), s.seconds, f"{1e6 * s.seconds:.1f} µs") for s in self.steps]
        bars.append(("Python", self.python_seconds, f"{1e6 * self.python_seconds:.1f} µs"))
        marks = [s.nbytes / self.bandwidth if s.nbytes else None for s in self.steps]
        picture = bars_picture(bars, max(length for _, length, _ in bars), marks)
        return f"<pre>{html.escape(str(self))}</pre>{picture}<p>The marks: what the traffic takes from main memory.</p>"


def numpy_shares(programs: Sequence[tuple[Program, Sequence[Any]]]) -> dict[str, float]:
    """The shares of the time of one run that calls of NumPy take, by the names of its functions.

    Parameters
    ----------
    programs : sequence of (Program, inputs)
        That a call runs. The inputs may be written.
    """
    steps = [step for program, inputs in programs for step in step_times(program, inputs, once=True)]
    total, shares = sum(step.seconds for step in steps), dict[str, float]()
    for step in steps:
        if step.by_numpy and total:
            name = step.what.removeprefix(_BY_NUMPY)
            shares[name] = shares.get(name, 0.0) + step.seconds / total
    return shares


def _short(what: str) -> str:
    return what if len(what) <= 40 else f"{what[:39]}…"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def best_time(function: Callable[[], Any], most_runs: int = 10_000) -> float:
    """Seconds that `function` takes, the best of as many runs as fit into a moment."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs < 3 or (spent < _SECONDS and runs < most_runs):
        start = time.perf_counter()
        function()
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def step_times(program: Program, inputs: Sequence[Any], once: bool = False) -> tuple[StepTime, ...]:
    """Times of the steps of `program`, each run by itself, some times or once."""
    made = program.details()
    graph, steps, layout = made.graph, made.steps, made.layout
    image = assemble(graph, steps, layout, made.strides, separate=True)
    frame = HostFrame(
        hosts_of(graph, steps, layout, made.strides), image, addresses(steps, image.kernels), program.limit
    )
    if program.layout.overwritten():
        inputs = [value.copy() if isinstance(value, np.ndarray) else value for value in inputs]
    best: list[float] = [float("inf")] * len(program.steps)
    spent, runs = 0.0, 0
    with np.errstate(all="ignore"):
        while runs < (1 if once else 3) or (not once and spent < _SECONDS and runs < 1000):
            for k, seconds in enumerate(_seconds_of_actions(frame, inputs)):
                best[k] = min(best[k], seconds)
                spent += seconds
            runs += 1
    return tuple(
        StepTime(_what(step), seconds, _nbytes(step), isinstance(step, HostStep))
        for step, seconds in zip(program.steps, best)
    )


def _seconds_of_actions(frame: Frame, inputs: Sequence[Any]) -> Iterator[float]:
    objects = frame.begin(inputs)
    for action in frame.actions:
        start = time.perf_counter()
        frame.perform(action, objects, 0)
        yield time.perf_counter() - start


def _what(step: Step) -> str:
    if isinstance(step, HostStep):
        node = step.node
        return f"{_BY_NUMPY}{node['call'].name if node.op.name == 'call' else node.op.name}"
    if isinstance(step, ControlStep):
        kernels = len(list(kernel_steps([step])))
        return f"a loop or choice with {kernels} kernel{'s' if kernels > 1 else ''}"
    return "a check of indices" if isinstance(step, CheckStep) else f"kernel: {_operations(step.kernel.nest)}"


def _operations(nest: LoopNest) -> str:
    """What a kernel computes, in a few words."""
    shown = nest.operations()
    return ", ".join(shown[:_SHOWN]) + ("" if len(shown) <= _SHOWN else ", …") if shown else "copies"


def _nbytes(step: Step) -> int:
    """Bytes that a kernel reads and writes, each once."""
    return touched_bytes(step.call) if isinstance(step, KernelStep) else 0


@once
def machine_bandwidth() -> float:
    """Bytes per second that a kernel with one operation moves through large arrays."""
    array = np.ones(_BANDWIDTH_ELEMENTS)
    x = input_node(0, type_of(array))
    program = compile_graph(Graph((x,), (elementwise(np.negative, x),)), [array]).program
    return 2 * array.nbytes / best_time(lambda: program.run([array]))
