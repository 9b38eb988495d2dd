"""The first five sentences of a report: what to do, why, on what it rests, what next."""

from __future__ import annotations

import math

from stopwise.audit.bounds.regrets import TINY
from stopwise.audit.evidence.verdict import Finding, PairEvidence
from stopwise.audit.report import AuditReport
from stopwise.audit.telling.words import per_thousand, stage_name
from stopwise.cascade import TOLERANCE


def headline(report: AuditReport) -> list[str]:
    """Return five sentences without statistics: what to do, why, on what it rests, what next."""
    stage = report.recommended_stage
    return [
        _what_to_do(report, stage),
        _going_on(report, stage),
        _stopping_before(report, stage),
        _at_most(report, stage),
        _next(report),
    ]


def _what_to_do(report: AuditReport, stage: int) -> str:
    name, K = stage_name(report.cascade, stage), report.cascade.n_stages
    place = f"{name} (test {stage + 1} of {K})"
    if report.is_known and _waits_for_cases(report):
        return f"Stop after {place}: in this log no other choice is cheaper, whatever is right."
    if report.is_known:
        return (
            f"Stop after {place}. No other choice can be cheaper, whatever the right answers are."
        )
    if report.labels is not None and report.labels.stage != stage:
        return f"Stop after {place} for now: the labels favour a test that you rule out otherwise."
    if report.labels is not None:
        sure = len(report.labels.possible_stages) == 1
        return (
            f"Stop after {place}: the labels {'show' if sure else 'suggest'} that it is cheapest."
        )
    if report.verdict.finding is Finding.SOUND and report.verdict.stage == stage:
        conditions = ["what the third line says is believable"] if stage else []
        conditions += _skipped(report)
        return f"Stop after {place}{', if ' if conditions else ''}{' and '.join(conditions)}."
    if _open_to_bias(report, stage):
        return (
            f"Stop after {place} for now: which cases got the later tests was no chance, "
            "so this log cannot tell."
        )
    return f"Stop after {place} for now: without labels nobody can know which test is best here."


def _skipped(report: AuditReport) -> list[str]:
    """Return what has to be true of the gaps: nothing where they were allowed to be anything."""
    n, pairs = report.histogram.n_cases, report.verdict.pairs
    rests = [(p.shallow, p.deep) for p in pairs if p.n_seen < n and not p.is_biased]
    if report.missing is None or not rests:
        return []
    assumed = set(rests) & set(report.missing.biased_pairs)
    return [f"tests were skipped {'as you assume' if assumed else 'by chance'}"]


def _going_on(report: AuditReport, stage: int) -> str:
    later = [p for p in report.verdict.pairs if p.shallow == stage]
    if not later:
        return "It is the last test: there is nothing to go on to."
    worst = min(later, key=_least_margin)
    name = stage_name(report.cascade, worst.deep)
    change, price = _changed(worst), _in_1000(worst.price)
    if worst.is_biased and not worst.settled:
        return _going_on_blindly(report, worst)
    facts = (
        f"Going on to {name} changes {change} answers in 1,000 "
        f"and costs as much as {price} mistakes"
    )
    if worst.settled > 0:
        return f"{facts}: it cannot pay."
    if worst.settled < 0:
        return f"{facts}: it may pay, if most of the changes are for the better."
    if worst.margin >= -TOLERANCE:
        return f"{facts}: it could not pay here, but {worst.n_seen:,} cases are few."
    return f"{facts}: too close to call with {worst.n_seen:,} cases."


def _going_on_blindly(report: AuditReport, pair: PairEvidence) -> str:
    """Say what going on changes where earlier outputs decided over who got the later test."""
    assert report.missing is not None
    read = report.missing.pair(pair.shallow, pair.deep)
    over_all = (
        f"{_in_1000(read.worst.low)} to {_in_1000(read.worst.high)}"
        if math.isnan(read.adjusted)
        else f"about {_in_1000(read.adjusted)}"
    )
    return (
        f"Going on to {stage_name(report.cascade, pair.deep)} costs as much as "
        f"{_in_1000(pair.price)} mistakes in 1,000 cases. It changed {_in_1000(read.plain)} "
        f"answers in 1,000 where both ran, but in all cases it may be {over_all}."
    )


