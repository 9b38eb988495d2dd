"""How long the answer of Algorithm 2 is certain."""

import math

import pytest

from stopwise.cascade import Cascade
from stopwise.policies.compiled_rule import FOREVER, Tables, price_rows
from stopwise.policies.optimism import first_accepted, optimistic_choice


def lists(prices, seen, sums, swing=0):
    return Tables(prices, seen, sums, None, None, None, [1.5, swing], None)


def choice(prices, seen, sums, t, swing=0):
    return optimistic_choice(lists(prices, seen, sums, swing), t - 1, None)


def test_prices_are_differences_of_cumulative_costs():
    rows = price_rows(Cascade([1, 2, 4], mistake_cost=4))
    assert rows == [[0.0], [0.5, 0.0], [1.5, 1.0, 0.0]]
    assert all(type(price) is float for row in rows for price in row)


def test_an_accepted_stage_is_held_until_its_bound_reaches_the_price():
    """And not a round less: with p̂ = 0 and n = 8 at a price of .9, until ln t = 8·.81 / 1.5."""
    pairs = price_rows(Cascade([0, 0.9])), [[20], [8, 8]], [[0], [0, 0]]
    last = int(math.exp(8 * 0.81 / 1.5))
    assert choice(*pairs, 21) == (0, last - 20)
    assert first_accepted(lists(*pairs), 1.5 * math.log(last)) == 0
    assert first_accepted(lists(*pairs), 1.5 * math.log(last + 1)) == 1


@pytest.mark.parametrize(("swing", "total", "price"), [(0, 30, 0.5), (1, 10, 0.5), (1, -10, 0.1)])
def test_a_rejected_stage_is_rejected_until_its_bound_can_reach_the_price(swing, total, price):
    """To within a round of when the cases could have brought it down, with t standing still."""
    prices, n, t = price_rows(Cascade([0, price])), 40, 41
    width = 1.5 * math.log(t)
    stage, rounds = choice(prices, [[n], [n, n]], [[0], [total, 0]], t, swing)
    assert stage == 1

    def rejected(m):
        return price < (total - swing * m) / (n + m) + math.sqrt(width / (n + m))

    assert all(rejected(m) for m in range(rounds))
    assert not rejected(rounds + 1)


def test_a_pair_that_is_not_shown_keeps_a_stage_rejected_for_ever():
    # (1, 3) disagrees, (1, 2) and (2, 3) never do: stage 2 is played and never shows test 3.
    prices = price_rows(Cascade([0, 0.9, 1.2]))
    n, t = 10**6, 3 * 10**6
    prices[2][0] = 0.99
    stage, rounds = choice(prices, [[t], [n, t], [n, n, n]], [[0], [0, 0], [n, 0, 0]], t)
    assert stage == 1
    assert rounds > 10**15


def test_free_stages_that_agree_are_never_accepted():
    stage, rounds = choice(price_rows(Cascade([0, 0])), [[50], [50, 50]], [[0], [0, 0]], 51)
    assert stage == 1
    assert rounds > 10**15


def test_one_stage_is_held_for_ever():
    assert choice([[0.0]], [[3]], [[0]], 4) == (0, FOREVER - 3)


@pytest.mark.parametrize("price", [1e-300, 1e-9, 1e100])
@pytest.mark.parametrize("total", [0, 3])
def test_extreme_prices_do_not_overflow(price, total):
    prices = price_rows(Cascade([0, price]))
    stage, rounds = choice(prices, [[5], [5, 5]], [[0], [total, 0]], 6)
    assert stage == (0 if price > 1 else 1)
    assert 1 <= rounds <= FOREVER
