"""Labels of cases in which tests disagree say nothing against cases in which they agree."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs import LatentClasses
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable


def test_where_all_tests_agree_the_belief_stays_while_only_disagreements_are_labelled():
    codes = np.indices((2, 2, 2)).reshape(3, -1).T
    weights = np.array([400, 12, 60, 25, 30, 55, 15, 400])
    table = PatternTable(codes, weights, (0, 1), Cascade(costs=[1, 1, 1]))
    plain = LatentClasses.fit(table)
    lone = [([0, 1, 1], 0, 9), ([1, 0, 1], 0, 9), ([1, 1, 0], 0, 9), ([1, 0, 0], 1, 9)]
    labelled = LatentClasses.fit(table, labels=lone)
    agree = np.array([[0, 0, 0], [1, 1, 1], [-1, 1, -1]])
    assert np.allclose(labelled.posterior(agree), plain.posterior(agree), rtol=0, atol=1e-9)
    against = LatentClasses.fit(table, labels=[([1, 1, 1], 0, 200)])
    assert against.posterior(np.array([[1, 1, 1]]))[0, 0] > 0.95
