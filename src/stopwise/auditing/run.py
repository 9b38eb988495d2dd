"""One audit from end to end: read, count, judge, bound, map, plan."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

from stopwise.auditing.bounds.assumptions import Assumption, DisagreeAtMost
from stopwise.auditing.bounds.corners import LabelSpace
from stopwise.auditing.bounds.grounds import Ground, first_ground
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.bounds.regrets import TINY, minimax_stage, possible_stages, worst_regrets
from stopwise.auditing.compare import choices
from stopwise.auditing.evidence.dominance import strong_dominance
from stopwise.auditing.evidence.missing import missing_outputs, observed_law
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds
from stopwise.auditing.evidence.verdict import judge
from stopwise.auditing.labels.evidence import LabelEvidence, label_evidence
from stopwise.auditing.labels.plan import disputed, draw_cases, plan_labels
from stopwise.auditing.labels.reading import read_labels
from stopwise.auditing.labels.skipped import skipped_by_truth
from stopwise.auditing.prices import price_map
from stopwise.auditing.report import AuditReport
from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import LogError, SettingError
from stopwise.outputs import known_value
from stopwise.pattern_counts import PatternCounts
from stopwise.patterns import PatternTable
from stopwise.reading import open_log
from stopwise.reading.checks import check_log, odd_values


def audit(  # noqa: PLR0913  # all but two have defaults and names
    log: Any,
    cascade: Cascade,
    *,
    tests: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    case_id: str | None = None,
    assumptions: Iterable[Assumption] = (),
    never_right: Iterable[Hashable] = (),
    unseen_label: bool = False,
    missing_at_random: bool = False,
    labels: Any = None,
    label_column: str = "label",
    n_planned: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> AuditReport:
    """Say where to stop from a log without labels, how sure that is, and what it rests on.

    Parameters
    ----------
    log
        A CSV or Parquet file, a folder or glob of them, a DuckDB or SQLite file; a pandas, Polars
        or Arrow table; a NumPy array with one column a test; any Ibis table; a log from
        `reading.open_log`; a `PatternTable`, or the `PatternCounts` that were kept while cases came
        in (their own prices do not count).
        One row a case; NULL, None or NaN where a test was not run or failed.
    cascade
        The tests and their prices; their names are the columns unless ``tests`` is given.
    tests
        The columns of the tests in order.
    table, query
        Which table of a database file, or what to select (from a CSV or Parquet: ``FROM log``).
    case_id
        The column that names a case; the row number, from 1, where it is not given.
    assumptions
        What to take for granted: `Ordered`, `ErrsWithin`, `Prevalence`. Nothing by default.
    never_right
        Outputs that are no answers, such as "abstain": the label is never one of them.
    unseen_label
        Whether the right answer may be a value that no test ever gives.
    missing_at_random
        Take it that whether an output is missing depends on nothing but the outputs before it. By
        default a missing output may be anything.
    labels
        Labels for some cases, drawn at random within each pattern: a table with the columns of the
        tests or with ``case_id`` (or ``case``), and ``label_column``.
    label_column
        The column with the right answer; rows without one are left out.
    n_planned
        How many cases to choose for labelling.
    confidence
        The chance with which the intervals hold, all of them and at all times (those from labels:
        for a number of labels fixed beforehand).
    seed
        For drawing the cases to label.

    >>> import numpy as np
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]] * 500, dtype=np.uint8)
    >>> report = audit(rows, Cascade(costs=[1, 4], mistake_cost=10))
    >>> report.verdict.finding, report.verdict.stage, report.is_known
    (<Finding.SOUND: 'sound'>, 0, True)
    """
    taken, refused = _check_settings(cascade, confidence, assumptions, never_right)
    n_planned = whole_number("n_planned", n_planned, SettingError, least=0)
    seed = whole_number("seed", seed, SettingError, least=0)
    opened = None
    if isinstance(log, (PatternTable, PatternCounts)):
        counted = log if isinstance(log, PatternTable) else log.to_table()
        histogram = counted.priced(cascade)
    else:
        opened = open_log(log, cascade, tests=tests, table=table, query=query, case_id=case_id)
        histogram = opened.table()
    check_log(histogram)
    rule = "never_right must be outputs in the log"
    never = tuple(known_value(rule, value, histogram.classes) for value in refused)
    space = LabelSpace(never, unseen_label)
    # Disagreement, strong dominance and labels share the chance that some interval is wrong, also
    # while there are no labels: asking for some must not change what the log says.
    alpha = (1 - confidence) / 3
    gaps = missing_outputs(histogram)
    cases = None
    if labels is not None:
        cases = read_labels(labels, label_column, opened, histogram, space)
        gaps = None if gaps is None else gaps.with_labels(skipped_by_truth(histogram, cases))
    biased = {} if gaps is None else gaps.shares(adjusted=missing_at_random)
    adjusted = gaps.adjustable_pairs(cascade) if gaps is not None and missing_at_random else ()
    bounds = DisagreementBounds.of(histogram, alpha=alpha, biased=biased, at_random=adjusted)
    verdict = judge(bounds, cascade)
    evidence = None if cases is None else label_evidence(cases, verdict, cascade, alpha=alpha)
    drawn = () if evidence is None else evidence.as_assumptions()
    near = tuple(DisagreeAtMost(i, j, float(bounds.high[i, j])) for i, j in bounds.adjusted)
    identified = IdentifiedSet(observed_law(histogram), (*taken, *near, *drawn), space)
    differences = identified.largest_differences
    plan = None
    if n_planned:
        plan = plan_labels(histogram, differences, cascade, n_labels=n_planned, alpha=alpha)
    possible = possible_stages(differences, cascade.cumulative_costs)
    strong = strong_dominance(histogram, space, alpha=alpha)
    regrets = worst_regrets(differences, cascade.cumulative_costs)
    at_random = missing_at_random and not histogram.is_complete
    return AuditReport(
        source=opened.name if opened is not None else "a histogram",
        histogram=histogram,
        confidence=confidence,
        verdict=verdict,
        strong_dominance=strong,
        assumptions=_words(taken, space, evidence, at_random),
        error_bounds=identified.error_rates,
        largest_differences=differences,
        prices=price_map(bounds, differences, cascade),
        choices=choices(
            histogram,
            bounds.middle,
            regrets,
            cascade,
            strong_is_refuted=strong.is_refuted,
        ),
        missing=gaps,
        labels=evidence,
        plan=plan,
        planned_cases=() if plan is None or opened is None else draw_cases(opened, plan, seed=seed),
        n_disputed=int(histogram.weights[disputed(histogram, possible)].sum()),
        odd_values=tuple(v for v in odd_values(histogram) if v not in space.never_right),
        ground=_ground(minimax_stage(regrets), identified, len(taken) + len(near))
        if regrets.min() <= TINY
        else None,
    )


def _check_settings(
    cascade: Any, confidence: Any, assumptions: Any, never_right: Any
) -> tuple[tuple[Assumption, ...], tuple[Hashable, ...]]:
    """Return what is assumed and what is never right, or raise where a setting is no such thing."""
    if not isinstance(cascade, Cascade):
        raise SettingError(f"cascade must be a Cascade with the tests' prices, got {cascade!r}")
    if cascade.n_stages < 2:
        raise LogError("an audit needs at least two tests on the same cases, got 1")
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise SettingError(f"confidence must lie in (0, 1), got {confidence!r}")
    taken = _listed("assumptions", assumptions)
    for assumption in taken:
        if not isinstance(assumption, Assumption):
            raise SettingError(f"assumptions must be such as Ordered(), got {assumption!r}")
    return taken, _listed("never_right", never_right)


def _listed(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise SettingError(f"{name} must be a list, got {values!r}")
    return tuple(values)


def _ground(stage: int, identified: IdentifiedSet, n_taken: int) -> Ground:
    """Return the least that makes ``stage`` best for sure; what is not needed is not named."""
    law, space = identified.law, identified.space
    taken, drawn = identified.assumptions[:n_taken], identified.assumptions[n_taken:]
    free = LabelSpace((), space.unseen)
    sets = [(Ground.LOG, (law, (), free)), (Ground.ASSUMED, (law, taken, space))]
    if not space.never_right:  # else the intervals from labels rest on that too
        sets.append((Ground.LABELS, (law, drawn, free)))
    trials = ((ground, IdentifiedSet(*given)) for ground, given in sets)
    return first_ground(stage, law.cascade.cumulative_costs, trials)


def _words(
    taken: tuple[Assumption, ...],
    space: LabelSpace,
    evidence: LabelEvidence | None,
    at_random: bool,
) -> tuple[str, ...]:
    words = [str(assumption) for assumption in taken]
    if space.never_right:
        words.append(f"never right: {', '.join(map(repr, space.never_right))}")
    if space.unseen:
        words.append("the right answer may be a value that no test gives")
    if at_random:
        words.append("outputs are missing by chance, given the outputs before them")
    if evidence is not None:
        n = evidence.n_labels
        words.append(f"{n:,} label{' was' if n == 1 else 's were'} drawn at random within patterns")
    return tuple(words)
