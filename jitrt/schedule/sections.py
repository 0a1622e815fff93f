"""Sections: a long program is cut where few values are handed on, and no nest is longer than a section.

LLVM's time grows faster than the code of a nest does: for a loop of Python that is unrolled to a hundred iterations it
is seconds. Cut between iterations, where the fewest values are alive, such a program is one kernel that runs again and
again. What a cut costs is a store and a load of each of these values, beside hundreds of operations on it.

    x1 = f(x0); x2 = f(x1); … x100 = f(x99)    →    nests of x10 = f(…f(x0)), x20 = f(…f(x10)), …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from ..ir.node import Node

_LENGTH = 512  # additions: what the code of a section takes at least, and sections are less than twice as long
_FOR_A_VALUE = 128  # additions, at least, for each value that is handed on


def sections(
    order: Sequence[Node], inlined: Collection[Node], stored: Collection[Node]
) -> tuple[dict[Node, int], set[Node]]:
    """Where to cut a program, and what is stored for it.

    Parameters
    ----------
    order : sequence of Node
        Arguments before users.
    inlined : collection of Node
        Those that are computed in nests.
    stored : collection of Node
        Those of them that are stored anyway.

    Returns
    -------
    section : dict of Node to int
        The numbers of the sections that nodes belong to; those that are not in it belong to section 0.
    handed_on : set of Node
        What later sections need of the values that were not to be stored.
    """
    section: dict[Node, int] = {}
    handed_on: set[Node] = set()
    if sum(n.op.cost for n in order if n in inlined) < 2 * _LENGTH:
        return section, handed_on
    last = {arg: k for k, node in enumerate(order) for arg in node.args}
    first = number = 0
    while first < len(order):
        end = _end(order, first, last, inlined, stored)
        section.update(dict.fromkeys(order[first:end], number))
        handed_on.update(n for n in order[first:end] if n in inlined and n not in stored and last.get(n, 0) >= end)
        first, number = end, number + 1
    return section, handed_on


def _end(
    order: Sequence[Node], first: int, last: dict[Node, int], inlined: Collection[Node], stored: Collection[Node]
) -> int:
    """Where the section that begins with node `first` ends."""
    code = alive = 0
    dying: Counter[int] = Counter()  # by the number of the last user
    fewest, end = len(order), 0
    for k in range(first, len(order)):
        node = order[k]
        alive -= dying[k]
        if node in inlined:
            code += node.op.cost
            if node not in stored and last.get(node, k) > k:
                dying[last[node]] += 1
                alive += 1
        if code >= _LENGTH and alive < fewest and alive * _FOR_A_VALUE <= code:
            fewest, end = alive, k + 1
        if code >= 2 * _LENGTH and end:
            return end
    return len(order)
