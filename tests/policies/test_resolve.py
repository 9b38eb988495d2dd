"""Resolve against a slow transcription of docs/resolve.md, and what it promises."""

import math

import numpy as np
import pytest
from scipy.special import rel_entr

import stopwise as sw
from paper.random_instances import random_instance, random_weak
from stopwise.cascade import Cascade
from stopwise.errors import CascadeError, SettingError
from stopwise.policies.resolution import demanded_evidence, epoch_end
from stopwise.problem.families import (
    costly_middle,
    indistinguishable_pair,
    nested_errors,
    relaxed_errors,
)
from tests.policies.helpers import Case, draw_cases, play, regret, sample_cases


class Transcription:
    """The rule as docs/resolve.md has it, over the list of all that was ever told."""

    def __init__(self, C, zone=0.0):
        self.C, self.zone = C, zone
        self.history = []

    def tally(self, i, j):
        """(n, d) of a pair."""
        both = [(y[i], y[j]) for y in self.history if len(y) > j and None not in (y[i], y[j])]
        return len(both), sum(a != b for a, b in both)

    def price(self, i, j):
        return self.C[j] - self.C[i]

    def pays(self, i, j):
        n, d = self.tally(i, j)
        return n > 0 and d / n > self.price(i, j) + self.zone / 2

    def evidence(self, i, j):
        """E = n·kl(p̂, price); the zone lies on top of a price that covers."""
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
        H = 2 ** math.ceil(math.log2(len(self.history) + 1))
        x = math.log(H / n)
        return self.evidence(i, j) >= extra + x + math.log(1 + x) / 2

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
    for seed in range(14):
        cascade = odd_prices(rng, n_stages, (0.1, 0.4, 1.2)[seed % 3])
        if seed % 2:
            cases = sample_cases(random_instance(rng, cascade, n_classes=3), 130, seed)
        else:
            cases = draw_cases(n_stages, 130, seed, missing=0.1 if seed % 4 else 0.0)
        policy = sw.Resolve(cascade, indifference=zone)
        expected = Transcription(cascade.cumulative_costs.tolist(), zone).play(cases)
        assert play(policy, cases) == expected
        seen |= set(expected)
    assert seen == set(range(n_stages))


@pytest.mark.parametrize("zone", [0.0, 0.03])
def test_it_decides_as_described_whatever_was_told(zone):
    """From tells of any stage: states that no run of its own would come to."""
    rng = np.random.default_rng(7)
    asked = set()
    for _ in range(250):
        K = int(rng.integers(2, 6))
        cascade = odd_prices(rng, K, rng.choice([0.02, 0.2, 0.5]))
        policy = sw.Resolve(cascade, indifference=zone)
        described = Transcription(cascade.cumulative_costs.tolist(), zone)
        for _ in range(int(rng.integers(1, 6))):
            stage, base = int(rng.integers(K)), int(rng.integers(2))
            outputs = tuple((base ^ (rng.random(stage + 1) < rng.choice([0.05, 0.4]))).tolist())
            times = int(rng.integers(1, 25))
            policy.tell_many({outputs: times})
            described.history += [outputs] * times
        assert policy.ask() == described.ask()
        asked.add((policy.ask(), policy.recommend()))
    assert {(i, j) for i in range(3) for j in range(3) if i >= j} <= asked


def test_two_stages_five_rounds_by_hand():
    """Price 1/2 and no disagreement: n ln 2 against x + ½ ln(1 + x), x = ln(H / n)."""
    policy = sw.Resolve(Cascade([0, 0.5]))
    asked = []
    for _ in range(8):
        asked.append(policy.ask())
        policy.tell([0, 0][: asked[-1] + 1])
    # t=1: nothing seen. t=2: H=2, x=.69, .96 > .69. t=3, 4: H=4, n=2, x=.69, .96 < 1.39.
    # t=5: H=8, n=2, x=1.39, 1.82 > 1.39. t=6: n=3, x=.98, 1.32 < 2.08.
    assert asked == [1, 1, 0, 0, 1, 0, 0, 0]


def test_epochs_end_at_powers_of_two():
    assert [epoch_end(n) for n in range(10)] == [1, 2, 4, 4, 8, 8, 8, 8, 16, 16]
    assert epoch_end(2**40 - 1) == 2**40
    assert epoch_end(2**40) == 2**41


def test_demanded_evidence_falls_with_what_was_seen():
    assert demanded_evidence(64, 64) == 0
    assert demanded_evidence(64, 32) == pytest.approx(math.log(2) + math.log(1 + math.log(2)) / 2)
    demands = [demanded_evidence(1024, n) for n in range(1, 1025)]
    assert demands == sorted(demands, reverse=True)


# The three things that can be wrong with what looks best


def told(costs, rows, **given):
    policy = sw.Resolve(Cascade(costs), **given)
    policy.tell_many(rows)
    return policy


def test_a_later_stage_may_pay_after_all():
    policy = told([0, 0.3, 0.3], {(0, 0, 0): 1, (0,): 30})
    assert policy.recommend() == 0
    assert policy.ask() == 2  # the deepest question first: it shows the other as well


