"""Pictures of programs as SVG: steps as boxes, loop nests as frames, memory as a map, times as bars."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..base.drawing import COLOURS, GAP, LETTER, LINE, PAD, Box, layered, rectangle, svg, text
from ..ir.node import Graph, Node
from ..memory.frame import FrameLayout
from ..runtime.steps import HostStep, KernelStep, Step
from ..schedule.reasons import host_name

_WIDEST = 44  # letters in a line of a box


def steps_picture(graph: Graph, steps: Sequence[Step], unused: Collection[int] = ()) -> str:
    """What a program computes: inputs, and a box for each step, with the operations that are fused in it.

    Outputs that are numbered `unused` are made, and no results.
    """
    boxes: list[Box] = []
    made: dict[Node, int] = {}
    for k, node in enumerate(graph.inputs):
        made[node] = len(boxes)
        boxes.append(Box((f"x{k}", str(node.type)), "gray"))
    for number, step in enumerate(steps):
        reads, writes = _accesses(step)
        after = _makers(reads, made)
        if isinstance(step, KernelStep):
            types = ", ".join(str(node.type) for node in writes)
            lines = (f"step {number}: kernel", *_wrapped(step.call.nest.operations() or ["copy"]), f"→ {types}")
            boxes.append(Box(lines, COLOURS[0], after))
        elif isinstance(step, HostStep):
            boxes.append(Box((f"step {number}: NumPy", host_name(step.node)), COLOURS[1], after))
        else:
            boxes.append(Box((f"step {number}: {type(step).__name__.removesuffix('Step').lower()}",), "gray", after))
        made.update(dict.fromkeys(writes, len(boxes) - 1))
    for k, node in enumerate([n for number, n in enumerate(graph.outputs) if number not in unused]):
        boxes.append(Box((f"result {k}", str(node.type)), "gray", _makers([node], made)))
    return layered(boxes)


def _accesses(step: Step) -> tuple[list[Node], list[Node]]:
    """What a step reads, and the stored arrays that it writes."""
    if isinstance(step, KernelStep):
        operands = [(o, layout.base) for o, layout in zip(step.call.nest.operands, step.call.layouts) if not o.is_local]
        written = dict.fromkeys(base for o, base in operands if not o.is_input)
        return [base for o, base in operands if o.is_input], list(written)
    return (list(step.node.args), [step.node]) if isinstance(step, HostStep) else ([], [])


def _makers(nodes: Sequence[Node], made: dict[Node, int]) -> tuple[int, ...]:
    """The boxes that arrays, or what they are views of, were made in."""
    pending, found = list(nodes), set()
    while pending:
        node = pending.pop()
        if node in made:
            found.add(made[node])
        else:
            pending += node.args
    return tuple(sorted(found))


def _wrapped(names: Sequence[str]) -> list[str]:
    lines = [""]
    for name in dict.fromkeys(names):
        if len(lines[-1]) + len(name) > _WIDEST:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{name}"
    return lines


def memory_picture(layout: FrameLayout, steps: int) -> str:
    """The frame as a map: bytes to the right, steps downwards, and a rectangle for each array while it is needed."""
    slots = sorted(layout.slots.items(), key=lambda item: (item[1].offset, item[1].first))
    if not layout.nbytes or not slots:
        return svg(260, 30, [text(4, 20, "no temporary arrays")])
    width, row, left, top = 640, 22, 60, 34
    scale = width / layout.nbytes
    rows = max(steps, max(slot.end for _, slot in slots))
    parts = [text(left, 14, "0"), text(left + width, 14, f"{layout.nbytes:,} bytes", "end")]
    for number in range(rows):
        parts.append(text(left - 8, top + row * (number + 0.7), f"step {number}", "end", 0.6))
    for k, (node, slot) in enumerate(slots):
        x, w = left + slot.offset * scale, node.type.nbytes * scale
        y, h = top + row * slot.first, row * (slot.end - slot.first) - 2
        parts.append(rectangle(x, y, w, h, COLOURS[k % len(COLOURS)], f"{node.op.name} {slot}"))
        if len(name := f"{node.op.name} {node.type}") * LETTER < w - PAD:
            parts.append(text(x + PAD / 2, y + row * 0.65, name))
    return svg(left + width + PAD, top + row * rows + PAD, parts)


def nests_picture(nests: Sequence[str]) -> str:
    """Loop nests as frames in frames, from their texts.

    Examples
    --------
    >>> picture = nests_picture(["nest(y0)\\n  for i:\\n    y0[i] = v0"])
    >>> picture.count("<rect"), picture.count("<text")
    (1, 3)
    """
    texts: list[str] = []
    frames: list[tuple[int, float, int]] = []  # depth, top, lines
    y, width = float(PAD), 0.0
    for nest in nests:
        lines = [line for line in nest.split("\n") if not line.lstrip().startswith("#")]
        depths = [(len(line) - len(line.lstrip())) // 2 for line in lines]
        for k, (line, depth) in enumerate(zip(lines, depths)):
            shown = line.strip() if len(line) <= 2 * _WIDEST else f"{line.strip()[: 2 * _WIDEST - 1]}…"
            width = max(width, 2 * PAD * depth + LETTER * len(shown) + 2 * PAD)
            if line.lstrip().startswith("for "):
                inside = next((j for j in range(k + 1, len(lines)) if depths[j] <= depth), len(lines)) - k
                frames.append((depth, y, inside))
            texts.append(text(PAD * (depth + 1), y + 0.68 * LINE, shown))
            y += LINE
        y += GAP
    total = width + PAD
    drawn = [
        rectangle(PAD * d + 2, top, total - 2 * PAD * d - 4, LINE * n - 2, COLOURS[d % len(COLOURS)])
        for d, top, n in frames
    ]
    return svg(total, y, [*drawn, *texts])


def bars_picture(bars: Sequence[tuple[str, float, str]], unit: float, marks: Sequence[float | None] = ()) -> str:
    """Horizontal bars with their names, lengths in `unit`, and a mark in each where one is given.

    Parameters
    ----------
    bars : sequence of (str, float, str)
        A name, a length, and what is written behind it.
    unit : float
        The length that takes the whole width.
    marks : sequence of float, optional
        Lengths at which a bar could end at best.
    """
    names = LETTER * max((len(name) for name, _, _ in bars), default=0) + 2 * PAD
    width, row = 360, 24
    behind = LETTER * max((len(what) for _, _, what in bars), default=0)
    parts = []
    for k, (name, length, what) in enumerate(bars):
        y, reach = k * row, width * min(length / unit, 1) if unit else 0
        parts.append(text(names - PAD, y + 0.7 * row, name, "end"))
        parts.append(rectangle(names, y + 3, reach, row - 6, COLOURS[k % len(COLOURS)], what))
        mark = marks[k] if k < len(marks) and unit else None
        end = reach if mark is None else max(reach, width * min(mark / unit, 1))
        parts.append(text(names + end + PAD, y + 0.7 * row, what))
        if mark is not None:
            x = names + width * min(mark / unit, 1)
            parts.append(f'<path d="M{x:.0f},{y + 1:.0f} V{y + row - 1:.0f}" stroke="currentColor" stroke-width="2"/>')
    return svg(names + width + behind + 2 * PAD, row * len(bars) + PAD, parts)
