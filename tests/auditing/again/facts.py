"""What a report has to hold, in the order in which it holds it."""

import json
from functools import cache

from tests.auditing.again import logs
from tests.auditing.again.price_bands import map_ends
from tests.auditing.again.whole import Again

RULES = (
    "strong dominance", "weak dominance", "minimax regret", "Dawid–Skene", "always the last"
)  # fmt: skip


@cache
def again(name):
    return Again(logs.raw(name))


@cache
def told(name):
    return json.loads(logs.report(name).to_json())


def ratio(a):
    _, stage = a.finding()
    if stage is None:
        return None
    shares = [(a.price(i, j), a.share[i, j]) for i, j in a.beyond(stage)]
    return min((price / p for price, p in shares if p), default=None)


def chosen(a):
    p0 = [0 if k == 0 else a.share.get((0, k)) for k in a.stages]
    strong = None if None in p0 else min(a.stages, key=lambda k: a.C[k] - p0[k])
    fitted = min(a.stages, key=lambda k: a.dawid_skene[k] + a.C[k])
    return [strong, a.sound(a.share), a.safest, fitted, a.K - 1]


def patterns(a):
    code = {None: -1, **{y: c for c, y in enumerate(a.classes)}}
    return sorted(a.counts, key=lambda row: [code[y] for y in row])


def groups(a):
    asked = [
        (tuple(-1 if c is None else c for c in camp), n, m) for camp, (n, m) in a.plan.items() if m
    ]
    return sorted(asked, key=lambda group: (-group[2], group[0]))


def curve(a):
    low, high = map_ends(a)
    return [low * (high / low) ** (step / 240) for step in range(241)]


def words(a):
    """The numbers in the words of what is assumed are those that were given."""
    said = [str(taken) for taken in a.log.assumptions]
    said += [f"never right: {', '.join(map(repr, a.log.never_right))}"] * bool(a.log.never_right)
    said += ["the right answer may be a value that no test gives"] * a.log.unseen
    said += ["outputs are missing by chance, given the outputs before them"] * a.log.at_random
    many = f"{len(a.labelled):,} labels were drawn at random within patterns"
    return [*said, *[many] * bool(a.log.labels)]
