"""The result of a simulation: where cases were stopped, how often, and what that cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray, read_only
from stopwise.errors import InputError
from stopwise.extras import load_extra
from stopwise.simulation.palette import style_of


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
        How much more stopping at each stage costs than stopping at the best one.
    cascade
        The tests and what they cost.
    policy
        The name of the policy.
    errors
        How many answers had been wrong; shape (replications, n), if that was asked for.
    seed
        The seed of the run.
    n_asked
        How many replications were asked for; 0 if that is not known.
    given_regret
        The expected regret, (replications, n), if it does not follow from ``stops`` because the
        cost of a stage depends on the case; ``gaps`` are then averages over cases.
    given_runs
        How often each test had been run, (replications, n, K), if that does not follow from
        ``stops`` because tests are run in any order; ``stops`` then counts by the last test, in the
        order of the cascade, that was run.
    """

    rounds: IntArray
    stops: IntArray
    gaps: FloatArray
    cascade: Cascade
    policy: str = "policy"
    errors: IntArray | None = None
    seed: int = 0
    n_asked: int = 0
    given_regret: FloatArray | None = None
    given_runs: IntArray | None = None

    def __post_init__(self) -> None:
        rounds, stops, gaps = self.rounds, self.stops, self.gaps
        if rounds.ndim != 1 or not len(rounds) or np.any(np.diff(rounds, prepend=0) <= 0):
            raise InputError("rounds must be a vector that increases from 1 on")
        if stops.ndim != 3 or not len(stops):
            raise InputError(f"stops must have shape (R, n, K) with R >= 1, got {stops.shape}")
        if stops.shape[1:] != (len(rounds), self.cascade.n_stages) or np.any(stops < 0):
            raise InputError(
                f"stops must be counts of shape (R, {len(rounds)}, {self.cascade.n_stages}), "
                f"got {stops.shape}"
            )
        if np.any(stops.sum(axis=2) != rounds):
            raise InputError("stops must add up to the rounds at each checkpoint")
        if gaps.shape != (self.cascade.n_stages,) or not np.all(np.isfinite(gaps)):
            raise InputError(f"gaps must be finite, one per stage, got {gaps!r}")
        runs, checkpoints, _ = stops.shape
        for name, shape in (
            ("errors", (runs, checkpoints)),
            ("given_regret", (runs, checkpoints)),
            ("given_runs", stops.shape),
        ):
            array = getattr(self, name)
            if array is not None and (array.shape != shape or not np.all(np.isfinite(array))):
                raise InputError(f"{name} must be finite, of shape {shape}, got {array.shape}")
        for name in ("rounds", "stops", "gaps", "errors", "given_regret", "given_runs"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name).view()))

    def __repr__(self) -> str:
        return (
            f"Trace({self.policy}, {self.n_replications} replications of {self.horizon} rounds, "
            f"mean regret {self.mean_regret()[-1]:.6g})"
        )

    @property
    def horizon(self) -> int:
        """The last checkpoint."""
        return int(self.rounds[-1])

    @property
    def n_replications(self) -> int:
        """The number of complete replications; fewer than ``n_asked`` after an interruption."""
        return len(self.stops)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C cut the run short."""
        return self.n_replications < self.n_asked

    @property
    def regret(self) -> FloatArray:
        """Expected regret, the gaps summed over the stages played; shape (replications, n).

        With contexts the gaps are those of each case.
        """
        if self.given_regret is not None:
            return self.given_regret
        return np.asarray(self.stops @ self.gaps, dtype=np.float64)

    def mean_regret(self) -> FloatArray:
        """Return the mean regret at each checkpoint; shape (n,)."""
        return np.asarray(self.regret.mean(axis=0))

    def half_width(self, level: float = 0.95) -> FloatArray:
        """Return how far `interval` reaches to each side; infinite with one replication."""
        return half_width_of(self.regret, level)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return a confidence interval for the mean regret at each checkpoint (Student's t)."""
        mean, half = self.mean_regret(), self.half_width(level)
        return mean - half, mean + half

    @property
    def realised_costs(self) -> FloatArray:
        """What was paid, prices and actual mistakes, in error units; shape (replications, n)."""
        if self.errors is None:
            raise InputError("errors were not counted: simulate(..., count_errors=True)")
        return np.asarray(self.prices + self.errors)

    @property
    def runs(self) -> IntArray:
        """How often each test had been run; shape (replications, n, K)."""
        if self.given_runs is not None:
            return self.given_runs
        is_on_path = np.zeros((self.cascade.n_stages,) * 2, dtype=np.int64)
        for stage, path in enumerate(self.cascade.paths):
            is_on_path[stage, list(path)] = 1
        return np.asarray(self.stops @ is_on_path)

    @property
    def prices(self) -> FloatArray:
        """What the tests that were run cost, in error units; shape (replications, n)."""
        return np.asarray(self.runs @ self.cascade.costs, dtype=np.float64)

    def stop_shares(self) -> FloatArray:
        """Return the share of all cases that were stopped at each stage; shape (K,)."""
        return np.asarray(self.stops[:, -1].mean(axis=0) / self.horizon)

    def to_frame(self) -> Any:
        """Return a pandas table, one row per replication and checkpoint; stages count from 1."""
        pd = load_extra("pandas", extra="frames", purpose="to_frame")
        return pd.DataFrame({"policy": self.policy, **self.columns()})

    def columns(self) -> dict[str, Any]:
        """Return the trace as columns of equal length, one entry per replication and checkpoint."""
        R, n, K = self.stops.shape
        stops = {f"stopped_{k + 1}": self.stops[:, :, k].reshape(-1) for k in range(K)}
        if self.given_runs is not None:
            stops |= {f"ran_{k + 1}": self.given_runs[:, :, k].reshape(-1) for k in range(K)}
        errors = {} if self.errors is None else {"errors": self.errors.reshape(-1)}
        return {
            "replication": np.repeat(np.arange(R), n),
            "round": np.tile(self.rounds, R),
            "regret": self.regret.reshape(-1),
            **stops,
            **errors,
        }

    def save(self, path: str | Path) -> None:
        """Write the trace to a ``.npz`` or ``.parquet`` file that `load` reads back."""
        from stopwise.simulation.trace_files import save_trace

        save_trace(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that `save` wrote, or raise `StateError`."""
        from stopwise.simulation.trace_files import load_trace

        return load_trace(Path(path))

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean regret and its 95 % interval into ``ax``, by default a new figure's."""
        ax = _new_axes() if ax is None else ax
        style, mean = style_of(self.policy), self.mean_regret()
        ax.plot(self.rounds, mean, color=style.colour, linestyle=style.dashes, label=self.policy)
        if self.n_replications > 1:
            low, high = self.interval()
            ax.fill_between(self.rounds, low, high, color=style.colour, alpha=0.2, linewidth=0)
        if self.rounds[0] * 100 <= self.rounds[-1]:
            ax.set_xscale("log")
        ax.set(xlabel="rounds", ylabel="regret (in mistakes)")
        if self.given_regret is None or mean.min() >= 0:
            ax.set_ylim(bottom=0, auto=True)
        ax.grid(alpha=0.3, linewidth=0.5)
        ax.legend(frameon=False)
        return ax

    def plot_tree(self, ax: Any = None) -> Any:
        """Draw the tests as a tree, with the share of cases on each edge and stopped at each test.

        The test where most cases were stopped is filled, the best test has a ring.
        """
        from stopwise.simulation.tree_drawing import draw_tree

        ax = _new_axes() if ax is None else ax
        best, colour = int(self.gaps.argmin()), style_of(self.policy).colour
        draw_tree(ax, self.cascade, self.stop_shares(), colour=colour, best=best)
        ax.set_title(self.policy)
        return ax


def _new_axes() -> Any:
    plt = load_extra("matplotlib.pyplot", extra="plot", purpose="plot")
    return plt.subplots(layout="constrained")[1]


def half_width_of(samples: FloatArray, level: float) -> FloatArray:
    """Return how far Student's interval for the mean of each column reaches to each side."""
    if not 0 < level < 1:
        raise InputError(f"level must lie in (0, 1), got {level!r}")
    n = len(samples)
    if n < 2:
        return np.full(samples.shape[1:], math.inf)
    from scipy.special import stdtrit

    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    return np.asarray(quantile * samples.std(axis=0, ddof=1) / math.sqrt(n))
