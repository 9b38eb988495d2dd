"""The sentences about a step from one test to another, for terminal and page alike."""

from __future__ import annotations

import math

from stopwise.auditing.advice import Payoff, Step
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import cleaned, count, counted, rounded_down, whole_percent
from stopwise.auditing.words.phrases import (
    capital,
    confidence,
    cost,
    money,
    n_reference,
    name,
    names,
)

STEP = {
    Payoff.NEVER: "Skipping {skipped} saves {saved}{net}: run on all, {it} change{s} "
    "{changed} and cost{s} as much as {price}.",
    Payoff.ALWAYS: "Going from {start} to {end} {costs} and is worth it{surely}.",
    Payoff.OPEN: "Going from {start} to {end} {costs} and pays if {condition}{estimate}.",
}
NET = {  # what of it is left if every change is a correction, where that is known
    True: ", and certainly {least} or more net of mistakes",
    False: "; certainly {it} cannot pay",
}
NO_DIFFERENCE = (
    "Skipping {skipped} makes no difference: {it} cost{s} nothing and change{s} {changed}."
)
NEVER_FREE = "Going from {start} to {end} costs nothing; {given} it avoids no mistakes."
NEVER_GIVEN = "Skipping {skipped} saves {saved}; {given} {it} cannot pay if run on all."
NEVER_CHEAPER = "Going from {start} to {end} {costs}; {given} it costs more than that in mistakes."
SHORT_STEP = {  # beside its bar
    Payoff.NEVER: "{it} cannot pay if run on all.",
    Payoff.ALWAYS: "It pays{surely}.",
    Payoff.OPEN: "It pays if {condition}.",
}
SURELY = {False: " for sure", True: ", {by}"}  # whether it is known only with some confidence
GIVEN = {False: "given what is known", True: "{by}"}


def step_words(report: AuditReport, step: Step) -> str:
    """Say what a step costs, what it changes and when it pays."""
    form = STEP[step.payoff]
    unit = n_reference(report) * report.cascade.mistake_cost
    least = cleaned(step.price - step.changed.high)  # that it costs, net of what it may correct
    if step.payoff is Payoff.NEVER and not step.price:
        form = NEVER_FREE if step.changed.high else NO_DIFFERENCE
    elif step.payoff is Payoff.NEVER and (step.rests_on_intervals or least < 0):
        form = NEVER_GIVEN if step.price > 0 else NEVER_CHEAPER
    estimate, has_gaps = _estimate(report, step), step.changed.width > 0
    paths = report.cascade.paths
    tests = [k for k in paths[step.end] if k not in paths[step.start]]
    it, s = ("it", "s") if len(tests) == 1 else ("they", "")
    return capital(
        form.format(
            skipped=names(report, tests, "and"),
            it=it,
            s=s,
            start=name(report, step.start),
            end=name(report, step.end),
            net=NET[least > 0 and not has_gaps].format(
                least=cost(report, rounded_down(unit * least) / unit), it=it
            ),
            saved=f"{cost(report, step.price)} in fees per {n_reference(report):,} cases"
            + (f" {it} run{s} on" if has_gaps else ""),
            costs=_costs(report, step.price),
            price=counted(n_reference(report) * step.price, "mistake"),
            changed=changed_words(report, step),
            condition=_condition(report, step),
            estimate=f"; we estimate {estimate}" if estimate else "",
            surely=SURELY[step.rests_on_intervals].format(by=_by(report)),
            given=GIVEN[step.rests_on_intervals].format(by=_by(report)),
        )
    )


def short_step_words(report: AuditReport, step: Step) -> str:
    """Say the same about a step to the next test in short, for a chart."""
    n = n_reference(report)
    costs = f"as much as {counted(n * step.price, 'mistake')}" if step.price else "nothing more"
    if step.price and report.cascade.mistake_cost != 1:
        costs = f"{money(report, step.price)}, {costs}"
    condition = f"it corrects at least {counted(n * step.price, 'answer')} more than it spoils"
    if step.break_even is not None:
        condition = f"{whole_percent(step.break_even)} or more of the changes are corrections"
    pays = SHORT_STEP[step.payoff].format(
        it=f"{capital(_by(report))} it" if step.rests_on_intervals else "It",
        surely=SURELY[step.rests_on_intervals].format(by=_by(report)),
        condition=condition,
    )
    return f"Changes {changed_words(report, step)}; costs {costs}. {pays}"


def _by(report: AuditReport) -> str:
    """Say what a statement that is not certain rests on."""
    if any(pair.is_adjusted for pair in report.facts.verdict.pairs):
        return f"with {confidence(report)} confidence"
    return "by the labels"


def _costs(report: AuditReport, price: float) -> str:
    if not price:
        return "costs nothing"
    return f"costs {money(report, price)}" if price > 0 else f"saves {money(report, -price)}"


def _condition(report: AuditReport, step: Step) -> str:
    n = n_reference(report)
    if step.break_even is not None:
        least = math.ceil(n * step.break_even * step.changed.low - 1e-9)
        return (
            f"at least {least:,} of the {changed_words(report, step)} it changes are corrections "
            f"({whole_percent(step.break_even)})"
        )
    answers = f"more of the {changed_words(report, step)} it changes than it"
    if step.price < 0:
        return f"it spoils at most {count(-n * step.price)} {answers} corrects"
    return f"it corrects at least {count(n * step.price)} {answers} spoils"


def _estimate(report: AuditReport, step: Step) -> str:
    if step.break_even is not None or math.isnan(step.avoided):
        return "" if step.corrected is None else whole_percent(step.corrected)
    net = n_reference(report) * step.avoided
    return f"{count(abs(net))} {'more' if net >= 0 else 'fewer'}"


def changed_words(report: AuditReport, step: Step) -> str:
    """Say how many answers a step changes; a range where outputs are missing."""
    n, low, high = n_reference(report), step.changed.low, step.changed.high
    if low == high:
        return counted(n * low, "answer") if low else "no answers"
    return f"{count(n * low)} to {count(n * high)} answers"
