"""The rules on trees against slow readings of docs/trees.md."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from paper.random_instances import random_tree, random_weak_tree
from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.policies.optimism import first_accepted
from stopwise.policies.resolution import epoch_end, settles
from stopwise.policies.tree_resolution import (
    resolving_walk,
    where_to_buy_on_tree,
    witness_on_tree,
)
from stopwise.policies.walk import optimistic_walk, steepest_walk
from tests.policies.helpers import tables
from tests.strategies import seeds


def random_counts(rng, cascade, most=60):
    """Pair counts as if every test had been played now and then, some never."""
    counts = PairCounts(cascade)
    flips = rng.random(cascade.n_stages) * 0.6
    for stage in range(cascade.n_stages):
        for _ in range(int(rng.integers(most)) * int(rng.random() < 0.8)):
            outputs = (rng.random(cascade.n_stages) < flips).astype(int)
            counts.add([int(outputs[k]) for k in cascade.path(stage)], stage=stage)
    return counts


def scrambled_counts(rng, cascade):
    """Each pair on its own, as if outputs were missing often: shares that no one law would give."""
    counts = PairCounts(cascade)
    for j, path in enumerate(cascade.paths):
        counts.stopped[j] = int(rng.integers(1, 500))
        for i in path[:-1]:
            counts.seen[j][i] = int(rng.choice([0, 3, 20, 300]))
            counts.disagreed[j][i] = int(rng.integers(counts.seen[j][i] + 1))
    return counts


def shares(counts):
    """The observed gain of each pair on a path, None where it was never seen."""
    cascade = counts.cascade
    C, seen, differed = cascade.cumulative_costs, counts.n_seen, counts.n_disagreed
    return {
        (i, j): differed[i, j] / seen[i, j] - (C[j] - C[i]) if seen[i, j] else None
        for j, path in enumerate(cascade.paths)
        for i in path[:-1]
    }


def branch_of(cascade, i, j):
    """The child of i that is on the path to j."""
    path = cascade.path(j)
    return path[path.index(i) + 1]


def slow_walk(counts, gain_of, margin=0.0):
    """Down into the branch of the test with the largest gain."""
    cascade, node = counts.cascade, 0
    while True:
        gains = {j: gain_of(node, j) for j in cascade.descendants[node]}
        paying = [j for j, gain in gains.items() if gain > margin]
        if not paying:
            return node
        node = branch_of(cascade, node, max(paying, key=lambda j: gains[j]))


def slow_algorithm_2(counts, width):
    cascade, node, seen = counts.cascade, 0, counts.n_seen
    gains = shares(counts)
    while True:
        upper, lower = {}, {}
        for j in cascade.descendants[node]:
            gain = gains[node, j]
            half = math.sqrt(width / seen[node, j]) if gain is not None else math.inf
            upper[j] = math.inf if gain is None else gain + half
            lower[j] = -math.inf if gain is None else gain - half
        sure = max([0.0, *lower.values()])
        open_tests = [j for j, most in upper.items() if most > 0 and most >= sure - 1e-15]
        if not open_tests:
            return node
        branches = {branch_of(cascade, node, j) for j in open_tests}
        if len(branches) > 1:
            return min(open_tests, key=lambda j: (seen[node, j], -j))
        (node,) = branches


def slow_resolve(counts, zone):
    """Docs/trees.md, sentence by sentence."""
    cascade, seen, differed = counts.cascade, counts.n_seen, counts.n_disagreed
    C, gains = cascade.cumulative_costs, shares(counts)

    def gain(i, j):
        return -math.inf if gains[i, j] is None else gains[i, j]

    def gain_or_price(i, j):
        return C[i] - C[j] if gains[i, j] is None else gains[i, j]

    best = slow_walk(counts, gain, zone / 2)
    path = cascade.path(best)
    # What each comparison is held against, and how often the other side of a rival was seen.
    witnesses = set()
    questions = {(best, j): (C[j] - C[best], math.inf) for j in cascade.descendants[best]}
    for a, towards in pairwise(path):
        way = [w for w in path if w > a]
        leader = max(way, key=lambda w, a=a: gain_or_price(a, w))
        lead = gain_or_price(a, leader)
        side = (lead, seen[a, leader]) if lead > 0 else (0.0, math.inf)
        own = [j for j in cascade.descendants[a] if branch_of(cascade, a, j) == towards]
        questions |= {
            (a, j): (C[j] - C[a] + side[0], side[1]) for j in cascade.descendants[a] if j not in own
        }
        paying = [j for j in own if gain(a, j) > zone / 2]
        if not set(paying).intersection(way):

            def evidence(j, a=a):
                n, p, q = seen[a, j], differed[a, j] / seen[a, j], C[j] - C[a]
                rest = 0 if p == 1 else (1 - p) * math.log((1 - p) / (1 - q))
                return n * ((p * math.log(p / q) if q > 0 else math.inf) + rest)

            strongest = max(paying, key=evidence)
            questions[a, strongest] = C[strongest] - C[a], math.inf
            witnesses.add((a, strongest))
    horizon = epoch_end(counts.n_rounds)

    def is_out(j):
        above = [(a, j) for a in cascade.path(j)[:-1] if gain(a, j) <= zone / 2]
        below = [(j, m) for m in cascade.descendants[j] if gain(j, m) > zone / 2]
        return any(
            settles(
                *(int(seen[i, k]), int(differed[i, k]), C[k] - C[i], 1.0, horizon, zone),
                math.log(len(C)),
            )
            for i, k in above + below
        )

    looks = []
    for (i, j), (price, n_other) in questions.items():
        n = int(seen[i, j])
        weight = 1.0 if n_other == math.inf else n_other / (n_other + n)
        if settles(n, int(differed[i, j]), price, weight, horizon, zone, 0.0):
            continue
        if (i, j) not in witnesses and is_out(j):
            continue
        looks.append((n_other, -best) if n_other < n else (n, -j))
    if not looks:
        return best
    question = -min(looks)[1]
    if question == best:
        return best
    common = max(set(path).intersection(cascade.path(question)))
    paying = [m for m in cascade.descendants[question] if gain(question, m) > zone / 2]
    cheapest = max([question, *paying], key=lambda m: gain_or_price(common, m))
    # Every other look is at the test below.
    n_cheapest, n_question = (counts.seen[k][k] for k in (cheapest, question))
    return cheapest if 2 * n_cheapest <= n_question else question


@settings(max_examples=150)
@given(seeds)
def test_algorithm_2_by_a_slow_reading(seed):
    rng = np.random.default_rng(seed)
    counts = random_counts(rng, random_tree(rng, int(rng.integers(2, 8))))
    width = float(rng.choice([0.0, 0.01, 0.3, 4.0]))
    assert optimistic_walk(tables(counts), width) == slow_algorithm_2(counts, width)


@settings(max_examples=250)
@given(seeds, st.sampled_from([0.0, 0.05]), st.booleans())
def test_resolve_by_a_slow_reading(seed, zone, scrambled):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 8)))
    if scrambled:
        counts = scrambled_counts(rng, tree)
    else:
        counts = random_counts(rng, tree, most=int(rng.choice([8, 60, 300])))
    walk = resolving_walk(tables(counts, zone), counts.n_rounds, None)
    assert walk == (slow_resolve(counts, zone), 1)


def told_shares(cascade, shares):
    """Counts in which each pair (i, j) disagreed in so many of 100 cases; others never."""
    counts = PairCounts(cascade)
    for j, path in enumerate(cascade.paths):
        for i in path[:-1]:
            counts.seen[j][i] = 100
            counts.disagreed[j][i] = shares.get((i, j), 0)
    return counts


@pytest.mark.parametrize(
    ("shares", "witness"),
    [
        ({(0, 2): 60, (0, 3): 40}, 2),
        ({(0, 2): 40, (0, 3): 60}, 3),
        ({(0, 1): 20, (0, 2): 60}, 1),  # what lies on the way is shown anyway
        ({(0, 4): 90}, -1),  # in another branch
    ],
)
def test_a_test_is_passed_because_of_the_strongest_witness(shares, witness):
    tree = Cascade([0, 0.1, 0.1, 0.1, 0.1], parents=[None, 0, 1, 1, 0])
    counts = told_shares(tree, shares)
    assert witness_on_tree(tables(counts), 0, 1, 0.0) == witness


def test_a_question_is_bought_in_turn_where_it_is_cheapest_from_where_the_ways_part():
    tree = Cascade([0, 0.1, 0.1, 0.1, 0.1, 0.2], parents=[None, 0, 1, 2, 2, 4])
    pays = {(4, 5): 30}

    def bought(shares, n_shown):
        counts = told_shares(tree, shares)
        counts.seen[4][4], counts.seen[5][5] = 100, n_shown
        return where_to_buy_on_tree(tables(counts), 4, 3, 0.0)

    assert bought(pays | {(2, 5): 30}, 50) == 5  # at the fork it is the cheaper one
    assert bought(pays | {(2, 5): 30}, 51) == 4  # in turn
    assert bought(pays | {(0, 5): 90, (1, 5): 90}, 50) == 4  # above the fork it does not count
    assert bought({(2, 5): 30}, 50) == 4  # it can be cheaper only if it pays from 4


@given(seeds)
def test_recommended_is_the_steepest_walk(seed):
    rng = np.random.default_rng(seed)
    counts = random_counts(rng, random_tree(rng, int(rng.integers(2, 8))))
    gains = shares(counts)
    for policy, unseen in [(sw.WeakDominance, math.inf), (sw.Resolve, -math.inf)]:
        if policy is sw.Resolve and counts.cascade.is_chain:
            continue  # in a chain it goes by the doubts
        learner = policy(counts.cascade)
        learner._stored["pairs"] = counts
        expected = slow_walk(
            counts, lambda i, j, u=unseen: u if gains[i, j] is None else gains[i, j]
        )
        assert learner.recommend() == expected


@settings(max_examples=200)
@given(seeds, st.sampled_from([0.0, 0.3, 4.0]))
def test_on_a_chain_the_walks_end_where_its_rules_do(seed, width):
    rng = np.random.default_rng(seed)
    chain = Cascade(rng.random(int(rng.integers(1, 7))) * 0.2)
    counts = random_counts(rng, chain)
    pairs = tables(counts)
    assert optimistic_walk(pairs, width) == first_accepted(pairs, width)
    assert steepest_walk(pairs, 0.0, math.inf) == first_accepted(pairs, 0.0)


def test_thompson_follows_its_draws():
    """With sharp posteriors the draws are the shares, and the walk is the steepest one."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        tree = random_tree(rng, 6)
        p = random_weak_tree(rng, tree)
        policy, n = sw.Thompson(p.cascade, seed=1), 10**10
        counts = policy._counts
        for j, path in enumerate(tree.paths):
            for i in path[:-1]:
                counts.seen[j][i] = n
                counts.disagreed[j][i] = round(n * p.disagreement[i, j])
        margin = min(abs(gain) for gain in shares(counts).values()) if tree.n_stages > 1 else 1
        if margin > 1e-4:
            assert policy.ask() == policy.recommend()
