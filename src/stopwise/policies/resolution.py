"""The rule of Resolve: what looks best, what could overturn it, and where to buy the answer.

Tables are indexed ``table[j][i]`` with i <= j, as in `optimism`: lists in a learner, arrays where
numba compiles these same functions. ``zone`` is the width of indifference in error units.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.optimism import FOREVER, HAIR, NOTHING
from stopwise.theory.divergence import bernoulli_kl


def epoch_end(n_rounds: int) -> int:
    """Return the end of the epoch: the next round, rounded up to a power of two."""
    end = 1
    while end <= n_rounds:
        end *= 2
    return end


def demanded_evidence(horizon: int, n: int) -> float:
    """Return the evidence that ``n`` cases must hold to settle a comparison up to ``horizon``.

    x + ln(1 + x) with x = ln(horizon / n): a comparison seen in nearly every round needs little,
    since a mistake would soon be noticed; one that is no longer seen needs about ln t.
    """
    x = math.log(horizon / n)
    return x + math.log1p(x)


def pays(prices: Any, seen: Any, disagreed: Any, i: int, j: int, zone: float) -> bool:
    """Whether going on from i to j looks worth its price; an unseen pair does not."""
    return bool(disagreed[j][i] > seen[j][i] * (prices[j][i] + zone / 2))


# Called for every pair in every decision, so the test of `pays` stands here without the call.
def looks_best(prices: Any, seen: Any, disagreed: Any, zone: float) -> int:
    """Return the first stage from which going on looks worth it nowhere."""
    last = len(prices) - 1
    for i in range(last):
        j = last
        while j > i and not disagreed[j][i] > seen[j][i] * (prices[j][i] + zone / 2):
            j -= 1
        if j == i:
            return i
    return last


def evidence_in(n: int, d: int, price: float, zone: float) -> float:
    """Return n·kl(d / n, price): how far d disagreements are from the other side."""
    if price >= 1:
        return math.inf  # no test is worth more than a mistake
    if n == 0:
        return 0.0
    other_side = price if d > n * (price + zone / 2) else price + zone
    return float(n * bernoulli_kl(d / n, other_side))


def evidence(prices: Any, seen: Any, disagreed: Any, i: int, j: int, zone: float) -> float:
    """Return how far the data on i and j are from the other side of their price."""
    return evidence_in(seen[j][i], disagreed[j][i], prices[j][i], zone)


def settles(n: int, d: int, price: float, weight: float, horizon: int, zone: float) -> bool:
    """Whether n cases, d disagreeing, hold the evidence that is demanded up to ``horizon``."""
    if n == 0:
        return bool(price >= 1)
    return weight * evidence_in(n, d, price, zone) >= demanded_evidence(horizon, n)


def is_settled(
    prices: Any, seen: Any, disagreed: Any, i: int, j: int, horizon: int, zone: float
) -> bool:
    """Whether the comparison of i and j has the evidence that is demanded up to ``horizon``."""
    return settles(seen[j][i], disagreed[j][i], prices[j][i], 1.0, horizon, zone)


def witness(prices: Any, seen: Any, disagreed: Any, i: int, best: int, zone: float) -> int:
    """Return the stage because of which i is passed over: one that ``best`` shows, if any."""
    for j in range(i + 1, best + 1):
        if pays(prices, seen, disagreed, i, j, zone):
            return j
    return _strongest_beyond(prices, seen, disagreed, i, best, zone)


def _strongest_beyond(
    prices: Any, seen: Any, disagreed: Any, i: int, best: int, zone: float
) -> int:
    strongest, found = -1.0, NOTHING
    for j in range(best + 1, len(prices)):
        if pays(prices, seen, disagreed, i, j, zone):
            proof = evidence(prices, seen, disagreed, i, j, zone)
            if proof > strongest:
                strongest, found = proof, j
    return found


def open_question(
    prices: Any, seen: Any, disagreed: Any, i: int, best: int, horizon: int, zone: float
) -> int:
    """Return the stage j whose comparison with i has to be bought, or NOTHING."""
    if i < best:
        j = witness(prices, seen, disagreed, i, best, zone)
        shown = j <= best
        return NOTHING if shown or is_settled(prices, seen, disagreed, i, j, horizon, zone) else j
    for j in range(len(prices) - 1, best, -1):
        if not is_settled(prices, seen, disagreed, best, j, horizon, zone):
            return j
    return NOTHING


def excess(prices: Any, seen: Any, disagreed: Any, m: int, best: int) -> float:
    """Return what stopping at m seems to cost more than stopping at ``best``, which it shows."""
    n = seen[m][best]
    share = disagreed[m][best] / n if n > 0 else 0.0
    return float(prices[m][best] - share)


def cheapest_showing(prices: Any, seen: Any, disagreed: Any, j: int, best: int) -> int:
    """Return the stage that shows j and seems to cost the least more than ``best``."""
    cheapest = j
    for m in range(j + 1, len(prices)):
        if excess(prices, seen, disagreed, m, best) < excess(
            prices, seen, disagreed, cheapest, best
        ):
            cheapest = m
    return cheapest


def resolving_choice(
    prices: Any, seen: Any, disagreed: Any, n_rounds: int, zone: float
) -> tuple[int, int]:
    """Return the stage to play after ``n_rounds`` and for how many rounds that is certain."""
    best = looks_best(prices, seen, disagreed, zone)
    horizon = epoch_end(n_rounds)
    certain = horizon - n_rounds
    own = deepest = open_question(prices, seen, disagreed, best, best, horizon, zone)
    for i in range(best):
        deepest = max(deepest, open_question(prices, seen, disagreed, i, best, horizon, zone))
    if deepest != NOTHING:
        stage = cheapest_showing(prices, seen, disagreed, deepest, best)
        if stage != own:
            return stage, 1
        return stage, min(certain, _buys_for(prices, seen, disagreed, own, best, horizon, zone))
    for i in range(best):
        j = _strongest_beyond(prices, seen, disagreed, i, best, zone)
        if j == NOTHING or not is_settled(prices, seen, disagreed, i, j, horizon, zone):
            certain = min(certain, _passed_over_for(prices, seen, disagreed, i, best, zone))
    return best, certain


def _passed_over_for(prices: Any, seen: Any, disagreed: Any, i: int, best: int, zone: float) -> int:
    """Return for how many rounds i must keep looking worse than a stage that ``best`` shows."""
    longest = 1
    for j in range(i + 1, best + 1):
        n, d, bar = seen[j][i], disagreed[j][i], prices[j][i] + zone / 2
        if d <= n * bar:
            continue
        if bar <= 0:
            return FOREVER  # one disagreement is enough
        # If all further cases agree, it still pays until n has grown to d / bar.
        longest = max(longest, math.ceil(min(d / bar * HAIR - n, FOREVER)))
    return longest


def _buys_for(
    prices: Any, seen: Any, disagreed: Any, j: int, best: int, horizon: int, zone: float
) -> int:
    """Return for how many rounds the comparison of ``best`` with j must be bought, and at j.

    It has to stay open, j the cheapest stage that shows it, and ``best`` what looks best.
    """
    certain = _open_for(prices, seen, disagreed, best, j, horizon, zone)
    for i in range(best):
        certain = min(certain, _passed_over_for(prices, seen, disagreed, i, best, zone))
    for k in range(best + 1, j + 1):
        n, d, bar = seen[k][best], disagreed[k][best], prices[k][best] + zone / 2
        if bar < 1:  # if all further cases disagree it pays as soon as d + m > (n + m) bar
            certain = min(certain, int((n * bar - d) / (1 - bar) * HAIR) + 1)
    for m in range(j + 1, len(prices)):
        lead = excess(prices, seen, disagreed, m, best) - excess(prices, seen, disagreed, j, best)
        certain = min(certain, int(lead * seen[j][best] * HAIR))
    return max(certain, 1)


def _open_for(
    prices: Any, seen: Any, disagreed: Any, i: int, j: int, horizon: int, zone: float
) -> int:
    """Return how many cases (i, j) needs at least to be settled, if none of them disagrees."""
    n, bar = seen[j][i], prices[j][i] + zone
    if n == 0 or bar >= 1:
        return 1
    # An agreeing case adds ln((1 - p) / (1 - bar)), p a share between those before and after it,
    # and lowers the demand by at most 2 / n. In n / 4 cases the share falls by a fifth at most.
    missing = demanded_evidence(horizon, n) - evidence(prices, seen, disagreed, i, j, zone)
    most = math.log1p(-0.8 * disagreed[j][i] / n) - math.log1p(-bar) + 2 / n
    return int(min(missing / most * HAIR, n / 4))
