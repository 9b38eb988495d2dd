"""How stages and findings are said in the summary and on the page: plainly, and alike in both."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stopwise.auditing.evidence.missing import MissingOutputs, PairRange
from stopwise.auditing.evidence.verdict import Finding, PairEvidence
from stopwise.auditing.labels.evidence import Holds, LabelEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.numbers import (
    amount,
    cleaned,
    count,
    counted,
    figure,
    percent,
    span,
)
from stopwise.cascade import Cascade

MAX_ODD = 3
SETTLED = {1: "cannot pay", -1: "may pay", 0: "open"}  # what going on is known to do
BASES = (1_000, 10_000, 100_000, 1_000_000)  # cases in which numbers are given
ENOUGH = 10  # answers that change in so many cases


def one_line(value: object) -> str:
    r"""Return an output as text that keeps to its line.

    >>> one_line("yes\nno")
    'yes no'
    """
    return " ".join(str(value).split())


def quoted(value: object) -> str:
    """Return an output, text with marks that show where it begins and ends."""
    return f"'{one_line(value)}'" if isinstance(value, str) else one_line(value)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def stage_name(cascade: Cascade, stage: int | None) -> str:
    """Return the name of a test in quotes, or a dash."""
    return "–" if stage is None else f"'{one_line(cascade.names[stage])}'"


def stage_names(cascade: Cascade, stages: Iterable[int]) -> str:
    """Return the names of some tests."""
    return ", ".join(stage_name(cascade, k) for k in stages)


def pair_name(cascade: Cascade, pair: PairEvidence | PairRange) -> str:
    """Return from which test to which a pair goes on."""
    return f"{stage_name(cascade, pair.shallow)} to {stage_name(cascade, pair.deep)}"


def sureness(report: AuditReport) -> str:
    """Return the confidence in percent, with all its digits: 99.9 % is not 100."""
    return f"{100 * report.confidence:.6g} %"


def n_cases_said(report: AuditReport) -> int:
    """Return in how many cases numbers are given: 1,000, more where few answers change."""
    shares = [p.disagreement for p in report.verdict.pairs] + [
        p.interval.high for p in report.verdict.pairs if math.isnan(p.disagreement)
    ]
    most = max((s for s in shares if s > 0), default=1.0)
    return next((n for n in BASES if n * most >= ENOUGH), BASES[-1])


def regret_words(report: AuditReport, regret: float) -> str:
    """Return what many cases cost too much, in the user's unit where there is one."""
    n, cost = n_cases_said(report), report.cascade.mistake_cost
    many = n * max(cleaned(regret), 0.0)
    if cost == 1:
        return f"{counted(many, 'mistake')} in {n:,} cases"
    return f"{amount(many * cost)} per {n:,} cases"


def more_cases(n: float) -> str:
    """Return how many more cases are meant."""
    return "1 more case" if n == 1 else f"{n:,.0f} more cases"


def skipped_words(report: AuditReport, pairs: Iterable[PairEvidence]) -> str:
    """Return what has to be true of gaps for what is said of some pairs to hold.

    Nothing where there are none, or where the missing outputs were allowed to be anything.
    """
    n = report.histogram.n_cases
    rests = [p for p in pairs if p.n_seen < n and not p.is_biased]
    if not rests:
        return ""
    assumed = any(p.is_adjusted for p in rests)
    return f"tests were skipped {'as you assume' if assumed else 'by chance'}"


def if_skipped(report: AuditReport, pairs: Iterable[PairEvidence]) -> str:
    """Return `skipped_words` as a condition at the end of a sentence."""
    words = skipped_words(report, pairs)
    return f", if {words}" if words else ""


def finding_words(report: AuditReport) -> str:
    """Return the verdict under weak dominance in one sentence."""
    verdict = report.verdict
    name = stage_name(report.cascade, verdict.stage)
    skipped = if_skipped(report, verdict.pairs)
    if verdict.finding is Finding.SOUND:
        return f"{name} is sound under weak dominance{skipped}"
    if verdict.finding is Finding.NONE:
        return f"no stage is sound{skipped}: disagreement alone cannot choose at these prices"
    more = (
        "more cases of this kind would not settle it"
        if math.isinf(verdict.n_more)
        else f"about {more_cases(verdict.n_more)} would settle it"
    )
    looks = f"{name} looks sound" if verdict.stage is not None else "no stage looks sound"
    gaps = report.missing
    if gaps is not None and verdict.stage == gaps.plain_stage != gaps.adjusted_stage:
        looks += " where tests ran"
    return f"undecided: {looks}; {more}"


def ruled_out_words(report: AuditReport) -> str:
    """Return that the stage of the verdict cannot be best, and by what; nothing where it may be."""
    if report.verdict.stage is None or report.verdict.stage in report.possible_stages:
        return ""
    name = stage_name(report.cascade, report.verdict.stage)
    if report.labels is None:
        return f"; what you assume rules out {name}"
    who = "what you assume and the labels" if report.is_assuming else "the labels"
    return f"; {who} rule out {name}"


