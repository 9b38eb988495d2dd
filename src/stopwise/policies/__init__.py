"""Learners: where to stop, from disagreement alone. Nothing here ever imports the truth."""

from stopwise.policies.base import Policy
from stopwise.policies.explore_then_commit import ExploreThenCommit
from stopwise.policies.fixed_stage import FixedStage
from stopwise.policies.resolve import Resolve
from stopwise.policies.state import policy_from_state
from stopwise.policies.strong_dominance import StrongDominance
from stopwise.policies.supervised import Supervised
from stopwise.policies.thompson import Thompson
from stopwise.policies.weak_dominance import WeakDominance

__all__ = [
    "ExploreThenCommit",
    "FixedStage",
    "Policy",
    "Resolve",
    "StrongDominance",
    "Supervised",
    "Thompson",
    "WeakDominance",
    "policy_from_state",
]
