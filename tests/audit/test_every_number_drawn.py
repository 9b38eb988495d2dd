"""Every number of the page against the rows of the log: sentences, tables, and what is drawn.

`SECTIONS` has one entry for each heading of the page. A heading, a block or a text with a number
that no check takes fails.
"""

import math
import re

import pytest

from tests.audit import logs
from tests.audit.parsed_page import Drawing, Parsed
from tests.audit.price_bands import guarantee
from tests.audit.said import STATES, Said, assert_said
from tests.audit.test_every_number import RULES, again, chosen, curve, groups, patterns, told, words

PIXEL = 0.11  # drawings are rounded to a tenth
LEFT, WIDE, BAR = 220, 600, 390


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

    def x(value):
        return LEFT + BAR * (value - low) / (high - low)

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
        wide = max(x(ends[1]) - x(ends[0]), 2)  # a bar of no width is still seen
        assert float(bar["width"]) == pytest.approx(wide, abs=PIXEL)
        assert_said(text, template, values)
    for line, _ in drawing.of("line"):
        assert float(line["x1"]) == float(line["x2"]) == pytest.approx(x(0), abs=PIXEL)


def lead(said, blocks):
    for template, values in said.headline():
        assert_said(take(blocks, "p"), template, values)


def missing(said, blocks):
    a = said.a
    incomplete = sum(None in row for row in a.rows)
    text = take(blocks, "p")
    adjusted = "adjusted that is open{t}." if None in a.adjusted.values() else "{s} adjusted."
    assert_said(
        text,
        "{t} in {n} of {n} cases. {t} The stage that looks sound is {s} as it is; " + adjusted,
        [incomplete, a.n, said.name(a.sound(a.plain))]
        + [said.name(a.sound(a.adjusted))] * ("{s}" in adjusted),
    )
    if a.dependent:
        assert f"Whether {said.names(a.dependent)} ran depends" in text
    rows = [
        [
            ("{s} to {s}", [*map(said.name, pair)]),
            ("{n} %", said.percent(float(a.plain[pair]))),
            said.adjusted(pair),
            ("{n} % to {n} %", said.percent(*a.worst(*pair))),
        ]
        for pair in a.pairs
    ]
    check_table(take(blocks, "table"), *rows)


def prices(said, blocks):
    drawing = take(blocks, "svg")
    PriceDrawing(said, drawing).check()
    plain_words(take(blocks, "p"))


class PriceDrawing:
    """The price map: three rows of bands, a curve, ticks and the own price, on one axis."""

    def __init__(self, said, drawing):
        self.said, self.drawing, self.prices = said, drawing, said.told["prices"]
        self.low, self.high = self.prices["low"], self.prices["high"]

    def x(self, price):
        return LEFT + WIDE * math.log(price / self.low) / math.log(self.high / self.low)

    def check(self):
        names, colours = self.said.a.log.names, {}
        for y, track in ((30, "sound"), (75, "minimax"), (120, "known")):
            shapes = self.drawing.of("rect", y=str(y))
            for (shape, title), band in zip(shapes, self.prices[track], strict=True):
                ends = self.x(band["low"]), self.x(band["high"])
                assert float(shape["x"]) == pytest.approx(ends[0], abs=PIXEL)
                assert float(shape["width"]) == pytest.approx(
                    max(ends[1] - ends[0], 0.5), abs=PIXEL
                )
                stage = band["value"]
                if track == "sound":
                    stage = band["value"][1] if band["value"][0] == "sound" else None
                start = names[stage] if stage is not None else "{t}"
                assert_said(title, f"{start}: {{n}} to {{n}}", [band["low"], band["high"]])
                colours.setdefault(stage, set()).add(shape["fill"])
        assert len(self.drawing.of("rect")) == sum(len(self.prices[t]) for t in (
            "sound", "minimax", "known"))  # fmt: skip
        used = [fills for stage, fills in colours.items() if stage is not None]
        assert all(len(fills) == 1 for fills in used)  # a stage has one colour, no two the same
        assert len(set().union(*used)) == len(used)
        self.check_curve()
        self.check_numbers()

    def check_curve(self):
        ((line, _),) = self.drawing.of("polyline")
        points = [tuple(map(float, p.split(","))) for p in line["points"].split()]
        along = curve(self.said.a)
        values = [guarantee(self.said.a, price) for price in along]
        most = max(values)
        top, base = 185, 295
        for (x, y), price, value in zip(points, along, values, strict=True):
            assert x == pytest.approx(self.x(price), abs=PIXEL)
            share = value / most if most > 1e-9 else 0
            assert y == pytest.approx(base - (base - top) * share, abs=PIXEL)
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


