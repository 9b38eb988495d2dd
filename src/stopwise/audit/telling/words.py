"""How numbers and stages are said in the summary and on the page: plainly, and alike in both."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stopwise.audit.evidence.missing import PairRange
from stopwise.audit.evidence.verdict import Finding, PairEvidence
from stopwise.audit.interval import Interval
from stopwise.audit.report import AuditReport
from stopwise.cascade import Cascade

SETTLED = {1: "cannot pay", -1: "may pay", 0: "open"}  # what going on is known to do


def one_line(value: object) -> str:
    r"""Return an output as text that keeps to its line.

    >>> one_line("yes\nno")
    'yes no'
    """
    return " ".join(str(value).split())


def cut(text: str, most: int) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def stage_name(cascade: Cascade, stage: int | None) -> str:
    """Return the name of a test in quotes, or a dash."""
    return "–" if stage is None else f"'{cascade.names[stage]}'"


def stage_names(cascade: Cascade, stages: Iterable[int]) -> str:
    """Return the names of some tests."""
    return ", ".join(stage_name(cascade, k) for k in stages)


def pair_name(cascade: Cascade, pair: PairEvidence | PairRange) -> str:
    """Return from which test to which a pair goes on."""
    return f"{stage_name(cascade, pair.shallow)} to {stage_name(cascade, pair.deep)}"


def percent(share: float) -> str:
    """Return a share in percent with as many digits as matter."""
    if math.isnan(share):
        return "unknown"
    value = 0.0 if abs(share) < 1e-7 else 100 * share
    if value == 0 or abs(value) >= 10:
        return f"{value:.1f} %"
    return f"{value:.2g} %" if abs(value) < 1 else f"{value:.2f} %"


def sureness(report: AuditReport) -> str:
    """Return the confidence in percent, with all its digits: 99.9 % is not 100."""
    return f"{100 * report.confidence:.6g} %"


def span(interval: Interval) -> str:
    """Return an interval in percent."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def per_thousand(report: AuditReport, regret: float) -> str:
    """Return what 1,000 cases cost, in the user's unit where there is one."""
    cost = report.cascade.mistake_cost
    if cost == 1:
        return f"{1000 * max(regret, 0.0):,.0f} mistakes in 1,000 cases"
    return f"{amount(1000 * max(regret, 0.0) * cost)} per 1,000 cases"


def amount(value: float) -> str:
    """Return a price or a sum of money without powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def finding_words(report: AuditReport) -> str:
    """Return the verdict under weak dominance in one sentence."""
    verdict = report.verdict
    name = stage_name(report.cascade, verdict.stage)
    if verdict.finding is Finding.SOUND:
        refuted = verdict.stage not in report.possible_stages
        but = ", but what is assumed below rules it out" if refuted else ""
        return f"{name} is sound under weak dominance{but}"
    if verdict.finding is Finding.NONE:
        return "no stage is sound: disagreement alone cannot choose at these prices"
    more = (
        "more cases of this kind would not settle it"
        if math.isinf(verdict.n_more)
        else f"about {verdict.n_more:,.0f} more cases would settle it"
    )
    looks = f"{name} looks sound" if verdict.stage is not None else "no stage looks sound"
    gaps = report.missing
    if gaps is not None and verdict.stage == gaps.plain_stage != gaps.adjusted_stage:
        looks += " where tests ran"
    return f"undecided: {looks}; {more}"


def strong_words(report: AuditReport) -> str:
    """Return what the log says about strong dominance in one sentence."""
    strong = report.strong_dominance
    if strong.is_refuted:
        return (
            "Strong dominance (a right answer stays right) is refuted: "
            f"{percent(strong.rate)} of cases flip-flop ({span(strong.interval)})."
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


def pair_words(report: AuditReport, pair: PairEvidence) -> str:
    """Return what is known of one pair in one line."""
    state = SETTLED[pair.settled]
    if pair.settled == 0 and math.isfinite(pair.n_more):
        state = f"open, {pair.n_more:,.0f} more cases"
    where = pair_name(report.cascade, pair)
    gaps = "; gaps may be anything" if pair.is_biased else ""
    if math.isnan(pair.disagreement):
        return f"{where}: {span(pair.interval)} change{gaps}, price {percent(pair.price)}: {state}"
    return (
        f"{where}: {percent(pair.disagreement)} change ({span(pair.interval)}{gaps}), "
        f"price {percent(pair.price)}, ratio {pair.ratio:.2f}, "
        f"margin {100 * pair.margin:+.2f}: {state}"
    )


def adjusted_words(pair: PairRange) -> str:
    """Return the adjusted share of one pair, or between what it lies where gaps stay open."""
    if math.isnan(pair.adjusted):
        return f"{span(pair.adjusted_range)} adjusted as far as it can be"
    return f"{percent(pair.adjusted)} adjusted"
