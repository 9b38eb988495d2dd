"""The wording table: the sentence for each kind of advice, for terminal and page alike.

To reword a sentence, change it here and renew the snapshot with ``make snapshots``.
"""

from __future__ import annotations

from dataclasses import dataclass

from stopwise.auditing.advice import (
    AdviceWarning,
    Basis,
    Certainty,
    NextStep,
    WarningKind,
)
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import counted, whole_percent
from stopwise.auditing.words.phrases import (
    capital,
    confidence,
    money,
    more_cases,
    name,
    names,
    quoted,
)
from stopwise.auditing.words.steps import step_words

MAX_VALUES = 3

CERTAINTY = {
    Certainty.PROVEN: "Proven",
    Certainty.LIKELY: "Likely",
    Certainty.GUESS: "A guess",
}
BASIS = {
    Basis.LOG: "No other stopping point is cheaper in this log, whatever the right answers are.",
    Basis.ASSUMPTIONS: "Given what you assume, no other stopping point is cheaper in this log.",
    Basis.GAPS: "Given what you assume, no other stopping point is cheaper in this log, with "
    "{confidence} confidence.",
    Basis.LABELS: "The labels say that it is cheapest, with {confidence} confidence.",
    Basis.LABELS_AND_ASSUMPTIONS: "Given what you assume, the labels say that it is cheapest, with "
    "{confidence} confidence.",
    Basis.BELIEF: "It {looks} cheapest if the tests err independently of each other.",
    Basis.HEDGED_BELIEF: "It looks cheapest if early tests share some errors, as they often do. If "
    "all err independently, another stopping point does.",
    Basis.BELIEF_AND_LABELS: "By the labels and the pattern of agreement it {looks} cheapest.",
    Basis.LAST_IS_BETTER: "It is cheapest if {last} corrects three answers for each one that it "
    "spoils.",
    Basis.DISAGREEMENT: "It is the last test that changes more answers than it costs in mistakes.",
    Basis.WORST_CASE: "It has the smallest worst-case loss: at most {risk}.",
}
HALF_IS_GAINED = (  # the same with more than two values, or if outputs are missing
    "It is cheapest if {last}, run on all, corrects more answers than it spoils, by half of those "
    "that it changes."
)
STOP = "Stop after {stage}."
TITLE = {  # of a guess
    NextStep.NOTHING: STOP,
    NextStep.MORE_CASES: STOP,
    NextStep.LABEL: "Don't decide yet: label {n}. Until then, stop after {stage}.",
    NextStep.LABEL_PLAN: "Don't decide yet: label the {n} of the plan. Until then, stop after "
    "{stage}.",
    NextStep.RUN_ALL_TESTS: "Don't decide yet: run all tests on some cases. Until then, stop after "
    "{stage}.",
    NextStep.NO_HELP: "Stop after {stage}; nothing in this log says more.",
}
NEXT = {
    NextStep.NOTHING: "Next: nothing; no {labels} are needed.",
    NextStep.MORE_CASES: "Next: nothing here; {more} would show that it holds for new cases too.",
    NextStep.LABEL: "Next: {surer}label {n}: --plan-labels {number} draws {them}, --labels reads "
    "{them}.",
    NextStep.LABEL_PLAN: "Next: fill in the labels in the plan and audit again with --labels; any "
    "part of it will do.",
    NextStep.RUN_ALL_TESTS: "Next: run all tests on some random cases; with so many outputs "
    "missing, labels alone cannot settle it.",
    NextStep.NO_HELP: "Next: nothing; {no_help}.",
}
NO_HELP = {  # whether the tests in question are seen to disagree
    False: "the tests in question disagree in no case, so labels would not help",
    True: "every case in which the tests in question disagree has a label already",
}
WARNING = {
    WarningKind.OUTLIER: "{tests} disagrees with every other test in at least {share} of cases, so "
    "it is either far better or far worse than they are.",
    WarningKind.RULES_DISAGREE: "Two rules without labels disagree: stop after {tests}.",
    WarningKind.FEW_CASES: "There are only {cases} to go by.",
    WarningKind.GAPS: "Some output is missing in {cases}. What is missing may be anything.",
    WarningKind.GAPS_BY_OUTPUTS: "Whether {tests} ran depends on other outputs. What is missing "
    "may be anything.",
    WarningKind.GAPS_BY_TRUTH: "Whether {tests} ran depends on the right answer, as labels show: "
    "the log misleads.",
    WarningKind.MISFIT: "{tests} do not err independently, so do not trust the estimates.",
    WarningKind.ODD_VALUES: "These values may be typing errors or gaps, but count as answers: "
    "{values}.",
    WarningKind.NO_HEADER: "{tests} are names of tests and also outputs. If the file has no line "
    "of names, add one: else its first case is lost.",
    WarningKind.CONSTANT: "{tests} always says {values}.",
    WarningKind.OWN_WORDS: "{tests} gives no answer that another test gives, so stopping after it "
    "counts as a mistake. If its values stand for answers, map them with --query.",
    WarningKind.SAME_ANSWERS: "The tests agree on every labelled case, so the labels cannot "
    "compare them.",
    WarningKind.SMALL_PLAN: "The plan has {cases}, not {asked}: no further label would change the "
    "advice.",
}
LINK = {WarningKind.RULES_DISAGREE: "or"}
LOOKS = {Certainty.LIKELY: "looks clearly", Certainty.GUESS: "looks"}


