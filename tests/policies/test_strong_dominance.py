"""Algorithm 1, round by round, as it stands and as a bandit algorithm through the reduction."""

import math

import numpy as np
import pytest

import stopwise as sw
from paper.random_instances import random_instance, random_strong
from paper.side_observation import SideObservationPolicy
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors
from stopwise.theory.plan import cheapest_plan
from tests.policies.helpers import play, sample_cases

LITERAL_TRAP = Cascade([0, 0.2, 0.02])


def demands_of(gaps):
    """b_j = 2σ² / max(Δ_j, Δ*)² with σ² = 1/4; gaps below 1e-12 are rounding."""
    positive = [gap for gap in gaps if gap > 1e-12]
    if not positive:
        return None
    return [0.5 / max(gap, min(positive)) ** 2 for gap in gaps]


def plan_of(gaps):
    """u*: add B_j - B_{j+1} at the cheapest of the stages from j on, the first of equals."""
    b = demands_of(gaps)
    u, K = [0.0] * len(b), len(b)
    for j in range(K):
        B = max(b[j:])
        beyond = max(b[j + 1 :], default=0.0)
        if beyond * (1 + 1e-12) < B:
            u[min(range(j, K), key=lambda i: (gaps[i], i))] += B - beyond
    return u


def algorithm_1(C, stream, *, alpha, beta, literal=False):
    """The stages that the pseudo-code plays, with the corrections of the reading notes.

    The average of sensor i is over its own observations (``literal``: step 1/t as printed), the
    cost of k is C_k - γ̂_k, m_j counts the plays at j and beyond, and "some i" is the first. Where
    all estimated costs are equal there is no plan and K is played, to explore.
    """
    K = len(C)
    N, seen, gamma = [0] * K, [0] * K, [0.0] * K
    totals = [0] * K
    n_e, stages = 0, []
    for t, Y in enumerate(stream, start=1):
        if t == 1:
            stage = K - 1
        else:
            cost = [C[k] - gamma[k] for k in range(K)]
            gaps = [c - min(cost) for c in cost]
            m = [sum(N[j:]) for j in range(K)]
            rate = 4 * alpha * math.log(t)
            b = demands_of(gaps)
            if K == 1 or (b is not None and all(m[j] >= rate * b[j] for j in range(K))):
                stage = cost.index(min(cost))
            else:
                if N[K - 1] < beta(n_e) / K or b is None:
                    stage = K - 1
                else:
                    u = plan_of(gaps)
                    stage = next((i for i in range(K) if N[i] < u[i] * rate), K - 1)
                n_e += 1
        N[stage] += 1
        for i in range(stage + 1):
            differs = int(Y[0] != Y[i])
            seen[i] += 1
            totals[i] += differs
            gamma[i] = gamma[i] + (differs - gamma[i]) / t if literal else totals[i] / seen[i]
        stages.append(stage)
    return stages, n_e


SETTINGS = [
    {"alpha": 2.1, "beta": sw.PowerLaw()},
    {"alpha": 0.1, "beta": sw.PowerLaw()},
    {"alpha": 0.01, "beta": sw.PowerLaw(0.5, 0.9)},
    {"alpha": 2.1, "beta": sw.PowerLaw(0.5, 0.95)},
]


def assert_plays_algorithm_1(instance, cases, **settings):
    """Compare a run, and return the stages and how many rounds explored."""
    C = instance.cascade.cumulative_costs.tolist()
    stages, n_e = algorithm_1(C, [case.outputs for case in cases], **settings)
    policy = sw.StrongDominance(instance.cascade, **settings)
    assert play(policy, cases) == stages
    assert policy.n_explored == n_e
    return stages, n_e


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("n_stages", [1, 2, 3, 5])
def test_it_plays_algorithm_1(n_stages, settings, literal):
    rng = np.random.default_rng(n_stages)
    for seed in range(2):
        instance = random_strong(rng, n_stages)
        if seed % 2:
            instance = random_instance(rng, instance.cascade)
        cases = sample_cases(instance, 600, seed)
        assert_plays_algorithm_1(instance, cases, literal=literal, **settings)


def test_it_plays_algorithm_1_for_long():
    instance = nested_errors(Cascade([0, 0.35, 0.1]))
    cases = sample_cases(instance, 20_000, 1)
    settings = {"alpha": 0.2, "beta": sw.PowerLaw(0.5, 0.6)}
    stages, n_e = assert_plays_algorithm_1(instance, cases, **settings)
    assert set(stages) == {0, 1, 2}
    assert 0 < n_e < 20_000


@pytest.mark.parametrize("settings", SETTINGS)
def test_forced_exploration_goes_to_the_end(settings):
    """Line 10: I_t = K, also where test K has been seen as often as the one before it."""
    state = sw.StrongDominance(Cascade([0.0, 0.4, 0.3]), **settings).to_state()
    pairs = {
        "stopped": [10**6, 0, 2],
        "seen": [[10**6 + 2], [2, 2], [2, 2, 2]],
        "disagreed": [[0], [1, 0], [1, 0, 0]],
    }
    policy = sw.policy_from_state({**state, "statistics": {"pairs": pairs}, "n_explored": 10**6})
    assert policy.ask() == 2
    policy.tell([0, 0, 0])
    assert policy.n_explored == 10**6 + 1


