"""Why to stop there: what going on would change and cost, and what stopping before would save."""

from __future__ import annotations

import math

from stopwise.auditing.bounds.grounds import Ground
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.evidence.verdict import Finding, PairEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.numbers import count
from stopwise.auditing.telling.words import changes, if_skipped, many, n_cases_said, stage_name
from stopwise.disagreement import price_covers

HERE_NOT = "here it cannot pay, but for new cases that is too close to be sure"


def going_on(report: AuditReport, stage: int) -> str:
    """Say what the most tempting later test changes and costs, and whether that can pay."""
    later = [p for p in report.verdict.pairs if p.shallow == stage]
    if not later:
        return _at_the_end(report, stage)
    pair = min(later, key=lambda p: (_cannot_pay(report, p), _spared(report, p)))
    told = _cannot_pay(report, pair) or (report.has_telling_labels and not refuted(report, pair))
    if pair.is_biased and not pair.settled and not told:
        return _going_on_blindly(report, pair)
    name = stage_name(report.cascade, pair.deep)
    facts = f"Going on to {name} changes {changes(report, pair)} in {n_cases_said(report):,} and "
    facts += _costs(report, pair)
    return f"{facts}{_whether_it_pays(report, pair)}."


def _at_the_end(report: AuditReport, stage: int) -> str:
    """Say that no test comes after ``stage``, and what another branch may be worth at most."""
    K, C = report.cascade.n_stages, report.cascade.cumulative_costs
    met = {
        k for p in report.verdict.pairs if stage in (p.shallow, p.deep) for k in (p.shallow, p.deep)
    }
    others = [k for k in range(K) if k not in met]
    if not others:
        return "It is the last test: there is nothing to go on to."
    avoided = report.largest_differences[stage]
    other = max(others, key=lambda k: float(avoided[k] - C[k]))
    more, n = float(C[other] - C[stage]), n_cases_said(report)
    costs = (
        "costs no more" if more <= 0 else f"costs as much as {many(report, more, 'mistake')} more"
    )
    text = f"No test comes after it; {stage_name(report.cascade, other)}, on another branch, "
    return f"{text}{costs} and avoids at most {count(n * max(avoided[other], 0.0))} in {n:,}."


def _whether_it_pays(report: AuditReport, pair: PairEvidence) -> str:
    if pair.settled > 0:
        skipped, here = if_skipped(report, [pair]), _cannot_pay(report, pair)
        if not skipped or (here and _ground(report) is Ground.LOG):
            return ": it cannot pay"
        if not here:  # else the log shows it without that
            return f": it cannot pay{skipped}"
    if _cannot_pay(report, pair):
        return f": {_cannot_pay_words(report, pair)}"
    if report.has_telling_labels and not refuted(report, pair):
        return f"; by the labels it {_avoids(report, pair)}"
    if pair.settled < 0:
        return ": it may pay, if enough of the changes are for the better"
    if math.isnan(pair.disagreement):
        return ": what is missing leaves it open"
    if pair.margin >= 0:
        return ": it looks as if it cannot pay, but that is too close to call"
    return f": too close to call with {pair.n_seen:,} cases"


def stopping_before(report: AuditReport, stage: int) -> str:
    """Say what stopping one test earlier would save, and why it is better not to."""
    earlier = [p for p in report.verdict.pairs if p.deep == stage]
    if not earlier:
        return "It is the first test: there is nothing to stop at before."
    pair = max(earlier, key=lambda p: (not _surely_pays(report, p), _spared(report, p)))
    n = n_cases_said(report)
    saved = many(report, pair.price, "mistake")
    text = f"Stopping at {stage_name(report.cascade, pair.shallow)} already would save "
    text += f"the cost of {saved} in {n:,} cases" if pair.price > 0 else "nothing"
    change = f"going on, which changes {changes(report, pair)},"
    if _surely_pays(report, pair):
        return f"{text}; {_why(report)}{change} is worth {'more' if pair.price > 0 else 'it'}."
    if refuted(report, pair):
        return f"{text}; whether {change} is worth more, what is missing leaves open."
    if report.has_telling_labels:
        return f"{text}; by the labels, going on from there {_avoids(report, pair)}."
    if report.verdict.finding is Finding.SOUND and report.verdict.stage == stage:
        return f"{text}; {change} is taken to be worth more."
    return f"{text}; whether {change} is worth more cannot be known without labels."


