"""The rule of Resolve on a tree: the same questions as in a chain, and one more about rivals.

Tables are those of `walk`. Let b be what looks best, the end of the steepest walk.

1. Nothing below b may pay: (b, j) has to be settled for every j below b.
2. Each test a above b was passed because something in b's branch pays. If that lies on the way to b
   it is shown anyway; else the strongest such comparison has to be settled.
3. A *rival* of b at a lies below a in another branch. It is never seen together with b, but both
   are seen together with a: it has to be settled that it gains no more there than the way to b.

The open question seen least is bought first, of equals the deepest, at the test that shows it and
seems to cost least. In a chain there are no rivals, and this is `resolution.resolving_choice`.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.optimism import NOTHING
from stopwise.policies.resolution import epoch_end, evidence, excess, pays, settles
from stopwise.policies.walk import steepest_walk


def looks_best_on_tree(branches: Any, prices: Any, seen: Any, disagreed: Any, zone: float) -> int:
    """Return the end of the steepest walk, for which an unseen pair gains nothing."""
    return steepest_walk(branches, prices, seen, disagreed, zone / 2, -math.inf)


def lead(branches: Any, prices: Any, seen: Any, disagreed: Any, a: int, best: int) -> float:
    """Return the most that a test on the way from ``a`` to ``best`` seems to gain, 0 at least."""
    most = 0.0
    for j in range(a + 1, best + 1):
        if j == best or (branches[a][j] != NOTHING and branches[j][best] != NOTHING):
            most = max(most, -excess(prices, seen, disagreed, j, a))
    return most


def witness_on_tree(
    branches: Any, prices: Any, seen: Any, disagreed: Any, a: int, best: int, zone: float
) -> int:
    """Return the test because of which ``a`` is passed: one on the way to ``best``, if any."""
    strongest, found = -1.0, NOTHING
    for j in range(a + 1, len(prices)):
        if branches[a][j] != branches[a][best] or not pays(prices, seen, disagreed, a, j, zone):
            continue
        if j == best or branches[j][best] != NOTHING:
            return j
        proof = evidence(prices, seen, disagreed, a, j, zone)
        if proof > strongest:
            strongest, found = proof, j
    return found


def bar(
    branches: Any, prices: Any, seen: Any, disagreed: Any, i: int, j: int, best: int, zone: float
) -> float:
    """Return what the disagreement of i and j has to be told from; -1 where it does not matter.

    ``i`` is ``best`` or a test above it, and j lies below i.
    """
    if i == best:
        return float(prices[j][i])
    if branches[i][j] != branches[i][best]:
        return float(prices[j][i] + lead(branches, prices, seen, disagreed, i, best))
    is_shown = j == best or branches[j][best] != NOTHING
    if is_shown or j != witness_on_tree(branches, prices, seen, disagreed, i, best, zone):
        return -1.0
    return float(prices[j][i])


def least_seen_question(
    branches: Any, prices: Any, seen: Any, disagreed: Any, best: int, horizon: int, zone: float
) -> int:
    """Return the deeper test of the open question that was seen least, or NOTHING."""
    chosen, least = NOTHING, 0
    for i in range(best + 1):
        if i != best and branches[i][best] == NOTHING:
            continue
        for j in range(i + 1, len(prices)):
            n = seen[j][i]
            if branches[i][j] == NOTHING or (chosen != NOTHING and n > least):
                continue
            price = bar(branches, prices, seen, disagreed, i, j, best, zone)
            if price < 0 or settles(n, disagreed[j][i], price, horizon, zone):
                continue
            if chosen == NOTHING or n < least or j > chosen:
                chosen, least = j, n
    return chosen


def cheapest_showing_on_tree(
    branches: Any, prices: Any, seen: Any, disagreed: Any, j: int, best: int
) -> int:
    """Return j or a test below it, whichever seems to cost the least more than ``best``.

    They are compared at the last test that they have in common with ``best``.
    """
    common = 0
    for i in range(best + 1):
        if branches[i][j] != NOTHING and (i == best or branches[i][best] != NOTHING):
            common = i
    cheapest = j
    for m in range(j + 1, len(prices)):
        if branches[j][m] != NOTHING and excess(prices, seen, disagreed, m, common) < excess(
            prices, seen, disagreed, cheapest, common
        ):
            cheapest = m
    return cheapest


def resolving_walk(
    branches: Any, prices: Any, seen: Any, disagreed: Any, n_rounds: int, zone: float
) -> int:
    """Return the test to stop at after ``n_rounds``."""
    best = looks_best_on_tree(branches, prices, seen, disagreed, zone)
    horizon = epoch_end(n_rounds)
    j = least_seen_question(branches, prices, seen, disagreed, best, horizon, zone)
    if j == NOTHING:
        return best
    return cheapest_showing_on_tree(branches, prices, seen, disagreed, j, best)
