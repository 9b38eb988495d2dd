"""Simulated stopping after seeing outputs: what is counted, and that regret flattens."""

import math

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import PolicyError, SettingError
from stopwise.problem.families import nested_errors
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.simulation import stopping
from stopwise.theory.divergence import bernoulli_kl
from tests.policies.contextual_helpers import nested_world
from tests.strategies import hoeffding

WORLD = nested_errors(sw.Cascade([0, 0.35, 0.1]))


def by_hand(world, horizon, seed):
    """One run, case by case."""
    policy, problem = sw.OutputConditional(world.cascade), StoppingProblem(world)
    law, rng = world.output_law, np.random.default_rng([seed, 0])
    chances = law.probabilities / law.probabilities.sum()
    cost = 0.0
    for _ in range(horizon):
        cost += problem.cost(lambda prefix: policy.next(prefix) is sw.Decision.STOP)
        row = tuple(law.codes[rng.multinomial(1, chances).argmax()].tolist())
        k = 1
        while policy.next(row[:k]) is sw.Decision.CONTINUE:
            k += 1
        policy.tell(row[:k])
    return policy, cost


def run(policy=sw.OutputConditional, world=WORLD, **settings):
    return sw.simulate(world, policy, **{"horizon": 500, "replications": 1, **settings})


def test_case_by_case_it_is_the_policy_itself(monkeypatch):
    monkeypatch.setattr(stopping, "GROWTH", 0)
    trace = run(horizon=300, seed=4, checkpoints=[7])
    policy, cost = by_hand(WORLD, 300, 4)
    assert trace.stops[0, -1].tolist() == list(policy.n_stopped)
    assert trace.regret[0, -1] == pytest.approx(cost - 300 * StoppingProblem(WORLD).best_cost)
    assert trace.stops.sum(axis=2).tolist() == [[7, 300]]
    assert trace.interval()[1][-1] == np.inf


def test_wrong_answers_have_the_chance_of_their_prefix():
    """Expected cost + error is what prices and counted errors say; false-alarm rate 1e-6."""
    trace = run(horizon=20_000, replications=5, count_errors=True)
    expected = trace.regret[:, -1] + 20_000 * StoppingProblem(WORLD).best_cost
    off = (trace.realised_costs[:, -1] - expected).mean() / 20_000
    assert abs(off) < 2 * hoeffding(100_000)


def test_regret_against_the_best_stopping_rule_flattens():
    """Conditional weak dominance holds, so the regret is O(ln T), and below that of one stage."""
    trace = run(horizon=100_000, replications=20, seed=1)
    problem = StoppingProblem(WORLD)
    assert problem.is_weakly_dominant()
    assert np.all(np.diff(trace.regret, axis=1) >= -1e-6)
    # The prefixes at which to stop are bought until n · kl reaches ln T: what that costs at most if
    # they are bought twice over. It is far below what a constant share of the cases would cost.
    plan = 0.0
    for prefix in ((1,), (0, 1), (1, 0), (1, 1)):
        node, price = problem.prefixes[prefix], float(WORLD.cascade.costs[len(prefix)])
        demand = math.log(100_000) / bernoulli_kl(node.change, price)
        plan += demand * (node.going_on - node.error)
    assert 2 * plan < 0.003 * 100_000
    assert trace.mean_regret()[-1] < 2 * plan
    then = np.interp(10_000, trace.rounds, trace.mean_regret())
    assert trace.mean_regret()[-1] < 2 * then
    # One stage for all, known in advance, pays .059 per case more.
    assert trace.gaps.min() == pytest.approx(0.059)
    assert trace.mean_regret()[-1] < 0.05 * 0.059 * 100_000


def test_the_same_seed_gives_the_same_trace_and_runs_do_not_depend_on_each_other():
    few, more = (run(replications=r, seed=2) for r in (1, 3))
    assert np.array_equal(few.stops[0], more.stops[0])
    assert not np.array_equal(more.stops[0], more.stops[1])
    spread = run(replications=3, seed=2, n_jobs=2)
    assert np.array_equal(spread.regret, more.regret)


class Batched(sw.StoppingPolicy):
    """Runs everything for 100 cases, then stops at once: a rule that says how long it holds."""

    _checked = _take = _read_statistic = None  # of no use here

    def __init__(self, cascade):
        super().__init__(cascade)
        self.told, self.batches = 0, []

    def next(self, outputs_so_far):
        is_last = len(outputs_so_far) == self.cascade.n_stages
        return sw.Decision.STOP if is_last or self.told >= 100 else sw.Decision.CONTINUE

    def tell_many(self, batch):
        self.told += sum(batch.values())
        self.batches.append(sum(batch.values()))

    def hold(self):
        return 100 - self.told if self.told < 100 else 2**53


def test_a_policy_that_says_for_how_long_its_rule_holds_is_told_as_much_at_once():
    policy = Batched(WORLD.cascade)
    play = stopping.StoppingPlay(policy, np.random.default_rng(0))
    played = play.play(stopping.StoppingWorld(WORLD), np.array([60, 5000]))
    assert policy.batches == [60, 40, 4900]
    assert played.stops.tolist() == [[0, 0, 60], [4900, 0, 100]]
    assert run(Batched).stops[0, -1].tolist() == [400, 0, 100]


def test_a_policy_that_never_stops_is_refused():
    class Endless(Batched):
        def next(self, outputs_so_far):
            return sw.Decision.CONTINUE

    with pytest.raises(PolicyError, match=r"Endless.next must stop at the last stage"):
        run(Endless)


def test_what_does_not_fit_is_refused():
    for bad, match in (
        (lambda cascade, more: None, "from a cascade alone"),
        (lambda _: sw.OutputConditional(WORLD.cascade.cut(1)), "for the cascade of the environm"),
    ):
        with pytest.raises(SettingError, match=match):
            run(bad)
    contexts = nested_world(3, 2, seed=1)
    with pytest.raises(SettingError, match="must have no contexts for OutputConditional"):
        run(sw.OutputConditional, world=contexts)


def test_answers_are_judged_by_what_the_policy_knew_when_it_gave_them():
    """The first fit comes after 16 cases, all of which are answered by the last test."""
    cascade, rates = sw.Cascade([0, 0.01, 0.01, 0.01, 0.01]), np.array([0.12] * 4 + [0.4])
    is_wrong = np.array([*np.ndindex(2, 2, 2, 2, 2)])
    rows = np.column_stack([np.repeat([0, 1], 32), np.vstack([is_wrong, 1 - is_wrong])])
    weights = np.tile(np.where(is_wrong, rates, 1 - rates).prod(axis=1), 2)
    world = sw.Instance.from_patterns(rows, weights, cascade)
    settings = {"horizon": 16, "replications": 50, "checkpoints": 1, "count_errors": True}
    trace = run(sw.BeliefStopping, world, **settings)
    # 800 answers, 40 % of them wrong, and six standard deviations.
    assert trace.errors[:, -1].sum() == pytest.approx(320, abs=6 * 192**0.5)
