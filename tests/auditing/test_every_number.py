"""Every number of the JSON report against a second computation from the rows of the log.

`EXPECTED` or `CHECKS` has an entry for each key of the report. A key without an entry fails.
"""

import pytest

from tests.auditing.again import logs
from tests.auditing.again.facts import (
    RULES,
    again,
    assumed,
    groups,
    patterns,
    ratio,
    report_of,
    rule_stages,
)
from tests.auditing.again.keys import (
    check_expected,
    check_forecast,
    check_pair_forecasts,
    check_planned,
    collect,
    each_pair,
    leaves,
    nearly,
)
from tests.auditing.again.price_bands import check_bands
from tests.auditing.words import snapshot

UNCHECKED = {  # numbers of warnings stand elsewhere too; intervals of beliefs have their own tests
    "advice.warnings[].share", "advice.warnings[].n_cases",
    "advice.warnings[].tests[]", "advice.warnings[].values[]",
    "belief.intervals[].high", "belief.intervals[].low", "belief.spreads[][]",
    "belief.per_case.cost", "belief.per_case.rule[].outputs[]", "belief.per_case.rule[].share",
    "belief.per_case.rule[].stops", "belief.per_case", "belief.dependent_tests[]",
}  # fmt: skip


def check_next(a, value, report):
    """More cases are a forecast, which is checked with the verdict."""
    if a.next_step == "more cases":
        assert value == report["verdict"]["n_more"]
    else:
        assert value == a.n_next


def check_saved(a, value, report):
    if value:
        best = min(rate + c for rate, c in zip(a.belief[0], a.C, strict=True))
        assert value == pytest.approx(best - report["belief"]["per_case"]["cost"])


