"""The rule of Resolve on a tree: the same questions as in a chain, and one more about rivals.

Let b be what looks best, the end of the steepest walk.

1. Nothing below b may pay: (b, j) has to be settled for every j below b.
2. Each test a above b was passed over because something in b's branch pays. If that lies on the way
   to b, it is shown anyway. Otherwise the strongest such comparison has to be settled.
3. A *rival* of b at a lies below a in another branch. It is never seen together with b, but both
   are seen together with a. So it has to be settled that the rival gains no more at a than the way
   to b.

Questions 1 and 3 are also answered if it is settled that j does not pay from some test above it,
or that a test below j pays from it: then j is not best. The open question that was seen least is
bought first, of equals the one about the last test. As in `resolution.where_to_buy`, the look is
taken there or, in turn, further down.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.compiled_rule import NOTHING, Tables, pair
from stopwise.policies.resolution import epoch_end, evidence, excess, is_settled, pays, settles
from stopwise.policies.walk import steepest_walk


def looks_best_on_tree(tables: Tables, zone: float) -> int:
    """Return the end of the steepest walk, for which an unseen pair gains nothing."""
    return steepest_walk(tables, zone / 2, -math.inf)


def is_below(tables: Tables, j: int, i: int) -> bool:
    """Whether test j lies below test i."""
    return bool(tables.branches[i][j] != NOTHING)


def leads_to(tables: Tables, i: int, best: int) -> bool:
    """Whether i lies on the way to ``best``, its end included."""
    return i == best or is_below(tables, best, i)


def leader(tables: Tables, a: int, best: int) -> int:
    """Return what seems to gain most on the way from ``a`` to ``best``, NOTHING if nothing does."""
    strongest, most = NOTHING, 0.0
    for j in range(a + 1, best + 1):
        if is_below(tables, j, a) and leads_to(tables, j, best) and -excess(tables, j, a) > most:
            strongest, most = j, -excess(tables, j, a)
    return strongest


def witness_on_tree(tables: Tables, a: int, best: int, zone: float) -> int:
    """Return the test because of which ``a`` is passed over: one on the way to ``best``, if any."""
    strongest, witness = -1.0, NOTHING
    for j in range(a + 1, len(tables.prices)):
        if tables.branches[a][j] != tables.branches[a][best] or not pays(tables, a, j, zone):
            continue
        if leads_to(tables, j, best):
            return j
        proof = evidence(tables, a, j, zone)
        if proof > strongest:
            strongest, witness = proof, j
    return witness


def matters(tables: Tables, i: int, j: int, best: int, witness: int) -> bool:
    """Whether ``best`` rests on the comparison of i, on the way to it, with j."""
    return is_below(tables, j, i) and (i == best or j == witness or is_rival(tables, i, j, best))


def is_rival(tables: Tables, i: int, j: int, best: int) -> bool:
    """Whether j, below i, lies in another branch than ``best`` does."""
    return bool(i != best and tables.branches[i][j] != tables.branches[i][best])


def rival_bar(tables: Tables, i: int, j: int, best: int, way: int) -> tuple[float, float]:
    """Return the bar that the disagreement of i and j has to exceed, and the weight of evidence.

    The bar is the price and, for a rival, what the `leader` of the way seems to gain. The leader
    was observed too, n_way times: a difference has the variance 1/n + 1/n_way in place of 1/n.
    """
    n, _, price = pair(tables, i, j)
    if way == NOTHING or not is_rival(tables, i, j, best):
        return float(price), 1.0
    n_way = tables.seen[way][i]
    return price - excess(tables, way, i), n_way / (n_way + n)


def is_ruled_out(tables: Tables, j: int, horizon: int, zone: float) -> bool:
    """Whether it is settled that j does not pay from a test above it, or one below pays from it.

    There are many such comparisons, so each needs ln K more evidence.
    """
    extra = math.log(len(tables.prices))
    for other in range(len(tables.prices)):
        above, below = min(other, j), max(other, j)
        if (
            is_below(tables, below, above)
            and pays(tables, above, below, zone) == (above == j)
            and is_settled(tables, above, below, horizon, zone, extra)
        ):
            return True
    return False


def resolving_walk(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    """Return the test to stop at after ``n_rounds``, for one round; the setting is the zone."""
    zone, horizon = tables.settings[0], epoch_end(n_rounds)
    best = looks_best_on_tree(tables, zone)
    question, least = NOTHING, 0
    for i in range(best + 1):
        if not leads_to(tables, i, best):
            continue
        way = leader(tables, i, best)
        witness = witness_on_tree(tables, i, best, zone)
        for j in range(i + 1, len(tables.prices)):
            if not matters(tables, i, j, best, witness) or leads_to(tables, j, best):
                continue
            n, d, _ = pair(tables, i, j)
            bar, weight = rival_bar(tables, i, j, best, way)
            if settles(n, d, bar, weight, horizon, zone, 0.0):
                continue
            if j != witness and is_ruled_out(tables, j, horizon, zone):
                continue
            # Of a rival and the way that it is compared with, look at the one that was seen less.
            test = best if weight < 0.5 else j
            looks = tables.seen[way][i] if test == best else n
            if question == NOTHING or looks < least or (looks == least and test > question):
                question, least = test, looks
    if question in (NOTHING, best):
        return best, 1
    return where_to_buy_on_tree(tables, question, best, zone), 1


def where_to_buy_on_tree(tables: Tables, j: int, best: int, zone: float) -> int:
    """Return where to look at j: there, or in turn at a test below it that pays from it.

    Of these it is the one that seems to cost the least more than ``best``, and less than j. They
    are compared at the last test that they have in common with ``best``.
    """
    common = 0
    for i in range(best + 1):
        if is_below(tables, j, i) and leads_to(tables, i, best):
            common = i
    cheapest = j
    for m in range(j + 1, len(tables.prices)):
        is_cheaper = excess(tables, m, common) < excess(tables, cheapest, common)
        if is_below(tables, m, j) and pays(tables, j, m, zone) and is_cheaper:
            cheapest = m
    seen = tables.seen
    return cheapest if 2 * seen[cheapest][cheapest] <= seen[j][j] else j
