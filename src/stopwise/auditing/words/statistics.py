"""The evidence behind the advice, for statisticians: tables for page and terminal alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from stopwise.auditing.evidence.verdict import Finding, PairEvidence
from stopwise.auditing.labels.label_evidence import Holds
from stopwise.auditing.labels.label_plan import disputed
from stopwise.auditing.report import AuditReport
from stopwise.auditing.rules import Rule
from stopwise.auditing.words.main_sections import Section, labels_words
from stopwise.auditing.words.numbers import cleaned, figure, percent, span
from stopwise.auditing.words.phrases import (
    cost,
    forecast,
    more_cases,
    n_reference,
    name,
    names,
    one_line,
    quoted,
)
from stopwise.patterns import MISSING

MAX_ROWS = 25
SETTLED = {1: "cannot pay", -1: "may pay", 0: "open"}  # what going on is known to do
FINDING = {
    Finding.SOUND: "Weak dominance: {stage} is the sound stage.",
    Finding.NONE: "Weak dominance: no stage is sound, so disagreement alone cannot choose.",
    Finding.UNDECIDED: "Weak dominance: undecided; {stage} looks sound, and {more} would settle "
    "it.",
}
HOLDS = {Holds.YES: "holds", Holds.NO: "fails", Holds.OPEN: "is open"}
RULE = {
    Rule.STRONG_DOMINANCE: "strong dominance",
    Rule.WEAK_DOMINANCE: "weak dominance",
    Rule.MINIMAX: "smallest worst-case regret",
    Rule.BELIEF: "independent errors",
    Rule.LAST: "always the last test",
}


def sections(report: AuditReport) -> list[Section]:
    """Return everything that the advice rests on."""
    parts = [_weak_dominance, _bounds, _rules, _labels, _plan, _missing, _patterns]
    return [section for part in parts for section in part(report)]


def _weak_dominance(report: AuditReport) -> Iterator[Section]:
    facts, verdict = report.facts, report.facts.verdict
    stage = "no stage" if verdict.stage is None else name(report, verdict.stage)
    finding = FINDING[verdict.finding].format(stage=stage, more=more_cases(verdict.n_more))
    confidence = f"{100 * facts.confidence:.6g} %"
    yield Section(
        "What disagreement says",
        f"{finding} The intervals of all pairs hold together and at any time with {confidence} "
        f"confidence. {_strong_dominance(report)}",
        ("from", "to", "cases", "answers changed", "interval", "price", "price / changed",
         "going on", "cases to settle it"),
        tuple(_pair_row(report, pair) for pair in verdict.pairs),
    )  # fmt: skip


def _pair_row(report: AuditReport, pair: PairEvidence) -> tuple[str, ...]:
    return (
        name(report, pair.shallow),
        name(report, pair.deep),
        f"{pair.n_seen:,}",
        percent(pair.disagreement),
        span(pair.interval),
        percent(pair.price),
        "" if math.isnan(pair.ratio) else figure(pair.ratio),
        SETTLED[pair.settled],
        "" if pair.settled else forecast(pair.n_more),
    )


def _strong_dominance(report: AuditReport) -> str:
    strong = report.facts.strong_dominance
    if not strong.is_refuted:
        return (
            "Strong dominance (a right answer stays right) is compatible with the log: at most "
            f"{percent(strong.interval.high)} of cases contradict it."
        )
    least = "at least " if strong.n_open else ""
    return (
        "Strong dominance (a right answer stays right) is refuted: "
        f"{least}{percent(strong.rate)} of cases contradict it ({span(strong.interval)})."
    )


def _bounds(report: AuditReport) -> Iterator[Section]:
    facts, rates = report.facts, report.facts.belief.error_rates
    assumptions = "; ".join(map(one_line, facts.assumptions)) or "nothing"
    is_adjusted = any(pair.is_adjusted for pair in facts.verdict.pairs)
    used = ["labels"] * (facts.labels is not None) + ["gaps at random"] * is_adjusted
    bounds = "Sharp bounds for the cases in this log."
    if used:
        bounds = (
            f"Bounds for the cases in this log, by the intervals of {' and '.join(used)}: they "
            f"hold with {100 * facts.confidence:.6g} % confidence and may be wider than necessary."
        )
    yield Section(
        "What the right answers can still be",
        f"{bounds} Assumed: {assumptions}. Regret is what stopping there costs more than the best "
        "choice.",
        ("test", "wrong answers", "estimate", _regret_head(report)),
        tuple(
            (
                name(report, k),
                span(bounds),
                "" if np.isnan(rates[k]) else percent(float(rates[k])),
                cost(report, max(cleaned(float(facts.worst_regrets[k])), 0.0)),
            )
            for k, bounds in enumerate(facts.error_bounds)
        ),
    )


def _rules(report: AuditReport) -> Iterator[Section]:
    rows = []
    for choice in report.facts.choices:
        words, stage, regret = RULE[choice.rule], "–", ""
        if choice.rule is Rule.STRONG_DOMINANCE and report.facts.strong_dominance.is_refuted:
            words += " (refuted by this log)"
        if choice.stage is not None and choice.worst_regret is not None:
            stage = name(report, choice.stage)
            regret = cost(report, max(cleaned(choice.worst_regret), 0.0))
        rows.append((words, stage, regret))
    heads = ("rule", "stops after", _regret_head(report))
    yield Section("All rules side by side", _misfit(report), heads, tuple(rows))


def _regret_head(report: AuditReport) -> str:
    return f"regret at worst per {n_reference(report):,} cases"


def _misfit(report: AuditReport) -> str:
    belief = report.facts.belief
    if not belief.has_rates:
        return (
            "There is no model of independent errors. It needs labels, or three tests that do not "
            "look nested and were run together after outputs of every kind."
        )
    if belief.is_refuted:
        tests = names(report, belief.dependent_tests, "and")
        return f"The log refutes the model of independent errors: {tests} do not err independently."
    if belief.is_testable:
        return "The model of independent errors fits: this log could have refuted it and does not."
    return "This log can neither refute nor confirm the model of independent errors."


def _labels(report: AuditReport) -> Iterator[Section]:
    labels, C = report.facts.labels, report.cascade.cumulative_costs
    if labels is None:
        return
    dominance = HOLDS[labels.weak_dominance]
    yield Section(
        "Labels: all pairs",
        f"{labels_words(labels)} May be cheapest by them: "
        f"{names(report, labels.possible_stages)}. Weak dominance {dominance}. The intervals hold "
        "for a number of labels that was fixed beforehand.",
        ("more wrong answers in", "than in", "estimate", "interval", "price of going on"),
        tuple(
            (
                name(report, i),
                name(report, j),
                percent(float(labels.estimates[i, j])),
                span(labels.interval(i, j)),
                percent(float(C[j] - C[i])),
            )
            for i, j in combinations(range(report.cascade.n_stages), 2)
        ),
    )


def _plan(report: AuditReport) -> Iterator[Section]:
    plan = report.facts.plan
    if plan is None or not plan.groups:
        return
    settles = "; ".join(
        f"{name(report, i)} or {name(report, j)} if their wrong answers differ from the price by "
        f"more than {percent(width)}"
        for i, j, width in plan.resolution
    )
    yield Section(
        "Which cases to label",
        f"That would settle {settles}." if settles else "",
        ("tests that agree", "cases", "to label"),
        tuple(
            (_agreement_words(report, group.blocks), f"{group.n_cases:,}", f"{group.n_labels:,}")
            for group in plan.groups
        ),
    )


def _agreement_words(report: AuditReport, blocks: tuple[int, ...]) -> str:
    """Say which tests agree with each other, and which gave nothing."""
    tests: dict[int, list[str]] = {}
    for k, block in enumerate(blocks):
        tests.setdefault(block, []).append(one_line(report.cascade.names[k]))
    missing = tests.pop(MISSING, [])
    gaps = f" (without {', '.join(missing)})" if missing else ""
    return " | ".join(" = ".join(group) for group in tests.values()) + gaps


def _missing(report: AuditReport) -> Iterator[Section]:
    gaps = report.facts.missing
    if gaps is None:
        return
    n = report.facts.table.n_cases
    yield Section(
        "What is missing",
        f"{gaps.n_incomplete:,} of {n:,} cases lack an output; in {gaps.n_prefix:,} of them all "
        "tests from some point on. Adjusted shares are right if gaps depend on nothing but the "
        "outputs shown.",
        ("from", "to", "changed where both ran", "adjusted", "at worst"),
        tuple(
            (
                name(report, p.shallow),
                name(report, p.deep),
                percent(p.plain),
                span(p.adjusted_range) if math.isnan(p.adjusted) else percent(p.adjusted),
                span(p.worst),
            )
            for p in gaps.pairs
        ),
    )


def _patterns(report: AuditReport) -> Iterator[Section]:
    """Disagreements come first: only they tell the tests apart."""
    table = report.facts.table
    rows = table.codes.tolist()
    order = np.lexsort((-table.weights, ~disputed(table, range(table.n_stages))))
    rest = len(order) - MAX_ROWS
    yield Section(
        "What the tests said",
        f"{rest:,} rarer patterns are not shown." if rest > 0 else "",
        (*map(one_line, report.cascade.names), "cases", "share"),
        tuple(
            (
                *("–" if c == MISSING else quoted(table.classes[c]) for c in rows[r]),
                f"{table.weights[r]:,}",
                percent(float(table.probabilities[r])),
            )
            for r in order[:MAX_ROWS].tolist()
        ),
    )
