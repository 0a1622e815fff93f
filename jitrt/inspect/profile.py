"""Where the time of a call goes: kernels, calls that NumPy makes, and Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.drawing import preformatted
from ..base.frozen import frozen
from ..base.once import once
from ..ir.build import elementwise, input_node
from ..ir.interpret import evaluate_node
from ..ir.node import Graph, type_of
from ..ir.ops.contractions import CALL, Call
from ..ir.ops.updates import UPDATE
from ..programs import compile_graph
from ..runtime.assemble import assemble, hosts_of
from ..runtime.frames import Frame
from ..runtime.hostframes import HostFrame
from ..runtime.program import Program
from ..runtime.steps import CheckStep, ControlStep, HostStep, KernelStep, Step, addresses, kernel_steps, touched_bytes
from ..schedule.loopnest import LoopNest
from ..schedule.reasons import host_name

_BANDWIDTH_ELEMENTS = 8 << 20  # 64 MiB of float64: more than the caches of most machines
_BY_NUMPY = "NumPy executes "
_SHOWN = 6  # operations of a kernel that are named


class Moment(NamedTuple):
    """How long something is repeated: at least so many runs, and for so many seconds."""

    runs: int
    seconds: float


_LONG = Moment(3, 0.2)
SHORT = Moment(1, 0.02)


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
    line : str, optional
        Of the user's code, if it is a call.
    """

    what: str
    seconds: float
    nbytes: int
    by_numpy: bool
    line: str = ""


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
            lines.append(f"{text}{traffic:31}  {step.what}{f' ({step.line})' if step.line else ''}")
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
            return preformatted(str(self))
        bars = [(_short(s.what), s.seconds, f"{1e6 * s.seconds:.1f} µs") for s in self.steps]
        bars.append(("Python", self.python_seconds, f"{1e6 * self.python_seconds:.1f} µs"))
        marks = [s.nbytes / self.bandwidth if s.nbytes else None for s in self.steps]
        picture = bars_picture(bars, max(length for _, length, _ in bars), marks)
        return f"{preformatted(str(self))}{picture}<p>The marks: what the traffic takes from main memory.</p>"


def numpy_shares(steps: Sequence[StepTime]) -> tuple[tuple[str, str, float], ...]:
    """The functions that NumPy executes, with their lines and shares of the time, the one that takes most first."""
    total, shares = sum(step.seconds for step in steps), dict[tuple[str, str], float]()
    for step in steps:
        if step.by_numpy and total:
            call = step.what.removeprefix(_BY_NUMPY), step.line
            shares[call] = shares.get(call, 0.0) + step.seconds / total
    return tuple((*call, share) for call, share in sorted(shares.items(), key=lambda item: -item[1]))


def plain_times(graph: Graph, inputs: Sequence[Any]) -> tuple[StepTime, ...]:
    """Times of the nodes of a graph that NumPy computes one by one, since there is no program for it.

    Parameters
    ----------
    graph : Graph
    inputs : sequence
        Values of its inputs, which are not written.
    """
    values, times = dict(zip(graph.inputs, inputs)), []
    with np.errstate(all="ignore"):
        for node in graph.nodes():
            if node in values:
                continue
            start = time.perf_counter()
            values[node] = evaluate_node(node, [values[a] for a in node.args])
            seconds = time.perf_counter() - start
            if node.op is CALL:
                times.append(_of_call(node["call"], seconds))
            elif node.op is not UPDATE:  # which copies the whole array here alone
                times.append(StepTime(node.op.name, seconds, 0, False))
    return tuple(times)


def _of_call(call: Call, seconds: float) -> StepTime:
    return StepTime(f"{_BY_NUMPY}{call.title}", seconds, 0, True, call.line)


def _short(what: str) -> str:
    return what if len(what) <= 40 else f"{what[:39]}…"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def best_time(function: Callable[[], Any], most_runs: int = 10_000, moment: Moment = _LONG) -> float:
    """Seconds that `function` takes, the best of as many runs as fit into a moment."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs < moment.runs or (spent < moment.seconds and runs < most_runs):
        start = time.perf_counter()
        function()
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
    return best


def step_times(program: Program | Call, inputs: Sequence[Any], moment: Moment = _LONG) -> tuple[StepTime, ...]:
    """Times of the steps of a program, or of a call between two, each run by itself, the best of some runs."""
    if isinstance(program, Call):
        with np.errstate(all="ignore"):
            return (_of_call(program, best_time(lambda: program(*inputs), moment=moment)),)
    made = program.details()
    graph, steps, layout = made.graph, made.steps, made.layout
    image = assemble(graph, steps, layout, made.strides, separate=True)
    frame = HostFrame(
        hosts_of(graph, steps, layout, made.strides), image, list(addresses(steps, image.kernels)), program.limit
    )
    if program.layout.overwritten():
        inputs = [value.copy() if isinstance(value, np.ndarray) else value for value in inputs]
    best: list[float] = [float("inf")] * len(program.steps)
    spent, runs = 0.0, 0
    with np.errstate(all="ignore"):
        while runs < moment.runs or (spent < moment.seconds and runs < 1000):
            for k, seconds in enumerate(_seconds_of_actions(frame, inputs)):
                best[k] = min(best[k], seconds)
                spent += seconds
            runs += 1
    return tuple(
        StepTime(_what(step), seconds, _nbytes(step), isinstance(step, HostStep), _line(step))
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
        return f"{_BY_NUMPY}{host_name(step.node)}"
    if isinstance(step, ControlStep):
        kernels = len(list(kernel_steps([step])))
        return f"a loop or choice with {kernels} kernel{'s' if kernels > 1 else ''}"
    return "a check of indices" if isinstance(step, CheckStep) else f"kernel: {_operations(step.kernel.nest)}"


def _line(step: Step) -> str:
    """The user's line of a call that NumPy makes; empty for other steps."""
    return step.node["call"].line if isinstance(step, HostStep) and step.node.op is CALL else ""


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
