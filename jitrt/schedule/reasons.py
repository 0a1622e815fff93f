"""Why groups were not fused with those that read what they store, or the same arrays: printed by `explain`.

A stored value moves bytes that a fused one does not: they stand against the operations that each reader would repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ..ir.node import Node
from ..ir.ops.contractions import public_name
from ..ir.ops.movement import base_of
from ..ir.ops.optable import Kind
from .cost import count, size
from .groups import Group, Sink, why_apart

_MUCH = 1 << 12  # bytes of an array that it would be worth reading once instead of twice
_UNDECIDED = "neither computes anything for the other", "nests that share a loop are one already"
_MOST_NODES = 256  # that are counted as the cost of one value


def reasons(
    groups: Sequence[Group], outputs: Sequence[Node], inlined: Callable[[Node], bool]
) -> list[Callable[[], str]]:
    """For each group what gives the lines to be said: about values that others read, and about what it reads again.

    Parameters
    ----------
    groups : sequence of Group
        In the order in which they run.
    outputs : sequence of Node
    inlined : callable
        Whether a node is computed where it is used unless it is stored.
    """
    readers: dict[Node, list[int]] = {}
    for number, group in enumerate(groups):
        for node in group.loads if group.host is None else map(base_of, group.host.args):
            if number not in (of := readers.setdefault(node, [])):
                of.append(number)

    def lines(number: int, group: Group) -> str:
        said: dict[str, None] = {}
        if group.host is None:
            for sink in {s.into: s for s in group.sinks}.values():
                if others := [k for k in readers.get(sink.into, []) if k > number]:
                    said[_stored(group, sink, {k: groups[k] for k in others}, sink.into in outputs, inlined)] = None
            earlier = {n: max((k for k in readers[n] if k < number), default=-1) for n in group.loads}
            said.update(dict.fromkeys(_read_again(groups, number, earlier)))
        return "\n".join(said)

    return [partial(lines, number, group) for number, group in enumerate(groups)]


def _stored(
    group: Group, sink: Sink, readers: dict[int, Group], is_output: bool, inlined: Callable[[Node], bool]
) -> str:
    node = sink.into
    names = " and ".join(f"step {k} ({_name(g)})" for k, g in readers.items())
    whys = dict.fromkeys(_why_stored(group, sink, reader) for reader in readers.values())
    moved = f"{size(node.type.nbytes * len(readers))} read"
    if not is_output:
        moved = f"{size(node.type.nbytes)} written and {moved}"
    repeated = 0
    for reader in readers.values():
        if reader.host is None:
            elements = math.prod(_reading(reader, node).kind[0]) if sink.folded_axes else node.type.size
            each = math.prod(sink.domain) // max(node.type.size, 1) if sink.folded_axes else 1
            repeated += elements * each * (_cost(group, sink.value, inlined) + bool(sink.folded_axes))
    against = f", against {count(repeated)} additions if computed there" if repeated else ""
    return f"{node.op.name} is stored on its own, for {names}: {'; '.join(whys)}; {moved}{against}"


def _reading(group: Group, node: Node) -> Group:
    """The member of a group that reads `node`."""
    return next((m for m in group.members if node in m.loads), group)


_HOW_READ = {Kind.CONTROL: "is given whole arrays", Kind.CHECK: "comes before any element is read"}


def _why_stored(group: Group, sink: Sink, reader: Group) -> str:
    if reader.host is not None:
        return f"{_name(reader)} {_HOW_READ.get(reader.host.op.kind, 'is executed by NumPy on whole arrays')}"
    if sink.is_partial:
        return "its blocks are shared out among threads, and all of them are needed"
    if group.why_alone:
        return group.why_alone
    if sink.folded_axes:
        return "each element is complete only behind the loop that folds it"
    return why_apart(group, reader, ordered=True) or "its readers share no loop with it"


def _read_again(groups: Sequence[Group], number: int, earlier: dict[Node, int]) -> Iterator[str]:
    """Arrays that the last nest to read them `earlier` reads, too, although neither needs the other."""
    for k in dict.fromkeys(earlier.values()):
        other = groups[k]
        nbytes = sum(n.type.nbytes for n, last in earlier.items() if last == k)
        if k >= 0 and nbytes >= _MUCH and other.host is None and not other.reaches(groups[number]):
            why = (
                why_apart(other, groups[number])
                or _UNDECIDED[len(other.members) > 1 or len(groups[number].members) > 1]
            )
            yield f"{size(nbytes)} that step {k} ({_name(other)}) reads are read again: {why}"


def _cost(group: Group, value: Node, inlined: Callable[[Node], bool]) -> int:
    """Additions that an element of `value` takes, from what the group reads."""
    if not inlined(value):
        return 0
    seen = {value}
    stack = [value]
    while stack and len(seen) < _MOST_NODES:
        for a in stack.pop().args:
            if a not in seen and inlined(a) and a not in group.loads:
                seen.add(a)
                stack.append(a)
    return sum(n.op.cost for n in seen)


def host_name(node: Node) -> str:
    """What NumPy executes for `node`, by its own name."""
    return node["call"].title if "call" in node.kwargs else public_name(node.op.numpy, node.op.name)


def _name(group: Group) -> str:
    return host_name(group.host) if group.host is not None else group.sinks[-1].into.op.name
