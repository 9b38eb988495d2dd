"""The stage that disagrees with all others, and how well two stages agree."""

from __future__ import annotations

import math
from collections import Counter

from stopwise.patterns import Pattern


def kappa(patterns: Counter[Pattern], i: int, j: int) -> tuple[float, float]:
    """Return Cohen's kappa of two stages, and its standard error.

    It is 1 if they always agree and 0 if they do so no more often than by chance.

    >>> value, error = kappa(Counter({("a", "a"): 40, ("b", "b"): 40, ("a", "b"): 20}), 0, 1)
    >>> round(value, 3), round(error, 3)
    (0.615, 0.078)
    """
    first, second = Counter[object](), Counter[object]()
    n_differ = 0
    for outputs, times in patterns.items():
        if max(i, j) < len(outputs) and outputs[i] is not None and outputs[j] is not None:
            first[outputs[i]] += times
            second[outputs[j]] += times
            n_differ += times * (outputs[i] != outputs[j])
    n = first.total()
    by_chance = n - sum(times * second[value] for value, times in first.items()) / max(n, 1)
    if not by_chance:
        return 1.0, math.inf
    share = (n_differ + 1) / (n + 2)  # smoothed: a few cases without a difference prove little
    return 1.0 - n_differ / by_chance, math.sqrt(n * share * (1.0 - share)) / by_chance


def odd_one_out(disagreement: dict[tuple[int, int], float], n_stages: int) -> int:
    """Return the stage that disagrees with every other more than any two others do; -1 if none.

    >>> odd_one_out({(0, 1): 0.1, (0, 2): 0.6, (1, 2): 0.5}, 3)
    2
    """
    if n_stages < 3:  # of two that disagree, either may be at fault
        return -1
    for k in range(n_stages):
        own = [p for pair, p in disagreement.items() if k in pair]
        others = [p for pair, p in disagreement.items() if k not in pair]
        if min(own) > max(others):
            return k
    return -1
