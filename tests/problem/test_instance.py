import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from paper.random_instances import random_costs, random_instance
from stopwise.cascade import Cascade
from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance
from tests.problem.laws import JOINT, TWO, of_two_or_three_classes
from tests.strategies import hoeffding, seeds

QUANTITIES = ["error_rates", "total_costs", "gaps", "disagreement", "setbacks"]


@given(of_two_or_three_classes(tree=True))
def test_every_quantity_is_that_of_the_rows(drawn):
    """Weights and costs are whole numbers here, so that ties are real ties."""
    instance, cascade = drawn.instance, drawn.instance.cascade
    K = cascade.n_stages
    cases = list(zip(drawn.rows, drawn.weights, strict=True))

    def weigh(event):
        return sum(w for (y, *s), w in cases if event(y, s))

    def pairs(event):
        return [
            [weigh(lambda y, s, i=i, j=j: event(y, s[i], s[j])) for j in range(K)] for i in range(K)
        ]

    paid = [sum(drawn.costs[a] for a in cascade.path(k)) for k in range(K)]
    errors = [weigh(lambda y, s, k=k: s[k] != y) for k in range(K)]
    totals = [c + e for c, e in zip(paid, errors, strict=True)]
    expected = {
        "error_rates": errors,
        "total_costs": totals,
        "gaps": np.subtract(totals, min(totals)),
        "disagreement": pairs(lambda _, a, b: a != b),
        "setbacks": pairs(lambda y, a, b: a == y and b != y),
    }
    for name in QUANTITIES:
        np.testing.assert_array_equal(drawn.whole(getattr(instance, name)), expected[name], name)

    def is_restless(_, s):
        paths = [[s[a] for a in cascade.path(k)] for k in range(K)]
        return any(sum(x != y for x, y in pairwise(p)) > 1 for p in paths)

    restless = instance.output_law.flip_flop_rate() * drawn.total
    assert restless == pytest.approx(weigh(is_restless), abs=1e-9)

    optimal = tuple(k for k in range(K) if totals[k] == min(totals))
    assert instance.optimal_stages == optimal
    assert instance.best_stage == optimal[0]
    assert [g == 0 for g in instance.gaps] == [k in optimal for k in range(K)]

    edges = [(parent, k) for k, parent in enumerate(cascade.parents) if parent is not None]
    assert instance.is_ordered() == all(errors[k] <= errors[parent] for parent, k in edges)
    assert instance.is_strongly_dominant() == all(
        expected["setbacks"][a][b] == 0 for b in range(K) for a in cascade.path(b)
    )

    p = expected["disagreement"]
    best = cascade.path(optimal[0])
    others = [j for j in range(K) if j not in best]
    fork = {j: max(set(best) & set(cascade.path(j))) for j in others}
    weak = all(paid[j] - paid[fork[j]] >= p[fork[j]][j] for j in others)
    assert instance.is_weakly_dominant() == weak
    ratios = [
        (paid[j] - paid[fork[j]]) / p[fork[j]][j] if p[fork[j]][j] else math.inf for j in others
    ]
    assert instance.dominance_ratio() == pytest.approx(min(ratios, default=math.inf))


# Three ways to the same instance


def assert_same(a, b):
    for name in QUANTITIES:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12, err_msg=name)
    np.testing.assert_allclose(a.joint, b.joint, atol=1e-12)
    assert a.classes == b.classes
    assert a.optimal_stages == b.optimal_stages


def test_joint_patterns_and_outcomes_agree():
    from_joint = Instance(JOINT, TWO)
    cells = list(np.ndindex(JOINT.shape))
    from_patterns = Instance.from_patterns(cells, [100 * JOINT[cell] for cell in cells], TWO)
    cases = [cell for cell in cells for _ in range(round(20 * JOINT[cell]))]
    np.random.default_rng(0).shuffle(cases)
    table = np.array(cases)
    from_outcomes = Instance.from_outcomes(table[:, 0], table[:, 1:], TWO)
    assert_same(from_joint, from_patterns)
    assert_same(from_joint, from_outcomes)
    np.testing.assert_allclose(from_joint.joint, JOINT, atol=1e-15)


@given(seeds)
def test_the_joint_round_trips(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, random_costs(rng, 3), n_classes=3)
    assert_same(instance, Instance(instance.joint, instance.cascade))


def test_repeated_patterns_add_up_and_impossible_ones_are_left_out():
    instance = Instance.from_patterns(
        [(0, 0, 0), (1, 0, 1), (0, 0, 0), (1, 1, 1)], [1, 2, 1, 0], TWO
    )
    assert instance.outputs.tolist() == [[0, 0], [0, 1]]
    assert instance.labels.tolist() == [0, 1]
    assert instance.probabilities.tolist() == [0.5, 0.5]


