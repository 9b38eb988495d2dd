"""What Resolve must not do in a run, and what it does in extremes."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.problem.families import (
    costly_middle,
)
from stopwise.problem.instance import Instance
from tests.policies.helpers import Case, play, resolve_told


def with_useless_leaf(instance):
    """The same tests with one more below the first, which repeats it at a price of 1.5."""
    cascade = Cascade([*instance.cascade.costs, 1.5], parents=[None, 0, 1, 0])
    rows = np.column_stack([instance.labels, instance.outputs, instance.outputs[:, 0]])
    return Instance.from_patterns(rows.tolist(), instance.probabilities, cascade)


@pytest.mark.parametrize("on_tree", [False, True], ids=["chain", "tree"])
@pytest.mark.parametrize("margin", [0.02, 0.01])
def test_a_stage_that_only_looks_cheap_is_not_bought_for_long(margin, on_tree):
    """Stage 2 is contradicted by stage 3, which pays from it: no need to settle it against 1."""
    instance = costly_middle(margin)
    assert instance.gaps == pytest.approx([0, 0.5, 2 * margin])
    if on_tree:
        instance = with_useless_leaf(instance)
    assert instance.is_weakly_dominant()
    means = {
        name: sw.simulate(
            instance, policy, horizon=100_000, replications=6, seed=3, checkpoints=1, progress=False
        )
        .regret[:, -1]
        .mean()
        for name, policy in {
            "ours": sw.Resolve(instance.cascade),
            "Algorithm 2": sw.WeakDominance(instance.cascade),
            "Thompson": sw.Thompson(instance.cascade, seed=0),
        }.items()
    }
    assert means["ours"] <= 2 * min(means["Algorithm 2"], means["Thompson"])


# Extremes


def test_prices_of_one_and_more_need_no_data():
    for costs in ([0, 1.0], [0, 2.0, 0.0], [3, 1.0, 0.5]):
        policy = sw.Resolve(Cascade(costs))
        assert policy.ask() == 0
        assert policy.certificate().open == ()
    # Together they cost 1; alone the first does not.
    policy = sw.Resolve(Cascade([0, 0.5, 0.5]))
    assert [(c.deep, c.is_settled) for c in policy.certificate().comparisons] == [
        (1, False),
        (2, True),
    ]


def test_free_tests_are_run_until_they_disagree_and_after():
    policy = sw.Resolve(Cascade([0, 0.0]))
    for _ in range(50):
        assert policy.ask() == 1
        policy.tell([0, 0])
    assert policy.recommend() == 0  # as good, as far as anyone knows
    policy.tell([0, 1])
    assert policy.recommend() == 1
    for _ in range(50):
        assert policy.ask() == 1
        policy.tell([0, 0])


def test_a_test_that_never_answers_is_bought_for_ever():
    """Nothing can be learnt of it, and nobody else can rule it out; only its price could."""
    policy = sw.Resolve(Cascade([0, 0.3, 0.3]))
    case = Case((0, 0, None), 0)
    stages = play(policy, [case] * 300)
    assert set(stages) == {2}
    assert policy.recommend() == 0
    assert [c.deep for c in policy.certificate().open] == [2]
    dear = sw.Resolve(Cascade([0, 0.3, 0.8]))
    assert set(play(dear, [case] * 1_100)[-200:]) == {0, 1}  # (1, 2) is all that is left to know


def test_shares_at_their_price_do_not_pay():
    """3 of 10 at a price of .3, whatever the last bit of .3 is."""
    for n in (10, 100, 1_000):
        policy = resolve_told([0, 0.3], {(0, 0): 7 * n // 10, (0, 1): 3 * n // 10})
        assert policy.recommend() == 0
    assert resolve_told([0, 0.25], {(0, 0): 3, (0, 1): 1}).recommend() == 0
