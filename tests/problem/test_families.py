import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.errors import InstanceError
from stopwise.problem.families import (
    complement,
    dominance_sweep,
    indistinguishable_pair,
    nested_errors,
    relaxed_errors,
    split_optimum,
)

FREE = Cascade([0, 0, 0])
TREE = Cascade([0, 0.1, 0.1, 0.2, 0.1], parents=[None, 0, 0, 1, 1])


def close(values):
    return pytest.approx(np.array(values), abs=1e-12)


# Section 7's synthetic channels


def test_nested_errors_are_section_7():
    instance = nested_errors(FREE)
    assert instance.error_rates == close([0.4, 0.1, 0.05])
    assert instance.probabilities @ (instance.labels == 1) == pytest.approx(0.7)
    assert instance.disagreement == close([[0, 0.3, 0.35], [0.3, 0, 0.05], [0.35, 0.05, 0]])
    assert instance.setbacks[np.triu_indices(3)] == close([0] * 6)
    assert instance.is_strongly_dominant()
    assert instance.is_ordered()
    for label in (0, 1):  # errors do not depend on the label
        rows = instance.labels == label
        share = instance.probabilities[rows] / instance.probabilities[rows].sum()
        assert share @ ~instance.is_right[rows] == close([0.4, 0.1, 0.05])


@given(
    st.lists(st.integers(0, 16), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_nested_errors_have_the_rates_asked_for(sixteenths, prevalence):
    rates = sorted((k / 16 for k in sixteenths), reverse=True)
    instance = nested_errors(Cascade([0.1] * len(rates)), rates, prevalence=prevalence)
    assert instance.error_rates == close(rates)
    assert instance.disagreement == close(np.abs(np.subtract.outer(rates, rates)))
    assert instance.is_strongly_dominant()
    assert instance.is_weakly_dominant()


@given(st.lists(st.integers(0, 16), min_size=5, max_size=5))
def test_nested_errors_on_a_tree_are_strongly_dominant(sixteenths):
    rates = [k / 16 for k in sixteenths]
    for node, parent in enumerate(TREE.parents):
        if parent is not None:
            rates[node] = min(rates[node], rates[parent])
    instance = nested_errors(TREE, rates)
    assert instance.error_rates == close(rates)
    assert instance.is_strongly_dominant()
    # What the root and a node disagree on is what the node gains: enough to compare all nodes.
    assert instance.disagreement[0] == close(rates[0] - np.array(rates))


def test_relaxed_errors_are_section_7_by_hand():
    instance = relaxed_errors(FREE)
    assert instance.error_rates == close([0.4, 0.16, 0.11])
    assert instance.disagreement == close([[0, 0.36, 0.41], [0.36, 0, 0.158], [0.41, 0.158, 0]])
    # Where test 1 is right (.6) each later test is spoilt in a tenth of the cases, independently.
    assert instance.setbacks[0] == close([0, 0.06, 0.06])
    assert instance.setbacks[1, 2] == pytest.approx(0.6 * 0.9 * 0.1)
    assert not instance.is_strongly_dominant()
    assert instance.is_ordered()
    assert instance.output_law.flip_flop_rate() == pytest.approx(0.6 * 0.1 * 0.9)


def test_relaxed_errors_on_a_tree_are_those_of_its_tests():
    tree = Cascade([0, 0.1, 0.1], parents=[None, 0, 0])
    instance = relaxed_errors(tree)
    assert instance.error_rates == close([0.4, 0.16, 0.11])
    assert instance.disagreement[0] == close([0, 0.36, 0.41])


@pytest.mark.parametrize("slip", [0.0, 0.05, 0.25, 1.0])
def test_slips_raise_the_later_rates(slip):
    instance = relaxed_errors(FREE, slip=slip)
    assert instance.error_rates == close([0.4, 0.1 + 0.6 * slip, 0.05 + 0.6 * slip])
    assert instance.is_strongly_dominant() == (slip == 0)
    if slip == 0:
        np.testing.assert_allclose(instance.joint, nested_errors(FREE).joint)


# The sweep of the second synthetic figure


@pytest.mark.parametrize("ratio", [0.4, 0.5, 0.75, 0.99, 1.0, 1.01, 1.25, 1.5, 1.8])
@pytest.mark.parametrize("total_cost", [0.3, 0.29])
def test_the_sweep_has_the_ratio_asked_for(ratio, total_cost):
    instance = dominance_sweep(ratio, total_cost=total_cost)
    assert instance.dominance_ratio() == pytest.approx(ratio, rel=1e-12)
    assert instance.best_stage == 1
    assert instance.optimal_stages == (1,)
    assert instance.is_weakly_dominant() == (ratio >= 1)
    C = instance.cascade.cumulative_costs
    assert C[0] == 0
    assert C[2] == pytest.approx(total_cost)
    assert C[2] - C[1] == pytest.approx(ratio * 0.158)
    assert instance.error_rates == close([0.4, 0.16, 0.11])


def test_the_sound_stage_of_the_sweep_turns_at_one():
    assert sound_stage(dominance_sweep(1.0).disagreement, dominance_sweep(1.0).cascade) == 1
    assert sound_stage(dominance_sweep(0.99).disagreement, dominance_sweep(0.99).cascade) == 2


# The two instances of Theorem 3


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 0.25, 0.37])
def test_the_pair_of_theorem_3(epsilon):
    first, second = indistinguishable_pair(epsilon)
    assert first.error_rates == close([1 / 2, 1 / 2])  # printed as 1/4 each
    assert second.error_rates == close([5 / 8 + epsilon, 3 / 8])
    assert first.disagreement[0, 1] == pytest.approx(1 / 4)
    assert second.disagreement[0, 1] == pytest.approx(1 / 4 + epsilon)
    assert first.total_costs == close([1 / 2, 3 / 4])
    assert second.total_costs == close([5 / 8 + epsilon, 5 / 8])
    assert (first.best_stage, second.best_stage) == (0, 1)
    assert first.gaps == close([0, 1 / 4])
    assert second.gaps == close([epsilon, 0])
    for instance in (first, second):
        assert instance.is_ordered()
        assert instance.is_weakly_dominant()
        assert sound_stage(instance.disagreement, instance.cascade) == instance.best_stage
    marginals = [instance.joint.sum(axis=0) for instance in (first, second)]
    assert np.abs(marginals[0] - marginals[1]).max() <= epsilon + 1e-12
    assert marginals[0] == close([[6 / 8, 0], [2 / 8, 0]])
    assert second.joint.sum() == pytest.approx(1)
    assert second.joint[1, 0, 0] == pytest.approx(3 / 8)  # printed as 3/8 - ε


