"""Logs with holes: what is missing, and three readings of it."""

import numpy as np
import pytest

from stopwise.audit.missing import completed_law, missing_outputs
from stopwise.cascade import Cascade
from tests.audit.worlds import draw, histogram_of

CASCADE = Cascade([0.0, 0.1, 0.1])


def stopped_early(seed, *, by_output):
    """A log in which somebody stopped: by the first output, or by a coin."""
    rng = np.random.default_rng(seed)
    _, outputs = draw(rng, 4_000, [0.35, 0.2, 0.1])
    shown = outputs.astype(object)
    coin = rng.random(len(outputs)) < 0.5
    stop = coin & (outputs[:, 0] == 0) if by_output else coin
    shown[stop, 1:] = None
    later = rng.random(len(outputs)) < np.where(outputs[:, 1] == 1, 0.6, 0.1)
    shown[later & ~stop if by_output else coin, 2] = None
    return outputs, shown


def test_nothing_is_missing():
    assert missing_outputs(histogram_of(np.array([[0, 1, 1], [1, 0, 1]]), CASCADE)) is None


def test_what_is_missing_is_counted():
    _, shown = stopped_early(0, by_output=True)
    found = missing_outputs(histogram_of(shown, CASCADE))
    gone = np.array([[v is None for v in row] for row in shown])
    assert found.n_incomplete == gone.any(axis=1).sum()
    assert found.n_prefix == found.n_incomplete
    assert found.n_missing == tuple(gone.sum(axis=0))
    assert found.is_prefix_censored
    holes = missing_outputs(histogram_of([[0, None, 1], [1, 0, 1], [0, 1, 0]], CASCADE))
    assert not holes.is_prefix_censored


def test_dependence_on_earlier_outputs_is_seen_and_chance_is_not():
    _, biased = stopped_early(1, by_output=True)
    assert missing_outputs(histogram_of(biased, CASCADE)).dependent_tests == (1, 2)
    _, fair = stopped_early(1, by_output=False)
    assert missing_outputs(histogram_of(fair, CASCADE)).dependent_tests == ()


def test_the_completed_law_is_the_product_of_what_was_seen():
    _, shown = stopped_early(2, by_output=True)
    law = completed_law(histogram_of(shown, CASCADE))
    assert law.probabilities.sum() == pytest.approx(1)
    rows = [tuple(row) for row in shown]
    for pattern, p in zip(law.patterns.tolist(), law.probabilities, strict=True):
        a, b, c = (law.classes[code] for code in pattern)
        first = sum(r[0] == a for r in rows) / len(rows)
        second = sum(r[:2] == (a, b) for r in rows) / sum(
            r[0] == a and r[1] is not None for r in rows
        )
        third = sum(r == (a, b, c) for r in rows) / sum(
            r[:2] == (a, b) and r[2] is not None for r in rows
        )
        assert p == pytest.approx(first * second * third)


def test_readings_of_the_disagreement():
    """The adjusted share is near the truth where gaps depend on outputs, the plain one is not."""
    outputs, shown = stopped_early(3, by_output=True)
    found = missing_outputs(histogram_of(shown, CASCADE))
    for pair in found.pairs:
        i, j = pair.shallow, pair.deep
        truth = (outputs[:, i] != outputs[:, j]).mean()
        both = [(r[i], r[j]) for r in shown if r[i] is not None and r[j] is not None]
        changed = sum(x != y for x, y in both)
        assert pair.plain == changed / len(both)
        assert pair.worst.low == pytest.approx(changed / len(shown))
        assert pair.worst.high == pytest.approx((changed + len(shown) - len(both)) / len(shown))
        assert truth in pair.worst
        assert pair.adjusted == pytest.approx(truth, abs=0.05)
    assert found.largest_shift == max(abs(p.adjusted - p.plain) for p in found.pairs)


def test_a_prefix_that_nothing_continues_stays_open():
    law = completed_law(histogram_of([[0, 0], [0, 1], [1, None]], Cascade([0.1, 0.1])))
    assert law.patterns.min() == -1
    assert law.probabilities.sum() == pytest.approx(1)
