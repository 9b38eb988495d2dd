"""Labels against gaps: they show a choice that no output shows, and call no chance a choice."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import stopwise as sw
from stopwise.auditing import MissingAtRandom
from stopwise.auditing.advice import Certainty, WarningKind
from stopwise.auditing.evidence.verdict import Finding

AB, ABC = ["a", "b"], ["a", "b", "c"]


def easy_ones_only(seed, n=4_000):
    """The second test ran on the easy cases, where it changes next to nothing."""
    rng = np.random.default_rng(seed)
    right, hard = rng.integers(0, 2, n), rng.random(n) < 0.6
    first = np.where(hard & (rng.random(n) < 0.6), 1 - right, right)
    second = np.where(rng.random(n) < 0.01, 1 - right, right)
    frame = pd.DataFrame({"a": first, "b": np.where(hard, -1, second)}).astype("Int64")
    frame.loc[hard, "b"] = pd.NA
    labels = frame.assign(label=right).iloc[rng.choice(n, 200, replace=False)]
    return frame, labels, (first != second).mean()


def test_labels_refute_that_tests_were_skipped_by_chance():
    frame, labels, truth = easy_ones_only(1)
    cascade = sw.Cascade([0, 0.1], 1, AB)
    alone = sw.audit(frame, cascade)
    assert alone.facts.missing.refuted_tests == ()
    assert truth in alone.facts.verdict.pairs[0].interval
    for taken in (False, True):
        report = sw.audit(frame, cascade, labels=labels, assumptions=[MissingAtRandom()] * taken)
        assert report.facts.missing.refuted_tests == (1,)
        assert report.facts.missing.adjustable_pairs(cascade) == frozenset()
        (pair,) = report.facts.verdict.pairs
        assert pair.is_biased
        assert truth in pair.interval
        assert report.facts.verdict.finding is Finding.UNDECIDED
        kinds = [warning.kind for warning in report.advice.warnings]
        assert WarningKind.GAPS_BY_TRUTH in kinds
        assert report.advice.certainty is Certainty.GUESS


def sample(rng, frame, how):
    pattern = frame.astype("string").fillna("-").agg("".join, axis=1).to_numpy()
    if how == "at random":
        return rng.choice(len(frame), 400, replace=False)
    if how == "not where two agree":
        disputed = np.flatnonzero((frame.a != frame.b).fillna(True))
        return rng.choice(disputed, 400, replace=False)
    return np.concatenate([
        rng.permutation(np.flatnonzero(pattern == p))[:40] for p in np.unique(pattern)
    ])  # fmt: skip


@pytest.mark.parametrize(
    "how", ["at random", "as many of each pattern", "not where two agree", "by a plan"]
)
@pytest.mark.slow
def test_a_router_by_outputs_is_rarely_called_one_by_what_is_right(how):
    """At 1 % or less: of 15 logs more than four are called so with chance 1e-6."""
    assert binom.sf(4, 15, 0.01) < 1e-6
    n_alarms, cascade = 0, sw.Cascade([0, 0.1, 0.1], 1, ABC)
    for seed in range(15):
        rng = np.random.default_rng(seed)
        right = rng.integers(0, 2, 3_000)
        wrong = rng.random((3_000, 3)) < [0.3, 0.2, 0.1]
        frame = pd.DataFrame(right[:, None] ^ wrong, columns=ABC)
        frame = frame.astype("Int64")
        frame.loc[rng.random(3_000) < np.where(frame.a == 1, 0.6, 0.2), ["b", "c"]] = pd.NA
        frame.loc[(frame.a == frame.b).fillna(True) & (rng.random(3_000) < 0.6), "c"] = pd.NA
        if how == "by a plan":
            plan = sw.audit(frame, cascade, n_planned=300, seed=seed).planned_cases
            rows = [(p.case, right[p.case - 1]) for p in plan]
            labels = pd.DataFrame(rows, columns=["case", "label"])
        else:
            labels = frame.assign(label=right).iloc[sample(rng, frame, how)]
        n_alarms += bool(sw.audit(frame, cascade, labels=labels).facts.missing.refuted_tests)
    assert n_alarms <= 4
