"""What every experiment is made of: a scale, a result, claims with verdicts, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import partialmethod
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

    def parameters(self) -> JSON:
        """Return what the numbers depend on."""
        fields = asdict(self)
        del fields["n_jobs"]
        return {"scale": fields.pop("name"), **fields}


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

    def count_text(self, n: int) -> str:
        """Return how many claims have this verdict, in words.

        >>> Verdict.HOLDS.count_text(1), Verdict.FAILS.count_text(2)
        ('1 holds', '2 fail')
        >>> Verdict.UNDECIDED.count_text(3)
        '3 are undecided'
        """
        if self is Verdict.UNDECIDED:
            return f"{n} {'is' if n == 1 else 'are'} undecided"
        return f"{n} {self.value if n == 1 else self.value.removesuffix('s')}"


Interval = tuple[float, float]


def below(interval: Interval, threshold: float) -> Verdict:
    """Judge "it is below the threshold" by a confidence interval.

    >>> below((0.1, 0.2), 0.5).value, below((0.4, 0.6), 0.5).value, below((0.6, 0.7), 0.5).value
    ('holds', 'undecided', 'fails')
    """
    low, high = interval
    if high < threshold:
        return Verdict.HOLDS
    return Verdict.FAILS if low > threshold else Verdict.UNDECIDED


def above(interval: Interval, threshold: float) -> Verdict:
    """Judge "it is above the threshold" by a confidence interval."""
    return below((-interval[1], -interval[0]), -threshold)


def near(interval: Interval, value: float, distance: float) -> Verdict:
    """Judge "it is within a distance of the value" by a confidence interval.

    >>> near((0.9, 1.0), 0.95, 0.1).value, near((0.8, 1.0), 0.95, 0.1).value
    ('holds', 'undecided')
    """
    return all_of([above(interval, value - distance), below(interval, value + distance)])


def larger(one: Interval, other: Interval) -> Verdict:
    """Judge "the first is larger" by two confidence intervals; where they meet it is undecided.

    >>> larger((0.5, 0.6), (0.1, 0.2)).value, larger((0.5, 0.6), (0.55, 0.7)).value
    ('holds', 'undecided')
    """
    if one[0] > other[1]:
        return Verdict.HOLDS
    return Verdict.FAILS if one[1] < other[0] else Verdict.UNDECIDED


def all_of(verdicts: Iterable[Verdict | bool]) -> Verdict:
    """Judge a claim that has several parts: one failure is enough.

    >>> all_of([True, Verdict.UNDECIDED]).value, all_of([Verdict.UNDECIDED, False]).value
    ('undecided', 'fails')
    """
    return _first_of((Verdict.FAILS, Verdict.UNDECIDED, Verdict.HOLDS), verdicts)


def any_of(verdicts: Iterable[Verdict | bool]) -> Verdict:
    """Judge that something exists: one case of it is enough.

    >>> any_of([False, Verdict.UNDECIDED]).value, any_of([Verdict.UNDECIDED, True]).value
    ('undecided', 'holds')
    """
    return _first_of((Verdict.HOLDS, Verdict.UNDECIDED, Verdict.FAILS), verdicts)


def _first_of(order: tuple[Verdict, ...], verdicts: Iterable[Verdict | bool]) -> Verdict:
    """Return the first verdict of the order that was given, the last one if none was."""
    given = {_verdict(verdict) for verdict in verdicts}
    return next((verdict for verdict in order if verdict in given), order[-1])


def _verdict(verdict: Verdict | bool) -> Verdict:
    if isinstance(verdict, Verdict):
        return verdict
    return Verdict.HOLDS if verdict else Verdict.FAILS


@dataclass(frozen=True)
class Claim:
    """A statement, where it is made, what became of it, and by which numbers.

    Parameters
    ----------
    text
        What is claimed.
    source
        Where the paper says it, or where we do.
    is_ours
        Whether it is a claim of this project and not of the paper.
    verdict
        What became of it.
    evidence
        The numbers.
    choices
        The choices of ours that the verdict depends on.
    is_exact
        Whether the numbers follow from a given law or from given cases, without sampling: there is
        no interval then, and short runs decide as well.
    """

    text: str
    source: str
    is_ours: bool
    verdict: Verdict
    evidence: str
    choices: str
    is_exact: bool = False


@dataclass(frozen=True)
class Table:
    """A small table of a report."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def listing(values: Mapping[str, Any], form: str, names: Mapping[str, str]) -> str:
    """Return values in a format, each after its name.

    >>> listing({"a": 0.25, "b": 0.5}, "{:.0%}", {"a": "first", "b": "second"})
    'first 25%, second 50%'
    """
    return ", ".join(f"{names[key]} {form.format(value)}" for key, value in values.items())


@dataclass(frozen=True)
class Docket:
    """Collects the claims of one result; at quick scale those about long runs stay undecided."""

    result: Result
    claims: list[Claim] = field(default_factory=list)

    def judge(
        self,
        text: str,
        verdict: Verdict | bool,
        evidence: str,
        *,
        choices: str,
        source: str = "ours",
        is_exact: bool = False,
        is_ours: bool = False,
    ) -> None:
        """Add a claim with its verdict; a plain yes or no, without an interval, has to be exact."""
        assert isinstance(verdict, Verdict) or is_exact, f"judged by points: {text}"
        is_decided = is_exact or self.result.parameters["scale"] == "full"
        final = _verdict(verdict) if is_decided else Verdict.UNDECIDED
        self.claims.append(Claim(text, source, is_ours, final, evidence, choices, is_exact))

    judge_ours = partialmethod(judge, is_ours=True)


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
