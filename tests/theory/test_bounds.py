import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.theory.bounds import PowerLaw, asymptotic_constant, finite_time_bound, plan_within
from stopwise.theory.plan import exploration_plan
from tests.strategies import cascades

CHAIN = Cascade(costs=[0, 0.1, 0.1])
GAPS = [0.2, 0.0, 0.05]  # Section 7's error rates .4, .1, .05 under these costs


@st.composite
def gapped(draw, *, unique):
    """A chain or a tree with gaps; ``unique``: with one optimal stage."""
    cascade = draw(cascades(stages=(1, 6)))
    K = cascade.n_stages
    values = st.sampled_from([0.1, 0.2, 0.2, 0.4]) | st.floats(0.02, 1)
    if not unique:
        values |= st.sampled_from([0.0, 0.01])
    gaps = [draw(values) for _ in range(K)]
    gaps[draw(st.integers(0, K - 1))] = 0.0
    return gaps, cascade


# β


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.99), st.integers(0, 1000), st.integers(0, 1000))
def test_power_laws_meet_what_theorem_4_asks(scale, exponent, m, n):
    beta = PowerLaw(scale, exponent)
    assert 0 <= beta(n) <= n / 2
    assert beta(n) <= beta(n + 1)
    assert beta(m + n) <= beta(m) + beta(n) + 1e-9
    assert beta(n) == pytest.approx(scale * n**exponent)


@pytest.mark.parametrize(
    ("scale", "exponent", "message"),
    [
        (0, 0.5, r"scale must lie in \(0, 1/2\], got 0"),
        (0.6, 0.5, r"scale must lie in \(0, 1/2\], got 0.6"),
        (math.nan, 0.5, "scale must lie"),
        (0.5, 0, r"exponent must lie in \(0, 1\), got 0"),
        (0.5, 1, r"exponent must lie in \(0, 1\), got 1"),
    ],
)
def test_other_power_laws_are_refused(scale, exponent, message):
    with pytest.raises(SettingError, match=message):
        PowerLaw(scale, exponent)


# Corollary 5


def test_asymptotic_constant_by_hand():
    # Demands 12.5, 200, 200: 200 plays of stage 3, 0.05 each.
    assert asymptotic_constant(GAPS, CHAIN, alpha=2.1) == pytest.approx(4 * 2.1 * 200 * 0.05)
    # Stage 3 is best: no regret buys all there is to know.
    assert asymptotic_constant([0.2, 0.1, 0], CHAIN, alpha=3) == 0
    # Stage 1 is best, demands 50, 50, 12.5: 12.5 plays at 0.2, 37.5 at 0.1, none at 1.
    assert asymptotic_constant([0, 0.1, 0.2], CHAIN, alpha=3) == pytest.approx(12 * (2.5 + 3.75))
    # Without a gap there is no regret to bound.
    assert asymptotic_constant([0, 0, 0], CHAIN, alpha=3) == 0


# u*(γ, ε)


def least_within(gaps, cascade, epsilon, rng, n):
    """Return the largest plays seen over ``n`` random γ' in the box, its corners and its ties."""
    K = cascade.n_stages
    most = np.zeros(K)
    for _ in range(n):
        shift = rng.uniform(-epsilon, epsilon, K)
        corner = rng.random(K) < rng.choice([0, 0.5, 1])
        shift[corner] = rng.choice([-epsilon, epsilon], K)[corner]
        total = np.array(gaps) + shift
        if K > 1 and rng.random() < 0.5:  # nearly tie two stages, if the box allows
            a, b = rng.choice(K, 2, replace=False)
            tied = total[a] + rng.choice([0, 1e-3, 1e-6])
            if abs(tied - gaps[b]) <= epsilon:
                total[b] = tied
        most = np.maximum(most, exploration_plan(total - total.min(), cascade))
    return most


@given(gapped(unique=False), st.sampled_from([1e-3, 0.02, 0.05, 0.1, 0.3]), st.integers(0, 2**32))
def test_no_plan_in_the_box_exceeds_the_bound(problem, epsilon, seed):
    gaps, cascade = problem
    seen = least_within(gaps, cascade, epsilon, np.random.default_rng(seed), 100)
    bound = np.array(plan_within(gaps, cascade, epsilon))
    assert (seen <= bound * (1 + 1e-9) + 1e-9).all()


@given(gapped(unique=True))
def test_the_bound_tends_to_the_plan_where_one_stage_is_best(problem):
    gaps, cascade = problem
    bound = plan_within(gaps, cascade, 1e-9)
    scale = max(exploration_plan(gaps, cascade))
    expected = pytest.approx(exploration_plan(gaps, cascade), rel=1e-5, abs=1e-5 * scale + 1e-9)
    assert bound == expected


@given(gapped(unique=False), st.floats(1e-4, 0.5))
def test_the_bound_is_infinite_just_where_two_stages_can_tie(problem, epsilon):
    gaps, cascade = problem
    assume(all(abs(gap - 2 * epsilon) > 1e-9 for gap in gaps))
    near = [k for k, gap in enumerate(gaps) if gap <= 2 * epsilon]
    closing = [k for k in near if any(j != k and j not in cascade.descendants[k] for j in near)]
    bound = plan_within(gaps, cascade, epsilon)
    assert [k for k, n in enumerate(bound) if n == math.inf] == closing
    assert bool(closing) == (len(near) > 1)


