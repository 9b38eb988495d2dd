"""Worlds that change: regret and errors are those of the world in force."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import SettingError
from stopwise.problem.families import nested_errors
from tests.policies.contextual_helpers import nested_world
from tests.policies.helpers import FACTORIES
from tests.strategies import hoeffding

CASCADE = sw.Cascade([0, 0.2, 0.1])
# Stage 2 is best, then stage 1: the first test gets better.
BEFORE, AFTER = nested_errors(CASCADE, [0.4, 0.1, 0.1]), nested_errors(CASCADE, [0.1, 0.09, 0.08])


def run(policy, worlds=(BEFORE, AFTER), **settings):
    given = {"horizon": 2000, "replications": 3, "seed": 1, "change_points": [700]}
    return sw.simulate(worlds, policy, **{**given, "checkpoints": [300, 900], **settings})


@pytest.mark.parametrize("name", sorted(FACTORIES))
@pytest.mark.slow
def test_every_policy_pays_the_gaps_of_the_world_in_force(name):
    trace = run(FACTORIES[name], checkpoints=[300, 700, 900])
    np.testing.assert_array_equal(trace.stops.sum(axis=2), [trace.rounds] * 3)
    then = trace.stops[:, 1]
    np.testing.assert_allclose(trace.regret[:, 1], then @ BEFORE.gaps)
    later = trace.stops[:, 2:] - then[:, None]
    expected = trace.regret[:, 1:2] + later @ AFTER.gaps
    np.testing.assert_allclose(trace.regret[:, 2:], expected)


def test_a_change_point_needs_no_checkpoint():
    trace = run(sw.FixedStage(CASCADE, stage=2), count_errors=True)
    gaps = np.cumsum(np.where(np.arange(2000) < 700, BEFORE.gaps[2], AFTER.gaps[2]))
    np.testing.assert_allclose(trace.regret, [gaps[trace.rounds - 1]] * 3)
    np.testing.assert_allclose(trace.gaps, (7 * BEFORE.gaps + 13 * AFTER.gaps) / 20)
    expected = (700 * BEFORE.error_rates[2] + 1300 * AFTER.error_rates[2]) / 2000
    assert abs(trace.errors[:, -1].mean() / 2000 - expected) < hoeffding(6000)


def test_before_the_change_nothing_is_different():
    alone = run(sw.Resolve, [BEFORE], change_points=[], horizon=700, checkpoints=[300])
    np.testing.assert_array_equal(run(sw.Resolve).stops[:, 0], alone.stops[:, 0])


def test_equal_worlds_change_nothing_for_who_decides_case_by_case():
    twice = run(FACTORIES["Thompson"], [BEFORE, BEFORE])
    once = run(FACTORIES["Thompson"], [BEFORE], change_points=[])
    np.testing.assert_array_equal(twice.stops, once.stops)


def test_policies_that_look_at_outputs_or_contexts():
    trace = run(sw.OutputConditional)
    assert trace.stops.sum(axis=2).tolist() == [[300, 900, 2000]] * 3
    worlds = [nested_world(3, 2, seed=1), nested_world(3, 2, seed=1)]
    for policy in (lambda c: sw.ContextualResolve(c, 2), sw.Resolve):
        contextual = run(policy, worlds)
        assert contextual.stops.sum(axis=2).tolist() == [[300, 900, 2000]] * 3
        whole = run(policy, worlds[:1], change_points=[], horizon=700, checkpoints=[300])
        np.testing.assert_array_equal(contextual.regret[:, 0], whole.regret[:, 0])


@pytest.mark.parametrize(
    ("worlds", "changes", "match"),
    [
        ([BEFORE, AFTER], [], "one fewer than the environments, got 0 for 2"),
        ([BEFORE], [5], "one fewer than the environments, got 1 for 1"),
        ([BEFORE, AFTER], [2000], "end before the horizon 2000"),
        ([BEFORE, AFTER, BEFORE], [9, 9], "must increase"),
        ([BEFORE, AFTER], [0], "change_points must be a whole number >= 1"),
        ([BEFORE, nested_world(3, 2, seed=1)], [5], "cascade of the first|contexts throughout"),
        ([BEFORE, AFTER.with_cascade(sw.Cascade([0, 0.3, 0.1]))], [5], "cascade of the first"),
        ([], [], "environment must not be an empty list"),
    ],
)
def test_what_does_not_fit_is_refused(worlds, changes, match):
    with pytest.raises(SettingError, match=match):
        run(sw.Resolve, worlds, change_points=changes)
