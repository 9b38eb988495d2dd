"""Numbers of the report once more, by other means: SciPy, pandas, loops over single cases."""

import math
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, xlogy
from scipy.stats import chi2_contingency

import stopwise as sw
from tests.auditing.worlds import draw

NAMES = ["a", "b", "c"]
PRICES = np.array([1.0, 2.0, 6.0])
MISTAKE = 40.0
SHARE = 0.05 / 3  # of the confidence, for disagreement, strong dominance and labels each


def ends(log_capital, mean, bar):
    """Where a capital that grows on both sides of the mean reaches the bar."""

    def edge(outside):
        if mean == outside or log_capital(outside) < bar:
            return outside
        near = mean + 1e-12 * (outside - mean)
        return brentq(lambda m: log_capital(m) - bar, near, outside, xtol=1e-14)

    return edge(1e-15), edge(1 - 1e-15)


def betting_interval(total, n, alpha):
    def log_capital(m):
        mixed = betaln(total + 0.5, n - total + 0.5) - math.log(math.pi)
        return mixed - xlogy(total, m) - xlogy(n - total, 1 - m)

    return ends(log_capital, total / n, -math.log(alpha))


@pytest.fixture(scope="module")
def log():
    labels, outputs = draw(np.random.default_rng(5), 2_500, (0.3, 0.2, 0.12))
    frame = pd.DataFrame(outputs, columns=NAMES).astype("Int64")
    rng = np.random.default_rng(6)
    frame.loc[(frame.a == 0) & (rng.random(len(frame)) < 0.4), ["b", "c"]] = pd.NA
    frame.loc[rng.random(len(frame)) < 0.1, "c"] = pd.NA
    return labels, frame


@pytest.fixture(scope="module")
def report(log):
    labels, frame = log
    told = frame.assign(label=labels)[:200]
    return sw.audit(frame, sw.Cascade(PRICES, MISTAKE, NAMES), labels=told, n_planned=30)


def test_shares_intervals_ratios_and_margins(log, report):
    _, frame = log
    C = PRICES.cumsum() / MISTAKE
    for pair in report.facts.verdict.pairs:
        i, j = pair.shallow, pair.deep
        both = frame.iloc[:, [i, j]].dropna()
        total = int((both.iloc[:, 0] != both.iloc[:, 1]).sum())
        # b's gaps depend on a, so those who show a pair are a choice: the others may be anything
        assert pair.is_biased
        low, _ = betting_interval(total, len(frame), SHARE / 3)
        _, high = betting_interval(total + len(frame) - len(both), len(frame), SHARE / 3)
        assert (pair.n_seen, pair.n_disagreed) == (len(both), total)
        assert (pair.interval.low, pair.interval.high) == pytest.approx((low, high), abs=1e-9)
        price = C[j] - C[i]
        assert pair.ratio == pytest.approx(price / (total / len(both)))
        assert pair.margin == pytest.approx(price - total / len(both))
        span = pair.ratio_interval
        assert (span.low, span.high) == pytest.approx((price / high, price / low))
    later = [p.ratio for p in report.facts.verdict.pairs if p.shallow == report.facts.verdict.stage]
    assert report.facts.verdict.ratio == pytest.approx(min(later, default=math.inf))


def test_flip_flops(log, report):
    _, frame = log
    flips = maybe = 0
    for row in frame.itertuples(index=False):
        trials = product(*([y] if y is not pd.NA else [0, 1] for y in row))
        turned = [sum(x != y for x, y in pairwise(trial)) > 1 for trial in trials]
        flips += all(turned)
        maybe += any(turned) and not all(turned)
    low, _ = betting_interval(flips, len(frame), SHARE)
    _, high = betting_interval(flips + maybe, len(frame), SHARE)
    strong = report.facts.strong_dominance
    assert (strong.n_cases, strong.n_contradicting, strong.n_open) == (len(frame), flips, maybe)
    assert strong.rate == pytest.approx(flips / len(frame))
    assert (strong.interval.low, strong.interval.high) == pytest.approx((low, high), abs=1e-9)


def test_what_is_missing(log, report):
    _, frame = log
    gaps = report.facts.missing
    assert gaps.n_missing == tuple(frame.isna().sum())
    assert gaps.n_incomplete == frame.isna().any(axis=1).sum()
    assert gaps.n_prefix == gaps.n_incomplete  # here nobody skips b and runs c
    for k, before in ((1, ["a"]), (2, ["a", "b"])):
        known = frame.dropna(subset=before)
        table = pd.crosstab([known[name] for name in before], known[NAMES[k]].isna())
        chances = [chi2_contingency(table, correction=False).pvalue]
        if len(before) > 1:  # who agrees with whom is tried too
            table = pd.crosstab(known.a == known.b, known[NAMES[k]].isna())
            chances.append(chi2_contingency(table, correction=False).pvalue)
        expected = min(1, len(chances) * min(chances))
        assert gaps.p_values[k] == pytest.approx(expected, rel=1e-6)
    assert math.isnan(gaps.p_values[0])
    for pair in gaps.pairs:
        x, y = frame.iloc[:, pair.shallow], frame.iloc[:, pair.deep]
        least = (x.notna() & y.notna() & (x != y).fillna(False)).mean()
        most = 1 - (x.notna() & y.notna() & (x == y).fillna(False)).mean()
        assert (pair.worst.low, pair.worst.high) == pytest.approx((least, most))
