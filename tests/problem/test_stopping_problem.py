"""Stopping after seeing outputs: the best rule, the rule without labels, and what links them."""

from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paper.conditional_rules import cut_off
from paper.random_instances import random_strong, random_weak
from stopwise.cascade import Cascade
from stopwise.errors import InstanceError
from stopwise.problem.families import nested_errors
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.theory.gain import gain_of_going_on
from tests.strategies import instances, seeds

TINY = 1e-9
chains = instances(stages=(1, 3), n_classes=2, tree=False)
several = instances(stages=(1, 3), n_classes=3, tree=False)
both = pytest.mark.parametrize("pooled", [False, True], ids=["outputs", "agreement"])


def rules(drawn):
    """Every rule there is: each set of prefixes at which to stop."""
    K = drawn.n_stages
    seen = sorted({row[1 : 1 + i] for row in drawn.rows for i in range(1, K)})
    for stops in product((False, True), repeat=len(seen)):
        yield {prefix for prefix, stop in zip(seen, stops, strict=True) if stop}


def paid(drawn, rule):
    """Cost + error of a rule, case by case and without rounding."""
    C, K = list(accumulate(drawn.costs)), drawn.n_stages
    total = Fraction(0)
    for row, weight in zip(drawn.rows, drawn.weights, strict=True):
        stage = next((i for i in range(K) if row[1 : 2 + i] in rule), K - 1)
        total += weight * (Fraction(C[stage], drawn.total) + (row[1 + stage] != row[0]))
    return total / drawn.total


@given(drawn=chains)
@settings(max_examples=60)
def test_the_best_rule_is_the_best_of_all_rules(drawn):
    problem = StoppingProblem(drawn.instance)
    least = min(paid(drawn, rule) for rule in rules(drawn))
    assert problem.best_cost == pytest.approx(float(least), abs=TINY)
    assert problem.cost(problem.stops_at_best) == pytest.approx(float(least), abs=TINY)


@given(drawn=chains, data=st.data())
def test_the_cost_of_any_rule(drawn, data):
    rule = data.draw(st.sampled_from(list(rules(drawn))))
    cost = StoppingProblem(drawn.instance).cost(lambda prefix: prefix in rule)
    assert cost == pytest.approx(float(paid(drawn, rule)), abs=TINY)


def most_that_going_on_gains(cases, costs, classes, i):
    """The largest error - cost of going on over all labels of the patterns, by trying them all.

    ``cases`` are (outputs, weight), all with the same first i + 1 outputs.
    """
    patterns = sorted({outputs for outputs, _ in cases})
    total = sum(weight for _, weight in cases)

    def value(labels, rows, k):
        """What the best rule pays from stage k on, times the weight of the rows."""
        stop = sum(w for outputs, w in rows if outputs[k] != labels[outputs])
        return min(stop, going_on(labels, rows, k))

    def going_on(labels, rows, k):
        if k == len(costs) - 1:
            return np.inf
        split = {}
        for outputs, w in rows:
            split.setdefault(outputs[k + 1], []).append((outputs, w))
        return costs[k + 1] * sum(w for _, w in rows) + sum(
            value(labels, part, k + 1) for part in split.values()
        )

    best = -np.inf
    for named in product(classes, repeat=len(patterns)):
        labels = dict(zip(patterns, named, strict=True))
        wrong = sum(w for outputs, w in cases if outputs[i] != labels[outputs])
        best = max(best, wrong - going_on(labels, cases, i))
    return best / total


@given(drawn=several)
@settings(max_examples=60, deadline=None)
def test_the_gain_is_the_most_over_all_labels(drawn):
    """The formula is sharp: some labels make going on gain all of it, and none makes it more."""
    problem, K = StoppingProblem(drawn.instance), drawn.n_stages
    costs = [c / drawn.total for c in drawn.costs]
    cases = [(row[1:], w) for row, w in zip(drawn.rows, drawn.weights, strict=True)]
    for prefix, node in problem.prefixes.items():
        if len(prefix) == K:
            continue
        these = [case for case in cases if case[0][: len(prefix)] == prefix]
        assume(len({outputs for outputs, _ in these}) <= 5)
        most = most_that_going_on_gains(these, costs, range(3), len(prefix) - 1)
        assert node.gain == pytest.approx(most, abs=TINY)


@both
@given(drawn=several)
def test_where_nothing_can_be_gained_the_best_rule_stops(drawn, pooled):
    problem = StoppingProblem(drawn.instance, pooled=pooled)
    for prefix, node in problem.prefixes.items():
        if problem.stops_without_labels(prefix):
            assert problem.stops_at_best(prefix)
        assert node.error - node.going_on <= node.gain + TINY


