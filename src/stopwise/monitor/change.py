"""Change detection: an e-detector over cuts of time, with a budget of false alarms.

A binary stream (two tests disagree, a stage gives nothing) is kept as counts in time buckets. Each
cut s between two buckets has the e-value e(s) of `stopwise.theory.e_values`, which reaches 1 / w
with probability at most w if nothing changes. A cut Δ seconds after the previous one has the weight
w = rate · Δ, where the rate is the number of false alarms allowed per second. So the expected
number of false alarms in a year is at most the number allowed, whatever the traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.theory.e_values import log_e_values

YEAR = 365.25 * 24 * 3600.0


@dataclass(frozen=True)
class Change:
    """A share that changed: from ``before`` to ``after``, at about the cut with this index.

    ``log_evidence`` is ln(w · e) at that cut, at least 0.
    """

    stream: int
    cut: int
    before: float
    after: float
    n_after: int
    log_evidence: float


def strongest_step(log_e: FloatArray, log_weights: FloatArray) -> tuple[int, float]:
    """Return the cut with the strongest evidence that any of several shares changed, and ln(w · e).

    The shares belong to different cases, so their e-values multiply; ``log_e`` are their
    logarithms, shape (B - 1, S).

    >>> hits, seen = np.array([[10, 5], [50, 30]]), np.array([[100, 50], [100, 50]])
    >>> cut, log_evidence = strongest_step(log_e_values(hits, seen), np.array([-12.0]))
    >>> cut, log_evidence > 0
    (1, True)
    """
    evidence = log_e.sum(axis=1) + log_weights
    best = int(evidence.argmax())
    return best + 1, float(evidence[best])


def changes_found(hits: Any, seen: Any, log_weights: FloatArray) -> list[Change]:
    """Return the streams with enough evidence of a change, each at its strongest cut.

    ``log_weights`` are the logarithms of the cuts' shares of the budget; shape (B - 1,).

    >>> hits, seen = np.array([[10], [9], [40], [41]]), np.full((4, 1), 100)
    >>> (change,) = changes_found(hits, seen, np.full(3, -12.0))
    >>> change.cut, change.before, change.after
    (2, 0.095, 0.405)
    """
    if len(hits) < 2 or not seen.any():
        return []
    evidence = log_e_values(hits, seen) + log_weights[:, None]
    changes = []
    for stream in np.flatnonzero(evidence.max(axis=0) >= 0).tolist():
        cut = int(evidence[:, stream].argmax()) + 1
        shares = shares_around(cut, hits[:, stream], seen[:, stream])
        changes.append(Change(stream, cut, *shares, float(evidence[cut - 1, stream])))
    return changes


def shares_around(cut: int, hits: FloatArray, seen: FloatArray) -> tuple[float, float, int]:
    """Return the shares before and after a cut, and the number of cases after it."""
    n_before, n_after = seen[:cut].sum(), seen[cut:].sum()
    before = float(hits[:cut].sum() / max(n_before, 1))
    return before, float(hits[cut:].sum() / max(n_after, 1)), int(n_after)