def verdict(said, blocks):
    a = said.a
    (found, values), (strong, more) = said.finding(), said.strong()
    found = found[:1].upper() + found[1:]
    assert_said(
        take(blocks, "p"),
        f"{found}. All intervals hold together, at any time, with {{n}}% confidence. {strong}",
        [*values, 100 * a.log.confidence, *more],
    )
    check_matrix(a, take(blocks, "svg"))
    plain_words(take(blocks, "p"))
    check_table(take(blocks, "table"), *(verdict_row(said, pair) for pair in a.pairs))


def verdict_row(said, pair):
    a, price = said.a, said.a.price(*pair)
    low, high = a.interval[pair]
    settled, more = a.settled(*pair), said.forecast[pair]
    return [
        ("{s} to {s}", [*map(said.name, pair)]),
        ("{n}", [a.seen[pair]]),
        ("{n} %", said.percent(a.share[pair])),
        ("{n} % to {n} %", said.percent(low, high)),
        ("{n} %", said.percent(price)),
        ("{n} ({n} to {n})", [said.ratio(pair), price / high, price / low if low else None]),
        ("{n}", said.percent(price - a.share[pair])),
        (STATES[settled], []),
        ("", []) if settled else ("never", []) if more is None else ("{n}", [more]),
    ]


def check_matrix(a, drawing):
    """Numbers and shades stand at the row and the column of their tests."""
    heads, *rows = drawing.rows()
    columns = [x for x, _ in heads[1]]
    assert [name for _, name in heads[1]] == list(a.log.names)
    shares = {pair: 100 * float(p) for pair, p in a.plain.items() if pair[0] != pair[1]}
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
        assert_said(text, "{n}", [shares[pair]])
    shades = iter(shape["fill"] for shape, _ in drawing.of("rect"))
    for i in a.stages:
        for j in a.stages:
            shade = next(shades)
            if i != j:
                depth = 0.08 + 0.8 * shares[i, j] / max(shares.values())
                assert_said(shade, "rgba(0,114,178,{n})", [depth])


def said_patterns(said, blocks):
    a = said.a
    drawing = take(blocks, "svg")
    heads, *rows = drawing.rows()
    assert [name for _, name in heads[1]] == list(a.log.names)
    order = sorted(patterns(a), key=lambda row: -a.counts[row])
    assert len(rows) == min(len(order), 32)
    fills, shapes = {}, iter(shape["fill"] for shape, _ in drawing.of("rect"))
    for (_, texts), row in zip(rows, order, strict=False):
        *cells, share = [text for _, text in texts]
        assert cells == ["·" if y is None else str(y) for y in row]
        assert_said(share, "{n} ({n} %)", [a.counts[row], 100 * a.counts[row] / a.n])
        for y in row:
            fills.setdefault(y, set()).add(next(shapes))
    assert all(len(fill) == 1 for fill in fills.values())
    assert len(set().union(*fills.values())) == len(fills)
    if len(order) > 32:
        assert_said(take(blocks, "p"), "{n} rarer patterns are not shown.", [len(order) - 32])


