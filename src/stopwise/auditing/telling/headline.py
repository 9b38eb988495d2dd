"""The first five sentences of a report: what to do, why, on what it rests, what next."""

from __future__ import annotations

import math

from stopwise.auditing.bounds.grounds import Ground
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.labels.evidence import LabelEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.steps import going_on, open_by_gaps, refuted, stopping_before
from stopwise.auditing.telling.words import (
    if_skipped,
    more_cases,
    regret_words,
    skipped_words,
    stage_name,
)

FEW = 50  # labels to begin with
ALL_AGREE = "all labels are of cases on which the tests agree, so they cannot say which is better"
NO_CHANCE = "who got which tests was not left to chance, so this log cannot tell"


def headline(report: AuditReport) -> list[str]:
    """Return five sentences without statistics: what to do, why, on what it rests, what next."""
    stage = report.recommended_stage
    return [
        _what_to_do(report, stage),
        going_on(report, stage),
        stopping_before(report, stage),
        _at_most(report, stage),
        _next(report),
    ]


def _what_to_do(report: AuditReport, stage: int) -> str:
    name, K = stage_name(report.cascade, stage), report.cascade.n_stages
    stop = f"Stop after {name} (test {stage + 1} of {K})"
    if report.ground is not None:
        return f"{stop}{_surely(report, report.ground)}"
    if any(refuted(report, p) for p in report.verdict.pairs):
        return f"{stop} for now: {NO_CHANCE}."
    if report.labels is not None and not report.has_telling_labels:
        return f"{stop} for now: {ALL_AGREE}."
    if report.labels is not None and report.labels.stage not in report.possible_stages:
        return f"{stop} for now: the labels favour a test that you rule out otherwise."
    if report.labels is not None:
        return f"{stop}{_by_labels(report, report.labels, stage)}{_told_if(report)}."
    if report.verdict.finding is Finding.SOUND and report.verdict.stage == stage:
        conditions = ["what the third line says is believable"] if stage else []
        conditions += [words] if (words := skipped_words(report, report.verdict.pairs)) else []
        return f"{stop}{', if ' if conditions else ''}{' and '.join(conditions)}."
    if open_by_gaps(report, stage):
        return f"{stop} for now: {NO_CHANCE}."
    granted = "even with what you assume " if report.is_assuming else ""
    return f"{stop} for now: {granted}nobody can know without labels which test is best here."


def _by_labels(report: AuditReport, told: LabelEvidence, stage: int) -> str:
    """Return what the labels say of ``stage`` where they do not make it sure."""
    few = told.n_labels == 1
    labels = "the label" if few else f"the {told.n_labels:,} labels"
    if told.n_telling < told.n_labels:
        labels += f" ({told.n_telling:,} where tests disagree)"
    if stage == told.stage:
        return f": {labels} suggest{'s' * few} that it is cheapest"
    unclear = f"{labels} do{'es' * few} not clearly say otherwise"
    return f": disagreement suggests that it is cheapest, and {unclear}"


def _surely(report: AuditReport, ground: Ground) -> str:
    if ground is Ground.LOG and _waits_for_cases(report):
        return ": in this log no other choice is cheaper, whatever is right."
    return {
        Ground.LOG: ". No other choice can be cheaper, whatever the right answers are.",
        Ground.ASSUMED: ": given what you assume, no other choice is cheaper in this log.",
        Ground.LABELS: ": the labels show that no other choice is cheaper in this log.",
        Ground.BOTH: ": the labels show it to be the cheapest in this log, given what you assume.",
    }[ground]


def _told_if(report: AuditReport) -> str:
    """Return on what estimates from labels rest: cases that show the same stand in for gaps."""
    pairs = report.verdict.pairs
    if any(p.is_biased for p in pairs):
        return ", if nothing but the outputs shown decided who was tested"
    return if_skipped(report, pairs)