EXPECTED = {  # each number by a second computation
    "version": lambda _: 2,
    "advice.stage": lambda a: a.choice[0],
    "advice.certainty": lambda a: a.choice[1],
    "advice.basis": lambda a: a.choice[2],
    "advice.at_risk": lambda a: max(a.regrets()[a.choice[0]], 0.0),
    "advice.steps[]": lambda a: a.steps,
    "advice.skipped": lambda a: a.skipped,
    "advice.taken": lambda a: a.taken,
    "advice.warnings[].kind": lambda a: a.warnings,
    "advice.next_step": lambda a: a.next_step,
    "advice.outlooks[].n_labels": lambda a: a.label_value[2],
    "belief.is_testable": lambda a: a.belief[1] and a.model.misfit.is_testable,
    "belief.is_refuted": lambda a: a.belief[1] and a.model.misfit.is_refuted,
    "belief.left_out[][]": lambda a: (
        [[rates.get(k) for k in a.stages] for rates in a.left_out]
        if a.belief[1] and not a.model.misfit.is_refuted
        else []
    ),
    "belief.error_rates[]": lambda a: a.belief[0],
    "belief.hedged_rates[]": lambda a: a.deciding_rates if a.belief[1] else a.belief[0],
    "belief.is_identified": lambda a: a.belief[1] and a.model.is_identified,
    "source": lambda _: "a table in memory",
    "confidence": lambda a: a.log.confidence,
    "cascade.costs[]": lambda a: [float(c) for c in a.log.costs],
    "cascade.mistake_cost": lambda a: float(a.log.mistake_cost),
    "cascade.names[]": lambda a: a.log.names,
    "cascade.parents[]": lambda a: a.parents,
    "log.n_cases": lambda a: sum(any(y is not None for y in row) for row in a.log.rows),
    "log.n_blank": lambda a: sum(all(y is None for y in row) for row in a.log.rows),
    "log.n_patterns": lambda a: len(set(a.rows)),
    "log.classes[]": lambda a: a.classes,
    "log.patterns[][]": patterns,
    "log.counts[]": lambda a: [a.rows.count(row) for row in patterns(a)],
    "log.disagreement[][]": lambda a: [
        [None if a.plain[i, j] is None else float(a.plain[i, j]) for j in a.stages]
        for i in a.stages
    ],
    "verdict.finding": lambda a: a.finding()[0],
    "verdict.stage": lambda a: a.finding()[1],
    "verdict.ratio": ratio,
    "verdict.pairs[].shallow": each_pair(lambda _a, i, _j: i),
    "verdict.pairs[].deep": each_pair(lambda _a, _i, j: j),
    "verdict.pairs[].n_seen": each_pair(lambda a, i, j: a.seen[i, j]),
    "verdict.pairs[].n_disagreed": each_pair(lambda a, i, j: a.differ[i, j]),
    "verdict.pairs[].disagreement": each_pair(lambda a, i, j: a.share[i, j]),
    "verdict.pairs[].interval.low": each_pair(lambda a, i, j: a.interval[i, j][0]),
    "verdict.pairs[].interval.high": each_pair(lambda a, i, j: a.interval[i, j][1]),
    "verdict.pairs[].price": each_pair(lambda a, i, j: a.price(i, j)),
    "verdict.pairs[].settled": each_pair(lambda a, i, j: a.settled(i, j)),
    "verdict.pairs[].is_biased": each_pair(lambda a, i, j: (i, j) in a.blind),
    "verdict.pairs[].is_adjusted": each_pair(lambda a, i, j: (i, j) in a.by_outputs),
    "strong_dominance.n_cases": lambda a: len(a.rows),
    "strong_dominance.n_contradicting": lambda a: a.contradicting,
    "strong_dominance.n_open": lambda a: a.may_contradict,
    "strong_dominance.interval.low": lambda a: a.contradiction_interval[0],
    "strong_dominance.interval.high": lambda a: a.contradiction_interval[1],
    "estimated_disagreement[][]": lambda a: [
        [a.estimated[i, j] for j in a.stages] for i in a.stages
    ],
    "assumptions[]": assumed,
    "error_bounds[].low": lambda a: [max(low, 0.0) for low, _ in a.error_bounds],
    "error_bounds[].high": lambda a: [high for _, high in a.error_bounds],
    "largest_differences[][]": lambda a: a.differences,
    "proven_differences[][]": lambda a: a.proven,
    "worst_regrets[]": lambda a: a.regrets(),
    "minimax_stage": lambda a: a.safest,
    "guarantee": lambda a: min(a.regrets()),
    "is_known": lambda a: a.is_known,
    "ground": lambda a: a.ground,
    "possible_stages[]": lambda a: a.rivals,
    "unshared_values[]": lambda a: a.log.unshared,
    "odd_values[]": lambda a: a.odd_values,
    "n_disputed": lambda a: a.n_disputed,
    "n_disputed_labelled": lambda a: a.n_disputed_labelled,
    "choices[].rule": lambda _: RULES,
    "choices[].stage": rule_stages,
    "choices[].worst_regret": lambda a: [
        None if k is None else a.regrets()[k] for k in rule_stages(a)
    ],
    "missing.n_incomplete": lambda a: sum(None in row for row in a.rows),
    "missing.n_prefix": lambda a: a.n_prefix,
    "missing.n_missing[]": lambda a: [sum(row[k] is None for row in a.rows) for k in a.stages],
    "missing.p_values[]": lambda a: a.p_values,
    "missing.p_values_of_others[]": lambda a: a.p_values_of_others,
    "missing.p_values_of_labels[]": lambda a: a.p_values_of_labels,
    "missing.pairs[].shallow": each_pair(lambda _a, i, _j: i),
    "missing.pairs[].deep": each_pair(lambda _a, _i, j: j),
    "missing.pairs[].plain": each_pair(
        lambda a, i, j: None if a.plain[i, j] is None else float(a.plain[i, j])
    ),
    "missing.pairs[].adjusted": each_pair(lambda a, i, j: a.adjusted[i, j]),
    "missing.pairs[].adjusted_range.low": each_pair(lambda a, i, j: a.adjusted_range[i, j][0]),
    "missing.pairs[].adjusted_range.high": each_pair(lambda a, i, j: a.adjusted_range[i, j][1]),
    "missing.pairs[].worst.low": each_pair(lambda a, i, j: a.worst(i, j)[0]),
    "missing.pairs[].worst.high": each_pair(lambda a, i, j: a.worst(i, j)[1]),
    "missing.plain_stage": lambda a: a.sound(a.plain),
    "missing.adjusted_stage": lambda a: a.sound(a.adjusted),
    "labels.n_labels": lambda a: len(a.labelled),
    "labels.n_telling": lambda a: a.n_telling,
    "labels.estimates[][]": lambda a: a.estimates,
    "labels.low[][]": lambda a: a.label_least,
    "labels.high[][]": lambda a: -a.label_least.T,
    "labels.error_rates[].low": lambda a: [low for low, _ in a.label_rates],
    "labels.error_rates[].high": lambda a: [high for _, high in a.label_rates],
    "labels.stage": lambda a: a.label_stage,
    "labels.possible_stages[]": lambda a: a.may_be_best(a.label_least),
    "labels.weak_dominance": lambda a: a.weak_dominance,
    "plan.n_asked": lambda a: a.log.n_planned,
    "plan.groups[].blocks[]": lambda a: [camp for camp, _, _ in groups(a)],
    "plan.groups[].n_cases": lambda a: [n for _, n, _ in groups(a)],
    "plan.groups[].n_labels": lambda a: [m for _, _, m in groups(a)],
    "plan.resolution[][]": lambda a: [[i, j, w] for (i, j), w in sorted(a.resolution.items())],
}
CHECKS = {  # what is no single number, or follows from the report itself
    "advice.n_next": check_next,
    "advice.stake": nearly(lambda a: min(a.label_value[0], max(a.regrets()[a.choice[0]], 0.0))),
    "advice.prices[]": check_bands,
    "advice.outlooks[].chance": nearly(lambda a: a.label_value[1]),
    "belief.per_case.saved": check_saved,
    "verdict.n_more": check_forecast,
    "verdict.pairs[].n_more": check_pair_forecasts,
    "planned_cases[].case": check_planned,
    "planned_cases[].outputs[]": check_planned,
    "planned_cases[].label": check_planned,
}
PARTS = {"missing", "labels", "plan", "advice.skipped", "advice.taken"}  # a log may have none


