"""Beliefs about the right answer: latent classes, whether they are believable, labels."""

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.stages import stage_costs

__all__ = ["LatentClasses", "stage_costs"]
