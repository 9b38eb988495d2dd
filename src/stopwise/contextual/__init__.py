"""Learners that look at the case: what is known of it, or what its tests have said so far."""

from stopwise.contextual.base import ContextualPolicy
from stopwise.contextual.output_conditional import Next, Outlook, OutputConditional
from stopwise.contextual.resolve import ContextualResolve
from stopwise.contextual.thompson import ContextualThompson
from stopwise.contextual.weak_dominance import ContextualWeakDominance

__all__ = [
    "ContextualPolicy",
    "ContextualResolve",
    "ContextualThompson",
    "ContextualWeakDominance",
    "Next",
    "Outlook",
    "OutputConditional",
]
