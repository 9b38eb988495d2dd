"""When plays are informative enough, plans on any graph, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given

from paper.side_observation import general_plan
from stopwise.errors import SettingError
from stopwise.theory.plan import (
    cheapest_plan,
    expected_regret,
    exploration_plan,
    is_informative,
    observation_counts,
)
from tests.theory.test_plan import CHAIN, gapped, problems, shows

# Sufficiently informative


@given(gapped())
def test_following_the_plan_is_informative_and_less_is_not(problem):
    gaps, cascade = problem
    u = np.array(exploration_plan(gaps, cascade))
    assert is_informative(u, gaps, cascade)
    assert is_informative(u + 1, gaps, cascade)
    assert not is_informative(u * (1 - 1e-6), gaps, cascade)
    # What Algorithm 1 relies on: while not informed, some stage is short of its plan.
    for k in np.flatnonzero(u):
        short = u.copy()
        short[k] *= 0.5
        assert not is_informative(short, gaps, cascade)


def test_plays_are_judged_test_by_test():
    # Demands 2, 8, 8.
    assert is_informative([0, 0, 8], [0.5, 0, 0.25], CHAIN)
    assert not is_informative([0, 9, 7], [0.5, 0, 0.25], CHAIN)
    assert not is_informative([0, 0, 1e9], [0.0, 0.0, 0.0], CHAIN)


# Any graph


@given(problems())
def test_the_general_plan_has_the_same_regret_and_plays_of_optimal_stages(problem):
    demands, gaps, cascade = problem
    special = np.array(cheapest_plan(demands, gaps, cascade))
    general = np.array(general_plan(demands, gaps, cascade.paths))
    assert (shows(cascade) @ general >= np.array(demands) - 1e-6).all()
    assert general @ gaps == pytest.approx(special @ gaps, abs=1e-6)
    optimal = np.array(gaps) == 0
    assert general[optimal].sum() == pytest.approx(special[optimal].sum(), abs=1e-6)


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exploration_plan([1, -0.2, 0], CHAIN), "gaps must be >= 0, got -0.2 at stage 2"),
        (lambda: exploration_plan([math.nan] * 3, CHAIN), "gaps must be >= 0, got nan at stage 1"),
        (
            lambda: exploration_plan([0, 1], CHAIN),
            "gaps must have one entry per stage, got 2 for 3",
        ),
        (lambda: observation_counts([0, 1], CHAIN), "plays must have one entry per stage"),
        (lambda: is_informative([1, 1], [0, 1, 1], CHAIN), "plays must have one entry per stage"),
    ],
)
def test_bad_input_is_refused_with_the_place(call, message):
    with pytest.raises(SettingError, match=message):
        call()


def test_regret_sums_gaps_over_plays_of_which_optimal_ones_cost_nothing():
    assert expected_regret([0.5, 0, 0.25], [2, 100, 4]) == 2
    assert expected_regret(np.array([0.5, 0.0]), np.array([3, 1])) == 1.5
    assert expected_regret([0, 0.5], [math.inf, 2]) == 1
    assert expected_regret([0, 0.5], [1, math.inf]) == math.inf
    with pytest.raises(ValueError, match="zip"):
        expected_regret([0, 1], [1])