def test_a_pair_that_the_best_stage_shows_is_not_bought():
    # Stage 1 is passed over for stage 2; (2, 3) is settled; (1, 2) is near its price.
    policy = told([0, 0.3, 0.5], {(0, 0, 0): 66, (0, 1, 1): 34})
    assert policy.recommend() == policy.ask() == 1


def test_a_deeper_pair_that_rules_out_an_earlier_stage_is_bought():
    # (1, 3) pays at .62 with p̂ = 1 in 3 cases; (1, 2) is near its price; (2, 3) is settled by far.
    rows = {(0, 1, 1): 3, (0, 1): 14, (0, 0): 43, (None, 0, 0): 400}
    policy = told([0, 0.3, 0.32], rows)
    assert policy.recommend() == 1
    assert policy.ask() == 2
    # Many more of the kind settle it.
    policy.tell_many({(0, 0, 1): 60, (None, 0, 0): 400})
    assert policy.recommend() == policy.ask() == 1


def test_a_question_is_bought_where_it_seems_to_cost_the_least():
    # What has to be known is (1, 2). Stage 3 shows it too and disagrees with stage 1 by its price.
    rows = {(0, 0, 1): 9, (0, 0, 0): 11, (0, 0): 3, (0,): 10**6}
    near = told([0, 0.3, 0.19], rows)
    assert near.recommend() == 0
    assert near.ask() == 2
    # With a dear stage 3 that is settled, stage 2 is where to buy.
    far = told([0, 0.3, 0.7], {(0, 0, 0): 23, (0,): 10**6})
    assert far.recommend() == 0
    assert far.ask() == 1


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


def test_half_the_indifference_decides_what_looks_best():
    """p̂ = .11 at a price of .1: it pays, unless the zone is wider than .02."""
    rows = {(0, 0): 89, (0, 1): 11}
    assert told([0, 0.1], rows).recommend() == 1
    assert told([0, 0.1], rows, indifference=0.019).recommend() == 1
    assert told([0, 0.1], rows, indifference=0.021).recommend() == 0


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
    """Price 1/4: 3 (1/16 · 3/4)^(1/3) / 8 = .135 at H = 512; the middle lies at .318."""
    for d, stage in ((31, 0), (33, 1)):
        policy = told([0, 0.25], {(0, 0): 100 - d, (0, 1): d, (0,): 300}, indifference="vanishing")
        assert policy.recommend() == stage
    assert sw.policy_from_state(policy.to_state()).indifference == "vanishing"
    with pytest.raises(CascadeError, match="needs a chain"):
        sw.Resolve(Cascade([0, 0.1, 0.1], parents=[None, 0, 0]), indifference="vanishing")
    with pytest.raises(SettingError, match="indifference"):
        sw.Resolve(Cascade([0, 0.1]), indifference="fading")


# The certificate


def kl(p, q):
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def test_a_certificate_says_what_the_choice_rests_on():
    policy = told([0, 0.1, 0.2], {(0, 0, 0): 70, (0, 1, 1): 25, (0, 1, 0): 5, (0, 1): 100})
    certificate = policy.certificate()
    assert certificate.stage == policy.recommend() == 1
    deeper, passed = certificate.comparisons
    assert (deeper.shallow, deeper.deep, deeper.n_seen, deeper.pays) == (1, 2, 100, False)
    assert (deeper.disagreement, deeper.price) == (0.05, pytest.approx(0.2))
    assert deeper.evidence == pytest.approx(100 * kl(0.05, 0.2))
    assert deeper.confidence == pytest.approx(0.99684, abs=1e-5)  # 1 - 3 / E, three pairs
    assert (passed.shallow, passed.deep, passed.n_seen, passed.pays) == (0, 1, 200, True)
    assert passed.disagreement == 130 / 200
    assert passed.evidence == pytest.approx(200 * kl(0.65, 0.1))
    assert certificate.settled == (deeper, passed)
    assert certificate.open == ()
    assert str(certificate) == (
        "stage 2: 2 decided, 0 leaning, 0 open at confidence 0.95\n"
        "  2 -> 3 does not pay (decided): disagreement 0.0500 against price 0.2000 in 100 cases, "
        f"confidence {deeper.confidence:.4f}\n"
        "  1 -> 2 pays (decided): disagreement 0.6500 against price 0.1000 in 200 cases, "
        "confidence 1.0000"
    )


def test_a_certificate_says_what_is_open():
    policy = told([0, 0.1, 0.2], {(0, 0, 0): 11, (0, 0, 1): 2, (0,): 500})
    certificate = policy.certificate()
    assert certificate.stage == 0
    x = math.log(1024 / 13)
    assert 13 * kl(2 / 13, 0.3) < x + math.log(1 + x) / 2
    assert [(c.shallow, c.deep, c.is_settled) for c in certificate.comparisons] == [
        (0, 1, False),
        (0, 2, False),
    ]
    assert certificate.settled == ()
    assert (
        "1 -> 3 does not pay (open): disagreement 0.1538 against price 0.3000 in 13 cases"
        in str(certificate)
    )
    assert str(certificate).startswith("stage 1: 0 decided, 0 leaning, 2 open at")


