"""What one replication has played up to each checkpoint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import FloatArray, IntArray


class Played(NamedTuple):
    """What was played up to each of n checkpoints."""

    stops: IntArray  # how many cases were stopped at each stage; shape (n, K)
    wrong: IntArray  # how many answers were wrong; shape (n,)
    regret: FloatArray  # the expected regret; shape (n,)
    # How often each test was run, where that does not follow from ``stops``; shape (n, K).
    runs: IntArray | None = None

    def then(self, later: Played) -> Played:
        """Return this and what was played after it, counted from the same start."""
        parts: list[Any] = [
            None if a is None or b is None else np.concatenate([a, a[-1] + b])
            for a, b in zip(self, later, strict=True)
        ]
        return Played(*parts)

    def at(self, checkpoints: IntArray) -> Played:
        """Return some of the checkpoints, by their index."""
        parts: list[Any] = [None if part is None else part[checkpoints] for part in self]
        return Played(*parts)
