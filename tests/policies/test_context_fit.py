"""The check of the logistic model: quiet where it holds, loud where features do not carry it."""

import numpy as np
import pytest
from scipy.special import expit

from stopwise.cascade import Cascade
from stopwise.errors import ContextError
from stopwise.policies.context_fit import context_misfit, quadratic_features

CHAIN = Cascade(costs=[0, 0.1, 0.2])


def logistic_cases(log_odds, n, seed):
    """Cases of two features in which tests 1 and 2 disagree with these log odds, 2 and 3 never."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) * [1.0, 30.0]
    changed = rng.random(n) < expit(log_odds(x[:, 0], x[:, 1] / 30))
    return [((0, int(d), int(d)), row) for d, row in zip(changed, x.tolist(), strict=True)]


def test_p_values_are_uniform_or_larger_where_the_model_holds():
    """120 worlds: 10 % and four standard errors of them may be below .1 (one in 30,000)."""
    values = []
    for seed in range(120):
        fits = context_misfit(
            logistic_cases(lambda a, b: -1 + a - b, 400, seed), Cascade(costs=[0, 0.1, 1])
        )
        values.append(fits[0].p_value / 3)  # of a single pair, times the number of pairs
    assert np.mean(np.array(values) < 0.1) < 0.1 + 4 * (0.09 / 120) ** 0.5
    assert np.mean(np.array(values) < 0.3) > 0.15  # and it has not gone to sleep


@pytest.mark.parametrize(
    "log_odds",
    [lambda a, b: -2 + 2 * a * b, lambda a, b: 1.5 * b**2 - 2],
    ids=["product", "square"],
)
def test_it_is_loud_where_features_do_not_carry_the_model(log_odds):
    cases = logistic_cases(log_odds, 3_000, 1)
    first, second, third = context_misfit(cases, CHAIN)
    assert [(f.shallow, f.deep) for f in (first, second, third)] == [(0, 1), (0, 2), (1, 2)]
    assert first.p_value < 1e-6
    assert first.statistic == pytest.approx(second.statistic)  # tests 2 and 3 are one
    assert third.p_value == 1  # they never disagree
    richer = quadratic_features([x for _, x in cases])
    (again, *_) = context_misfit([(y, x) for (y, _), x in zip(cases, richer, strict=True)], CHAIN)
    assert again.statistic / again.degrees < first.statistic / first.degrees / 4


def test_what_was_not_shown_is_left_out():
    cases = [
        (y[: 2 if k % 2 else 3], x)
        for k, (y, x) in enumerate(logistic_cases(lambda a, b: a, 300, 2))
    ]
    cases[0] = ((0, None, 1), cases[0][1])
    fits = context_misfit(cases, CHAIN)
    assert [f.n_seen for f in fits] == [299, 150, 149]
    assert context_misfit(cases[:20], CHAIN) == ()
    assert context_misfit([], CHAIN) == ()
    with pytest.raises(ContextError, match="context must have 2 features"):
        context_misfit([*cases[:3], ((0, 1), [1.0])], CHAIN)


def test_quadratic_features_of_one_case_and_of_many():
    assert quadratic_features([[2.0, 3.0], [0.0, 1.0]]).tolist() == [
        [2, 3, 4, 6, 9],
        [0, 1, 0, 0, 1],
    ]
    assert quadratic_features((2.0, 3.0)).tolist() == [2, 3, 4, 6, 9]
    with pytest.raises(ContextError, match="contexts must be features or rows of them"):
        quadratic_features(np.zeros((2, 2, 2)))
    with pytest.raises(ContextError, match="contexts must be numbers, got 'old'"):
        quadratic_features("old")
