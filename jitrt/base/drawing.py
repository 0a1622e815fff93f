"""Drawing as SVG: lines of text, rectangles, and boxes in layers.

All texts and lines have the colour of the text around the picture, so that it is seen on light and on dark pages.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from .frozen import frozen

LINE, PAD, GAP, LETTER = 16, 8, 28, 7.3  # pixels
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d")


def preformatted(shown: str) -> str:
    """A text in HTML, in letters of one width also where a notebook has others."""
    return f"<pre style='white-space:pre-wrap;font-family:monospace'>{html.escape(shown)}</pre>"


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
    """Boxes in rows, each below those that it comes after, and lines between them that pass by other boxes.

    Examples
    --------
    >>> picture = layered([Box(("x",), "gray"), Box(("exp x",), "gray", (0,))])
    >>> picture.count("<rect"), picture.count("<path")
    (2, 1)
    """
    row_of: list[int] = []
    for box in boxes:
        row_of.append(1 + max((row_of[j] for j in box.after), default=-1))
    # In each row boxes, and gaps for the lines that come from a box and end further below.
    rows: list[list[tuple[int, bool]]] = [[] for _ in range(max(row_of, default=-1) + 1)]
    lowest = list(row_of)
    for k, box in enumerate(boxes):
        rows[row_of[k]].append((k, True))
        for j in box.after:
            for number in range(lowest[j] + 1, row_of[k]):
                rows[number].append((j, False))
            lowest[j] = max(lowest[j], row_of[k] - 1)
    sizes = [(2 * PAD + LETTER * max(map(len, b.lines)), 2 * PAD + LINE * len(b.lines)) for b in boxes]
    widths = [sum((sizes[k][0] if is_box else 0) + GAP for k, is_box in row) for row in rows]
    width, y = max(widths, default=GAP), GAP / 2
    middle: dict[tuple[int, int], float] = {}  # by box and row
    extent: list[tuple[float, float]] = []  # of rows: top and bottom
    for number, row in enumerate(rows):
        above = {k: [middle[j, number - 1] for j in boxes[k].after if (j, number - 1) in middle] for k, b in row if b}
        above |= {k: [middle[k, number - 1]] for k, is_box in row if not is_box}
        row.sort(key=lambda item: sum(above[item[0]]) / len(above[item[0]]) if above[item[0]] else width / 2)
        x = (width - widths[number] + GAP) / 2
        for k, is_box in row:
            w = sizes[k][0] if is_box else 0
            middle[k, number] = x + w / 2
            x += w + GAP
        extent.append((y, y + max(sizes[k][1] for k, is_box in row if is_box)))
        y = extent[-1][1] + GAP
    parts = []
    for k, box in enumerate(boxes):
        for j in box.after:
            path, x0, y0 = "", middle[j, row_of[j]], extent[row_of[j]][0] + sizes[j][1]
            for number in range(row_of[j] + 1, row_of[k] + 1):
                (top, bottom), x1, bend = extent[number], middle[(k if number == row_of[k] else j), number], GAP / 2
                path += f"M{x0:.0f},{y0:.0f} C{x0:.0f},{top - bend:.0f} {x1:.0f},{top - bend:.0f} {x1:.0f},{top:.0f} "
                path += "" if number == row_of[k] else f"V{bottom:.0f} "
                x0, y0 = x1, bottom
            parts.append(f'<path d="{path.strip()}" fill="none" stroke="currentColor" opacity="0.5"/>')
    for k, box in enumerate(boxes):
        w, h = sizes[k]
        x, y0 = middle[k, row_of[k]] - w / 2, extent[row_of[k]][0]
        parts.append(rectangle(x, y0, w, h, box.colour))
        parts += [text(x + PAD, y0 + PAD + LINE * (n + 0.75), line) for n, line in enumerate(box.lines)]
    return svg(width, y, parts)
