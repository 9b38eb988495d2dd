"""The report: short, plain, complete, and every number in it computed a second time."""

import json

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import ErrsWithin, MissingAtRandom, NeverRight, Ordered
from stopwise.auditing.advice import NextStep, WarningKind
from stopwise.auditing.evidence.sequences import BettingSequence
from stopwise.auditing.rules import Rule
from stopwise.errors import AssumptionError, InputError, LogError, SettingError
from stopwise.patterns import PatternTable
from tests.auditing.worlds import NAMES, ORDER, draw, frame_of, highs_bound, law_of


def test_every_number_of_the_json_report_is_computed_a_second_time(world):
    _, frame, cascade, report = world
    told = json.loads(report.to_json())
    outputs = frame.to_numpy()
    n = len(outputs)
    C = np.array([6, 22, 46]) / 200
    p = np.array([[(outputs[:, i] != outputs[:, j]).mean() for j in range(3)] for i in range(3)])
    np.testing.assert_allclose(told["log"]["disagreement"], p)
    assert told["log"]["n_cases"] == n
    assert sum(told["log"]["counts"]) == n
    for row, count in zip(told["log"]["patterns"], told["log"]["counts"], strict=True):
        assert (outputs == row).all(axis=1).sum() == count
    sequence = BettingSequence(0.05 / 3 / 3)  # disagreement, dominance, labels; three pairs
    for pair in told["verdict"]["pairs"]:
        i, j = pair["shallow"], pair["deep"]
        interval = sequence.interval(round(p[i, j] * n), n)
        assert pair["disagreement"] == pytest.approx(p[i, j])
        assert pair["price"] == pytest.approx(C[j] - C[i])
        assert (pair["interval"]["low"], pair["interval"]["high"]) == (interval.low, interval.high)
        price = float(C[j] - C[i])
        assert pair["settled"] == int(price >= interval.high) - int(price < interval.low)
    flips = sum((row[:-1] != row[1:]).sum() > 1 for row in outputs)
    assert told["strong_dominance"]["n_contradicting"] == flips
    law, unit = law_of(outputs, cascade), np.eye(3)
    most = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            most[i, j] = highs_bound(law, unit[i] - unit[j], conditions=ORDER[3])
    np.testing.assert_allclose(told["largest_differences"], most, atol=1e-8)
    for k, bounds in enumerate(told["error_bounds"]):
        low = -highs_bound(law, -unit[k], conditions=ORDER[3])
        high = highs_bound(law, unit[k], conditions=ORDER[3])
        assert (bounds["low"], bounds["high"]) == pytest.approx((low, high), abs=1e-8)
    regrets = [max(most[k, j] + C[k] - C[j] for j in range(3)) for k in range(3)]
    np.testing.assert_allclose(told["worst_regrets"], regrets, atol=1e-8)
    assert told["minimax_stage"] == int(np.argmin(regrets))
    assert told["guarantee"] == pytest.approx(min(regrets), abs=1e-8)
    assert told["is_known"] == (min(regrets) <= 1e-9)
    sound = sw.sound_stage(p, cascade)
    assert told["verdict"]["stage"] == sound
    stages = {choice["rule"]: choice["stage"] for choice in told["choices"]}
    assert stages["weak dominance"] == sound
    assert stages["strong dominance"] == int(np.argmin(C - p[0]))
    assert stages["minimax regret"] == int(np.argmin(regrets))
    assert stages["always the last"] == 2
    for choice in told["choices"]:
        if choice["stage"] is not None:
            assert choice["worst_regret"] == pytest.approx(regrets[choice["stage"]], abs=1e-8)
    assert sum(group["n_labels"] for group in told["plan"]["groups"]) == 40
    assert len(told["planned_cases"]) == 40


