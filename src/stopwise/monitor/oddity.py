"""Which stage stands apart from the others in what was seen."""

from __future__ import annotations

from collections import Counter

from stopwise.patterns import Pattern


def top_share(patterns: Counter[Pattern], stage: int) -> float:
    """Return how often a stage gives its most common answer."""
    answers: Counter[object] = Counter()
    for outputs, times in patterns.items():
        if stage < len(outputs) and outputs[stage] is not None:
            answers[outputs[stage]] += times
    return answers.most_common(1)[0][1] / answers.total() if answers else 0.0


def odd_one_out(disagreement: dict[tuple[int, int], float], n_stages: int) -> int:
    """Return the stage that disagrees with each other more than any two others do; -1 if none.

    >>> odd_one_out({(0, 1): 0.1, (0, 2): 0.6, (1, 2): 0.5}, 3)
    2
    """
    if n_stages < 3:  # two that disagree do not say which of them is to blame
        return -1
    for k in range(n_stages):
        own = [p for pair, p in disagreement.items() if k in pair]
        others = [p for pair, p in disagreement.items() if k not in pair]
        if min(own) > max(others):
            return k
    return -1
