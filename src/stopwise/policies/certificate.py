"""What a choice of stage rests on, comparison by comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """What is known of whether going on from ``shallow`` to ``deep`` pays.

    ``pays`` is what it looks like; ``evidence`` is n·kl(observed disagreement, price): data like
    these have a chance of at most exp(-evidence) if the disagreement is on the other side of the
    price. ``is_settled`` says whether that is enough in the present epoch.

    On a tree, where ``deep`` lies in another branch than the recommended test, it has to pay by
    more than ``lead``, which the way taken seems to gain: read price + lead for the price.
    """

    shallow: int
    deep: int
    n_seen: int
    disagreement: float
    price: float
    pays: bool
    evidence: float
    is_settled: bool
    lead: float = 0.0

    @property
    def confidence(self) -> float:
        """One minus the chance of such data if the truth were on the other side."""
        return -math.expm1(-self.evidence)


@dataclass(frozen=True)
class Certificate:
    """The comparisons on which the choice of ``stage`` rests."""

    stage: int
    comparisons: tuple[Comparison, ...]

    @property
    def settled(self) -> tuple[Comparison, ...]:
        """Those with enough evidence for now."""
        return tuple(c for c in self.comparisons if c.is_settled)

    @property
    def open(self) -> tuple[Comparison, ...]:
        """Those that still need cases."""
        return tuple(c for c in self.comparisons if not c.is_settled)

    def __str__(self) -> str:
        lines = [f"stage {self.stage + 1}: {len(self.settled)} settled, {len(self.open)} open"]
        for c in self.comparisons:
            verdict = "pays" if c.pays else "does not pay"
            rival = f" + {c.lead:.4f}, the gain of the way taken," if c.lead else ""
            lines.append(
                f"  {c.shallow + 1} -> {c.deep + 1} {verdict}{' more' if c.lead else ''}"
                f"{'' if c.is_settled else ' (open)'}: "
                f"disagreement {c.disagreement:.4f} against price {c.price:.4f}{rival} "
                f"in {c.n_seen} cases, confidence {c.confidence:.4f}"
            )
        return "\n".join(lines)
