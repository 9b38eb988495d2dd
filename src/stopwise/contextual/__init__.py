"""Learners that know something of a case before it starts. Nothing here imports the truth."""

from stopwise.contextual.base import ContextualPolicy
from stopwise.contextual.resolve import ContextualResolve
from stopwise.contextual.thompson import ContextualThompson
from stopwise.contextual.weak_dominance import ContextualWeakDominance

__all__ = [
    "ContextualPolicy",
    "ContextualResolve",
    "ContextualThompson",
    "ContextualWeakDominance",
]
