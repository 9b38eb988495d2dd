"""What the paper claims of weak dominance: Propositions 5 to 8, Theorem 2."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.optimize import linprog

from stopwise.cascade import Cascade
from stopwise.problem.families import (
    complement,
)
from stopwise.problem.instance import Instance
from tests.problem.laws import of_two_or_three_classes, relabelled, same_law, sound
from tests.strategies import instances

# Weak dominance: Definition 2 and 3, Propositions 5 to 7, Corollaries 2 and 3


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_propositions_5_6_7_and_corollary_3(ordered, n_classes):
    """a_wd is defined and right on weak dominance, and never right outside it.

    Neither the order of the error rates nor two classes are needed.
    """
    kinds = Counter()

    @settings(max_examples=200)
    @given(instances(stages=(1, 4), n_classes=n_classes, ordered=ordered))
    def check(drawn):
        instance = drawn.instance
        assert instance.is_ordered() or not ordered
        weak = instance.is_weakly_dominant()
        stage = sound(instance)
        if weak:
            assert stage is not None  # Proposition 5
            assert stage == instance.best_stage  # Proposition 6
        else:
            assert stage != instance.best_stage  # Proposition 7 and Corollary 3
            if len(instance.optimal_stages) == 1:
                assert stage not in instance.optimal_stages
        kinds[weak, stage is None] += 1

    check()
    assert min(kinds[True, False], kinds[False, False], kinds[False, True]) >= 10
    assert kinds[True, True] == 0


@settings(max_examples=60)
@given(instances(stages=(1, 4)))
def test_the_optimality_condition_of_section_3_needs_the_word_first(drawn):
    """C_j - C_i >= γ_i - γ_j for all j > i holds at the last stage always; the first i is a*."""
    total = drawn.whole(drawn.instance.total_costs)
    meets = [all(total[j] >= t for j in range(i, len(total))) for i, t in enumerate(total)]
    assert meets[-1]
    assert meets.index(True) == drawn.instance.best_stage


@settings(max_examples=60)
@given(of_two_or_three_classes())
def test_the_absolute_marginal_error_is_the_disagreement_for_two_classes(drawn):
    """E|1{Y≠Y^i} - 1{Y≠Y^j}| is p_ij if outputs are binary; with more classes it is less."""
    instance = drawn.instance
    wrong = ~instance.is_right
    for i, j in combinations(range(drawn.n_stages), 2):
        absolute = instance.probabilities @ (wrong[:, i] != wrong[:, j])
        assert absolute <= instance.disagreement[i, j] + 1e-12
        if len(instance.classes) <= 2:
            assert absolute == pytest.approx(instance.disagreement[i, j], abs=1e-12)


# Proposition 8, Theorem 2: no other map, and no larger class


def mixed_with_a_coin(drawn):
    """The label replaced by a fair coin in a fraction of cases: every γ moves towards 1/2 alike.

    The order of the error rates stays and so does P_S; what a later stage gains shrinks below its
    price, and a fraction of half a unit leaves strict inequalities strict.
    """
    tilt = 1 / (2 * drawn.total)
    rows, weights = [], []
    for (y, *s), w in zip(drawn.rows, drawn.weights, strict=True):
        rows += [(y, *s), (0, *s), (1, *s)]
        weights += [w * (1 - tilt), w * tilt / 2, w * tilt / 2]
    return Instance.from_patterns(rows, weights, drawn.instance.cascade)


@settings(max_examples=60)
@given(instances(stages=(1, 4), ordered=True))
def test_proposition_8(drawn):
    """A sound map is a_wd, but for stages that cost nothing more and never disagree with it.

    Tested: each weakly dominant instance, tied or not, has a companion in Θ_WD with the same P_S
    where only a_wd(P_S) and its free twins are optimal; without free twins any sound map is a_wd
    there. The printed proof does not show this (its conditional laws can exceed one); mixing the
    label with a fair coin does. With c_j = 0 allowed the proposition fails, see below.
    """
    instance = drawn.instance
    assume(instance.is_weakly_dominant())
    stage = sound(instance)
    paid = drawn.paid
    twins = [j for j in range(stage + 1, drawn.n_stages) if paid[j] == paid[stage]]
    assert all(drawn.p[stage, j] == 0 for j in twins)
    companion = mixed_with_a_coin(drawn)
    assert same_law(companion, instance)
    assert companion.is_ordered()
    assert companion.is_weakly_dominant()
    assert companion.optimal_stages == (stage, *twins)


def test_proposition_8_fails_where_a_test_is_free():
    """A free copy of the first test is as good under any label: a(P_S) = 2 is sound as well."""
    law = Instance.from_patterns([(0, 0, 0), (0, 1, 1), (1, 1, 1)], [1, 1, 1], Cascade([0, 0]))
    rng = np.random.default_rng(0)
    for _ in range(50):
        instance = relabelled(law, rng.random(2))
        assert instance.is_weakly_dominant()
        assert instance.optimal_stages == (0, 1)
        assert sound(instance) == 0


def ordered_label_for(instance, stage):
    """P(Y = 1 | outputs) that keeps γ ordered and gives ``stage`` the largest lead; and that lead.

    The error rates are linear in q: γ_k = Σ_s P(s) (s_k + (1 - 2 s_k) q(s)). Maximise t subject to
    γ_j - γ_i - (C_i - C_j) >= t for j < i and γ_k >= γ_(k+1).
    """
    law = instance.output_law
    C = instance.cascade.cumulative_costs
    slope = law.probabilities[:, None] * (1 - 2 * law.codes)
    base = law.probabilities @ law.codes
    K, R = len(C), len(law.probabilities)
    above, bound = [], []
    for j in range(stage):
        above.append([*(slope[:, stage] - slope[:, j]), 1])
        bound.append(base[j] - base[stage] - (C[stage] - C[j]))
    for k in range(K - 1):
        above.append([*(slope[:, k + 1] - slope[:, k]), 0])
        bound.append(base[k] - base[k + 1])
    found = linprog(
        [0] * R + [-1], A_ub=above, b_ub=bound, bounds=[(0, 1)] * R + [(None, 1)], method="highs"
    )
    assert found.status == 0
    return found.x[:R], found.x[R]


@settings(max_examples=60)
@given(instances(stages=(2, 2)))
def test_with_two_stages_every_output_law_has_a_weakly_dominant_label(drawn):
    """The domain of a_wd is everything, and so is the set of laws that Θ_WD explains.

    The difference that the remark after Theorem 2 calls non-empty is empty for K = 2.
    """
    instance = drawn.instance
    stage = sound(instance)
    assert stage is not None
    if stage == 0:  # a coin for a label: no test gains anything
        explained = relabelled(instance, np.full(len(instance.output_law.probabilities), 0.5))
    else:  # the second test is always right
        explained = relabelled(instance, instance.output_law.codes[:, 1] == 1)
    assert same_law(explained, instance)
    assert explained.is_ordered()
    assert explained.is_weakly_dominant()
    assert explained.best_stage == stage


def test_the_remark_after_theorem_2_does_not_show_what_it_says():
    """Its instance is outside Θ_WD, but Y := Y^2 makes the same P_S weakly dominant."""
    instance = complement(Cascade([0, 0.25]))
    assert not instance.is_weakly_dominant()
    assert sound(instance) == 1
    explained = relabelled(instance, instance.output_law.codes[:, 1] == 1)
    assert same_law(explained, instance)
    assert explained.is_ordered()
    assert explained.is_weakly_dominant()


def back_and_forth():
    """Y^2 = 1 - Y^1, Y^3 = Y^1: the order γ_1 >= γ_2 >= γ_3 = γ_1 leaves no test better."""
    rows = [(y, s, 1 - s, s) for y in (0, 1) for s in (0, 1)]
    return Instance.from_patterns(rows, [1] * 4, Cascade([0, 0.1, 1]))


def test_theorem_2_is_false_for_three_stages():
    """Here a_wd is defined, no ordered label makes P_S weakly dominant, and stage 1 alone is best.

    A map that says 1 at this law and a_wd elsewhere is sound over Θ_WD, which does not speak of
    this law, and right on this instance of Θ_SA outside Θ_WD: what the theorem excludes.
    """
    instance = back_and_forth()
    assert instance.is_ordered()
    assert not instance.is_weakly_dominant()
    assert instance.optimal_stages == (0,)
    assert sound(instance) == 1
    _, lead = ordered_label_for(instance, 1)
    assert lead == pytest.approx(-0.1)  # stage 2 loses its price under every ordered label
    rng = np.random.default_rng(0)
    for _ in range(100):
        other = relabelled(instance, rng.random(2))
        if other.is_ordered():
            assert other.optimal_stages == (0,)
        coin = relabelled(instance, np.full(2, rng.random()))
        assert coin.is_ordered() == np.isclose(coin.error_rates[0], coin.error_rates[1])


def test_theorem_2_is_false_strictly_and_in_the_interior():
    """The same with every pattern possible, positive costs and no inequality tight.

    p_12 = .8, p_13 = .05, p_23 = .77. Any ordered label has γ_1 - γ_2 <= γ_1 - γ_3 <= p_13 = .05,
    which is less than the price of test 2.
    """
    shares = {(0, 0, 0): 0.19, (0, 1, 0): 0.76, (0, 0, 1): 0.01, (1, 0, 0): 0.04}
    agrees = {(0, 0, 0): 0.5, (0, 1, 0): 0.5 + 0.015 / 1.52, (0, 0, 1): 0.0, (1, 0, 0): 0.0}
    rows, weights = [], []
    for pattern, share in shares.items():
        for flip, right in product((0, 1), repeat=2):  # each pattern and its opposite alike
            outputs = [s ^ flip for s in pattern]
            rows.append((outputs[0] if right else 1 - outputs[0], *outputs))
            weights.append(share / 2 * (agrees[pattern] if right else 1 - agrees[pattern]))
    instance = Instance.from_patterns(rows, weights, Cascade([0.1, 0.2, 0.82]))
    p = instance.disagreement
    assert (p[0, 1], p[0, 2], p[1, 2]) == pytest.approx((0.8, 0.05, 0.77))
    assert instance.error_rates == pytest.approx([0.5175, 0.4925, 0.4675])
    assert instance.is_ordered()
    assert instance.optimal_stages == (0,)
    assert not instance.is_weakly_dominant()
    assert sound(instance) == 1
    _, lead = ordered_label_for(instance, 1)
    assert lead == pytest.approx(0.05 - 0.2)


def test_weak_dominance_is_not_maximal_for_two_stages_if_a_tie_counts():
    """Both stages are best, a_wd names the second, and the instance is outside Θ_WD."""
    rows = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    instance = Instance.from_patterns(rows, [0.6, 0.1, 0.2, 0.1], Cascade([0, 0.1]))
    assert instance.error_rates == pytest.approx([0.3, 0.2])
    assert instance.disagreement[0, 1] == pytest.approx(0.3)
    assert not instance.is_weakly_dominant()
    assert instance.optimal_stages == (0, 1)
    assert sound(instance) == 1


def test_theorem_2_holds_where_some_ordered_label_is_weakly_dominant():
    """With P_S explained by Θ_WD the theorem stands; other laws in the domain of a_wd do occur.

    Laws in which tests 1 and 3 tend to agree, and a coin for a label, under which stage 1 is best.
    The linear programme decides: does an ordered label let a_wd(P_S) beat what is before it?
    """
    rng = np.random.default_rng(8)
    patterns = np.array(list(product((0, 1), repeat=3)))
    kinds = Counter()
    for _ in range(200):
        agree = patterns[:, 0] == patterns[:, 2]
        weights = rng.dirichlet(np.ones(8)) * np.where(agree, rng.choice([1, 10, 100]), 1)
        rows = [(y, *s) for y in (0, 1) for s in patterns.tolist()]
        law = Instance.from_patterns(rows, [*weights, *weights], Cascade([0, 0, 0]))
        p = law.disagreement
        instance = law.with_cascade(Cascade([0, rng.random() * p[0, 1], p[1, 2] + 0.1]))
        assert instance.is_ordered()
        assert instance.optimal_stages == (0,)
        assert not instance.is_weakly_dominant()
        assert sound(instance) == 1
        q, lead = ordered_label_for(instance, 1)
        if abs(lead) < 1e-6:
            continue
        kinds[lead > 0] += 1
        companion = relabelled(instance, q)
        assert same_law(companion, instance)
        assert companion.is_weakly_dominant() == (lead > 0)
        assert (companion.best_stage == 1) == (lead > 0)
    assert kinds[True] >= 30
    assert kinds[False] >= 30


@settings(max_examples=60)
@given(instances(stages=(2, 4)))
def test_theorem_2_holds_for_any_number_of_stages_without_the_order(drawn):
    """If error rates need not fall, Y := Y^i with i = a_wd(P_S) makes every law weakly dominant."""
    instance = drawn.instance
    stage = sound(instance)
    assume(stage is not None)
    companion = relabelled(instance, instance.output_law.codes[:, stage] == 1)
    assert same_law(companion, instance)
    assert companion.is_weakly_dominant()
    assert companion.best_stage == stage
    if not instance.is_weakly_dominant() and len(instance.optimal_stages) == 1:
        assert not set(companion.optimal_stages) & set(instance.optimal_stages)
