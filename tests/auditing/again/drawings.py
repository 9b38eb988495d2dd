"""Checks of the drawings and tables of a page."""

import math
import re

import pytest

from tests.auditing.again.facts import curve
from tests.auditing.again.parsed_page import Drawing
from tests.auditing.again.price_bands import guarantee
from tests.auditing.again.sentences import assert_said

PIXEL = 0.11  # drawings are rounded to a tenth
LEFT, WIDE = 220, 600


def take(blocks, kind):
    """The next block, which must be of a kind."""
    found, held = blocks.pop(0)
    assert found == kind, (found, held)
    return held


def plain_words(text):
    assert_said(text, "{t}", [])


def check_table(table, *rows):
    """Each row lists a template and values for every cell."""
    for head in table[0]:
        plain_words(head)
    assert len(table) == len(rows) + 1
    for cells, row in zip(table[1:], rows, strict=True):
        for cell, (template, values) in zip(cells, row, strict=True):
            assert_said(cell, template, values)


def check_bars(drawing, low, high, rows):
    """Bars from ``low`` to ``high``: (name, ends, template, values) of each."""
    assert isinstance(drawing, Drawing)

    ((whole, wide),) = {
        (float(shape["x"]), float(shape["width"]))
        for shape, _ in drawing.of("rect", fill_opacity=None)
    }
    assert whole == LEFT

    def x(value):
        return LEFT + wide * (value - low) / max(high - low, 1e-9)

    bars = drawing.of("rect", fill_opacity=".7")
    names, texts = drawing.texts(text_anchor="end"), drawing.texts(text_anchor="start")
    assert len(drawing.of("text")) == len(names) + len(texts)
    for (bar, _), (_, y, name), (_, side, text), (label, ends, template, values) in zip(
        bars, names, texts, rows, strict=True
    ):
        assert y == side
        assert float(bar["y"]) < y < float(bar["y"]) + float(bar["height"])
        assert name == label
        assert float(bar["x"]) == pytest.approx(x(ends[0]), abs=PIXEL)
        width = max(x(ends[1]) - x(ends[0]), 2)  # a bar of no width is still seen
        assert float(bar["width"]) == pytest.approx(width, abs=PIXEL)
        assert_said(text, template, values)
    for line, _ in drawing.of("line"):
        assert float(line["x1"]) == float(line["x2"]) == pytest.approx(x(0), abs=PIXEL)


