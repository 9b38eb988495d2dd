"""Which cases to label: those on which stages that may be best disagree, and how many of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from stopwise.auditing.bounds.regrets import TINY, possible_stages
from stopwise.auditing.labels.cases import LabelledCases, level_of_each
from stopwise.cascade import BoolArray, FloatArray
from stopwise.errors import LogError
from stopwise.patterns import MISSING, Blocks, PatternTable, agreement
from stopwise.reading import Log
from stopwise.reading.engine import engine_errors, load_ibis
from stopwise.reading.log import agreement_column


@dataclass(frozen=True)
class PlanGroup:
    """Cases that agree in the same way: how many there are and how many to label."""

    blocks: Blocks
    n_cases: int
    n_labels: int


@dataclass(frozen=True)
class LabelPlan:
    """How many cases of each agreement to label, and how fine a difference that would tell.

    ``n_asked`` labels were asked for; the plan has fewer where fewer cases can tell.
    ``resolution`` gives, for each pair of stages that may both be best, the difference between
    γ_i - γ_j and the price of j against i from which on the labels would tell which is better;
    pairs that cannot be that far apart, or that no labels of the plan can settle, are left out.
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
    sizes: dict[Blocks, int] = {}
    apart = disputed(histogram, stages)
    for row, n in zip(histogram.codes[apart].tolist(), histogram.weights[apart], strict=True):
        blocks = agreement(row, missing=MISSING)
        sizes[blocks] = sizes.get(blocks, 0) + int(n)
    shared = _shared_out(list(sizes.values()), n_labels)
    groups = tuple(
        PlanGroup(blocks, n, m) for (blocks, n), m in zip(sizes.items(), shared, strict=True)
    )
    asked = tuple(sorted((g for g in groups if g.n_labels), key=lambda g: (-g.n_labels, g.blocks)))
    even, *ahead = _expected(histogram, asked)
    pairs = [(i, j) for i in stages for j in stages if i < j]
    level, told = level_of_each(alpha, histogram.n_stages), []
    for i, j in pairs:
        price = float(C[j] - C[i])
        width = even.difference(i, j, alpha=level).width / 2
        reach = max(differences[i, j] - price, differences[j, i] + price)
        low = ahead[j].difference(i, j, alpha=level).low
        high = ahead[i].difference(i, j, alpha=level).high
        if reach > width + TINY and not low <= price <= high:
            told.append((i, j, width))
    return LabelPlan(n_labels, asked, tuple(told))


def disputed(histogram: PatternTable, stages: Sequence[int]) -> BoolArray:
    """Return which patterns show a disagreement among ``stages``; shape (R,)."""
    rows, shown = histogram.codes[:, stages], histogram.shown[:, stages]
    least = np.where(shown, rows, histogram.n_classes).min(axis=1)
    return np.asarray(rows.max(axis=1) > least)


def _shared_out(sizes: list[int], total: int) -> list[int]:
    """Share out ``total`` in proportion to ``sizes``, at most the size each, largest rest first."""
    n = sum(sizes)
    if n <= total:
        return list(sizes)
    exact = [total * size / n for size in sizes]
    shares = [int(x) for x in exact]
    rest = sorted(range(len(sizes)), key=lambda g: (shares[g] - exact[g], g))
    for g in rest[: total - sum(shares)]:
        shares[g] += 1
    return shares


def _expected(histogram: PatternTable, groups: tuple[PlanGroup, ...]) -> list[LabelledCases]:
    """Return labelled cases as the plan would give them if each camp were right equally often.

    Then as they would be if one test were always right, for each test: labels cannot say more for
    it than that.
    """
    cases = LabelledCases.of(histogram, [], by_agreement=True)
    place: dict[Blocks, int] = {}
    for row in histogram.codes.tolist():
        place.setdefault(agreement(row, missing=MISSING), len(place))
    expected = []
    for right in (None, *range(histogram.n_stages)):
        counts = np.zeros(cases.counts.shape)
        for group in groups:
            camps = sorted(set(group.blocks) - {MISSING})
            if right is not None and group.blocks[right] != MISSING:
                camps = [group.blocks[right]]
            # Those that agree alike may be several strata, of which a plan draws in proportion.
            alike = np.flatnonzero(cases.types == place[group.blocks])
            part = cases.sizes[alike] / cases.sizes[alike].sum()
            counts[alike[:, None], camps] = part[:, None] * group.n_labels / len(camps)
        expected.append(replace(cases, counts=counts))
    return expected


