"""The rule of Resolve: what looks best, what could overturn it, and where to buy the answer.

`Tables.sums` count disagreements. ``zone`` is the width of indifference, see `indifference`. These
functions run in Python and are compiled as they are.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.compiled_rule import FOREVER, HAIR, NOTHING, Tables, pair
from stopwise.policies.indifference import other_side_of, width, zone_until
from stopwise.theory.divergence import bernoulli_kl

# The first epoch has so many rounds. With shorter ones a few cases would settle a comparison.
FIRST_EPOCH = 1024
# The weight of ln(1 + x) in `demanded_evidence`. At 0 some runs rest on a mistake for long.
CAUTION = 0.25
# Evidence against a stage is never 0, even if it is rounded to 0.
_LEAST = 1e-300


def epoch_end(n_rounds: int) -> int:
    """Return the end of the epoch: the next round, rounded up to a power of two, at least 1,024."""
    end = FIRST_EPOCH
    while end <= n_rounds:
        end *= 2
    return end


def demanded_evidence(horizon: int, n: int) -> float:
    """Return the evidence that ``n`` cases must hold to settle a comparison up to ``horizon``.

    x + ¼ ln(1 + x) with x = ln(horizon / n): a comparison seen in nearly every round needs little,
    since a mistake would soon be noticed; one that is no longer seen needs about ln t.
    """
    x = math.log(horizon / n)
    return x + CAUTION * math.log1p(x)


def pays(tables: Tables, i: int, j: int, zone: float) -> bool:
    """Whether going on from i to j looks worth its price; an unseen pair does not."""
    n, d, price = pair(tables, i, j)
    return bool(d > n * (price + width(price, zone) / 2))


def evidence_in(n: int, d: int, price: float, zone: float) -> float:
    """Return n·kl(d / n, price): how far d disagreements are from the other side."""
    if price >= 1:
        return math.inf  # no test is worth more than a mistake
    if n == 0:
        return 0.0
    return float(n * bernoulli_kl(d / n, other_side_of(n, d, price, zone)))


def evidence(tables: Tables, i: int, j: int, zone: float) -> float:
    """Return how far the data on i and j are from the other side of their price."""
    n, d, price = pair(tables, i, j)
    return evidence_in(n, d, price, zone)


def settles(
    n: int, d: int, price: float, weight: float, horizon: int, zone: float, extra: float
) -> bool:
    """Whether n cases, d disagreeing, hold ``extra`` more evidence than ``horizon`` demands."""
    if n == 0:
        return bool(price >= 1)
    return weight * evidence_in(n, d, price, zone) >= extra + demanded_evidence(horizon, n)


def is_settled(tables: Tables, i: int, j: int, horizon: int, zone: float, extra: float) -> bool:
    """Whether the comparison of i and j is settled up to ``horizon``, with ``extra`` evidence."""
    n, d, price = pair(tables, i, j)
    return settles(n, d, price, 1.0, horizon, zone, extra)


def doubt(tables: Tables, i: int, zone: float, most: float) -> float:
    """Return the strongest evidence against stage i: its doubt L_i, 0 if nothing contradicts it.

    Stage i is contradicted by an earlier stage from which it does not pay, and by a later one that
    pays. The result need not be exact once it reaches ``most``.
    """
    strongest = 0.0
    for j in range(i + 1, len(tables.prices)):
        if pays(tables, i, j, zone):
            strongest = max(strongest, evidence(tables, i, j, zone), _LEAST)
            if strongest >= most:
                return strongest
    for m in range(i):
        if not pays(tables, m, i, zone):
            strongest = max(strongest, evidence(tables, m, i, zone))
    return strongest


def least_doubted(tables: Tables, zone: float) -> tuple[int, float]:
    """Return the stage that looks best, the first of least doubt, and its doubt."""
    best, least = 0, math.inf
    for i in range(len(tables.prices)):
        against = doubt(tables, i, zone, least)
        if against < least:
            best, least = i, against
        if least == 0:
            break
    return best, least


def ruled_out_by(
    tables: Tables, j: int, best: int, least: float, horizon: int, zone: float
) -> tuple[int, int]:
    """Return the comparison that rules out the later stage j, (NOTHING, NOTHING) if none does.

    It is the comparison with ``best`` itself or any other one that contradicts j. Since there are
    many others, they need ln K more evidence. The doubt of ``best`` is demanded on top.
    """
    if not pays(tables, best, j, zone) and is_settled(tables, best, j, horizon, zone, least):
        return best, j
    extra = least + math.log(len(tables.prices))
    for m in range(j):
        if not pays(tables, m, j, zone) and is_settled(tables, m, j, horizon, zone, extra):
            return m, j
    for m in range(j + 1, len(tables.prices)):
        if pays(tables, j, m, zone) and is_settled(tables, j, m, horizon, zone, extra):
            return j, m
    return NOTHING, NOTHING


def passed_over_by(tables: Tables, i: int, best: int, zone: float) -> tuple[int, int]:
    """Return the comparison because of which the earlier stage i is passed over.

    If ``best`` shows such a comparison, it is the first of these. Otherwise it is the one with the
    most evidence.
    """
    for j in range(i + 1, best + 1):
        if pays(tables, i, j, zone):
            return i, j
    for m in range(i):
        if not pays(tables, m, i, zone) and evidence(tables, m, i, zone) > 0:
            return m, i
    strongest, witness = 0.0, NOTHING
    for j in range(best + 1, len(tables.prices)):
        if pays(tables, i, j, zone):
            proof = evidence(tables, i, j, zone)
            if witness == NOTHING or proof > strongest:
                strongest, witness = proof, j
    return i, witness


def excess(tables: Tables, m: int, best: int) -> float:
    """Return how much more stopping at m seems to cost than stopping at ``best``, above it."""
    n, d, price = pair(tables, best, m)
    return float(price - (d / n if n > 0 else 0.0))


def where_to_buy(tables: Tables, j: int, best: int, zone: float) -> int:
    """Return where to observe j: at j itself or, every other time, at a later stage.

    A later stage m can be cheaper only if going on from j to m pays. Without labels nobody can tell
    whether it is. So j and the m that seems to cost least take turns. If m really pays, this shows
    it and rules out j.
    """
    cheapest = j
    for m in range(j + 1, len(tables.prices)):
        if pays(tables, j, m, zone) and excess(tables, m, best) < excess(tables, cheapest, best):
            cheapest = m
    seen = tables.seen
    return cheapest if 2 * seen[cheapest][cheapest] <= seen[j][j] else j


def resolving_choice(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    """Return the stage to play after ``n_rounds`` and for how many rounds that is certain.

    The setting is the zone, or a negative number if it vanishes.
    """
    horizon = epoch_end(n_rounds)
    zone = zone_until(tables.settings[0], horizon)
    own = len(tables.prices) - 1
    # While nothing can rule out the last stage, whatever looks best, there is no more to ask.
    rounds = open_for(tables, own, NOTHING, horizon, zone)
    if rounds > 0:
        return own, min(rounds, horizon - n_rounds)
    best, least = least_doubted(tables, zone)
    while own > best:
        if ruled_out_by(tables, own, best, least, horizon, zone)[0] == NOTHING:
            break
        own -= 1
    deepest = own
    for i in range(best):
        m, j = passed_over_by(tables, i, best, zone)
        if j > deepest and not is_settled(tables, m, j, horizon, zone, 0.0):
            deepest = j
    if deepest == best:
        rounds = unchanged_for(tables, best, best, least, zone)
        return best, min(rounds, horizon - n_rounds)
    stage = where_to_buy(tables, deepest, best, zone)
    if stage != own:
        return stage, 1
    rounds = unchanged_for(tables, own, best, least, zone)
    if rounds > 1:
        rounds = min(rounds, open_for(tables, own, best, horizon, zone))
    return stage, max(min(rounds, horizon - n_rounds), 1)


# For how many rounds a decision is certain, whatever they show


def unchanged_for(tables: Tables, stage: int, best: int, least: float, zone: float) -> int:
    """Return for how many rounds at ``stage`` the best stage and its doubt cannot change.

    They cannot change while ``best`` pays from every earlier stage, with more evidence than its
    doubt, and no stage up to ``stage`` pays from it. These rounds do not show later stages.
    """
    rounds = FOREVER
    for i in range(best):
        rounds = min(rounds, _pays_for(tables, i, best, least, zone))
    for j in range(best + 1, stage + 1):
        n, d, price = pair(tables, best, j)
        bar = price + width(price, zone) / 2
        if d > n * bar:
            return 1  # it adds to the doubt
        if bar < 1:  # if all further cases disagree it pays as soon as d + m > (n + m) bar
            rounds = min(rounds, int((n * bar - d) / (1 - bar) * HAIR) + 1)
    if least > 0 and stage > best:
        return 1
    return max(rounds, 1)


def _pays_for(tables: Tables, i: int, j: int, least: float, zone: float) -> int:
    """Return for how many rounds (i, j) must pay with more evidence than ``least``."""
    n, d, price = pair(tables, i, j)
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
        spare = evidence(tables, i, j, zone) - least
        rounds = min(rounds, int(min(spare / slope * HAIR, FOREVER)))
    return int(max(rounds, 1))


def open_for(tables: Tables, j: int, best: int, horizon: int, zone: float) -> int:
    """Return for how many rounds j remains the stage to buy, if ``best`` is not in doubt.

    During these rounds no pair (m, j) can rule j out, and no later stage can look cheaper. If
    ``best`` is NOTHING, any stage may be best; then 0 if some pair already has enough evidence.
    """
    rounds = FOREVER
    for m in range(j + 1, len(tables.prices)):
        if pays(tables, j, m, zone):
            return 1
    for m in range(j):
        extra = 0.0 if best in (m, NOTHING) else math.log(len(tables.prices))
        n, d, price = pair(tables, m, j)
        bar = price + width(price, zone)
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
