"""The truth: labels, and everything that needs them. No learner imports this package."""

from stopwise.problem.instance import Instance

__all__ = ["Instance"]