def open_by_gaps(report: AuditReport, stage: int) -> bool:
    """Whether something about ``stage`` is open because outputs decided who was tested."""
    return any(
        not p.settled and (p.is_biased or math.isnan(p.disagreement))
        for p in report.verdict.pairs
        if stage in (p.shallow, p.deep)
    )


def refuted(report: AuditReport, pair: PairEvidence) -> bool:
    """Whether labels show that a test on the way was run or not by more than outputs show."""
    return report.missing is not None and (pair.shallow, pair.deep) in report.missing.refuted_pairs


def _going_on_blindly(report: AuditReport, pair: PairEvidence) -> str:
    """Say what going on changes where other outputs decided over who got the later test."""
    assert report.missing is not None
    read, n = report.missing.pair(pair.shallow, pair.deep), n_cases_said(report)
    seen = ""
    if not math.isnan(read.plain):  # else no case shows both
        seen = f"{many(report, read.plain, 'answer')} in {n:,} where both ran"
    over_all = f"{count(n * read.worst.low)} to {count(n * read.worst.high)}"
    text = f"Going on to {stage_name(report.cascade, pair.deep)} {_costs(report, pair)} in {n:,} "
    text += (
        f"cases. It changed {seen}, but in all cases it may be " if seen else "cases. It changes "
    )
    if math.isnan(read.adjusted) or refuted(report, pair):
        return f"{text}anything from {over_all}."
    return (
        f"{text}anything from {over_all}; about {count(n * read.adjusted)}, if nothing but the "
        "outputs shown decided who was tested."
    )


def _costs(report: AuditReport, pair: PairEvidence) -> str:
    if pair.price <= 0:
        return "costs nothing"
    return f"costs as much as {many(report, pair.price, 'mistake')}"


def _avoids(report: AuditReport, pair: PairEvidence) -> str:
    """Return by how much the labels make wrong answers fewer from one test to the other."""
    assert report.labels is not None
    fewer = float(report.labels.estimates[pair.shallow, pair.deep])
    if math.isnan(fewer):
        return "may avoid any number of mistakes"
    verb = "avoids" if fewer >= 0 else "adds"
    return f"{verb} about {many(report, abs(fewer), 'mistake')}"


def _spared(report: AuditReport, pair: PairEvidence) -> float:
    """Return how much more going on costs than it avoids, by the labels, or can avoid."""
    if report.labels is not None and report.has_telling_labels:
        spared = pair.price - float(report.labels.estimates[pair.shallow, pair.deep])
        return pair.margin_interval.low if math.isnan(spared) else spared
    if pair.is_biased or math.isnan(pair.disagreement):
        return pair.margin_interval.low
    return pair.margin


def _cannot_pay(report: AuditReport, pair: PairEvidence) -> bool:
    """Whether in this log going on costs more than any right answers let it avoid."""
    return bool(report.largest_differences[pair.shallow, pair.deep] <= pair.price + TINY)


def _surely_pays(report: AuditReport, pair: PairEvidence) -> bool:
    """Whether in this log going on costs less than it avoids whatever the right answers are."""
    return bool(pair.price + report.largest_differences[pair.deep, pair.shallow] <= TINY)


def _ground(report: AuditReport) -> Ground:
    """Return what a sure statement about the log rests on, all of it where that is not known."""
    if report.ground is not None:
        return report.ground
    if report.labels is None:
        return Ground.ASSUMED if report.is_assuming else Ground.LOG
    return Ground.BOTH if report.is_assuming else Ground.LABELS


def _cannot_pay_words(report: AuditReport, pair: PairEvidence) -> str:
    # What the price covers whatever is right rests on the log alone, whatever else is known.
    seen_in_all = pair.n_seen == report.histogram.n_cases
    if seen_in_all and price_covers(pair.price, pair.disagreement):
        return HERE_NOT
    return {
        Ground.LOG: HERE_NOT,
        Ground.ASSUMED: "given what you assume it cannot pay",
        Ground.LABELS: "the labels show that it does not pay",
        Ground.BOTH: "given what you assume, the labels show that it does not pay",
    }[_ground(report)]


def _why(report: AuditReport) -> str:
    return {
        Ground.LOG: "",
        Ground.ASSUMED: "given what you assume, ",
        Ground.LABELS: "the labels show that ",
        Ground.BOTH: "given what you assume, the labels show that ",
    }[_ground(report)]
