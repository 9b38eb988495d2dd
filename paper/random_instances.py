"""Random instances with and without dominance: the ground on which the theory is tested."""

from __future__ import annotations

import numpy as np

from stopwise.cascade import Cascade, FloatArray
from stopwise.errors import InstanceError
from stopwise.problem.families import nested_errors
from stopwise.problem.instance import Instance

# Chance of failing on so many independent draws is nil for any size that random laws are used at.
_TRIES = 1000


def random_instance(
    rng: np.random.Generator, cascade: Cascade, *, n_classes: int = 2, sparsity: float = 0.3
) -> Instance:
    """Return an instance with a Dirichlet law, ordered or not; some cells are made impossible."""
    shape = (n_classes,) * (cascade.n_stages + 1)
    cells = rng.dirichlet(np.full(int(np.prod(shape)), rng.choice([0.1, 0.5, 2.0])))
    cells *= rng.random(cells.shape) >= sparsity
    if not cells.sum() > 0:
        return random_instance(rng, cascade, n_classes=n_classes, sparsity=sparsity)
    return Instance((cells / cells.sum()).reshape(shape), cascade)


def random_ordered(rng: np.random.Generator, n_stages: int) -> Instance:
    """Return a binary instance of Θ_SA: a random law with its tests sorted by error rate."""
    draw = random_instance(rng, random_costs(rng, n_stages))
    order = np.argsort(-draw.error_rates, kind="stable")
    rows = np.column_stack([draw.labels, draw.outputs[:, order]])
    return Instance.from_patterns(rows.tolist(), draw.probabilities, draw.cascade)


def random_strong(rng: np.random.Generator, n_stages: int) -> Instance:
    """Return a strongly dominant instance with random error rates and costs."""
    rates = np.sort(rng.random(n_stages))[::-1]
    return nested_errors(
        random_costs(rng, n_stages), rates.tolist(), prevalence=float(rng.random())
    )


def random_weak(rng: np.random.Generator, n_stages: int) -> Instance:
    """Return a weakly dominant instance, in general not a strongly dominant one.

    The law is random; the costs are then laid so that a random stage i is best and what lies
    beyond it costs at least the disagreement with it.
    """
    law = random_ordered(rng, n_stages)
    stage = int(rng.integers(n_stages))
    beyond = np.maximum.accumulate(law.disagreement[stage, stage + 1 :])
    return _priced(rng, law, stage, beyond * rng.uniform(1, 2) + rng.uniform(0, 0.1))


def random_neither(rng: np.random.Generator, n_stages: int) -> Instance:
    """Return an ordered instance outside weak dominance, one best stage; n_stages >= 2."""
    for _ in range(_TRIES):
        law = random_ordered(rng, n_stages)
        stage = int(rng.integers(n_stages - 1))
        drop = np.maximum.accumulate(law.error_rates[stage] - law.error_rates[stage + 1 :])
        instance = _priced(rng, law, stage, drop + 0.2 * rng.random())
        if len(instance.optimal_stages) == 1 and not instance.is_weakly_dominant():
            return instance
    raise InstanceError(f"no instance outside weak dominance in {_TRIES} draws")


def random_strong_tree(rng: np.random.Generator, tree: Cascade) -> Instance:
    """Return a strongly dominant instance on a tree: where a test is right all below it are."""
    wrong = [[True], [False]]
    for parent in tree.parents:
        if parent is not None:
            wrong = [[*row, w] for row in wrong for w in {row[parent], False}]
    rows = [(y, *(y ^ w for w in row)) for row in wrong for y in (0, 1)]
    return Instance.from_patterns(rows, rng.dirichlet(np.full(len(rows), 0.5)), tree)


def random_weak_tree(rng: np.random.Generator, tree: Cascade) -> Instance:
    """Return a weakly dominant instance on the shape of ``tree``, with costs of its own.

    The law is random with its tests sorted by error rate on the way to a random stage; what leaves
    that way is then priced at its disagreement with where it leaves.
    """
    law = random_instance(rng, tree)
    stage = int(rng.integers(tree.n_stages))
    path = list(tree.path(stage))
    columns = np.arange(tree.n_stages)
    columns[path] = sorted(path, key=lambda k: -law.error_rates[k])
    rows = np.column_stack([law.labels, law.outputs[:, columns]])
    law = Instance.from_patterns(rows.tolist(), law.probabilities, tree)
    C = np.zeros(tree.n_stages)
    C[path] = (law.error_rates[path[0]] - law.error_rates[path]) * rng.random()
    for j, parent in enumerate(tree.parents):
        if parent is not None and j not in path:
            left_at = max(set(path).intersection(tree.path(j)))
            at_least = C[left_at] + law.disagreement[left_at, j] * rng.uniform(1, 2)
            C[j] = max(C[parent], at_least) + rng.uniform(0, 0.1)
    costs = [C[j] - (0.0 if parent is None else C[parent]) for j, parent in enumerate(tree.parents)]
    return law.with_cascade(Cascade(costs=np.maximum(costs, 0.0), parents=tree.parents))


def random_costs(rng: np.random.Generator, n_stages: int) -> Cascade:
    """Return a chain with random costs, some of them zero."""
    costs = rng.random(n_stages) * rng.choice([0.05, 0.3, 1.0])
    return Cascade(costs=costs * (rng.random(n_stages) > 0.1))


def random_tree(rng: np.random.Generator, n_stages: int) -> Cascade:
    """Return a random tree of tests with random costs."""
    parents = [None, *(int(rng.integers(k)) for k in range(1, n_stages))]
    return Cascade(costs=random_costs(rng, n_stages).prices, parents=parents)


def _priced(rng: np.random.Generator, law: Instance, stage: int, beyond: FloatArray) -> Instance:
    """Give ``law`` costs at which ``stage`` beats those before it; ``beyond`` is C_j - C_stage."""
    gain = law.error_rates[:stage] - law.error_rates[stage]
    before = -rng.random() * gain  # C_j - C_stage for j < stage, less than what stage gains
    C = np.concatenate([before, [0.0], beyond])
    costs = np.diff(C, prepend=C[0] - rng.random() * 0.1)
    return law.with_cascade(Cascade(costs=np.maximum(costs, 0.0)))
