import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import entropy

from stopwise.theory.divergence import bernoulli_kl

CHANCES = st.floats(0, 1)
INNER = st.floats(1e-9, 1 - 1e-9)


@given(CHANCES, INNER)
def test_it_is_the_relative_entropy_of_two_coins(p, q):
    assert bernoulli_kl(p, q) == pytest.approx(entropy([p, 1 - p], [q, 1 - q]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (0, 0, 0.0),
        (1, 1, 0.0),
        (0, 1, math.inf),
        (1, 0, math.inf),
        (0.3, 0, math.inf),
        (0.3, 1, math.inf),
        (0, 0.25, -math.log(0.75)),
        (1, 0.25, -math.log(0.25)),
        (0.3, -0.1, math.inf),
        (0, -0.1, 0.0),
        (0.3, 1.5, math.inf),
        (1, 1.5, 0.0),
        (0.5, 1e-310, 0.5 * math.log(0.5) - 0.5 * math.log(1e-310) + 0.5 * math.log(0.5)),
    ],
)
def test_edges(p, q, expected):
    assert bernoulli_kl(p, q) == pytest.approx(expected, rel=1e-12)


@given(CHANCES, CHANCES)
@example(0.3, math.nextafter(0.3, 0))
@example(0.3, math.nextafter(0.3, 1))
@example(0.3, 0.3 - 1e-10)
def test_it_is_never_negative_and_above_twice_the_squared_distance(p, q):
    # Pinsker's inequality; rounding must not take it below zero either.
    assert bernoulli_kl(p, q) >= max(2 * (p - q) ** 2 - 1e-12, 0)


@given(CHANCES)
def test_a_coin_is_not_told_from_itself(p):
    assert bernoulli_kl(p, p) == 0
