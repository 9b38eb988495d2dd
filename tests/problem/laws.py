"""Output laws under other labels, and the stages that disagreement alone names."""

import numpy as np
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.problem.instance import Instance
from tests.strategies import instances

TWO = Cascade([0, 0.25])
JOINT = np.array([[[0.3, 0.0], [0.1, 0.0]], [[0.05, 0.05], [0.0, 0.5]]])


def of_two_or_three_classes(**settings):
    return st.sampled_from([2, 3]).flatmap(lambda m: instances(n_classes=m, **settings))


def sound(instance):
    return sound_stage(instance.disagreement, instance.cascade)


def same_law(a, b):
    return np.allclose(a.output_law.probabilities, b.output_law.probabilities) and np.array_equal(
        a.output_law.codes, b.output_law.codes
    )


def relabelled(instance, share_of_ones):
    """The same outputs with other labels: P(Y = 1 | outputs), pattern by pattern."""
    law = instance.output_law
    rows, weights = [], []
    for pattern, p, q in zip(
        law.codes.tolist(), law.probabilities, np.clip(share_of_ones, 0, 1), strict=True
    ):
        rows += [(0, *pattern), (1, *pattern)]
        weights += [p * (1 - q), p * q]
    return Instance.from_patterns(rows, weights, instance.cascade)


def first_acceptable(disagreement, cascade, slack):
    """The first stage beyond which nothing pays, a lack of up to ``slack`` forgiven."""
    C = cascade.cumulative_costs
    K = cascade.n_stages
    return next(
        i
        for i in range(K)
        if all(C[j] - C[i] >= disagreement[i, j] - slack for j in range(i + 1, K))
    )
