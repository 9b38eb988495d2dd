"""When a share has changed: an e-detector over cuts of time, with a budget of false alarms.

A stream of yes and no (two tests disagree, a stage gives nothing) is kept as counts in buckets of
time. Each cut s between two buckets has the e-value e(s) of `stopwise.theory.change`, which reaches
1 / w with probability at most w if nothing changes. A cut that is made Δ seconds after the one
before it has the weight w = rate · Δ, where the rate is the false alarms allowed per second: all
cuts of a year together then raise at most the alarms allowed for a year, in expectation, however
dense the traffic is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.theory.change import log_e_values

YEAR = 365.25 * 24 * 3600.0


@dataclass(frozen=True)
class Change:
    """A share that changed: from ``before`` to ``after``, at about the cut with this index.

    ``log_evidence`` is ln(w · e) at that cut; from 0 on it is an alarm.
    """

    stream: int
    cut: int
    before: float
    after: float
    n_after: int
    log_evidence: float

    @property
    def is_alarm(self) -> bool:
        """Whether the evidence is as strong as the budget of false alarms asks for."""
        return self.log_evidence >= 0


def strongest_step(hits: Any, seen: Any, log_weights: FloatArray) -> tuple[int, float]:
    """Return the cut with the strongest evidence that any of several shares changed, and ln(w · e).

    The shares are of cases that differ in what is known beforehand, so their e-values multiply.

    >>> hits, seen = np.array([[10, 5], [50, 30]]), np.array([[100, 50], [100, 50]])
    >>> cut, log_evidence = strongest_step(hits, seen, np.array([-12.0]))
    >>> cut, log_evidence > 0
    (1, True)
    """
    evidence = log_e_values(hits, seen).sum(axis=1) + log_weights
    best = int(evidence.argmax())
    return best + 1, float(evidence[best])


def strongest_changes(hits: Any, seen: Any, log_weights: FloatArray) -> list[Change]:
    """Return for each stream the cut with the strongest evidence of a change.

    ``log_weights`` are the logarithms of the cuts' shares of the budget; shape (B - 1,).

    >>> hits, seen = np.array([[10], [9], [40], [41]]), np.full((4, 1), 100)
    >>> (change,) = strongest_changes(hits, seen, np.full(3, -12.0))
    >>> change.cut, change.before, change.after, change.is_alarm
    (2, 0.095, 0.405, True)
    """
    if len(hits) < 2:
        return []
    evidence = log_e_values(hits, seen) + log_weights[:, None]
    d, n = np.cumsum(hits, axis=0), np.cumsum(seen, axis=0)
    found = []
    for stream, row in enumerate(evidence.argmax(axis=0).tolist()):
        yes, all_before = float(d[row, stream]), float(n[row, stream])
        later, all_after = float(d[-1, stream]) - yes, float(n[-1, stream]) - all_before
        found.append(
            Change(
                stream=stream,
                cut=row + 1,
                before=yes / all_before if all_before else math.nan,
                after=later / all_after if all_after else math.nan,
                n_after=int(all_after),
                log_evidence=float(evidence[row, stream]),
            )
        )
    return found
