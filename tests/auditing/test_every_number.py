"""Every number of the JSON report against a second computation from the rows of the log.

`CHECKS` has one entry for each key of the report. A key without an entry fails.
"""

import pytest

from tests.auditing.again import logs
from tests.auditing.again.facts import (
    RULES,
    again,
    chosen,
    curve,
    groups,
    patterns,
    ratio,
    told,
    words,
)
from tests.auditing.again.keys import (
    check_forecast,
    check_pair_forecasts,
    check_planned,
    collect,
    each_gap,
    each_pair,
    if_any,
    label_table,
    leaves,
    same,
)
from tests.auditing.again.price_bands import check_bands, guarantee, known_at, map_ends, minimax_at
from tests.auditing.again.whole import Again

CHECKS = {
    "version": same(lambda _: 1),
    "source": same(lambda _: "a table in memory"),
    "confidence": same(lambda a: a.log.confidence),
    "cascade.costs[]": same(lambda a: [float(c) for c in a.log.costs]),
    "cascade.mistake_cost": same(lambda a: float(a.log.mistake_cost)),
    "cascade.names[]": same(lambda a: a.log.names),
    "cascade.parents[]": same(lambda a: a.parents),
    "log.n_cases": same(lambda a: sum(any(y is not None for y in row) for row in a.log.rows)),
    "log.n_blank": same(lambda a: sum(all(y is None for y in row) for row in a.log.rows)),
    "log.n_patterns": same(lambda a: len(set(a.rows))),
    "log.classes[]": same(lambda a: a.classes),
    "log.patterns[][]": same(patterns),
    "log.counts[]": same(lambda a: [a.rows.count(row) for row in patterns(a)]),
    "log.disagreement[][]": same(
        lambda a: [
            [None if a.plain[i, j] is None else float(a.plain[i, j]) for j in a.stages]
            for i in a.stages
        ]
    ),
    "verdict.finding": same(lambda a: a.finding()[0]),
    "verdict.stage": same(lambda a: a.finding()[1]),
    "verdict.n_more": check_forecast,
    "verdict.ratio": same(ratio),
    "verdict.pairs[].shallow": each_pair(lambda _a, i, _j: i),
    "verdict.pairs[].deep": each_pair(lambda _a, _i, j: j),
    "verdict.pairs[].n_seen": each_pair(lambda a, i, j: a.seen[i, j]),
    "verdict.pairs[].n_disagreed": each_pair(lambda a, i, j: a.differ[i, j]),
    "verdict.pairs[].disagreement": each_pair(lambda a, i, j: a.share[i, j]),
    "verdict.pairs[].interval.low": each_pair(lambda a, i, j: a.interval[i, j][0]),
    "verdict.pairs[].interval.high": each_pair(lambda a, i, j: a.interval[i, j][1]),
    "verdict.pairs[].price": each_pair(lambda a, i, j: a.price(i, j)),
    "verdict.pairs[].settled": each_pair(lambda a, i, j: a.settled(i, j)),
    "verdict.pairs[].n_more": check_pair_forecasts,
    "verdict.pairs[].is_biased": each_pair(lambda a, i, j: (i, j) in a.blind),
    "verdict.pairs[].is_adjusted": each_pair(lambda a, i, j: (i, j) in a.by_outputs),
    "strong_dominance.n_cases": same(lambda a: len(a.rows)),
    "strong_dominance.n_contradicting": same(lambda a: a.contradicting),
    "strong_dominance.n_open": same(lambda a: a.may_contradict),
    "strong_dominance.interval.low": same(lambda a: a.contradiction_interval[0]),
    "strong_dominance.interval.high": same(lambda a: a.contradiction_interval[1]),
    "assumptions[]": same(words),
    "error_bounds[].low": same(lambda a: [max(low, 0.0) for low, _ in a.error_bounds]),
    "error_bounds[].high": same(lambda a: [high for _, high in a.error_bounds]),
    "largest_differences[][]": same(lambda a: a.differences),
    "worst_regrets[]": same(lambda a: a.regrets()),
    "minimax_stage": same(lambda a: a.safest),
    "guarantee": same(lambda a: min(a.regrets())),
    "is_known": same(lambda a: a.is_known),
    "ground": same(lambda a: a.ground),
    "possible_stages[]": same(lambda a: a.rivals),
    "odd_values[]": same(lambda a: a.odd_values),
    "n_disputed": same(lambda a: a.n_disputed),
    "recommended_stage": same(lambda a: a.recommended),
    "prices.low": same(lambda a: map_ends(a)[0]),
    "prices.high": same(lambda a: map_ends(a)[1]),
    "prices.prices[]": same(curve),
    "prices.guarantees[]": same(lambda a: [guarantee(a, price) for price in curve(a)]),
    "choices[].rule": same(lambda _: RULES),
    "choices[].stage": same(chosen),
    "choices[].worst_regret": same(
        lambda a: [None if k is None else a.regrets()[k] for k in chosen(a)]
    ),
    "choices[].note": same(
        lambda a: [
            "this log refutes it" if a.contradicting else "",
            *("", ""),
            "a guess: with two tests many error rates fit its model"
            if a.K == 2
            else "trusts its model of errors",
            "",
        ]
    ),
    "missing.n_incomplete": if_any("missing", lambda a: sum(None in row for row in a.rows)),
    "missing.n_prefix": if_any("missing", lambda a: a.n_prefix),
    "missing.n_missing[]": if_any(
        "missing", lambda a: [sum(row[k] is None for row in a.rows) for k in a.stages]
    ),
    "missing.p_values[]": if_any("missing", lambda a: a.p_values),
    "missing.p_values_of_others[]": if_any("missing", lambda a: a.p_values_of_others),
    "missing.p_values_of_labels[]": if_any("missing", lambda a: a.p_values_of_labels),
    "missing.pairs[].shallow": each_gap(lambda _a, i, _j: i),
    "missing.pairs[].deep": each_gap(lambda _a, _i, j: j),
    "missing.pairs[].plain": each_gap(
        lambda a, i, j: None if a.plain[i, j] is None else float(a.plain[i, j])
    ),
    "missing.pairs[].adjusted": each_gap(lambda a, i, j: a.adjusted[i, j]),
    "missing.pairs[].adjusted_range.low": each_gap(lambda a, i, j: a.adjusted_range[i, j][0]),
    "missing.pairs[].adjusted_range.high": each_gap(lambda a, i, j: a.adjusted_range[i, j][1]),
    "missing.pairs[].worst.low": each_gap(lambda a, i, j: a.worst(i, j)[0]),
    "missing.pairs[].worst.high": each_gap(lambda a, i, j: a.worst(i, j)[1]),
    "missing.plain_stage": if_any("missing", lambda a: a.sound(a.plain)),
    "missing.adjusted_stage": if_any("missing", lambda a: a.sound(a.adjusted)),
    "missing.biased_pairs[][]": if_any("missing", lambda a: a.biased),
    "labels.n_labels": if_any("labels", lambda a: len(a.labelled)),
    "labels.n_telling": if_any("labels", lambda a: a.n_telling),
    "labels.estimates[][]": if_any("labels", lambda a: a.estimates),
    "labels.low[][]": label_table("low"),
    "labels.high[][]": label_table("high"),
    "labels.error_rates[].low": if_any("labels", lambda a: [low for low, _ in a.label_rates]),
    "labels.error_rates[].high": if_any("labels", lambda a: [high for _, high in a.label_rates]),
    "labels.stage": if_any("labels", lambda a: a.label_stage),
    "labels.possible_stages[]": if_any("labels", lambda a: a.may_be_best(a.label_least)),
    "labels.weak_dominance": if_any("labels", lambda a: a.weak_dominance),
    "labels.overrules": if_any("labels", lambda a: a.overrules),
    "plan.groups[].blocks[]": if_any("plan", lambda a: [camp for camp, _, _ in groups(a)]),
    "plan.groups[].n_cases": if_any("plan", lambda a: [n for _, n, _ in groups(a)]),
    "plan.groups[].n_labels": if_any("plan", lambda a: [m for _, _, m in groups(a)]),
    "plan.resolution[][]": if_any(
        "plan", lambda a: [[i, j, w] for (i, j), w in sorted(a.resolution.items())]
    ),
    "planned_cases[].case": check_planned,
    "planned_cases[].outputs[]": check_planned,
    "planned_cases[].agreement": check_planned,
}
BANDS = {"sound": Again.finding, "minimax": minimax_at, "known": known_at}
PARTS = {"missing", "labels", "plan"}  # a log without gaps, labels or plan has none here
CHECKED_BY_BAND = {
    f"prices.{track}[].{key}"
    for track in BANDS
    for key in ("low", "high", "value[]" if track == "sound" else "value")
}


