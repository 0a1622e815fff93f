"""What a program does with its memory: inputs, outputs, what is there before a call, and the operations of a call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..base.atwork import at_work
from ..base.frozen import replaced
from ..call.site import ServedFunction
from ..errors import NotWorthwhile, Untraceable
from ..frontend.trace import Request, Traced, trace
from ..ir.node import Node, type_of
from ..ir.ops.optable import CONSTANT
from ..pipeline import Lowered, lower
from ..schedule.control import BranchCall, Step
from ..schedule.nest import KernelCall
from ..schedule.reasons import host_name


def traced_and_lowered(function: ServedFunction, args: Sequence[Any]) -> tuple[Traced, Lowered]:
    """What the stages in front of code generation make of a call.

    Raises
    ------
    ValueError
        If such calls run as plain NumPy.
    """
    call = function._traced.taken(tuple(args), {})
    try:
        with at_work():
            captures, rounding = function._specialisations.current_captures(), function._options.rounding
            traced = trace(Request(function._function, call.leaves, call.structure, captures, rounding=rounding))
            inputs = [call.leaves[k] for k in traced.arguments] + [c.read() for c in traced.captured]
            return traced, lower(replaced(traced.graph, rounding=rounding), inputs)
    except (Untraceable, NotWorthwhile) as reason:
        raise ValueError(f"such calls run as plain NumPy: {reason}") from None


def description(inputs: Sequence[str], outputs: Sequence[str], traced: Traced, lowered: Lowered) -> str:
    """The text of a program of inputs and outputs of these names."""
    slots, graph = lowered.memory.layout.slots, lowered.block.graph
    own = [inputs[k] for k in traced.arguments] + [f"captured{k}" for k in range(len(traced.captured))]
    names: dict[Node, str] = {}
    for node, name in zip(graph.inputs, own):
        names[node] = f"{name}: {node.type} [{_offset(slots[node].offset) if node in slots else 'of the caller'}]"
    shown: dict[Node, str] = {}
    for name, result in zip(outputs, traced.results):
        if result.source == "array" and result.view is None:
            node = graph.outputs[result.index]
            shown[node] = f"{shown[node]} = {name}" if node in shown else name
    listed: dict[str, str] = {}
    for name, result in zip(outputs, traced.results):
        if result.source == "value":
            listed[name] = f"{type_of(result.value)} [literal]"
        elif result.view is None and result.source == "array":
            node = graph.outputs[result.index]
            listed[shown[node]] = f"{node.type} [result]"
        else:
            node = graph.inputs[result.index] if result.source == "input" else graph.outputs[result.index]
            base = own[result.index] if result.source == "input" else shown.setdefault(node, f"base of {name}")
            listed[name] = f"{(result.view or node).type} [{'a view of ' if result.view else ''}{base}]"
    initial: list[str] = []
    operations: list[list[str]] = []

    inside: dict[Node, str] = {}
    """Where inputs and results of what is inside of a choice lie."""

    def place(base: Node, offset: int = 0) -> str:
        if base in slots:
            return f"[{_offset(slots[base].offset + offset)}]"
        if base in inside:
            return inside[base]
        base = lowered.memory.layout.hosted[base][0] if base in lowered.memory.layout.hosted else base
        return f"<{shown.get(base) or names.get(base, str(base.type)).partition(':')[0]}>"

    def add(step: Step) -> None:
        number = len(operations)
        if isinstance(step, BranchCall):
            for choice in step.choices:
                inside.update(zip(choice.graph.inputs, [place(w.base, w.offset) for w in step.first]))
                inside.update((choice.graph.outputs[k], place(node)) for k, node in step.results.items())
            operations.append([])
            for inner in step.choices[0].steps:
                add(inner)
            end = len(operations)
            operations.append([])
            for inner in step.choices[1].steps:
                add(inner)
            operations[number] = [f"jump to {end + 1} unless {place(step.condition.base, step.condition.offset)}"]
            operations[end] = [f"jump to {len(operations)}"]
            return
        if not isinstance(step, KernelCall):
            operations.append([f"NumPy executes {host_name(step)}" if isinstance(step, Node) else str(step)])
            return
        places: dict[str, str] = {}
        for k, value in enumerate(step.literals):
            places[f"c{k}"] = f"k{number}.c{k}"
            initial.append(f"{value.dtype.str[1:]} [k{number}.c{k}] = {value}")
        for operand, layout in zip(step.nest.operands, step.layouts):
            base = layout.base
            if base.op is CONSTANT:
                places[operand.name] = f"k{number}.{operand.name}"
                initial.append(f"{base.type} [{places[operand.name]}] = {base['value']!r}")
            else:
                places[operand.name] = place(layout.base, layout.offset)
        lines = _renamed(str(step.nest).split("\n")[1:], places)
        operations.append(["a kernel, its values in registers", *lines])

    for step in lowered.memory.steps:
        add(step)
    numbered = [
        f"  {line}" if n else f"{k}: {line}" for k, lines in enumerate(operations) for n, line in enumerate(lines)
    ]
    return "\n".join(
        [
            *_section("Inputs", [*names.values(), *(f"{name}: not read" for name in inputs if name not in own)]),
            *_section("Outputs", [f"{name}: {text}" for name, text in listed.items()]),
            *_section("Init operations", initial),
            *_section(f"Eval operations, in a frame of {lowered.memory.layout.nbytes} bytes", numbered),
        ]
    )


def _offset(number: int) -> str:
    return f"0x{number:02X}"


def _section(title: str, lines: Any) -> Iterator[str]:
    yield f"{title}:"
    yield from (f"  {line}" for line in lines)


def _renamed(lines: Sequence[str], places: dict[str, str]) -> list[str]:
    """Lines of a nest with the places of its operands for their names."""
    pattern = re.compile("|".join(rf"\b{re.escape(name)}(?!\w)" for name in sorted(places, key=len, reverse=True)))
    made = [pattern.sub(lambda found: places[found[0]], line) if places else line for line in lines]
    return [line.replace("[]", "") for line in made]