@dataclass(frozen=True)
class Box:
    """The advice in words, as terminal and page show it first."""

    certainty: str
    title: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    next_step: str


def box(report: AuditReport) -> Box:
    """Return the advice of a report in words."""
    advice = report.advice
    steps = [step for step in (advice.skipped, advice.taken) if step is not None]
    title = TITLE[advice.next_step] if advice.certainty is Certainty.GUESS else STOP
    return Box(
        certainty=CERTAINTY[advice.certainty],
        title=title.format(stage=name(report, advice.stage), n=_to_label(report)),
        reasons=(basis_words(report), *(step_words(report, step) for step in steps)),
        warnings=tuple(warning_words(report, warning) for warning in advice.warnings),
        next_step=next_words(report),
    )


def basis_words(report: AuditReport) -> str:
    """Say what the advice rests on."""
    advice = report.advice
    form = BASIS[advice.basis]
    has_other_changes = any(s.break_even is None and s.changed.high > 0 for s in advice.steps)
    if advice.basis is Basis.LAST_IS_BETTER and has_other_changes:
        form = HALF_IS_GAINED
    return form.format(
        confidence=confidence(report),
        looks=LOOKS.get(advice.certainty),
        risk=money(report, advice.at_risk),
        last=name(report, report.cascade.n_stages - 1),
    )


def warning_words(report: AuditReport, warning: AdviceWarning) -> str:
    """Put a warning into words."""
    table, plan = report.facts.table, report.facts.plan
    values = []
    for value in warning.values[:MAX_VALUES]:
        n = int(table.weights[(table.codes == table.classes.index(value)).any(axis=1)].sum())
        values.append(f"{quoted(value)} ({counted(n, 'case')})")
    more = len(warning.values) - MAX_VALUES
    return capital(
        WARNING[warning.kind].format(
            tests=names(report, warning.tests, LINK.get(warning.kind, "and")),
            share=whole_percent(warning.share or 0),
            cases=counted(warning.n_cases, "case") if warning.n_cases else "no cases",
            asked="" if plan is None else f"{plan.n_asked:,}",
            values=", ".join(values) + (f" and {more} more" if more > 0 else ""),
        )
    )


def next_words(report: AuditReport) -> str:
    """Say what to do next."""
    advice, n = report.advice, report.advice.n_next
    return NEXT[advice.next_step].format(
        n=_to_label(report),
        number=f"{n:.0f}",
        more=more_cases(n),
        surer="" if advice.certainty is Certainty.GUESS else "to be surer, ",
        them="it" if n == 1 else "them",
        labels="labels" if report.facts.labels is None else "more labels",
        no_help=NO_HELP[report.facts.n_disputed > 0],
    )


def _to_label(report: AuditReport) -> str:
    """Say how many cases to label; those that have a label count in a plan."""
    labels, n = report.facts.labels, report.advice.n_next
    if labels is None or report.advice.next_step is not NextStep.LABEL:
        return counted(n, "case")
    return counted(n - report.facts.n_disputed_labelled, "more case")
