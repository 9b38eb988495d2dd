"""What a simulation leaves behind: where was stopped, how often, and what that cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray
from stopwise.errors import InputError, MissingExtraError, StateError

TRACE_VERSION = 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Where a policy stopped up to each checkpoint, in each replication.

    Parameters
    ----------
    rounds
        The checkpoints; shape (n,).
    stops
        How many cases had been stopped at each stage; shape (replications, n, K).
    gaps
        What stopping at each stage costs more than stopping at the best one.
    cascade
        The tests and what they cost.
    policy
        The name of the policy.
    errors
        How many answers had been wrong; shape (replications, n), if that was asked for.
    """

    rounds: IntArray
    stops: IntArray
    gaps: FloatArray
    cascade: Cascade
    policy: str = "policy"
    errors: IntArray | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def n_replications(self) -> int:
        """The number of replications; fewer than asked for if the run was interrupted."""
        return len(self.stops)

    @property
    def regret(self) -> FloatArray:
        """Expected regret, the gaps summed over the stages played; shape (replications, n)."""
        return np.asarray(self.stops @ self.gaps, dtype=np.float64)

    @property
    def realised_costs(self) -> FloatArray:
        """What was really paid, prices and mistakes, in error units; shape (replications, n)."""
        if self.errors is None:
            raise InputError("errors were not counted: simulate(..., count_errors=True)")
        paid = self.stops @ self.cascade.cumulative_costs + self.errors
        return np.asarray(paid, dtype=np.float64)

    def mean_regret(self) -> FloatArray:
        """Return the mean regret at each checkpoint; shape (n,)."""
        return np.asarray(self.regret.mean(axis=0))

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return a confidence interval for the mean regret at each checkpoint (Student's t)."""
        if not 0 < level < 1:
            raise InputError(f"level must lie in (0, 1), got {level!r}")
        mean, n = self.mean_regret(), self.n_replications
        if n < 2:
            return np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
        from scipy.stats import t

        half = float(t.ppf((1 + level) / 2, n - 1)) * self.regret.std(axis=0, ddof=1) / np.sqrt(n)
        return mean - half, mean + half

    def to_frame(self) -> Any:
        """Return a pandas table, one row a replication and checkpoint."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("to_frame needs pandas: pip install stopwise[frames]") from None
        R, n, K = self.stops.shape
        columns: dict[str, Any] = {
            "policy": self.policy,
            "replication": np.repeat(np.arange(R), n),
            "round": np.tile(self.rounds, R),
            "regret": self.regret.reshape(-1),
        }
        for k in range(K):
            columns[f"stopped_{k + 1}"] = self.stops[:, :, k].reshape(-1)
        if self.errors is not None:
            columns["errors"] = self.errors.reshape(-1)
        return pd.DataFrame(columns)

    def save(self, path: str | Path) -> None:
        """Write the trace to a ``.npz`` file that `load` reads back."""
        about = {
            "version": TRACE_VERSION,
            "policy": self.policy,
            "cascade": self.cascade.to_state(),
            "meta": self.meta,
        }
        arrays = {"rounds": self.rounds, "stops": self.stops, "gaps": self.gaps}
        if self.errors is not None:
            arrays["errors"] = self.errors
        target = Path(path)
        draft = target.with_name(f".{target.name}.part.npz")  # never half a file under the name
        try:
            np.savez_compressed(draft, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that `save` wrote, or raise `StateError`."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                about = json.loads(str(arrays["about"]))
                if about["version"] != TRACE_VERSION:
                    raise StateError(
                        f"trace must have version {TRACE_VERSION}, got {about['version']!r}"
                    )
                return cls(
                    arrays["rounds"],
                    arrays["stops"],
                    arrays["gaps"],
                    Cascade.from_state(about["cascade"]),
                    about["policy"],
                    arrays["errors"] if "errors" in arrays else None,
                    about["meta"],
                )
        except (KeyError, TypeError, ValueError, OSError) as error:
            if isinstance(error, (StateError, FileNotFoundError)):
                raise
            raise StateError(f"trace cannot be read from {path}: {error}") from error
