"""The pictures of the report, as SVG text: price map, heat maps, interval bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from stopwise.audit.evidence.sequences import Interval
from stopwise.audit.evidence.verdict import Finding
from stopwise.audit.prices import Band, PriceMap
from stopwise.audit.telling.words import amount
from stopwise.cascade import Cascade

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
DARK = {"#0072B2", "#009E73", "#D55E00"}  # white text is easier to read on these
GREY, LINE = "#c9ccd1", "#40454d"
WIDTH, LEFT, RIGHT = 860, 220, 40
MAX_TEXT = 30  # letters beside a bar


def colour(stage: int | None) -> str:
    """Return the colour of a stage; grey for none."""
    return GREY if stage is None else COLOURS[stage % len(COLOURS)]


def _ink(fill: str) -> str:
    return "#fff" if fill in DARK else "#111"


def price_map_svg(prices: PriceMap, cascade: Cascade, *, labelled: bool = False) -> str:
    """Draw the price map: what is sound, what is minimax, where nobody can know.

    Where some labels are ``labelled``, what they leave open is not said to be beyond knowing.
    """
    blind = "these labels do not settle it" if labelled else "no method without labels can know"
    x = _log_axis(prices.low, prices.high)
    parts = [
        _track(prices.sound, 30, "sound under weak dominance", x, _sound_style(cascade)),
        _track(prices.minimax, 75, "smallest worst-case regret", x, _stage_style(cascade)),
        _track(prices.known, 120, "best whatever the labels are", x, _known_style(cascade, blind)),
        _curve(prices, x, top=185, height=110),
        _ticks(prices.low, prices.high, x, 300),
        _own_price(cascade.mistake_cost, x, 300),
    ]
    return _svg(350, "The price map", parts)


def matrix_svg(
    table: Sequence[Sequence[float]], names: Sequence[str], title: str, *, most: float
) -> str:
    """Draw a square table of shares as a heat map with its numbers."""
    size, left, top = 64, 150, 40
    parts = []
    for i, row in enumerate(table):
        parts.append(_text(left - 8, top + size * i + 38, names[i], anchor="end"))
        parts.append(_text(left + size * i + 32, top - 10, names[i], anchor="middle"))
        for j, value in enumerate(row):
            known = not math.isnan(value)
            depth = min(abs(value) / most, 1.0) if known and most > 0 else 0.0
            shade = f"rgba(0,114,178,{0.08 + 0.8 * depth:.3f})" if known and i != j else "#f1f2f4"
            ink = "#fff" if known and depth > 0.6 and i != j else LINE
            parts.append(
                f'<rect x="{left + size * j}" y="{top + size * i}" width="{size - 3}" '
                f'height="{size - 3}" fill="{shade}"/>'
            )
            if i != j:
                shown = f"{100 * value:.1f}" if known else "?"
                middle = left + size * j + 31
                parts.append(_text(middle, top + size * i + 36, shown, anchor="middle", fill=ink))
    return _svg(top + size * len(names) + 10, title, parts, width=left + size * len(names) + 20)


def patterns_svg(
    rows: Sequence[tuple[Sequence[int], Sequence[str], str]], names: Sequence[str]
) -> str:
    """Draw patterns, one a row: codes give the colour, the text is the output, then its share."""
    cell, left, top, height = 92, 10, 34, 24
    parts = [
        _text(left + cell * k + cell // 2, top - 12, name, anchor="middle")
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
            parts.append(_text(left + cell * k + cell // 2, y + 15, output, anchor="middle"))
        parts.append(_text(left + cell * len(codes) + 10, y + 15, share))
    width = left + cell * len(names) + 170
    return _svg(top + height * len(rows) + 8, "How often each pattern occurs", parts, width=width)


def bars_svg(
    rows: Sequence[tuple[str, Interval, str]], title: str, *, low: float, high: float
) -> str:
    """Draw intervals as bars on one axis, with their numbers beside them."""
    right, step = 250, 30
    scale = (WIDTH - LEFT - right) / max(high - low, 1e-12)

    def x(value: float) -> float:
        return LEFT + (value - low) * scale

    parts = []
    if low < 0 < high:
        parts.append(_line(x(0), 8, x(0), 10 + step * len(rows), dashed=True))
    for r, (name, interval, text) in enumerate(rows):
        y = 10 + step * r
        width = max(x(interval.high) - x(interval.low), 2.0)
        parts.append(_text(LEFT - 10, y + 15, _short(name), anchor="end"))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - right}" height="20" fill="#f1f2f4"/>'
            f'<rect x="{x(interval.low):.1f}" y="{y}" width="{width:.1f}" height="20" '
            f'fill="{COLOURS[0]}" fill-opacity=".7"/>'
        )
        parts.append(_text(WIDTH - right + 10, y + 15, text))
    return _svg(14 + step * len(rows), title, parts)


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _log_axis(low: float, high: float) -> Callable[[float], float]:
    span = math.log(high / low)
    return lambda price: LEFT + (WIDTH - LEFT - RIGHT) * math.log(price / low) / span


def _track(
    bands: Sequence[Band[Any]],
    y: int,
    title: str,
    x: Callable[[float], float],
    style: Callable[[Any], tuple[str, str]],
) -> str:
    parts = [_text(LEFT - 10, y + 20, title, anchor="end")]
    for band in bands:
        fill, words = style(band.value)
        left, width = x(band.low), x(band.high) - x(band.low)
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{max(width, 0.5):.1f}" height="32" '
            f'fill="{fill}"><title>{escape(words)}: {band.low:.4g} to {band.high:.4g}</title>'
            "</rect>"
        )
        if width > 7 * len(words):
            parts.append(_text(left + width / 2, y + 21, words, anchor="middle", fill=_ink(fill)))
    return "".join(parts)


def _sound_style(cascade: Cascade) -> Callable[[tuple[Finding, int | None]], tuple[str, str]]:
    def style(value: tuple[Finding, int | None]) -> tuple[str, str]:
        finding, stage = value
        if finding is Finding.SOUND and stage is not None:
            return colour(stage), cascade.names[stage]
        if finding is Finding.NONE:
            return GREY, "no stage is sound"
        return "url(#hatch)", "undecided"

    return style


def _stage_style(cascade: Cascade) -> Callable[[int], tuple[str, str]]:
    return lambda stage: (colour(stage), cascade.names[stage])


def _known_style(cascade: Cascade, blind: str) -> Callable[[int | None], tuple[str, str]]:
    def style(stage: int | None) -> tuple[str, str]:
        words = blind if stage is None else cascade.names[stage]
        return colour(stage), words

    return style


def _curve(prices: PriceMap, x: Callable[[float], float], *, top: int, height: int) -> str:
    most = max(float(prices.guarantees.max()), 1e-9)
    points = " ".join(
        f"{x(price):.1f},{top + height * (1 - value / most):.1f}"
        for price, value in zip(prices.prices.tolist(), prices.guarantees.tolist(), strict=True)
    )
    base = top + height
    return (
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="2"/>'
        + _line(LEFT, base, WIDTH - RIGHT, base)
        + _text(LEFT - 10, top + 10, f"{100 * most:.1f} %", anchor="end")
        + _text(LEFT - 10, top + 46, "the least regret that", anchor="end")
        + _text(LEFT - 10, top + 62, "can be guaranteed", anchor="end")
        + _text(LEFT - 10, base, "0", anchor="end")
    )


def _ticks(low: float, high: float, x: Callable[[float], float], y: int) -> str:
    parts = []
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    for price in (step * 10.0**power for power in powers for step in steps):
        if low <= price <= high:
            parts += [_line(x(price), y - 5, x(price), y), _tick(x(price), y, price)]
    if not parts:
        parts += [_tick(x(price), y, price) for price in (low, high)]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, y + 42, "price of a mistake", anchor="middle"))
    return "".join(parts)


def _tick(x: float, y: int, price: float) -> str:
    return _text(x, y + 18, amount(price), anchor="middle")


def _own_price(price: float, x: Callable[[float], float], bottom: int) -> str:
    return _line(x(price), 18, x(price), bottom, dashed=True) + _text(
        x(price), 13, f"yours: {amount(price)}", anchor="middle"
    )


def _line(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{LINE}"{dash}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = LINE) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )


def _svg(height: int, title: str, parts: Sequence[str], *, width: int = WIDTH) -> str:
    hatch = (
        '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="8" height="8" fill="#eceef1"/>'
        f'<line x1="0" y1="0" x2="0" y2="8" stroke="{GREY}" stroke-width="4"/></pattern></defs>'
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">{hatch}{"".join(parts)}</svg>'
    )