# The examples of the text


def test_between_two_best_stages_there_may_be_a_worse_one():
    instance = split_optimum()
    assert instance.error_rates == close([0.3, 0.25, 0])
    assert instance.cascade.cumulative_costs == close([0, 0.1, 0.3])
    assert instance.optimal_stages == (0, 2)
    assert instance.gaps == close([0, 0.05, 0])


@given(st.sampled_from([0.01, 0.25, 0.5, 0.99]), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_the_complement_errs_half_the_time_and_always_disagrees(price, prevalence):
    instance = complement(Cascade([0, price]), prevalence=prevalence)
    assert instance.error_rates == close([0.5, 0.5])
    assert instance.disagreement[0, 1] == pytest.approx(1)
    assert instance.best_stage == 0
    assert not instance.is_weakly_dominant()
    assert sound_stage(instance.disagreement, instance.cascade) == 1
    assert instance.probabilities @ (instance.labels == 1) == pytest.approx(prevalence)
    # The label is independent of the first test.
    joint = instance.joint.sum(axis=2)
    assert joint == close(np.outer(joint.sum(axis=1), joint.sum(axis=0)))


# Bad parameters


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: nested_errors(FREE, [0.4, 0.1]), "one entry per stage, got 2 for 3"),
        (
            lambda: nested_errors(FREE, [0.4, 0.1, 0.2]),
            "must not rise along a path, got 0.1 at stage 2 and 0.2 at stage 3",
        ),
        (
            lambda: nested_errors(TREE, [0.4, 0.1, 0.2, 0.3, 0]),
            "must not rise along a path, got 0.1 at stage 2 and 0.3 at stage 4",
        ),
        (
            lambda: nested_errors(FREE, [1.2, 0.1, 0]),
            r"error_rates at stage 1 must lie in \[0, 1\], got 1.2",
        ),
        (
            lambda: nested_errors(FREE, [0.4, 0.1, -0.1]),
            r"error_rates at stage 3 must lie in \[0, 1\], got -0.1",
        ),
        (lambda: nested_errors(FREE, [0.4, math.nan, 0]), r"stage 2 must lie in \[0, 1\], got nan"),
        (lambda: nested_errors(FREE, ["a", "b", "c"]), "error_rates must be numbers"),
        (lambda: nested_errors(FREE, prevalence=1.5), r"prevalence must lie in \[0, 1\], got 1.5"),
        (lambda: nested_errors(FREE, prevalence=math.nan), "prevalence must lie in"),
        (lambda: relaxed_errors(FREE, slip=-0.1), r"slip must lie in \[0, 1\], got -0.1"),
        (lambda: dominance_sweep(-0.1), "ratio must leave 0 <= c_3 <= total_cost = 0.3, got"),
        (lambda: dominance_sweep(2.0), "ratio must leave 0 <= c_3 <= total_cost = 0.3, got"),
        (lambda: dominance_sweep(math.nan), "ratio must leave"),
        (lambda: dominance_sweep(0.1), "stage 2 the only best one, got total costs"),
        (lambda: dominance_sweep(1.0, total_cost=0.5), "stage 2 the only best one"),
        (lambda: indistinguishable_pair(0), r"epsilon must lie in \(0, 3/8\), got 0"),
        (lambda: indistinguishable_pair(3 / 8), r"epsilon must lie in \(0, 3/8\), got 0.375"),
        (lambda: indistinguishable_pair(math.nan), "epsilon must lie in"),
        (lambda: complement(FREE), "cascade must be a chain of 2 stages, got Cascade"),
        (lambda: complement(Cascade([0, 1]), prevalence=2), "prevalence must lie in"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises(InstanceError, match=message):
        build()
