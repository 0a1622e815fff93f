"""A picture of an expression: boxes in layers, operands above what uses them."""

from __future__ import annotations

from ..base.drawing import COLOURS, Box, layered
from .calls import LITERAL, is_source
from .text import literal_text
from .tree import Expression, nodes_of

_LONGEST = 22


def svg(e: Expression) -> str:
    """The text of an SVG file that shows the graph of `e`.

    Examples
    --------
    >>> from jitrt import expr
    >>> text = svg(expr.leaf("x", "f8") * 2)
    >>> text.startswith("<svg"), text.count("<rect"), text.count("<path")
    (True, 3, 2)
    """
    nodes = nodes_of([e])
    number = {node: k for k, node in enumerate(nodes)}
    boxes = []
    for node in nodes:
        colour = "gray" if is_source(node.operation) else COLOURS[0]
        boxes.append(Box(_texts(node), colour, tuple(sorted({number[o] for o in node.operands}))))
    return layered(boxes)


def _texts(node: Expression) -> tuple[str, str]:
    what = literal_text(node.value) if node.operation is LITERAL else node.name or node.operation.name
    what = what.removeprefix("np.")
    return (what if len(what) <= _LONGEST else what[: _LONGEST - 1] + "…"), str(node.type)