@dataclass(frozen=True)
class PlannedCase:
    """A case to label: its id, what the tests said, what else to show, a label it has already."""

    case: Hashable
    outputs: tuple[Hashable, ...]
    shown: tuple[Hashable, ...] = ()
    label: Hashable = None


def draw_cases(
    log: Log,
    plan: LabelPlan,
    *,
    show: Sequence[str] = (),
    labelled: Mapping[str, Hashable] = MappingProxyType({}),
    seed: int = 0,
) -> tuple[PlannedCase, ...]:
    """Draw the cases of a plan at random, inside the engine; the same seed draws the same cases.

    Cases that agree in the same way are numbered in the order of their ids, and numbers are drawn.
    The cases come shuffled, so that whoever labels the first few has a random sample of them.

    ``show`` names further columns for whoever labels. Cases in ``labelled``, by their ids, are part
    of the plan and not drawn again.
    """
    ibis = load_ibis()
    K = log.cascade.n_stages
    rng = np.random.default_rng([seed, plan.n_labels, len(labelled)])
    with engine_errors("the log"):
        rows = log.cases(*show)
        if log.case_id is not None:
            _check_ids(rows, log.case_id)
        keyed = rows.mutate(group=_group_key(rows, K), name=rows.case.cast("string"))
        keyed = keyed.mutate(done=keyed.name.isin([*labelled]) if labelled else ibis.literal(False))
        order = ibis.row_number().over(group_by=[keyed.group, keyed.done], order_by=keyed.case)
        ranked = keyed.mutate(rank=order)
        n_done: Counter[str] = Counter()
        if labelled:
            n_done.update(ranked.filter(ranked.done).to_pyarrow()["group"].to_pylist())
        keep = ranked.done
        for group in plan.groups:
            key = _key(group.blocks)
            left = group.n_cases - n_done[key]
            n = min(max(group.n_labels - n_done[key], 0), left)
            ranks = rng.choice(left, n, replace=False).tolist() if n else []
            keep |= ~ranked.done & (ranked.group == key) & ranked["rank"].isin(ranks)
        found = ranked.filter(keep).order_by(["group", "done", "rank"]).to_pyarrow().to_pylist()
    cases = [
        PlannedCase(
            row["case"],
            tuple(row[f"s{k}"] for k in range(K)),
            tuple(row[f"show{c}"] for c in range(len(show))),
            labelled.get(row["name"]),
        )
        for row in found
    ]
    return tuple(cases[place] for place in rng.permutation(len(cases)))


def _check_ids(rows: Any, name: str) -> None:
    """Raise `LogError` where an id is missing or names several cases: labels would find none."""
    times = rows.group_by("case").aggregate(times=rows.count())
    wrong = times.filter((times.times > 1) | times.case.isnull()).limit(1).to_pyarrow().to_pylist()
    if wrong:
        case, n = wrong[0]["case"], wrong[0]["times"]
        found = f"{n} cases without one" if case is None else f"{case!r} for {n} cases"
        raise LogError(f"{name!r} must name one case each for a plan, got {found}")


def _key(blocks: Blocks) -> str:
    return ",".join(map(str, blocks))


def _group_key(rows: Any, K: int) -> Any:
    """Return the expression for `_key` of a row's agreement."""
    key = agreement_column(rows, 0).cast("string")
    for k in range(1, K):
        key = key + "," + agreement_column(rows, k).cast("string")
    return key