def dominance_words(report: AuditReport, told: LabelEvidence) -> str:
    """Return whether labels show that weak dominance holds, and what of gaps that rests on."""
    holds = told.weak_dominance
    skipped = "" if holds is Holds.OPEN else if_skipped(report, report.verdict.pairs)
    return f"{holds.value}{skipped}"


def strong_words(report: AuditReport) -> str:
    """Return what the log says about strong dominance in one sentence."""
    strong = report.strong_dominance
    if strong.is_refuted:
        what = "flip-flop" if report.histogram.n_classes == 2 else "contradict it"
        return (
            "Strong dominance (a right answer stays right) is refuted: "
            f"{'at least ' if strong.n_open else ''}{percent(strong.rate)} of cases {what} "
            f"({span(strong.interval)})."
        )
    return (
        "Strong dominance (a right answer stays right) is compatible with the log: at most "
        f"{percent(strong.interval.high)} of cases contradict it."
    )


def blind_words(report: AuditReport) -> str:
    """Return what is said of prices at which no stage is known to be best."""
    if report.labels is None:
        return "no method without labels can know"
    return "these labels do not settle it"


def given_words(report: AuditReport) -> str:
    """Return what bounds rest on besides the log; nothing where that is nothing."""
    parts = ["what is assumed"] * report.is_assuming + ["the labels"] * (report.labels is not None)
    return " and ".join(parts)


def pair_words(report: AuditReport, pair: PairEvidence) -> str:
    """Return what is known of one pair in one line."""
    state = SETTLED[pair.settled]
    if pair.settled == 0 and math.isfinite(pair.n_more):
        state = f"open, {more_cases(pair.n_more)}"
    where = pair_name(report.cascade, pair)
    gaps = "; gaps may be anything" if pair.is_biased else ""
    if math.isnan(pair.disagreement):
        return f"{where}: {span(pair.interval)} change{gaps}, price {percent(pair.price)}: {state}"
    return (
        f"{where}: {percent(pair.disagreement)} change ({span(pair.interval)}{gaps}), "
        f"price {percent(pair.price)}, ratio {figure(pair.ratio)}, "
        f"margin {figure(100 * pair.margin, sign='+')}: {state}"
    )


def gap_words(report: AuditReport, gaps: MissingOutputs) -> str:
    """Return in how many cases outputs are missing, and which: at the end or in between."""
    n, ended = gaps.n_incomplete, gaps.n_prefix
    at_the_end = "all tests from some point on, as if somebody stopped early"
    between = "a test gave nothing though a later one ran"
    which = f"in {ended:,} {at_the_end}; in {n - ended:,} {between}"
    if ended in (0, n):
        which = at_the_end if ended else between
    lack = "case lacks" if n == 1 else "cases lack"
    return f"{n:,} of {report.histogram.n_cases:,} {lack} an output: {which}"


def adjusted_words(pair: PairRange) -> str:
    """Return the adjusted share of one pair, or between what it lies where gaps stay open."""
    if math.isnan(pair.adjusted):
        return f"{span(pair.adjusted_range)} adjusted as far as it can be"
    return f"{percent(pair.adjusted)} adjusted"


def many(report: AuditReport, share: float, noun: str) -> str:
    """Return how many of what a share is, in as many cases as the report speaks of."""
    return counted(n_cases_said(report) * share, noun)


def changes(report: AuditReport, pair: PairEvidence) -> str:
    """Return how many answers going on changes, with what gaps leave open."""
    if pair.disagreement == 0 and not pair.is_biased:
        return "no answers"
    if not pair.is_biased and not math.isnan(pair.disagreement):
        return many(report, pair.disagreement, "answer")
    n = n_cases_said(report)
    return f"{count(n * pair.interval.low)} to {count(n * pair.interval.high)} answers"


def unsettled_words(report: AuditReport) -> str:
    """Return why a plan promises nothing."""
    if report.plan is not None and report.plan.groups:
        gaps = "" if report.missing is None else ", or the gaps too many,"
        return f"too few{gaps} to be sure of settling anything"
    return "nothing: no case shows stages that may be best disagree"


def odd_words(report: AuditReport) -> str:
    """Return which outputs may be slips, and what they do; nothing where there are none."""
    h, odd = report.histogram, report.odd_values
    shown = []
    for value in odd[:MAX_ODD]:
        n = int(h.weights[(h.codes == h.classes.index(value)).any(axis=1)].sum())
        shown.append(f"{quoted(value)} ({n:,} case{'s' * (n != 1)})")
    more = f" and {len(odd) - MAX_ODD} more" if len(odd) > MAX_ODD else ""
    left = h.n_classes - len(odd)
    without = f" Without them there would be {left}." if left == 2 else ""
    return f"Slips or gaps? Taken for values: {', '.join(shown)}{more}.{without}" if odd else ""
