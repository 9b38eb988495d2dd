"""The experiment on contexts: its world, and checks that can fail."""

import numpy as np
import pytest

from paper import Verdict
from paper.contexts import CONTEXTUAL, PLAIN, world
from paper.contexts_data import DATA, WITH, WITHOUT, _choices
from stopwise.cascade import Cascade
from stopwise.problem.contextual_recording import ContextualRecording
from tests.paper.conftest import verdict


def test_the_world_has_contexts_for_each_stage_and_weak_dominance_given_each():
    truth = world()
    drawn = truth.draw_contexts(4000, np.random.default_rng(1))
    assert np.bincount(truth.best_stages(drawn)).min() > 50
    assert truth.is_weakly_dominant(drawn).all()
    assert truth.average_gaps.min() > 0.03


def curve(*, is_linear):
    """A curve whose runs are all alike."""
    mean = [1.0, 10.0, 100.0] if is_linear else [1.0, 2.0, 4.0]
    runs = {"tenth_regret": [mean[-2]] * 3, "final_regret": [mean[-1]] * 3}
    return {"rounds": [100, 1_000, 10_000], "mean": mean, "low": mean, "high": mean, **runs}


@pytest.mark.parametrize("label", [*CONTEXTUAL, *PLAIN])
def test_rates_are_judged_by_every_policy(as_if_full, label):
    words = "linear regret" if label in PLAIN else "sublinear"
    result = as_if_full("contexts")
    for other, cell in result.numbers["curves"].items():
        cell.update(curve(is_linear=other in PLAIN))
    assert verdict(result, words) is Verdict.HOLDS
    result.numbers["curves"][label].update(curve(is_linear=label not in PLAIN))
    assert verdict(result, words) is Verdict.FAILS


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize(
    ("mean", "expected"), [(-0.02, "HOLDS"), (-0.005, "UNDECIDED"), (0.1, "FAILS")]
)
def test_a_gain_has_to_be_larger_than_its_interval(as_if_full, name, mean, expected):
    result = as_if_full("contexts")
    for way, words in ((WITH, "fixed stage"), ("difference", "rule without")):
        result.numbers["data"][name][way]["overall"] = [mean, 0.01]
        assert verdict(result, f"{name}:", words) is Verdict[expected]


def test_a_patient_is_judged_by_what_others_showed():
    rng = np.random.default_rng(0)
    labels, features = rng.integers(2, size=90), rng.normal(size=(90, 2))
    outputs = labels[:, None] ^ (rng.random((90, 3)) < [0.3, 0.2, 0.05])
    fold, cascade = np.arange(90) % 3, Cascade(costs=[0.0, 0.15, 0.15])
    stages = _choices(ContextualRecording(outputs, labels, features, cascade), fold, 400, 0)
    for f in range(3):
        other = outputs.copy()
        other[fold == f] = 1 - other[fold == f, ::-1]
        world = ContextualRecording(other, labels, features, cascade)
        others = _choices(world, fold, 400, 0)
        for way in (WITH, WITHOUT):
            np.testing.assert_array_equal(others[way][fold == f], stages[way][fold == f])
        assert (others[WITH] != stages[WITH]).any()
