"""Hypothesis strategies and tolerances that several test modules share."""

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.problem.instance import Instance

FALSE_ALARM = 1e-6

seeds = st.integers(0, 2**32 - 1)


def hoeffding(n: int, events: int = 1) -> float:
    """How far ``events`` averages of n values in [0, 1] may stray, with false-alarm rate 1e-6."""
    return math.sqrt(math.log(2 * events / FALSE_ALARM) / (2 * n))


@st.composite
def tree_parents(draw: st.DrawFn, n_stages: int) -> list[int | None]:
    return [None, *(draw(st.integers(0, k - 1)) for k in range(1, n_stages))]


@st.composite
def cascades(
    draw: st.DrawFn, *, stages: tuple[int, int] = (1, 5), tree: bool | None = None
) -> Cascade:
    """Chains, trees or (tree=None) both; costs are eighths, so that ties are common."""
    K = draw(st.integers(*stages))
    costs = [c / 8 for c in draw(st.lists(st.integers(0, 4), min_size=K, max_size=K))]
    grow = draw(st.booleans()) if tree is None else tree
    return Cascade(costs, parents=draw(tree_parents(K)) if grow else None)


@st.composite
def disagreements(draw: st.DrawFn, n_stages: int, *, missing: bool = False) -> np.ndarray:
    """Symmetric matrices of eighths with a zero diagonal; some entries NaN where asked for."""
    values = st.integers(0, 8).map(lambda k: k / 8)
    entries = st.one_of(values, st.just(math.nan)) if missing else values
    p = np.zeros((n_stages, n_stages))
    for i in range(n_stages):
        for j in range(i + 1, n_stages):
            p[i, j] = p[j, i] = draw(entries)
    return p


class Drawn(NamedTuple):
    """An instance in which every probability and every cost is a multiple of 1 / total.

    What the library computes from it can be rounded back to whole numbers, so that the properties
    below compare exactly, ties included.
    """

    rows: list[tuple[int, ...]]
    weights: list[int]
    costs: list[int]
    instance: Instance

    @property
    def total(self) -> int:
        return sum(self.weights)

    @property
    def n_stages(self) -> int:
        return self.instance.cascade.n_stages

    def whole(self, values: Any) -> np.ndarray:
        """The values in units of 1 / total."""
        scaled = np.asarray(values) * self.total
        rounded = np.rint(scaled)
        np.testing.assert_allclose(rounded, scaled, atol=1e-6)
        return rounded.astype(int)

    @property
    def errors(self) -> np.ndarray:
        return self.whole(self.instance.error_rates)

    @property
    def paid(self) -> np.ndarray:
        return self.whole(self.instance.cascade.cumulative_costs)

    @property
    def p(self) -> np.ndarray:
        return self.whole(self.instance.disagreement)


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    stages: tuple[int, int] = (1, 4),
    n_classes: int = 2,
    ordered: bool = False,
    tree: bool = False,
    min_cost: int = 0,
) -> Drawn:
    """Small instances with a few weighted rows (label, outputs…); ordered ones are chains."""
    K = draw(st.integers(*stages))
    answer = st.integers(0, n_classes - 1)
    rows = draw(st.lists(st.tuples(*[answer] * (K + 1)), min_size=1, max_size=8))
    weights = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    if ordered:
        wrong = [
            sum(w for r, w in zip(rows, weights, strict=True) if r[k] != r[0])
            for k in range(1, K + 1)
        ]
        order = sorted(range(K), key=lambda k: -wrong[k])
        rows = [(row[0], *(row[1 + k] for k in order)) for row in rows]
    total = sum(weights)
    most = max(2, total // 2)
    costs = draw(st.lists(st.integers(min_cost, most), min_size=K, max_size=K))
    parents = draw(tree_parents(K)) if tree else None
    cascade = Cascade(costs, mistake_cost=total, parents=parents)
    # Rows of no weight name all classes, so that codes are the answers themselves.
    classes = [(y,) * (K + 1) for y in range(n_classes)]
    instance = Instance.from_patterns(rows + classes, weights + [0] * n_classes, cascade)
    return Drawn(rows, weights, costs, instance)


def counts_of(
    cascade: Cascade, cases: list[tuple[int, tuple[Any, ...], int]], kind: Any, **settings: Any
) -> Any:
    """Return counts of some kind of cases as `told_cases` draws them."""
    counts = kind(cascade, **settings)
    for stage, outputs, times in cases:
        counts.add(outputs, stage=stage, times=times)
    return counts


@st.composite
def told_cases(
    draw: st.DrawFn, cascade: Cascade, *, max_size: int = 12
) -> list[tuple[int, tuple[Any, ...], int]]:
    """Cases as (stage, outputs on its path, times); some outputs are missing."""
    answers = st.sampled_from([0, 1, "1", "a", None])
    cases = []
    for _ in range(draw(st.integers(0, max_size))):
        stage = draw(st.integers(0, cascade.n_stages - 1))
        outputs = tuple(draw(answers) for _ in cascade.path(stage))
        cases.append((stage, outputs, draw(st.integers(0, 3))))
    return cases
