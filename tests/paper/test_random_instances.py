import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.random_instances import (
    random_costs,
    random_instance,
    random_neither,
    random_ordered,
    random_strong,
    random_strong_tree,
    random_tree,
    random_weak,
    random_weak_tree,
)
from stopwise.cascade import Cascade
from tests.strategies import seeds

stages = st.integers(1, 6)


@given(seeds, stages)
def test_each_kind_is_what_its_name_says(seed, n_stages):
    rng = np.random.default_rng(seed)
    assert random_ordered(rng, n_stages).is_ordered()
    strong = random_strong(rng, n_stages)
    assert strong.is_ordered()
    assert strong.is_strongly_dominant()
    weak = random_weak(rng, n_stages)
    assert weak.is_ordered()
    assert weak.is_weakly_dominant()
    assert {x.cascade.n_stages for x in (strong, weak)} == {n_stages}


@given(seeds, st.integers(2, 5))
def test_neither_is_ordered_with_one_best_stage(seed, n_stages):
    instance = random_neither(np.random.default_rng(seed), n_stages)
    assert instance.is_ordered()
    assert not instance.is_weakly_dominant()
    assert not instance.is_strongly_dominant()
    assert len(instance.optimal_stages) == 1


def test_dominance_on_trees_is_varied():
    rng = np.random.default_rng(1)
    tree = Cascade([0.0, 0.1, 0.1, 0.05], parents=[None, 0, 0, 1])
    strong = [random_strong_tree(rng, tree) for _ in range(200)]
    assert all(x.is_strongly_dominant() for x in strong)
    assert {x.is_weakly_dominant() for x in strong} == {True, False}
    # The branches err on their own: neither's errors lie within the other's.
    wrong = [(~x.is_right).T @ np.diag(x.probabilities) @ ~x.is_right for x in strong]
    assert any(w[2, 3] < min(w[2, 2], w[3, 3]) - 1e-3 for w in wrong)
    weak = [random_weak_tree(rng, tree) for _ in range(200)]
    assert all(x.is_weakly_dominant() for x in weak)
    assert {x.best_stage for x in weak} == {0, 1, 2, 3}
    assert sum(not x.is_strongly_dominant() for x in weak) > 100


def test_the_kinds_are_varied():
    """Every stage is best sometimes, free tests occur, and weak is more than strong."""
    rng = np.random.default_rng(0)
    weak = [random_weak(rng, 3) for _ in range(300)]
    for k in range(3):
        assert sum(x.best_stage == k for x in weak) > 20
    assert sum(not x.is_strongly_dominant() for x in weak) > 100
    neither = [random_neither(rng, 3) for _ in range(200)]
    assert {x.best_stage for x in neither} == {0, 1}
    costs = np.array([random_costs(rng, 3).costs for _ in range(200)])
    assert (costs == 0).any()
    assert (costs > 0.3).any()
    trees = [random_tree(rng, 4) for _ in range(50)]
    assert {tree.is_chain for tree in trees} == {True, False}
    laws = [random_instance(rng, Cascade([0, 0]), n_classes=3) for _ in range(50)]
    assert {x.is_ordered() for x in laws} == {True, False}
    assert any((x.joint == 0).any() for x in laws)


def test_a_law_that_lost_all_its_cells_is_drawn_again():
    rng = np.random.default_rng(0)
    for _ in range(50):
        instance = random_instance(rng, Cascade([0]), sparsity=0.9)
        assert instance.probabilities.sum() == pytest.approx(1)
