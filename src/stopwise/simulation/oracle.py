"""The plain loop over ask and tell: slow, obviously right, and what every faster way must equal."""

from __future__ import annotations

from stopwise.cascade import IntArray
from stopwise.policies.base import Policy
from stopwise.policies.supervised import Supervised


def play_rounds(policy: Policy, labels: IntArray, outputs: IntArray) -> list[int]:
    """Return the stage played in each round, case by case: labels (n,), outputs (n, K)."""
    stages: list[int] = []
    for label, row in zip(labels.tolist(), outputs.tolist(), strict=True):
        stage = policy.ask()
        shown = [row[test] for test in policy.cascade.paths[stage]]
        if isinstance(policy, Supervised):
            policy.tell(shown, label, stage=stage)
        else:
            policy.tell(shown, stage=stage)
        stages.append(stage)
    return stages
