import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from stopwise.cascade import Cascade
from stopwise.theory.plan import (
    cheapest_plan,
    exploration_plan,
    observation_counts,
    raw_demands,
)
from tests.strategies import cascades

CHAIN = Cascade(costs=[0, 1, 1])
#        0
#      1   2
#     3 4
TREE = Cascade(costs=[0, 1, 1, 1, 1], parents=[None, 0, 0, 1, 1])


# Few values, so that ties and zeros are common.
COARSE = st.sampled_from([0.0, 0.1, 0.2, 0.2, 0.5, 1.0])
DEMANDS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 5.5, 10.0])


@st.composite
def problems(draw, gaps=COARSE, demands=DEMANDS):
    cascade = draw(cascades(stages=(1, 7)))
    K = cascade.n_stages
    fixed = {"min_size": K, "max_size": K}
    return draw(st.lists(demands, **fixed)), draw(st.lists(gaps, **fixed)), cascade


@st.composite
def gapped(draw):
    """Gaps as they are: at least one is 0 and one is not."""
    _, gaps, cascade = draw(problems(gaps=COARSE | st.floats(0.01, 1)))
    gaps[draw(st.integers(0, len(gaps) - 1))] = 0.0
    assume(max(gaps) > 0)
    return gaps, cascade


def shows(cascade):
    """Row j, column k: whether stopping at k shows test j; by hand, from the paths alone."""
    K = cascade.n_stages
    return np.array([[float(j in cascade.path(k)) for k in range(K)] for j in range(K)])


def lp(objective, demands, cascade, budget=None):
    """Return the least of ⟨u, objective⟩; with a budget (gaps, cost), among u of that cost."""
    A, b = -shows(cascade), -np.array(demands, dtype=float)
    if budget is not None:
        gaps, cost = budget
        A, b = np.vstack([A, gaps]), np.append(b, cost)
    result = linprog(objective, A_ub=A, b_ub=b, method="highs")
    assert result.status == 0, result.message
    return result.fun


def least_plays(stage, demands, gaps, cascade, cost):
    """Return the smallest u_stage among the plans of regret ``cost``."""
    return lp(np.eye(cascade.n_stages)[stage], demands, cascade, (gaps, cost))


# Demands


@pytest.mark.parametrize(
    ("gaps", "demands"),
    [
        # Smallest positive gap 0.05: 2 * 0.25 / 0.05^2 = 200.
        ([0.2, 0.0, 0.05], [12.5, 200, 200]),
        # Two optimal stages are distinguished from the third, not from each other.
        ([0.0, 0.5, 0.0], [2, 2, 2]),
        # Rounding is not a gap.
        ([1e-16, 0.5, 0.0], [2, 2, 2]),
        # Without a gap nothing is decided.
        ([0.0, 0.0], [math.inf, math.inf]),
        ([0.0, 1e-15], [math.inf, math.inf]),
        ([0.0], [0]),
    ],
)
def test_demands_by_hand(gaps, demands):
    assert raw_demands(gaps) == pytest.approx(demands)


# Observations


def test_a_deep_play_shows_the_tests_before_it():
    assert observation_counts([1, 2, 4], CHAIN) == [7, 6, 4]
    assert observation_counts([1, 2, 4, 8, 16], TREE) == [31, 26, 4, 8, 16]


def test_the_printed_count_is_a_misprint():
    # Section 6 prints m_j = u_1 + … + u_j; its own C(γ) sums from j to K.
    u = [1.0, 2.0, 4.0]
    assert observation_counts(u, CHAIN) != np.cumsum(u).tolist()
    assert observation_counts(u, CHAIN) == np.cumsum(u[::-1])[::-1].tolist()


# The plan