def test_a_certificate_is_settled_exactly_when_nothing_is_bought():
    rng = np.random.default_rng(6)
    kinds = set()
    for seed in range(40):
        policy = sw.Resolve(odd_prices(rng, 3, 0.4))
        play(policy, draw_cases(3, 60 + seed, seed))
        certificate = policy.certificate()
        later = [c for c in certificate.comparisons if c.shallow == certificate.stage]
        if not all(c.is_settled for c in later):
            assert policy.ask() > certificate.stage
        elif not certificate.open:
            assert policy.ask() == certificate.stage
        kinds.add(bool(certificate.open))
    assert kinds == {False, True}


def test_a_certificate_of_nothing():
    policy = sw.Resolve(Cascade([0, 0.3, 0.8]))
    certificate = policy.certificate()
    nearer, dearer = certificate.comparisons
    assert certificate.open == (nearer,)
    assert (nearer.n_seen, nearer.evidence, nearer.confidence) == (0, 0.0, 0.0)
    assert math.isnan(nearer.disagreement)
    assert (dearer.evidence, dearer.confidence, dearer.is_settled) == (math.inf, 1.0, True)
    assert sw.Resolve(Cascade([0.3])).certificate().comparisons == ()


def test_a_certificate_within_the_indifference_does_not_say_that_it_pays():
    policy = told([0, 0.1], {(0, 0): 8_900, (0, 1): 1_100}, indifference=0.05)
    (comparison,) = policy.certificate().comparisons
    assert not comparison.pays
    assert comparison.is_settled
    assert comparison.evidence == pytest.approx(10_000 * kl(0.11, 0.15))
    assert "1 -> 2 does not pay (decided): disagreement 0.1100 against price 0.1000" in str(
        policy.certificate()
    )


def test_the_confidence_of_a_wrong_comparison_is_seldom_high():
    """If the disagreement is at the price, data of confidence 1 - δ have a chance of at most δ."""
    rng = np.random.default_rng(0)
    high = 0
    for d in rng.binomial(200, 0.3, size=400).tolist():
        policy = told([0, 0.3], {row: n for row, n in {(0, 1): d, (0, 0): 200 - d}.items() if n})
        (comparison,) = policy.certificate().comparisons
        high += comparison.confidence > 0.99 and not comparison.pays
    # At most 4 are expected; 20 or more have a chance below 1e-6.
    assert high < 20


# What it must not do


def test_it_is_not_stuck_where_algorithm_2_is():
    instance = nested_errors(Cascade([0, 0.35, 0.1]))
    assert instance.best_stage == 0
    for seed in range(4):
        ours = regret(sw.Resolve(instance.cascade), instance, 20_000, seed)
        theirs = regret(sw.WeakDominance(instance.cascade), instance, 20_000, seed)
        assert ours < 0.6 * theirs


@pytest.mark.parametrize("margin", [0.02, 0.01])
def test_a_stage_that_only_looks_cheap_is_not_bought_for_long(margin):
    """Stage 2 is contradicted by stage 3, which pays from it: no need to settle it against 1."""
    instance = costly_middle(margin)
    assert instance.is_weakly_dominant()
    assert instance.gaps == pytest.approx([0, 0.5, 2 * margin])
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


@pytest.mark.parametrize(
    "instance",
    [
        nested_errors(Cascade([0, 0.1, 0.1])),
        nested_errors(Cascade([0, 0.35, 0.1])),
        nested_errors(Cascade([0, 0.2, 0.02])),
        relaxed_errors(Cascade([0, 0.1, 0.25])),
        relaxed_errors(Cascade([0, 0.45, 0.2])),
    ],
)
def test_it_ends_up_at_the_best_stage(instance):
    for seed in range(2):
        stages = play(sw.Resolve(instance.cascade), sample_cases(instance, 20_000, seed))
        late = np.array(stages[-2_000:])
        assert np.mean(late == instance.best_stage) > 0.9


def test_it_buys_again_in_a_later_epoch():
    """Evidence that stands still is not enough for ever: the demand grows with the epoch."""
    policy = told([0, 0.5], {(0, 0): 9})
    asked = set()
    for _ in range(20):
        asked.add(policy.ask())
        policy.tell_many({(0,): policy.n_rounds})  # someone else plays stage 1 until the next one
    assert asked == {0, 1}


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
    assert set(play(dear, [case] * 300)[-200:]) == {0, 1}  # (1, 2) is all that is left to know


def test_shares_at_their_price_do_not_pay():
    """3 of 10 at a price of .3, whatever the last bit of .3 is."""
    for n in (10, 100, 1_000):
        policy = told([0, 0.3], {(0, 0): 7 * n // 10, (0, 1): 3 * n // 10})
        assert policy.recommend() == 0
    assert told([0, 0.25], {(0, 0): 3, (0, 1): 1}).recommend() == 0
