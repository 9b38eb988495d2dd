"""crowd-kit, river and stopwise on the same made-up cases.

    python -m examples.compare          # needs the extras bench and slow

crowd-kit and stopwise estimate how often each test errs from outputs alone. Then river's UCB, which
is told the loss of each case, and learners of stopwise, which are told outputs only, choose stages.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene
from river import bandit

import stopwise as sw

ERROR_RATES = (0.25, 0.10, 0.07)
N = 3000
CASCADE = sw.Cascade(costs=[5, 60, 400], mistake_cost=2000, names=["questions", "blood test", "CT"])


def draw() -> tuple[np.ndarray, np.ndarray]:
    """Right answers and what the tests say; tests err independently."""
    rng = np.random.default_rng(3)
    labels = (rng.random(N) < 0.3).astype(int)
    return labels, labels[:, None] ^ (rng.random((N, len(ERROR_RATES))) < ERROR_RATES)


def crowd_kit_rates(outputs: np.ndarray) -> np.ndarray:
    """Error rates of the tests by Dawid and Skene's model of crowd-kit."""
    votes = pd.DataFrame(
        {
            "task": np.repeat(np.arange(N), outputs.shape[1]),
            "worker": np.tile(CASCADE.names, N),
            "label": outputs.ravel(),
        }
    )
    model = DawidSkene(n_iter=200, tol=1e-7).fit(votes)
    chances = model.probas_.loc[np.arange(N), [0, 1]].to_numpy()
    return np.array([1 - chances[np.arange(N), column].mean() for column in outputs.T])


def regret(loss: float, losses: np.ndarray) -> float:
    """What a policy lost beyond the best single stage."""
    return loss - len(losses) * losses.mean(axis=0).min()


def river_regret(losses: np.ndarray) -> float:
    """Regret of river's UCB that is told the loss of the stage it chose."""
    policy = bandit.UCB(delta=1, seed=0)
    arms = list(range(losses.shape[1]))
    total = 0.0
    for row in losses:
        arm = policy.pull(arms)
        policy.update(arm, -row[arm] / losses.max())
        total += row[arm]
    return regret(total, losses)


def blind_regret(policy: sw.Policy, outputs: np.ndarray, losses: np.ndarray) -> float:
    """Regret of a learner that is told outputs only."""
    total = 0.0
    for row, loss in zip(outputs.tolist(), losses, strict=True):
        stage = policy.ask()
        policy.tell(row[: stage + 1])
        total += loss[stage]
    return regret(total, losses)


def case_by_case_regret(outputs: np.ndarray, losses: np.ndarray) -> float:
    """Regret of `BeliefStopping`, told outputs only, which may stop each case elsewhere."""
    policy = sw.BeliefStopping(CASCADE, seed=0)
    total = 0.0
    for row, loss in zip(outputs.tolist(), losses, strict=True):
        n_seen = 1
        while policy.next(row[:n_seen]) is sw.Decision.CONTINUE:
            n_seen += 1
        policy.tell(row[:n_seen])
        total += loss[n_seen - 1]
    return regret(total, losses)


def main() -> None:
    labels, outputs = draw()
    model = sw.LatentClasses.fit(sw.PatternTable.from_rows(outputs.tolist(), [1] * N, CASCADE))
    print("How often each test errs, from outputs alone")
    for name, rates in {
        "truth": (outputs != labels[:, None]).mean(axis=0),
        "crowd-kit": crowd_kit_rates(outputs),
        "stopwise": model.error_rates,
    }.items():
        print(f"  {name:14s}", "  ".join(f"{rate:.3f}" for rate in rates))
    losses = CASCADE.cumulative_costs + (outputs != labels[:, None])
    print(f"Regret in mistakes after {N} cases (best stage: {1 + losses.mean(axis=0).argmin()})")
    print(f"  river UCB, told every loss: {river_regret(losses):.0f}")
    print(f"  BeliefStopping, told outputs only: {case_by_case_regret(outputs, losses):.0f}")
    for policy in (sw.Resolve(CASCADE), sw.WeakDominance(CASCADE)):
        name = type(policy).__name__
        print(f"  {name}, told outputs only: {blind_regret(policy, outputs, losses):.0f}")


if __name__ == "__main__":
    main()
