"""The first lines: true to what they rest on, and of one mind."""

import re

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import ErrsWithin, Ordered
from stopwise.auditing.bounds.grounds import Ground
from stopwise.auditing.telling.headline import _at_most, headline
from stopwise.auditing.telling.steps import going_on
from tests.auditing.worlds import draw

ABC = ["a", "b", "c"]
WHATEVER = "whatever the right answers are"


@pytest.fixture(scope="module")
def world():
    labels, outputs = draw(np.random.default_rng(7), 6_000, (0.25, 0.15, 0.05))
    frame = pd.DataFrame(outputs, columns=ABC)
    return frame, frame.assign(label=labels)


def abc(*costs, mistake_cost=25):
    return sw.Cascade(costs, mistake_cost, ABC)


def test_what_labels_show_is_not_said_to_hold_without_them(world):
    frame, told = world
    report = sw.audit(frame, abc(0, 0.5, 4), labels=told[:2_000])
    assert (report.is_known, report.ground) == (True, Ground.LABELS)
    lines = headline(report)
    assert lines[0].startswith("Stop after 'b' (test 2 of 3): the labels show that no other choice")
    assert "the labels show that it does not pay" in lines[1]
    n = f"{1000 * (frame.a != frame.b).mean():.0f}"
    assert f"the labels show that going on, which changes {n} answers, is worth more" in lines[2]
    assert "how surely is said below" in lines[3]
    assert lines[4] == "No more labels are needed."
    assert "whatever" not in " ".join(lines)
    assert "with 95 % confidence still possible: 'b'" in report.summary()
    assert "with 95 % confidence" in report.to_html()


def test_what_is_known_anyway_needs_neither_labels_nor_assumptions(world):
    frame, told = world
    report = sw.audit(frame, abc(1, 9, 9), labels=told[:60], assumptions=[Ordered()])
    assert report.ground is Ground.LOG
    lines = headline(report)
    assert WHATEVER in lines[0]
    assert lines[3].endswith("with nothing assumed.")
    assert lines[4] == "No labels are needed."


def test_the_ground_is_the_least_that_is_enough(world):
    frame, told = world
    given, some = [ErrsWithin("a", 0.27), ErrsWithin("c", 0.12)], told[:800]
    kinds = set()
    for price in np.geomspace(1, 100, 40):
        cascade = abc(0.1, 0.5, 4, mistake_cost=float(price))
        report = sw.audit(frame, cascade, labels=some, assumptions=given)
        kinds.add(report.ground)
        trials = {
            Ground.LOG: sw.audit(frame, cascade),
            Ground.ASSUMED: sw.audit(frame, cascade, assumptions=given),
            Ground.LABELS: sw.audit(frame, cascade, labels=some),
            Ground.BOTH: report,
        }
        enough = (g for g, r in trials.items() if r.worst_regrets[report.minimax_stage] <= 1e-9)
        assert report.ground is next(enough, None), price
    assert kinds >= {Ground.LOG, Ground.ASSUMED, Ground.LABELS, None}


def test_labels_are_a_ground_by_themselves_whatever_is_taken_of_gaps(world):
    _, told = world
    gaps, cascade = told.astype("Int64"), abc(0, 0.5, 4)
    gaps.loc[::9, "c"] = pd.NA
    report = sw.audit(gaps[ABC], cascade, labels=gaps[:3_000], missing_at_random=True)
    assert report.ground is Ground.LABELS
    assert report.ground is sw.audit(gaps[ABC], cascade, labels=gaps[:3_000]).ground


def test_under_assumptions_the_first_lines_are_of_one_mind():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 20_000)
    rates = np.column_stack([np.where(y, 0.3, 0.02), np.full_like(y, 0.1, float), 0 * y + 0.03])
    wrong = rng.random((20_000, 3)) < rates
    frame = pd.DataFrame(np.where(wrong, 1 - y[:, None], y[:, None]), columns=ABC)
    first = sw.audit(frame, abc(1, 3, 8), assumptions=[ErrsWithin("a", 0.10)])
    lines = headline(first)
    assert lines[0].endswith(": given what you assume, no other choice is cheaper in this log.")
    assert lines[1].endswith(": given what you assume it cannot pay.")
    assert lines[4] == "No labels are needed, as long as what you assume is true."
    assert "(95 % confidence, at any time); what you assume rules out 'b'." in first.summary()
    assert "best, given what is assumed" in first.summary()
    assert "where one stage is best\ngiven what is assumed" in first.to_html()
    last = headline(sw.audit(frame, abc(1, 0.1, 0.1), assumptions=[ErrsWithin("c", 0.01)]))
    assert "given what you assume, going on, which changes" in last[2]
    assert last[2].endswith("is worth more.")


