"""The rule of Resolve: what looks best, what could overturn it, and where to buy the answer.

Tables are indexed ``table[j][i]`` with i <= j, as in `optimism`: lists in a learner, arrays where
numba compiles these same functions. ``zone`` is the width of indifference, see `indifference`.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.indifference import other_side_of, width, zone_until
from stopwise.policies.optimism import FOREVER, HAIR, NOTHING
from stopwise.theory.divergence import bernoulli_kl

# The first epoch has so many rounds. With shorter ones a few cases would settle a comparison.
FIRST_EPOCH = 1024
# The weight of ln(1 + x) in `demanded_evidence`. At 0 some runs rest on a mistake for long.
CAUTION = 0.5
# What contradicts a stage counts for more than nothing, whatever rounding makes of it.
_LEAST = 1e-300


def epoch_end(n_rounds: int) -> int:
    """Return the end of the epoch: the next round, rounded up to a power of two, at least 1,024."""
    end = FIRST_EPOCH
    while end <= n_rounds:
        end *= 2
    return end


def demanded_evidence(horizon: int, n: int) -> float:
    """Return the evidence that ``n`` cases must hold to settle a comparison up to ``horizon``.

    x + ½ ln(1 + x) with x = ln(horizon / n): a comparison seen in nearly every round needs little,
    since a mistake would soon be noticed; one that is no longer seen needs about ln t.
    """
    x = math.log(horizon / n)
    return x + CAUTION * math.log1p(x)


def pays(prices: Any, seen: Any, disagreed: Any, i: int, j: int, zone: float) -> bool:
    """Whether going on from i to j looks worth its price; an unseen pair does not."""
    return bool(disagreed[j][i] > seen[j][i] * (prices[j][i] + width(prices[j][i], zone) / 2))


def evidence_in(n: int, d: int, price: float, zone: float) -> float:
    """Return n·kl(d / n, price): how far d disagreements are from the other side."""
    if price >= 1:
        return math.inf  # no test is worth more than a mistake
    if n == 0:
        return 0.0
    other_side = other_side_of(n, d, price, zone)
    return float(n * bernoulli_kl(d / n, other_side))


def evidence(prices: Any, seen: Any, disagreed: Any, i: int, j: int, zone: float) -> float:
    """Return how far the data on i and j are from the other side of their price."""
    return evidence_in(seen[j][i], disagreed[j][i], prices[j][i], zone)


def settles(
    n: int, d: int, price: float, weight: float, horizon: int, zone: float, extra: float
) -> bool:
    """Whether n cases, d disagreeing, hold ``extra`` more evidence than ``horizon`` demands."""
    if n == 0:
        return bool(price >= 1)
    return weight * evidence_in(n, d, price, zone) >= extra + demanded_evidence(horizon, n)


def is_settled(
    prices: Any, seen: Any, disagreed: Any, i: int, j: int, horizon: int, zone: float, extra: float
) -> bool:
    """Whether the comparison of i and j is settled up to ``horizon``, with ``extra`` evidence."""
    return settles(seen[j][i], disagreed[j][i], prices[j][i], 1.0, horizon, zone, extra)


def doubt(prices: Any, seen: Any, disagreed: Any, i: int, zone: float, most: float) -> float:
    """Return the strongest evidence against stage i: its doubt L_i, 0 if nothing contradicts it.

    Stage i is contradicted by an earlier stage from which it does not pay, and by a later one that
    pays. From ``most`` on the exact number is not asked for.
    """
    found = 0.0
    for j in range(i + 1, len(prices)):
        if pays(prices, seen, disagreed, i, j, zone):
            found = max(found, evidence(prices, seen, disagreed, i, j, zone), _LEAST)
            if found >= most:
                return found
    for m in range(i):
        if not pays(prices, seen, disagreed, m, i, zone):
            found = max(found, evidence(prices, seen, disagreed, m, i, zone))
    return found


def least_doubted(prices: Any, seen: Any, disagreed: Any, zone: float) -> tuple[int, float]:
    """Return the stage that looks best, the first of least doubt, and its doubt."""
    best, least = 0, math.inf
    for i in range(len(prices)):
        found = doubt(prices, seen, disagreed, i, zone, least)
        if found < least:
            best, least = i, found
        if least == 0:
            break
    return best, least


def ruled_out_by(
    prices: Any,
    seen: Any,
    disagreed: Any,
    j: int,
    best: int,
    least: float,
    horizon: int,
    zone: float,
) -> tuple[int, int]:
    """Return the comparison that rules out the later stage j, (NOTHING, NOTHING) if none does.

    The comparison with ``best`` itself, or any other one that contradicts j: it needs ln K more
    evidence, since there are many. The doubt of ``best`` is asked for on top.
    """
    if not pays(prices, seen, disagreed, best, j, zone) and is_settled(
        prices, seen, disagreed, best, j, horizon, zone, least
    ):
        return best, j
    extra = least + math.log(len(prices))
    for m in range(j):
        if not pays(prices, seen, disagreed, m, j, zone) and is_settled(
            prices, seen, disagreed, m, j, horizon, zone, extra
        ):
            return m, j
    for m in range(j + 1, len(prices)):
        if pays(prices, seen, disagreed, j, m, zone) and is_settled(
            prices, seen, disagreed, j, m, horizon, zone, extra
        ):
            return j, m
    return NOTHING, NOTHING


def passed_over_by(
    prices: Any, seen: Any, disagreed: Any, i: int, best: int, zone: float
) -> tuple[int, int]:
    """Return the comparison for which the earlier stage i is passed over: one shown, if any.

    Of those that ``best`` does not show it is the one with the most evidence.
    """
    for j in range(i + 1, best + 1):
        if pays(prices, seen, disagreed, i, j, zone):
            return i, j
    for m in range(i):
        if (
            not pays(prices, seen, disagreed, m, i, zone)
            and evidence(prices, seen, disagreed, m, i, zone) > 0
        ):
            return m, i
    strongest, found = 0.0, NOTHING
    for j in range(best + 1, len(prices)):
        if pays(prices, seen, disagreed, i, j, zone):
            proof = evidence(prices, seen, disagreed, i, j, zone)
            if found == NOTHING or proof > strongest:
                strongest, found = proof, j
    return i, found


def excess(prices: Any, seen: Any, disagreed: Any, m: int, best: int) -> float:
    """Return what stopping at m seems to cost more than stopping at ``best``, which it shows."""
    n = seen[m][best]
    share = disagreed[m][best] / n if n > 0 else 0.0
    return float(prices[m][best] - share)


def where_to_buy(prices: Any, seen: Any, disagreed: Any, j: int, best: int, zone: float) -> int:
    """Return where to look at j: there, or in every other look at a later stage.

    A later stage m can be the cheaper one only if going on from j to m pays. Whether it is nobody
    can tell without labels, so j and the m that seems to cost least are taken in turn. Should m
    really pay, that shows it, and j is ruled out.
    """
    cheapest = j
    for m in range(j + 1, len(prices)):
        if pays(prices, seen, disagreed, j, m, zone) and excess(
            prices, seen, disagreed, m, best
        ) < excess(prices, seen, disagreed, cheapest, best):
            cheapest = m
    return cheapest if 2 * seen[cheapest][cheapest] <= seen[j][j] else j


def resolving_choice(
    prices: Any, seen: Any, disagreed: Any, n_rounds: int, zone: float
) -> tuple[int, int]:
    """Return the stage to play after ``n_rounds`` and for how many rounds that is certain."""
    horizon = epoch_end(n_rounds)
    zone = zone_until(zone, horizon)
    own = len(prices) - 1
    # While nothing can rule out the last stage, whatever looks best, there is no more to ask.
    rounds = open_for(prices, seen, disagreed, own, NOTHING, horizon, zone)
    if rounds > 0:
        return own, min(rounds, horizon - n_rounds)
    best, least = least_doubted(prices, seen, disagreed, zone)
    while own > best:
        found, _ = ruled_out_by(prices, seen, disagreed, own, best, least, horizon, zone)
        if found == NOTHING:
            break
        own -= 1
    deepest = own
    for i in range(best):
        m, j = passed_over_by(prices, seen, disagreed, i, best, zone)
        if j > deepest and not is_settled(prices, seen, disagreed, m, j, horizon, zone, 0.0):
            deepest = j
    if deepest == best:
        rounds = unchanged_for(prices, seen, disagreed, best, best, least, zone)
        return best, min(rounds, horizon - n_rounds)
    stage = where_to_buy(prices, seen, disagreed, deepest, best, zone)
    if stage != own:
        return stage, 1
    rounds = unchanged_for(prices, seen, disagreed, own, best, least, zone)
    if rounds > 1:
        rounds = min(rounds, open_for(prices, seen, disagreed, own, best, horizon, zone))
    return stage, max(min(rounds, horizon - n_rounds), 1)


# For how many rounds a decision is certain, whatever they show


def unchanged_for(
    prices: Any, seen: Any, disagreed: Any, stage: int, best: int, least: float, zone: float
) -> int:
    """Return for how many rounds at ``stage`` the same stage must look best, with equal doubt.

    That is so while ``best`` pays from every earlier stage, more clearly than it is in doubt, and
    no stage up to ``stage`` pays from it. The doubts of what lies beyond are not shown.
    """
    rounds = FOREVER
    for i in range(best):
        rounds = min(rounds, _pays_for(prices, seen, disagreed, i, best, least, zone))
    for j in range(best + 1, stage + 1):
        n, d, bar = seen[j][best], disagreed[j][best], prices[j][best]
        bar += width(bar, zone) / 2
        if d > n * bar:
            return 1  # it adds to the doubt
        if bar < 1:  # if all further cases disagree it pays as soon as d + m > (n + m) bar
            rounds = min(rounds, int((n * bar - d) / (1 - bar) * HAIR) + 1)
    if least > 0 and stage > best:
        return 1
    return max(rounds, 1)


def _pays_for(
    prices: Any, seen: Any, disagreed: Any, i: int, j: int, least: float, zone: float
) -> int:
    """Return for how many rounds (i, j) must pay with more evidence than ``least``."""
    n, d, price = seen[j][i], disagreed[j][i], prices[j][i]
    bar = price + width(price, zone) / 2
    if d <= n * bar:
        return 1
    if bar <= 0:
        return FOREVER  # one disagreement is enough
    # If all further cases agree, it still pays until n has grown to d / bar.
    rounds = math.ceil(min(d / bar * HAIR - n, FOREVER))
    if least > 0:  # each of them takes at most ln((1 - price) / (1 - p)) of the evidence
        if d >= n or least == math.inf:
            return 1
        slope = math.log1p(-price) - math.log1p(-d / n)
        spare = evidence(prices, seen, disagreed, i, j, zone) - least
        rounds = min(rounds, int(min(spare / slope * HAIR, FOREVER)))
    return int(max(rounds, 1))


def open_for(
    prices: Any, seen: Any, disagreed: Any, j: int, best: int, horizon: int, zone: float
) -> int:
    """Return for how many rounds j must be bought, and at j, if ``best`` is not in doubt.

    No pair (m, j) may rule it out, and no later stage may seem the cheaper one. If ``best`` is
    NOTHING it may be any stage; 0 if some pair has the evidence that one of them needs.
    """
    rounds = FOREVER
    for m in range(j + 1, len(prices)):
        if pays(prices, seen, disagreed, j, m, zone):
            return 1
    for m in range(j):
        extra = 0.0 if best in (m, NOTHING) else math.log(len(prices))
        n, d, bar = seen[j][m], disagreed[j][m], prices[j][m]
        bar += width(bar, zone)
        if bar >= 1:
            return 0
        if n == 0:
            rounds = min(rounds, 1)
            continue
        # An agreeing case adds ln((1 - p) / (1 - bar)), p a share between those before and after
        # it, and lowers the demand by at most 2 / n. In n / 4 cases the share falls by a fifth.
        missing = demanded_evidence(horizon, n) + extra
        if d < n * bar:
            missing -= n * bernoulli_kl(d / n, bar)
        if missing <= 0:
            return 0
        most = max(math.log1p(-0.8 * d / n) - math.log1p(-bar), 0.0) + 2 / n
        rounds = min(rounds, max(int(min(missing / most * HAIR, n / 4)), 1))
    return rounds
