"""What labels say: the stage they favour, and whether weak dominance holds."""

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds
from stopwise.auditing.evidence.verdict import judge
from stopwise.auditing.labels.cases import LabelledCases
from stopwise.auditing.labels.evidence import Holds, label_evidence
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, histogram_of, labelled


def evidence_at(costs, n_labels=2_000):
    rng = np.random.default_rng(3)
    labels, outputs = draw(rng, 20_000, [0.4, 0.1, 0.08])
    cascade = Cascade(costs)
    histogram = histogram_of(outputs, cascade)
    verdict = judge(DisagreementBounds.of(histogram, alpha=0.05), cascade)
    cases = LabelledCases.of(histogram, labelled(outputs, labels, range(n_labels)))
    errors = (outputs != labels[:, None]).mean(axis=0)
    return label_evidence(cases, verdict, cascade, alpha=0.05), errors + cascade.cumulative_costs


@pytest.mark.parametrize(
    ("costs", "stage", "weak_dominance"),
    [
        ([0, 0.1, 0.3], 1, Holds.YES),  # 2 to 3 changes 16 % and costs 30
        ([0, 0.1, 0.1], 1, Holds.NO),  # it costs 10
        ([0, 0.6, 0.3], 0, Holds.YES),
        ([0, 0.001, 0.001], 2, Holds.YES),  # nothing comes after the last
        ([0, 0.4, 0.3], 0, Holds.NO),
    ],
)
def test_labels_choose_the_stage_and_tell_weak_dominance(costs, stage, weak_dominance):
    found, total = evidence_at(costs)
    assert found.stage == stage == int(np.argmin(total))
    assert stage in found.possible_stages
    if found.possible_stages == (stage,):
        assert found.weak_dominance is weak_dominance
    else:
        assert found.weak_dominance in {weak_dominance, Holds.OPEN}


def test_few_labels_leave_weak_dominance_open():
    found, _ = evidence_at([0, 0.29, 0.1], n_labels=10)
    assert len(found.possible_stages) > 1
    assert found.weak_dominance is Holds.OPEN


def test_a_few_labels_do_not_overrule_a_sound_stage():
    """Disagreement is right about this world; a handful of labels is often wrong about it."""
    rng = np.random.default_rng(43)
    labels, hard = rng.integers(0, 2, 2_000), rng.random(2_000)
    seen = np.where(rng.random((3, 2_000)) < 0.7, hard, rng.random((3, 2_000)))
    wrong = seen < np.array([0.3, 0.15, 0.1])[:, None]
    frame = pd.DataFrame(np.where(wrong, 1 - labels, labels).T, columns=["a", "b", "c"])
    cascade = sw.Cascade([0, 0.06, 0.02], 1, ["a", "b", "c"])
    favoured, advised = [], []
    for seed in range(12):
        plan = sw.audit(frame, cascade, n_planned=5, seed=seed).planned_cases
        at = [case.case for case in plan]
        told = pd.DataFrame({"case": at, "label": labels[np.array(at) - 1]})
        report = sw.audit(frame, cascade, labels=told.assign(agreement="a against b"))
        favoured.append(report.labels.stage)
        advised.append(report.recommended_stage)
        assert report.verdict.stage == 2
        assert report.labels.overrules == (report.recommended_stage != 2)
        if report.recommended_stage != report.labels.stage:
            assert "the 5 labels do not clearly say otherwise" in report.summary().splitlines()[0]
    assert favoured.count(2) < 8
    assert advised.count(2) >= 10


@pytest.mark.parametrize(("n", "overrules"), [(20, False), (22, True)])
def test_clear_labels_overrule_a_sound_stage(n, overrules):
    """The later test changes 40 % of the answers for a price of .1; half of the changes are wrong.

    Of n labels the bound p on the share of good changes is 4 p (1 - p) = 2^(-2 / n); to outweigh
    the price by less than .4 (2 p - 1) takes n > 2 / log2(1 / .9375) = 21.5.
    """
    rows = np.array([[0, 0], [1, 1], [0, 0], [0, 1], [1, 0]] * 400)
    cascade = sw.Cascade([0, 0.1], 1, ["a", "b"])
    at = np.arange(n) * 5 + 4
    label = np.where(np.arange(n) % 2, rows[at - 1, 0], rows[at - 1, 1])
    told = pd.DataFrame({"case": at, "label": label, "agreement": "a against b"})
    report = sw.audit(pd.DataFrame(rows, columns=["a", "b"]), cascade, labels=told)
    assert (report.verdict.finding.value, report.verdict.stage) == ("sound", 1)
    assert report.labels.stage == 0
    assert report.labels.overrules is overrules
    assert report.recommended_stage == (0 if overrules else 1)
    words = "suggest that it is cheapest" if overrules else "do not clearly say otherwise"
    assert f"the {n} labels {words}." in report.summary().splitlines()[0]
