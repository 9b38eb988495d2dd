"""How few looks near ties need, whatever the learner: python -m benchmarks.bench_frontier --help.

Two tests at a price of 1/4. Where stage 1 is best by a little, Thompson sampling sets the bar: its
mean number of looks at stage 2. Where stage 2 is, Resolve does: the mean and the 95 % quantile of
its rounds at stage 1. Only looks tell these worlds apart, so a learner is a rule that says when to
take no more looks up to each T. For any weights on the bars dynamic programming finds the rule with
the least weighted sum, and no learner is below it. The weights are learned.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import stopwise as sw
from stopwise.problem.families import nested_errors

PRICE = 0.25
HORIZONS = (25_000, 35_000, 50_000, 70_000, 100_000)
MARGINS = (0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.009)
STEP = 1000  # looks that are decided on together
SHARE = 0.05  # of the runs that may lose more than the bar
AIM = 2.0  # a guess at the ratio that is looked for
DEVIATIONS = 6  # how far the random walk may go


def rounds_lost(policy: type[sw.Policy], lead: float, runs: int) -> np.ndarray:
    """Rounds not played at the best stage, if stage 2 pays by ``lead``; shape (runs, horizons).

    Both labels are as likely, so that the first output does not tell whether the second agrees.
    """
    rates = [PRICE + lead + 0.1, 0.1]
    law = nested_errors(sw.Cascade(costs=[0, PRICE]), rates, prevalence=0.5)
    trace = sw.simulate(
        law,
        policy.with_defaults(law.cascade),
        horizon=HORIZONS[-1],
        replications=runs,
        checkpoints=list(HORIZONS),
        progress=False,
    )
    return trace.regret / abs(lead)


class Game:
    """All learners against weights on bars, as a random walk of disagreements above the price."""

    def __init__(self, looks: np.ndarray, mean: np.ndarray, tail: np.ndarray) -> None:
        """Bars by margin and horizon: looks, rounds lost, and rounds that few runs may lose."""
        self.ends = [T // STEP for T in HORIZONS]
        n = np.arange(self.ends[-1] + 1)
        far = math.ceil(DEVIATIONS * math.sqrt(n[-1]))
        self.place = np.arange(-far, far + 1)
        drifts = np.concatenate([-np.array(MARGINS), MARGINS, MARGINS])
        tilt = np.arctanh(drifts * math.sqrt(STEP / (PRICE * (1 - PRICE))))
        self.up = (np.exp(tilt) / (2 * np.cosh(tilt)))[:, None, None]
        self.likelihood = np.exp(
            tilt[:, None, None] * self.place - np.log(np.cosh(tilt))[:, None, None] * n[:, None]
        )
        # What each drift and horizon adds at n looks, in units of its bar.
        lost = np.maximum(np.array(HORIZONS)[:, None] - STEP * n, 0)
        self.cost = np.concatenate(
            [
                STEP * n / (AIM * looks[:, :, None]),
                lost / mean[:, :, None],
                (lost > tail[:, :, None]) / SHARE,
            ]
        )

    def solve(self, weights: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """Return the least weighted sum and, by horizon, where its rule takes no more looks."""
        rules: list[np.ndarray] = []
        later = np.zeros((self.ends[-1] + 1, len(self.place)))
        for k in reversed(range(len(self.ends))):
            price = np.einsum("c,cn,cnj->nj", weights[:, k], self.cost[:, k], self.likelihood)
            now = price[: self.ends[k] + 1] + later
            before = self.ends[k - 1] if k else 0
            gap = self.ends[k] - before
            stop = np.ones((gap + 1, before + 1, len(self.place)), dtype=bool)
            value = now[gap:]
            for r in reversed(range(gap)):
                go = np.pad(value, ((0, 0), (1, 1)), mode="edge")
                go = (go[:, :-2] + go[:, 2:]) / 2
                stop[r] = now[r : r + before + 1] <= go
                value = np.where(stop[r], now[r : r + before + 1], go)
            later = value
            rules.insert(0, stop)
        return float(later[0, len(self.place) // 2]), rules

    def play(self, rules: list[np.ndarray]) -> np.ndarray:
        """Return what the rule costs in each drift and horizon, in units of its bar."""
        value = np.zeros(self.cost.shape[:2])
        chance = np.zeros((len(self.up), 1, len(self.place)))
        chance[:, 0, len(self.place) // 2] = 1
        for k, stop in enumerate(rules):
            entries = chance.shape[1]
            ended = np.zeros((len(chance), self.ends[k] + 1, len(self.place)))
            for r, here in enumerate(stop):
                ended[:, r : r + entries] += chance * here
                chance = chance * ~here
                moved = np.zeros_like(chance)
                moved[..., 1:] = chance[..., :-1] * self.up
                moved[..., :-1] += chance[..., 1:] * (1 - self.up)
                chance = moved
            value[:, k] = np.einsum("cnj,cn->c", ended, self.cost[:, k, : self.ends[k] + 1])
            chance = ended
        return value

    def least_ratio(self, iterations: int) -> float:
        """Return the ratio of looks to a bar that any learner has that keeps to the other bars."""
        weights = np.full(self.cost.shape[:2], 1 / self.cost[..., 0].size)
        most = 0.0
        for i in range(iterations):
            value, rules = self.solve(weights)
            others = float(weights[len(MARGINS) :].sum())
            most = max(most, AIM * (value - others) / (1 - others))
            costs = self.play(rules)
            weights = weights * np.exp(2 / math.sqrt(i + 1) * (costs - costs.max()))
            weights = np.maximum(weights, 1e-7)
            weights /= weights.sum()
        return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=150)
    args = parser.parse_args()
    thompson, resolve = (
        np.array([rounds_lost(policy, -m, args.runs).mean(axis=0) for m in MARGINS])
        for policy in (sw.Thompson, sw.Resolve)
    )
    ratio = (resolve / thompson).max()
    print(f"Looks of Resolve / looks of Thompson sampling, worst margin and T: {ratio:.2f}")
    lost = np.array([rounds_lost(sw.Resolve, m, args.runs) for m in MARGINS])
    mean, tail = lost.mean(axis=1), np.quantile(lost, 1 - SHARE, axis=1)
    for share in (1.0, 0.7):
        least = Game(thompson, share * mean, share * tail).least_ratio(args.iterations)
        what = f"{share:g} x the mean and the 95 % quantile of the rounds that Resolve loses"
        print(f"Any learner with at most {what}: at least {least:.2f}", flush=True)


if __name__ == "__main__":
    main()