def test_labels_may_be_of_any_hashable_kind():
    words = Instance.from_patterns([("ill", "well", "ill"), ("well", "well", "?")], [3, 1], TWO)
    assert words.classes == ("?", "ill", "well")
    np.testing.assert_allclose(words.error_rates, [0.75, 0.25])
    assert words.disagreement[0, 1] == 1
    mixed = Instance.from_patterns([(1, "?", 1), (("a", 2), 1, ("a", 2))], [1, 1], TWO)
    assert set(mixed.classes) == {1, "?", ("a", 2)}
    np.testing.assert_allclose(mixed.error_rates, [1, 0])


def test_outcomes_of_mixed_kinds_keep_their_kinds():
    # An array of all of them would hold the text "1" beside the number 1 of the labels.
    instance = Instance.from_outcomes([0, 1, 1], [[0, 0], ["abstain", 1], [1, 1]], TWO)
    np.testing.assert_allclose(instance.error_rates, [1 / 3, 0])


def test_fifty_stages():
    rng = np.random.default_rng(3)
    K, R = 50, 40
    rows = rng.integers(0, 3, size=(R, K + 1))
    weights = rng.integers(1, 10, size=R)
    instance = Instance.from_patterns(rows.tolist(), weights, Cascade([0.01] * K))
    p = weights / weights.sum()
    wrong = rows[:, 1:] != rows[:, :1]
    differ = rows[:, 1:, None] != rows[:, None, 1:]
    worse = ~wrong[:, :, None] & wrong[:, None, :]
    for name, expected in {
        "error_rates": p @ wrong,
        "total_costs": p @ wrong + 0.01 * np.arange(1, K + 1),
        "disagreement": np.tensordot(p, differ, 1),
        "setbacks": np.tensordot(p, worse, 1),
    }.items():
        np.testing.assert_allclose(getattr(instance, name), expected, atol=1e-12, err_msg=name)
    assert instance.sample(5, 0)[1].shape == (5, K)
    with pytest.raises(InstanceError, match=r"joint of shape \(3, .* has too many cells"):
        instance.joint  # noqa: B018


def test_other_costs_same_law():
    instance = Instance(JOINT, TWO)
    dear = instance.with_cascade(Cascade([0, 4], mistake_cost=2, names=["x", "y"]))
    np.testing.assert_allclose(dear.joint, instance.joint)
    np.testing.assert_allclose(dear.total_costs, np.add(instance.error_rates, [0, 2]))
    assert dear.cascade.names == ("x", "y")
    assert instance.cascade == TWO
    tree = Instance(np.full((2,) * 4, 1 / 16), Cascade([0, 0, 1])).with_cascade(
        Cascade([0, 0, 1], parents=[None, 0, 0])
    )
    np.testing.assert_allclose(tree.total_costs, [0.5, 0.5, 1.5])
    with pytest.raises(InstanceError, match="cascade must have 2 stages, got 3"):
        instance.with_cascade(Cascade([1, 2, 3]))


def test_arrays_are_read_only():
    instance = Instance(JOINT, TWO)
    law = instance.output_law
    arrays = [getattr(instance, name) for name in QUANTITIES]
    arrays += [instance.labels, instance.outputs, instance.probabilities, instance.joint]
    arrays += [instance.is_right, law.codes, law.probabilities, law.disagreement]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_repr_counts_stages_from_one():
    assert repr(Instance(JOINT, TWO)) == ("Instance(2 stages, 2 classes, 5 patterns, best stage 1)")


# Sampling


@pytest.mark.parametrize("seed", range(3))
def test_samples_follow_the_law(seed):
    """Hoeffding over the 16 cells of label and three tests, 20 000 cases: false alarm 1e-6."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, random_costs(rng, 3))
    n = 20_000
    labels, outputs = instance.sample(n, rng)
    assert labels.shape == (n,)
    assert outputs.shape == (n, 3)
    frequencies = np.zeros((2,) * 4)
    np.add.at(frequencies, (labels, *outputs.T), 1 / n)
    assert np.abs(frequencies - instance.joint).max() <= hoeffding(n, 16)
    assert (frequencies[instance.joint == 0] == 0).all()


def test_a_seed_repeats_and_a_generator_goes_on():
    instance = Instance(JOINT, TWO)
    for a, b in zip(instance.sample(50, 1), instance.sample(50, 1), strict=True):
        np.testing.assert_array_equal(a, b)
    rng = np.random.default_rng(1)
    first, second = instance.sample(50, rng)[1], instance.sample(50, rng)[1]
    np.testing.assert_array_equal(first, instance.sample(50, 1)[1])
    assert not np.array_equal(first, second)


def test_samples_are_codes_into_the_classes():
    instance = Instance.from_patterns([("b", "a", "c")], [1], TWO)
    labels, outputs = instance.sample(3, 0)
    assert [instance.classes[y] for y in labels] == ["b"] * 3
    assert [[instance.classes[y] for y in row] for row in outputs] == [["a", "c"]] * 3
