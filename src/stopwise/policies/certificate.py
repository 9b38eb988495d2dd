"""What a choice of stage rests on, comparison by comparison."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from stopwise.theory.divergence import log_e_value

MISSING_BY_CHANCE = (
    "missing outputs are taken to be missing by chance: if a test fails more often where it would "
    "disagree, what is decided may be wrong"
)


class Status(Enum):
    """How far a comparison is known."""

    OPEN = "open"
    """The policy still looks for evidence."""
    LEANING = "leaning"
    """Enough evidence to act on for now, not enough for the confidence asked for."""
    DECIDED = "decided"
    """Known with the confidence asked for, however often one looks."""


@dataclass(frozen=True)
class Comparison:
    """What is known of whether going on from ``shallow`` to ``deep`` pays.

    Parameters
    ----------
    shallow, deep
        The two stages.
    n_seen, n_missing
        How many cases showed both outputs, and how many ran both tests and lack one.
    disagreement, price
        The share of cases in which they disagreed, NaN if none was seen, and the price that it has
        to exceed. On a tree, if ``deep`` lies in another branch than the recommended test, the
        share has to exceed price + ``lead``, what the way taken seems to gain.
    pays
        Whether going on seems to pay.
    evidence
        n·kl(observed disagreement, price): what the policy decides by.
    confidence
        One minus the largest chance that any comparison of the cascade is ever reported with this
        confidence or more on the wrong side of its price, at whatever time one looks. With a zone
        of ``indifference``, "does not pay" is wrong only beyond price + ``indifference``.
    confidence_with_gaps
        The same if all missing outputs spoke against it. If this is lower, ``confidence`` assumes
        that outputs are missing by chance.
    status
        Open, leaning or decided.
    """

    shallow: int
    deep: int
    n_seen: int
    n_missing: int
    disagreement: float
    price: float
    pays: bool
    evidence: float
    confidence: float
    confidence_with_gaps: float
    status: Status
    lead: float = 0.0
    indifference: float = 0.0

    @property
    def is_settled(self) -> bool:
        """Whether the policy needs no more evidence for now."""
        return self.status is not Status.OPEN

    def __str__(self) -> str:
        verdict = "pays" if self.pays else "does not pay"
        rival = f" + {self.lead:.4f}, the gain of the way taken," if self.lead else ""
        differ = f"{self.disagreement:.4f}" if self.n_seen else "unknown"
        zone = f" with {self.indifference:.4f} of indifference" if self.indifference else ""
        gaps = f" and {self.n_missing} with a missing output" if self.n_missing else ""
        return (
            f"{self.shallow + 1} -> {self.deep + 1} {verdict}{' more' if self.lead else ''} "
            f"({self.status.value}): disagreement {differ} against price "
            f"{self.price:.4f}{rival}{zone} in {self.n_seen} cases{gaps}, "
            f"confidence {self.confidence:.4f}"
        )


@dataclass(frozen=True)
class Certificate:
    """The comparisons on which the choice of ``stage`` rests.

    Parameters
    ----------
    stage
        The stage that looks best.
    comparisons
        Those with later stages, and those because of which earlier stages were passed over.
    level
        The confidence that was asked for.
    missing
        For each test the share of its runs that gave no output.
    """

    stage: int
    comparisons: tuple[Comparison, ...]
    level: float
    missing: tuple[float, ...]

    @property
    def status(self) -> Status:
        """The status of the whole choice: that of its weakest comparison."""
        for status in (Status.OPEN, Status.LEANING):
            if any(c.status is status for c in self.comparisons):
                return status
        return Status.DECIDED

    @property
    def settled(self) -> tuple[Comparison, ...]:
        """Those for which the policy needs no more evidence for now."""
        return tuple(c for c in self.comparisons if c.is_settled)

    @property
    def open(self) -> tuple[Comparison, ...]:
        """Those that still need cases."""
        return tuple(c for c in self.comparisons if not c.is_settled)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the confidence assumes."""
        if all(
            c.confidence_with_gaps >= self.level
            for c in self.comparisons
            if c.status is Status.DECIDED
        ):
            return ()
        return (MISSING_BY_CHANCE,)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data for JSON: no NaN and no infinity."""
        rows = [{**asdict(c), "status": c.status.value} for c in self.comparisons]
        return {
            "stage": self.stage,
            "status": self.status.value,
            "level": self.level,
            "missing": list(self.missing),
            "comparisons": [{k: _plain(v) for k, v in row.items()} for row in rows],
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        n = {s: sum(c.status is s for c in self.comparisons) for s in Status}
        totals = ", ".join(f"{n[s]} {s.value}" for s in reversed(Status))
        head = f"stage {self.stage + 1}: {totals} at confidence {self.level:g}"
        warnings = (f"  warning: {text}" for text in self.warnings)
        return "\n".join([head, *(f"  {c}" for c in self.comparisons), *warnings])


def confidence_in(n: int, d: int, bar: float, n_pairs: int) -> float:
    """Return how sure ``d`` disagreements in ``n`` cases are on their side of ``bar``.

    1 - m / E with the e-value of `log_e_value` and m = ``n_pairs`` comparisons that may err. By
    Ville's inequality the chance that this ever exceeds 1 - α on the wrong side, for any of them,
    is at most α.
    """
    if bar >= 1:
        return 1.0  # no test is worth more than a mistake
    return max(0.0, -math.expm1(math.log(n_pairs) - log_e_value(n, d, bar)))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
