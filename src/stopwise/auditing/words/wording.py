"""The wording table: what each kind of advice is called and said, for terminal and page alike.

To reword a sentence, change it here and renew the snapshot with ``make snapshots``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stopwise.auditing.advice import (
    AdviceWarning,
    Basis,
    Certainty,
    NextStep,
    Payoff,
    Step,
    WarningKind,
)
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import (
    amount,
    count,
    counted,
    percent,
    rounded,
    whole_percent,
)

BASES = (1_000, 10_000, 100_000, 1_000_000)  # cases in which numbers are given
ENOUGH = 10  # answers that change in so many cases
MAX_VALUES = 3

CERTAINTY = {
    Certainty.PROVEN: "Proven",
    Certainty.LIKELY: "Likely",
    Certainty.GUESS: "A guess",
}
BASIS = {
    Basis.LOG: "No other stopping point is cheaper in this log, whatever the right answers are.",
    Basis.ASSUMPTIONS: "Given what you assume, no other stopping point is cheaper in this log.",
    Basis.LABELS: "The labels say that it is cheapest{surely}.",
    Basis.LABELS_AND_ASSUMPTIONS: "Given what you assume, the labels say that it is cheapest"
    "{surely}.",
    Basis.BELIEF: "It is the cheapest choice{hedge} if the tests err independently of each other.",
    Basis.BELIEF_AND_LABELS: "By the labels and the pattern of agreement it is{hedge} the cheapest "
    "choice.",
    Basis.LAST_IS_BETTER: "It is the cheapest choice if three of four answers that later tests "
    "change are corrections; whether they are cannot be known without labels.",
    Basis.DISAGREEMENT: "It is the last test that changes more answers than its price is worth in "
    "mistakes; whether the changes are corrections cannot be known without labels.",
    Basis.WORST_CASE: "It is the choice that can go wrong least: at worst it costs {risk} "
    "too much.",
}
STOP = "Stop after {stage}."
TITLE = {  # of a guess
    NextStep.NOTHING: STOP,
    NextStep.MORE_CASES: STOP,
    NextStep.LABEL: "Don't decide yet: label {n}. Until then, stop after {stage}.",
    NextStep.LABEL_PLAN: "Don't decide yet: label the {n} of the plan. Until then, stop after "
    "{stage}.",
    NextStep.RUN_ALL_TESTS: "Don't decide yet: run all tests on some random cases. Until then, "
    "stop after {stage}.",
    NextStep.NO_HELP: "Stop after {stage}; nothing in this log says more.",
}
NEXT = {
    NextStep.NOTHING: "Next: nothing; no labels are needed.",
    NextStep.MORE_CASES: "Next: nothing for these cases; {more} would make sure that it holds for "
    "new cases too.",
    NextStep.LABEL: "Next: {surer}label {n} on which the tests disagree (--plan-labels {number} "
    "draws {them}) and audit again with --labels.",
    NextStep.LABEL_PLAN: "Next: fill in the labels in the plan and audit again with --labels; any "
    "part of it will do.",
    NextStep.RUN_ALL_TESTS: "Next: run all tests on some cases drawn at random and audit these. "
    "Too many outputs are missing for labels to help.",
    NextStep.NO_HELP: "Next: nothing; the tests in question disagree in no case, so labels would "
    "not help.",
}
WARNING = {
    WarningKind.OUTLIER: "{tests} disagrees with every other test in at least {share} of the "
    "cases. It is either much better or much worse than all of them.",
    WarningKind.RULES_DISAGREE: "Two rules that need no labels disagree: they would stop after "
    "{tests}.",
    WarningKind.FEW_CASES: "There are only {cases} to go by.",
    WarningKind.GAPS: "Some output is missing in {cases}. What is missing may be anything.",
    WarningKind.GAPS_BY_OUTPUTS: "Whether {tests} ran depends on other outputs, so the cases in "
    "which that happened are not typical. What is missing may be anything.",
    WarningKind.GAPS_BY_TRUTH: "Whether {tests} ran depends on the right answer, as the labels "
    "show, so nothing in this log makes up for what is missing.",
    WarningKind.MISFIT: "{tests} do not err independently of each other, so the estimates are "
    "not to be trusted.",
    WarningKind.ODD_VALUES: "Slips or gaps? These count as answers: {values}.",
    WarningKind.CONSTANT: "{tests} always says {values}.",
    WarningKind.OWN_WORDS: "{tests} never gives an answer that another test gives, so stopping "
    "after it counts as a mistake. If its values stand for answers, map them with --query.",
    WarningKind.SAME_ANSWERS: "No label is of a case on which the tests disagree, so the labels "
    "compare nothing.",
}
STEP = {
    Payoff.NEVER: "Skipping {end} saves {money}; that is certain: it changes {changed} and costs "
    "as much as {price}.",
    Payoff.ALWAYS: "{end} costs {money} more than stopping after {start} and is worth it for sure.",
    Payoff.OPEN: "{end} costs {money} more than stopping after {start} and pays if {condition}"
    "{estimate}.",
}
NEVER_GIVEN = "Skipping {end} saves {money}; given what is known, it cannot pay."
FREE = "{end} costs nothing more than stopping after {start} and pays if {condition}{estimate}."
LINK = {WarningKind.RULES_DISAGREE: "or"}
HEDGE = {Certainty.PROVEN: "", Certainty.LIKELY: "", Certainty.GUESS: ", as far as one can see,"}


@dataclass(frozen=True)
class Box:
    """What terminal and page say first."""

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
    advice, confidence = report.advice, f"{100 * report.facts.confidence:.6g} %"
    sure = report.facts.ground is not None
    return BASIS[advice.basis].format(
        surely=f", with {confidence} confidence" if sure else ", but not clearly",
        hedge=HEDGE[advice.certainty],
        risk=money(report, advice.at_risk),
    )


def step_words(report: AuditReport, step: Step) -> str:
    """Say what a step costs, what it changes and when it pays."""
    n, payoff = n_said(report), step.payoff
    form = STEP[payoff]
    if payoff is Payoff.NEVER and step.changed.high > step.price:
        form = NEVER_GIVEN
    if payoff is not Payoff.NEVER and step.price <= 0:
        form = FREE
    if step.break_even is not None:
        least = math.ceil(n * step.break_even * step.changed.low - 1e-9)
        condition = (
            f"at least {least:,} of the {changed_words(report, step)} it changes are corrections "
            f"({whole_percent(step.break_even)})"
        )
        estimate = "" if step.corrected is None else whole_percent(step.corrected)
    else:
        more = counted(n * max(step.price, 0.0), "answer")
        condition = (
            f"it corrects at least {more} more than it spoils, of {changed_words(report, step)} "
            "that it changes"
        )
        estimate = "" if math.isnan(step.avoided) else f"about {count(n * step.avoided)}"
        if n * step.avoided <= -0.5:
            estimate = f"that it spoils about {count(-n * step.avoided)} more than it corrects"
    return capital(
        form.format(
            start=name(report, step.start),
            end=name(report, step.end),
            money=money(report, step.price),
            price=counted(n * step.price, "mistake"),
            changed=changed_words(report, step),
            condition=condition,
            estimate=f"; we estimate {estimate}" if estimate else "",
        )
    )


def changed_words(report: AuditReport, step: Step) -> str:
    """Say how many answers a step changes; a range where outputs are missing."""
    n, low, high = n_said(report), step.changed.low, step.changed.high
    if low == high:
        return counted(n * low, "answer") if low else "no answers"
    return f"{count(n * low)} to {count(n * high)} answers"


def warning_words(report: AuditReport, warning: AdviceWarning) -> str:
    """Say a warning."""
    table = report.facts.table
    shown = []
    for value in warning.values[:MAX_VALUES]:
        n = int(table.weights[(table.codes == table.classes.index(value)).any(axis=1)].sum())
        shown.append(f"{quoted(value)} ({_cases(n)})")
    more = len(warning.values) - MAX_VALUES
    return capital(
        WARNING[warning.kind].format(
            tests=names(report, warning.tests, LINK.get(warning.kind, "and")),
            share=percent(warning.number),
            cases=_cases(warning.number),
            values=", ".join(shown) + (f" and {more} more" if more > 0 else ""),
        )
    )


def next_words(report: AuditReport) -> str:
    """Say what to do next."""
    advice = report.advice
    n = advice.n_next
    more = "more cases" if math.isinf(n) else f"about {_cases(rounded(n), 'more case')}"
    number = "" if math.isinf(n) else f"{n:.0f}"
    surer = "" if advice.certainty is Certainty.GUESS else "to be surer, "
    them = "it" if n == 1 else "them"
    return NEXT[advice.next_step].format(
        n=_to_label(report), number=number, more=more, surer=surer, them=them
    )


def _to_label(report: AuditReport) -> str:
    """Say how many cases to label; those that have a label count in a plan."""
    labels, n = report.facts.labels, report.advice.n_next
    if labels is None or report.advice.next_step is not NextStep.LABEL:
        return _cases(n)
    return _cases(n - report.facts.n_disputed_labelled, "more case")


def n_said(report: AuditReport) -> int:
    """Return in how many cases numbers are given: 1,000, more where few answers change."""
    most = max((step.changed.high for step in report.advice.steps), default=1.0)
    return next((n for n in BASES if n * most >= ENOUGH), BASES[-1])


def money(report: AuditReport, share: float) -> str:
    """Return what a number of mistakes a case costs, and in how many cases."""
    return f"{cost(report, share)} per {n_said(report):,} cases"


def cost(report: AuditReport, share: float) -> str:
    """Return what a number of mistakes a case costs in many cases, in the user's unit."""
    n, price = n_said(report), report.cascade.mistake_cost
    return (
        f"as much as {counted(n * share, 'mistake')}" if price == 1 else amount(n * share * price)
    )


def name(report: AuditReport, stage: int) -> str:
    """Return the name of a test as it stands in a sentence."""
    return f"'{one_line(report.cascade.names[stage])}'"


def names(report: AuditReport, stages: Iterable[int], link: str = "or") -> str:
    """Return the names of some tests: a, b or c."""
    *first, last = [name(report, k) for k in stages] or [""]
    return f"{', '.join(first)} {link} {last}" if first else last


def one_line(value: object) -> str:
    r"""Return a value as text that keeps to its line and to letters that can be shown.

    >>> one_line("yes\nno"), one_line("a\x1b[31mb")
    ('yes no', 'a?[31mb')
    """
    text = " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def quoted(value: object) -> str:
    """Return an output; a text has marks that show where it begins and ends."""
    return f"'{one_line(value)}'" if isinstance(value, str) else one_line(value)


def capital(text: str) -> str:
    """Return a sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def _cases(n: float, noun: str = "case") -> str:
    return f"{n:,.0f} {noun}" if n == 1 else f"{n:,.0f} {noun}s"