class PriceDrawing:
    """The price map: three rows of bands, a curve, ticks and the own price, on one axis."""

    def __init__(self, said, drawing):
        self.said, self.drawing, self.prices = said, drawing, said.told["prices"]
        self.low, self.high = self.prices["low"], self.prices["high"]

    def x(self, price):
        return LEFT + WIDE * math.log(price / self.low) / math.log(self.high / self.low)

    def check(self):
        names, colours, n_shapes = self.said.a.log.names, {}, 0
        named, too_narrow = set(), False
        for y, track in ((30, "sound"), (75, "minimax"), (120, "known")):
            shapes, bands = self.drawing.of("rect", y=str(y)), self.joined(track)
            n_shapes += len(bands)
            for (shape, title), (low, high, kind, stage) in zip(shapes, bands, strict=True):
                ends = self.x(low), self.x(high)
                assert float(shape["x"]) == pytest.approx(ends[0], abs=PIXEL)
                assert float(shape["width"]) == pytest.approx(
                    max(ends[1] - ends[0], 0.5), abs=PIXEL
                )
                start = names[stage] if stage is not None else self.words(kind)
                assert_said(title, f"{start}: {{n}} to {{n}}", [low, high])
                colours.setdefault(stage, set()).add(shape["fill"])
                named.add((shape["fill"], start))
                room = ends[1] - ends[0] > 7 * len(start)
                too_narrow |= stage is not None and not room
        legend = self.legend()
        assert set(legend) == (named if too_narrow else set())
        assert len(self.drawing.of("rect")) == n_shapes + len(legend)
        used = [fills for stage, fills in colours.items() if stage is not None]
        assert all(len(fills) == 1 for fills in used)  # a stage has one colour, no two the same
        assert len(set().union(*used)) == len(used)
        self.check_curve()
        self.check_numbers()

    def legend(self):
        """The colours below the map with the words beside them."""
        words = {(x, y): text for x, y, text in self.drawing.texts()}
        return [
            (shape["fill"], words[float(shape["x"]) + 20, float(shape["y"]) + 12])
            for shape, _ in self.drawing.of("rect", height="14")
        ]

    def joined(self, track):
        """The bands as they are seen: (low, high, finding, stage), neighbours that look alike one.

        What looks sound where that is undecided is not drawn.
        """
        found = []
        for band in self.prices[track]:
            kind, stage = band["value"] if track == "sound" else ("known", band["value"])
            stage = None if kind in {"undecided", "none"} else stage
            if found and found[-1][2:] == (kind, stage):
                found[-1] = (found[-1][0], band["high"], kind, stage)
            else:
                found.append((band["low"], band["high"], kind, stage))
        return found

    def words(self, kind):
        blind = "these labels do not settle it"
        if not self.said.a.labelled:
            blind = "no method without labels can know"
        return {"undecided": "undecided", "none": "no stage is sound"}.get(kind, blind)

    def check_curve(self):
        ((line, _),) = self.drawing.of("polyline")
        points = [tuple(map(float, p.split(","))) for p in line["points"].split()]
        along = curve(self.said.a)
        values = [guarantee(self.said.a, price) for price in along]
        most = max(*values, 1e-9)
        top, base = 185, 295
        for (x, y), price, value in zip(points, along, values, strict=True):
            assert x == pytest.approx(self.x(price), abs=PIXEL)
            assert y == pytest.approx(base - (base - top) * value / most, abs=PIXEL)
        self.most = most

    def check_numbers(self):
        """Each text with a number: the top and the foot of the curve, ticks, the own price."""
        own = self.said.a.log.mistake_cost
        lines = [float(line["x1"]) for line, _ in self.drawing.of("line", stroke_dasharray=None)]
        ticks = 0
        for x, y, text in self.drawing.texts():
            if not re.search(r"\d", text):
                continue
            if text.startswith("yours"):
                assert_said(text, "yours: {n}", [own])
                assert x == pytest.approx(self.x(own), abs=PIXEL)
            elif y == 195:
                assert_said(text, "{n} %", [100 * self.most])
            elif y == 295:
                assert text == "0"
            else:
                value = float(text.replace(",", ""))
                assert y == 318
                assert x == pytest.approx(self.x(value), abs=PIXEL)
                assert x in lines
                ticks += 1
        assert ticks
        ((mark, _),) = self.drawing.of("line", stroke_dasharray="4 3")
        assert float(mark["x1"]) == float(mark["x2"]) == pytest.approx(self.x(own), abs=PIXEL)


def check_matrix(a, drawing):
    """Numbers and shades stand at the row and the column of their tests."""
    heads, *rows = drawing.rows()
    columns = [x for x, _ in heads[1]]
    assert [name for _, name in heads[1]] == list(a.log.names)
    shares = {
        pair: None if p is None else 100 * float(p)
        for pair, p in a.plain.items()
        if pair[0] != pair[1]
    }
    most = max(share or 0 for share in shares.values())
    lines = {y: texts[0][1] for y, texts in rows if texts[0][1] in a.log.names}
    heights = {name: y for y, name in lines.items()}
    found = {}
    for x, y, text in drawing.texts(text_anchor="middle"):
        if y != heads[0]:
            j = min(a.stages, key=lambda k: abs(columns[k] - x))
            i = min(a.stages, key=lambda k: abs(heights[a.log.names[k]] - y))
            found[i, j] = text
    assert set(found) == set(shares)
    for pair, text in found.items():
        known = shares[pair] is not None
        assert_said(text, "{n}" if known else "?", [shares[pair]] * known)
    shades = iter(shape["fill"] for shape, _ in drawing.of("rect"))
    for i in a.stages:
        for j in a.stages:
            shade = next(shades)
            if i != j and shares[i, j] is not None:
                depth = 0.08 + (0.8 * shares[i, j] / most if most else 0)
                assert_said(shade, "rgba(0,114,178,{n})", [depth])
            else:
                assert not shade.startswith("rgba")