def test_a_report_is_written_whole_or_not_at_all(world, tmp_path, monkeypatch):
    *_, report = world
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
    before = (tmp_path / "report.html").read_bytes()

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save(tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_bytes() == before


def test_labels_are_used_throughout(world):
    labels, frame, cascade, _ = world
    told = frame.assign(label=labels)
    with_labels = sw.audit(frame, cascade, labels=told)
    without = sw.audit(frame, cascade)
    errors = (frame.to_numpy() != labels[:, None]).mean(axis=0)
    assert with_labels.advice.stage == int(np.argmin(errors + cascade.cumulative_costs))
    assert (with_labels.facts.largest_differences <= without.facts.largest_differences + 1e-9).all()
    assert with_labels.facts.guarantee < without.facts.guarantee
    for i in range(3):
        for j in range(3):
            assert errors[i] - errors[j] <= with_labels.facts.largest_differences[i, j] + 1e-9


def test_more_labels_are_asked_for_as_a_plan_of_their_own(world):
    labels, frame, cascade, _ = world
    report = sw.audit(frame, cascade, labels=frame.assign(label=labels)[:20])
    assert len(report.facts.labels.possible_stages) > 1
    assert (report.advice.next_step, report.advice.n_next) == (NextStep.LABEL, 80)
    assert "a number of labels that was fixed beforehand" in report.to_html()


def test_a_histogram_can_be_audited(world):
    _, frame, cascade, report = world
    again = sw.audit(report.facts.table, cascade, assumptions=[Ordered()])
    assert again.facts.worst_regrets.tolist() == report.facts.worst_regrets.tolist()
    counted = frame.value_counts()
    histogram = PatternTable.from_rows(counted.index, counted.to_numpy(), cascade)
    assert sw.audit(histogram, cascade).facts.verdict == report.facts.verdict


def test_a_histogram_is_audited_at_the_prices_of_the_audit(world):
    report = world[-1]
    given, dear = report.cascade, sw.Cascade(report.cascade.prices, 40, report.cascade.names)
    again = sw.audit(report.facts.table, dear)
    assert given.mistake_cost != 40
    assert again.cascade.mistake_cost == again.to_dict()["cascade"]["mistake_cost"] == 40
    assert again.facts.worst_regrets.tolist() == pytest.approx(
        [max(again.facts.largest_differences[k] + dear.cumulative_costs[k] - dear.cumulative_costs)
         for k in range(dear.n_stages)]
    )  # fmt: skip
    with pytest.raises(LogError, match="those of 2 tests, got those of 3"):
        sw.audit(report.facts.table, sw.Cascade([1, 2]))


def test_counts_kept_case_by_case_can_be_audited(world):
    _, frame, cascade, _ = world
    counts = sw.PatternCounts(cascade)
    for row in frame.to_numpy().tolist():
        counts.add(row)
    found, expected = sw.audit(counts, cascade).to_dict(), sw.audit(frame, cascade).to_dict()
    assert found.pop("source") != expected.pop("source")
    assert found == expected
    few = sw.PatternCounts(cascade, max_patterns=2)
    for row in frame.to_numpy().tolist():
        few.add(row)
    with pytest.raises(LogError, match="must hold every pattern"):
        sw.audit(few, cascade)


def test_thousands_of_free_answers_take_seconds():
    _, outputs = draw(np.random.default_rng(2), 6_000, (0.3, 0.2), n_classes=3_000)
    frame = pd.DataFrame(outputs, columns=["a", "b"]).map("answer {}".format)
    report = sw.audit(frame, sw.Cascade([0.1, 0.1], names=["a", "b"]))
    (choice,) = (c for c in report.facts.choices if c.rule is Rule.BELIEF)
    assert choice.stage is None
    assert report.facts.table.n_classes > 2_000


def test_missing_outputs_widen_the_bounds_unless_taken_to_be_random():
    _, frame = frame_of(seed=8)
    cascade = sw.Cascade([6, 16, 24], 200, NAMES)
    gaps = frame.astype("Int64")
    gaps.loc[::4, "all"] = pd.NA
    complete, wide = sw.audit(frame, cascade), sw.audit(gaps, cascade)
    narrow = sw.audit(gaps, cascade, assumptions=[MissingAtRandom()])
    assert wide.facts.missing is not None
    assert complete.facts.missing is None
    assert (wide.facts.largest_differences >= complete.facts.largest_differences - 1e-9).all()
    assert narrow.facts.guarantee < wide.facts.guarantee
    for pair in narrow.facts.verdict.pairs:
        i, j = pair.shallow, pair.deep
        most = wide.facts.largest_differences[i, j]
        if pair.is_adjusted:
            most = min(most, pair.interval.high)
        assert complete.facts.largest_differences[i, j] <= most + 1e-12
        assert narrow.facts.largest_differences[i, j] == pytest.approx(most)
    assert "750 of 3,000 cases lack an output" in wide.summary(details=True)


@pytest.mark.parametrize("n_tests", [3, 4])
def test_a_first_test_in_words_of_its_own_is_no_answer(n_tests):
    """A score in buckets may come first: to stop there is a mistake, and the others decide."""
    names = ["score", "a", "b", "c"][:n_tests]
    _, frame = frame_of(n=900, rates=(0.3, 0.25, 0.2, 0.1)[:n_tests], names=names)
    score = frame.pop("score").map({0: "low", 1: "high"})
    rest = sw.audit(frame, sw.Cascade([2] * (n_tests - 1), 100, names[1:]))
    frame.insert(0, "score", score)
    report = sw.audit(frame, sw.Cascade([1] + [2] * (n_tests - 1), 100, names))
    assert report.advice.stage == rest.advice.stage + 1
    assert [w.kind for w in report.advice.warnings].count(WarningKind.OWN_WORDS) == 1
    assert report.facts.error_bounds[0].low == pytest.approx(1)
    believed = report.facts.belief.error_rates
    assert np.isnan(believed).all() if n_tests == 3 else believed[0] == pytest.approx(1)


def test_a_report_into_no_folder_is_refused(world, tmp_path):
    with pytest.raises(InputError, match="must go into a directory"):
        world[-1].save(tmp_path / "nowhere" / "report.html")


def test_two_columns_with_one_name_are_refused():
    frame = pd.DataFrame([[0, 1, 1], [1, 0, 1]], columns=["a", "a", "b"])
    with pytest.raises(LogError, match="columns must have different names, got a twice"):
        sw.audit(frame, sw.Cascade([1, 1], names=["a", "b"]))


def test_trees_are_audited():
    _, frame = frame_of(seed=2, rates=(0.4, 0.2, 0.1), names=["root", "left", "right"])
    tree = sw.Cascade([0.01, 0.3, 0.2], names=["root", "left", "right"], parents=[None, 0, 0])
    report = sw.audit(frame, tree, assumptions=[Ordered()])
    assert {(p.shallow, p.deep) for p in report.facts.verdict.pairs} == {(0, 1), (0, 2)}
    p = report.facts.table.disagreement
    assert report.facts.verdict.stage == sw.sound_stage(p, tree)
    report.to_html()
    report.summary()


def test_settings_are_checked(world):
    _, frame, cascade, _ = world
    with pytest.raises(LogError, match="at least two tests"):
        sw.audit(frame, sw.Cascade([1], names=["all"]))
    with pytest.raises(SettingError, match="confidence"):
        sw.audit(frame, cascade, confidence=1)
    with pytest.raises(SettingError, match="n_planned"):
        sw.audit(frame, cascade, n_planned=-1)
    with pytest.raises(SettingError, match="never right must be in the log, got 'abstain'"):
        sw.audit(frame, cascade, assumptions=[NeverRight("abstain")])
    with pytest.raises(AssumptionError, match="at once"):
        sw.audit(frame, cascade, assumptions=[ErrsWithin("all", 0.0), ErrsWithin("history", 0.0)])