def _changed(pair: PairEvidence) -> str:
    """Return how many answers in 1,000 change, with what gaps leave open."""
    if _is_vague(pair):
        return f"{_in_1000(pair.interval.low)} to {_in_1000(pair.interval.high)}"
    return _in_1000(pair.disagreement)


def _least_margin(pair: PairEvidence) -> float:
    return pair.margin_interval.low if _is_vague(pair) else pair.margin


def _is_vague(pair: PairEvidence) -> bool:
    """Whether gaps leave an interval and no share."""
    return pair.is_biased or math.isnan(pair.disagreement)


def _open_to_bias(report: AuditReport, stage: int) -> bool:
    """Whether something about ``stage`` is open because earlier outputs decided who was tested."""
    return any(
        p.is_biased and not p.settled for p in report.verdict.pairs if stage in (p.shallow, p.deep)
    )


def _stopping_before(report: AuditReport, stage: int) -> str:
    earlier = [p for p in report.verdict.pairs if p.deep == stage]
    if not earlier:
        return "It is the first test: there is nothing to stop at before."
    nearest = max(earlier, key=_least_margin)
    name = stage_name(report.cascade, nearest.shallow)
    change, price = _changed(nearest), _in_1000(nearest.price)
    return (
        f"Stopping at {name} already saves the cost of {price} mistakes in 1,000 cases; "
        f"the {change} answers changed since are taken to be worth it."
    )


def _at_most(report: AuditReport, stage: int) -> str:
    worst = float(report.worst_regrets[stage])
    if worst <= TINY:
        return f"This holds for any right answers to these cases{_under(report)}."
    where, cost = f"in these {report.histogram.n_cases:,} cases", per_thousand(report, worst)
    text = f"If that is wrong {where} it costs at most {cost} too much"
    if stage != report.minimax_stage:
        safest = stage_name(report.cascade, report.minimax_stage)
        text += f"; the safest choice, {safest}, at most {per_thousand(report, report.guarantee)}"
    return f"{text}{_under(report)}."


def _waits_for_cases(report: AuditReport) -> bool:
    """Whether chance could have made the log look as it does at the recommended stage."""
    return bool(_open_pairs(report))


def _open_pairs(report: AuditReport) -> list[PairEvidence]:
    """Return the pairs of the recommended stage that the log does not settle."""
    stage = report.recommended_stage
    return [p for p in report.verdict.pairs if stage in (p.shallow, p.deep) and p.settled == 0]


def _under(report: AuditReport) -> str:
    return ", given what you assume" if report.assumptions else ", with nothing assumed"


def _next(report: AuditReport) -> str:
    wait = max((p.n_more for p in _open_pairs(report)), default=0)
    if report.is_known and _open_to_bias(report, report.recommended_stage) and math.isinf(wait):
        return "No labels are needed, if tests were skipped as you assume."
    if report.is_known and _waits_for_cases(report):
        more = f"about {wait:,.0f} more cases would" if math.isfinite(wait) else "more cases may"
        return f"No labels are needed; {more} make sure that it holds for new cases too."
    if report.is_known:
        return "No labels are needed."
    if report.planned_cases:
        n = len(report.planned_cases)
        if report.labels is not None:  # the number of labels must not depend on what they said
            return f"Label the {n} cases of the new plan and hand in these alone, old labels aside."
        return f"Label the {n} cases of the plan and audit again with --labels."
    if report.labels is not None and len(report.labels.possible_stages) == 1:
        return "No more labels are needed."
    if report.labels is not None:  # intervals hold for a number of labels fixed beforehand
        n = 4 * report.labels.n_labels
        return f"To be sure, label a larger plan (--plan-labels {n}) and hand in its cases alone."
    return "To be sure, label a few cases on which tests disagree: --plan-labels 50 chooses them."


def _in_1000(share: float) -> str:
    return f"{1000 * share:,.0f}" if not math.isnan(share) else "an unknown number of"
