"""What every experiment is made of: a scale, a result, claims with verdicts, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

JSON = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much to compute.

    Parameters
    ----------
    name
        ``full`` or ``quick``; only the full scale is long enough for verdicts about rates.
    horizon
        Rounds of a run.
    replications
        Runs of each policy.
    fold_seeds
        In how many ways the data are cut into five folds.
    grid
        Points of a sweep over prices.
    turney_costs
        Turney's prices of the tests instead of those that the paper prints.
    n_jobs
        Processes; the numbers do not depend on it.
    """

    name: str
    horizon: int
    replications: int
    fold_seeds: int
    grid: int
    turney_costs: bool = False
    n_jobs: int = 1

    @property
    def is_full(self) -> bool:
        """Whether runs are long enough for verdicts about rates."""
        return self.name == "full"

    def described(self) -> JSON:
        """Return what the numbers depend on."""
        return {
            "scale": self.name,
            "horizon": self.horizon,
            "replications": self.replications,
            "fold_seeds": self.fold_seeds,
            "grid": self.grid,
            "turney_costs": self.turney_costs,
        }


FULL = Scale("full", horizon=100_000, replications=20, fold_seeds=20, grid=61)
QUICK = Scale("quick", horizon=2_000, replications=4, fold_seeds=2, grid=13)


@dataclass(frozen=True)
class Result:
    """Every number behind the figures of one experiment, as plain data, and what made them."""

    name: str
    parameters: JSON
    numbers: JSON


class Verdict(Enum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @property
    def plural(self) -> str:
        """The verdict over several claims."""
        return self.value.removesuffix("s")


@dataclass(frozen=True)
class Claim:
    """A statement, where it is made, whether it held, and by which numbers."""

    text: str
    source: str
    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Table:
    """A small table of a report."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Docket:
    """Collects the claims of one result: at quick scale what depends on long runs stays open."""

    result: Result
    claims: list[Claim] = field(default_factory=list)

    def judge(
        self, text: str, holds: bool, evidence: str, *, source: str, at_any_scale: bool = False
    ) -> None:
        """Add a claim with its verdict."""
        decided = at_any_scale or self.result.parameters["scale"] == "full"
        verdict = Verdict.HOLDS if holds else Verdict.FAILS
        self.claims.append(Claim(text, source, verdict if decided else Verdict.UNDECIDED, evidence))


class Experiment(Protocol):
    """What a module of this package offers."""

    NAME: str
    TITLE: str
    ABOUT: str

    def run(self, scale: Scale) -> Result:
        """Compute every number."""

    def figure(self, result: Result) -> Mapping[str, Any]:
        """Draw the figures, by file name, from the numbers alone."""

    def tables(self, result: Result) -> list[Table]:
        """Return the tables of the report."""

    def check(self, result: Result) -> list[Claim]:
        """Return each claim with its verdict and the evidence."""
