"""The picture of the price map, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.prices import Band, PriceMap
from stopwise.auditing.telling.numbers import amount, percent
from stopwise.auditing.telling.svg import (
    GREY,
    LEFT,
    LINE,
    RIGHT,
    WIDTH,
    colour,
    line_svg,
    picture_svg,
    text_svg,
)
from stopwise.auditing.telling.words import cut
from stopwise.cascade import Cascade

# White text is easier to read on these.
DARK = {"#0072B2", "#009E73", "#D55E00", "#8C6D46", "#332288", "#882255", "#3D3D3D"}
LETTER = 7  # how wide one is
MAX_WORDS = 60  # letters beside a colour
HATCH = (
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="8" height="8" fill="#eceef1"/>'
    f'<line x1="0" y1="0" x2="0" y2="8" stroke="{GREY}" stroke-width="4"/></pattern></defs>'
)


@dataclass(frozen=True)
class _Drawn:
    """A band as it is drawn: its colour and words, its prices, where it begins and how wide."""

    fill: str
    words: str
    ends: str
    left: float
    width: float

    @property
    def has_room(self) -> bool:
        """Whether its words fit into it."""
        return self.width > LETTER * len(self.words)


def price_map_svg(prices: PriceMap, cascade: Cascade, *, blind: str) -> str:
    """Draw the price map: what is sound, what is minimax, and where it is ``blind``."""
    x = _log_axis(prices.low, prices.high)
    styled = _stage_style(cascade, blind)
    tracks = [
        ("sound under weak dominance", _drawn(prices.sound, x, _sound_style(cascade))),
        ("smallest worst-case regret", _drawn(prices.minimax, x, styled)),
        ("sure to be best", _drawn(prices.known, x, styled)),
    ]
    parts = [
        HATCH,
        *(_track(bands, 30 + 45 * r, title) for r, (title, bands) in enumerate(tracks)),
        _curve(prices, x, top=185, height=110),
        _ticks(prices.low, prices.high, x, 300),
        _own_price(cascade.mistake_cost, x, 300),
    ]
    bands = [band for _, row in tracks for band in row]
    legend, height = "", 350
    order = {name: k for k, name in enumerate(cascade.names)}
    if not all(band.has_room for band in bands if band.words in order):
        bands.sort(key=lambda band: order.get(band.words, len(order)))
        legend, height = _legend({band.words: band.fill for band in bands}, 362)
    return picture_svg(height, "The price map", [*parts, legend])


def _log_axis(low: float, high: float) -> Callable[[float], float]:
    span = math.log(high / low)
    return lambda price: LEFT + (WIDTH - LEFT - RIGHT) * math.log(price / low) / span


def _drawn(
    bands: Sequence[Band[Any]], x: Callable[[float], float], style: Callable[[Any], tuple[str, str]]
) -> list[_Drawn]:
    """Return the bands of one row as they are drawn, neighbours that look alike as one."""
    found = []
    for (fill, words), alike in groupby(bands, key=lambda band: style(band.value)):
        low, *_, high = (end for band in alike for end in (band.low, band.high))
        ends = f"{amount(low)} to {amount(high)}"
        found.append(_Drawn(fill, words, ends, x(low), x(high) - x(low)))
    return found


def _track(bands: Sequence[_Drawn], y: int, title: str) -> str:
    parts = [text_svg(LEFT - 10, y + 20, title, anchor="end")]
    for band in bands:
        parts.append(
            f'<rect x="{band.left:.1f}" y="{y}" width="{max(band.width, 0.5):.1f}" height="32" '
            f'fill="{band.fill}"><title>{escape(band.words)}: {band.ends}</title></rect>'
        )
        if band.has_room:
            middle, ink = band.left + band.width / 2, _ink(band.fill)
            parts.append(text_svg(middle, y + 21, band.words, anchor="middle", fill=ink))
    return "".join(parts)


def _legend(fills: dict[str, str], top: int) -> tuple[str, int]:
    """Name the colours below the map; return that and where it ends."""
    parts, x, y = [], LEFT, top
    for full, fill in fills.items():
        words = cut(full, MAX_WORDS)
        width = 34 + LETTER * len(words)
        if x > LEFT and x + width > WIDTH:
            x, y = LEFT, y + 22
        parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{fill}"/>')
        parts.append(text_svg(x + 20, y + 12, words))
        x += width
    return "".join(parts), y + 24


def _sound_style(cascade: Cascade) -> Callable[[tuple[Finding, int | None]], tuple[str, str]]:
    def style(value: tuple[Finding, int | None]) -> tuple[str, str]:
        finding, stage = value
        if finding is Finding.SOUND and stage is not None:
            return colour(stage), cascade.names[stage]
        if finding is Finding.NONE:
            return GREY, "no stage is sound"
        return "url(#hatch)", "undecided"

    return style


def _stage_style(cascade: Cascade, blind: str) -> Callable[[int | None], tuple[str, str]]:
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
        + line_svg(LEFT, base, WIDTH - RIGHT, base)
        + text_svg(LEFT - 10, top + 10, percent(most), anchor="end")
        + text_svg(LEFT - 10, top + 46, "the least regret that", anchor="end")
        + text_svg(LEFT - 10, top + 62, "can be guaranteed", anchor="end")
        + text_svg(LEFT - 10, base, "0", anchor="end")
    )


def _ticks(low: float, high: float, x: Callable[[float], float], y: int) -> str:
    parts = []
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    for price in (step * 10.0**power for power in powers for step in steps):
        if low <= price <= high:
            parts += [line_svg(x(price), y - 5, x(price), y), _tick(x(price), y, price)]
    if not parts:
        parts += [_tick(x(price), y, price) for price in (low, high)]
    parts.append(
        text_svg((LEFT + WIDTH - RIGHT) / 2, y + 42, "price of a mistake", anchor="middle")
    )
    return "".join(parts)


def _tick(x: float, y: int, price: float) -> str:
    return text_svg(x, y + 18, amount(price), anchor="middle")


def _own_price(price: float, x: Callable[[float], float], bottom: int) -> str:
    return line_svg(x(price), 18, x(price), bottom, dashed=True) + text_svg(
        x(price), 13, f"yours: {amount(price)}", anchor="middle"
    )


def _ink(fill: str) -> str:
    return "#fff" if fill in DARK else "#111"
