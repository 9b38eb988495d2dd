"""What labels say: the stage they favour, and whether weak dominance holds."""

import numpy as np
import pytest

from stopwise.auditing.evidence.pair_bounds import DisagreementBounds
from stopwise.auditing.evidence.verdict import judge
from stopwise.auditing.labels.cases import LabelledCases
from stopwise.auditing.labels.label_evidence import Holds, label_evidence
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
