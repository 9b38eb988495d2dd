"""Learners that look at the case: what is known of it, or what its tests have said so far."""

from stopwise.contextual.output_conditional import Next, Outlook, OutputConditional

__all__ = ["Next", "Outlook", "OutputConditional"]
