"""Resolve against a slow transcription of docs/resolve.md, and what it promises."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import rel_entr

import stopwise as sw
from paper.random_instances import random_instance, random_weak
from stopwise.cascade import Cascade
from stopwise.errors import CascadeError, SettingError
from stopwise.problem.families import (
    indistinguishable_pair,
    nested_errors,
)
from tests.policies.helpers import draw_cases, play, resolve_told, sample_cases


class Transcription:
    """The rule as docs/resolve.md has it, over the list of all that was ever told."""

    def __init__(self, C, zone=0.0):
        self.C, self.zone = C, zone
        self.history = []
        self.tally = cache(self.count)

    def count(self, i, j):
        """(n, d) of a pair."""
        both = [(y[i], y[j]) for y in self.history if len(y) > j and None not in (y[i], y[j])]
        return len(both), sum(a != b for a, b in both)

    def price(self, i, j):
        return self.C[j] - self.C[i]

    def pays(self, i, j):
        n, d = self.tally(i, j)
        return n > 0 and d / n > self.price(i, j) + self.zone / 2

    def evidence(self, i, j):
        """E = n·bernoulli_kl(p̂, price); the zone lies on top of a price that covers."""
        n, d = self.tally(i, j)
        q = self.price(i, j) + (0 if self.pays(i, j) else self.zone)
        if self.price(i, j) >= 1:
            return math.inf
        if n == 0:
            return 0.0
        q = min(q, 1.0)
        return n * float(rel_entr(d / n, q) + rel_entr(1 - d / n, 1 - q))

    def settled(self, i, j, extra=0.0):
        n, _ = self.tally(i, j)
        if n == 0:
            return self.price(i, j) >= 1
        H = max(1024, 2 ** math.ceil(math.log2(len(self.history) + 1)))
        x = math.log(H / n)
        return self.evidence(i, j) >= extra + x + math.log(1 + x) / 4

    def against(self, k):
        """The comparisons that contradict stage k."""
        return [(m, k) for m in range(k) if not self.pays(m, k)] + [
            (k, j) for j in range(k + 1, len(self.C)) if self.pays(k, j)
        ]

    def is_out(self, j, b, doubt):
        many = math.log(len(self.C))
        return any(
            self.settled(*pair, doubt + (0 if pair == (b, j) else many)) for pair in self.against(j)
        )

    def ask(self):
        self.tally.cache_clear()  # a pair is looked at many times in a decision
        K = len(self.C)
        doubts = [
            max((self.evidence(*pair) for pair in self.against(k)), default=0.0) for k in range(K)
        ]
        b = doubts.index(min(doubts))  # 1. looks best
        # 2. a later stage that may be best after all
        questions = [j for j in range(b + 1, K) if not self.is_out(j, b, doubts[b])]
        for i in range(b):  # or an earlier stage, passed over for what b does not show
            pairs = [pair for pair in self.against(i) if self.evidence(*pair) > 0]
            if all(j > b for _, j in pairs):
                strongest = max(pairs, key=lambda pair: self.evidence(*pair))
                questions += [] if self.settled(*strongest) else [strongest[1]]
        if not questions:
            return b  # 5.
        question = max(questions)

        def seems_to_cost(m):
            n, d = self.tally(b, m)
            return self.price(b, m) - (d / n if n else 0.0)

        rivals = [m for m in range(question + 1, K) if self.pays(question, m)]
        cheapest = min([question, *rivals], key=seems_to_cost)  # 4.
        shown = [sum(len(y) > k and y[k] is not None for y in self.history) for k in range(K)]
        return cheapest if 2 * shown[cheapest] <= shown[question] else question

    def play(self, cases):
        stages = []
        for case in cases:
            stages.append(self.ask())
            self.history.append(case.outputs[: stages[-1] + 1])
        return stages


def odd_prices(rng, n_stages, scale):
    """Prices that no share can equal, so that rounding decides nothing."""
    return Cascade([0.0, *(rng.random(n_stages - 1) * scale)])


@pytest.mark.parametrize("zone", [0.0, 0.05])
@pytest.mark.parametrize("n_stages", [1, 2, 3, 4])
def test_it_plays_as_described(n_stages, zone):
    rng = np.random.default_rng(n_stages)
    seen = set()
    for seed in range(18):
        cascade = odd_prices(rng, n_stages, (0.1, 0.4, 1.2)[seed % 3])
        if seed % 2:
            cases = sample_cases(random_instance(rng, cascade, n_classes=3), 130, seed)
        else:
            cases = draw_cases(n_stages, 130, seed, missing=0.1 if seed % 4 else 0.0)
        policy = sw.Resolve(cascade, indifference=zone)
        described = Transcription(cascade.cumulative_costs.tolist(), zone)
        if seed % 4 == 3:  # up to the end of the first epoch
            described.history = [case.outputs[: 1 + k % n_stages] for k, case in enumerate(cases)]
            described.history = (described.history * 8)[:960]
            policy.tell_many(described.history)
        expected = described.play(cases)
        assert play(policy, cases) == expected
        seen |= set(expected)
    assert seen == set(range(n_stages))


@pytest.mark.parametrize("zone", [0.0, 0.03])
def test_it_decides_as_described_whatever_was_told(zone):
    """From tells of any stage: states that no run of its own would come to."""
    rng = np.random.default_rng(7)
    pairs = set()
    for _ in range(250):
        K = int(rng.integers(2, 6))
        cascade = odd_prices(rng, K, rng.choice([0.02, 0.2, 0.5]))
        policy = sw.Resolve(cascade, indifference=zone)
        described = Transcription(cascade.cumulative_costs.tolist(), zone)
        for _ in range(int(rng.integers(1, 6))):
            stage, base = int(rng.integers(K)), int(rng.integers(2))
            outputs = tuple((base ^ (rng.random(stage + 1) < rng.choice([0.05, 0.4]))).tolist())
            times = int(rng.integers(1, 25)) * int(rng.choice([1, 20]))
            policy.tell_many({outputs: times})
            described.history += [outputs] * times
        assert policy.ask() == described.ask()
        pairs.add((policy.ask(), policy.recommend()))
    assert {(i, j) for i in range(3) for j in range(3) if i >= j} <= pairs


def test_two_stages_by_hand():
    """Price 1/2 and no disagreement: n ln 2 against x + ½ ln(1 + x), x = ln(H / n)."""
    policy = sw.Resolve(Cascade([0, 0.5]))
    stages = []
    for _ in range(1100):
        stages.append(policy.ask())
        policy.tell([0, 0][: stages[-1] + 1])
    # H=1024: n=7, x=4.99, 5.43 > 4.85; n=8, x=4.85, 5.29 < 5.55.
    # H=2048: n=8, x=5.55, 6.02 > 5.55; n=9, x=5.43, 5.89 < 6.24.
    assert stages == [1] * 8 + [0] * 1016 + [1] + [0] * 75


# (1, 3) pays at .62 with p̂ = 1 in 3 cases; (1, 2) is near its price; (2, 3) is settled by far.
DEEPER = {(0, 1, 1): 3, (0, 1): 14, (0, 0): 43, (None, 0, 0): 400}
EXAMPLES = {  # costs, rows, what looks best, what is played
    "a later stage may pay: the deepest question shows the others as well": (
        ([0, 0.3, 0.3], {(0, 0, 0): 1, (0,): 30}, 0, 2)
    ),
    # Stage 1 is passed over for stage 2; (2, 3) is settled; (1, 2) is near its price.
    "a pair that the best stage shows is not bought": (
        ([0, 0.3, 0.5], {(0, 0, 0): 66, (0, 1, 1): 34}, 1, 1)
    ),
    "a deeper pair that rules out an earlier stage is bought": ([0, 0.3, 0.32], DEEPER, 1, 2),
    "until many more cases settle it": (
        ([0, 0.3, 0.32], {**DEEPER, (0, 0, 1): 60, (None, 0, 0): 800}, 1, 1)
    ),
    # What has to be known is (1, 2). Stage 3 shows it too and disagrees with stage 1 by its price.
    "a question is bought where it seems to cost the least": (
        ([0, 0.3, 0.19], {(0, 0, 1): 9, (0, 0, 0): 11, (0, 0): 3, (0,): 10**6}, 0, 2)
    ),
    "with a dear stage 3 that is settled, that is stage 2": (
        ([0, 0.3, 0.7], {(0, 0, 0): 23, (0,): 10**6}, 0, 1)
    ),
}


@pytest.mark.parametrize(("costs", "rows", "best", "stage"), EXAMPLES.values(), ids=EXAMPLES)
def test_what_can_be_wrong_with_the_best_stage_is_bought(costs, rows, best, stage):
    policy = resolve_told(costs, rows)
    assert (policy.recommend(), policy.ask()) == (best, stage)


# Indifference


def test_indifference_is_in_the_unit_of_the_costs():
    cases = draw_cases(3, 500, 3)
    money = sw.Resolve(Cascade([0, 25, 50], mistake_cost=256), indifference=8)
    units = sw.Resolve(Cascade([0, 25 / 256, 50 / 256]), indifference=8 / 256)
    assert play(money, cases) == play(units, cases)
    assert play(money, cases) != play(sw.Resolve(units.cascade), cases)


def test_what_is_closer_than_the_indifference_is_not_looked_into():
    """Disagreement at its price: without a zone it is bought for ever, with one it is let go."""
    instance = nested_errors(Cascade([0, 0.3]), [0.4, 0.1])
    stages = {}
    for zone in (0.0, 0.1):
        policy = sw.Resolve(instance.cascade, indifference=zone)
        stages[zone] = np.array(play(policy, sample_cases(instance, 20_000, 0)))
    late = slice(10_000, None)
    assert np.mean(stages[0.0][late]) > 0.05
    assert np.mean(stages[0.1][late]) < 0.02


@pytest.mark.parametrize("zone", [0.02, 0.1])
def test_indifference_costs_no_more_than_itself(zone):
    """Regret of at most the zone in each case, but for what is bought."""
    rng = np.random.default_rng(4)
    for seed in range(5):
        instance = random_weak(rng, 3)
        policy = sw.Resolve(instance.cascade, indifference=zone)
        stages = play(policy, sample_cases(instance, 4_000, seed))
        assert instance.gaps[stages[2_000:]].mean() <= zone + 0.01


@pytest.mark.parametrize(("zone", "best"), [(0.0, 1), (0.019, 1), (0.021, 0)])
def test_half_the_indifference_decides_what_looks_best(zone, best):
    """p̂ = .11 at a price of .1: it pays, unless the zone is wider than .02."""
    policy = resolve_told([0, 0.1], {(0, 0): 89, (0, 1): 11}, indifference=zone)
    assert policy.recommend() == best


def test_a_zone_that_vanishes_bounds_the_worst_case():
    """Disagreement just above and just below its price: T^(2/3) = 2,154 at 10⁵."""
    for instance in indistinguishable_pair(0.01):
        trace = sw.simulate(
            instance,
            sw.Resolve(instance.cascade, indifference="vanishing"),
            horizon=100_000,
            replications=8,
            seed=1,
            checkpoints=1,
            progress=False,
        )
        assert trace.regret[:, -1].mean() < 1.2 * 100_000 ** (2 / 3)


def test_a_zone_that_vanishes_by_hand():
    """Price 1/4: 3 (1/16 · 3/4)^(1/3) / 10.08 = .107 at H = 1024; the middle lies at .304."""
    for d, stage in ((30, 0), (31, 1)):
        policy = resolve_told(
            [0, 0.25], {(0, 0): 100 - d, (0, 1): d, (0,): 300}, indifference="vanishing"
        )
        assert policy.recommend() == stage
    assert sw.policy_from_state(policy.to_state()).indifference == "vanishing"
    with pytest.raises(CascadeError, match="needs a chain"):
        sw.Resolve(Cascade([0, 0.1, 0.1], parents=[None, 0, 0]), indifference="vanishing")
    with pytest.raises(SettingError, match="indifference"):
        sw.Resolve(Cascade([0, 0.1]), indifference="fading")
