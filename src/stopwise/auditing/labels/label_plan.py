"""Which cases to label: those on which stages that may be best disagree, and how many of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from stopwise.auditing.bounds.regrets import TINY, possible_stages
from stopwise.auditing.labels.labelled_cases import LabelledCases, level_of_each
from stopwise.cascade import BoolArray, FloatArray
from stopwise.errors import LogError
from stopwise.patterns import MISSING, Blocks, PatternTable, agreement
from stopwise.reading import Log
from stopwise.reading.log import agreement_column
from stopwise.reading.query_engines import engine_errors, load_ibis


@dataclass(frozen=True)
class PlanGroup:
    """Cases that agree in the same way: how many there are and how many to label."""

    blocks: Blocks
    n_cases: int
    n_labels: int


@dataclass(frozen=True)
class LabelPlan:
    """How many cases of each agreement to label, and how small a difference that would show.

    ``n_asked`` labels were asked for; the plan has fewer where fewer cases can tell.
    ``resolution`` gives, for each pair of stages that may both be best, how far γ_i - γ_j has to be
    from the price of going on from i to j for the labels to show which is better. Pairs that cannot
    be that far apart, or that no labels of the plan can settle, are left out.
    """

    n_asked: int
    groups: tuple[PlanGroup, ...]
    resolution: tuple[tuple[int, int, float], ...]

    @property
    def n_labels(self) -> int:
        """The number of labels asked for."""
        return sum(group.n_labels for group in self.groups)


def plan_labels(
    histogram: PatternTable,
    differences: FloatArray,
    *,
    n_labels: int,
    alpha: float,
) -> LabelPlan:
    """Return which cases to label.

    A case on which all stages that may be best agree says nothing about which of them is best. The
    labels go to the other cases, in proportion to how many there are: drawn at random among them,
    which weighs each pair by how often it disagrees.
    """
    C = histogram.cascade.cumulative_costs
    stages = possible_stages(differences, C)
    sizes: dict[Blocks, int] = defaultdict(int)
    is_disputed = disputed(histogram, stages)
    rows, counts = histogram.codes[is_disputed].tolist(), histogram.weights[is_disputed].tolist()
    for row, n in zip(rows, counts, strict=True):
        sizes[agreement(row, missing=MISSING)] += n
    allocation = _allocate(list(sizes.values()), n_labels)
    groups = [PlanGroup(*size, m) for size, m in zip(sizes.items(), allocation, strict=True) if m]
    groups.sort(key=lambda group: (-group.n_labels, group.blocks))
    even, *one_right = _expected(histogram, groups)
    level, resolution = level_of_each(alpha, histogram.n_stages), []
    for i, j in combinations(stages, 2):
        price = float(C[j] - C[i])
        width = even.difference(i, j, alpha=level).width / 2
        reach = max(differences[i, j] - price, differences[j, i] + price)
        low = one_right[j].difference(i, j, alpha=level).low
        high = one_right[i].difference(i, j, alpha=level).high
        if reach > width + TINY and not low <= price <= high:
            resolution.append((i, j, width))
    return LabelPlan(n_labels, tuple(groups), tuple(resolution))


def disputed(histogram: PatternTable, stages: Sequence[int]) -> BoolArray:
    """Return which patterns show a disagreement among ``stages``; shape (R,)."""
    rows, shown = histogram.codes[:, stages], histogram.shown[:, stages]
    least = np.where(shown, rows, histogram.n_classes).min(axis=1)
    return np.asarray(rows.max(axis=1) > least)


def _allocate(sizes: list[int], total: int) -> list[int]:
    """Allocate ``total`` in proportion to ``sizes``, each at most its size; largest remainder."""
    n = sum(sizes)
    if n <= total:
        return sizes
    exact = [total * size / n for size in sizes]
    shares = [int(x) for x in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda g: (shares[g] - exact[g], g))
    for g in by_remainder[: total - sum(shares)]:
        shares[g] += 1
    return shares


def _expected(histogram: PatternTable, groups: Sequence[PlanGroup]) -> list[LabelledCases]:
    """Return labelled cases as the plan would give them if each answer were right equally often.

    Then, for each test, as they would be if that test were always right: labels cannot say more in
    its favour.
    """
    cases = LabelledCases.of(histogram, [], by_agreement=True)
    expected = []
    for right in (None, *range(histogram.n_stages)):
        counts = np.zeros(cases.counts.shape)
        for group in groups:
            answers = sorted(set(group.blocks) - {MISSING})
            if right is not None and group.blocks[right] != MISSING:
                answers = [group.blocks[right]]
            # A group may be several strata, from which a plan draws in proportion.
            strata = np.flatnonzero((cases.blocks == group.blocks).all(axis=1))
            part = cases.sizes[strata] / cases.sizes[strata].sum()
            counts[strata[:, None], answers] = part[:, None] * group.n_labels / len(answers)
        expected.append(replace(cases, counts=counts))
    return expected


@dataclass(frozen=True)
class PlannedCase:
    """A case to label: its id, its outputs, further columns to show, and a label it may have."""

    case: Hashable
    outputs: tuple[Hashable, ...]
    shown: tuple[Hashable, ...] = ()
    label: Hashable = None


def draw_cases(
    log: Log,
    plan: LabelPlan,
    *,
    show: Sequence[str] = (),
    labels: Mapping[str, Hashable] = MappingProxyType({}),
    seed: int = 0,
) -> tuple[PlannedCase, ...]:
    """Draw the cases of a plan at random, inside the engine; the same seed draws the same cases.

    Cases that agree in the same way are numbered in the order of their ids, and numbers are drawn.
    The cases come shuffled, so that the first few are a random sample of them.

    ``show`` names further columns to show to people who label. Cases in ``labels``, by their ids,
    are part of the plan and not drawn again.
    """
    ibis = load_ibis()
    K = log.cascade.n_stages
    rng = np.random.default_rng([seed, plan.n_labels, len(labels)])
    with engine_errors("the log"):
        rows = log.cases(*show)
        if log.case_id is not None:
            _check_ids(rows, log.case_id)
        table = rows.mutate(group=_group_key(rows, K), name=rows.case.cast("string"))
        table = table.mutate(done=table.name.isin([*labels]) if labels else ibis.literal(False))
        order = ibis.row_number().over(group_by=[table.group, table.done], order_by=table.case)
        table = table.mutate(rank=order)
        n_done: Counter[str] = Counter()
        if labels:
            n_done.update(table.filter(table.done).to_pyarrow()["group"].to_pylist())
        keep = table.done
        for group in plan.groups:
            key = _key(group.blocks)
            n_unlabelled = group.n_cases - n_done[key]
            n = min(max(group.n_labels - n_done[key], 0), n_unlabelled)
            ranks = rng.choice(n_unlabelled, n, replace=False).tolist() if n else []
            keep |= ~table.done & (table.group == key) & table["rank"].isin(ranks)
        draws = table.filter(keep).order_by(["group", "done", "rank"]).to_pyarrow().to_pylist()
    cases = [
        PlannedCase(
            row["case"],
            tuple(row[f"s{k}"] for k in range(K)),
            tuple(row[f"show{c}"] for c in range(len(show))),
            labels.get(row["name"]),
        )
        for row in draws
    ]
    return tuple(cases[place] for place in rng.permutation(len(cases)))


def _check_ids(rows: Any, name: str) -> None:
    """Raise `LogError` where an id is missing or names several cases."""
    times = rows.group_by("case").aggregate(times=rows.count())
    wrong = times.filter((times.times > 1) | times.case.isnull()).limit(1).to_pyarrow().to_pylist()
    if wrong:
        case, n = wrong[0]["case"], wrong[0]["times"]
        problem = f"{n} cases without one" if case is None else f"{case!r} for {n} cases"
        raise LogError(f"{name!r} must name one case each for a plan, got {problem}")


def _key(blocks: Blocks) -> str:
    return ",".join(map(str, blocks))


def _group_key(rows: Any, K: int) -> Any:
    """Return the expression for `_key` of a row's agreement."""
    key = agreement_column(rows, 0).cast("string")
    for k in range(1, K):
        key = key + "," + agreement_column(rows, k).cast("string")
    return key