@pytest.mark.parametrize("seed", range(40))
def test_lines_never_contradict_each_other(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    rates = rng.uniform(0.02, 0.4, K)
    labels, outputs = draw(rng, 3_000, rates, n_classes=int(rng.integers(2, 4)))
    names = [f"t{k}" for k in range(K)]
    frame = pd.DataFrame(outputs, columns=names)
    errors = (outputs != labels[:, None]).mean(axis=0)
    given = [ErrsWithin(n, float(e) + 0.01) for n, e in zip(names, errors, strict=True)]
    cascade = sw.Cascade(rng.uniform(0, 0.1, K), float(rng.choice([0.2, 1, 30])), names)
    report = sw.audit(
        frame,
        cascade,
        labels=frame.assign(label=labels)[:1_500] if seed % 2 else None,
        assumptions=given if seed % 4 < 2 else [],
    )
    lines = headline(report)
    assert (report.ground is not None) == report.is_known
    assert ("whatever" in lines[0]) == (report.ground is Ground.LOG)
    if report.is_known:
        assert not re.search("may pay|too close to call|by the labels", lines[1])
        assert not re.search("taken to be|cannot be known|by the labels", lines[2])
        assert "too much" not in lines[3]
    assert ("given what you assume" in lines[0]) == (report.ground in {Ground.ASSUMED, Ground.BOTH})
    assert len(report.summary().splitlines()) <= 25


def test_labels_where_all_tests_agree_say_nothing(world):
    frame, told = world
    agreed = told[(frame.a == frame.b) & (frame.b == frame.c)][:50]
    report = sw.audit(frame, abc(1, 2, 4), labels=agreed)
    assert (report.labels.n_labels, report.labels.n_telling) == (50, 0)
    assert report.recommended_stage == sw.audit(frame, abc(1, 2, 4)).recommended_stage
    assert (
        "of cases on which the tests agree, so they cannot say which is better"
        in headline(report)[0]
    )
    assert "--plan-labels 50 draws some" in headline(report)[4]
    assert "Labels: 50, none of a case on which tests disagree." in report.summary()
    assert "says nothing about which of them is better" in " ".join(report.to_html().split())
    assert "favour" not in report.summary() + report.to_html()
    mixed = sw.audit(frame, abc(1, 2, 4), labels=told[:60])
    apart = ((frame != frame[["a"]].to_numpy()).any(axis=1))[:60].sum()
    assert mixed.labels.n_telling == apart > 0


def test_labels_of_cases_with_gaps_may_say_nothing():
    frame = pd.DataFrame([[0, 0, None], [0, None, None], [0, 1, 1], [1, 1, 0]] * 20, columns=ABC)
    cascade = abc(1, 1, 1)
    told = frame.assign(label=0)
    assert sw.audit(frame, cascade, labels=told[:2]).labels.n_telling == 0
    assert sw.audit(frame, cascade, labels=told[:4]).labels.n_telling == 2


def test_by_the_labels_mistakes_are_avoided(world):
    frame, told = world
    report = sw.audit(frame, abc(1, 2, 4), labels=told[:150])
    assert report.recommended_stage == 1
    fewer = [1000 * float(report.labels.estimates[i, j]) for i, j in ((0, 1), (1, 2))]
    assert f"by the labels it avoids about {fewer[1]:.0f} mistakes" in headline(report)[1]
    assert f"going on from there avoids about {fewer[0]:.0f} mistakes" in headline(report)[2]


def test_a_plan_is_no_larger_than_what_it_can_draw_from(world):
    frame, told = world
    report = sw.audit(frame, abc(1, 2, 4), labels=told[:2_000])
    assert not report.is_known
    all_of_it = sw.audit(frame, abc(1, 2, 4), labels=told[:2_000], n_planned=10**6)
    assert all_of_it.plan.n_labels == len(all_of_it.planned_cases) == report.n_disputed < 4 * 2_000
    assert f"--plan-labels {report.n_disputed})" in headline(report)[4]


def test_what_assumptions_rule_out_is_not_recommended(world):
    frame, _ = world
    cascade = abc(1.1, 0.9, 3.8)  # 'c' costs more mistakes than 'b' can make
    given = [ErrsWithin("b", 0.151)]
    plain, report = sw.audit(frame, cascade), sw.audit(frame, cascade, assumptions=given)
    assert plain.recommended_stage == plain.verdict.stage == report.verdict.stage == 2
    assert not report.is_known
    assert "even with what you assume nobody can know" in headline(report)[0]
    for r in (plain, report):
        C, most = r.cascade.cumulative_costs, r.largest_differences
        ahead = [k for k in range(3)
                 if all(-most[j, k] + C[k] - C[j] <= 1e-9 for j in range(3))]  # fmt: skip
        assert list(r.possible_stages) == ahead
        assert r.recommended_stage in ahead


def test_with_two_tests_dawid_and_skene_only_guess(world):
    frame, _ = world
    two, three = (
        {
            c.rule: c.note
            for c in sw.audit(frame[names], sw.Cascade([1] * len(names), 25, names)).choices
        }
        for names in (ABC[:2], ABC)
    )
    assert "a guess: with two tests many error rates fit its model" in two["Dawid–Skene"]
    assert "two tests" not in three["Dawid–Skene"]


def test_what_the_log_shows_is_not_put_down_to_a_label():
    frame = pd.DataFrame([[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]] * 5, columns=ABC)
    told = pd.DataFrame({"case": [3], "label": [1]})
    report = sw.audit(frame, sw.Cascade([0, 0.1, 0.3], 1, ABC), labels=told)
    assert report.ground is None
    assert report.recommended_stage == 1
    assert "here it cannot pay, but for new cases" in headline(report)[1]


def test_labels_of_all_cases_leave_nothing_to_chance():
    frame = pd.DataFrame([[0, 0], [1, 1], [0, 1], [1, 1]] * 50, columns=ABC[:2])
    told = pd.DataFrame({"case": range(1, 201), "label": frame["b"]})
    cascade = sw.Cascade([0, 0.1], 1, ABC[:2])
    lines = headline(sw.audit(frame, cascade, labels=told))
    assert lines[3] == "This holds for these 200 cases, of which each has a label."
    fewer = headline(sw.audit(frame, cascade, labels=told[:199]))
    assert "if labels were given to random cases; how surely" in fewer[3]


def test_no_choice_is_called_safer_that_is_not():
    frame = pd.DataFrame([[0, 1], [1, 0], [1, 1]], columns=ABC[:2])
    report = sw.audit(frame, sw.Cascade([0, 0], 1, ABC[:2]))
    assert report.worst_regrets[0] == report.worst_regrets[1] > 0
    for stage in (0, 1):
        assert "at most 667 mistakes in 1,000 cases too much, with nothing" in _at_most(
            report, stage
        )


def test_gaps_are_blamed_only_where_there_are_some():
    frame = pd.DataFrame([[0, 1], [1, 0], [1, 1], [0, 0]] * 9, columns=ABC[:2])
    cascade = sw.Cascade([0, 0.1], 1, ABC[:2])
    few = sw.audit(frame, cascade, n_planned=1).summary()
    assert "These are too few to be sure of settling anything." in few
    frame.loc[0, "b"] = None
    some = sw.audit(frame, cascade, n_planned=1).summary()
    assert "These are too few, or the gaps too many, to be sure" in some


def test_where_no_more_cases_would_make_sure():
    frame = pd.DataFrame([[0, 0], [1, 1]] * 75, columns=ABC[:2])
    report = sw.audit(frame, sw.Cascade([0, 0], 1, ABC[:2]))
    text = "No labels are needed for these cases; for new ones it is too close to be sure."
    assert headline(report)[4] == text


def test_the_page_says_once_what_looks_sound():
    frame = pd.DataFrame([[0, 0], [1, 1], [1, 0], [1, None]] * 90, columns=ABC[:2])
    page = sw.audit(frame, sw.Cascade([0, 0.1], 1, ABC[:2])).to_html()
    assert "Where both ran &#x27;b&#x27; looks sound, and adjusted too." in page
    assert "The intervals of all pairs hold together" in page


@pytest.mark.parametrize(
    ("cost", "words"), [(0.3, "costs as much as 200 mistakes more"), (0.05, "costs no more")]
)
def test_the_other_branch_of_a_tree_is_named(cost, words):
    """Disagreement compares tests on one path; of another branch its bounds are said."""
    rows = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]] * 400)
    cascade = sw.Cascade([0, 0.1, cost], 1, ["root", "left", "right"], parents=[None, 0, 0])
    report = sw.audit(pd.DataFrame(rows, columns=["root", "left", "right"]), cascade)
    line = going_on(report, 1)
    assert line == (
        f"No test comes after it; 'right', on another branch, {words} and avoids at most 200 in "
        "1,000."
    )
    chain = sw.audit(rows, sw.Cascade([0, 0.1, 0.1]))
    assert going_on(chain, 2) == "It is the last test: there is nothing to go on to."
