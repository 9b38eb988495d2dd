"""The rule of Resolve on a tree: the same questions as in a chain, and one more about rivals.

Tables are those of `walk`. Let b be what looks best, the end of the steepest walk.

1. Nothing below b may pay: (b, j) has to be settled for every j below b.
2. Each test a above b was passed because something in b's branch pays. If that lies on the way to b
   it is shown anyway; else the strongest such comparison has to be settled.
3. A *rival* of b at a lies below a in another branch. It is never seen together with b, but both
   are seen together with a: it has to be settled that it gains no more there than the way to b.

Questions 1 and 3 are also answered if it is settled that j does not pay from some test above it, or
that a test below j pays from it: it is not best then. The open question seen least is bought first,
of equals the one about the last test, where `resolution.where_to_buy` would buy it.
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


def leads_to(branches: Any, i: int, best: int) -> bool:
    """Whether i lies on the way to ``best``, which is the end of it."""
    return bool(i == best or branches[i][best] != NOTHING)


def leader(branches: Any, prices: Any, seen: Any, disagreed: Any, a: int, best: int) -> int:
    """Return what seems to gain most on the way from ``a`` to ``best``, NOTHING if nothing does."""
    found, most = NOTHING, 0.0
    for j in range(a + 1, best + 1):
        if branches[a][j] == NOTHING or not leads_to(branches, j, best):
            continue
        gain = -excess(prices, seen, disagreed, j, a)
        if gain > most:
            found, most = j, gain
    return found


def witness_on_tree(
    branches: Any, prices: Any, seen: Any, disagreed: Any, a: int, best: int, zone: float
) -> int:
    """Return the test because of which ``a`` is passed: one on the way to ``best``, if any."""
    strongest, found = -1.0, NOTHING
    for j in range(a + 1, len(prices)):
        if branches[a][j] != branches[a][best] or not pays(prices, seen, disagreed, a, j, zone):
            continue
        if leads_to(branches, j, best):
            return j
        proof = evidence(prices, seen, disagreed, a, j, zone)
        if proof > strongest:
            strongest, found = proof, j
    return found


def matters(branches: Any, i: int, j: int, best: int, witness: int) -> bool:
    """Whether ``best`` rests on the comparison of i, on the way to it, with j."""
    if branches[i][j] == NOTHING:
        return False
    return bool(i == best or j == witness or is_rival(branches, i, j, best))


def is_rival(branches: Any, i: int, j: int, best: int) -> bool:
    """Whether j, below i, lies in another branch than ``best`` does."""
    return bool(i != best and branches[i][j] != branches[i][best])


def held_against(
    branches: Any, prices: Any, seen: Any, disagreed: Any, i: int, j: int, best: int, way: int
) -> tuple[float, float]:
    """Return what the disagreement of i and j is held against, and what the evidence then weighs.

    It is the price and, for a rival, what the `leader` of the way seems to gain. That was observed
    as well, n_way times: a difference has the variance 1/n + 1/n_way in place of 1/n.
    """
    price = float(prices[j][i])
    if way == NOTHING or not is_rival(branches, i, j, best):
        return price, 1.0
    n_way = seen[way][i]
    return price - excess(prices, seen, disagreed, way, i), n_way / (n_way + seen[j][i])


def is_ruled_out(
    branches: Any, prices: Any, seen: Any, disagreed: Any, j: int, horizon: int, zone: float
) -> bool:
    """Whether it is settled that j does not pay from a test above it, or one below pays from it.

    There are many such comparisons, so each needs ln K more evidence.
    """
    extra = math.log(len(prices))
    for other in range(len(prices)):
        above, below = min(other, j), max(other, j)
        if branches[above][below] == NOTHING:
            continue
        n, d, price = seen[below][above], disagreed[below][above], prices[below][above]
        contradicts = pays(prices, seen, disagreed, above, below, zone) == (above == j)
        if contradicts and settles(n, d, price, 1.0, horizon, zone, extra):
            return True
    return False


def resolving_walk(
    branches: Any, prices: Any, seen: Any, disagreed: Any, n_rounds: int, zone: float
) -> int:
    """Return the test to stop at after ``n_rounds``."""
    best = looks_best_on_tree(branches, prices, seen, disagreed, zone)
    horizon = epoch_end(n_rounds)
    chosen, least = NOTHING, 0
    for i in range(best + 1):
        if not leads_to(branches, i, best):
            continue
        way = leader(branches, prices, seen, disagreed, i, best)
        witness = witness_on_tree(branches, prices, seen, disagreed, i, best, zone)
        for j in range(i + 1, len(prices)):
            if not matters(branches, i, j, best, witness) or leads_to(branches, j, best):
                continue
            n, d = seen[j][i], disagreed[j][i]
            bar, weight = held_against(branches, prices, seen, disagreed, i, j, best, way)
            if settles(n, d, bar, weight, horizon, zone, 0.0):
                continue
            if j != witness and is_ruled_out(branches, prices, seen, disagreed, j, horizon, zone):
                continue
            # Of a rival and the way that it is held against the less seen one is looked at.
            bought = best if weight < 0.5 else j
            looks = seen[way][i] if bought == best else n
            if chosen == NOTHING or looks < least or (looks == least and bought > chosen):
                chosen, least = bought, looks
    if chosen in (NOTHING, best):
        return best
    return where_to_buy_on_tree(branches, prices, seen, disagreed, chosen, best, zone)


def where_to_buy_on_tree(
    branches: Any, prices: Any, seen: Any, disagreed: Any, j: int, best: int, zone: float
) -> int:
    """Return where to look at j: there, or in turn at a test below it that pays from it.

    Of these it is the one that seems to cost the least more than ``best``, and less than j. They
    are compared at the last test that they have in common with ``best``.
    """
    common = 0
    for i in range(best + 1):
        if branches[i][j] != NOTHING and leads_to(branches, i, best):
            common = i
    cheapest = j
    for m in range(j + 1, len(prices)):
        if (
            branches[j][m] != NOTHING
            and pays(prices, seen, disagreed, j, m, zone)
            and excess(prices, seen, disagreed, m, common)
            < excess(prices, seen, disagreed, cheapest, common)
        ):
            cheapest = m
    return cheapest if 2 * seen[cheapest][cheapest] <= seen[j][j] else j
