"""The rule of Algorithm 2 over a table of averages, and how long it holds."""

import math

import numpy as np
import pytest

from stopwise.cascade import Cascade
from stopwise.policies.optimism import FOREVER, first_accepted, optimistic_choice, price_rows


def tables(rng, n_stages, swing):
    """Random counts: the deeper a test the rarer it was seen, some never."""
    stopped = rng.integers(0, 40, size=n_stages)
    seen = [[int(stopped[j:].sum())] * (j + 1) for j in range(n_stages)]
    low = -1 if swing else 0
    sums = [[int(rng.integers(low * n, n + 1)) for n in row] for row in seen]
    return seen, sums, int(stopped.sum()) + 1


def rule(C, seen, sums, width):
    """The set of line 6 and its smallest member."""

    def bound(i, j):
        n = seen[j][i]
        return math.inf if n == 0 else sums[j][i] / n + math.sqrt(width / n)

    K = len(C)
    S = [i for i in range(K - 1) if all(C[j] - C[i] >= bound(i, j) for j in range(i + 1, K))]
    return min([*S, K - 1])


def test_prices_are_differences_of_cumulative_costs():
    rows = price_rows(Cascade([1, 2, 4], mistake_cost=4))
    assert rows == [[0.0], [0.5, 0.0], [1.5, 1.0, 0.0]]
    assert all(type(price) is float for row in rows for price in row)


@pytest.mark.parametrize("swing", [0, 1])
def test_the_first_accepted_stage_is_the_first_of_the_set(swing):
    rng = np.random.default_rng(swing)
    found = set()
    for _ in range(500):
        K = int(rng.integers(1, 6))
        cascade = Cascade(rng.random(K) * rng.choice([0.2, 1.0]))
        seen, sums, t = tables(rng, K, swing)
        C = cascade.cumulative_costs.tolist()
        width = float(rng.choice([0.0, 0.1, 1.5])) * math.log(t)
        stage = first_accepted(price_rows(cascade), seen, sums, width)
        assert stage == rule(C, seen, sums, width)
        found.add(stage)
    assert len(found) > 3


def test_an_accepted_stage_is_held_until_its_bound_reaches_the_price():
    """And not a round less: with p̂ = 0 and n = 8 at a price of .9, until ln t = 8·.81 / 1.5."""
    prices, seen, sums = price_rows(Cascade([0, 0.9])), [[20], [8, 8]], [[0], [0, 0]]
    last = int(math.exp(8 * 0.81 / 1.5))
    assert optimistic_choice(prices, seen, sums, 21, 1.5, 0) == (0, last - 20)
    assert first_accepted(prices, seen, sums, 1.5 * math.log(last)) == 0
    assert first_accepted(prices, seen, sums, 1.5 * math.log(last + 1)) == 1


@pytest.mark.parametrize(("swing", "total", "price"), [(0, 30, 0.5), (1, 10, 0.5), (1, -10, 0.1)])
def test_a_rejected_stage_is_rejected_until_its_bound_can_reach_the_price(swing, total, price):
    """To within a round of when the cases could have brought it down, with t standing still."""
    prices, n, t = price_rows(Cascade([0, price])), 40, 41
    width = 1.5 * math.log(t)
    stage, held = optimistic_choice(prices, [[n], [n, n]], [[0], [total, 0]], t, 1.5, swing)
    assert stage == 1

    def rejected(m):
        return price < (total - swing * m) / (n + m) + math.sqrt(width / (n + m))

    assert all(rejected(m) for m in range(held))
    assert not rejected(held + 1)


def test_a_pair_that_is_not_shown_keeps_a_stage_rejected_for_ever():
    # (1, 3) disagrees, (1, 2) and (2, 3) never do: stage 2 is played and never shows test 3.
    prices = price_rows(Cascade([0, 0.9, 1.2]))
    n, t = 10**6, 3 * 10**6
    seen, sums = [[t], [n, t], [n, n, n]], [[0], [0, 0], [n, 0, 0]]
    prices[2][0] = 0.99
    stage, held = optimistic_choice(prices, seen, sums, t, 1.5, 0)
    assert stage == 1
    assert held > 10**15


def test_free_stages_that_agree_are_never_accepted():
    prices = price_rows(Cascade([0, 0.0]))
    stage, held = optimistic_choice(prices, [[50], [50, 50]], [[0], [0, 0]], 51, 1.5, 0)
    assert stage == 1
    assert held > 10**15


def test_one_stage_is_held_for_ever():
    assert optimistic_choice([[0.0]], [[3]], [[0]], 4, 1.5, 0) == (0, FOREVER - 3)


@pytest.mark.parametrize("price", [1e-300, 1e-9, 1e100])
def test_extreme_prices_do_not_overflow(price):
    prices = price_rows(Cascade([0, price]))
    for total in (0, 3):
        stage, held = optimistic_choice(prices, [[5], [5, 5]], [[0], [total, 0]], 6, 1.5, 0)
        assert stage == (0 if price > 1 else 1)
        assert 1 <= held <= FOREVER