def bounds(said, blocks):
    a, names = said.a, said.a.log.names
    plain_words(take(blocks, "p"))
    for sentence in words(a):
        assert take(blocks, "li") == sentence
    if not words(a):
        plain_words(take(blocks, "p"))
    plain_words(take(blocks, "h3"))
    share, D = "{n} % to {n} %", a.differences
    rows = [(names[k], a.error_bounds[k], share, said.percent(*a.error_bounds[k]))
            for k in a.stages]  # fmt: skip
    check_bars(take(blocks, "svg"), 0, 1, rows)
    plain_words(take(blocks, "h3"))
    rows = []
    for i in a.stages:
        for j in range(i + 1, a.K):
            ends = -D[j, i], D[i, j]
            rows.append((f"{names[i]} − {names[j]}", ends, share, said.percent(*ends)))
    reach = max(abs(end) for _, ends, _, _ in rows for end in ends)
    check_bars(take(blocks, "svg"), -reach, reach, rows)
    plain_words(take(blocks, "h3"))
    regrets = a.regrets()
    rows = [
        (names[k], (0, regrets[k]), "{n} %, {n}{u}", [100 * regrets[k], *said.cost(regrets[k])])
        for k in a.stages
    ]
    check_bars(take(blocks, "svg"), 0, max(regrets), rows)


def side_by_side(said, blocks):
    regrets = said.a.regrets()
    rows = [
        [
            (rule, []),
            ("{s}", [said.name(stage)]),
            ("", []) if stage is None else ("{n} %", said.percent(regrets[stage])),
            ("", []) if stage is None else ("{n}{u}", said.cost(regrets[stage])),
            ("{t}", []),
        ]
        for rule, stage in zip(RULES, chosen(said.a), strict=True)
    ]
    check_table(take(blocks, "table"), *rows)


def labels(said, blocks):
    a = said.a
    assert_said(
        take(blocks, "p"),
        "{n} labels favour {s}. Stages that may be cheapest by them: {x}. Weak dominance: {x}.",
        [len(a.labelled), said.name(a.label_stage), said.names(a.may_be_best(a.label_least)),
         a.weak_dominance],
    )  # fmt: skip
    rows = [
        [
            ("{s} − {s}", [said.name(i), said.name(j)]),
            ("{n} %", said.percent(a.estimates[i, j])),
            ("{n} % to {n} %", said.percent(*a.label_intervals[i, j])),
            ("{n} %", said.percent(a.C[j] - a.C[i])),
        ]
        for i in a.stages
        for j in range(i + 1, a.K)
    ]
    check_table(take(blocks, "table"), *rows)
    plain_words(take(blocks, "p"))


def plan(said, blocks):
    a = said.a
    rows = [[(said.camps(camps), []), ("{n}", [n]), ("{n}", [m])] for camps, n, m in groups(a)]
    check_table(take(blocks, "table"), *rows)
    for pair, width in sorted(a.resolution.items()):
        assert_said(
            take(blocks, "li"), "{s} or {s}: settled if {t} more than {n} % away from the price",
            [*map(said.name, pair), 100 * width],
        )  # fmt: skip
    ids = [case["case"] for case in said.told["planned_cases"]]
    assert take(blocks, "p") == f"Cases: {', '.join(map(str, ids))}"


def reading(_said, blocks):
    while blocks:
        text = take(blocks, "li")
        assert_said(text.replace("at least 1 where", "at least one where"), "{t}", [])


SECTIONS = {
    "": lead,
    "What is missing": missing,
    "The price map": prices,
    "What disagreement says": verdict,
    "What the tests said": said_patterns,
    "What the right answers can still be": bounds,
    "Side by side": side_by_side,
    "What the labels say": labels,
    "Which cases to label": plan,
    "How to read this": reading,
}


@pytest.mark.parametrize("name", logs.NAMES)
def test_every_number_of_the_page(name):
    a = again(name)
    said, page = Said(a, told(name)), Parsed(logs.report(name).to_html())
    absent = {
        "What is missing": a.complete,
        "What the labels say": not a.labelled,
        "Which cases to label": not a.log.n_planned,
    }
    assert list(page.sections) == [title for title in SECTIONS if not absent.get(title)]
    for title, blocks in page.sections.items():
        SECTIONS[title](said, blocks)
        assert not blocks, title