@given(problems())
def test_the_plan_meets_the_demands_at_the_least_regret(problem):
    demands, gaps, cascade = problem
    u = cheapest_plan(demands, gaps, cascade)
    assert min(u) >= 0
    assert (np.array(observation_counts(u, cascade)) >= np.array(demands) - 1e-9).all()
    assert np.dot(u, gaps) == pytest.approx(lp(gaps, demands, cascade), abs=1e-6)
    # No plan of any regret has fewer plays, and none of least regret fewer of optimal stages.
    assert sum(u) == pytest.approx(lp(np.ones(len(u)), demands, cascade), abs=1e-6)
    optimal = np.array(gaps) == 0
    least = lp(optimal.astype(float), demands, cascade, (gaps, np.dot(u, gaps)))
    assert np.dot(u, optimal) == pytest.approx(least, abs=1e-5)


def test_with_several_optimal_stages_the_least_for_one_can_forbid_the_least_for_another():
    # Each of stages 1 and 3 can do with less if the other is played more; the plan shares out.
    demands, gaps = [5, 1, 1], [0.0, 0.1, 0.0]
    assert cheapest_plan(demands, gaps, CHAIN) == [4, 0, 1]
    assert least_plays(0, demands, gaps, CHAIN, 0) == 0
    assert least_plays(2, demands, gaps, CHAIN, 0) == 1


@given(gapped())
def test_exploring_plays_every_optimal_stage_as_rarely_as_the_least_regret_allows(problem):
    # Section 6 asks u*_k = min u_k for any optimal k; for these demands all minima hold at once.
    gaps, cascade = problem
    unit = max(raw_demands(gaps))
    demands = [b / unit for b in raw_demands(gaps)]
    u = [n / unit for n in exploration_plan(gaps, cascade)]
    for k in np.flatnonzero(np.array(gaps) == 0):
        least = least_plays(k, demands, gaps, cascade, np.dot(u, gaps))
        assert u[k] == pytest.approx(least, abs=1e-4)


@given(gapped())
def test_exploring_plays_what_a_test_lacks_at_that_test(problem):
    gaps, cascade = problem
    b = raw_demands(gaps)
    need = [0.0] * len(b)  # the demand of the subtree
    for j in reversed(range(len(b))):
        need[j] = max(b[j], sum(need[c] for c in cascade.children[j]))
    lacking = [need[j] - sum(need[c] for c in cascade.children[j]) for j in range(len(b))]
    assert exploration_plan(gaps, cascade) == pytest.approx(lacking, rel=1e-9, abs=1e-9 * max(b))


def test_ties_go_to_the_first_stage():
    assert cheapest_plan([3, 0, 0], [0.1, 0.1, 0.1], CHAIN) == [3, 0, 0]
    assert cheapest_plan([3, 0, 0], [0.2, 0.1, 0.1], CHAIN) == [0, 3, 0]
    # Of 2 and 3 the first is in the branch that is walked later.
    assert cheapest_plan([3, 0, 0, 0, 0], [0.2, 0.2, 0.1, 0.1, 0.2], TREE) == [0, 0, 3, 0, 0]
    assert cheapest_plan([0, 3, 0, 0, 0], [0.2, 0.2, 0.2, 0.1, 0.1], TREE) == [0, 0, 0, 3, 0]


def test_rounding_is_not_a_lack():
    # Three branches demand 0.1, 0.2, 0.3, which sum to a little less or more than 0.6.
    star = Cascade(costs=[0] * 4, parents=[None, 0, 0, 0])
    for order in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
        for need in (0.6, 0.1 + 0.2 + 0.3):
            assert cheapest_plan([need, *order], [0.0] * 4, star) == [0, *order]


@given(problems(demands=DEMANDS | st.just(math.inf)))
def test_infinite_demands_are_met(problem):
    demands, gaps, cascade = problem
    u = cheapest_plan(demands, gaps, cascade)
    assert not any(map(math.isnan, u))
    seen = observation_counts(u, cascade)
    assert all(m >= b - 1e-9 for m, b in zip(seen, demands, strict=True))
    # Finite demands alone never make an infinite play.
    assert any(map(math.isinf, u)) == any(map(math.isinf, demands))