@both
@given(drawn=several)
@settings(max_examples=200)
def test_under_conditional_weak_dominance_the_rule_without_labels_is_best(drawn, pooled):
    problem = StoppingProblem(drawn.instance, pooled=pooled)
    violations = problem.violations()
    assert problem.is_weakly_dominant() == (not violations)
    if problem.is_weakly_dominant():
        assert problem.cost_without_labels == pytest.approx(problem.best_cost, abs=TINY)
    nodes = [problem.prefixes[prefix] for prefix in violations]
    if any(node.going_on - node.error > 1e-6 for node in nodes):
        assert problem.cost_without_labels > problem.best_cost + 1e-9


def test_both_kinds_of_laws_are_common():
    """The two cases of the test above do occur, beyond what one stage for all can have."""
    rng = np.random.default_rng(0)
    problems = [StoppingProblem(random_weak(rng, 3)) for _ in range(300)]
    dominant = [p for p in problems if p.is_weakly_dominant()]
    assert 50 < len(dominant) < 250
    better = [p.cost_without_labels < p.instance.total_costs.min() - 0.01 for p in dominant]
    assert sum(better) > 10


@both
@given(drawn=several, data=st.data())
def test_it_never_costs_more_than_its_last_test_with_every_case(drawn, pooled, data):
    stage = data.draw(st.integers(0, drawn.n_stages - 1))
    problem = StoppingProblem(cut_off(drawn.instance, stage), pooled=pooled)
    last = float(drawn.instance.total_costs[stage])
    assert problem.cost_without_labels <= last + TINY


@given(seed=seeds, n_stages=st.integers(1, 4))
def test_binary_strong_dominance_is_enough_at_every_price(seed, n_stages):
    problem = StoppingProblem(random_strong(np.random.default_rng(seed), n_stages))
    assert problem.is_weakly_dominant()
    for node in problem.prefixes.values():
        if node.children:  # a change is then always for the better
            assert node.gain == pytest.approx(node.error - node.going_on, abs=TINY)


@given(drawn=several)
def test_looking_at_less_cannot_be_better_and_one_stage_is_a_rule(drawn):
    fine, coarse = (StoppingProblem(drawn.instance, pooled=p) for p in (False, True))
    assert fine.best_cost <= coarse.best_cost + TINY
    assert coarse.best_cost <= float(drawn.instance.total_costs.min()) + TINY


def test_comparing_with_each_later_stage_by_itself_is_not_enough():
    """Tests 2 and 3 each differ from test 1 in .3 of the cases, never in the same."""
    rows = [(1, 0, 1, 0), (1, 0, 0, 1), (0, 0, 0, 0)]
    instance = Instance.from_patterns(rows, [3, 3, 4], Cascade([0, 0.31, 0.2]))
    C, p = instance.cascade.cumulative_costs, instance.disagreement
    assert C[1] >= p[0, 1] and C[2] >= p[0, 2]  # noqa: PT018  # no fixed stage can gain
    problem = StoppingProblem(instance)
    # Looking after test 2 is what gains: .6 changed for .31 + .7 · .2.
    assert problem.prefixes[0,].gain == pytest.approx(0.6 - 0.45)
    assert problem.best_cost == pytest.approx(0.45)
    assert instance.total_costs.min() == pytest.approx(0.6)
    # Without labels one cannot know that test 3, which then says 0 again, is not to be believed.
    assert problem.violations() == ((0, 1),)


def test_gain_of_going_on():
    assert gain_of_going_on(0.25, 0.1, -3.0) == pytest.approx(0.15)
    assert gain_of_going_on(0.25, 0.1, 0.4) == pytest.approx(0.45)
    assert gain_of_going_on(1.0, 0.1, 0.9) == pytest.approx(0.9)


def test_known_values():
    problem = StoppingProblem(nested_errors(Cascade([0, 0.35, 0.1])))
    gains = {prefix: node.gain for prefix, node in problem.prefixes.items() if node.children}
    # P(Y^1 wrong | 1) = .12 / .54 and so on; the later tests mend 3/4 and 1/8 of these.
    assert gains[1,] == pytest.approx(0.09 / 0.54 - 0.35)
    assert gains[0, 0] == pytest.approx(0.035 / 0.25 - 0.1)
    assert gains[0,] == pytest.approx(0.21 / 0.46 - 0.35 + (0.25 / 0.46) * gains[0, 0])
    assert problem.best_cost == pytest.approx(0.341)


def test_agreement_does_not_tell_which_answer_it_was():
    world = nested_errors(Cascade([0, 0.1, 0.1]))
    problem = StoppingProblem(world, pooled=True)
    assert list(problem.first) == [(0,)]
    assert set(problem.prefixes[0,].children) == {(0, 0), (0, 1)}
    # By agreement nothing beats stage 2 for all; where 0 came first it pays to go on.
    assert problem.best_cost == pytest.approx(0.2)
    assert StoppingProblem(world).best_cost == pytest.approx(0.19)


def test_only_chains():
    tree = nested_errors(Cascade([0, 0.1, 0.1], parents=[None, 0, 0]), [0.4, 0.2, 0.1])
    with pytest.raises(InstanceError, match="instance must be on a chain"):
        StoppingProblem(tree)
