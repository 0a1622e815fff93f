"""Drawing as SVG: lines of text, rectangles, and boxes in layers.

All texts and lines have the colour of the text around the picture, so that it is seen on light and on dark pages.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from .frozen import frozen

LINE, PAD, GAP, LETTER = 16, 8, 28, 7.3  # pixels
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d")


@frozen
class Box:
    """A box of a layered picture.

    Parameters
    ----------
    lines : tuple of str
    colour : str
    after : tuple of int
        Numbers of the boxes that have to stand above it.
    """

    lines: tuple[str, ...]
    colour: str
    after: tuple[int, ...] = ()


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    """An SVG of that size, in pixels."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12" fill="currentColor" '
        f'style="max-width:100%">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, what: str, anchor: str = "start", opacity: float = 1) -> str:
    """A line of text whose base line begins, has its middle or ends there."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" opacity="{opacity}">{html.escape(what)}</text>'


def rectangle(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
    """A rectangle, with a title that is shown where the mouse rests."""
    tip = f"<title>{html.escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{max(width, 1):.0f}" height="{max(height, 1):.0f}" rx="4" '
        f'fill="{colour}" fill-opacity="0.25" stroke="{colour}">{tip}</rect>'
    )


def layered(boxes: Sequence[Box]) -> str:
    """Boxes in rows, each below those that it comes after, and lines between them.

    Examples
    --------
    >>> picture = layered([Box(("x",), "gray"), Box(("exp x",), "gray", (0,))])
    >>> picture.count("<rect"), picture.count("<path")
    (2, 1)
    """
    rows: dict[int, list[int]] = {}
    row_of: list[int] = []
    for k, box in enumerate(boxes):
        row_of.append(1 + max((row_of[j] for j in box.after), default=-1))
        rows.setdefault(row_of[k], []).append(k)
    sizes = [(2 * PAD + LETTER * max(map(len, b.lines)), 2 * PAD + LINE * len(b.lines)) for b in boxes]
    width = max((sum(sizes[k][0] + GAP for k in row) for row in rows.values()), default=GAP)
    place: dict[int, tuple[float, float]] = {}
    y = GAP / 2
    for row in rows.values():
        x = (width - sum(sizes[k][0] + GAP for k in row) + GAP) / 2
        for k in row:
            place[k] = x, y
            x += sizes[k][0] + GAP
        y += max(sizes[k][1] for k in row) + GAP
    parts = []
    for k, box in enumerate(boxes):
        for j in box.after:
            x0, y0 = place[j][0] + sizes[j][0] / 2, place[j][1] + sizes[j][1]
            x1, y1 = place[k][0] + sizes[k][0] / 2, place[k][1]
            bend = (y1 - y0) / 2
            path = f"M{x0:.0f},{y0:.0f} C{x0:.0f},{y0 + bend:.0f} {x1:.0f},{y1 - bend:.0f} {x1:.0f},{y1:.0f}"
            parts.append(f'<path d="{path}" fill="none" stroke="currentColor" opacity="0.5"/>')
    for k, box in enumerate(boxes):
        (x, y0), (w, h) = place[k], sizes[k]
        parts.append(rectangle(x, y0, w, h, box.colour))
        parts += [text(x + PAD, y0 + PAD + LINE * (n + 0.75), line) for n, line in enumerate(box.lines)]
    return svg(width, y, parts)
