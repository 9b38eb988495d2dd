"""stopwise: how far to go in a sequence of tests when nobody ever tells the right answer."""

from stopwise.cascade import Cascade
from stopwise.disagreement import PairCounts, sound_stage
from stopwise.patterns import OutputLaw, PatternCounts
from stopwise.policies import (
    ExploreThenCommit,
    FixedStage,
    Policy,
    Resolve,
    StrongDominance,
    Supervised,
    Thompson,
    WeakDominance,
    policy_from_state,
)
from stopwise.problem import Instance
from stopwise.theory.bounds import PowerLaw

__version__ = "0.1.0"

__all__ = [
    "Cascade",
    "ExploreThenCommit",
    "FixedStage",
    "Instance",
    "OutputLaw",
    "PairCounts",
    "PatternCounts",
    "Policy",
    "PowerLaw",
    "Resolve",
    "StrongDominance",
    "Supervised",
    "Thompson",
    "WeakDominance",
    "policy_from_state",
    "sound_stage",
]
