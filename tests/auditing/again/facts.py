"""What a report has to hold, in the order in which it holds it."""

import json
from functools import cache

from tests.auditing.again import logs
from tests.auditing.again.advised import Again

RULES = ("strong dominance", "weak dominance", "minimax regret", "belief", "always the last")


@cache
def again(name):
    return Again(logs.raw(name))


@cache
def report_of(name):
    return json.loads(logs.report(name).to_json())


def ratio(a):
    _, stage = a.finding()
    if stage is None:
        return None
    shares = [(a.price(i, j), a.share[i, j]) for i, j in a.beyond(stage)]
    return min((price / p for price, p in shares if p), default=None)


def rule_stages(a):
    p0 = [0 if k == 0 else a.share.get((0, k)) for k in a.stages]
    strong = None if None in p0 else min(a.stages, key=lambda k: a.C[k] - p0[k])
    rates, has_rates = a.belief
    believed = min(a.stages, key=lambda k: rates[k] + a.C[k]) if has_rates else None
    return [strong, a.sound(a.share), a.safest, believed, a.K - 1]


def patterns(a):
    code = {None: -1, **{y: c for c, y in enumerate(a.classes)}}
    return sorted(a.counts, key=lambda row: [code[y] for y in row])


def groups(a):
    sizes = [
        (tuple(-1 if c is None else c for c in camp), n, m) for camp, (n, m) in a.plan.items() if m
    ]
    return sorted(sizes, key=lambda group: (-group[2], group[0]))


def assumed(a):
    """What was assumed, as JSON has it: the kind and what was given."""
    return [
        {"kind": type(assumption).__name__, **{k: list(v) if isinstance(v, tuple) else v
                                          for k, v in vars(assumption).items()}}
        for assumption in a.log.assumed()
    ]  # fmt: skip
