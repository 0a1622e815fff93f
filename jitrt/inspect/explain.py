"""`Explanation`: what a call runs, for people to read."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ..advice import Advice, advice, host_advice
from ..base.drawing import preformatted
from ..base.frozen import frozen
from ..codegen.kernels import Kernel
from ..frontend.control.looplines import LoopLine
from ..frontend.trace import Traced
from ..ir.node import Graph, Node
from ..ir.ops.contractions import RESULT
from ..ir.ops.pythonnumbers import is_python
from ..ir.worthwhile import BY_CALLS, BY_NUMPY
from ..programs import Compiled
from ..runtime.steps import CheckStep, HostStep, KernelStep, Step
from ..schedule.control import BranchCall, LoopCall
from ..schedule.loopnest import LoopNest
from ..schedule.nest import describe
from ..schedule.reasons import host_name

STYLE = (
    "<style>:root{color-scheme:light dark}body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "pre{overflow-x:auto}</style>"
)
_MUCH = 0.3  # of the time, which is worth an advice
_NO_KERNEL = ": no kernel for it"
_SHOWN = 3  # loops, and calls of NumPy, that a short explanation names
# What the parts of an explanation are, by the beginnings of their titles, for those who read one for the first time.
_CAPTIONS = {
    "loops": "each loop of the function, and what became of it",
    "values that it looks at": "between two of them, a segment of the function is compiled",
    "segment": "what runs up to one of these values",
    "graph after trace": "what the function computes, as it was recorded; t are values that no variable has",
    "graph after constants": "with the values of what depends on constant arrays alone",
    "graph after lower": "the same in fewer kinds of operations, with broadcasts made explicit",
    "graph after simplify": "without what need not be computed",
    "graph after legalise": "with the copies that memory demands, and long sums in two stages",
    "steps and loop nests": "what a call runs; each nest is a compiled loop, and operations in one body need no arrays",
    "frame": "the temporary memory of a call, and during which steps each part of it is in use",
    "in place": "which operations write over an operand, and why others do not",
    "kernels": "the compiled functions, and where their machine code is",
    "executed by NumPy": "what has no kernel, and runs as it would without jitrt",
    "time to compile": "by stage; shorter where kernels came from the disk cache",
}


@frozen
class Explanation:
    """What a call runs. Printing it tells what matters; `text` and notebooks tell all.

    Made by `JitFunction.explain` and `JitFunction.compile`.

    Parameters
    ----------
    name : str
        Of the function.
    plain_reason : str
        Why the plain function runs; empty if it is compiled.
    traced, compiled : optional
        What the stages made.
    loop : str
        The procedure that a function of loops over rows or elements is compiled to, as a whole.
    loops : tuple of LoopLine
        The loops of the function, with their lines, and what became of each.
    numpy_shares : tuple of (str, str, float)
        The functions that NumPy executes, with their lines and the share of the time of one run that each of them
        took; the one that took most comes first.
    called : tuple of str
        The functions that NumPy or Python executes for that procedure.
    file : str
        The function's, whose lines are given by their numbers alone.
    names : callable, optional
        Gives the names that the user's code has for values of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> @jitrt.jit
    ... def standardised(x):
    ...     return (x - x.mean()) / x.std()
    >>> explanation = standardised.explain(np.arange(5.0))
    >>> len(explanation.kernels), explanation.host_calls
    (1, [])
    >>> print(explanation)
    standardised is compiled: 1 kernel, 0 bytes of temporary memory, NumPy executes nothing
    all of it: print(….text()); parts: .graph, .loops, .kernels, .memory, .host_calls
    >>> print(explanation.memory)
    frame of 0 bytes (0 without sharing)
    """

    name: str
    plain_reason: str
    traced: Traced | None = None
    compiled: Compiled | None = None
    loop: str = ""
    loops: tuple[LoopLine, ...] = ()
    numpy_shares: tuple[tuple[str, str, float], ...] = ()
    called: tuple[str, ...] = ()
    file: str = ""
    names: Callable[[], Mapping[Node, str]] = dict

    @property
    def graph(self) -> Graph | None:
        """The graph as it was traced."""
        return None if self.traced is None else self.traced.graph

    @property
    def programs(self) -> list[Compiled]:
        """What is compiled: a program for each segment of another structure, the last segment at the end."""
        if self.traced is None or self.compiled is None:
            return []
        found = [c.compiled for c in self.traced.breaks if c.compiled is not None]
        return list({id(c): c for c in (*found, self.compiled)}.values())

    @property
    def kernels(self) -> list[Kernel]:
        """Compiled kernels, in the order in which they run."""
        return [s.kernel for c in self.programs for s in c.program.kernel_steps()]

    @property
    def memory(self) -> str:
        """The frames that calls work in: which bytes are in use during which steps, and which memory is shared."""
        return "\n".join(str(c.program.layout) for c in self.programs)

    @property
    def advice(self) -> str:
        """What to change in the function so that more of it is compiled; empty if there is nothing."""
        refused = self.loops[0].refused if self.loops else ""
        if self._costly():
            return host_advice(self._costly())
        if self.plain_reason:
            return self._advice_on_plain().rewrite
        if self.host_calls:
            return ""
        is_unrolled = any(line.fate.startswith("unrolled") for line in self.loops)
        return advice(refused or "unrolled").rewrite if is_unrolled else ""

    @property
    def looked_at(self) -> list[str]:
        """Values that the function looks at, with the lines of the user's code."""
        return [] if self.traced is None else [f"{c.why} at {c.line}" for c in self.traced.breaks]

    @property
    def loop_nests(self) -> list[LoopNest]:
        """Loop nests of the kernels."""
        return [k.nest for k in self.kernels]

    @property
    def rules(self) -> dict[str, int]:
        """How often each rewrite rule was applied, by its name; ``JITRT_RULES_OFF=name,name`` switches rules off."""
        return {} if self.compiled is None else dict(self.compiled.fired)

    @property
    def frame_bytes(self) -> int:
        """Bytes of temporary memory that a call works in."""
        return sum(c.program.layout.nbytes for c in self.programs)

    @property
    def llvm(self) -> str:
        """Optimised LLVM IR of the kernels."""
        return "\n".join({k.name: k.llvm for k in self.kernels}.values())

    @property
    def host_calls(self) -> list[str]:
        """What NumPy or Python executes inside the program, with the lines of the user's code where they are known."""
        if self.traced is None or self.compiled is None:
            return []
        calls = [f"{name} at {line}{_NO_KERNEL}" for name, line in self._traced_calls()]
        left = [c.program for c in self.programs if not c.program.image.is_native]  # steps are found by compiling again
        steps = [s.node for program in left for s in program.steps if isinstance(s, HostStep)]
        calls += [f"{n.op.name} {n.type}: Python's rules for its own numbers" for n in steps if is_python(n.op)]
        others = [n for n in steps if n.op.name != "call" and not is_python(n.op)]
        return calls + [f"{n.op.name} {n.type}{_NO_KERNEL}" for n in others]

    def _traced_calls(self) -> tuple[tuple[str, str], ...]:
        return () if self.traced is None else self.traced.host_calls

    def sections(self) -> list[tuple[str, str]]:
        """Titles and texts of the parts of the explanation."""
        loops = [("loops", "\n".join(map(str, self.loops)))] if self.loops else []
        if self.loop:
            executed = f"NumPy executes {', '.join(self.called) or 'nothing'}"
            return [(f"{self.name} is compiled as one function", executed), *loops, ("procedure", self.loop)]
        if self.traced is None or self.compiled is None:
            return [(f"{self.name} runs as plain NumPy", self._why_plain()), *loops]
        parts = [(f"{self.name} is compiled", self._summary()), *loops]
        if self.traced.breaks:
            parts.append(("values that it looks at, in this order", "\n".join(self.looked_at)))
            for number, compiled in enumerate(self.programs[:-1]):
                steps = _described(compiled.program.steps)
                parts.append((f"segment {number}", f"{compiled.stages[0][1]}\n" + "\n".join(steps)))
        parts += graph_sections(self.compiled.stages, self.names())
        program = self.compiled.program
        steps = _described(program.steps)
        parts.append(("steps and loop nests", "\n".join(steps) or "nothing to compute"))
        parts.append(("frame", str(program.layout)))
        parts.append(("in place", "\n".join(map(str, self.compiled.decisions)) or "nothing is stored"))
        parts.append(("kernels", "\n".join(f"{k.name} at 0x{k.address:x}" for k in self.kernels) or "none"))
        parts.append(("executed by NumPy", "\n".join(self.host_calls) or "nothing"))
        rules = "\n".join(f"{name}: {count}" for name, count in sorted(self.rules.items()))
        parts.append(("rules that were applied", rules or "none"))
        times = "  ".join(f"{stage} {1e3 * s:.1f} ms" for stage, s in self.compiled.seconds.items())
        parts.append(("time to compile", times))
        return parts

    def _costly(self) -> str:
        """The function of NumPy's that takes much of the time; empty if there is none."""
        if self.plain_reason.startswith(BY_NUMPY) and not self.numpy_shares:
            return self.plain_reason.partition("(")[2].partition(")")[0].partition(",")[0]
        if self.plain_reason and self.loops and self.loops[0].refused.startswith(BY_CALLS):
            return self.loops[0].refused.removeprefix(BY_CALLS).partition(",")[0]
        name, _, share = self.numpy_shares[0] if self.numpy_shares else ("", "", 0.0)
        return name if share >= _MUCH else ""

    def _why_plain(self) -> str:
        """Why the plain function runs; what takes the time, if that is the reason."""
        if not self.plain_reason.startswith(BY_NUMPY) or not self.numpy_shares:
            return self.plain_reason
        rest = self.plain_reason.partition(", and ")[2]
        return f"{self._share_of(*self.numpy_shares[0])}{rest and f', and {rest}'}"

    def _share_of(self, name: str, line: str, share: float) -> str:
        return f"{100 * share:.0f} % of the time is in {name}{self._where(line)}, which jitrt does not compile"

    def _where(self, line: str) -> str:
        file, _, number = line.rpartition(":")
        return line and (f" (line {number})" if file == self.file else f" ({line})")

    def _summary(self) -> str:
        executed = _counted(len(self.host_calls), "step") if self.host_calls else "nothing"
        parts = [_counted(len(self.kernels), "kernel"), f"{self.frame_bytes:,} bytes of temporary memory"]
        parts.append(f"NumPy executes {executed}")
        if self.looked_at:
            parts.append(f"{_counted(len(self.looked_at), 'look')} at values")
        return ", ".join(parts)

    def svg(self, what: str = "graph") -> str:
        """A picture, as the text of an SVG file.

        Parameters
        ----------
        what : {"graph", "loops", "memory"}
            The steps of the program and what they read of each other; the loop nests of the kernels; or the frame:
            which bytes are in use during which steps.

        Raises
        ------
        ValueError
            If there is no such picture, or the call is served by no program.
        """
        from . import pictures

        if self.compiled is None:
            raise ValueError(f"{self.name} is no program here, so that there are no pictures of it")
        program = self.compiled.program
        if what == "graph":
            return pictures.steps_picture(self.compiled.stages[-1][1], program.steps, self._unused())
        if what == "loops":
            return pictures.nests_picture([str(nest) for nest in self.loop_nests])
        if what == "memory":
            return pictures.memory_picture(program.layout, len(program.steps))
        raise ValueError(f"there are pictures of graph, loops and memory, not of {what}")

    def _unused(self) -> set[int]:
        """Outputs of the graph that are made only because a call may raise."""
        if self.traced is None:
            return set()
        used = {r.index for r in self.traced.results if r.source == "array"} | {k for _, k in self.traced.written}
        return {k for k, node in enumerate(self.traced.graph.outputs) if node.op is RESULT and k not in used}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation, with pictures, as a page of HTML.

        Parameters
        ----------
        path : path-like
            Of the file, which is replaced.
        """
        page = (
            f"<!doctype html><meta charset='utf-8'><title>{html.escape(self.name)}</title>{STYLE}{self._repr_html_()}"
        )
        Path(path).write_text(page, encoding="utf-8")

    def text(self) -> str:
        """All parts of the explanation, one below the other."""
        return to_text(self.sections())

    def __str__(self) -> str:
        title, text = self.sections()[0]
        lines = [f"{title}: {text}", *_some(map(str, self.loops))]
        if self.looked_at:
            lines.append(f"looks at {_counted(len(self.looked_at), 'value')}, the first: {self.looked_at[0]}")
        lines += _some(self._executed())
        lines += [f"what helps: {self.advice}{self._link()}"] if self.advice else []
        if not self.plain_reason:
            lines.append("all of it: print(….text()); parts: .graph, .loops, .kernels, .memory, .host_calls")
        return "\n".join(lines)

    __repr__ = __str__  # what is typed to see an explanation is the call alone

    def _executed(self) -> list[str]:
        """What NumPy executes, with lines and shares of the time, if these are known; what takes most comes first."""
        if self.compiled is None:
            return []
        if self.numpy_shares:
            return [self._share_of(*found) for found in self.numpy_shares]
        calls = {call: f"{call[0]}{self._where(call[1])}" for call in self._traced_calls()}
        others = [call.removesuffix(_NO_KERNEL) for call in self.host_calls[len(self._traced_calls()) :]]
        return [f"NumPy executes {call}" for call in dict.fromkeys([*calls.values(), *others])]

    def _advice_on_plain(self) -> Advice:
        """What helps where the plain function runs: values that a loop looks at come from what the loop may not do."""
        return advice(self.plain_reason, self.loops[0].refused if self.loops else "")

    def _link(self) -> str:
        """Where the documentation has the kind of reason that the advice is about."""
        return f" ({self._advice_on_plain().page})" if self.plain_reason and not self._costly() else ""

    def _repr_html_(self) -> str:
        pictures = {}
        if self.compiled is not None:
            pictures = {"steps": self.svg("graph"), "loops": self.svg("loops"), "memory": self.svg("memory")}
        shown = "".join(
            f"<details open><summary><b>{name}</b></summary>{picture}</details>" for name, picture in pictures.items()
        )
        return f"{preformatted(str(self))}{shown}{to_html(self.sections()[1:])}"


def _some(lines: Iterable[str]) -> list[str]:
    """The first lines, and how many more there are."""
    lines = list(lines)
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"and {more} more"]


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def graph_sections(
    stages: Sequence[tuple[str, Graph]], names: Mapping[Node, str] | None = None
) -> list[tuple[str, str]]:
    """The graph after each stage, or that the stage has not changed it; `names` are those of its nodes."""
    texts = [graph.text(names or {}) for _, graph in stages]
    return [
        (f"graph after {name}", "(unchanged)" if k and text == texts[k - 1] else text)
        for k, ((name, _), text) in enumerate(zip(stages, texts))
    ]


def _caption(title: str) -> str:
    """What the part with that title is; empty if the title tells."""
    return next((text for start, text in _CAPTIONS.items() if title.startswith(start)), "")


def to_text(sections: Sequence[tuple[str, str]]) -> str:
    """Titles and texts one below the other."""
    heads = [f"{title}: {caption}" if (caption := _caption(title)) else title for title, _ in sections]
    return "\n\n".join(f"-- {head} --\n{text}" for head, (_, text) in zip(heads, sections))


def to_html(sections: Sequence[tuple[str, str]]) -> str:
    """Titles and texts as parts of a page that can be opened and closed."""
    return "".join(
        f"<details><summary><b>{html.escape(title)}</b> "
        f"<small>{html.escape(_caption(title))}</small></summary>{preformatted(text)}</details>"
        for title, text in sections
    )


def _described(steps: Sequence[Step], indent: str = "") -> list[str]:
    """Lines that say what each step does."""
    lines = []
    for k, step in enumerate(steps):
        if isinstance(step, KernelStep):
            lines.append(f"{k}: {describe(step.call)}".replace("\n", "\n" + indent))
        elif isinstance(step, HostStep):
            lines.append(f"{k}: NumPy executes {host_name(step.node)}")
        elif isinstance(step, CheckStep):
            lines.append(f"{k}: {step.call}")
        else:
            for title, block in zip(titles(step.call), step.blocks):
                lines.append(f"{k}: {title}")
                lines += _described(block.steps, indent + "    ")
                lines.append(f"    {block.layout}".replace("\n", "\n    "))
    return [indent + line if not line.startswith(indent + " ") else line for line in lines]


def titles(call: LoopCall | BranchCall) -> list[str]:
    """What is written above each body of a loop or a choice."""
    if isinstance(call, BranchCall):
        return ["if a value is true:", "otherwise:"]
    what = call.what
    times = ["while a value is true"] if what.guarded else []
    times += [] if what.count is None else [f"{what.count} times"]
    turns = call.rotation.length
    where = (
        "each new value over an old one"
        if turns == 1
        else f"buffers change their roles every iteration, {turns} in turn"
    )
    return [f"loop {', at most '.join(times)}; {where}:"]