def _at_most(report: AuditReport, stage: int) -> str:
    worst, cases = float(report.worst_regrets[stage]), f"these {report.histogram.n_cases:,} cases"
    if report.ground is Ground.LOG:
        return f"This holds for any right answers to {cases}, with nothing assumed."
    if report.ground is Ground.ASSUMED:
        return f"This holds for any right answers to {cases} that fit what you assume."
    if worst <= TINY:
        sure = "" if _has_all_labels(report) else "; how surely is said below"
        return f"This holds for {cases}{_under(report)}{sure}."
    text = f"If that is wrong in {cases} it costs at most {regret_words(report, worst)} too much"
    if regret_words(report, worst) != regret_words(report, report.guarantee):
        safest = stage_name(report.cascade, report.minimax_stage)
        text += f"; the safest choice, {safest}, at most {regret_words(report, report.guarantee)}"
    return f"{text}{_under(report)}."


def _under(report: AuditReport) -> str:
    conditions = ["given what you assume"] * report.is_assuming
    if _has_all_labels(report):
        conditions.append("of which each has a label")
    elif report.labels is not None:
        conditions.append("if labels were given to random cases")
    return f", {' and '.join(conditions)}" if conditions else ", with nothing assumed"


def _has_all_labels(report: AuditReport) -> bool:
    """Whether labels leave nothing open: no case without one, and no output missing."""
    if report.labels is None or report.missing is not None:
        return False
    return report.labels.n_labels == report.histogram.n_cases


def _waits_for_cases(report: AuditReport) -> bool:
    """Whether chance could have made the log look as it does at the recommended stage."""
    stage = report.recommended_stage
    return any(p.settled == 0 for p in report.verdict.pairs if stage in (p.shallow, p.deep))


def _next(report: AuditReport) -> str:
    if report.ground is Ground.LOG:
        return f"No labels are needed{_more_cases(report)}."
    if report.ground is Ground.ASSUMED:
        return "No labels are needed, as long as what you assume is true."
    if report.ground is not None:
        return "No more labels are needed."
    return _which_labels(report)


def _which_labels(report: AuditReport) -> str:
    if report.planned_cases:
        n = len(report.planned_cases)
        if report.labels is not None:  # the number of labels must not depend on what they said
            return f"Label the {n} cases of the new plan and hand in these alone, old labels aside."
        return f"Label the {n} cases of the plan and audit again with --labels."
    if open_by_gaps(report, report.recommended_stage):  # labels do not say what a gap hides
        return (
            "To be surer, run all tests on some cases drawn at random, and audit these alone"
            f"{_or_say_so(report)}."
        )
    if not report.n_disputed:
        return "Labels would not help: no case shows stages that may be best disagree."
    if report.plan is not None:  # of a histogram, which has no cases to draw
        return f"Label {report.plan.n_labels} cases of the log as the plan says, and audit again."
    if report.labels is None or not report.has_telling_labels:
        return f"To be surer, label cases on which tests disagree: --plan-labels {FEW} draws some."
    # Intervals hold for a number of labels fixed beforehand.
    n = min(4 * report.labels.n_labels, report.n_disputed)
    if report.n_disputed <= report.labels.n_telling:
        return (
            "To be surer takes more cases or fewer gaps: stages that may be best are seen to "
            f"disagree in {report.n_disputed:,} cases only."
        )
    return f"To be surer, label a larger plan (--plan-labels {n}) and hand in its cases alone."


def _or_say_so(report: AuditReport) -> str:
    """Return what else would help where outputs decided who was tested, and maybe nothing else."""
    assumable = set() if report.missing is None else report.missing.adjustable_pairs(report.cascade)
    if not any((p.shallow, p.deep) in assumable for p in report.verdict.pairs if p.is_biased):
        return ""
    return "; or say --missing-at-random, if nothing but earlier outputs decided who was tested"


def _more_cases(report: AuditReport) -> str:
    """Return how many more cases would say the same of new cases, where these do not."""
    verdict = report.verdict
    if not _waits_for_cases(report) or verdict.stage != report.recommended_stage:
        return ""
    n = verdict.n_more
    if not math.isfinite(n):
        return " for these cases; for new ones it is too close to be sure"
    return f"; about {more_cases(n)} would make sure that it holds for new cases too"
