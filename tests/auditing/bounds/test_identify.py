"""Bounds are those of one plain programme over all labels, and contradictions are named."""

import numpy as np
import pytest

from stopwise.auditing.assumptions import ErrsWithin, NeverRight, Ordered, Prevalence
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.cascade import Cascade
from stopwise.errors import AssumptionError, SettingError
from tests.auditing.again.bounded import Bounded
from tests.auditing.again.raw_log import RawLog, rows_of
from tests.auditing.worlds import draw, histogram_of


def random_rows(rng, n_stages, n_classes, n_patterns, *, missing=0.0):
    rows = rng.integers(0, n_classes, (n_patterns, n_stages)).astype(object)
    rows[rng.random(rows.shape) < missing] = None
    rows[:n_classes, 0] = range(n_classes)  # every class occurs
    return rows.repeat(rng.integers(1, 9, n_patterns), axis=0)


def directions(K):
    unit = np.eye(K)
    yield from unit
    yield from -unit
    yield from (unit[i] - unit[j] for i in range(K) for j in range(K) if i != j)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_those_of_the_whole_programme(seed):
    rng = np.random.default_rng(seed)
    K, M = 2 + seed % 4, 2 + seed % 3
    rows = random_rows(rng, K, M, 12, missing=0.15 if seed % 2 else 0.0)
    cascade = Cascade([0.1] * K)
    bounds = [ErrsWithin(f"test {K}", 0.6)] * (seed % 2)
    bounds += [Prevalence(0, 0.2, 0.7)] * (seed % 4 < 2)
    log = RawLog(
        rows_of(rows),
        (0.1,) * K,
        names=cascade.names,
        assumptions=(Ordered(), *bounds),
        never_right=(M - 1,) if M > 2 and seed % 3 == 0 else (),
        unseen=seed % 5 == 0,
    )
    wanted = list(directions(K))
    again = Bounded(log)
    np.testing.assert_allclose(
        IdentifiedSet(histogram_of(log.rows, cascade), log.assumed()).maxima(np.array(wanted)),
        [again.most(w) for w in wanted],
        atol=1e-8,
    )


def test_contradictions_are_named_and_nothing_else_is():
    rows = [[0, 0, 0]] * 6 + [[1, 1, 1]] * 2 + [[0, 1, 0]] * 2
    law = histogram_of(rows, Cascade([0.1] * 3, names=["a", "b", "c"]))
    with pytest.raises(AssumptionError) as caught:
        IdentifiedSet(
            law,
            [Ordered(), Prevalence(1, 0.9, 1.0), ErrsWithin("c", 0.1), ErrsWithin("a", 0.9)],
        )
    text = str(caught.value)
    assert "at once" in text
    assert "1 is right in 0.9 to 1" in text
    assert "'c' errs in at most 0.1" in text
    assert "before" not in text
    assert "'a'" not in text


def test_conditions_that_are_just_solvable_are_solved():
    """The order forces equality: Y^2 = 1 - Y^1 and Y^3 = Y^1."""
    law = histogram_of([[0, 1, 0], [1, 0, 1]], Cascade([0.1] * 3))
    for bounds in IdentifiedSet(law, [Ordered()]).error_rates:
        assert (bounds.low, bounds.high) == pytest.approx((0.5, 0.5), abs=1e-8)


@pytest.mark.slow
def test_twenty_thousand_patterns_of_twelve_tests():
    rng = np.random.default_rng(0)
    _, outputs = draw(rng, 26_000, np.linspace(0.45, 0.15, 12), n_classes=10)
    law = histogram_of(outputs, Cascade([0.01] * 12))
    assert len(law.codes) >= 20_000
    identified = IdentifiedSet(law, [Ordered(), ErrsWithin("test 12", 0.2)])
    differences = identified.largest_differences
    assert (np.tril(differences) <= 1e-8).all()
    assert differences[0, 11] > 0
    assert identified.error_rates[11].high == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("assumption", "message"),
    [
        (lambda: ErrsWithin("test 3", 0.1), "must be one of test 1, test 2"),
        (lambda: Prevalence(7, 0.0, 0.1), "got 7; the log has 0, 1"),
        (lambda: NeverRight(0, 1), "at least one value must be allowed"),
        (lambda: Prevalence(1, 0.5, 0.1), "low <= high"),
    ],
)
def test_assumptions_that_make_no_sense_are_refused(assumption, message):
    law = histogram_of([[0, 1], [1, 1]], Cascade([0.1, 0.1]))
    with pytest.raises(SettingError, match=message):
        IdentifiedSet(law, [assumption()])


def test_a_contradiction_names_what_is_never_right():
    law = histogram_of(np.array([["x", "x"], ["y", "x"], ["x", "y"], ["y", "y"]]), Cascade([1, 1]))
    good = ErrsWithin("test 2", 0.3)
    IdentifiedSet(law, [good])
    with pytest.raises(AssumptionError, match=r"at once that .* and that 'x' is never the right"):
        IdentifiedSet(law, [good, NeverRight("x")])
    low = (ErrsWithin("test 1", 0.0), ErrsWithin("test 2", 0.0))
    with pytest.raises(AssumptionError) as without:
        IdentifiedSet(law, [*low, NeverRight("x")])
    assert "never the right" not in str(without.value)  # it contradicts without that too