def test_no_key_of_a_report_is_without_a_check():
    found = set().union(*(leaves(told(name)) for name in logs.NAMES))
    assert found - PARTS == set(CHECKS) | CHECKED_BY_BAND


@pytest.mark.parametrize("key", CHECKS)
def test_a_key_of_the_report(key):
    held = 0
    for name in logs.NAMES:
        found = collect(told(name), key)
        held += found not in (None, [])
        try:
            CHECKS[key](again(name), found, told(name))
        except AssertionError as error:
            raise AssertionError(f"{key} of {name}: {error}") from error
    assert held


@pytest.mark.parametrize("track", BANDS)
@pytest.mark.parametrize("name", logs.NAMES)
def test_bands_of_the_price_map(name, track):
    prices = told(name)["prices"]
    check_bands(again(name), prices[track], BANDS[track])


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
    kinds = {told(name)["verdict"]["finding"] for name in logs.NAMES}
    assert kinds == {"sound", "undecided", "none"}
    assert {told(name)["is_known"] for name in logs.NAMES} == {True, False}
    assert {told(name)["ground"] for name in logs.NAMES} == {
        None, "the log", "assumptions", "labels", "assumptions and labels"
    }  # fmt: skip
    settled = {p["settled"] for name in logs.NAMES for p in told(name)["verdict"]["pairs"]}
    assert settled == {-1, 0, 1}
    labelled = [told(name)["labels"] for name in logs.NAMES if told(name)["labels"]]
    assert {held["overrules"] for held in labelled} == {True, False}
    assert {held["weak_dominance"] for held in labelled} == {"holds", "fails", "open"}
    waits = [told(name)["verdict"] for name in logs.NAMES]
    assert any(v["finding"] == "undecided" and v["n_more"] is None for v in waits)
    assert any(v["n_more"] for v in waits)
