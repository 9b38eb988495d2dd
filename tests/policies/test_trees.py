"""Policies on trees: what is refused, the theorem, and what is learned."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from paper.random_instances import random_strong_tree, random_tree, random_weak_tree
from paper.triage_tree import worlds
from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.errors import OutputsError
from stopwise.policies.certificate import Status
from stopwise.policies.registry import policy_class
from stopwise.policies.resolution import demanded_evidence
from stopwise.policies.walk import steepest_walk
from stopwise.problem.families import nested_errors
from stopwise.problem.instance import Instance
from stopwise.theory.divergence import bernoulli_kl
from tests.policies.helpers import FACTORIES, TREE, draw_cases, play, sample_cases, tables
from tests.strategies import instances, seeds

GROWN = {
    name: make
    for name, make in FACTORIES.items()
    if not policy_class(name.split("-")[0]).needs_chain
}


BAD = [  # no stage, no such stage, too few or too many outputs, no outputs
    ((0, 1), None), ((0, 1), 6), ((0, 1), -1), ((0, 1), "1"), ((0, 1), True), ((0, 1), 3),
    ((0, 1, 1), 1), (3, 1), ((0, [1]), 1), ((0, math.nan), 1),
]  # fmt: skip


@pytest.mark.parametrize("make", GROWN.values(), ids=GROWN)
def test_a_bad_case_is_refused_and_nothing_changed(make):
    policy = make(TREE)
    play(policy, draw_cases(6, 30, 5))
    label = 1 if policy.needs_label else None
    before = policy.to_state()
    for outputs, stage in BAD:
        with pytest.raises(OutputsError):
            policy.tell(outputs, label=label, stage=stage)
        case = [outputs, *([1] if label else []), *([] if stage is None else [stage])]
        with pytest.raises(OutputsError, match="case 1 of the batch"):
            policy.tell_many([tuple(case)])
    assert policy.to_state() == before
    for _ in range(5):  # in a chain known outputs would be looked up by their values alone
        stage = policy.ask()
        outputs = (0,) * len(TREE.path(stage))
        policy.tell(outputs, label=label, stage=stage)
        policy.ask()
        with pytest.raises(OutputsError, match="stage must be given"):
            policy.tell(outputs, label=label)


def test_a_chain_may_be_told_its_stage():
    one, other = (sw.Resolve(Cascade([0, 0.1, 0.1])) for _ in range(2))
    for case in draw_cases(3, 100, 6):
        stage = one.ask()
        one.tell(case.outputs[: stage + 1])
        other.tell(case.outputs[: stage + 1], stage=stage)
    assert one.to_state() == other.to_state()
    with pytest.raises(OutputsError, match="path to stage 1"):
        one.tell((0, 1), stage=0)


# The theorem


def walk_on(truth):
    """Where the walk ends if the disagreement is known."""
    counts = PairCounts(truth.cascade)
    counts.seen = [[1] * len(row) for row in counts.seen]
    counts.disagreed = truth.disagreement.tolist()
    return steepest_walk(tables(counts), 1e-12, math.inf)


@settings(max_examples=300)
@given(instances(stages=(2, 6), tree=True))
def test_the_walk_is_right_with_ties(drawn):
    truth = drawn.instance
    if truth.is_weakly_dominant() or truth.is_strongly_dominant():
        assert truth.gaps[walk_on(truth)] == pytest.approx(0, abs=1e-9)


@settings(max_examples=300)
@given(seeds, st.booleans())
def test_the_walk_is_right_under_either_dominance(seed, strong):
    rng = np.random.default_rng(seed)
    make = random_strong_tree if strong else random_weak_tree
    truth = make(rng, random_tree(rng, int(rng.integers(1, 8))))
    assert truth.is_strongly_dominant() if strong else truth.is_weakly_dominant()
    assert truth.gaps[walk_on(truth)] == pytest.approx(0, abs=1e-9)


def test_strong_dominance_on_a_tree_is_more_than_weak():
    """Several branches may pay: then no stage is sound, and yet the walk is right."""
    tree = Cascade([0, 0.1, 0.1], parents=[None, 0, 0])
    truth = nested_errors(tree, [0.5, 0.2, 0.1])
    assert not truth.is_weakly_dominant()
    assert sw.sound_stage(truth.disagreement, tree) is None
    assert walk_on(truth) == truth.best_stage == 2


def test_branches_that_are_never_seen_together_cannot_be_told_apart():
    """docs/trees.md: the same law on every path, another best test."""
    tree = Cascade([0, 0.1, 0.1], parents=[None, 0, 0])
    # The root flips a fair coin; each branch disagrees with it in 2 of 5 cases, independently.
    rows, weights = [], []
    for first in (0, 1):
        for left in (0, 1):
            for right in (0, 1):
                rows.append((first, first ^ left, first ^ right))
                weights.append(0.5 * (0.4 if left else 0.6) * (0.4 if right else 0.6))
    truths = [
        Instance.from_patterns([(row[k], *row) for row in rows], weights, tree) for k in (1, 2)
    ]
    for truth, best in zip(truths, (1, 2), strict=True):
        assert truth.optimal_stages == (best,)
        assert truth.gaps[3 - best] == pytest.approx(0.48)
        assert not truth.is_weakly_dominant()
    one, other = (
        dict(zip(map(tuple, truth.outputs.tolist()), truth.probabilities.tolist(), strict=True))
        for truth in truths
    )
    assert one == pytest.approx(other)


def test_seen_together_they_could_be_known_to_be_equal():
    """The same laws on both paths again, but here the branches never differ."""
    tree = Cascade([0, 0.1, 0.1], parents=[None, 0, 0])
    rows = [(first, first ^ flip, first ^ flip) for first in (0, 1) for flip in (0, 1)]
    weights = [0.5 * (0.4 if row[0] != row[1] else 0.6) for row in rows]
    for k in (0, 1):
        truth = Instance.from_patterns([(row[k], *row) for row in rows], weights, tree)
        assert truth.disagreement[0] == pytest.approx([0, 0.4, 0.4])
        assert truth.disagreement[1, 2] == 0
        assert truth.gaps[1] == truth.gaps[2]


# Learning


STRONG, WEAK = worlds().values()


@pytest.mark.parametrize("world", [STRONG, WEAK], ids=["strong", "weak"])
@pytest.mark.parametrize("name", ["Resolve", "WeakDominance", "Thompson", "Supervised"])
def test_nobody_is_stuck(world, name):
    """In the last tenth no run loses more than a fifth of always the second best, Resolve 2 %."""
    trace = sw.simulate(
        world,
        FACTORIES[name],
        horizon=50_000,
        replications=10,
        seed=1,
        checkpoints=[45_000, 50_000],
    )
    lost = trace.regret[:, 1] - trace.regret[:, 0]
    allowed = 0.02 if name == "Resolve" else 0.2
    assert lost.max() < allowed * np.sort(world.gaps)[1] * 5_000


def test_a_rival_is_not_bought_against_a_stale_lead():
    """Of 200 runs none may lose ten times the median, as some did while only rivals were bought."""
    star = nested_errors(Cascade([0, 0.1, 0.1], parents=[None, 0, 0]), [0.6, 0.0, 0.1])
    trace = sw.simulate(star, sw.Resolve, horizon=20_000, replications=200, seed=7, checkpoints=1)
    regret = trace.regret[:, -1]
    assert regret.max() < 6 * np.median(regret)


def test_algorithm_1_learns_under_strong_dominance():
    trace = sw.simulate(STRONG, sw.StrongDominance, horizon=50_000, replications=5, seed=1)
    stops = trace.stops[:, -1].sum(axis=0)
    assert stops.argmax() == STRONG.best_stage


def test_resolve_says_what_it_rests_on():
    policy = sw.Resolve(WEAK.cascade)
    play(policy, sample_cases(WEAK, 5_000, 0))
    certificate = policy.certificate()
    assert certificate.stage == WEAK.best_stage == 3
    pairs = {(c.shallow, c.deep): c for c in certificate.comparisons}
    # What is below it, the way to it, and the rivals in the other branches at the root.
    assert set(pairs) == {(3, 4), (0, 3), (0, 1), (0, 2), (0, 5), (0, 6)}
    assert pairs[0, 3].pays
    assert not any(c.pays for pair, c in pairs.items() if pair != (0, 3))
    lead = pairs[0, 3].disagreement - pairs[0, 3].price
    assert pairs[0, 1].price == pytest.approx(0.4)
    assert pairs[0, 1].lead == pytest.approx(lead)
    assert pairs[3, 4].lead == pairs[0, 3].lead == 0
    n, n_way = pairs[0, 1].n_seen, pairs[0, 3].n_seen
    one_sided = n * bernoulli_kl(pairs[0, 1].disagreement, 0.4 + lead)
    assert pairs[0, 1].evidence == pytest.approx(one_sided * n_way / (n_way + n))
    # 5,000 rounds are in the epoch that ends at 8192. Few looks settle a rival.
    assert pairs[0, 3].status is Status.DECIDED
    for pair in set(pairs) - {(0, 3)}:
        c = pairs[pair]
        assert c.is_settled
        assert c.evidence >= demanded_evidence(8192, c.n_seen)
        assert c.evidence < 2 * demanded_evidence(8192, c.n_seen)  # and not much more is bought
    policy.tell_many({((0, 0), 1): 400})  # from here on test 2 never disagrees with the root
    (rival,) = (c for c in policy.certificate().comparisons if (c.shallow, c.deep) == (0, 1))
    assert rival.status is Status.DECIDED
    assert rival.confidence >= 0.95
    assert "1 -> 2 does not pay more (leaning): disagreement" in str(certificate)
    assert "against price 0.4000 + 0." in str(certificate)
    json.dumps(policy.to_state())


def test_the_printed_average_goes_by_the_path():
    """Algorithm 1 as printed: after one case at test 5, steps of 1/1 for the tests on its way."""
    policy = sw.StrongDominance(TREE, literal=True)
    policy.tell((0, 0, 1), stage=5)
    assert policy.to_state()["printed"] == [0, 0, 0, 0, 0, 1]
    policy.tell((0, 1), stage=2)
    assert policy.to_state()["printed"] == [0, 0, 0.5, 0, 0, 1]
