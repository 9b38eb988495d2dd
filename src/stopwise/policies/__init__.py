"""Learners: where to stop, from disagreement alone. Nothing here ever imports the truth."""

from stopwise.policies.base import Policy
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_resolve import ContextualResolve
from stopwise.policies.contextual_thompson import ContextualThompson
from stopwise.policies.contextual_weak_dominance import ContextualWeakDominance
from stopwise.policies.explore_then_commit import ExploreThenCommit
from stopwise.policies.fixed_stage import FixedStage
from stopwise.policies.output_conditional import Next, OutputConditional
from stopwise.policies.resolve import Resolve
from stopwise.policies.state import policy_from_state
from stopwise.policies.strong_dominance import StrongDominance
from stopwise.policies.supervised import Supervised
from stopwise.policies.thompson import Thompson
from stopwise.policies.weak_dominance import WeakDominance

__all__ = [
    "ContextualPolicy",
    "ContextualResolve",
    "ContextualThompson",
    "ContextualWeakDominance",
    "ExploreThenCommit",
    "FixedStage",
    "Next",
    "OutputConditional",
    "Policy",
    "Resolve",
    "StrongDominance",
    "Supervised",
    "Thompson",
    "WeakDominance",
    "policy_from_state",
]