def test_the_words_are_those_of_the_snapshot():
    """Here and not with the other words, so that each log is audited once."""
    assert snapshot.text() == snapshot.PATH.read_text(encoding="utf-8"), "make snapshots, and read"


def test_no_key_of_a_report_is_without_a_check():
    keys = set().union(*(leaves(report_of(name)) for name in logs.NAMES)) - PARTS
    entries = EXPECTED.keys() | CHECKS.keys()
    trees = tuple(entries - keys)
    assert {leaf for leaf in keys - entries if not leaf.startswith(trees)} == UNCHECKED
    assert all(any(leaf.startswith(tree) for leaf in keys) for tree in trees)


@pytest.mark.parametrize("key", [*EXPECTED, *CHECKS])
def test_a_key_of_the_report(key):
    n_present = 0
    for name in logs.NAMES:
        value = collect(report_of(name), key)
        n_present += value not in (None, [])
        try:
            if key in EXPECTED:
                check_expected(key, again(name), value, EXPECTED[key])
            else:
                CHECKS[key](again(name), value, report_of(name))
        except AssertionError as error:
            raise AssertionError(f"{key} of {name}: {error}") from error
    assert n_present


def test_both_ways_to_complete_a_log_agree():
    """Where gaps are stops: Π_k P(s_k | s_1 … s_k-1), each factor where test k ran."""
    a = again("routed")
    for row, p in a.completed.items():
        expected = 1.0
        for k in a.stages:
            reached = [r for r in a.rows if r[:k] == row[:k] and r[k] is not None]
            expected *= sum(r[k] == row[k] for r in reached) / len(reached)
        assert float(p) == pytest.approx(expected)


def test_the_logs_meet_every_kind_of_finding():
    reports = [report_of(name) for name in logs.NAMES]
    verdicts, advice = ([report[key] for report in reports] for key in ("verdict", "advice"))
    assert {verdict["finding"] for verdict in verdicts} == {"sound", "undecided", "none"}
    assert {report["is_known"] for report in reports} == {True, False}
    assert {report["ground"] for report in reports} == {
        None, "log", "assumptions", "gaps at random", "labels", "labels and assumptions"
    }  # fmt: skip
    assert {p["settled"] for verdict in verdicts for p in verdict["pairs"]} == {-1, 0, 1}
    assert {x["certainty"] for x in advice} == {"proven", "likely", "guess"}
    assert len({x["basis"] for x in advice}) >= 7
    assert {x["taken"]["payoff"] for x in advice if x["taken"]} >= {"open", "always"}
    assert len({w["kind"] for x in advice for w in x["warnings"]}) >= 6
    assert {x["next_step"] for x in advice} == {
        "nothing", "more cases", "label", "label the plan", "run all tests", "no help"
    }  # fmt: skip
    dominance = {report["labels"]["weak_dominance"] for report in reports if report["labels"]}
    assert dominance == {"holds", "fails", "open"}
    assert any(v["finding"] == "undecided" and v["n_more"] is None for v in verdicts)
    assert any(v["n_more"] for v in verdicts)
