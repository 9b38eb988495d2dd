"""Every number of the page against the rows of the log: sentences, tables, and what is drawn.

`SECTIONS` has one entry for each heading of the page. A heading, a block or a text with a number
that no check takes fails.
"""

import pytest

from tests.auditing.again import logs
from tests.auditing.again.drawings import (
    PriceDrawing,
    check_bars,
    check_matrix,
    check_table,
    plain_words,
    take,
)
from tests.auditing.again.facts import RULES, again, chosen, groups, patterns, told, words
from tests.auditing.again.parsed_page import Parsed
from tests.auditing.again.said import STATES, Said
from tests.auditing.again.sentences import assert_said


def lead(said, blocks):
    for template, values in said.headline():
        assert_said(take(blocks, "p"), template, values)
    if said.a.odd_values:
        assert_said(take(blocks, "p"), *said.odd())


def missing(said, blocks):
    a = said.a
    gaps, values = said.gaps()
    bias = "There is no sign that this depends on other outputs; it may {t}."
    right_if = " The adjusted ones are right if gaps depend on nothing but the outputs shown; "
    right_if += "else {t}."
    if a.by_truth:
        bias = "Whether {x} ran depends on what is right, as the labels show: the shares below {t}."
        values, right_if = [*values, said.names(a.by_truth)], ""
    elif a.dependent:
        bias = "Whether {x} ran depends on other outputs, so the plain shares are biased."
        values = [*values, said.names(a.dependent)]
    elif a.unseen_tests:
        bias = "Whether the gaps of {x} depend on other outputs cannot be seen here."
        values = [*values, said.names(a.unseen_tests)]
    bias += right_if
    if a.blind:
        bias += " The intervals below let a missing output be anything where that counts."
    elif a.by_outputs:
        bias += " The intervals below take it, as you assume, that nothing else decided."
    looks = {None: "no stage looks sound"}
    plain, adjusted = (
        looks.get(k, f"{said.name(k)} looks sound") for k in (a.sound(a.plain), a.sound(a.adjusted))
    )
    if None in a.adjusted.values():
        adjusted = "that is open: some gaps have no complete case that shows the same"
    shift = "and adjusted too" if plain == adjusted else f"adjusted {adjusted}"
    shift = f"Where both ran {plain}{',' if plain == adjusted else ';'} {shift}."
    assert_said(
        take(blocks, "p"),
        f"{gaps}. Each pair is compared in the cases where both ran. {bias} {shift}",
        values,
    )
    rows = [
        [
            ("{s} to {s}", [*map(said.name, pair)]),
            said.plain(pair),
            adjusted_cell(said, pair),
            ("{n} % to {n} %", said.percent(*a.worst(*pair))),
        ]
        for pair in a.pairs
    ]
    check_table(take(blocks, "table"), *rows)


def adjusted_cell(said, pair):
    template, values = said.adjusted(pair)
    return template.replace(" adjusted", ""), values


def prices(said, blocks):
    drawing = take(blocks, "svg")
    PriceDrawing(said, drawing).check()
    plain_words(take(blocks, "p"))


def verdict(said, blocks):
    a = said.a
    (found, values), (strong, more) = said.finding(), said.strong()
    out, ruled_out = said.ruled_out()
    found = found[:1].upper() + found[1:]
    held = "The intervals of all pairs hold together, at any time, with {n} % confidence."
    assert_said(
        take(blocks, "p"),
        f"{found}{out}. {held} {strong}",
        [*values, *ruled_out, 100 * a.log.confidence, *more],
    )
    check_matrix(a, take(blocks, "svg"))
    plain_words(take(blocks, "p"))
    check_table(take(blocks, "table"), *(verdict_row(said, pair) for pair in a.pairs))


def verdict_row(said, pair):
    a, price, share = said.a, said.a.price(*pair), said.a.share[pair]
    low, high = a.interval[pair]
    settled, more = a.settled(*pair), said.forecast[pair]
    ratios = [price / high, price / low if low else None]
    return [
        ("{s} to {s}", [*map(said.name, pair)]),
        ("{n}", [a.seen[pair]]),
        ("unknown", []) if share is None else ("{n} %", said.percent(share)),
        ("{n} % to {n} %", said.percent(low, high)),
        ("{n} %", said.percent(price)),
        ("{n} to {n}", ratios)
        if share is None
        else ("{n} ({n} to {n})", [said.ratio(pair), *ratios]),
        ("", []) if share is None else ("{n}", said.percent(price - share)),
        (STATES[settled], []),
        ("", []) if settled else ("never", []) if more is None else ("{n}", [more]),
    ]


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
        (names[k], (0, max(regrets[k], 0)), "{n} %, " + said.cost(regrets[k])[0],
         [*said.percent(regrets[k]), *said.cost(regrets[k])[1]])
        for k in a.stages
    ]  # fmt: skip
    check_bars(take(blocks, "svg"), 0, max(regrets), rows)


def side_by_side(said, blocks):
    regrets = said.a.regrets()
    rows = [
        [
            (rule, []),
            ("{s}", [said.name(stage)]),
            ("", []) if stage is None else ("{n} %", said.percent(regrets[stage])),
            ("", []) if stage is None else said.cost(regrets[stage]),
            ("{t}", []),
        ]
        for rule, stage in zip(RULES, chosen(said.a), strict=True)
    ]
    check_table(take(blocks, "table"), *rows)


def labels(said, blocks):
    a = said.a
    if a.n_telling:
        assert_said(
            take(blocks, "p"),
            "{n} labels, {n} of them where tests disagree, favour {s}. Stages that may be cheapest "
            "by them: {x}, with {n} % confidence. Weak dominance: {x}.",
            [len(a.labelled), a.n_telling, said.name(a.label_stage),
             said.names(a.may_be_best(a.label_least)), 100 * a.log.confidence,
             said.weak_dominance()],
        )  # fmt: skip
    else:
        assert_said(
            take(blocks, "p"), "None of the labels is of a case on which tests disagree. {t}", []
        )
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
    if len(rows) > 15:
        assert take(blocks, "summary") == f"All {len(rows)} groups"
    if rows:
        check_table(take(blocks, "table"), *rows)
    for pair, width in sorted(a.resolution.items()):
        assert_said(
            take(blocks, "li"), "{s} or {s}: settled if {t} more than {n} % away from the price",
            [*map(said.name, pair), 100 * width],
        )  # fmt: skip
    if not a.resolution:
        nothing = "Label nothing: no case shows stages that may be best disagree."
        assert take(blocks, "p") == (said.settles_nothing() if rows else nothing)
    ids = [case["case"] for case in said.told["planned_cases"]]
    if ids:
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
