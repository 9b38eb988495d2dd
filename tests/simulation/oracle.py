"""The plain loop over ask and tell: slow, obviously right, and what every faster way must equal."""

from __future__ import annotations

from stopwise.cascade import IntArray
from stopwise.policies.base import Policy


def play_rounds(policy: Policy, labels: IntArray, outputs: IntArray) -> list[int]:
    """Return the stage played in each round, case by case: labels (n,), outputs (n, K)."""
    stages: list[int] = []
    for label, row in zip(labels.tolist(), outputs.tolist(), strict=True):
        stage = policy.ask()
        shown = [row[test] for test in policy.cascade.paths[stage]]
        policy.tell(shown, stage=stage, label=label if policy.needs_label else None)
        stages.append(stage)
    return stages
