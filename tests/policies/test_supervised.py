"""The comparison of Section 7: Algorithm 2 where the right answers are told."""

import math

import numpy as np
import pytest

import stopwise as sw
from paper.random_instances import random_costs, random_instance
from stopwise.cascade import Cascade
from stopwise.errors import OutputsError
from stopwise.problem.families import complement
from tests.policies.helpers import draw_cases, play, sample_cases


def labelled_algorithm_2(C, cases, exploration=1.5):
    """Algorithm 2 with γ̂_i - γ̂_j, over the cases that showed both, in place of p̂_ij."""
    K = len(C)
    history, played = [], []
    for t, (Y, label, _) in enumerate(cases, start=1):
        stage = K - 1
        for i in range(K - 1) if t > 1 else ():

            def covered(j, i=i, t=t):
                both = [(y, right) for y, right in history if len(y) > j]
                wrong_i = sum(y[i] != right for y, right in both)
                wrong_j = sum(y[j] != right for y, right in both)
                width = math.sqrt(exploration * math.log(t) / len(both))
                return C[j] - C[i] >= (wrong_i - wrong_j) / len(both) + width

            if all(covered(j) for j in range(i + 1, K)):
                stage = i
                break
        history.append((Y[: stage + 1], label))
        played.append(stage)
    return played


@pytest.mark.parametrize("n_stages", [2, 3, 4])
@pytest.mark.parametrize("exploration", [1.5, 0.05])
def test_it_plays_algorithm_2_on_the_errors(n_stages, exploration):
    rng = np.random.default_rng(n_stages)
    seen = set()
    for seed in range(8):
        instance = random_instance(rng, random_costs(rng, n_stages), n_classes=2 + seed % 2)
        cases = sample_cases(instance, 250, seed)
        C = instance.cascade.cumulative_costs.tolist()
        expected = labelled_algorithm_2(C, cases, exploration)
        policy = sw.Supervised(instance.cascade, exploration=exploration)
        assert play(policy, cases) == expected
        seen |= set(expected)
    assert len(seen) > 1


def test_it_sees_through_disagreement_that_mends_nothing():
    """Two coins that always disagree: by disagreement stage 2 pays, by errors it does not."""
    instance = complement(Cascade([0, 0.6]))
    assert instance.best_stage == 0
    cases = sample_cases(instance, 3_000, 0)
    assert play(sw.Supervised(instance.cascade), cases)[-100:] == [0] * 100
    assert play(sw.WeakDominance(instance.cascade), cases)[-100:] == [1] * 100


@pytest.mark.parametrize("label", [None, [1], {1}, float("nan"), np.array([1, 0])])
def test_a_label_has_to_be_one(label):
    policy = sw.Supervised(Cascade([0, 0.5]))
    policy.tell([0, 1], label=1)
    before = policy.to_state()
    with pytest.raises(OutputsError, match="label must be"):
        policy.tell([0, 1], label=label)
    with pytest.raises(OutputsError, match="label must be"):
        policy.tell_many([([0, 1], 1), ([0, 1], label)])
    assert policy.to_state() == before


@pytest.mark.parametrize("case", [None, 3, (0, 1, 1), [], ((0, 1),)])
def test_a_case_is_a_pair(case):
    with pytest.raises(OutputsError, match=r"a case must be \(outputs, label\)"):
        sw.Supervised(Cascade([0, 0.5])).tell_many([case])


def test_labels_out_of_an_array_are_labels():
    """What `output == label` gives is a NumPy boolean then."""
    cases = draw_cases(3, 300, 0)
    cascade = Cascade([0, 0.1, 0.1])
    one, other = sw.Supervised(cascade), sw.Supervised(cascade)
    for case, label in zip(cases, np.array([c.label for c in cases]), strict=True):
        stage = one.ask()
        assert other.ask() == stage
        one.tell(case.outputs[: stage + 1], label=case.label)
        other.tell(np.array(case.outputs[: stage + 1]), label=label)
    assert one.to_state() == other.to_state()
    assert any(map(any, one.to_state()["statistics"]["mended"]["disagreed"]))


def test_a_missing_output_is_neither_right_nor_wrong():
    policy = sw.Supervised(Cascade([0, 0.1, 0.1]))
    policy.tell([0, None, 1], label=1)
    policy.tell([0, 1, 0], label=1)
    state = policy.to_state()
    assert state["statistics"]["pairs"]["seen"] == [[2], [1, 1], [2, 1, 2]]
    assert state["statistics"]["mended"]["disagreed"] == [[0], [1, 0], [1, 0, 0]]
