"""The pictures of the report but for the price map, as SVG text: heat maps, interval bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stopwise.auditing.interval import Interval
from stopwise.auditing.telling.numbers import percent
from stopwise.auditing.telling.svg import (
    COLOURS,
    GREY,
    LEFT,
    LINE,
    WIDTH,
    line_svg,
    picture_svg,
    text_svg,
)
from stopwise.auditing.telling.words import cut
from stopwise.cascade import FloatArray

MAX_TEXT = 30  # letters beside a bar
LETTER = 7  # how wide one is


def matrix_svg(disagreement: FloatArray, names: Sequence[str]) -> str:
    """Draw the disagreement of each pair as a heat map with its numbers."""
    size, left, top = 64, 150, 40
    most = float(np.nanmax(disagreement))  # a test never disagrees with itself, so one is known
    parts = []
    for i, row in enumerate(disagreement.tolist()):
        parts.append(text_svg(left - 8, top + size * i + 38, names[i], anchor="end"))
        parts.append(text_svg(left + size * i + 32, top - 10, names[i], anchor="middle"))
        for j, value in enumerate(row):
            known = not math.isnan(value)
            depth = value / most if known and most > 0 else 0.0
            shade = f"rgba(0,114,178,{0.08 + 0.8 * depth:.3f})" if known and i != j else "#f1f2f4"
            ink = "#fff" if known and depth > 0.6 and i != j else LINE
            parts.append(
                f'<rect x="{left + size * j}" y="{top + size * i}" width="{size - 3}" '
                f'height="{size - 3}" fill="{shade}"/>'
            )
            if i != j:
                shown = percent(value).removesuffix(" %") if known else "?"
                middle = left + size * j + 31
                parts.append(
                    text_svg(middle, top + size * i + 36, shown, anchor="middle", fill=ink)
                )
    width = left + size * len(names) + 20
    return picture_svg(top + size * len(names) + 10, "Disagreement", parts, width=width)


def patterns_svg(
    rows: Sequence[tuple[Sequence[int], Sequence[str], str]], names: Sequence[str]
) -> str:
    """Draw patterns, one a row: codes give the colour, the text is the output, then its share."""
    cell, left, top, height = 92, 10, 34, 24
    parts = [
        text_svg(left + cell * k + cell // 2, top - 12, name, anchor="middle")
        for k, name in enumerate(names)
    ]
    for r, (codes, outputs, share) in enumerate(rows):
        y = top + height * r
        for k, (code, output) in enumerate(zip(codes, outputs, strict=True)):
            fill = "#ffffff" if code < 0 else COLOURS[code % len(COLOURS)]
            stroke = f' stroke="{GREY}"' if code < 0 else ""
            parts.append(
                f'<rect x="{left + cell * k}" y="{y}" width="{cell - 3}" height="{height - 3}" '
                f'fill="{fill}" fill-opacity=".55"{stroke}/>'
            )
            parts.append(text_svg(left + cell * k + cell // 2, y + 15, output, anchor="middle"))
        parts.append(text_svg(left + cell * len(codes) + 10, y + 15, share))
    width = left + cell * len(names) + 170
    return picture_svg(
        top + height * len(rows) + 8, "How often each pattern occurs", parts, width=width
    )


def bars_svg(
    rows: Sequence[tuple[str, Interval, str]], title: str, *, low: float, high: float
) -> str:
    """Draw intervals as bars on one axis, with their numbers beside them."""
    right, step = max(250, 20 + LETTER * max(len(text) for *_, text in rows)), 30
    scale = (WIDTH - LEFT - right) / max(high - low, 1e-12)

    def x(value: float) -> float:
        return LEFT + (value - low) * scale

    parts = []
    if low < 0 < high:
        parts.append(line_svg(x(0), 8, x(0), 10 + step * len(rows), dashed=True))
    for r, (name, interval, text) in enumerate(rows):
        y = 10 + step * r
        width = max(x(interval.high) - x(interval.low), 2.0)
        parts.append(text_svg(LEFT - 10, y + 15, cut(name, MAX_TEXT), anchor="end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - right}" height="20" fill="#f1f2f4"/>'
            f'<rect x="{x(interval.low):.1f}" y="{y}" width="{width:.1f}" height="20" '
            f'fill="{COLOURS[0]}" fill-opacity=".7"/>'
        )
        parts.append(text_svg(WIDTH - right + 10, y + 15, text))
    return picture_svg(14 + step * len(rows), title, parts)
