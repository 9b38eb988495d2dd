"""The sections of the page on right answers: what they can be, what labels say, which to get."""

from __future__ import annotations

from itertools import combinations

from stopwise.auditing.interval import Interval
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.drawing import bars_svg
from stopwise.auditing.telling.markup import folded, items, note, paragraph, table
from stopwise.auditing.telling.numbers import bound, cleaned, percent, span
from stopwise.auditing.telling.words import (
    dominance_words,
    regret_words,
    stage_name,
    stage_names,
    sureness,
    unsettled_words,
)

MAX_PLANNED = 500
SHARP = """Sharp bounds for the cases in the log: every value inside is reached by some right
answers that fit the log and what is assumed."""
NOT_SHARP = """Bounds for the cases in the log. Of the labels they use the intervals alone, so
they hold with the confidence of these, and right answers that fit the single labels may not reach
their ends."""
NOTHING_TOLD = """None of the labels is of a case on which tests disagree. Where all agree, all are
right or all are wrong: that says nothing about which of them is better."""
FIXED_LABELS = """These intervals hold for a number of labels that was fixed beforehand. Whoever
looks at the labels first and then decides whether to ask for more may not rely on them."""


def bounds_section(report: AuditReport) -> list[str]:
    """Say what the right answers can still be."""
    names = report.cascade.names
    errors = [(names[k], b, bound(b)) for k, b in enumerate(report.error_bounds)]
    pairs = [
        (f"{names[i]} − {names[j]}", report.difference(i, j))
        for i, j in combinations(range(len(names)), 2)
    ]
    reach = max(max(-b.low, b.high) for _, b in pairs) or 1.0
    regrets = [
        (
            names[k],
            Interval(0.0, max(float(r), 0.0)),
            f"{percent(cleaned(float(r)))}, {regret_words(report, float(r))}",
        )
        for k, r in enumerate(report.worst_regrets)
    ]
    widest = max(float(report.worst_regrets.max()), 1e-9)
    assumed = items(report.assumptions) if report.assumptions else "<p>Nothing is assumed.</p>"
    return [
        "<h2>What the right answers can still be</h2>",
        paragraph(SHARP if report.labels is None else NOT_SHARP),
        assumed,
        "<h3>Share of wrong answers</h3>",
        bars_svg(errors, "Bounds on error rates", low=0.0, high=1.0),
        "<h3>Difference in wrong answers</h3>",
        folded(
            len(pairs),
            "pairs",
            bars_svg(
                [(n, b, bound(b)) for n, b in pairs],
                "Bounds on differences",
                low=-reach,
                high=reach,
            ),
        ),
        "<h3>What stopping there costs too much, at worst</h3>",
        bars_svg(regrets, "Worst-case regret", low=0.0, high=widest),
    ]


def choices_section(report: AuditReport) -> list[str]:
    """Say what each rule would choose."""
    rows = [
        [
            c.rule,
            stage_name(report.cascade, c.stage),
            "" if c.worst_regret is None else percent(cleaned(c.worst_regret)),
            "" if c.worst_regret is None else regret_words(report, c.worst_regret),
            c.note,
        ]
        for c in report.choices
    ]
    return [
        "<h2>Side by side</h2>",
        table(["rule", "stops after", "worst-case regret", "in cost", ""], rows),
    ]


def labels_section(report: AuditReport) -> list[str]:
    """Say what the labels say, if there are some."""
    told, cascade = report.labels, report.cascade
    if told is None:
        return []
    C = cascade.cumulative_costs
    rows = [
        [
            f"{stage_name(cascade, i)} − {stage_name(cascade, j)}",
            percent(float(told.estimates[i, j])),
            span(told.interval(i, j)),
            percent(float(C[j] - C[i])),
        ]
        for i, j in combinations(range(cascade.n_stages), 2)
    ]
    possible = stage_names(cascade, told.possible_stages)
    said = (
        f"{told.n_labels:,} labels, {told.n_telling:,} of them where tests disagree, favour "
        f"{stage_name(cascade, told.stage)}. Stages that may be cheapest by them: {possible}, with "
        f"{sureness(report)} confidence. Weak dominance: {dominance_words(report, told)}."
    )
    return [
        "<h2>What the labels say</h2>",
        paragraph(said if told.n_telling else NOTHING_TOLD),
        table(["difference in wrong answers", "estimate", "interval", "price of going on"], rows),
        note(FIXED_LABELS),
    ]


def plan_section(report: AuditReport) -> list[str]:
    """Say which cases to label, if that was asked for."""
    plan, cascade = report.plan, report.cascade
    if plan is None:
        return []
    rows = [[g.describe(cascade), f"{g.n_cases:,}", str(g.n_labels)] for g in plan.groups]
    settles = [
        f"{stage_name(cascade, i)} or {stage_name(cascade, j)}: settled if the difference in wrong "
        f"answers is more than {percent(w)} away from the price"
        for i, j, w in plan.resolution
    ]
    ids = ", ".join(str(c.case) for c in report.planned_cases[:MAX_PLANNED])
    heads = ["who agrees with whom", "cases", "to label"]
    nothing = f"{'These are' if rows else 'Label'} {unsettled_words(report)}."
    return [
        "<h2>Which cases to label</h2>",
        folded(len(rows), "groups", table(heads, rows)) if rows else "",
        folded(len(settles), "pairs", items(settles)) if settles else paragraph(nothing),
        note(f"Cases: {ids}") if ids else "",
    ]
