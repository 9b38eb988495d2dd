"""Over λ, the weight of a dollar: where weak dominance fails, and what disagreement then costs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from paper.experiment import JSON
from stopwise.cascade import Cascade, FloatArray
from stopwise.disagreement import is_dominant_at
from stopwise.problem.instance import Instance

Span = tuple[float, float]
# Lines are drawn up to this distance from a jump on either side, as a share of λ.
NEAR = 1e-9
POINTS = 200


def priced(world: Instance, dollars: FloatArray, weight: float) -> Instance:
    """Return the world with prices λ · dollars, where ``dollars`` add up along the cascade."""
    return world.with_cascade(Cascade(costs=np.diff(weight * dollars, prepend=0.0)))


def limit_stage(disagreement: FloatArray, cascade: Cascade) -> int:
    """Return where a learner without labels ends: the first stage beyond which nothing can pay."""
    stages = range(cascade.n_stages)
    return next(k for k in stages if is_dominant_at(disagreement, cascade, k))


def edges(world: Instance, dollars: FloatArray, span: Span) -> list[float]:
    """Return the λ inside ``span`` at which anything can change, with the ends of the span.

    The best stage changes only where a price is a difference of error rates, and what a price
    covers only where it is a disagreement.
    """
    points = set(span)
    for j in range(len(dollars)):
        for i in range(j):
            step = dollars[j] - dollars[i]
            at = (
                world.disagreement[i, j] / step,
                (world.error_rates[i] - world.error_rates[j]) / step,
            )
            points.update(float(x) for x in at if span[0] < x < span[1])
    return sorted(points)


def failing_spans(world: Instance, dollars: FloatArray, span: Span) -> list[Span]:
    """Return the ranges of λ in which weak dominance fails, to the last digit."""
    spans: list[Span] = []
    for low, high in pairwise(edges(world, dollars, span)):
        if priced(world, dollars, float(np.sqrt(low * high))).is_weakly_dominant():
            continue
        joined = bool(spans) and spans[-1][1] == low
        spans.append((spans.pop()[0] if joined else low, high))
    return spans


def limit_regret(world: Instance, dollars: FloatArray, span: Span) -> JSON:
    """Return the regret a round where `limit_stage` ends, as a line over λ with its jumps."""
    x, worlds = _over(world, dollars, span)
    y = [float(w.gaps[limit_stage(w.disagreement, w.cascade)]) for w in worlds]
    return {"lambda": x, "regret": y}


def dominance_line(world: Instance, dollars: FloatArray, span: Span) -> JSON:
    """Return the dominance ratio over λ with its jumps; None where the last stage is best."""
    x, worlds = _over(world, dollars, span)
    ratios = [w.dominance_ratio() for w in worlds]
    return {"lambda": x, "ratio": [r if np.isfinite(r) else None for r in ratios]}


def failing_share(spans: list[Span], span: Span) -> float:
    """Return the share of ln λ that the spans take up.

    >>> failing_share([(0.01, 0.1)], (0.01, 1.0))
    0.5
    """
    return float(sum(np.log(high / low) for low, high in spans) / np.log(span[1] / span[0]))


def _over(world: Instance, dollars: FloatArray, span: Span) -> tuple[list[float], list[Instance]]:
    jumps = np.array(edges(world, dollars, span)[1:-1])
    x = np.unique(
        np.concatenate([np.geomspace(*span, POINTS), jumps * (1 - NEAR), jumps * (1 + NEAR)])
    ).tolist()
    return x, [priced(world, dollars, weight) for weight in x]