def test_plan_within_by_hand():
    # Chain, stage 2 best, 2ε = 0.04. Stage 3: 0.5 / (0.05 - 0.04)². Stage 2: best against stage 1,
    # 0.5 / (0.2 - 0.04)², less what stage 3 demands at least, 0.5 / 0.09²: nothing.
    # Stage 1: the only stages that can beat what is below it are below it: nothing.
    assert plan_within(GAPS, CHAIN, 0.02) == pytest.approx([0, 0, 0.5 / 0.01**2])
    # Gaps swapped: stage 2 against stage 1 is the close call.
    assert plan_within([0.05, 0.0, 0.2], CHAIN, 0.02) == pytest.approx(
        [0, 0.5 / 0.01**2 - 0.5 / 0.24**2, 0.5 / 0.16**2]
    )


def test_a_stage_whose_rivals_are_all_below_it_gets_nothing():
    # 2ε = 0.1. Stage 2 is best or stage 3 is; what stages 1 and 2 lack has been seen below.
    assert plan_within([0.2, 0.0, 0.05], CHAIN, 0.05)[0] == 0
    # Stage 2, 0.12 from the best, cannot come before stage 3, but 0.08 it can.
    assert plan_within([0.12, 0.12, 0.0], CHAIN, 0.05)[1] == 0
    assert plan_within([0.08, 0.08, 0.0], CHAIN, 0.05)[1] == math.inf
    # Stage 2 is best, stage 1 is 0.31 away and stage 3 0.2: stage 1 cannot come second.
    assert plan_within([0.31, 0.0, 0.2], CHAIN, 0.05)[1] == 0
    assert plan_within([0.22, 0.0, 0.2], CHAIN, 0.05)[1] > 0


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_epsilon_is_positive(epsilon):
    with pytest.raises(SettingError, match="epsilon must be > 0 and finite"):
        plan_within(GAPS, CHAIN, epsilon)


# Theorem 4


def transcribed(gaps, cascade, T, alpha, beta, epsilon):
    """Theorem 4's right side term by term, with ε²/(2Kσ²) in the exponent as in Corollary 5."""
    K = len(gaps)
    u = plan_within(gaps, cascade, epsilon)
    constant = 2 * K + 2 + 4 * K / (alpha - 2)
    misled = 4 * K * sum(math.exp(-4 * beta(s) * epsilon**2 / (2 * K)) for s in range(T + 1))
    forced = 2 * beta(4 * alpha * math.log(T) * sum(u) + K)
    planned = 4 * alpha * math.log(T) * sum(n * gap for n, gap in zip(u, gaps, strict=True))
    return constant, misled, forced, planned


@pytest.mark.parametrize("gaps", [GAPS, [0.0, 0.3, 0.5], [0.7, 0.4, 0.0]])
@pytest.mark.parametrize("beta", [PowerLaw(), PowerLaw(0.3, 0.9)])
@pytest.mark.parametrize("epsilon", [0.005, 0.02])
def test_theorem_4_is_its_four_terms(gaps, beta, epsilon):
    terms = transcribed(gaps, CHAIN, 500, 2.5, beta, epsilon)
    bound = finite_time_bound(gaps, CHAIN, horizon=500, alpha=2.5, beta=beta, epsilon=epsilon)
    assert all(term > 0 for term in terms[:3])
    assert bound == pytest.approx(sum(terms), rel=1e-12)


def test_where_a_gap_exceeds_1_rounds_cost_that_much():
    terms = transcribed([0.0, 0.5, 3.0], CHAIN, 100, 3, PowerLaw(), 0.1)
    bound = finite_time_bound([0.0, 0.5, 3.0], CHAIN, horizon=100, alpha=3, epsilon=0.1)
    assert bound == pytest.approx(3 * sum(terms[:3]) + terms[3], rel=1e-12)


def test_the_exponent_is_hoeffdings():
    # n views of a coin are off by ε with probability at most 2 exp(-2nε²), and forced exploration
    # gives each test β/K views: exp(-2βε²/K), larger than the printed exp(-8βε²/(2K)).
    def beta(n):
        return n / 2

    one = finite_time_bound(
        [0.0, 0.5], Cascade(costs=[0, 1]), horizon=1, alpha=3, beta=beta, epsilon=0.1
    )
    K = 2
    rest = 2 * K + 2 + 4 * K + 2 * beta(K)
    assert one - rest == pytest.approx(4 * K * (1 + math.exp(-2 * 0.5 * 0.1**2 / K)), rel=1e-12)


def test_where_gaps_can_close_nothing_is_promised_after_round_1():
    def bound(T):
        return finite_time_bound(GAPS, CHAIN, horizon=T, alpha=2.1, epsilon=0.05)

    assert bound(2) == math.inf
    assert math.isfinite(bound(1))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha": 2}, "alpha must be > 2 and finite, got 2"),
        ({"alpha": math.inf}, "alpha must be > 2"),
        ({"horizon": 0}, "horizon must be >= 1, got 0"),
        ({"epsilon": 0}, "epsilon must be > 0"),
    ],
)
def test_settings_out_of_range_are_refused(changed, message):
    settings = {"horizon": 10, "alpha": 3, "epsilon": 0.01} | changed
    with pytest.raises(SettingError, match=message):
        finite_time_bound(GAPS, CHAIN, **settings)