# The reduction as code


def bandit_run(instance, cases, plan):
    """Play a bandit algorithm on a cascade: arm k shows 1{Y^1 ≠ Y^i} - C_i for i <= k."""
    C = instance.cascade.cumulative_costs.tolist()
    bandit = SideObservationPolicy(instance.cascade.paths, alpha=0.3, plan=plan)
    arms = []
    for case in cases:
        arm = bandit.ask()
        Y = case.outputs[: arm + 1]
        bandit.tell(arm, [float(Y[0] != y) - c for y, c in zip(Y, C, strict=False)])
        arms.append(arm)
    return arms


@pytest.mark.parametrize("n_stages", [2, 3, 5])
def test_it_is_the_bandit_algorithm_through_the_reduction(n_stages):
    rng = np.random.default_rng(n_stages)
    for seed in range(4):
        law = random_strong(rng, n_stages)
        # Prices that no share can equal, so that the order of sums decides nothing.
        instance = law.with_cascade(Cascade(rng.random(n_stages) * 0.3))
        cases = sample_cases(instance, 1_000, seed)
        policy = sw.StrongDominance(instance.cascade, alpha=0.3)
        arms = bandit_run(instance, cases, lambda b, g, c=instance.cascade: cheapest_plan(b, g, c))
        assert play(policy, cases) == arms


def test_the_linear_program_plans_the_same():
    rng = np.random.default_rng(8)
    instance = random_strong(rng, 3).with_cascade(Cascade(rng.random(3) * 0.3))
    cases = sample_cases(instance, 50, 0)
    assert play(sw.StrongDominance(instance.cascade, alpha=0.3), cases) == bandit_run(
        instance, cases, None
    )


# The printed update


@pytest.mark.parametrize("seed", [8, 9])
def test_as_printed_it_locks_onto_a_wrong_stage(seed):
    """Not on every stream: about every other one, of which these are two."""
    instance = nested_errors(LITERAL_TRAP)
    assert instance.best_stage == 2
    cases = sample_cases(instance, 12_000, seed)
    right = play(sw.StrongDominance(LITERAL_TRAP), cases)
    printed = play(sw.StrongDominance(LITERAL_TRAP, literal=True), cases)
    assert instance.gaps[right].sum() < 60
    assert instance.gaps[printed].sum() > 240
    assert np.mean(np.array(printed[-5_000:]) == 1) > 0.9


def test_the_printed_update_is_biased():
    """Stage 1 is played most of the time, so the step 1/t is too small for test 2."""
    printed = sw.StrongDominance(Cascade([0, 0.1]), literal=True)
    fair = sw.StrongDominance(Cascade([0, 0.1]))
    for policy in (printed, fair):
        policy.tell([0, 1])
        for _ in range(50):
            policy.tell_many([[0, 0], [0], [0], [0]])
    # One case of 51 disagreed, at a price of .1.
    assert (fair.recommend(), printed.recommend()) == (0, 1)
    expected = math.prod(1 - 1 / t for t in range(2, 202, 4))
    assert printed.to_state()["printed"] == pytest.approx([0.0, expected])
    assert fair.to_state()["printed"] == [0.0, 0.0]


def test_a_missing_output_does_not_move_the_printed_average():
    policy = sw.StrongDominance(Cascade([0, 0.1, 0.1]), literal=True)
    policy.tell([0, 1, 1])
    for told in ([0, None, None], [None, 1, 0], [None]):
        policy.tell(told)
    assert policy.to_state()["printed"] == [0.0, 1.0, 1.0]


# Ties


def test_all_tied_means_explore():
    """Free tests that never disagree: nothing is known to be better, so it keeps looking."""
    policy = sw.StrongDominance(Cascade([0, 0, 0]))
    for k in range(60):
        assert policy.ask() == 2
        assert policy.hold() == 1
        policy.tell([1, 1, 1])
        assert policy.n_explored == k  # the first round is not exploration


def test_the_first_of_tied_best_stages_is_played():
    """C_k - p̂_k is the same for stages 1 and 2 and known to be more for 3."""
    policy = sw.StrongDominance(Cascade([0, 0.25, 0.5]), alpha=1e-3)
    policy.tell_many([[0, 0, 0]] * 75 + [[0, 1, 1]] * 25)
    assert policy.ask() == policy.recommend() == 0


# Phases and late tells


def test_a_late_tell_counts_towards_the_phase_in_which_it_is_told():
    policy = sw.StrongDominance(Cascade([0, 0, 0]))
    policy.tell([0, 0, 0])
    for k in range(5):  # it explores, whatever stage the late cases come from
        policy.tell([0])
        assert policy.n_explored == k + 1


def test_stage_one_is_held_once_it_is_known():
    instance = nested_errors(Cascade([0, 0.9, 0.5]))
    policy = sw.StrongDominance(instance.cascade, alpha=0.05)
    play(policy, sample_cases(instance, 500, 0))
    assert policy.ask() == 0
    assert policy.hold() > 100
    assert sw.StrongDominance(instance.cascade, alpha=0.05, literal=True).hold() == 1
