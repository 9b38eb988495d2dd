"""Pieces of a picture, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Okabe and Ito's colours, told apart by colour-blind readers too; brown for their grey, which would
# look like "no answer". Then four that are darker or paler than all of these.
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C6D46"),
    *("#332288", "#882255", "#B9E3A6", "#3D3D3D"),
)
GREY, LINE = "#c9ccd1", "#40454d"
WIDTH, LEFT, RIGHT = 860, 220, 40  # of a picture, and its margins


def colour(stage: int | None) -> str:
    """Return the colour of a stage; grey for none."""
    return GREY if stage is None else COLOURS[stage % len(COLOURS)]


def line_svg(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    """Draw a line."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{LINE}"{dash}/>'


def text_svg(x: float, y: float, text: str, *, anchor: str = "start", fill: str = LINE) -> str:
    """Write a text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )


def picture_svg(height: int, title: str, parts: Sequence[str], *, width: int = WIDTH) -> str:
    """Put a picture together."""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
