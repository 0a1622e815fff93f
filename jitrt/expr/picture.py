"""A picture of an expression: boxes in layers, operands above what uses them."""

from __future__ import annotations

import html

from .calls import LITERAL, is_source
from .text import literal_text
from .tree import Expression, nodes_of

_WIDTH, _HEIGHT, _GAP, _LETTER = 20, 34, 26, 7.2
_LONGEST = 22


def svg(e: Expression) -> str:
    """The text of an SVG file that shows the graph of `e`.

    Examples
    --------
    >>> from jitrt import expr
    >>> text = svg(expr.leaf("x", "f8") * 2)
    >>> text.startswith("<svg"), text.count("<rect"), text.count("<line")
    (True, 3, 2)
    """
    nodes = nodes_of([e])
    layer: dict[Expression, int] = {}
    for node in nodes:
        layer[node] = 1 + max((layer[o] for o in node.operands), default=-1)
    users: dict[Expression, list[int]] = {}
    for node in nodes:
        for operand in node.operands:
            users.setdefault(operand, []).append(layer[node])
    for node in users:
        if not node.operands:  # sources stand next to what uses them
            layer[node] = min(users[node]) - 1
    texts = {node: _texts(node) for node in nodes}
    widths = {node: _WIDTH + _LETTER * max(map(len, texts[node])) for node in nodes}
    rows: dict[int, list[Expression]] = {}
    for node in nodes:
        rows.setdefault(layer[node], []).append(node)
    total = max(sum(widths[n] + _GAP for n in row) for row in rows.values())
    place: dict[Expression, tuple[float, float]] = {}
    for number, row in rows.items():
        x = (total - sum(widths[n] + _GAP for n in row) + _GAP) / 2
        for node in row:
            place[node] = x, number * (_HEIGHT + _GAP) + _GAP / 2
            x += widths[node] + _GAP
    parts = []
    for node in nodes:
        for operand in node.operands:
            (x, y), (to_x, to_y) = place[operand], place[node]
            parts.append(
                f'<line x1="{x + widths[operand] / 2:.0f}" y1="{y + _HEIGHT:.0f}" '
                f'x2="{to_x + widths[node] / 2:.0f}" y2="{to_y:.0f}" stroke="#888"/>'
            )
    for node in nodes:
        (x, y), fill = place[node], "#eef" if is_source(node.operation) else "#fff"
        middle = x + widths[node] / 2
        parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{widths[node]:.0f}" height="{_HEIGHT}" rx="4" fill="{fill}" '
            f'stroke="#555"/><text x="{middle:.0f}" y="{y + 14:.0f}">{html.escape(texts[node][0])}</text>'
            f'<text x="{middle:.0f}" y="{y + 28:.0f}" fill="#777">{html.escape(texts[node][1])}</text>'
        )
    height = len(rows) * (_HEIGHT + _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height}" font-family="monospace" '
        f'font-size="12" text-anchor="middle">{"".join(parts)}</svg>'
    )


def _texts(node: Expression) -> tuple[str, str]:
    what = literal_text(node.value) if node.operation is LITERAL else node.name or node.operation.name
    what = what.removeprefix("np.")
    return (what if len(what) <= _LONGEST else what[: _LONGEST - 1] + "…"), str(node.type)
